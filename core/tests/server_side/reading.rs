//! Lines in and out over the pipes of an operating system (STDIO), and other transports (XPORT).

use std::collections::BTreeSet;

use mcp_native::server::{NoArguments, tool};
use mcp_native::transport::{Outgoing, StreamTransport, Transport};
use mcp_native::{Client, Server};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::streams::PipePeer;
use crate::common::{builder, error_of, initialize, request, soon, unrecorded};

#[derive(Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

fn echoing(builder: mcp_native::server::ServerBuilder) -> Server {
    let server = builder.build();
    server.tool(tool("echo").sync_handler(|args: Text, _| Ok(args.text))).expect("new");
    server
}

fn echo(peer: &mut PipePeer, id: u32, text: &str) -> String {
    peer.begin(id, "echo", json!({ "text": text }));
    peer.response(id)["result"]["content"][0]["text"].as_str().expect("text").to_owned()
}

// proves: STDIO-02, STDIO-08, FC-002
#[test]
fn stdio_08_text_comes_back_as_it_was_on_one_line_without_a_mark() {
    let server = echoing(builder());
    let (mut peer, _session) = PipePeer::of(&server);
    peer.write(b"\xef\xbb\xbf");
    peer.handshake();
    for (id, text) in
        ["héllo 😀", "a\nb\r\nc\u{2028}d\u{2029}\u{85}e", "\u{feff}mark", "\u{0}\u{1f}\"\\"].into_iter().enumerate()
    {
        assert_eq!(echo(&mut peer, u32::try_from(id).expect("small"), text), text);
    }
    peer.request(9, "ping", Value::Null);
    let line = peer.line().expect("connected");
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n");
}

// proves: STDIO-09, STDIO-12, FC-008
#[test]
fn stdio_09_blank_lines_and_other_ends_are_tolerated() {
    let server = echoing(builder());
    let (mut peer, _session) = PipePeer::of(&server);
    peer.write(format!("\n\r\n  \n{}\r\n", initialize(&json!({}))).as_bytes());
    peer.response("init");
    peer.write(b"{\"jsonrpc\":\"2.0\",\"id\":2,");
    peer.write(b"\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}\n\n");
    peer.response(2);
    peer.response(3);
}

// proves: STDIO-10, DOWN-04
#[test]
fn stdio_10_a_last_line_without_its_end_is_answered() {
    let server = echoing(builder());
    let (mut peer, _session) = PipePeer::ready(&server);
    peer.write(request(2, "ping", Value::Null).to_string().as_bytes());
    peer.end();
    peer.response(2);
    assert_eq!(peer.line(), None);
    // What is no whole message is answered too, as what it is.
    let (mut peer, _session) = PipePeer::ready(&server);
    peer.write(b"{\"jsonrpc\":\"2.0\",\"id\":2,");
    peer.end();
    assert_eq!(error_of(&peer.response(Value::Null)).0, -32700);
    assert_eq!(peer.line(), None);
}

// proves: STDIO-12, FC-005, FC-008
#[test]
fn stdio_12_reads_may_be_cut_anywhere_and_lines_be_long() {
    let server = echoing(unrecorded());
    let (mut peer, _session) = PipePeer::ready(&server);
    let call = request(1, "tools/call", json!({ "name": "echo", "arguments": { "text": "äöü 😀" } })).to_string();
    for byte in call.bytes().chain([b'\n']) {
        peer.write(&[byte]);
    }
    assert_eq!(peer.response(1)["result"]["content"][0]["text"], "äöü 😀");
    let long = "😀".repeat(1024 * 1024);
    let mut input = peer.input.take().expect("open");
    let line = format!("{}\n", request(2, "tools/call", json!({ "name": "echo", "arguments": { "text": long } })));
    // The pipe holds less than that, so writing and reading go on at the same time.
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, line.as_bytes()).map(|()| input));
    assert_eq!(peer.response(2)["result"]["content"][0]["text"], long.as_str());
    peer.input = Some(writer.join().expect("no panic").expect("the server reads"));
    peer.request(3, "ping", Value::Null);
    peer.response(3);
}

// proves: STDIO-11, FC-010, FC-005
#[test]
fn stdio_11_a_hundred_handlers_at_once_never_mix_their_lines() {
    let server = unrecorded().build();
    let gate = std::sync::Arc::new(tokio::sync::Barrier::new(100));
    let big = tool("big").handler(move |_: NoArguments, _| {
        let gate = std::sync::Arc::clone(&gate);
        async move {
            gate.wait().await;
            Ok("x".repeat(64 * 1024))
        }
    });
    server.tool(big).expect("new");
    let (mut peer, _session) = PipePeer::ready(&server);
    for id in 0..100 {
        peer.begin(id, "big", json!({}));
    }
    let mut answered = BTreeSet::new();
    for _ in 0..100 {
        let message = peer.next().expect("every line is one message");
        assert_eq!(message["result"]["content"][0]["text"].as_str().map(str::len), Some(64 * 1024));
        assert!(answered.insert(message["id"].as_u64().expect("a number")));
    }
    assert_eq!(answered.len(), 100);
}

