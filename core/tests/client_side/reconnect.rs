//! Connections that are made anew (FC-035).

use std::sync::Arc;
use std::time::Duration;

use mcp_native::client::{ClientState, ReconnectPolicy};
use mcp_native::engine::CloseReason;
use mcp_native::protocol::LoggingLevel;
use mcp_native::transport::child::ChildCommand;
use mcp_native::transport::memory::{self, MemoryTransport};
use mcp_native::{Client, ClientBuilder, Error, ErrorKind};
use serde_json::json;
use tokio::sync::{Mutex, mpsc};

use super::support::{Fake, Seen, builder, everything, initialize_result, soon};

fn quickly() -> ReconnectPolicy {
    ReconnectPolicy::new().initial(Duration::from_millis(10)).longest(Duration::from_millis(50))
}

/// A client that connects to the ends given out by the returned sender, one after another.
async fn connected(builder: ClientBuilder) -> (Client, Fake, mpsc::UnboundedSender<Result<MemoryTransport, Error>>) {
    let (ends, taken) = mpsc::unbounded_channel();
    let taken = Arc::new(Mutex::new(taken));
    let make = move || {
        let taken = Arc::clone(&taken);
        async move { taken.lock().await.recv().await.unwrap_or_else(|| Err(Error::closed("there are no more"))) }
    };
    let (near, far) = memory::pair();
    ends.send(Ok(near)).expect("taken later");
    let fake = Fake::new(far);
    let (client, _) = soon(async { tokio::join!(builder.connect_with(make), fake.handshake(everything())) }).await;
    (client.expect("connected"), fake, ends)
}

fn next_end(ends: &mpsc::UnboundedSender<Result<MemoryTransport, Error>>) -> Fake {
    let (near, far) = memory::pair();
    ends.send(Ok(near)).expect("the client is there");
    Fake::new(far)
}

// proves: FC-035, LIFE-16, SUB-08
#[tokio::test]
async fn a_new_session_is_initialised_and_restored_and_nothing_is_replayed() {
    let states = Seen::new();
    let seen = states.clone();
    let builder = builder().reconnect(quickly()).on_state(move |state| seen.push(state.to_string()));
    let (client, fake, ends) = connected(builder).await;
    let first_id = client.session_id();
    for (pending, method) in [
        (client.subscribe("x:kept"), "resources/subscribe"),
        (client.subscribe("x:given-up"), "resources/subscribe"),
        (client.unsubscribe("x:given-up"), "resources/unsubscribe"),
        (client.set_log_level(LoggingLevel::Error), "logging/setLevel"),
    ] {
        let pending = pending.send().expect("sent");
        let request = fake.expect(method).await;
        fake.reply(&request, json!({})).await;
        soon(pending).await.expect("done");
    }
    let in_flight = client.call_tool("t", json!({})).send().expect("sent");
    fake.expect("tools/call").await;
    fake.close().await;
    assert_eq!(soon(in_flight).await.expect_err("lost").kind(), ErrorKind::Closed);

    let mut again = next_end(&ends);
    let initialize = again.expect("initialize").await;
    assert_eq!(initialize["id"], 1, "ids begin anew");
    assert_eq!(client.ping().await.expect_err("not ready").kind(), ErrorKind::Closed);
    again.reply(&initialize, initialize_result(everything())).await;
    again.expect("notifications/initialized").await;
    let level = again.expect("logging/setLevel").await;
    assert_eq!(level["params"], json!({ "level": "error" }));
    let subscribe = again.expect("resources/subscribe").await;
    assert_eq!(subscribe["params"], json!({ "uri": "x:kept" }));
    again.reply(&subscribe, json!({})).await;
    // What is refused now does not keep the client from being ready.
    again.reply_error(&level, json!({ "code": -32603, "message": "not now" })).await;
    let ready = states.wait_for(4).await;
    assert_eq!(ready[0..2], ["connecting", "ready"]);
    assert!(ready[2].starts_with("reconnecting (attempt 1): closed by the peer"), "{ready:?}");
    assert_eq!(ready[3], "ready");
    again.quiet().await;
    assert_ne!(client.session_id(), first_id);
    let ping = client.ping().send().expect("ready");
    let request = again.expect("ping").await;
    again.reply(&request, json!({})).await;
    soon(ping).await.expect("answered");
    soon(client.close()).await;
    assert_eq!(again.rest().await, [] as [serde_json::Value; 0]);
}

