//! Handlers that keep the reading thread, and peers that do not read (PING-01, back-pressure).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use mcp_native::Server;
use mcp_native::engine::{CloseReason, Limits};
use mcp_native::server::{NoArguments, RequestContext, ToolError, tool};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::common::streams::PipePeer;
use crate::common::{Door, Peer, Seen, builder, error_of, lines, soon, unrecorded};

/// A server with tools that keep their thread until the door opens, each in its way.
fn blocking() -> (Server, Door, Seen<()>) {
    let (door, runs) = (Door::default(), Seen::default());
    let server = builder().build();
    let wait = |_: &str| {
        let (door, runs) = (door.clone(), runs.clone());
        move || {
            runs.push(());
            door.wait();
        }
    };
    let hold = wait("inline");
    server
        .tool(tool("inline").sync_handler(move |_: NoArguments, _| {
            hold();
            Ok("held")
        }))
        .expect("new");
    let hold = wait("future");
    server
        .tool(tool("future").handler(move |_: NoArguments, _| {
            hold();
            async { Ok("held") }
        }))
        .expect("new");
    let hold = wait("pool");
    server
        .tool(tool("pool").blocking_handler(move |_: NoArguments, _| {
            hold();
            Ok("held")
        }))
        .expect("new");
    server.tool(tool("quick").handler(|_: NoArguments, _| async { Ok("quick") })).expect("new");
    (server, door, runs)
}

// proves: PING-01, JRPC-24, FC-061, FC-083
#[test]
fn ping_01_a_handler_that_blocks_does_not_silence_its_session() {
    for name in ["inline", "future", "pool"] {
        let (server, door, _) = blocking();
        let (mut peer, _session) = PipePeer::ready(&server);
        for id in 0..4 {
            peer.begin(id, name, json!({}));
            // Each time another thread has to take over.
            let begun = Instant::now();
            peer.request("p", "ping", Value::Null);
            peer.response("p");
            let took = begun.elapsed();
            assert!(took < Duration::from_millis(100), "{name} {id}: {took:?}");
        }
        peer.begin("q", "quick", json!({}));
        assert_eq!(peer.response("q")["result"]["content"][0]["text"], "quick");
        door.open();
        let mut held: Vec<_> =
            (0..4).map(|_| peer.next().expect("answered")["id"].as_u64().expect("a number")).collect();
        held.sort_unstable();
        assert_eq!(held, [0, 1, 2, 3]);
    }
}

// proves: PING-01
#[test]
fn ping_01_a_handler_that_computes_does_not_silence_its_session() {
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let server = builder().build();
    let told = Arc::clone(&stop);
    let compute = tool("compute").sync_handler(move |_: NoArguments, _| {
        let mut n = 1_u64;
        while !told.load(Ordering::Relaxed) {
            n = std::hint::black_box(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        Ok(n)
    });
    server.tool(compute).expect("new");
    let (mut peer, _session) = PipePeer::ready(&server);
    peer.begin(1, "compute", json!({}));
    for id in 10..20 {
        let begun = Instant::now();
        peer.request(id, "ping", Value::Null);
        peer.response(id);
        assert!(begun.elapsed() < Duration::from_millis(100), "{:?}", begun.elapsed());
    }
    stop.store(true, Ordering::Relaxed);
    peer.response(1);
}

/// The same over a transport, whose reading is a task and not a thread.
// proves: PING-01
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn ping_01_nor_over_a_transport() {
    for name in ["inline", "future"] {
        let (server, door, runs) = blocking();
        let peer = Peer::ready(&server).await;
        let mut ids = Vec::new();
        for many in 1..3 {
            ids.push(peer.begin(name, json!({})).await);
            runs.wait(many).await;
            let begun = Instant::now();
            peer.quiet().await;
            assert!(begun.elapsed() < Duration::from_millis(100), "{name}: {:?}", begun.elapsed());
        }
        door.open();
        let mut answered = Vec::new();
        for _ in 0..2 {
            answered.push(
                u32::try_from(peer.next().await.expect("answered")["id"].as_u64().expect("a number")).expect("small"),
            );
        }
        answered.sort_unstable();
        assert_eq!(answered, ids);
    }
}

/// A handler that blocks the reading thread while it waits for its own question: another thread reads the answer.
// proves: JRPC-25, FC-061
#[test]
fn jrpc_25_a_blocking_handler_may_ask() {
    let server = builder().build();
    let asks = tool("asks").sync_handler(|_: NoArguments, context: RequestContext| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let roots = runtime.block_on(context.list_roots().into_future())?;
        Ok(roots.roots.len())
    });
    server.tool(asks).expect("new");
    let (mut peer, _session) = PipePeer::ready(&server);
    peer.begin(1, "asks", json!({}));
    let asked = peer.next().expect("a question");
    assert_eq!(asked["method"], "roots/list");
    peer.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [] } }));
    assert_eq!(peer.response(1)["result"]["content"][0]["text"], "0");
}

