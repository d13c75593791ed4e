//! Log messages (LOG).

use mcp_native::Server;
use mcp_native::middleware::{Flow, Message, Middleware};
use mcp_native::protocol::{Json, LoggingLevel};
use mcp_native::server::{NoArguments, RequestContext, ServerBuilder, tool};
use serde_json::{Value, json};

use crate::common::{Peer, builder, unrecorded};

const LEVELS: [LoggingLevel; 8] = [
    LoggingLevel::Debug,
    LoggingLevel::Info,
    LoggingLevel::Notice,
    LoggingLevel::Warning,
    LoggingLevel::Error,
    LoggingLevel::Critical,
    LoggingLevel::Alert,
    LoggingLevel::Emergency,
];

fn server(builder: ServerBuilder) -> Server {
    let server = builder.build();
    let all = tool("all").handler(|_: NoArguments, context: RequestContext| async move {
        for level in LEVELS {
            context.log(level, level.as_str());
        }
        Ok(context.log_level().as_str())
    });
    server.tool(all).expect("new");
    server
}

/// The levels that come before the answer to a call that logs all eight.
async fn logged(peer: &Peer) -> Vec<String> {
    let id = peer.begin("all", json!({})).await;
    let mut levels = Vec::new();
    loop {
        let message = peer.next().await.expect("connected");
        if message["id"] == id {
            return levels;
        }
        levels.push(message["params"]["level"].as_str().expect("a level").to_owned());
    }
}

// proves: LOG-02, LOG-03, LOG-04, LOG-05, FC-073
#[tokio::test]
async fn log_03_the_threshold_lets_the_more_severe_pass() {
    let peer = Peer::ready(&server(builder().logging(LoggingLevel::Notice))).await;
    assert_eq!(logged(&peer).await, ["notice", "warning", "error", "critical", "alert", "emergency"]);
    for (at, level) in LEVELS.iter().enumerate() {
        assert_eq!(peer.result("logging/setLevel", json!({ "level": level })).await, json!({}));
        let expected: Vec<_> = LEVELS[at..].iter().map(|level| level.as_str()).collect();
        assert_eq!(logged(&peer).await, expected);
    }
    // Every pair is ordered as the list is.
    assert!(LEVELS.windows(2).all(|pair| pair[0] < pair[1]));
}

// proves: LOG-06
#[tokio::test]
async fn log_06_an_unknown_level_changes_nothing() {
    let peer = Peer::ready(&server(builder().logging(LoggingLevel::Alert))).await;
    for bad in [json!("verbose"), json!("INFO"), json!(3), Value::Null] {
        assert_eq!(peer.error("logging/setLevel", json!({ "level": bad })).await.0, -32602);
    }
    assert_eq!(peer.error("logging/setLevel", json!({})).await.0, -32602);
    assert_eq!(logged(&peer).await, ["alert", "emergency"]);
}

// proves: LOG-07
#[tokio::test]
async fn log_07_data_is_any_json_and_always_there() {
    let server = server(builder().logging(LoggingLevel::Debug));
    let peer = Peer::ready(&server).await;
    server.log(LoggingLevel::Info, Some("db"), "text");
    server.log(LoggingLevel::Info, None, json!({ "n": 9_007_199_254_740_993_u64, "x": null }));
    peer.session.log(LoggingLevel::Info, None, Value::Null);
    server.log(LoggingLevel::Info, None, Json::parse("[1.0,\n1e3]").expect("JSON"));
    let mut params = Vec::new();
    for _ in 0..4 {
        params.push(peer.expect("notifications/message").await["params"].clone());
    }
    assert_eq!(params[0], json!({ "level": "info", "logger": "db", "data": "text" }));
    assert_eq!(params[1], json!({ "level": "info", "data": { "n": 9_007_199_254_740_993_u64, "x": null } }));
    assert_eq!(params[2], json!({ "level": "info", "data": null }));
    assert_eq!(params[3]["data"], json!([1.0, 1e3]));
}

struct Redact;

impl Middleware for Redact {
    fn outgoing_notification(&self, notification: &mut Message) -> Flow {
        if let Some(params) = &notification.params {
            notification.params = Some(Json::parse(params.get().replace("sk-123", "[secret]")).expect("still JSON"));
        }
        Flow::Continue
    }
}

// proves: LOG-08, SEC-09
#[tokio::test]
async fn log_08_secrets_are_taken_out_by_a_hook() {
    let server = server(builder().logging(LoggingLevel::Info).middleware(Redact));
    let peer = Peer::ready(&server).await;
    server.log(LoggingLevel::Info, None, json!({ "header": "Bearer sk-123" }));
    let params = peer.expect("notifications/message").await["params"].clone();
    assert_eq!(params["data"], json!({ "header": "Bearer [secret]" }));
}

// proves: LOG-09
#[tokio::test]
async fn log_09_a_flood_is_cut_and_what_was_dropped_is_told() {
    let server = server(unrecorded().logging(LoggingLevel::Error).log_messages_per_second(10));
    let peer = Peer::ready(&server).await;
    let begun = std::time::Instant::now();
    for n in 0..100_000 {
        peer.session.log(LoggingLevel::Error, None, n);
    }
    let flooded = begun.elapsed().as_secs() + 1;
    let mut sent = 0;
    let mut dropped = 0;
    // Below the threshold the note would be lost, so it comes at the threshold.
    while sent + dropped < 100_000 {
        let params = peer.expect("notifications/message").await["params"].clone();
        assert_eq!(params["level"], "error");
        match params["data"].as_str() {
            Some(note) => {
                assert!(note.contains("dropped"), "{note}");
                dropped += note.split(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a number");
            }
            None => sent += 1,
        }
    }
    assert!(sent <= 10 * (flooded + 1), "{sent} messages in {flooded} s");
    assert_eq!(sent + dropped, 100_000);
}

// proves: LOG-11, SEC-05
#[tokio::test]
async fn log_11_the_level_is_the_sessions_own() {
    let server = server(builder().logging(LoggingLevel::Info));
    let (first, second) = (Peer::ready(&server).await, Peer::ready(&server).await);
    first.result("logging/setLevel", json!({ "level": "error" })).await;
    second.result("logging/setLevel", json!({ "level": "debug" })).await;
    server.log(LoggingLevel::Info, None, "event");
    assert_eq!(second.expect("notifications/message").await["params"]["data"], "event");
    first.quiet().await;
}