/// Cases over any transport: the handshake, a call, a fault, the end.
async fn converse(transport: impl Transport) {
    let next = async || {
        let incoming = soon(transport.receive()).await.expect("works").expect("connected");
        serde_json::from_slice::<Value>(&incoming.message).expect("JSON")
    };
    let send = async |message: String| soon(transport.send(Outgoing::new(message))).await.expect("works");
    send(initialize(&json!({})).to_string()).await;
    assert_eq!(next().await["result"]["protocolVersion"], "2024-11-05");
    send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string()).await;
    send(request(1, "tools/call", json!({ "name": "echo", "arguments": { "text": "é\n" } })).to_string()).await;
    assert_eq!(next().await["result"]["content"][0]["text"], "é\n");
    send("nonsense".to_owned()).await;
    assert_eq!(next().await["error"]["code"], -32700);
    send(request(2, "ping", Value::Null).to_string()).await;
    assert_eq!(next().await, json!({ "jsonrpc": "2.0", "id": 2, "result": {} }));
    transport.close().await;
}

// proves: XPORT-01, XPORT-02
#[tokio::test]
async fn xport_01_sessions_run_over_memory_and_over_asynchronous_streams() {
    let server = echoing(builder());
    let (near, far) = mcp_native::transport::memory::pair();
    let session = server.serve(near);
    converse(far).await;
    soon(session.closed()).await;

    let (near, far) = tokio::io::duplex(64);
    let (their_reader, their_writer) = tokio::io::split(near);
    let (reader, writer) = tokio::io::split(far);
    let session = server.serve(StreamTransport::new(their_reader, their_writer));
    converse(StreamTransport::new(reader, writer)).await;
    soon(session.closed()).await;
}

/// A transport of the application's own.
struct Counting<T>(T, std::sync::Arc<std::sync::atomic::AtomicU32>);

impl<T: Transport> Transport for Counting<T> {
    fn receive(&self) -> mcp_native::transport::TransportFuture<'_, Option<mcp_native::transport::Incoming>> {
        self.0.receive()
    }

    fn send(&self, message: Outgoing) -> mcp_native::transport::TransportFuture<'_, ()> {
        self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.0.send(message)
    }

    fn close(&self) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.close()
    }
}

// proves: XPORT-01, XPORT-02
#[tokio::test]
async fn xport_01_own_transports_carry_server_and_client() {
    let server = echoing(builder());
    let sent = std::sync::Arc::default();
    let (near, far) = mcp_native::transport::memory::pair();
    server.serve(Counting(near, std::sync::Arc::clone(&sent)));
    let client =
        soon(Client::builder("peer", "1").connect(Counting(far, std::sync::Arc::clone(&sent)))).await.expect("agreed");
    let result = soon(client.call_tool("echo", json!({ "text": "x" })).into_future()).await.expect("answered");
    assert_eq!(result.content[0].as_text(), Some("x"));
    assert_eq!(sent.load(std::sync::atomic::Ordering::Relaxed), 5);
    client.close().await;
}

// proves: XPORT-03
#[test]
fn xport_03_the_documentation_says_how_transports_connect_and_frame() {
    let source = include_str!("../../src/transport/mod.rs");
    for row in ["stdio of this process", "child process", "byte streams", "[`memory`]", "[`Transport`]"] {
        assert!(source.contains(&format!("//! | {row} |")), "no row for {row}");
    }
}

/// Readers and writers of the application that fail or panic end their session, and nothing else.
// proves: FC-062, JRPC-28
#[test]
fn streams_that_break_end_their_session() {
    struct Broken(bool);
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            assert!(!self.0, "reader");
            Err(std::io::Error::other("broken"))
        }
    }
    impl std::io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            assert!(!self.0, "writer");
            Err(std::io::Error::other("broken"))
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let server = echoing(builder());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for panics in [false, true] {
        let (_unread, silent) = std::io::pipe().expect("a pipe");
        let session = server.serve_io(Broken(panics), silent).expect("threads");
        let reason = runtime.block_on(soon(session.closed()));
        assert!(matches!(reason, mcp_native::engine::CloseReason::Transport(_)), "{reason}");

        let (their_input, mut input) = std::io::pipe().expect("a pipe");
        let session = server.serve_io(their_input, Broken(panics)).expect("threads");
        std::io::Write::write_all(&mut input, format!("{}\n", request(1, "ping", Value::Null)).as_bytes())
            .expect("room");
        let reason = runtime.block_on(soon(session.closed()));
        assert!(reason.to_string().contains("does not take messages"), "{reason}");
    }
}
