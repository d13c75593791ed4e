//! The client after the handshake: messages, headers, and the end (SSE-03, SSE-18, FC-023…025, FC-031…036).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use mcp_native::client::ReconnectPolicy;
use mcp_native::engine::CloseReason;
use mcp_native::transport::sse::SseClientOptions;
use mcp_native::{Error, ErrorKind};
use serde_json::json;

use crate::common::soon;
use crate::site::{Site, builder};

// proves: FC-024
#[tokio::test]
async fn fc_024_a_post_that_fails_fails_its_call_and_nothing_else() {
    let site = Site::new().await;
    let (client, mut stream) = site.connected(builder(), SseClientOptions::new()).await;
    let failing = client.ping().send().expect("sent");
    site.expect("ping").await.answer("500 Oh", "", "the disk is full").await;
    let error = soon(failing).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Http);
    let data = error.data().expect("data").to_value().expect("JSON");
    assert_eq!((&data["status"], &data["body"]), (&json!(500), &json!("the disk is full")));

    // A connection that breaks, and a redirect that would make a GET of it.
    let failing = client.ping().send().expect("sent");
    drop(site.expect("ping").await);
    assert_eq!(soon(failing).await.expect_err("lost").kind(), ErrorKind::Http);
    let failing = client.ping().send().expect("sent");
    site.expect("ping").await.answer("303 See Other", "location: /elsewhere\r\n", "").await;
    assert_eq!(soon(failing).await.expect_err("lost").kind(), ErrorKind::Http);

    // One that keeps the method is followed.
    let ping = client.ping().send().expect("sent");
    site.expect("ping").await.answer("307 Temporary Redirect", "location: /elsewhere\r\n", "").await;
    let again = site.expect("ping").await;
    assert_eq!(again.line(), "POST /elsewhere");
    let request = again.message();
    again.accept().await;
    stream.reply(&request, json!({})).await;
    soon(ping).await.expect("answered");
}

// proves: FC-025
#[tokio::test]
async fn fc_025_any_2xx_is_acceptance_and_its_body_does_not_matter() {
    let site = Site::new().await;
    let (client, mut stream) = site.connected(builder(), SseClientOptions::new()).await;
    for (status, body) in [("200 OK", "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"x\":1}}"), ("204 No Content", "")] {
        let ping = client.request("acme/x", None).send().expect("sent");
        let post = site.expect("acme/x").await;
        let request = post.message();
        post.answer(status, "", body).await;
        stream.reply(&request, json!({ "y": 2 })).await;
        assert_eq!(soon(ping).await.expect("answered").get(), "{\"y\":2}");
    }
}

// proves: SSE-07, FC-023
#[tokio::test]
async fn fc_023_headers_go_with_the_get_and_every_post() {
    let site = Site::new().await;
    let count = Arc::new(AtomicU32::new(0));
    let made = Arc::clone(&count);
    let options = SseClientOptions::new().header("x-key", "k").expect("a header").header_callback(move || {
        let number = made.fetch_add(1, Ordering::Relaxed);
        async move {
            if number == 3 {
                return Err(Error::denied("no token today"));
            }
            let token = HeaderValue::try_from(format!("Bearer {number}")).expect("a header");
            Ok(HeaderMap::from_iter([(http::header::AUTHORIZATION, token)]))
        }
    });
    let script = async {
        let get = site.next().await;
        assert_eq!((get.request.header("x-key"), get.request.header("authorization")), (Some("k"), Some("Bearer 0")));
        let mut stream = get.stream("event: endpoint\ndata: /messages\n\n").await;
        let post = site.expect("initialize").await;
        assert_eq!((post.request.header("x-key"), post.request.header("authorization")), (Some("k"), Some("Bearer 1")));
        let request = post.message();
        post.accept().await;
        let info = json!({ "name": "site", "version": "1" });
        let result = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": info });
        stream.reply(&request, result).await;
        let post = site.expect("notifications/initialized").await;
        assert_eq!(post.request.header("authorization"), Some("Bearer 2"));
        post.accept().await;
        stream
    };
    let (client, mut stream) = site.connecting(options, script).await;
    let client = client.expect("connected");
    // A callback that fails fails one call.
    let error = soon(client.ping().send().expect("sent")).await.expect_err("no headers");
    assert_eq!(error.kind(), ErrorKind::Http);
    assert!(error.message().contains("no token today"), "{error}");
    let ping = client.ping().send().expect("sent");
    let post = site.expect("ping").await;
    assert_eq!(post.request.header("authorization"), Some("Bearer 4"));
    let request = post.message();
    post.accept().await;
    stream.reply(&request, json!({})).await;
    soon(ping).await.expect("answered");
    let bad = SseClientOptions::new().header("x-key", "a\r\nb: c").err().expect("no header");
    assert!(!bad.message().contains("b: c"), "{bad}");
}

