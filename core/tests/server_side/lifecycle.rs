//! The handshake, capabilities, and what dies with a session (LIFE, CAP).

use mcp_native::Server;
use mcp_native::protocol::{LoggingLevel, Prompt, Resource, ResourceTemplate};
use mcp_native::server::{NoArguments, ToolDefinition, tool};
use serde_json::{Value, json};

use crate::common::{Peer, builder, error_of, everything, request};

fn named(name: &str) -> ToolDefinition {
    tool(name).handler(|_: NoArguments, _| async { Ok("ok") })
}

async fn capabilities_of(server: &Server) -> Value {
    Peer::of(server).handshake(&everything()).await["capabilities"].clone()
}

// proves: LIFE-03, LIFE-14
#[tokio::test]
async fn life_03_the_result_names_revision_capabilities_and_server() {
    let peer = Peer::of(&builder().instructions("abc").build());
    let result = peer.handshake(&json!({})).await;
    let expected = json!({
        "protocolVersion": "2024-11-05", "capabilities": {},
        "serverInfo": { "name": "test", "version": "1.0" }, "instructions": "abc",
    });
    assert_eq!(result, expected);
    let plain = Peer::of(&builder().build()).handshake(&json!({})).await;
    assert_eq!(plain.get("instructions"), None);
}

// proves: LIFE-06, FC-075
#[tokio::test]
async fn life_06_before_initialized_nothing_but_pings_and_logs_goes_out() {
    let server = builder().logging(LoggingLevel::Info).subscriptions(true).offer_tools(true).build();
    server.resource(Resource::new("x:a", "a"), |_, _| async { Ok("a") }).expect("new");
    let witness = Peer::ready(&server).await;
    let peer = Peer::of(&server);
    peer.send(crate::common::initialize(&everything())).await;
    peer.response("init").await;
    assert_eq!(peer.result("resources/subscribe", json!({ "uri": "x:a" })).await, json!({}));

    server.tool(named("late")).expect("new");
    server.resource_updated("x:a");
    let session = peer.session.clone();
    let roots = tokio::spawn(async move { session.roots().await });
    server.log(LoggingLevel::Info, None, "early");
    let ping = tokio::spawn(peer.session.ping().into_future());
    let log = peer.expect("notifications/message").await;
    assert_eq!(log["params"]["data"], "early");
    let asked = peer.expect("ping").await;
    peer.reply(&asked, json!({})).await;
    ping.await.expect("no panic").expect("answered");
    // The change is announced, as another session shows, but not here.
    witness.expect("notifications/message").await;
    witness.expect("notifications/tools/list_changed").await;
    peer.quiet().await;

    peer.notify("notifications/initialized", Value::Null).await;
    let mut methods = Vec::new();
    for _ in 0..3 {
        let message = peer.next().await.expect("what was held back");
        if message["method"] == "roots/list" {
            peer.reply(&message, json!({ "roots": [] })).await;
        }
        methods.push(message["method"].as_str().expect("a method").to_owned());
    }
    methods.sort();
    assert_eq!(methods, ["notifications/resources/updated", "notifications/tools/list_changed", "roots/list"]);
    roots.await.expect("no panic").expect("answered");
}

// proves: LIFE-08
#[tokio::test]
async fn life_08_requests_are_served_once_the_result_is_out() {
    let server = builder().build();
    server.tool(named("t")).expect("new");
    let peer = Peer::of(&server);
    peer.send(crate::common::initialize(&everything())).await;
    peer.response("init").await;
    assert_eq!(peer.result("tools/list", Value::Null).await["tools"][0]["name"], "t");
    peer.notify("notifications/initialized", Value::Null).await;
    peer.quiet().await;
}

// proves: LIFE-13, COMP-09, TOOL-08
#[tokio::test]
async fn life_13_a_server_without_features_does_the_lifecycle_and_nothing_else() {
    let peer = Peer::of(&builder().build());
    let result = peer.handshake(&everything()).await;
    assert_eq!(result["capabilities"], json!({}));
    peer.quiet().await;
    for method in [
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "prompts/list",
        "prompts/get",
        "logging/setLevel",
        "completion/complete",
        "sampling/createMessage",
        "roots/list",
        "shutdown",
    ] {
        assert_eq!(peer.error(method, json!({})).await.0, -32601, "{method}");
    }
}

// proves: CAP-01, TOOL-01, PROM-01
#[tokio::test]
async fn cap_01_what_is_registered_is_declared() {
    let server = builder().build();
    assert_eq!(capabilities_of(&server).await, json!({}));
    server.tool(named("t")).expect("new");
    assert_eq!(capabilities_of(&server).await, json!({ "tools": { "listChanged": true } }));
    server.prompt(Prompt::new("p"), |_, _| async { Ok(String::new()) }).expect("new");
    server.resource_template(ResourceTemplate::new("x:{a}", "a"), |_, _, _| async { Ok("a") }).expect("new");
    let flag = json!({ "listChanged": true });
    assert_eq!(capabilities_of(&server).await, json!({ "tools": flag, "prompts": flag, "resources": flag }));
    let logs = builder().logging(LoggingLevel::Info).list_changed(false).offer_prompts(true).build();
    assert_eq!(capabilities_of(&logs).await, json!({ "logging": {}, "prompts": {} }));
}

