//! The routes in a larger app, under prefixes and behind proxies (FC-017).

use std::net::SocketAddr;

use axum::Router;
use mcp_native::transport::sse::{SseHandle, SseOptions};

use crate::common::builder;
use crate::raw::{Peer, ask};

/// An app with the routes under `/api/mcp`.
async fn app(options: SseOptions) -> (SocketAddr, SseHandle) {
    let (routes, handle) = builder().build().sse_router(options);
    let app = Router::new().nest("/api/mcp", routes);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("bound");
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    (address, handle)
}

// proves: FC-017, SSE-02
#[tokio::test]
async fn fc_017_the_endpoint_is_right_where_the_routes_are_mounted() {
    let (address, handle) = app(SseOptions::new()).await;
    let mut peer = Peer::open(address, "/api/mcp/sse", &[]).await.expect("a stream");
    assert!(peer.endpoint.starts_with("/api/mcp/messages?sessionId="), "{}", peer.endpoint);
    peer.handshake().await;
    peer.quiet().await;
    assert_eq!(handle.sessions(), 1);
    assert_eq!(ask(address, "GET /api/mcp/healthz", &[], "").await.status(), 200);
}

// proves: FC-017
#[tokio::test]
async fn fc_017_what_a_proxy_takes_away_is_put_back() {
    let options = SseOptions::new().public_prefix("svc/").sse_path("events").message_path("/in").health(false);
    let (address, _handle) = app(options).await;
    let peer = Peer::open(address, "/api/mcp/events?key=1", &[]).await.expect("a stream");
    assert!(peer.endpoint.starts_with("/svc/api/mcp/in?sessionId="), "{}", peer.endpoint);
    // What the proxy passes on arrives.
    let here = peer.endpoint.trim_start_matches("/svc").to_owned();
    let said = ask(address, &format!("POST {here}"), &[crate::raw::JSON], "{").await;
    assert_eq!(said.status(), 400);
    assert_eq!(ask(address, "GET /api/mcp/healthz", &[], "").await.status(), 404);
}
