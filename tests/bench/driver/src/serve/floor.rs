//! The minimal stdio server, the floor that every other is compared with: line → `Value` → reply.

use super::raw_stdout;
use crate::lines::Lines;
use serde_json::{Value, json};
use std::io::{self, BufWriter, Write};

/// The tools of every bench server: `echo` and `add`, and as many more as `BENCH_TOOLS` says.
pub fn tools() -> Value {
    let schema =
        |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required});
    let (text, integer) = (json!({"type": "string"}), json!({"type": "integer"}));
    let mut tools = vec![
        json!({"name": "echo", "description": "Echo the text",
            "inputSchema": schema(json!({"text": text}), json!(["text"]))}),
        json!({"name": "add", "description": "Add two integers",
            "inputSchema": schema(json!({"a": integer, "b": integer}), json!(["a", "b"]))}),
    ];
    let more = std::env::var("BENCH_TOOLS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    tools.extend((0..more).map(|n| {
        let properties = json!({"name": text, "count": integer, "flag": {"type": "boolean", "default": false}});
        json!({"name": format!("tool_{n:03}"), "description": format!("Tool number {n}: joins a name and a count"),
            "inputSchema": schema(properties, json!(["name", "count"]))})
    }));
    Value::Array(tools)
}

/// The reply to a request; none to a notification.
pub fn dispatch(message: &Value, tools: &Value) -> Option<Value> {
    let id = message.get("id")?;
    let params = &message["params"];
    let arguments = &params["arguments"];
    let text_content = |text: &Value| json!({"content": [{"type": "text", "text": text}]});
    let result = match message["method"].as_str()? {
        "initialize" => json!({"protocolVersion": "2024-11-05",
            "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
            "serverInfo": {"name": "floor", "version": "1"}}),
        "ping" => json!({}),
        "tools/list" => json!({"tools": tools}),
        "tools/call" => match params["name"].as_str() {
            Some("echo") => text_content(&arguments["text"]),
            Some("add") => {
                let term = |name: &str| arguments[name].as_i64().unwrap_or(0);
                text_content(&(term("a") + term("b")).to_string().into())
            }
            _ => json!({"content": [{"type": "text", "text": "unknown tool"}], "isError": true}),
        },
        "resources/list" => {
            json!({"resources": [{"uri": "bench://static", "name": "static", "mimeType": "text/plain"}]})
        }
        "resources/read" => {
            json!({"contents": [{"uri": "bench://static", "mimeType": "text/plain", "text": "static text"}]})
        }
        "prompts/list" => {
            json!({"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": true}]}]})
        }
        "prompts/get" => {
            let text = format!("Greet {}", arguments["who"].as_str().unwrap_or_default());
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]})
        }
        method => {
            let error = json!({"code": -32601, "message": format!("there is no method {method}")});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Serves until the end of stdin. Every reply is flushed by itself; with `batch`, only once no complete request is
/// left in the buffer.
pub fn serve(batch: bool) -> io::Result<()> {
    let tools = tools();
    let mut requests = Lines::new(io::stdin().lock());
    let mut replies = BufWriter::with_capacity(64 * 1024, raw_stdout()?);
    loop {
        while let Some(line) = requests.buffered() {
            let Ok(message) = serde_json::from_slice::<Value>(line) else {
                continue;
            };
            if let Some(reply) = dispatch(&message, &tools) {
                serde_json::to_writer(&mut replies, &reply)?;
                replies.write_all(b"\n")?;
                if !batch {
                    replies.flush()?;
                }
            }
        }
        replies.flush()?;
        match requests.fill() {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result_of(method: &str, params: &Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let reply = dispatch(&request, &tools()).expect("a reply");
        assert_eq!(reply["id"], 7);
        reply["result"].clone()
    }

    #[test]
    fn the_two_tools_work() {
        let echo = result_of("tools/call", &json!({"name": "echo", "arguments": {"text": "é\n"}}));
        assert_eq!(echo["content"][0]["text"], "é\n");
        let add = result_of("tools/call", &json!({"name": "add", "arguments": {"a": 2, "b": 40}}));
        assert_eq!(add["content"][0]["text"], "42");
    }

    #[test]
    fn unknown_methods_are_refused_and_notifications_not_answered() {
        let request = json!({"jsonrpc": "2.0", "id": "x", "method": "no/such"});
        assert_eq!(dispatch(&request, &tools()).expect("a reply")["error"]["code"], -32601);
        assert_eq!(dispatch(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &tools()), None);
    }
}
