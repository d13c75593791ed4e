//! Tools (TOOL).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_native::protocol::{
    Annotations, AudioContent, CallToolResult, Content, Json, Prompt, PromptMessage, Resource, ResourceContents,
    ResourceLink, ToolAnnotations,
};
use mcp_native::server::{NoArguments, RequestContext, Structured, ToolError, tool};
use mcp_native::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::common::{Peer, builder};

#[derive(Deserialize, JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(Serialize)]
struct Weather {
    degrees: f64,
}

// proves: TOOL-02, TOOL-03, SCH-10, FC-069
#[tokio::test]
async fn tool_03_schemas_are_passed_through_and_bad_roots_refused() {
    let schema = r##"{"type":"object",
        "properties":{"p":{"$ref":"#/$defs/P"}},"required":["p"],
        "$defs":{"P":{"type":"integer","minimum":9007199254740993}},"additionalProperties":false,"x-order":["p"]}"##;
    let server = builder().build();
    server.tool(tool("given").input_schema_text(schema).handler(|_: NoArguments, _| async { Ok("ok") })).expect("new");
    server.tool(tool("none").handler(|_: NoArguments, _| async { Ok("ok") })).expect("new");
    server.tool(tool("sum").handler(|sum: Sum, _| async move { Ok(sum.a + sum.b) })).expect("new");
    for bad in [
        r#"{"type":"string"}"#,
        "{}",
        "[]",
        "true",
        r#"{"type":"object","properties":{"a":true}}"#,
        "{",
        r#"{"type":"object","required":"a"}"#,
    ] {
        let refused = server.tool(tool("bad").input_schema_text(bad).handler(|_: NoArguments, _| async { Ok("ok") }));
        assert_eq!(refused.expect_err(bad).kind(), ErrorKind::InvalidArgument, "{bad}");
    }
    let peer = Peer::ready(&server).await;
    let list = peer.result("tools/list", json!({})).await;
    let tools = list["tools"].as_array().expect("an array");
    assert_eq!(tools.len(), 3);
    let given: Value = serde_json::from_str(schema).expect("JSON");
    assert_eq!(tools[0], json!({ "name": "given", "inputSchema": given }));
    assert_eq!(tools[1]["inputSchema"]["type"], "object");
    assert_eq!(tools[2]["inputSchema"]["required"], json!(["a", "b"]));
}

// proves: TOOL-04, TOOL-07, TOOL-15, FC-068, PROM-09
#[tokio::test]
async fn tool_04_results_of_every_kind() {
    let server = builder().build();
    let all = tool("all").handler(|_: NoArguments, _| async {
        Ok(vec![
            Content::text("t"),
            Content::image([0xfb, 0xff], "image/png")?,
            Content::resource(ResourceContents::text("x:t", "text")),
            Content::resource(ResourceContents::blob("x:b", [1, 2, 3])),
        ])
    });
    server.tool(all).expect("new");
    server.tool(tool("nothing").handler(|_: NoArguments, _| async { Ok(()) })).expect("new");
    server
        .tool(tool("fails").handler(|_: NoArguments, _| async { Err::<(), _>(ToolError::new("disk full")) }))
        .expect("new");
    let io = tool("io").sync_handler(|_: NoArguments, _| {
        Err::<(), _>(std::io::Error::new(std::io::ErrorKind::NotFound, "no such thing").into())
    });
    server.tool(io).expect("new");
    let peer = Peer::ready(&server).await;
    let call = |name: &'static str| peer.result("tools/call", json!({ "name": name }));
    let content = call("all").await["content"].clone();
    let expected = json!([
        { "type": "text", "text": "t" },
        { "type": "image", "data": "+/8=", "mimeType": "image/png" },
        { "type": "resource", "resource": { "uri": "x:t", "text": "text", "mimeType": "text/plain" } },
        { "type": "resource", "resource": { "uri": "x:b", "blob": "AQID", "mimeType": "application/octet-stream" } },
    ]);
    assert_eq!(content, expected);
    assert_eq!(call("nothing").await, json!({ "content": [] }));
    let failed = json!({ "content": [{ "type": "text", "text": "disk full" }], "isError": true });
    assert_eq!(call("fails").await, failed);
    assert_eq!(call("io").await["content"][0]["text"], "no such thing");
}

