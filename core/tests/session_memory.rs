//! What a server takes of memory for what its peers do (FC-006, FC-010). Run one after another, because all of it is
//! counted for the process as a whole.

mod common;

use std::sync::Mutex;

use mcp_native::Server;
use mcp_native::engine::{CloseReason, Limits};
use mcp_native::server::{RequestContext, ServerBuilder, ToolError, tool};
use serde_json::{Value, json};

use common::measure::{held, not_measured};
use common::streams::PipePeer;
use common::{error_of, request, soon, unrecorded};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const MIB: usize = 1024 * 1024;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

fn echoing(builder: ServerBuilder) -> Server {
    let server = builder.build();
    server.tool(tool("echo").handler(|args: Text, _| async move { Ok(args.text) })).expect("new");
    let flood = tool("flood").handler(|args: Text, context: RequestContext| async move {
        loop {
            let params = mcp_native::protocol::Json::from(json!({ "text": args.text }));
            context.notify("acme/news", Some(params)).map_err(ToolError::protocol)?;
            tokio::task::yield_now().await;
            if context.is_cancelled() {
                return Ok("");
            }
        }
    });
    server.tool(flood).expect("new");
    server
}

// proves: FC-006, JRPC-29
#[test]
fn fc_006_an_unfinished_line_does_not_fill_the_memory() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut limits = Limits::default();
    limits.message_in = MIB;
    let server = echoing(unrecorded().limits(limits));
    let (mut peer, _session) = PipePeer::ready(&server);
    let before = held();
    let piece = vec![b'a'; 64 * 1024];
    let mut most = 0;
    for _ in 0..1024 {
        peer.write(&piece);
        if let (Some(before), Some(now)) = (before, held()) {
            most = most.max(now.resident - before.resident);
        }
    }
    peer.write(b"\n");
    assert_eq!(error_of(&peer.response(Value::Null)).0, -32600);
    peer.request(1, "ping", Value::Null);
    peer.response(1);
    match before {
        Some(_) => assert!(most < 8 * 1024, "{most} KiB"),
        None => not_measured(),
    }
}

// proves: FC-006, STDIO-12
#[test]
fn fc_006_a_message_in_many_pieces_takes_linear_time() {
    let _alone = ONE_AT_A_TIME.lock();
    let server = echoing(unrecorded());
    let mut times = [std::time::Duration::ZERO; 2];
    for (time, size) in times.iter_mut().zip([MIB, 8 * MIB]) {
        let (mut peer, _session) = PipePeer::ready(&server);
        let text = "x".repeat(size);
        let line = format!("{}\n", request(1, "tools/call", json!({ "name": "echo", "arguments": { "text": text } })));
        let begun = std::time::Instant::now();
        for piece in line.as_bytes().chunks(1024) {
            peer.write(piece);
        }
        assert_eq!(peer.response(1)["result"]["content"][0]["text"].as_str().map(str::len), Some(size));
        *time = begun.elapsed();
    }
    let ratio = times[1].as_secs_f64() / times[0].as_secs_f64();
    assert!(ratio < 24.0, "eight times the size took {ratio:.1} times as long: {times:?}");
}

// proves: FC-010, JRPC-29
#[test]
fn a_peer_that_never_reads_costs_no_more_than_the_limit() {
    let _alone = ONE_AT_A_TIME.lock();
    let mut limits = Limits::default();
    limits.outbound_bytes = 4 * MIB;
    let server = echoing(unrecorded().limits(limits));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let before = held();
    let mut deaf = Vec::new();
    for _ in 0..4 {
        let (mut peer, session) = PipePeer::ready(&server);
        peer.begin(1, "flood", json!({ "text": "x".repeat(10_000) }));
        assert!(matches!(runtime.block_on(soon(session.closed())), CloseReason::Overflow));
        deaf.push(peer);
    }
    match before {
        Some(before) => {
            let more = before.growth("four deaf peers");
            // Four times what is on its way, and as much again for buffers that grew to hold it.
            assert!(more.resident < 2 * 4 * 4 * 1024 + 8 * 1024, "{more:?}");
        }
        None => not_measured(),
    }
}
