//! What is answered with which status (SSE-08…11, SSE-20, FC-034).

use std::time::Duration;

use mcp_native::transport::sse::SseOptions;
use serde_json::{Value, json};

use crate::common::{builder, request};
use crate::raw::{Connection, JSON, Peer, ask, head, open, serve};

/// Target, headers, body; the status of the answer.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, u16);

// proves: SSE-09, SSE-10, SSE-11, SSE-20, FC-022, FC-034
#[tokio::test]
async fn posts_are_accepted_or_refused_with_the_right_status_and_the_session_lives_on() {
    let server = serve(&builder().build(), SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    let endpoint = peer.endpoint.clone();
    let message = request("n", "no/such", Value::Null).to_string();
    let utf8 = ("content-type", "application/json; charset=utf-8");
    let loud = ("Content-Type", "APPLICATION/JSON");
    let other = format!("{endpoint}&other=1");
    let unknown = "/messages?sessionId=00000000000000000000000000000000";
    let before = server.handle().counters().snapshot();
    let table: &[Row<'_>] = &[
        (&endpoint, &[JSON], &message, 202),
        (&endpoint, &[utf8], &message, 202),
        (&endpoint, &[loud], &message, 202),
        (&other, &[JSON], &message, 202),
        ("/messages", &[JSON], &message, 400),
        ("/messages?session=1", &[JSON], &message, 400),
        ("/messages?sessionId", &[JSON], &message, 400),
        ("/messages?sessionId=", &[JSON], &message, 404),
        (unknown, &[JSON], &message, 404),
        ("/messages?sessionId=%00%0d%0a..%2f", &[JSON], &message, 404),
        (&endpoint, &[("content-type", "text/plain")], &message, 415),
        (&endpoint, &[("content-type", "application/jsonp")], &message, 415),
        (&endpoint, &[], &message, 415),
        (&endpoint, &[JSON], "{", 400),
        (&endpoint, &[JSON], "\u{feff}", 400),
        (&endpoint, &[JSON], "", 400),
        (&endpoint, &[JSON], "true", 400),
        (&endpoint, &[JSON], "{\"jsonrpc\":\"2.0\"}", 400),
    ];
    for (target, headers, body, status) in table {
        let said = ask(server.local_addr(), &format!("POST {target}"), headers, body).await;
        assert_eq!(said.status(), *status, "{target} {headers:?} {body}: {said:?}");
        assert!(!said.body.is_empty(), "people are told why: {said:?}");
        if *status == 202 {
            assert_eq!(peer.response("n").await["error"]["code"], -32601);
        } else {
            peer.quiet().await;
        }
    }
    let after = server.handle().counters().snapshot();
    let refused = table.iter().filter(|row| row.3 != 202).count() as u64;
    assert_eq!(after.refused - before.refused, refused);
    // A ping after each that was refused.
    assert_eq!(after.messages_in - before.messages_in, 4 + refused);
    assert!(after.bytes_in > before.bytes_in && after.bytes_out > before.bytes_out);
}

// proves: SSE-11
#[tokio::test]
async fn sse_11_what_is_no_message_is_answered_with_an_error_object() {
    let server = serve(&builder().build(), SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    for (body, code) in [("{\"jsonrpc\":", -32700), ("\"text\"", -32600)] {
        let said = ask(server.local_addr(), &format!("POST {}", peer.endpoint), &[JSON], body).await;
        assert_eq!((said.status(), said.header("content-type")), (400, Some("application/json")));
        let answer: Value = serde_json::from_str(&said.body).expect("JSON");
        assert_eq!(
            (&answer["jsonrpc"], &answer["id"], &answer["error"]["code"]),
            (&json!("2.0"), &Value::Null, &json!(code))
        );
    }
    peer.quiet().await;
}

// proves: SSE-20
#[tokio::test]
async fn sse_20_other_methods_are_405_and_open_nothing() {
    let server = serve(&builder().build(), SseOptions::new()).await;
    for (line, allow) in [
        ("POST /sse", "GET, OPTIONS"),
        ("PUT /sse", "GET, OPTIONS"),
        ("HEAD /sse", "GET, OPTIONS"),
        ("OPTIONS /sse", "GET, OPTIONS"),
        ("GET /messages", "POST, OPTIONS"),
        ("DELETE /messages", "POST, OPTIONS"),
        ("BREW /messages", "POST, OPTIONS"),
    ] {
        let mut connection = Connection::to(server.local_addr()).await;
        connection.write(head(server.local_addr(), line, &[], 0)).await;
        let said = connection.head().await.expect("an answer");
        assert_eq!((said.status(), said.header("allow")), (405, Some(allow)), "{line}");
    }
    let counts = server.handle().counters().snapshot();
    assert_eq!((counts.sessions_opened, counts.refused), (0, 7));
    assert_eq!(ask(server.local_addr(), "GET /", &[], "").await.status(), 404);
    assert_eq!(ask(server.local_addr(), "GET /sse/", &[], "").await.status(), 404);
}

// proves: SSE-20, FC-026
#[tokio::test]
async fn sse_20_bodies_beyond_the_limit_are_413_however_they_come() {
    let server = serve(&builder().build(), SseOptions::new().body_limit(1000)).await;
    let mut peer = Peer::ready(&server).await;
    let line = format!("POST {}", peer.endpoint);
    let fill = |length: usize| {
        let empty = request(1, "ping", json!({ "x": "" })).to_string().len();
        request(1, "ping", json!({ "x": "y".repeat(length - empty) })).to_string()
    };
    assert_eq!(ask(server.local_addr(), &line, &[JSON], fill(1000)).await.status(), 202);
    peer.response(1).await;
    assert_eq!(ask(server.local_addr(), &line, &[JSON], fill(1001)).await.status(), 413);
    // What is announced is refused before it comes.
    let mut connection = Connection::to(server.local_addr()).await;
    connection.write(head(server.local_addr(), &line, &[JSON], 1_000_000_000)).await;
    assert_eq!(connection.said().await.status(), 413);
    // What is not announced is refused as soon as it is too long.
    let mut connection = Connection::to(server.local_addr()).await;
    connection.write(head(server.local_addr(), &line, &[JSON, ("transfer-encoding", "chunked")], 0)).await;
    connection.write(format!("258\r\n{}\r\n", "y".repeat(600))).await;
    connection.write(format!("258\r\n{}\r\n", "y".repeat(600))).await;
    assert_eq!(connection.said().await.status(), 413);
    // A chunk that is none.
    let mut connection = Connection::to(server.local_addr()).await;
    connection.write(head(server.local_addr(), &line, &[JSON, ("transfer-encoding", "chunked")], 0)).await;
    connection.write("zzz\r\n").await;
    assert!(connection.end().await.starts_with("HTTP/1.1 400"));
    peer.quiet().await;
}

// proves: SSE-15
#[tokio::test]
async fn sse_15_nothing_is_resumed() {
    let server = serve(&builder().build(), SseOptions::new()).await;
    let first = Peer::ready(&server).await.endpoint;
    open(&server, 0).await;
    let headers = [("last-event-id", "1")];
    let mut again = Peer::open(server.local_addr(), "/sse", &headers).await.expect("a stream");
    assert_ne!(again.endpoint, first);
    again.handshake().await;
    again.quiet().await;
}

#[tokio::test]
async fn requests_that_do_not_come_to_an_end_are_ended() {
    let options = SseOptions::new().header_time(Duration::from_millis(100)).body_time(Duration::from_millis(100));
    let server = serve(&builder().build(), options).await;
    let mut peer = Peer::ready(&server).await;
    let mut silent = Connection::to(server.local_addr()).await;
    assert_eq!(silent.end().await, "");
    let mut slow = Connection::to(server.local_addr()).await;
    slow.write("GET /sse HTTP/1.1\r\nhost: local").await;
    assert!(!slow.end().await.contains(" 200 "));
    let mut slow = Connection::to(server.local_addr()).await;
    slow.write(head(server.local_addr(), &format!("POST {}", peer.endpoint), &[JSON], 100) + "{").await;
    assert_eq!(slow.said().await.status(), 408);
    // A head that is longer than any.
    let mut long = Connection::to(server.local_addr()).await;
    long.write(format!("GET /sse HTTP/1.1\r\nx: {}", "y".repeat(20_000))).await;
    assert!(long.end().await.starts_with("HTTP/1.1 431"));
    peer.quiet().await;
    assert_eq!(server.handle().sessions(), 1);
}
