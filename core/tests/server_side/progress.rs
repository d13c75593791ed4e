//! Progress and cancellation as a handler sees them (PROG, CANC).

use std::sync::Arc;
use std::sync::Mutex;

use mcp_native::Server;
use mcp_native::protocol::Prompt;
use mcp_native::server::{NoArguments, RequestContext, tool};
use serde_json::{Value, json};

use crate::common::{Door, OnDrop, Peer, Seen, builder, error_of, unrecorded};

/// A server with a tool `t` that reports as `report` does, and returns what it returns.
fn reporting(
    builder: mcp_native::server::ServerBuilder,
    report: impl Fn(&RequestContext) + Send + Sync + 'static,
) -> Server {
    let server = builder.build();
    let t = tool("t").handler(move |_: NoArguments, context: RequestContext| {
        report(&context);
        async { Ok("done") }
    });
    server.tool(t).expect("new");
    server
}

/// The parameters of the progress notifications that come before the answer.
async fn progress_of(peer: &Peer, meta: Value) -> Vec<Value> {
    let id = peer.request("tools/call", json!({ "name": "t", "_meta": meta })).await;
    let mut reports = Vec::new();
    loop {
        let message = peer.next().await.expect("connected");
        if message["id"] == id {
            assert_eq!(message["result"]["content"][0]["text"], "done");
            return reports;
        }
        assert_eq!(message["method"], "notifications/progress");
        reports.push(message["params"].clone());
    }
}

// proves: PROG-05, PROG-06, PROG-11, PROG-12, PROG-14, PROG-04, FC-054
#[tokio::test]
async fn prog_05_values_rise_and_tokens_come_back_as_they_were() {
    let server = reporting(builder(), |context| {
        for value in [1.0, 2.0, 2.0, 1.0, f64::NAN, f64::INFINITY, 3.5] {
            context.progress(value, None);
        }
        context.progress(4.0, Some(10.0));
    });
    let peer = Peer::ready(&server).await;
    for token in [json!("1"), json!(0), json!(7), json!("")] {
        let reports = progress_of(&peer, json!({ "progressToken": token })).await;
        let values: Vec<_> = reports.iter().map(|report| report["progress"].as_f64().expect("a number")).collect();
        assert_eq!(values, [1.0, 2.0, 3.5, 4.0]);
        assert!(reports.iter().all(|report| report["progressToken"] == token));
        assert_eq!((reports[0].get("total"), &reports[3]["total"]), (None, &json!(10.0)));
    }
    assert_eq!(progress_of(&peer, json!({})).await, [] as [Value; 0]);
    let silent = Peer::ready(&reporting(builder(), |_| {})).await;
    assert_eq!(progress_of(&silent, json!({ "progressToken": 1 })).await, [] as [Value; 0]);
}

// proves: PROG-13
#[tokio::test]
async fn prog_13_texts_are_for_later_revisions() {
    let server = reporting(builder(), |context| assert!(context.progress_with_message(1.0, None, "half")));
    let peer = Peer::ready(&server).await;
    let reports = progress_of(&peer, json!({ "progressToken": "t" })).await;
    assert_eq!(reports, [json!({ "progressToken": "t", "progress": 1.0 })]);
}

// proves: PROG-01, SCH-04
#[tokio::test]
async fn prog_01_tokens_that_are_none_are_refused() {
    let peer = Peer::ready(&reporting(builder(), |_| {})).await;
    for token in [json!(1.5), json!(true), json!(null), json!([])] {
        let params = json!({ "name": "t", "_meta": { "progressToken": token } });
        assert_eq!(peer.error("tools/call", params).await.0, -32602, "{token}");
    }
    assert_eq!(peer.error("tools/call", json!({ "name": "t", "_meta": 5 })).await.0, -32602);
}

// proves: PROG-03
#[tokio::test]
async fn prog_03_every_request_may_ask_for_progress() {
    let server = builder().visibility(|context, _| context.progress(1.0, None)).build();
    server
        .prompt(Prompt::new("p"), |_, context| async move {
            context.progress(2.0, None);
            Ok(String::new())
        })
        .expect("new");
    let peer = Peer::ready(&server).await;
    let meta = json!({ "progressToken": "t" });
    peer.request("prompts/list", json!({ "_meta": meta })).await;
    assert_eq!(peer.expect("notifications/progress").await["params"]["progress"], 1.0);
    peer.next().await;
    let params = json!({ "name": "p", "_meta": meta });
    let id = peer.request("prompts/get", params).await;
    for value in [1.0, 2.0] {
        assert_eq!(peer.expect("notifications/progress").await["params"]["progress"], value);
    }
    peer.response(id).await;
}

// proves: PROG-07, PROG-08
#[tokio::test]
async fn prog_07_nothing_is_reported_once_a_call_is_over() {
    let kept: Arc<Mutex<Option<RequestContext>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let server = reporting(builder(), move |context| *keep.lock().expect("no panic") = Some(context.clone()));
    let peer = Peer::ready(&server).await;
    assert_eq!(progress_of(&peer, json!({ "progressToken": 1 })).await, [] as [Value; 0]);
    let context = kept.lock().expect("no panic").take().expect("kept");
    assert!(!context.progress(1.0, None));
    peer.quiet().await;
}

