//! The messages that the driver sends, and the checks of what comes back.

use crate::Result;
use memchr::memmem;
use serde_json::Value;
use std::io::Write as _;

pub const INITIALIZED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// The initialize request, with id 0, as a line.
pub fn initialize(protocol: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{{\"protocolVersion\":\"{protocol}\",\
         \"capabilities\":{{}},\"clientInfo\":{{\"name\":\"driver\",\"version\":\"1\"}}}}}}\n"
    )
}

/// The tool that is called, and its one text argument.
pub struct Tool {
    pub name: String,
    pub argument: String,
}

impl Tool {
    /// Appends a call as a line. `text` must need no escaping in JSON.
    pub fn push_call(&self, out: &mut Vec<u8>, id: u64, text: &str) {
        let Self { name, argument } = self;
        // Writing to a Vec does not fail.
        let _ = writeln!(
            out,
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\
             \"params\":{{\"name\":\"{name}\",\"arguments\":{{\"{argument}\":\"{text}\"}}}}}}"
        );
    }
}

/// A text of 16 bytes that no other call of the run has, so that a crossed answer is noticed.
pub fn text_of(id: u64) -> String {
    format!("{id:016x}")
}

/// Protocol revision, and name and version of the server, from the answer to initialize.
pub fn check_initialize(line: &[u8]) -> Result<(String, String)> {
    let answer: Value = serde_json::from_slice(line)?;
    let result = answer.get("result").ok_or_else(|| format!("initialize was refused: {answer}"))?;
    let text = |v: &Value| v.as_str().unwrap_or("?").to_owned();
    let server = &result["serverInfo"];
    Ok((text(&result["protocolVersion"]), format!("{} {}", text(&server["name"]), text(&server["version"]))))
}

/// The answer to an echo holds its text and is no error.
pub fn check_echo(line: &[u8], text: &[u8]) -> Result<()> {
    if memmem::find(line, text).is_some() && memmem::find(line, b"\"isError\":true").is_none() {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&line[..line.len().min(400)]);
    Err(format!("a call was answered with another text, or with an error: {shown}").into())
}

/// The id of a response; none for requests and notifications of the server.
///
/// A search in place of a parser, to keep the driver out of the figures: it takes the first `"id":` that is near one
/// of the ends, which is right as long as no payload holds one. Those used here do not.
pub fn response_id(line: &[u8]) -> Option<u64> {
    let is_response = memmem::find(line, b"\"result\"").is_some() || memmem::find(line, b"\"error\"").is_some();
    if is_response { number_id(line) } else { None }
}

/// The numeric id of any message, found the same way.
pub fn number_id(line: &[u8]) -> Option<u64> {
    const KEY: &[u8] = b"\"id\":";
    const NEAR: usize = 256;
    let key = if line.len() <= 16 * NEAR {
        memmem::find(line, KEY)
    } else {
        let tail = line.len() - NEAR;
        memmem::find(&line[..NEAR], KEY).or_else(|| memmem::rfind(&line[tail..], KEY).map(|at| at + tail))
    }?;
    let value = line[key + KEY.len()..].trim_ascii_start();
    let digits = value.iter().take_while(|b| b.is_ascii_digit()).count();
    std::str::from_utf8(&value[..digits]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_at_either_end() {
        let big = "a".repeat(100_000);
        assert_eq!(response_id(br#"{"jsonrpc":"2.0","id": 17,"result":{}}"#), Some(17));
        assert_eq!(response_id(format!(r#"{{"id":5,"result":{{"text":"{big}"}}}}"#).as_bytes()), Some(5));
        assert_eq!(response_id(format!(r#"{{"result":{{"text":"{big}"}},"id":6}}"#).as_bytes()), Some(6));
    }

    #[test]
    fn what_is_no_numbered_response_has_no_id() {
        assert_eq!(response_id(br#"{"id":1,"method":"ping"}"#), None);
        assert_eq!(response_id(br#"{"method":"notifications/message","params":{}}"#), None);
        assert_eq!(response_id(br#"{"id":"1","result":{}}"#), None);
    }

    #[test]
    fn an_echo_with_another_text_or_an_error_is_refused() {
        let good = br#"{"id":1,"result":{"content":[{"type":"text","text":"0001"}]}}"#;
        assert!(check_echo(good, b"0001").is_ok());
        assert!(check_echo(good, b"0002").is_err());
        assert!(check_echo(br#"{"id":1,"result":{"content":[{"text":"0001"}],"isError":true}}"#, b"0001").is_err());
    }

    #[test]
    fn a_call_is_one_line_of_json() {
        let mut line = Vec::new();
        Tool { name: "echo".into(), argument: "text".into() }.push_call(&mut line, 3, "abc");
        assert_eq!(memchr::memchr_iter(b'\n', &line).collect::<Vec<_>>(), [line.len() - 1]);
        let call: Value = serde_json::from_slice(&line).expect("JSON");
        assert_eq!((&call["id"], &call["params"]["arguments"]["text"]), (&3.into(), &"abc".into()));
    }
}
