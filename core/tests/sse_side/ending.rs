//! The end of streams, sessions and servers (DOWN-05, FC-033).

use std::time::{Duration, Instant};

use mcp_native::Server;
use mcp_native::engine::CloseReason;
use mcp_native::server::{NoArguments, RequestContext, ToolError, tool};
use mcp_native::transport::sse::{ShutdownReport, SseOptions};
use serde_json::Value;
use tokio::net::TcpStream;

use crate::common::{Door, OnDrop, Seen, builder, request, soon};
use crate::raw::{Peer, ask, open, serve};

/// `hold` waits for the door, and tells when it begins and when it is cancelled.
fn server(door: &Door, seen: &Seen<&'static str>) -> Server {
    let (door, see, closed) = (door.clone(), seen.clone(), seen.clone());
    let server = builder()
        .on_session_closed(move |_, reason| {
            closed.push(if matches!(reason, CloseReason::Peer { .. }) { "closed by the peer" } else { "closed here" });
        })
        .build();
    let hold = tool("hold").handler(move |_: NoArguments, context: RequestContext| {
        let (door, see) = (door.clone(), see.clone());
        async move {
            see.push("begun");
            tokio::select! {
                () = door.opened() => Ok("held"),
                () = context.cancelled() => {
                    see.push("cancelled");
                    Err(ToolError::new("cancelled"))
                }
            }
        }
    });
    server.tool(hold).expect("new");
    server
}

// proves: DOWN-05, SSE-10, SSE-15, FC-033
#[tokio::test]
async fn down_05_the_end_of_the_stream_ends_the_session_and_its_handlers_within_a_second() {
    let seen = Seen::default();
    let server = serve(&server(&Door::default(), &seen), SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    peer.begin("hold").await;
    seen.wait(1).await;
    let late = peer.post(&request(2, "ping", Value::Null));
    let began = Instant::now();
    drop(peer);
    seen.wait(3).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let mut all = seen.all();
    all.sort_unstable();
    assert_eq!(all, ["begun", "cancelled", "closed by the peer"]);
    open(&server, 0).await;
    assert_eq!(late.await.status(), 404);
}

// proves: DOWN-05
#[tokio::test]
async fn down_05_a_session_that_is_closed_here_ends_its_stream() {
    let mcp = builder().build();
    let server = serve(&mcp, SseOptions::new()).await;
    let (mut one, mut other) = (Peer::ready(&server).await, Peer::ready(&server).await);
    let late = one.post(&request(2, "ping", Value::Null));
    server.handle().close();
    assert_eq!((one.next().await, other.next().await), (None, None));
    assert_eq!(late.await.status(), 404);
    open(&server, 0).await;
    assert!(mcp.sessions().is_empty());
    // Not a shutdown: the next one is welcome.
    Peer::ready(&server).await.quiet().await;
}

#[tokio::test]
async fn a_shutdown_answers_what_it_has_accepted_and_takes_nothing_more() {
    let (door, seen) = (Door::default(), Seen::default());
    let server = std::sync::Arc::new(serve(&server(&door, &seen), SseOptions::new()).await);
    let mut idle = Peer::ready(&server).await;
    let mut busy = Peer::ready(&server).await;
    let held = busy.begin("hold").await;
    seen.wait(1).await;
    let shutdown = tokio::spawn({
        let server = std::sync::Arc::clone(&server);
        async move { server.shutdown(Duration::from_secs(20)).await }
    });
    // An idle session ends at once.
    assert_eq!(idle.next().await, None);
    assert_eq!(Peer::open(server.local_addr(), "/sse", &[]).await.err().expect("refused").status(), 503);
    assert_eq!(busy.post(&request(9, "ping", Value::Null)).await.status(), 503);
    assert_eq!(ask(server.local_addr(), "GET /healthz", &[], "").await.status(), 503);
    door.open();
    assert_eq!(busy.response(held).await["result"]["content"][0]["text"], "held");
    assert_eq!(busy.next().await, None);
    let report = soon(shutdown).await.expect("no panic");
    assert_eq!((report.finished, report.cancelled), (2, 0), "{report:?}");
    assert_eq!(server.handle().sessions(), 0);
    assert!(TcpStream::connect(server.local_addr()).await.is_err(), "nobody listens any more");
    assert_eq!(seen.all(), ["begun", "closed here", "closed here"]);
}

#[tokio::test]
async fn a_shutdown_cancels_what_takes_longer_than_the_grace() {
    let seen = Seen::default();
    let server = serve(&server(&Door::default(), &seen), SseOptions::new()).await;
    let mut peers = [Peer::ready(&server).await, Peer::ready(&server).await, Peer::ready(&server).await];
    // The one that is looked at first need not be the one that takes longest.
    peers[1].begin("hold").await;
    seen.wait(1).await;
    let ShutdownReport { finished, cancelled, .. } = soon(server.shutdown(Duration::from_millis(50))).await;
    assert_eq!((finished, cancelled), (2, 1));
    assert!(seen.all().contains(&"cancelled"));
    for peer in &mut peers {
        assert_eq!(peer.next().await, None);
    }
    // Once more changes nothing.
    let again = soon(server.shutdown(Duration::from_secs(1))).await;
    assert_eq!((again.finished, again.cancelled), (0, 0));
}

#[tokio::test]
async fn dropping_the_server_changes_nothing() {
    let server = serve(&builder().build(), SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    let address = server.local_addr();
    drop(server);
    peer.quiet().await;
    let mut another = Peer::open(address, "/sse", &[]).await.expect("a stream");
    another.handshake().await;
    another.quiet().await;
}

// proves: DOWN-05
#[tokio::test]
async fn down_05_a_handler_that_ignores_it_is_dropped_with_what_it_holds() {
    let (begun, dropped) = (Door::default(), Door::default());
    let mcp = builder().build();
    let (begin, drop_it) = (begun.clone(), dropped.clone());
    let deaf = tool("deaf").handler(move |_: NoArguments, _: RequestContext| {
        let (begin, held) = (begin.clone(), OnDrop(drop_it.clone()));
        async move {
            begin.open();
            std::future::pending::<()>().await;
            drop(held);
            Ok("")
        }
    });
    mcp.tool(deaf).expect("new");
    let server = serve(&mcp, SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    peer.begin("deaf").await;
    begun.opened().await;
    drop(peer);
    dropped.opened().await;
    open(&server, 0).await;
}