/// Cancels, answers and notifications are never stuck behind a call that waited for room and then blocks.
// proves: CANC-03
#[test]
fn news_do_not_queue_behind_a_call_that_blocks() {
    let mut limits = Limits::default();
    limits.running = 2;
    let (door, cancelled, heard) = (Door::default(), Door::default(), Door::default());
    let hear = heard.clone();
    let server = builder().limits(limits).on_notification("acme/told", move |_, _| hear.open()).build();
    let (wait, told) = (door.clone(), cancelled.clone());
    server
        .tool(tool("blocks").sync_handler(move |_: NoArguments, _| {
            wait.wait();
            Ok("")
        }))
        .expect("new");
    let sleeps = tool("sleeps").handler(move |_: NoArguments, context: RequestContext| {
        let told = told.clone();
        async move {
            context.cancelled().await;
            told.open();
            Ok("")
        }
    });
    server.tool(sleeps).expect("new");
    server.tool(tool("quick").handler(|_: NoArguments, _| async { Ok("") })).expect("new");
    let (mut peer, _session) = PipePeer::ready(&server);
    peer.begin("s", "sleeps", json!({}));
    // Two that block; the second waits for room, and is started in one go with whatever else there is.
    let burst = [
        crate::common::request("b1", "tools/call", json!({ "name": "blocks" })),
        crate::common::request("b2", "tools/call", json!({ "name": "blocks" })),
        crate::common::request("q", "tools/call", json!({ "name": "quick" })),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "s" } }),
        json!({ "jsonrpc": "2.0", "method": "acme/told" }),
    ];
    peer.write(lines(burst).as_bytes());
    cancelled.wait();
    heard.wait();
    peer.request("p", "ping", Value::Null);
    peer.response("p");
    door.open();
    let mut ids: Vec<_> = (0..3).map(|_| peer.next().expect("answered")["id"].to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["\"b1\"", "\"b2\"", "\"q\""]);
}

/// Calls beyond the bound wait and are all served; beyond the queue they are refused.
// proves: JRPC-29
#[test]
fn calls_wait_for_room_and_are_refused_beyond_it() {
    let mut limits = Limits::default();
    (limits.running, limits.waiting) = (3, 5);
    let (door, most, now) = (Door::default(), Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let server = builder().limits(limits).build();
    let (wait, high, count) = (door.clone(), Arc::clone(&most), Arc::clone(&now));
    let held = tool("held").handler(move |_: NoArguments, _| {
        let (wait, high, count) = (wait.clone(), Arc::clone(&high), Arc::clone(&count));
        async move {
            high.fetch_max(count.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            wait.opened().await;
            count.fetch_sub(1, Ordering::SeqCst);
            Ok("served")
        }
    });
    server.tool(held).expect("new");
    let (mut peer, _session) = PipePeer::ready(&server);
    for id in 0..10 {
        peer.begin(id, "held", json!({}));
    }
    for id in [8, 9] {
        let (code, message) = error_of(&peer.response(id));
        assert!(code == -32603 && message.contains("try again later"), "{message}");
    }
    // One that waits can be taken back.
    peer.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } }));
    peer.request("p", "ping", Value::Null);
    peer.response("p");
    door.open();
    let mut served: Vec<_> = (0..7).map(|_| peer.next().expect("served")["id"].as_u64().expect("a number")).collect();
    served.sort_unstable();
    assert_eq!(served, [0, 1, 2, 3, 4, 5, 6]);
    peer.request("p", "ping", Value::Null);
    peer.response("p");
    assert!(most.load(Ordering::SeqCst) <= 3);
}

#[derive(Deserialize, schemars::JsonSchema)]
struct Bytes {
    bytes: usize,
}

fn big(limits: Limits) -> Server {
    let server = unrecorded().limits(limits).build();
    server.tool(tool("big").handler(|args: Bytes, _| async move { Ok("x".repeat(args.bytes)) })).expect("new");
    let flood = tool("flood").handler(|args: Bytes, context: RequestContext| async move {
        for _ in 0..args.bytes / 1024 {
            let kilobyte = mcp_native::protocol::Json::from(json!({ "x": "x".repeat(1024) }));
            context.notify("acme/flood", Some(kilobyte)).map_err(ToolError::protocol)?;
            tokio::task::yield_now().await;
        }
        Ok("all")
    });
    server.tool(flood).expect("new");
    server
}

