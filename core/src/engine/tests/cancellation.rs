//! CANC: both directions.

use super::*;

// proves: CANC-03, CANC-08
#[test]
fn canc_03_a_cancelled_call_is_told_and_not_answered() {
    let mut server = Session::server();
    let call = server.call(5, Value::Null);
    server.send(notification("notifications/cancelled", json!({ "requestId": 5, "reason": "abc" })));
    match server.event() {
        Event::Cancelled { call: which, reason } => {
            assert_eq!((which, reason.as_deref()), (call, Some("abc")));
        }
        other => panic!("{other:?}"),
    }
    // The handler still runs until it says so.
    assert_eq!(server.engine.calls_in_flight(), 1);
    assert_eq!(server.answer(call, "{}"), Completion::Stale);
    assert_eq!(server.engine.calls_in_flight(), 0);
    server.assert_silent_and_alive();
}

// proves: CANC-03, JRPC-05
#[test]
fn canc_03_the_id_is_free_at_once() {
    let mut server = Session::server();
    let first = server.call(5, Value::Null);
    server.send(cancelled(5));
    server.events();
    let second = server.call(5, Value::Null);
    assert_eq!(server.answer(first, r#"{"wrong":1}"#), Completion::Stale);
    assert_eq!(server.answer(second, r#"{"right":1}"#), Completion::Accepted);
    assert_eq!(server.sent(), [result(5, json!({ "right": 1 }))]);
}

// proves: CANC-04, CANC-07, CANC-11
#[test]
fn canc_07_cancels_of_nothing_are_dropped() {
    let mut server = Session::server();
    let call = server.call(5, Value::Null);
    let own = server.ask("roots/list");
    server.sent();
    for params in [
        json!({ "requestId": "5" }),
        json!({ "requestId": 12345 }),
        json!({ "requestId": "init" }),
        json!({ "requestId": own.get() }),
        json!({ "requestId": null }),
        json!({ "requestId": 5.5 }),
        json!({ "reason": "x" }),
        json!({}),
        Value::Null,
    ] {
        server.send(notification("notifications/cancelled", params));
    }
    assert!(!server.events().iter().any(|event| matches!(event, Event::Cancelled { .. })));
    assert_eq!(server.engine.requests_pending(), 1);
    assert_eq!(server.answer(call, "{}"), Completion::Accepted);
    server.send(cancelled(5));
    server.send(cancelled(5));
    assert!(server.events().is_empty());
    server.sent();
    server.assert_silent_and_alive();
}

// proves: CANC-09
#[test]
fn canc_09_a_reason_of_another_type_does_not_keep_a_call_alive() {
    let mut server = Session::server();
    server.call(5, Value::Null);
    server.send(notification("notifications/cancelled", json!({ "requestId": 5, "reason": { "x": 1 } })));
    assert!(matches!(server.event(), Event::Cancelled { reason: None, .. }));
}

// proves: CANC-01, CANC-09, CANC-10
#[test]
fn canc_10_an_own_request_is_given_up_at_once() {
    let mut client = Session::client();
    let (one, two) = (client.ask("tools/list"), client.ask("tools/list"));
    client.sent();
    assert!(client.engine.cancel(one, None));
    assert!(client.engine.cancel(two, Some("too slow")));
    assert_eq!(client.engine.requests_pending(), 0);
    assert!(client.events().is_empty());
    let with_reason = json!({ "requestId": two.get(), "reason": "too slow" });
    assert_eq!(client.sent(), [cancelled(one.get()), notification("notifications/cancelled", with_reason)]);
    assert!(!client.engine.cancel(one, None), "once is enough");
    assert_eq!(client.sent(), [] as [Value; 0]);
}

// proves: CANC-01
#[test]
fn canc_01_a_request_that_was_answered_is_not_cancelled() {
    let mut client = Session::client();
    let key = client.ask("tools/list");
    client.send(result(key.get(), json!({})));
    client.sent();
    assert!(!client.engine.cancel(key, None));
    assert_eq!(client.sent(), [] as [Value; 0]);
}

// proves: CANC-01, LIFE-05
#[test]
fn canc_01_a_request_that_was_never_sent_is_not_cancelled_on_the_wire() {
    let mut client = Session::new_client();
    client.sent();
    let key = client.ask("tools/list");
    let mut short = outgoing("prompts/list");
    short.time.limit = Some(ms(10));
    let short = client.try_ask(short).expect("held back");
    assert!(client.engine.cancel(key, None));
    client.wait(ms(10));
    assert_eq!(kind(client.settled(short)), ErrorKind::Timeout);
    client.send(result(1, server_hello("2024-11-05", &everything(Role::Server))));
    assert_eq!(client.sent(), [notification("notifications/initialized", Value::Null)]);
    assert_eq!(client.engine.requests_pending(), 0);
}

// proves: CANC-05
#[test]
fn canc_05_a_late_answer_is_expected() {
    let mut client = Session::client();
    let key = client.ask("tools/list");
    client.engine.cancel(key, None);
    for late in [result(key.get(), json!({})), json!({ "jsonrpc": "2.0", "id": key.get(), "error": 7 })] {
        client.send(late);
        assert!(matches!(client.event(), Event::Diagnostic(Diagnostic::LateResponse(_))));
    }
}

// proves: CANC-06
#[test]
fn canc_06_crossing_cancels_end_every_call_once() {
    let mut server = Session::server();
    for id in 0..1000 {
        let call = server.call(id, Value::Null);
        // Sometimes the answer is on its way before the cancel comes, sometimes after.
        if id % 2 == 0 {
            assert_eq!(server.answer(call, "{}"), Completion::Accepted);
            server.send(cancelled(id));
            assert!(server.events().is_empty());
        } else {
            server.send(cancelled(id));
            assert!(matches!(server.event(), Event::Cancelled { .. }));
            assert_eq!(server.answer(call, "{}"), Completion::Stale);
        }
    }
    assert_eq!(server.sent().len(), 500);
    assert_eq!(server.engine.calls_in_flight(), 0);

    let mut client = Session::client();
    for _ in 0..1000 {
        let key = client.ask("tools/list");
        client.engine.cancel(key, None);
        client.send(result(key.get(), json!({})));
    }
    assert_eq!(client.engine.requests_pending(), 0);
    assert!(client.events().iter().all(|event| matches!(event, Event::Diagnostic(Diagnostic::LateResponse(_)))));
}
