//! The server that clients are measured against: it answers calls of `echo` by copying the id and the text out of the
//! request, so that next to nothing of what is measured is its own.

use super::floor::{dispatch, tools};
use super::raw_stdout;
use crate::lines::Lines;
use crate::message::number_id;
use memchr::{memchr2, memmem};
use serde_json::Value;
use std::io::{self, Write};

/// Serves until the end of stdin; all replies to one read are written at once.
pub fn serve() -> io::Result<()> {
    let tools = tools();
    let mut requests = Lines::new(io::stdin().lock());
    let mut stdout = raw_stdout()?;
    let mut out = Vec::with_capacity(1 << 16);
    loop {
        while let Some(line) = requests.buffered() {
            if push_echo(&mut out, line).is_some() {
                continue;
            }
            let Ok(message) = serde_json::from_slice::<Value>(line) else {
                continue;
            };
            if let Some(reply) = dispatch(&message, &tools) {
                serde_json::to_writer(&mut out, &reply)?;
                out.push(b'\n');
            }
        }
        if !out.is_empty() {
            stdout.write_all(&out)?;
            out.clear();
        }
        match requests.fill() {
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
    }
}

/// The reply to a call with a numeric id and a text; none for everything else, which is parsed.
fn push_echo(out: &mut Vec<u8>, line: &[u8]) -> Option<()> {
    memmem::find(line, b"\"tools/call\"")?;
    let (id, text) = (raw_id(line)?, raw_text(line)?);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id);
    out.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    out.extend_from_slice(text);
    out.extend_from_slice(b"}]}}\n");
    Some(())
}

/// What follows a key, its colon and blanks.
fn after<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let rest = &line[memmem::find(line, key)? + key.len()..];
    let value = rest.iter().position(|b| !matches!(b, b' ' | b':'))?;
    Some(&rest[value..])
}

fn raw_id(line: &[u8]) -> Option<&[u8]> {
    number_id(line)?;
    let value = after(line, b"\"id\"")?;
    Some(&value[..value.iter().position(|b| !b.is_ascii_digit())?])
}

/// The text with its quotes, escapes untouched. A key may be named text too, but not be followed by a string then.
fn raw_text(line: &[u8]) -> Option<&[u8]> {
    let value = after(line, b"\"text\"")?;
    if value.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        at += memchr2(b'"', b'\\', value.get(at..)?)?;
        if value[at] == b'"' {
            return Some(&value[..=at]);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(line: &str) -> Option<Value> {
        let mut out = Vec::new();
        push_echo(&mut out, line.as_bytes())?;
        Some(serde_json::from_slice(&out).expect("a reply in JSON"))
    }

    #[test]
    fn id_and_text_are_copied_whatever_their_order() {
        for line in [
            r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a\"\\"}}}"#,
            r#"{"params":{"arguments":{"text": "a\"\\"},"name":"echo"},"method":"tools/call","id": 12}"#,
        ] {
            let reply = echo(line).expect("the short way");
            assert_eq!(reply["id"], 12);
            assert_eq!(reply["result"]["content"][0]["text"], "a\"\\");
        }
    }

    #[test]
    fn anything_else_takes_the_long_way() {
        assert_eq!(echo(r#"{"id":1,"method":"tools/list"}"#), None);
        assert_eq!(echo(r#"{"id":"s","method":"tools/call","params":{"arguments":{"text":"a"}}}"#), None);
        assert_eq!(echo(r#"{"id":1,"method":"tools/call","params":{"arguments":{"text":"cut"#), None);
    }
}