// proves: FC-035
#[tokio::test]
async fn without_a_policy_the_end_is_the_end() {
    let (client, fake, _ends) = connected(builder()).await;
    fake.close().await;
    assert!(matches!(soon(client.closed()).await, CloseReason::Peer { .. }));
    assert_eq!(client.ping().await.expect_err("closed").kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn attempts_are_counted_and_come_to_an_end() {
    let states = Seen::new();
    let seen = states.clone();
    let builder = builder().reconnect(quickly().max_attempts(Some(2))).on_state(move |state| {
        if let ClientState::Reconnecting { attempt, .. } = state {
            seen.push(*attempt);
        }
    });
    let (client, fake, ends) = connected(builder).await;
    fake.close().await;
    for _ in 0..2 {
        ends.send(Err(Error::new(ErrorKind::Transport, "no route"))).expect("the client is there");
    }
    let reason = soon(client.closed()).await;
    assert!(reason.to_string().contains("no route"), "{reason}");
    assert_eq!(states.all(), [1, 2]);
}

#[tokio::test]
async fn closing_ends_the_attempts() {
    let (client, fake, ends) = connected(builder().reconnect(quickly().max_attempts(None))).await;
    fake.close().await;
    let again = next_end(&ends);
    again.expect("initialize").await;
    soon(client.close()).await;
    assert_eq!(again.rest().await, [] as [serde_json::Value; 0]);
    assert!(matches!(soon(client.closed()).await, CloseReason::Local));

    let waits = ReconnectPolicy::new().initial(Duration::from_secs(3600)).longest(Duration::from_secs(3600));
    let (client, fake, _ends) = connected(builder().reconnect(waits)).await;
    let mut state = client.state();
    fake.close().await;
    while !matches!(soon(state.next()).await, Some(ClientState::Reconnecting { .. })) {}
    soon(client.close()).await;
}

#[tokio::test]
async fn dropping_the_client_ends_the_attempts() {
    let (client, fake, ends) = connected(builder().reconnect(quickly().max_attempts(None))).await;
    fake.close().await;
    let again = next_end(&ends);
    again.expect("initialize").await;
    drop(client);
    assert_eq!(again.rest().await, [] as [serde_json::Value; 0]);
    soon(ends.closed()).await;
}

#[tokio::test]
async fn a_connection_that_cannot_be_made_again_takes_no_policy() {
    let (near, _far) = memory::pair();
    let error = builder().reconnect(quickly()).connect(near).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

// proves: FC-035, STDIO-01
#[cfg(unix)]
#[tokio::test]
async fn a_child_that_dies_is_started_anew() {
    let server = r#"
        read -r line
        echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'
        read -r line; read -r line
        echo '{"jsonrpc":"2.0","id":2,"result":{}}'
        exit 7
    "#;
    let client = builder().reconnect(quickly()).stdio(ChildCommand::new("sh").args(["-c", server]));
    let client = soon(client).await.expect("connected");
    let mut pids = std::collections::HashSet::new();
    let mut states = client.state();
    for _ in 0..3 {
        while !matches!(soon(states.next()).await, Some(ClientState::Ready)) {}
        pids.insert(client.pid().expect("a child"));
        // The last words and the answer come together; either may win.
        let _ = soon(client.ping().into_future()).await;
    }
    soon(client.close()).await;
    assert_eq!(pids.len(), 3);
}