// proves: TOOL-05, TOOL-08, TOOL-11, FC-078
#[tokio::test]
async fn tool_05_unknown_tools_are_errors_and_names_exact() {
    let server = builder().build();
    for name in ["a", "weather/now", "a b", "日本語 ツール"] {
        server.tool(tool(name).handler(move |_: NoArguments, _| async move { Ok(name) })).expect("new");
    }
    let twice = server.tool(tool("a").handler(|_: NoArguments, _| async { Ok("") }));
    assert_eq!(twice.expect_err("taken").kind(), ErrorKind::Duplicate);
    let failure = || Error::with_code(-31999, "not today");
    let strange =
        tool("strange").handler(move |_: NoArguments, _| async move { Err::<(), _>(ToolError::protocol(failure())) });
    server.tool(strange).expect("new");
    let peer = Peer::ready(&server).await;
    for name in ["nope", "A", "a ", ""] {
        let (code, message) = peer.error("tools/call", json!({ "name": name })).await;
        assert_eq!(code, -32602);
        assert!(message.contains(&format!("`{name}`")), "{message}");
    }
    for name in ["a", "weather/now", "a b", "日本語 ツール"] {
        assert_eq!(peer.call(name, json!({})).await, name);
    }
    assert_eq!(peer.error("tools/call", json!({ "name": "strange" })).await, (-31999, "not today".to_owned()));
}

// proves: TOOL-06, TOOL-10, FC-067, TOOL-12
#[tokio::test]
async fn tool_06_arguments_are_checked_before_the_tool_runs() {
    let runs = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&runs);
    let server = builder().build();
    let sum = tool("sum").handler(move |sum: Sum, _| {
        count.fetch_add(1, Ordering::Relaxed);
        async move { Ok(sum.a + sum.b) }
    });
    server.tool(sum).expect("new");
    let keys = tool("keys")
        .handler(|any: std::collections::BTreeMap<String, Value>, _| async move { Ok(any.len().to_string()) });
    server.tool(keys).expect("new");
    let unchecked = tool("unchecked").check_arguments(false).sync_handler(|sum: Sum, _| Ok(sum.a));
    server.tool(unchecked).expect("new");
    let peer = Peer::ready(&server).await;
    let refused = |arguments: Value| peer.error("tools/call", json!({ "name": "sum", "arguments": arguments }));
    for (arguments, named) in [
        (json!({ "a": "1", "b": 2 }), "`a`"),
        (json!({ "a": 1 }), "\"b\""),
        (json!({ "a": 1.5, "b": 2 }), "`a`"),
        (json!([1]), "`arguments`"),
        (json!("x"), "`arguments`"),
        (json!(5), "`arguments`"),
    ] {
        let (code, message) = refused(arguments).await;
        assert_eq!(code, -32602);
        assert!(message.contains(named), "{message}");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert_eq!(peer.call("sum", json!({ "a": 1, "b": 2 })).await, "3");
    let missing = peer.error("tools/call", json!({ "name": "sum" })).await;
    assert_eq!(missing.0, -32602);
    for absent in [json!({ "name": "keys" }), json!({ "name": "keys", "arguments": null })] {
        assert_eq!(peer.result("tools/call", absent).await["content"][0]["text"], "0");
    }
    // Without the check the handler's own type decides, and its mistakes are the caller's all the same.
    assert_eq!(peer.error("tools/call", json!({ "name": "unchecked", "arguments": {} })).await.0, -32602);
}

