//! The tap: what passes, in both directions, as it is.

use std::io::Write;
use std::sync::{Arc, Mutex};

use mcp_native::engine::{Config, Engine, Event, Local, Role};
use mcp_native::protocol::{Implementation, LoggingLevel};
use mcp_native::server::{NoArguments, tool};
use mcp_native::transport::{JsonLines, Tap, TapDirection};
use serde_json::{Value, json};

use crate::common::{Peer, Seen, lines, request, streams::PipePeer, unrecorded};

type Passed = (TapDirection, String, Vec<u8>);

fn tapped() -> (mcp_native::Server, Seen<Passed>) {
    let seen = Seen::default();
    let see = seen.clone();
    let tap = Tap::new(move |record| see.push((record.direction, record.session.to_owned(), record.frame.to_vec())));
    (with_tool(tap), seen)
}

fn with_tool(tap: Tap) -> mcp_native::Server {
    let mut limits = mcp_native::engine::Limits::default();
    limits.message_in = 10_000;
    let server = unrecorded().tap(tap).limits(limits).logging(LoggingLevel::Info).build();
    // White space in a schema, line feeds included, must not end up in a line.
    let schema = "{\n  \"type\": \"object\"\r\n}";
    server
        .tool(tool("t").input_schema_text(schema).handler(|_: NoArguments, _| async { Ok("a\nb\r\nc\u{2028}") }))
        .expect("new");
    server
}

// proves: STDIO-02
#[tokio::test]
async fn the_tap_sees_every_message_as_it_is() {
    let (server, seen) = tapped();
    let peer = Peer::ready(&server).await;
    peer.send_text(&b"{\"broken\xff"[..]).await;
    peer.response(Value::Null).await;
    assert_eq!(peer.call("t", json!({})).await, "a\nb\r\nc\u{2028}");
    peer.result("tools/list", json!({})).await;
    let all = seen.wait(9).await;
    assert!(all.iter().all(|(_, session, _)| session == peer.session.id()));
    let directions: Vec<_> = all.iter().map(|(direction, ..)| direction.as_str()).collect();
    assert_eq!(directions, ["in", "out", "in", "in", "out", "in", "out", "in", "out"]);
    assert_eq!(all[3].2, b"{\"broken\xff");
    for (direction, _, frame) in &all {
        if *direction == TapDirection::Out {
            serde_json::from_slice::<Value>(frame).expect("one message");
            assert!(!frame.contains(&b'\n') && !frame.contains(&b'\r'));
        }
    }
}

/// Over byte streams many messages leave in one write; the tap still sees each by itself, and so does the peer.
// proves: STDIO-02
#[test]
fn messages_written_together_are_tapped_one_by_one() {
    let (server, seen) = tapped();
    let (mut peer, _session) = PipePeer::ready(&server);
    let burst = lines((0..50).map(|n| request(n, "tools/list", Value::Null)));
    peer.write(burst.as_bytes());
    let written: Vec<_> = (0..50)
        .map(|n| {
            let line = peer.line().expect("connected");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(message["id"], n);
            line
        })
        .collect();
    let out: Vec<_> = seen.all().into_iter().filter(|(direction, ..)| *direction == TapDirection::Out).collect();
    assert_eq!(out.len(), 51);
    for (line, (.., frame)) in written.iter().zip(&out[1..]) {
        assert_eq!(line.as_bytes().strip_suffix(b"\n"), Some(&frame[..]));
    }
    // Of a message that is too long, its beginning.
    peer.write(format!("{{\"long\":\"{}\"}}\n", "x".repeat(20_000)).as_bytes());
    peer.response(Value::Null);
    let kept = seen.all();
    let (direction, _, frame) = &kept[kept.len() - 2];
    assert_eq!(*direction, TapDirection::In);
    assert!(frame.starts_with(b"{\"long\":\"xx") && frame.len() < 10_000);
}

/// A writer that can be looked into.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

// proves: SEC-09
#[tokio::test]
async fn recordings_are_json_lines_without_what_was_redacted() {
    let file = Shared::default();
    let tap = Tap::json_lines(JsonLines::new(file.clone())).redact(|frame| {
        let text = std::str::from_utf8(frame).ok()?;
        text.contains("sk-123").then(|| text.replace("sk-123", "[secret]").into_bytes())
    });
    let peer = Peer::ready(&with_tool(tap)).await;
    peer.send_text(&b"\xffsk-123"[..]).await;
    peer.response(Value::Null).await;
    peer.result("ping", json!({ "key": "sk-123" })).await;
    let recorded = String::from_utf8(file.0.lock().expect("no panic").clone()).expect("UTF-8");
    let lines: Vec<Value> = recorded.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(!recorded.contains("sk-123"), "{recorded}");
    assert!(lines.iter().all(|line| line["session"] == peer.session.id() && line["t"].is_u64()));
    assert_eq!(lines[3]["frame_hex"], "ff736b2d313233");
    assert!(lines[5]["frame"].as_str().expect("text").contains("[secret]"));
}

/// A tap that panics harms nobody.
// proves: FC-062
#[tokio::test]
async fn a_tap_that_panics_is_caught() {
    let peer = Peer::ready(&with_tool(Tap::new(|_| panic!("tap")))).await;
    peer.quiet().await;
}

/// What came in can be played into an engine, which then says the same.
#[tokio::test]
async fn a_recorded_session_can_be_replayed() {
    let (server, seen) = tapped();
    let peer = Peer::ready(&server).await;
    peer.result("ping", Value::Null).await;
    peer.send_text("{").await;
    peer.response(Value::Null).await;
    peer.error("prompts/list", json!({})).await;
    let recorded = seen.all();
    let mut local = Local::new(Implementation::new("test", "1.0"));
    local.capabilities.insert("tools".into(), json!({ "listChanged": true }));
    local.capabilities.insert("logging".into(), json!({}));
    let now = std::time::Instant::now();
    let mut engine = Engine::new(Config::new(Role::Server, local), now);
    let mut said = Vec::new();
    for (direction, _, frame) in &recorded {
        if *direction == TapDirection::In {
            engine.handle_frame(&frame.clone().into(), now);
        }
        while let Some(event) = engine.poll_event() {
            assert!(!matches!(event, Event::Request { .. }), "the engine answers all of it by itself");
        }
        let mut frame = Vec::new();
        while engine.poll_transmit(&mut frame).is_some() {
            said.push(std::mem::take(&mut frame));
        }
    }
    let sent: Vec<_> = recorded
        .into_iter()
        .filter(|(direction, ..)| *direction == TapDirection::Out)
        .map(|(.., frame)| frame)
        .collect();
    assert_eq!(said, sent);
}