// proves: SSE-03, SSE-18
#[tokio::test]
async fn sse_18_a_post_waits_until_the_one_before_is_accepted() {
    let site = Site::new().await;
    let (client, _stream) = site.connected(builder(), SseClientOptions::new()).await;
    let _one = client.request("acme/1", None).send().expect("sent");
    let first = site.expect("acme/1").await;
    let _two = client.request("acme/2", None).send().expect("sent");
    client.notify("acme/3", None).expect("sent");
    site.quiet().await;
    first.accept().await;
    let second = site.expect("acme/2").await;
    site.quiet().await;
    second.accept().await;
    site.expect("acme/3").await.accept().await;
}

// proves: FC-031
#[tokio::test]
async fn fc_031_an_answer_that_is_too_long_fails_its_call_and_a_bad_event_none() {
    let site = Site::new().await;
    let (client, mut stream) = site.connected(builder(), SseClientOptions::new().message_limit(10_000)).await;
    let long = client.request("acme/long", None).send().expect("sent");
    let post = site.expect("acme/long").await;
    let request = post.message();
    post.accept().await;
    stream.write("data: {bad\n\nevent: message\ndata:\n\ndata: [1\n\n").await;
    stream.reply(&request, json!({ "x": "y".repeat(10_000) })).await;
    assert_eq!(soon(long).await.expect_err("too long").kind(), ErrorKind::TooLarge);
    let ping = client.ping().send().expect("sent");
    let post = site.expect("ping").await;
    let request = post.message();
    post.accept().await;
    stream.reply(&request, json!({})).await;
    soon(ping).await.expect("answered");
}

// proves: FC-032
#[tokio::test]
async fn fc_032_a_stream_that_carries_nothing_is_given_up_after_the_idle_limit() {
    let site = Site::new().await;
    let options = SseClientOptions::new().idle_limit(Duration::from_millis(200));
    let (client, mut stream) = site.connected(builder(), options).await;
    // Comments count as a sign of life.
    for _ in 0..8 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stream.write(":\n\n").await;
    }
    assert!(!client.is_closed());
    let reason = soon(client.closed()).await;
    let CloseReason::Transport(error) = reason else { panic!("{reason}") };
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert_eq!(stream.0.end().await, "");
}

// proves: SSE-15, DOWN-05
#[tokio::test]
async fn sse_15_the_end_of_the_stream_fails_what_waits() {
    let site = Site::new().await;
    let (client, stream) = site.connected(builder(), SseClientOptions::new()).await;
    let ping = client.ping().send().expect("sent");
    site.expect("ping").await.accept().await;
    drop(stream);
    assert_eq!(soon(ping).await.expect_err("lost").kind(), ErrorKind::Closed);
    assert!(matches!(soon(client.closed()).await, CloseReason::Peer { .. }));
    site.quiet().await;
}

// proves: DOWN-05, FC-036
#[tokio::test]
async fn fc_036_closing_ends_the_stream_at_once_and_for_good() {
    let site = Site::new().await;
    let policy = ReconnectPolicy::new().initial(Duration::from_millis(1));
    let (client, mut stream) = site.connected(builder().reconnect(policy), SseClientOptions::new()).await;
    let (_, rest) = soon(async { tokio::join!(client.close(), stream.0.end()) }).await;
    assert_eq!(rest, "");
    site.quiet().await;
    // So does dropping the client.
    let (client, mut stream) = site.connected(builder(), SseClientOptions::new()).await;
    drop(client);
    assert_eq!(stream.0.end().await, "");
}

// proves: SSE-15, FC-035
#[tokio::test]
async fn fc_035_a_lost_stream_is_opened_again_and_initialised_again() {
    let site = Site::new().await;
    let policy = ReconnectPolicy::new().initial(Duration::from_millis(1)).longest(Duration::from_millis(5));
    let (client, stream) = site.connected(builder().reconnect(policy), SseClientOptions::new()).await;
    drop(stream);
    // Another endpoint, after an attempt that is refused.
    site.next().await.answer("503 Not now", "", "").await;
    let get = site.next().await;
    assert_eq!((get.line(), get.request.header("last-event-id")), ("GET /sse", None));
    let mut stream = get.stream("event: endpoint\ndata: /again\n\n").await;
    site.initialize(&mut stream).await;
    soon(async {
        while client.ping().send().is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let ping = site.expect("ping").await;
    assert_eq!(ping.line(), "POST /again");
    ping.accept().await;
}