// proves: SCH-13, FC-079
#[tokio::test]
async fn sch_13_free_form_json_reaches_the_tool_and_returns_without_loss() {
    let server = builder().build();
    let echo = tool("echo").input_schema_text(r#"{"type":"object"}"#).handler(|args: Raw, _| async move { Ok(args.0) });
    server.tool(echo).expect("new");
    let peer = Peer::ready(&server).await;
    let exact = r#"{"a":9007199254740993,"b":null,"c":{},"d":[],"e":1.0,"f":1e3,"g":"{\"x\": 1}"}"#;
    peer.send_text(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{exact}}}}}"#
    ))
    .await;
    assert_eq!(peer.response(1).await["result"]["content"][0]["text"], exact);
}

#[derive(Deserialize)]
struct Raw(Json);

impl JsonSchema for Raw {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Raw".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object" })
    }
}

// proves: TOOL-16, SCH-02, PROM-14, VER-11, CAP-08
#[tokio::test]
async fn tool_16_what_later_revisions_have_is_put_another_way() {
    let server = builder().title("A title").build();
    let weather = tool("weather")
        .title("Weather")
        .annotations(ToolAnnotations::new())
        .output_schema(Json::parse(r#"{"type":"object"}"#).expect("JSON"))
        .handler(|_: NoArguments, _| async { Ok(Structured(Weather { degrees: 21.5 })) });
    server.tool(weather).expect("new");
    let sound = AudioContent::from_bytes([1], "audio/wav").expect("a type");
    let heard = sound.clone();
    let media = tool("media").handler(move |_: NoArguments, _| {
        let link = ResourceLink::new("x:a", "a").with_title("A");
        let content = vec![Content::from(heard.clone()), Content::from(link)];
        async { Ok(content) }
    });
    server.tool(media).expect("new");
    let titled = Prompt::new("p").with_title("P");
    server
        .prompt(titled, move |_, _| {
            let messages =
                vec![PromptMessage::user(sound.clone()), PromptMessage::assistant(ResourceLink::new("x:a", "a"))];
            async { Ok(messages) }
        })
        .expect("new");
    server.prompt(Prompt::new("empty"), |_, _| async { Ok(Vec::<PromptMessage>::new()) }).expect("new");
    server.resource(Resource::new("x:a", "a").with_title("A"), |_, _| async { Ok("a") }).expect("new");

    let peer = Peer::of(&server);
    assert_eq!(peer.handshake(&json!({})).await["serverInfo"], json!({ "name": "test", "version": "1.0" }));
    let listed = peer.result("tools/list", json!({})).await["tools"][0].clone();
    assert_eq!(listed["name"], "weather");
    assert_eq!(listed.as_object().map(serde_json::Map::len), Some(2), "{listed}");
    let result = peer.result("tools/call", json!({ "name": "weather" })).await;
    assert_eq!(result, json!({ "content": [{ "type": "text", "text": r#"{"degrees":21.5}"# }] }));
    for content in peer.result("tools/call", json!({ "name": "media" })).await["content"].as_array().expect("an array")
    {
        assert_eq!(content["type"], "text", "{content}");
    }
    assert_eq!(peer.result("prompts/list", json!({})).await["prompts"][0], json!({ "name": "p" }));
    for message in peer.result("prompts/get", json!({ "name": "p" })).await["messages"].as_array().expect("an array") {
        assert_eq!(message["content"]["type"], "text", "{message}");
    }
    assert_eq!(peer.result("prompts/get", json!({ "name": "empty" })).await, json!({ "messages": [] }));
    assert_eq!(peer.result("resources/list", json!({})).await["resources"][0], json!({ "uri": "x:a", "name": "a" }));
}

// proves: SCH-05, SCH-06
#[tokio::test]
async fn sch_05_annotations_and_numbers_are_written_as_they_are() {
    let server = builder().build();
    let noted = Annotations::new().with_priority(0.5).expect("in range");
    let resource = Resource::new("x:a", "a").with_size(3_u64).with_annotations(noted.clone());
    server.resource(resource, |_, _| async { Ok("abc") }).expect("new");
    let text = mcp_native::protocol::TextContent::new("t").with_annotations(noted);
    let annotated = tool("t").handler(move |_: NoArguments, _| {
        let text = text.clone();
        async { Ok(Content::from(text)) }
    });
    server.tool(annotated).expect("new");
    let peer = Peer::ready(&server).await;
    let listed = peer.result("resources/list", json!({})).await["resources"][0].clone();
    assert_eq!(listed.to_string().matches("\"size\":3").count(), 1, "{listed}");
    assert_eq!(listed["annotations"], json!({ "priority": 0.5 }));
    let result = peer.result("tools/call", json!({ "name": "t" })).await;
    assert_eq!(result["content"][0]["annotations"], json!({ "priority": 0.5 }));
    assert!(Annotations::new().with_priority(1.5).is_err());
}

// proves: FC-071
#[tokio::test]
async fn fc_071_what_json_cannot_hold_fails_that_call_only() {
    #[derive(Serialize)]
    struct Keys(std::collections::BTreeMap<Vec<u8>, u8>);
    let server = builder().build();
    let bad = tool("bad").handler(|_: NoArguments, _| async { Ok(Structured(Keys([(vec![1], 1)].into()))) });
    server.tool(bad).expect("new");
    let huge = tool("huge").handler(|_: NoArguments, _| async { Ok("x".repeat(2000)) });
    server.tool(huge).expect("new");
    let peer = Peer::ready(&server).await;
    let result = peer.result("tools/call", json!({ "name": "bad" })).await;
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(peer.call("huge", json!({})).await.len(), 2000);
}

// proves: JRPC-29
#[tokio::test]
async fn a_result_beyond_the_limit_becomes_an_error() {
    let mut limits = mcp_native::engine::Limits::default();
    limits.message_out = 1000;
    let server = builder().limits(limits).build();
    server.tool(tool("huge").handler(|_: NoArguments, _| async { Ok("x".repeat(2000)) })).expect("new");
    let peer = Peer::ready(&server).await;
    let (code, message) = peer.error("tools/call", json!({ "name": "huge" })).await;
    assert!(code == -32603 && message.contains("1000"), "{code} {message}");
    peer.quiet().await;
}

/// Application data, and what a handler is told.
#[tokio::test]
async fn handlers_know_the_request_and_the_data_of_the_application() {
    struct Database(&'static str);
    let server = builder().data(Database("db")).data(7_u32).build();
    let told = tool("told").handler(|_: NoArguments, context: RequestContext| async move {
        let data = context.data::<Database>().map(|data| data.0);
        let absent = context.data::<u64>().is_none();
        let peer = context.peer().map(|peer| peer.info.name.clone());
        let said = json!({
            "data": data, "absent": absent, "peer": peer, "method": context.method().as_str(),
            "id": context.request_id().to_string(), "revision": context.revision().as_str(),
            "session": context.session_id() == context.session().id(), "number": context.data::<u32>(),
            "cancelled": context.is_cancelled(), "meta": context.meta(),
        });
        Ok(CallToolResult::text(said.to_string()))
    });
    server.tool(told).expect("new");
    let peer = Peer::ready(&server).await;
    let params = json!({ "name": "told", "_meta": { "k": [1] } });
    let text = peer.result("tools/call", params).await["content"][0]["text"].as_str().expect("text").to_owned();
    let said: Value = serde_json::from_str(&text).expect("JSON");
    let expected = json!({
        "data": "db", "absent": true, "peer": "peer", "method": "tools/call", "id": "1", "revision": "2024-11-05",
        "session": true, "number": 7, "cancelled": false, "meta": { "k": [1] },
    });
    assert_eq!(said, expected);
}
