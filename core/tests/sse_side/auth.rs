//! Who is at the other end (SSE-07, SEC-06).

use mcp_native::Server;
use mcp_native::server::{NoArguments, RequestContext, ToolError, tool};
use mcp_native::transport::sse::{AuthRequest, Identity, Refusal, SseOptions, bearer_tokens};
use serde_json::Value;

use crate::common::{builder, request};
use crate::raw::{JSON, Peer, ask, serve};

struct Plan(&'static str);

fn server() -> Server {
    let server = builder().build();
    let who = tool("who").sync_handler(|_: NoArguments, context: RequestContext| {
        let http = context.http().ok_or_else(|| ToolError::new("not over HTTP"))?;
        let plan = http.identity.data.as_deref().and_then(|data| data.downcast_ref::<Plan>()).map(|plan| plan.0);
        let name = http.identity.id.as_deref();
        let header = http.headers.get("x-request").and_then(|value| value.to_str().ok());
        let loopback = http.peer.is_some_and(|peer| peer.ip().is_loopback());
        let shown = format!("{http:?}");
        assert!(!shown.contains("alice-secret") && !shown.contains("alice\""), "{shown}");
        Ok(format!("{name:?} {plan:?} {header:?} {loopback}"))
    });
    server.tool(who).expect("new");
    server
}

fn by_token() -> SseOptions {
    SseOptions::new().auth(bearer_tokens(|token| async move {
        match token.as_str() {
            "alice-secret" => Some(Identity::new("alice").with_data(Plan("pro"))),
            "bob-secret" => Some(Identity::new("bob")),
            _ => None,
        }
    }))
}

// proves: SSE-07, SEC-06
#[tokio::test]
async fn sec_06_without_a_known_token_get_and_post_are_401_with_a_challenge() {
    let server = serve(&server(), by_token()).await;
    let alice = [("authorization", "Bearer alice-secret")];
    let mut peer = Peer::open(server.local_addr(), "/sse", &alice).await.expect("let in");
    peer.handshake().await;
    let line = format!("POST {}", peer.endpoint);
    let message = request(1, "ping", Value::Null).to_string();
    let invalid = "Bearer error=\"invalid_token\"";
    for (header, challenge) in [
        (None, "Bearer"),
        (Some("Basic YWxpY2U6"), "Bearer"),
        (Some("Bearer"), "Bearer"),
        (Some("Bearer nobody"), invalid),
        (Some("bearer "), "Bearer"),
    ] {
        let headers: Vec<_> = header.into_iter().map(|value| ("authorization", value)).collect();
        let said = Peer::open(server.local_addr(), "/sse", &headers).await.err().expect("refused");
        assert_eq!((said.status(), said.header("www-authenticate")), (401, Some(challenge)), "{header:?}");
        let said = ask(server.local_addr(), &line, &[&headers[..], &[JSON]].concat(), &message).await;
        assert_eq!((said.status(), said.header("www-authenticate")), (401, Some(challenge)), "{header:?}");
    }
    // Somebody else's token is no way into this session.
    let said = ask(server.local_addr(), &line, &[JSON, ("authorization", "bearer bob-secret")], &message).await;
    assert_eq!(said.status(), 403);
    peer.quiet().await;
    assert_eq!(server.handle().sessions(), 1);
}

// proves: SSE-07
#[tokio::test]
async fn sse_07_handlers_know_who_asks_and_how_the_request_came() {
    let server = serve(&server(), by_token()).await;
    let headers = [("authorization", "Bearer alice-secret"), ("x-request", "7")];
    let mut peer = Peer::open(server.local_addr(), "/sse", &headers).await.expect("let in");
    peer.handshake().await;
    assert_eq!(peer.call("who").await, r#"Some("alice") Some("pro") Some("7") true"#);
}

#[tokio::test]
async fn a_request_is_never_taken_for_an_earlier_one_with_its_id() {
    let server = serve(&server(), SseOptions::new()).await;
    let mut peer = Peer::ready(&server).await;
    let who = request(9, "tools/call", serde_json::json!({ "name": "who" })).to_string();
    // Refused before it is served: the protocol has no such method, and that id is free again.
    let refused = request(9, "no/such", Value::Null).to_string();
    let line = format!("POST {}", peer.endpoint);
    for (number, body) in [("1", &who), ("2", &refused), ("3", &who), ("4", &who)] {
        let said = ask(server.local_addr(), &line, &[JSON, ("x-request", number)], body).await;
        assert_eq!(said.status(), 202);
        let answer = peer.response(9).await;
        if body == &who {
            let text = answer["result"]["content"][0]["text"].as_str().expect("text");
            assert!(text.contains(&format!("Some(\"{number}\")")), "{text}");
        }
    }
}

// proves: SSE-07
#[tokio::test]
async fn sse_07_a_hook_may_refuse_with_any_status_and_cannot_break_the_head() {
    let hook = |request: AuthRequest| async move {
        assert!(request.peer.is_some_and(|peer| peer.ip().is_loopback()));
        assert!(!format!("{request:?}").contains("secret-value"));
        match request.headers.get("x-who").and_then(|value| value.to_str().ok()) {
            Some("pay") => Err(Refusal::new(http::StatusCode::PAYMENT_REQUIRED, "not without money")),
            Some("break") => Err(Refusal::unauthorized("Bearer\r\nset-cookie: a=b")),
            _ => Ok(Identity::default()),
        }
    };
    let server = serve(&server(), SseOptions::new().auth(hook)).await;
    let said = ask(server.local_addr(), "GET /sse", &[("x-who", "pay")], "").await;
    assert_eq!((said.status(), said.body.as_str()), (402, "not without money"));
    let said = ask(server.local_addr(), "GET /sse", &[("x-who", "break")], "").await;
    assert_eq!((said.status(), said.header("set-cookie")), (401, None));
    let mut peer = Peer::open(server.local_addr(), "/sse", &[("x-who", "secret-value")]).await.expect("let in");
    peer.handshake().await;
    assert_eq!(peer.call("who").await, "None None None true");
}
