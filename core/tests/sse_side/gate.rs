//! Hosts and origins (SSE-05, FC-020, FC-021).

use mcp_native::transport::sse::SseOptions;
use serde_json::Value;

use crate::common::{builder, request};
use crate::raw::{Connection, JSON, Peer, ask, head, serve};

// proves: SSE-05, FC-020
#[tokio::test]
async fn sse_05_a_foreign_origin_gets_403_on_get_and_post() {
    let options = SseOptions::new().allow_origin("https://App.example/");
    let server = serve(&builder().build(), options).await;
    let mut peer = Peer::ready(&server).await;
    let line = format!("POST {}", peer.endpoint);
    let message = request(7, "ping", Value::Null).to_string();
    for origin in [
        "https://evil.example",
        "http://app.example",
        "https://app.example:444",
        "https://app.example.evil",
        "null",
        "",
        "ä",
    ] {
        let said = Peer::open(server.local_addr(), "/sse", &[("origin", origin)]).await.err().expect("refused");
        assert_eq!((said.status(), said.header("access-control-allow-origin")), (403, None), "{origin}");
        let said = ask(server.local_addr(), &line, &[JSON, ("origin", origin)], &message).await;
        assert_eq!((said.status(), said.header("access-control-allow-origin")), (403, None), "{origin}");
    }
    let twice = [JSON, ("origin", "https://app.example"), ("origin", "https://evil.example")];
    assert_eq!(ask(server.local_addr(), &line, &twice, &message).await.status(), 403);
    assert_eq!(server.handle().sessions(), 1);
    peer.quiet().await;

    let listed = ("origin", "https://app.example");
    let mut browser = Peer::open(server.local_addr(), "/sse", &[listed]).await.expect("let in");
    assert_eq!(browser.head.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(browser.head.header("vary"), Some("origin"));
    browser.handshake().await;
    browser.quiet().await;
    // A page can read why it was refused.
    let said = ask(server.local_addr(), "POST /messages", &[JSON, listed], &message).await;
    assert_eq!((said.status(), said.header("access-control-allow-origin")), (400, Some("https://app.example")));
}

// proves: SSE-05, FC-020
#[tokio::test]
async fn sse_05_a_foreign_host_gets_403() {
    let options = SseOptions::new().allow_host("Mcp.example").allow_host("other.example:81");
    let server = serve(&builder().build(), options).await;
    let peer = Peer::of(&server).await;
    let line = format!("POST {}", peer.endpoint);
    let message = request(7, "ping", Value::Null).to_string();
    for (host, status) in [
        ("localhost", 202),
        ("LocalHost:1", 202),
        ("127.0.0.1", 202),
        ("[::1]:80", 202),
        ("mcp.example", 202),
        ("mcp.example:8443", 202),
        ("other.example:81", 202),
        ("other.example", 403),
        ("evil.example", 403),
        ("127.0.0.2", 403),
        ("localhost.evil.example", 403),
        ("localhost.", 403),
        ("[::1]evil.example", 403),
        ("localhost@evil.example", 403),
        ("evil.example@localhost", 403),
        ("", 403),
    ] {
        let said = ask(server.local_addr(), &line, &[JSON, ("host", host)], &message).await;
        assert_eq!(said.status(), status, "{host}: {said:?}");
        let opened = Peer::open(server.local_addr(), "/sse", &[("host", host)]).await;
        assert_eq!(opened.is_ok(), status == 202, "{host}");
    }
    for head in ["GET /sse HTTP/1.0\r\n\r\n", "GET /sse HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n"] {
        let mut connection = Connection::to(server.local_addr()).await;
        connection.write(head).await;
        let status = connection.head().await.expect("an answer").status();
        assert!([400, 403].contains(&status), "{head}: {status}");
    }
}

// proves: FC-021
#[tokio::test]
async fn fc_021_pre_flights_of_listed_origins_are_answered() {
    let server = serve(&builder().build(), SseOptions::new().allow_origin("https://app.example")).await;
    for path in ["/sse", "/messages"] {
        let line = format!("OPTIONS {path}");
        let asked = [
            ("origin", "https://app.example"),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "content-type, authorization"),
        ];
        let said = ask(server.local_addr(), &line, &asked, "").await;
        assert_eq!(said.status(), 204);
        assert_eq!(said.header("access-control-allow-origin"), Some("https://app.example"));
        assert_eq!(said.header("access-control-allow-methods"), Some("GET, POST"));
        assert_eq!(said.header("access-control-allow-headers"), Some("content-type, authorization"));
        assert_eq!(said.header("access-control-allow-credentials"), None);
        let foreign = [("origin", "https://evil.example"), ("access-control-request-method", "POST")];
        let said = ask(server.local_addr(), &line, &foreign, "").await;
        assert_eq!((said.status(), said.header("access-control-allow-methods")), (403, None));
        let rebound = [("host", "evil.example"), ("access-control-request-method", "POST")];
        assert_eq!(ask(server.local_addr(), &line, &rebound, "").await.status(), 403);
    }
}

// proves: SSE-06
#[tokio::test]
async fn sse_06_on_loopback_only_loopback_is_listened_on() {
    let server = serve(&builder().build(), SseOptions::new()).await;
    assert!(server.local_addr().ip().is_loopback());
    let said = head(server.local_addr(), "GET /healthz", &[], 0);
    let mut connection = Connection::to(server.local_addr()).await;
    connection.write(said).await;
    let said = connection.said().await;
    assert_eq!((said.status(), said.body.as_str()), (200, "ok"));
}
