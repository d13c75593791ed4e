//! The end of sessions (FC-058, JRPC-28).

use std::time::{Duration, Instant};

use mcp_native::engine::CloseReason;
use mcp_native::server::{NoArguments, RequestContext, ToolError, tool};
use mcp_native::{ErrorKind, Server};
use serde_json::json;

use crate::common::{Door, Peer, Seen, builder, soon};

fn sleeping() -> (Server, Seen<&'static str>) {
    let seen = Seen::default();
    let see = seen.clone();
    let closed = seen.clone();
    let server = builder()
        .on_session_closed(move |_, reason| {
            closed.push(if matches!(reason, CloseReason::Local) { "local" } else { "other" });
        })
        .build();
    let sleep = tool("sleep").handler(move |_: NoArguments, context: RequestContext| {
        let see = see.clone();
        async move {
            see.push("runs");
            tokio::select! {
                () = tokio::time::sleep(Duration::from_secs(60)) => see.push("slept"),
                () = context.cancelled() => see.push("told"),
            }
            Err::<(), _>(ToolError::new("stopped"))
        }
    });
    server.tool(sleep).expect("new");
    (server, seen)
}

// proves: FC-058, JRPC-28
#[tokio::test]
async fn fc_058_closing_tells_every_handler_at_once() {
    let (server, seen) = sleeping();
    let peer = Peer::ready(&server).await;
    for _ in 0..3 {
        peer.begin("sleep", json!({})).await;
    }
    seen.wait(3).await;
    let begun = Instant::now();
    server.close();
    seen.wait(3 + 4).await;
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(100), "{took:?}");
    assert!(matches!(soon(peer.session.closed()).await, CloseReason::Local));
    server.close();
    peer.session.close();
    // Their answers are dropped, and the connection ends.
    assert_eq!(peer.next().await, None);
    let all = seen.all();
    assert_eq!(all.iter().filter(|what| **what == "told").count(), 3);
    assert_eq!(all.iter().filter(|what| **what == "local").count(), 1, "told of its end once: {all:?}");
    assert!(server.sessions().is_empty());
}

// proves: JRPC-28
#[tokio::test]
async fn jrpc_28_when_the_peer_goes_its_requests_and_ours_end() {
    let (server, seen) = sleeping();
    let peer = Peer::ready(&server).await;
    peer.begin("sleep", json!({})).await;
    seen.wait(1).await;
    let session = peer.session.clone();
    let pending = tokio::spawn(session.list_roots().into_future());
    peer.expect("roots/list").await;
    let begun = Instant::now();
    peer.close().await;
    // Our own question fails at once, the handler has the grace of the end of input.
    assert_eq!(soon(pending).await.expect("no panic").expect_err("closed").kind(), ErrorKind::Closed);
    assert!(begun.elapsed() < Duration::from_secs(1));
    assert!(matches!(soon(session.closed()).await, CloseReason::Peer { .. }));
    assert!(begun.elapsed() < Duration::from_secs(2));
    seen.wait(3).await;
    let late = soon(session.list_roots().into_future()).await;
    assert_eq!(late.expect_err("closed").kind(), ErrorKind::Closed);
    assert!(session.notify("acme/x", None).is_err() && session.is_closed());
}

/// A session is ended by `Server::close` even before its client has said who it is.
#[tokio::test]
async fn closing_the_server_ends_sessions_without_a_handshake_too() {
    let server = builder().build();
    let peer = Peer::of(&server);
    assert!(server.sessions().is_empty());
    server.close();
    soon(peer.session.closed()).await;
    assert_eq!(peer.next().await, None);
}

/// A closing hook that takes its time does not keep the connection open: the peer hears of the end at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_peer_hears_of_the_end_whatever_the_hook_does() {
    let door = Door::default();
    let wait = door.clone();
    let server = builder().on_session_closed(move |_, _| wait.wait()).build();
    let peer = Peer::ready(&server).await;
    let session = peer.session.clone();
    let closing = tokio::task::spawn_blocking(move || session.close());
    assert_eq!(peer.next().await, None);
    door.open();
    soon(closing).await.expect("no panic");
    soon(peer.session.closed()).await;
}

/// What was answered before the end still goes out.
// proves: DOWN-04
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn answers_given_before_the_end_arrive() {
    for _ in 0..200 {
        let server = builder().build();
        let close = tool("close").handler(move |_: NoArguments, context: RequestContext| async move {
            for n in 0..5 {
                context
                    .notify("acme/news", Some(mcp_native::protocol::Json::from(json!({ "n": n }))))
                    .expect("connected");
            }
            context.session().close();
            Ok("dropped")
        });
        server.tool(close).expect("new");
        let peer = Peer::ready(&server).await;
        peer.begin("close", json!({})).await;
        for n in 0..5 {
            assert_eq!(peer.expect("acme/news").await["params"]["n"], n);
        }
        assert_eq!(peer.next().await, None);
    }
}
