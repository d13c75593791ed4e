//! The client up to the handshake: endpoints, redirects, refusals, time (SSE-12, FC-018, FC-019).

use std::time::Duration;

use mcp_native::ErrorKind;
use mcp_native::transport::sse::SseClientOptions;
use serde_json::json;

use crate::common::soon;
use crate::site::{Site, builder};

// proves: SSE-03, SSE-12, FC-018
#[tokio::test]
async fn sse_12_the_endpoint_is_resolved_against_the_address_of_the_stream() {
    let site = Site::new().await;
    let origin = site.origin();
    for (endpoint, target) in [
        ("/messages?sessionId=a%2Fb", "/messages?sessionId=a%2Fb"),
        ("messages?x=1", "/a/messages?x=1"),
        ("../messages", "/messages"),
        ("?x=1", "/a/sse?x=1"),
        (&format!("{origin}/full"), "/full"),
        (&format!("//{}/short", origin.trim_start_matches("http://")), "/short"),
        (" /messages ", "/messages"),
    ] {
        let script = async {
            let get = site.next().await;
            assert_eq!(get.line(), "GET /a/sse?key=1");
            assert_eq!(get.request.header("accept"), Some("text/event-stream"));
            // Messages and unknown events before it do not count.
            let mut stream = get.stream(": hello\n\nevent: news\ndata: x\n\ndata: {}\n\n").await;
            site.quiet().await;
            stream.write(&format!("event: endpoint\ndata: {endpoint}\n\n")).await;
            let post = site.expect("initialize").await;
            assert_eq!(post.line(), format!("POST {target}"), "{endpoint}");
            assert_eq!(post.request.header("content-type"), Some("application/json"));
            post.answer("404 Not Found", "", "").await;
            stream
        };
        let connect = builder().sse(format!("{origin}/a/sse?key=1"), SseClientOptions::new());
        let (connect, script) = (Box::pin(connect), Box::pin(script));
        let (client, _stream) = soon(async { tokio::join!(connect, script) }).await;
        let error = client.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Http);
        assert!(error.message().contains("404"), "{error}");
    }
}

// proves: SSE-12, FC-018
#[tokio::test]
async fn sse_12_an_endpoint_elsewhere_is_refused_and_gets_nothing() {
    let (site, foreign) = (Site::new().await, Site::new().await);
    for endpoint in [
        &format!("{}/messages", foreign.origin()),
        "//evil.example/messages",
        "https://127.0.0.1/messages",
        "file:///etc/passwd",
        "http://[",
        "",
        " ",
    ] {
        let script = async { site.next().await.stream(&format!("event: endpoint\ndata: {endpoint}\n\n")).await };
        let (client, _stream) = site.connecting(SseClientOptions::new(), script).await;
        assert_eq!(client.expect_err(endpoint).kind(), ErrorKind::InvalidResponse, "{endpoint}");
    }
    foreign.quiet().await;
    site.quiet().await;
}

// proves: FC-018, FC-023
#[tokio::test]
async fn redirects_are_followed_within_the_origin_only() {
    let (site, foreign) = (Site::new().await, Site::new().await);
    let options = SseClientOptions::new().header("authorization", "Bearer secret").expect("a header");
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let script = async {
            site.next().await.answer(status, "location: /deep/er/sse\r\n", "").await;
            let get = site.next().await;
            assert_eq!(get.line(), "GET /deep/er/sse");
            assert_eq!(get.request.header("authorization"), Some("Bearer secret"));
            let stream = get.stream("event: endpoint\ndata: in\n\n").await;
            let post = site.next().await;
            assert_eq!(post.line(), "POST /deep/er/in");
            post.answer("500 No", "", "").await;
            stream
        };
        let (client, _stream) = site.connecting(options.clone(), script).await;
        client.expect_err("refused at the POST");

        let elsewhere = format!("location: {}/sse\r\n", foreign.origin());
        let script = async { site.next().await.answer(status, &elsewhere, "").await };
        let (client, ()) = site.connecting(options.clone(), script).await;
        let error = client.expect_err("refused");
        assert!(error.message().contains("another origin"), "{error}");
    }
    foreign.quiet().await;
    let script = async {
        for _ in 0..=10 {
            site.next().await.answer("302 Found", "location: /sse\r\n", "").await;
        }
    };
    let (client, ()) = site.connecting(options, script).await;
    assert!(client.expect_err("no end").message().contains("again and again"));
}

// proves: SSE-07, FC-023
#[tokio::test]
async fn a_refused_stream_is_an_error_with_status_challenge_and_a_piece_of_the_body() {
    let site = Site::new().await;
    let script = async {
        let body = format!("no entry{}", "!".repeat(10_000));
        site.next().await.answer("401 Unauthorized", "www-authenticate: Bearer realm=\"x\"\r\n", &body).await;
    };
    let (client, ()) = site.connecting(SseClientOptions::new(), script).await;
    let error = client.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::Http);
    let data = error.data().expect("data").to_value().expect("JSON");
    assert_eq!((&data["status"], &data["wwwAuthenticate"]), (&json!(401), &json!("Bearer realm=\"x\"")));
    let body = data["body"].as_str().expect("text");
    assert!(body.starts_with("no entry!") && body.len() == 2048, "{} bytes", body.len());
}

// proves: FC-019
#[tokio::test]
async fn fc_019_no_stream_or_no_endpoint_is_an_error_in_time() {
    let site = Site::new().await;
    let script = async { site.next().await.answer("200 OK", "content-type: text/html\r\n", "<html>").await };
    let (client, ()) = site.connecting(SseClientOptions::new(), script).await;
    let error = client.expect_err("no stream");
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.message().contains("text/html"), "{error}");

    let script = async { drop(site.next().await.stream("event: message\ndata: {}\n\n").await) };
    let (client, ()) = site.connecting(SseClientOptions::new(), script).await;
    assert_eq!(client.expect_err("no endpoint").kind(), ErrorKind::Closed);

    let limit = SseClientOptions::new().endpoint_limit(Duration::from_millis(50));
    let script = async { site.next().await.stream(": nothing\n\n").await };
    let (client, mut stream) = site.connecting(limit, script).await;
    assert_eq!(client.expect_err("no endpoint").kind(), ErrorKind::Timeout);
    assert_eq!(stream.0.end().await, "");

    let refused = builder().sse("no address", SseClientOptions::new()).await.expect_err("no URL");
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
    let gone = Site::new().await.origin();
    let refused = builder().sse(gone, SseClientOptions::new()).await.expect_err("nobody listens");
    assert_eq!(refused.kind(), ErrorKind::Transport);
}

// proves: FC-036
#[tokio::test]
async fn dropping_the_future_of_connecting_ends_the_stream() {
    let site = Site::new().await;
    let connecting = tokio::spawn(builder().sse(site.origin(), SseClientOptions::new()));
    let mut stream = site.next().await.stream(": wait\n\n").await;
    connecting.abort();
    assert_eq!(stream.0.end().await, "");
    // And in the middle of the handshake.
    let connecting = tokio::spawn(builder().sse(site.origin(), SseClientOptions::new()));
    let mut stream = site.next().await.stream("event: endpoint\ndata: /m\n\n").await;
    site.expect("initialize").await.accept().await;
    connecting.abort();
    assert_eq!(stream.0.end().await, "");
    site.quiet().await;
}
