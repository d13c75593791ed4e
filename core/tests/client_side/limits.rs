//! Time limits, cancellation, progress, pings.

use std::time::{Duration, Instant};

use mcp_native::ErrorKind;
use mcp_native::client::CancelToken;
use mcp_native::engine::{CloseReason, Diagnostic, KeepAlive, TimeLimit};
use serde_json::{Value, json};

use super::support::{Seen, builder, connected, connected_with, everything, soon};

const MS: Duration = Duration::from_millis(1);

// proves: TIME-01, TIME-02, TIME-03, FC-057
#[tokio::test]
async fn each_call_ends_at_its_own_limit_and_the_server_is_told() {
    let (client, fake) = connected().await;
    let begun = Instant::now();
    let short = client.call_tool("t", json!({})).timeout(100 * MS).send().expect("sent");
    let long = client.call_tool("t", json!({})).timeout(300 * MS).send().expect("sent");
    let ids: Vec<Value> =
        [fake.expect("tools/call").await, fake.expect("tools/call").await].iter().map(|m| m["id"].clone()).collect();
    assert_eq!(soon(short).await.expect_err("too late").kind(), ErrorKind::Timeout);
    assert!(begun.elapsed() >= 100 * MS);
    assert_eq!(fake.expect("notifications/cancelled").await["params"]["requestId"], ids[0]);
    assert_eq!(soon(long).await.expect_err("too late").kind(), ErrorKind::Timeout);
    assert!(begun.elapsed() >= 300 * MS);
    assert_eq!(fake.expect("notifications/cancelled").await["params"]["requestId"], ids[1]);
    // A late answer is discarded.
    fake.send(json!({ "jsonrpc": "2.0", "id": ids[0], "result": { "content": [] } })).await;
    let ping = client.ping().send().expect("sent");
    let request = fake.expect("ping").await;
    fake.reply(&request, json!({})).await;
    soon(ping).await.expect("the session lives");
}

// proves: TIME-02
#[tokio::test]
async fn the_session_has_a_default_limit() {
    let (client, fake) = connected_with(builder().time_limit(TimeLimit::of(50 * MS)), everything()).await;
    let pending = client.call_tool("t", json!({})).send().expect("sent");
    fake.expect("tools/call").await;
    assert_eq!(soon(pending).await.expect_err("too late").kind(), ErrorKind::Timeout);
}

// proves: TIME-04, FC-056
#[tokio::test]
async fn progress_extends_a_limit_up_to_the_hard_maximum() {
    let (client, fake) = connected().await;
    let mut time = TimeLimit::of(200 * MS);
    time.maximum = Some(600 * MS);
    let begun = Instant::now();
    let mut pending = client.call_tool("t", json!({})).time_limit(time).reset_on_progress(true).send().expect("sent");
    let request = fake.expect("tools/call").await;
    let token = request["params"]["_meta"]["progressToken"].clone();
    let mut reports = tokio::time::interval(50 * MS);
    let mut progress = 0;
    let outcome = soon(async {
        loop {
            tokio::select! {
                outcome = &mut pending => break outcome,
                _ = reports.tick() => {
                    progress += 1;
                    fake.notify("notifications/progress", json!({ "progressToken": token, "progress": progress })).await;
                }
            }
        }
    })
    .await;
    assert_eq!(outcome.expect_err("too late").kind(), ErrorKind::Timeout);
    assert!(begun.elapsed() >= 600 * MS, "progress kept it alive until the maximum");
}

