//! Many clients, each with its stream (SSE-01, SSE-19).

use std::collections::HashSet;

use mcp_native::Server;
use mcp_native::protocol::{LoggingLevel, Resource};
use mcp_native::server::{NoArguments, RequestContext, tool};
use mcp_native::transport::sse::SseOptions;
use mcp_native::transport::sse::codec::Signal;
use serde_json::{Value, json};
use std::time::Duration;

use crate::common::{Door, builder, request, unrecorded};
use crate::raw::{Connection, JSON, Peer, head, open, serve};

fn server(door: &Door) -> Server {
    let server = builder().subscriptions(true).logging(LoggingLevel::Info).build();
    let door = door.clone();
    let hold = tool("hold").handler(move |_: NoArguments, _: RequestContext| {
        let door = door.clone();
        async move {
            door.opened().await;
            Ok("held")
        }
    });
    let echo = tool("session")
        .handler(|_: NoArguments, context: RequestContext| async move { Ok(context.session_id().to_owned()) });
    server.tool(hold).expect("new");
    server.tool(echo).expect("new");
    server.resource(Resource::new("x:r", "r"), |_, _| async { Ok("") }).expect("new");
    server
}

// proves: SSE-02, SSE-08, SSE-13, SSE-14
#[tokio::test]
async fn sse_02_the_first_event_is_the_bare_endpoint_behind_the_right_headers() {
    let server = serve(&server(&Door::default()), SseOptions::new()).await;
    let mut connection = Connection::to(server.local_addr()).await;
    connection.write(head(server.local_addr(), "GET /sse", &[("accept", "text/event-stream")], 0)).await;
    let answer = connection.head().await.expect("an answer");
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    let chunk = String::from_utf8(connection.chunk().await.expect("an event")).expect("UTF-8");
    let id = chunk.strip_prefix("event: endpoint\ndata: /messages?sessionId=").and_then(|id| id.strip_suffix("\n\n"));
    let id = id.unwrap_or_else(|| panic!("{chunk}"));
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "128 bits: {id}");
}

// proves: SSE-14, FC-033
#[tokio::test]
async fn sse_14_a_thousand_sessions_have_a_thousand_ids_and_leave_nothing() {
    let server = serve(&unrecorded().build(), SseOptions::new()).await;
    let mut endpoints = HashSet::new();
    for _ in 0..1000 {
        endpoints.insert(Peer::of(&server).await.endpoint);
    }
    assert_eq!(endpoints.len(), 1000);
    open(&server, 0).await;
    let counts = server.handle().counters().snapshot();
    assert_eq!((counts.sessions_opened, counts.sessions_closed), (1000, 1000));
}

// proves: SSE-14
#[tokio::test]
async fn sse_14_what_lets_a_client_post_is_not_the_id_that_is_logged() {
    let server = serve(&server(&Door::default()), SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    let id = peer.call("session").await;
    assert!(!peer.endpoint.contains(&id));
}

// proves: SSE-01, SSE-04, SSE-09, SSE-19
#[tokio::test]
async fn sse_01_two_clients_interleave() {
    let door = Door::default();
    let server = serve(&server(&door), SseOptions::new()).await;
    let mut one = Peer::ready(&server).await;
    let mut other = Peer::ready(&server).await;
    let held = one.begin("hold").await;
    // The same ids on both sides mean different things.
    for _ in 0..5 {
        assert_ne!(other.call("session").await, one.call("session").await);
    }
    other.quiet().await;
    door.open();
    assert_eq!(one.response(held).await["result"]["content"][0]["text"], "held");
    one.quiet().await;
    other.quiet().await;
    assert_eq!(server.handle().sessions(), 2);
}

// proves: SSE-19
#[tokio::test]
async fn sse_19_levels_and_subscriptions_belong_to_one_session() {
    let mcp = server(&Door::default());
    let server = serve(&mcp, SseOptions::new()).await;
    let mut one = Peer::ready(&server).await;
    let mut other = Peer::ready(&server).await;
    one.result("resources/subscribe", json!({ "uri": "x:r" })).await;
    one.result("logging/setLevel", json!({ "level": "debug" })).await;
    other.result("logging/setLevel", json!({ "level": "error" })).await;
    mcp.resource_updated("x:r");
    mcp.log(LoggingLevel::Debug, None, "said");
    for expected in ["notifications/resources/updated", "notifications/message"] {
        assert_eq!(one.next().await.expect("connected")["method"], expected);
    }
    one.quiet().await;
    other.quiet().await;
}

// proves: FC-037
#[tokio::test]
async fn fc_037_posts_at_once_are_each_answered_once() {
    let server = serve(&server(&Door::default()), SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    let mut posts = tokio::task::JoinSet::new();
    for id in 0..50 {
        posts.spawn(peer.post(&request(id, "tools/call", json!({ "name": "session" }))));
    }
    while let Some(said) = posts.join_next().await {
        assert_eq!(said.expect("no panic").status(), 202);
    }
    let mut answered = Vec::new();
    for _ in 0..50 {
        answered.push(peer.next().await.expect("connected")["id"].as_u64().expect("a number"));
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..50).collect::<Vec<_>>());
    peer.quiet().await;
}

#[tokio::test]
async fn one_connection_carries_many_posts_refused_ones_included() {
    let server = serve(&server(&Door::default()), SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    let mut connection = Connection::to(server.local_addr()).await;
    let (right, wrong) = (format!("POST {}", peer.endpoint), "POST /messages?sessionId=0".to_owned());
    for (line, body, status) in [
        (&right, "", 202),
        (&wrong, "", 404),
        (&right, "{", 400),
        (&right, "", 202),
        (&wrong, "", 404),
        (&right, "", 202),
    ] {
        let message = request(status, "ping", Value::Null).to_string();
        let body = if body.is_empty() { &message } else { body };
        connection.write(head(server.local_addr(), line, &[JSON], body.len()) + body).await;
        assert_eq!(connection.said().await.status(), status);
        if status == 202 {
            peer.response(status).await;
        }
    }
    peer.quiet().await;
}

// proves: SSE-17, FC-032
#[tokio::test]
async fn sse_17_idle_streams_carry_comments() {
    let options = SseOptions::new().comment_interval(Duration::from_millis(10));
    let server = serve(&server(&Door::default()), options).await;
    let mut peer = Peer::of(&server).await;
    for _ in 0..3 {
        assert_eq!(peer.signal().await, Some(Signal::Comment));
    }
    peer.handshake().await;
    peer.quiet().await;
}