// proves: RES-01
#[tokio::test]
async fn res_01_both_flags_are_independent() {
    for (subscribe, changed) in [(false, false), (false, true), (true, false), (true, true)] {
        let server = builder().offer_resources(true).subscriptions(subscribe).list_changed(changed).build();
        let mut expected = json!({});
        if subscribe {
            expected["subscribe"] = true.into();
        }
        if changed {
            expected["listChanged"] = true.into();
        }
        assert_eq!(capabilities_of(&server).await, json!({ "resources": expected }));
    }
}

// proves: CAP-06, CAP-10, FC-060, SUB-01, LOG-01
#[tokio::test]
async fn cap_06_undeclared_features_are_refused_and_never_used() {
    let server = builder().list_changed(false).build();
    server.tool(named("t")).expect("new");
    let peer = Peer::ready(&server).await;
    for method in ["prompts/list", "resources/read", "resources/list", "logging/setLevel"] {
        assert_eq!(peer.error(method, json!({})).await.0, -32601, "{method}");
    }
    let server = builder().offer_resources(true).list_changed(false).build();
    server.resource(Resource::new("x:a", "a"), |_, _| async { Ok("a") }).expect("new");
    let peer = Peer::ready(&server).await;
    assert_eq!(peer.error("resources/subscribe", json!({ "uri": "x:a" })).await.0, -32601);
    for _ in 0..10 {
        server.resource_updated("x:a");
    }
    server.log(LoggingLevel::Emergency, None, "nobody hears it");
    peer.quiet().await;
}

// proves: CAP-09
#[tokio::test]
async fn cap_09_what_a_session_was_told_holds_for_it() {
    let server = builder().build();
    server.tool(named("t")).expect("new");
    let old = Peer::ready(&server).await;
    let handle = server.prompt(Prompt::new("p"), |_, _| async { Ok(String::new()) }).expect("new");
    assert_eq!(old.error("prompts/list", json!({})).await.0, -32601);
    let new = Peer::ready(&server).await;
    assert_eq!(new.result("prompts/list", json!({})).await["prompts"][0]["name"], "p");
    assert!(handle.remove());
    assert_eq!(new.expect("notifications/prompts/list_changed").await["params"], Value::Null);
    // Declared is declared, even when nothing is left.
    assert_eq!(new.result("prompts/list", json!({})).await, json!({ "prompts": [] }));
    old.quiet().await;
}

// proves: LIFE-16, SUB-08, LOG-11, SEC-05
#[tokio::test]
async fn life_16_what_was_agreed_dies_with_its_session() {
    let server = builder().logging(LoggingLevel::Info).subscriptions(true).build();
    server.resource(Resource::new("x:a", "a"), |_, _| async { Ok("a") }).expect("new");
    let first = Peer::ready(&server).await;
    first.result("logging/setLevel", json!({ "level": "debug" })).await;
    first.result("resources/subscribe", json!({ "uri": "x:a" })).await;
    server.resource_updated("x:a");
    first.expect("notifications/resources/updated").await;
    first.close().await;
    let _ = crate::common::soon(first.session.closed()).await;

    let second = Peer::of(&server);
    assert_eq!(second.error("resources/list", json!({})).await.0, -32600);
    assert_ne!(first.session.id(), second.session.id());
    second.handshake(&everything()).await;
    server.resource_updated("x:a");
    server.log(LoggingLevel::Debug, None, "below the default");
    second.quiet().await;
    assert_eq!(server.sessions().len(), 1);
}

// proves: JRPC-05, JRPC-24
#[tokio::test]
async fn jrpc_05_an_id_in_use_is_refused_and_the_first_request_goes_on() {
    let door = crate::common::Door::default();
    let server = builder().build();
    let wait = door.clone();
    let slow = tool("slow").handler(move |_: NoArguments, _| {
        let wait = wait.clone();
        async move {
            wait.opened().await;
            Ok("done")
        }
    });
    server.tool(slow).expect("new");
    server.tool(named("fast")).expect("new");
    let peer = Peer::ready(&server).await;
    peer.send(request(7, "tools/call", json!({ "name": "slow" }))).await;
    peer.send(request(7, "ping", Value::Null)).await;
    assert_eq!(error_of(&peer.response(7).await).0, -32600);
    // Others are not held up meanwhile.
    peer.send(request(8, "tools/call", json!({ "name": "fast" }))).await;
    assert_eq!(peer.response(8).await["result"]["content"][0]["text"], "ok");
    door.open();
    assert_eq!(peer.response(7).await["result"]["content"][0]["text"], "done");
    // A finished id may be used again.
    peer.send(request(7, "ping", Value::Null)).await;
    assert_eq!(peer.response(7).await["result"], json!({}));
}