/// A peer that is merely slow gets everything.
// proves: FC-010
#[test]
fn a_peer_that_reads_late_gets_everything() {
    const MIB: usize = 1024 * 1024;
    let server = big(Limits::default());
    let (mut peer, session) = PipePeer::ready(&server);
    for id in 0..20 {
        peer.begin(id, "big", json!({ "bytes": MIB }));
    }
    // Others are served meanwhile.
    let (mut other, _other) = PipePeer::ready(&server);
    other.begin(1, "big", json!({ "bytes": 10 }));
    other.response(1);
    let mut answered = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let answer = peer.next().expect("everything arrives");
        assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(MIB));
        answered.insert(answer["id"].as_u64());
    }
    assert_eq!(answered.len(), 20);
    assert!(!session.is_closed());
}

/// Answers that take more room than there is at once are made one after another, as the peer takes them.
// proves: FC-010
#[test]
fn calls_start_as_the_peer_makes_room() {
    for bound in [16 * 1024, 256 * 1024] {
        let mut limits = Limits::default();
        limits.outbound_bytes = bound;
        let server = big(limits);
        let (mut peer, session) = PipePeer::ready(&server);
        let bytes = bound / 10;
        let mut ahead = 0;
        for id in 0..400 {
            peer.begin(id, "big", json!({ "bytes": bytes }));
            ahead += 1;
            // Now and then it falls behind by more than there is room for.
            while ahead > 40 || (id == 399 && ahead > 0) {
                let answer = peer.next().unwrap_or_else(|| panic!("closed while {ahead} answers were due"));
                assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(bytes));
                ahead -= 1;
            }
        }
        assert!(!session.is_closed());
    }
}

// proves: FC-010, JRPC-29
#[test]
fn a_peer_that_never_reads_is_closed_and_harms_nobody_else() {
    let mut limits = Limits::default();
    limits.outbound_bytes = 1024 * 1024;
    let server = big(limits);
    let (mut deaf, session) = PipePeer::ready(&server);
    deaf.begin(1, "flood", json!({ "bytes": 4 * 1024 * 1024 }));
    let (mut other, _other) = PipePeer::ready(&server);
    other.begin(1, "big", json!({ "bytes": 100_000 }));
    other.response(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let reason = runtime.block_on(soon(session.closed()));
    assert!(matches!(reason, CloseReason::Overflow), "{reason}");
    other.begin(2, "big", json!({ "bytes": 100_000 }));
    other.response(2);
}

/// The same over a transport: its task does not wait for ever for a peer that is gone in all but name.
// proves: FC-010, JRPC-29
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_never_receives_is_closed() {
    let mut limits = Limits::default();
    limits.outbound_bytes = 100 * 1024;
    let server = big(limits);
    let peer = Peer::ready(&server).await;
    peer.begin("flood", json!({ "bytes": 4 * 1024 * 1024 })).await;
    assert!(matches!(soon(peer.session.closed()).await, CloseReason::Overflow));
    // What was handed over before can still be taken, and then the connection ends.
    let mut taken = 0;
    while peer.next().await.is_some() {
        taken += 1;
    }
    assert!(taken > 0 && taken < 1000, "{taken}");
}

/// Calls that nobody reads the answers of wait, beyond a bound they are refused, and in the end the session is closed.
// proves: JRPC-29, FC-010
#[test]
fn a_peer_that_only_asks_is_closed_in_the_end() {
    let mut limits = Limits::default();
    (limits.outbound_bytes, limits.waiting) = (256 * 1024, 10);
    let server = big(limits);
    let (mut peer, session) = PipePeer::ready(&server);
    let mut input = peer.input.take().expect("open");
    let mut asked = 0;
    while !session.is_closed() {
        let call =
            crate::common::request(asked, "tools/call", json!({ "name": "big", "arguments": { "bytes": 1000 } }));
        asked += 1;
        if std::io::Write::write_all(&mut input, format!("{call}\n").as_bytes()).is_err() {
            break;
        }
        assert!(asked < 100_000, "it takes everything and never ends");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let reason = runtime.block_on(soon(session.closed()));
    assert!(matches!(reason, CloseReason::Overflow), "{reason}");
}