// proves: PROG-08, CANC-03
#[tokio::test]
async fn prog_08_no_report_follows_the_answer_or_a_cancel() {
    let server = unrecorded().build();
    let reporting = tool("t").handler(|_: NoArguments, context: RequestContext| async move {
        let busy = context.clone();
        // Reports as fast as it can, from another thread, until nobody wants to hear it.
        std::thread::spawn(move || {
            let mut value = 0.0;
            while {
                value += 1.0;
                busy.progress(value, None)
            } {}
        });
        if context.meta().contains_key("wait") {
            context.cancelled().await;
        }
        tokio::task::yield_now().await;
        Ok("done")
    });
    server.tool(reporting).expect("new");
    let peer = Peer::ready(&server).await;
    for round in 0..50 {
        let wait = round % 2 == 1;
        let meta = if wait { json!({ "progressToken": round, "wait": 1 }) } else { json!({ "progressToken": round }) };
        let id = peer.request("tools/call", json!({ "name": "t", "_meta": meta })).await;
        if wait {
            while peer.next().await.expect("connected")["method"] != "notifications/progress" {}
            peer.cancel(id).await;
            // What was sent before the cancel arrived may still come; after the ping's answer nothing does.
            peer.until_ping().await;
        } else {
            while peer.next().await.expect("connected")["id"] != id {}
        }
        peer.quiet().await;
    }
}

// proves: PROG-10
#[tokio::test]
async fn prog_10_a_flood_is_merged_and_the_highest_value_arrives() {
    let server = reporting(unrecorded(), |context| {
        for value in 1..=100_000 {
            context.progress(f64::from(value), Some(100_000.0));
        }
    });
    let peer = Peer::ready(&server).await;
    let begun = std::time::Instant::now();
    let reports = progress_of(&peer, json!({ "progressToken": 1 })).await;
    let seconds = usize::try_from(begun.elapsed().as_secs()).expect("short") + 1;
    assert!(reports.len() <= 101 * (seconds + 1), "{} reports in {seconds} s", reports.len());
    assert_eq!(reports.last().expect("one")["progress"], 100_000.0);
}

/// A server with a tool `sleep` that says when it runs, was told to stop, and was let go of.
fn sleeping(stubborn: bool) -> (Server, Seen<&'static str>, Door) {
    let (seen, dropped) = (Seen::default(), Door::default());
    let server = builder().build();
    let (told, gone) = (seen.clone(), dropped.clone());
    let sleep = tool("sleep").handler(move |_: NoArguments, context: RequestContext| {
        let (told, held) = (told.clone(), OnDrop(gone.clone()));
        async move {
            let _held = held;
            told.push("runs");
            if stubborn {
                std::future::pending::<()>().await;
            }
            context.cancelled().await;
            told.push("told");
            Ok("never heard")
        }
    });
    server.tool(sleep).expect("new");
    (server, seen, dropped)
}

// proves: CANC-03, CANC-08, FC-053
#[tokio::test]
async fn canc_03_a_cancelled_call_stops_and_is_not_answered() {
    let (server, seen, dropped) = sleeping(false);
    let peer = Peer::ready(&server).await;
    let id = peer.begin("sleep", json!({})).await;
    seen.wait(1).await;
    peer.cancel(id).await;
    assert_eq!(seen.wait(2).await, ["runs", "told"]);
    dropped.opened().await;
    peer.quiet().await;
}

// proves: CANC-03
#[tokio::test]
async fn a_handler_that_never_ends_is_dropped_a_while_after_the_cancel() {
    let (server, seen, dropped) = sleeping(true);
    let peer = Peer::ready(&server).await;
    let id = peer.begin("sleep", json!({})).await;
    seen.wait(1).await;
    assert!(!dropped.is_open());
    peer.cancel(id).await;
    dropped.opened().await;
    peer.quiet().await;
}

// proves: CANC-04, CANC-07, CANC-11
#[tokio::test]
async fn canc_07_odd_cancels_change_nothing() {
    let (server, seen, _) = sleeping(false);
    let peer = Peer::ready(&server).await;
    peer.send(crate::common::request(5, "tools/call", json!({ "name": "sleep" }))).await;
    seen.wait(1).await;
    for params in [
        json!({}),
        json!({ "requestId": null }),
        json!({ "requestId": "5" }),
        json!({ "requestId": 12345 }),
        json!({ "requestId": "init" }),
        json!({ "requestId": [5] }),
        json!([]),
        Value::Null,
    ] {
        peer.notify("notifications/cancelled", params).await;
    }
    peer.quiet().await;
    assert_eq!(seen.all(), ["runs"]);
    peer.notify("notifications/cancelled", json!({ "requestId": 5, "reason": "abc" })).await;
    seen.wait(2).await;
    peer.quiet().await;
}

// proves: CANC-06
#[tokio::test]
async fn canc_06_calls_and_cancels_may_cross() {
    let runs = Seen::default();
    let server = unrecorded().build();
    let count = runs.clone();
    let quick = tool("quick").handler(move |_: NoArguments, _| {
        let count = count.clone();
        async move {
            tokio::task::yield_now().await;
            count.push(());
            Ok("done")
        }
    });
    server.tool(quick).expect("new");
    let peer = Peer::ready(&server).await;
    let (mut answers, mut asked) = (0, Vec::new());
    for _ in 0..1000 {
        let id = peer.begin("quick", json!({})).await;
        peer.cancel(id).await;
        asked.push(id);
        for message in peer.until_ping().await {
            // Whatever is answered is answered once, and with the right id.
            assert_eq!(message["id"], id, "{message}");
            answers += 1;
        }
    }
    assert!(answers <= 1000);
    // Nothing is left of them: every id can be used again.
    for id in asked {
        peer.send(crate::common::request(id, "ping", Value::Null)).await;
        let answer = peer.next().await.expect("connected");
        assert!(answer.get("error").is_none(), "{:?}", error_of(&answer));
    }
}
