//! What a server holds on to after calls and sessions have ended: memory, threads, descriptors (FC-063). A program of its
//! own, so that nothing that was freed by other tests hides a leak.

mod common;

use std::sync::Mutex;

use mcp_native::Server;
use mcp_native::engine::CloseReason;
use mcp_native::server::tool;
use serde_json::json;

use common::measure::{Held, held, not_measured};
use common::streams::PipePeer;
use common::{Peer, lines, request, soon, unrecorded};

/// Memory is counted for the process as a whole.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Without optimisation a tenth is enough to show it.
const SCALE: usize = if cfg!(debug_assertions) { 10 } else { 1 };

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Text {
    text: String,
}

fn echoing() -> Server {
    let server = unrecorded().build();
    server.tool(tool("echo").handler(|args: Text, _| async move { Ok(args.text) })).expect("new");
    server
}

// proves: FC-063
#[test]
fn fc_063_calls_leave_nothing_behind() {
    let _alone = ONE_AT_A_TIME.lock();
    let server = echoing();
    let (mut peer, _session) = PipePeer::ready(&server);
    let mut run = |calls: usize| {
        for batch in 0..calls / 50 {
            let call = json!({ "name": "echo", "arguments": { "text": "x" } });
            let calls = (0..50).map(|n| request(batch * 50 + n, "tools/call", call.clone()));
            peer.write(lines(calls).as_bytes());
            for _ in 0..50 {
                assert!(peer.next().expect("an answer")["result"].is_object());
            }
        }
    };
    run(20_000 / SCALE);
    let Some(before) = held() else { return not_measured() };
    run(200_000 / SCALE);
    let more = before.growth(&format!("{} calls", 200_000 / SCALE));
    assert!(more.resident < 5 * 1024 && more.threads <= 0 && more.descriptors <= 0, "{more:?}");
}

// proves: FC-063, LIFE-16
#[test]
fn fc_063_sessions_leave_nothing_behind() {
    let _alone = ONE_AT_A_TIME.lock();
    let server = echoing();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let run = |sessions: usize| {
        for n in 0..sessions {
            if n % 2 == 0 {
                let (mut peer, session) = PipePeer::ready(&server);
                peer.begin(1, "echo", json!({ "text": "x" }));
                assert_eq!(peer.response(1)["result"]["content"][0]["text"], "x");
                peer.end();
                assert!(matches!(runtime.block_on(soon(session.closed())), CloseReason::Peer { .. }));
                assert_eq!(peer.line(), None);
            } else {
                runtime.block_on(async {
                    let peer = Peer::ready(&server).await;
                    assert_eq!(peer.call("echo", json!({ "text": "x" })).await, "x");
                    peer.session.close();
                    assert_eq!(peer.next().await, None);
                });
            }
        }
    };
    run(1000 / SCALE);
    let Some(before) = settled(&runtime) else { return not_measured() };
    run(5000 / SCALE);
    settled(&runtime);
    let more = before.growth(&format!("{} sessions", 5000 / SCALE));
    assert!(server.sessions().is_empty());
    assert!(more.resident < 5 * 1024 && more.threads <= 0 && more.descriptors <= 0, "{more:?}");
}

/// What is held once the threads of ended sessions have gone: looked at until it falls no more.
fn settled(runtime: &tokio::runtime::Runtime) -> Option<Held> {
    let mut last = held()?;
    for _ in 0..100 {
        runtime.block_on(async { tokio::time::sleep(std::time::Duration::from_millis(20)).await });
        let now = held()?;
        if now.threads >= last.threads && now.descriptors >= last.descriptors {
            return Some(now);
        }
        last = now;
    }
    Some(last)
}
