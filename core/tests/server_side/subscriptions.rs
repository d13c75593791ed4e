//! Subscriptions (SUB).

use mcp_native::Server;
use mcp_native::middleware::{Flow, Message, Middleware};
use mcp_native::protocol::{Resource, ResourceTemplate};
use serde_json::{Value, json};

use crate::common::{Peer, builder};

fn server() -> Server {
    let server = builder().subscriptions(true).build();
    for uri in ["x:a", "x:b"] {
        server.resource(Resource::new(uri, uri), |_, _| async { Ok("") }).expect("new");
    }
    server
}

async fn subscribe(peer: &Peer, uri: &str) {
    assert_eq!(peer.result("resources/subscribe", json!({ "uri": uri })).await, json!({}));
}

async fn unsubscribe(peer: &Peer, uri: &str) {
    assert_eq!(peer.result("resources/unsubscribe", json!({ "uri": uri })).await, json!({}));
}

async fn updated(peer: &Peer) -> Value {
    peer.expect("notifications/resources/updated").await["params"]["uri"].clone()
}

// proves: SUB-01, SUB-02, SUB-04, SUB-07, FC-074
#[tokio::test]
async fn sub_04_only_what_was_subscribed_is_announced_and_once() {
    let server = server();
    let peer = Peer::ready(&server).await;
    subscribe(&peer, "x:a").await;
    subscribe(&peer, "x:a").await;
    server.resource_updated("x:b");
    server.resource_updated("x:a");
    assert_eq!(updated(&peer).await, "x:a");
    peer.quiet().await;
    assert_eq!(peer.error("resources/subscribe", json!({})).await.0, -32602);
}

// proves: SUB-05
#[tokio::test]
async fn sub_05_a_part_is_announced_to_those_who_subscribed_to_the_whole() {
    let server = server();
    let peer = Peer::ready(&server).await;
    subscribe(&peer, "x:a").await;
    server.resource_part_updated("x:a", "x:a/part");
    server.resource_part_updated("x:b", "x:a");
    assert_eq!(updated(&peer).await, "x:a/part");
    peer.quiet().await;
}

// proves: SUB-03, SUB-06, SUB-07
#[tokio::test]
async fn sub_06_nothing_follows_the_answer_to_an_unsubscribe() {
    let server = server();
    let peer = Peer::ready(&server).await;
    unsubscribe(&peer, "x:b").await;
    // While another thread announces changes as fast as it can.
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let (busy, told) = (server.clone(), std::sync::Arc::clone(&stop));
    let thread = std::thread::spawn(move || {
        while !told.load(std::sync::atomic::Ordering::Relaxed) {
            busy.resource_updated("x:a");
            std::thread::yield_now();
        }
    });
    for _ in 0..50 {
        subscribe_amid_updates(&peer).await;
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    thread.join().expect("no panic");
    server.resource_updated("x:a");
    peer.quiet().await;
}

/// Subscribes, hears of a change, unsubscribes, and takes care that nothing comes after the answer.
async fn subscribe_amid_updates(peer: &Peer) {
    let id = peer.request("resources/subscribe", json!({ "uri": "x:a" })).await;
    let mut updates = 0;
    let mut subscribed = false;
    while updates == 0 || !subscribed {
        let message = peer.next().await.expect("connected");
        if message["id"] == id {
            subscribed = true;
        } else {
            assert_eq!(message["method"], "notifications/resources/updated");
            updates += 1;
        }
    }
    let id = peer.request("resources/unsubscribe", json!({ "uri": "x:a" })).await;
    while peer.next().await.expect("connected")["id"] != id {}
    peer.quiet().await;
}

// proves: SUB-08, SEC-05
#[tokio::test]
async fn sub_08_subscriptions_belong_to_one_session() {
    let server = server();
    let (first, second) = (Peer::ready(&server).await, Peer::ready(&server).await);
    subscribe(&first, "x:a").await;
    server.resource_updated("x:a");
    assert_eq!(updated(&first).await, "x:a");
    second.quiet().await;
    unsubscribe(&second, "x:a").await;
    server.resource_updated("x:a");
    assert_eq!(updated(&first).await, "x:a");
    second.quiet().await;
}

// proves: SUB-10
#[tokio::test]
async fn sub_10_what_does_not_exist_cannot_be_subscribed_to() {
    let server = server();
    server.resource_template(ResourceTemplate::new("t:{id}", "t"), |_, _, _| async { Ok("") }).expect("new");
    let peer = Peer::ready(&server).await;
    assert_eq!(peer.error("resources/subscribe", json!({ "uri": "x:none" })).await.0, -32002);
    subscribe(&peer, "t:1").await;
    server.resource_updated("t:1");
    assert_eq!(updated(&peer).await, "t:1");
}

/// A template makes any number of URIs readable; what a client may pile up with that is bounded.
// proves: JRPC-29
#[tokio::test]
async fn subscriptions_are_bounded() {
    let server = builder().subscriptions(true).build();
    server.resource_template(ResourceTemplate::new("t:{id}", "t"), |_, _, _| async { Ok("") }).expect("new");
    let peer = Peer::ready(&server).await;
    let long = "x".repeat(1024 * 1024);
    for n in 0..3 {
        subscribe(&peer, &format!("t:{n}{long}")).await;
    }
    let (code, message) = peer.error("resources/subscribe", json!({ "uri": format!("t:4{long}") })).await;
    assert!(code == -32603 && message.contains("subscriptions"), "{message}");
    unsubscribe(&peer, &format!("t:1{long}")).await;
    subscribe(&peer, &format!("t:4{long}")).await;
}

struct Filter;

impl Middleware for Filter {
    fn outgoing_notification(&self, notification: &mut Message) -> Flow {
        let uri: Option<Value> = notification.params.as_ref().and_then(|params| params.decode().ok());
        match uri {
            Some(params) if params["uri"] == "x:b" => Flow::Drop,
            Some(params) if params["uri"] == "x:panic" => panic!("in a filter"),
            _ => Flow::Continue,
        }
    }
}

/// Updates go through the middleware, and a panic in there reaches nobody.
// proves: FC-062
#[tokio::test]
async fn updates_can_be_filtered() {
    let server = builder().subscriptions(true).middleware(Filter).build();
    for uri in ["x:a", "x:b", "x:panic"] {
        server.resource(Resource::new(uri, uri), |_, _| async { Ok("") }).expect("new");
    }
    let peer = Peer::ready(&server).await;
    for uri in ["x:a", "x:b", "x:panic"] {
        subscribe(&peer, uri).await;
    }
    for uri in ["x:panic", "x:b", "x:a"] {
        server.resource_updated(uri);
    }
    assert_eq!(updated(&peer).await, "x:a");
    peer.quiet().await;
}