// proves: FC-059
#[tokio::test]
async fn odd_limits_are_refused_or_saturate_and_never_fire_early() {
    let (client, mut fake) = connected().await;
    let error = client.ping().timeout(Duration::ZERO).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    fake.quiet().await;
    let huge = [1_u64 << 31, 1 << 40, u64::MAX].map(Duration::from_millis);
    let mut pending: Vec<_> = huge.iter().map(|limit| client.ping().timeout(*limit).send().expect("sent")).collect();
    pending.push(client.ping().timeout(Duration::MAX).send().expect("sent"));
    pending.push(client.ping().no_timeout().send().expect("sent"));
    let mut requests = Vec::new();
    for _ in 0..5 {
        requests.push(fake.expect("ping").await);
    }
    fake.quiet().await;
    for (pending, request) in pending.into_iter().zip(&requests) {
        fake.reply(request, json!({})).await;
        soon(pending).await.expect("in time");
    }
    let (near, _far) = mcp_native::transport::memory::pair();
    let error = builder().time_limit(TimeLimit::of(Duration::ZERO)).connect(near).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

// proves: CANC-01, CANC-05, CANC-08, CANC-09, CANC-10, CANC-13
#[tokio::test]
async fn cancelling_ends_the_call_at_once_and_tells_the_server_why() {
    let (client, mut fake) = connected().await;
    let asked = Seen::new();
    let seen = asked.clone();
    let mut pending = client
        .call_tool("t", json!({}))
        .on_cancel_requested(move |reason| seen.push(reason.map(str::to_owned)))
        .send()
        .expect("sent");
    let id = pending.id().expect("on the wire");
    let request = fake.expect("tools/call").await;
    assert_eq!(request["id"].to_string(), id.to_string());
    pending.cancel(Some("changed my mind"));
    assert_eq!(asked.all(), [Some("changed my mind".to_owned())], "known before the call has ended");
    assert_eq!(soon(&mut pending).await.expect_err("cancelled").kind(), ErrorKind::Cancelled);
    let note = fake.expect("notifications/cancelled").await;
    assert_eq!(note["params"], json!({ "requestId": request["id"], "reason": "changed my mind" }));
    fake.reply(&request, json!({ "content": [] })).await;
    fake.quiet().await;
}

// proves: CANC-09, CANC-12, FC-057
#[tokio::test]
async fn dropping_a_call_cancels_it_once_and_without_a_reason() {
    let (client, mut fake) = connected().await;
    let caller = client.clone();
    let call = tokio::spawn(async move { caller.call_tool("t", json!({})).await });
    let request = fake.expect("tools/call").await;
    call.abort();
    assert_eq!(fake.expect("notifications/cancelled").await["params"], json!({ "requestId": request["id"] }));
    assert!(soon(call).await.expect_err("aborted").is_cancelled());
    fake.quiet().await;
    // What was never sent is not cancelled either.
    drop(client.call_tool("t", json!({})));
    fake.quiet().await;
}

// proves: CANC-01, CANC-06
#[tokio::test]
async fn after_its_end_a_call_is_not_cancelled() {
    let (client, mut fake) = connected().await;
    let mut pending = client.ping().send().expect("sent");
    let request = fake.expect("ping").await;
    fake.reply(&request, json!({})).await;
    soon(&mut pending).await.expect("answered");
    pending.cancel(Some("too late"));
    drop(pending);
    fake.quiet().await;
}

// proves: CANC-06, JRPC-04
#[tokio::test]
async fn races_of_cancel_and_answer_end_each_call_once() {
    let (client, fake) = connected().await;
    let server = tokio::spawn(async move {
        let mut ids = std::collections::HashSet::new();
        while let Some(message) = fake.next().await {
            if message["method"] == "tools/call" {
                assert!(ids.insert(message["id"].to_string()), "an id was used twice");
                fake.reply(&message, json!({ "content": [] })).await;
            }
        }
        ids.len()
    });
    for round in 0..1000 {
        let mut pending = client.call_tool("t", json!({})).send().expect("sent");
        if round % 3 == 0 {
            tokio::task::yield_now().await;
        }
        pending.cancel(None);
        match soon(pending).await {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
        }
    }
    soon(client.close()).await;
    assert_eq!(soon(server).await.expect("no panic"), 1000);
}

// proves: CANC-10, CANC-13
#[tokio::test]
async fn a_token_cancels_from_elsewhere() {
    let (client, mut fake) = connected().await;
    let token = CancelToken::new();
    let call = client.call_tool("t", json!({})).cancel_token(token.clone());
    let task = tokio::spawn(call.into_future());
    let request = fake.expect("tools/call").await;
    token.cancel_with("stop button");
    assert_eq!(soon(task).await.expect("no panic").expect_err("cancelled").kind(), ErrorKind::Cancelled);
    let note = fake.expect("notifications/cancelled").await;
    assert_eq!(note["params"], json!({ "requestId": request["id"], "reason": "stop button" }));
    let error = client.ping().cancel_token(token).await.expect_err("cancelled before");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    fake.quiet().await;
}

// proves: PROG-01, PROG-02, PROG-06, PROG-13, PROG-14
#[tokio::test]
async fn progress_reaches_the_call_it_belongs_to() {
    let (client, fake) = connected().await;
    let mut calls = Vec::new();
    for _ in 0..100 {
        let reports = Seen::new();
        let seen = reports.clone();
        let pending = client
            .call_tool("t", json!({}))
            .on_progress(move |p| seen.push((p.progress, p.total)))
            .send()
            .expect("sent");
        let request = fake.expect("tools/call").await;
        calls.push((pending, request, reports));
    }
    let tokens: std::collections::HashSet<String> =
        calls.iter().map(|(_, request, _)| request["params"]["_meta"]["progressToken"].to_string()).collect();
    assert_eq!(tokens.len(), 100);
    let (pending, request, reports) = calls.swap_remove(40);
    let token = &request["params"]["_meta"]["progressToken"];
    for (progress, total) in [(json!(0.2), json!(1.0)), (json!(10), json!(20)), (json!(30), json!(20))] {
        let report =
            json!({ "progressToken": token, "progress": progress, "total": total, "message": "later revision" });
        fake.notify("notifications/progress", report).await;
    }
    fake.reply(&request, json!({ "content": [] })).await;
    soon(pending).await.expect("answered");
    assert_eq!(reports.all(), [(0.2, Some(1.0)), (10.0, Some(20.0)), (30.0, Some(20.0))]);
    assert!(calls.iter().all(|(_, _, reports)| reports.all().is_empty()));
}

// proves: PROG-09, PROG-12
#[tokio::test]
async fn progress_for_nobody_is_dropped() {
    let (client, mut fake) = connected().await;
    let pending = client.call_tool("t", json!({})).send().expect("sent");
    let request = fake.expect("tools/call").await;
    assert!(request["params"].get("_meta").is_none(), "no progress was asked for");
    for token in [json!("zz"), request["id"].clone(), json!(999), json!(null)] {
        fake.notify("notifications/progress", json!({ "progressToken": token, "progress": 1 })).await;
    }
    fake.quiet().await;
    fake.reply(&request, json!({ "content": [] })).await;
    soon(pending).await.expect("unharmed");
}

// proves: PING-01, PING-02, PING-06
#[tokio::test]
async fn pings_are_answered_whatever_they_carry() {
    let (_client, fake) = connected().await;
    for params in [json!({}), json!({ "x": 1, "_meta": { "progressToken": 1 } })] {
        assert_eq!(fake.ask("ping", params).await["result"], json!({}));
    }
}

// proves: PING-03, PING-04, PING-05
#[tokio::test]
async fn a_server_that_does_not_answer_pings_is_given_up() {
    let oddities = Seen::new();
    let seen = oddities.clone();
    let builder = builder().keep_alive(KeepAlive::new(50 * MS)).on_diagnostic(move |odd| {
        if let Diagnostic::PingFailed { failures } = odd {
            seen.push(*failures);
        }
    });
    let (client, fake) = connected_with(builder, everything()).await;
    let ping = fake.expect("ping").await;
    fake.reply(&ping, json!({})).await;
    fake.expect("ping").await;
    assert!(matches!(soon(client.closed()).await, CloseReason::Unresponsive));
    assert_eq!(oddities.all(), [1]);
}

// proves: PING-03
#[tokio::test]
async fn an_unanswered_ping_times_out() {
    let (client, fake) = connected().await;
    let pending = client.ping().timeout(50 * MS).send().expect("sent");
    fake.expect("ping").await;
    assert_eq!(soon(pending).await.expect_err("mute").kind(), ErrorKind::Timeout);
}
