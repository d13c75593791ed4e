//! JSON-RPC as the server speaks it, with a session and handlers behind (JRPC, PING).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_native::protocol::Json;
use mcp_native::server::{NoArguments, tool};
use mcp_native::{Error, Server};
use serde_json::{Value, json};

use crate::common::{Peer, builder, error_of};

fn counting() -> (Server, Arc<AtomicU32>) {
    let server = builder().build();
    let calls = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&calls);
    let counted = tool("t").sync_handler(move |_: NoArguments, _| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok("ok")
    });
    server.tool(counted).expect("new");
    (server, calls)
}

// proves: JRPC-12, JRPC-13, JRPC-15, JRPC-22, FC-041, FC-043
#[tokio::test]
async fn jrpc_15_what_is_no_request_runs_nothing_and_is_not_answered() {
    let (server, calls) = counting();
    let peer = Peer::ready(&server).await;
    peer.notify("tools/call", json!({ "name": "t" })).await;
    peer.notify("notifications/nope", json!({})).await;
    peer.notify("notifications/cancelled", json!([])).await;
    peer.quiet().await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}]"#;
    peer.send_text(batch).await;
    assert_eq!(error_of(&peer.response(Value::Null).await).0, -32600);
    assert_eq!(peer.error("notifications/initialized", Value::Null).await.0, -32601);
    peer.quiet().await;
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

// proves: JRPC-18, FC-001, FC-009
#[tokio::test]
async fn jrpc_18_text_that_is_no_json_is_answered_and_the_session_lives() {
    let (server, calls) = counting();
    let peer = Peer::ready(&server).await;
    for bad in [&b"{not json"[..], b"\xff\xfe{}", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\xff\"}"] {
        peer.send_text(bad).await;
        assert_eq!(error_of(&peer.response(Value::Null).await).0, -32700);
        peer.quiet().await;
    }
    assert_eq!(peer.call("t", json!({})).await, "ok");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

// proves: JRPC-29, FC-046
#[tokio::test]
async fn jrpc_29_a_message_too_long_or_too_deep_fails_alone() {
    let mut limits = mcp_native::engine::Limits::default();
    limits.message_in = 1000;
    let server = builder().limits(limits).build();
    server.tool(tool("t").handler(|_: NoArguments, _| async { Ok("ok") })).expect("new");
    let peer = Peer::ready(&server).await;
    let long = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "x".repeat(2000) } });
    peer.send(long).await;
    let (code, message) = error_of(&peer.response(5).await);
    assert_eq!(code, -32600);
    assert!(message.contains("1000 bytes"), "{message}");
    let deep = format!("{}{}", "[".repeat(400), "]".repeat(400));
    peer.send_text(format!(r#"{{"jsonrpc":"2.0","id":6,"method":"ping","params":{{"x":{deep}}}}}"#)).await;
    assert_eq!(error_of(&peer.next().await.expect("an answer")).0, -32600);
    assert_eq!(peer.call("t", json!({})).await, "ok");
}

// proves: JRPC-30, JRPC-14
#[tokio::test]
async fn jrpc_30_own_methods_are_served_and_reserved_names_never() {
    let calls = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&calls);
    let server = builder()
        .method("acme/double", |params, _| async move {
            let n: Value = params.decode()?;
            let n = n["n"].as_i64().ok_or_else(|| Error::invalid_params("`n` must be an integer"))?;
            Ok(Json::from(json!({ "n": 2 * n })))
        })
        .method("acme/list", |_, _| async { Ok(Json::from(json!([1]))) })
        .method("rpc.discover", move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok(Json::empty_object()) }
        })
        .build();
    let peer = Peer::ready(&server).await;
    assert_eq!(peer.result("acme/double", json!({ "n": 4 })).await, json!({ "n": 8 }));
    assert_eq!(peer.error("acme/double", Value::Null).await, (-32602, "`n` must be an integer".to_owned()));
    assert_eq!(peer.error("acme/list", Value::Null).await.0, -32603, "a result is an object (JRPC-11)");
    assert_eq!(peer.error("rpc.discover", Value::Null).await.0, -32601);
    assert_eq!(peer.error("no/such", Value::Null).await.0, -32601);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

// proves: JRPC-17, JRPC-16, SCH-12, FC-044
#[tokio::test]
async fn jrpc_17_missing_parameters_are_named() {
    let (server, calls) = counting();
    let peer = Peer::ready(&server).await;
    let (code, message) = peer.error("tools/call", Value::Null).await;
    assert_eq!(code, -32602);
    assert!(message.contains("`name`"), "{message}");
    assert_eq!(peer.error("tools/list", json!([])).await.0, -32602);
    assert_eq!(peer.result("tools/list", Value::Null).await["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

// proves: PING-02, PING-06
#[tokio::test]
async fn ping_02_either_side_pings() {
    let (server, _) = counting();
    let peer = Peer::ready(&server).await;
    let odd = json!({ "x": 1, "_meta": { "progressToken": 1 } });
    assert_eq!(peer.result("ping", odd).await, json!({}));
    let ping = tokio::spawn(peer.session.ping().into_future());
    let asked = peer.expect("ping").await;
    peer.reply(&asked, json!({})).await;
    assert_eq!(ping.await.expect("no panic").expect("answered").get(), "{}");
}

// proves: SCH-01, SCH-03, FC-047
#[tokio::test]
async fn sch_01_unknown_members_and_nulls_change_nothing() {
    let (server, _) = counting();
    let peer = Peer::ready(&server).await;
    let list = peer.result("tools/list", json!({ "cursor": null, "zz": 1, "_meta": { "zz": 1 } })).await;
    assert_eq!(list["tools"][0]["name"], "t");
    let result = peer.result("tools/call", json!({ "name": "t", "arguments": null, "zz": {} })).await;
    assert_eq!(result["content"][0]["text"], "ok");
}
