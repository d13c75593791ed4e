//! PROG: both directions.

use super::*;

fn progress(token: impl Into<Value>, progress: f64) -> Value {
    notification("notifications/progress", json!({ "progressToken": token.into(), "progress": progress }))
}

/// A call with this token on a server.
fn reporting(token: &Value) -> (Session, CallId) {
    let mut server = Session::server();
    let call = server.call(1, json!({ "_meta": { "progressToken": token } }));
    (server, call)
}

impl Session {
    fn report(&mut self, call: CallId, progress: f64) -> bool {
        self.engine.progress(call, progress, None, None, self.now)
    }

    fn reported(&mut self) -> Vec<f64> {
        self.sent().iter().filter_map(|message| message["params"]["progress"].as_f64()).collect()
    }
}

// proves: PROG-05
#[test]
fn prog_05_only_rising_numbers_are_sent() {
    let (mut server, call) = reporting(&json!("t"));
    let sent: Vec<_> =
        [1.0, 2.0, 2.0, 1.0, f64::NAN, f64::INFINITY, 3.0].map(|value| server.report(call, value)).into();
    assert_eq!(sent, [true, true, false, false, false, false, true]);
    assert_eq!(server.reported(), [1.0, 2.0, 3.0]);
}

// proves: PROG-06, PROG-11, PROG-13, PROG-14
#[test]
fn prog_11_a_report_has_the_token_as_it_came() {
    for token in [json!("1"), json!(1), json!(""), json!(u64::MAX)] {
        let (mut server, call) = reporting(&token);
        // `message` came with the next revision.
        assert!(server.engine.progress(call, 0.2, Some(1.0), Some("half way"), server.now));
        assert!(server.engine.progress(call, 0.3, Some(f64::NAN), None, server.now));
        let with_total = json!({ "progressToken": token, "progress": 0.2, "total": 1.0 });
        assert_eq!(server.sent(), [notification("notifications/progress", with_total), progress(token, 0.3)]);
    }
}

// proves: PROG-07, PROG-08, PROG-12
#[test]
fn prog_08_nothing_is_reported_of_what_is_over() {
    let mut server = Session::server();
    let without_token = server.call(0, json!({ "name": "x" }));
    assert!(!server.report(without_token, 1.0));
    let (mut server, call) = reporting(&json!(1));
    server.answer(call, "{}");
    assert!(!server.report(call, 1.0));
    assert_eq!(server.sent(), [result(1, json!({}))]);
    let (mut server, call) = reporting(&json!(1));
    server.send(cancelled(1));
    assert!(!server.report(call, 1.0));
    assert_eq!(server.sent(), [] as [Value; 0]);
}

// proves: PROG-10
#[test]
fn prog_10_floods_are_merged_and_the_highest_value_arrives() {
    let (mut server, call) = reporting(&json!(1));
    for value in 1..=100_000 {
        assert!(server.report(call, f64::from(value)));
    }
    assert_eq!(server.reported().len(), 100);
    server.wait(ms(999));
    assert_eq!(server.reported(), [] as [f64; 0]);
    server.wait(ms(1));
    assert_eq!(server.reported(), [100_000.0]);
    // What is merged does not come after the answer.
    for value in 100_001..=100_200 {
        server.report(call, f64::from(value));
    }
    server.answer(call, "{}");
    let sent = server.sent();
    assert_eq!(sent.len(), 101, "99 at once, the last one, the answer");
    assert_eq!(sent[99], progress(1, 100_200.0));
    assert_eq!(sent[100], result(1, json!({})));
    server.wait(ms(5000));
    assert_eq!(server.sent(), [] as [Value; 0]);
}

// proves: PROG-10, PROG-08
#[test]
fn prog_10_what_is_merged_dies_with_a_cancelled_call() {
    let (mut server, call) = reporting(&json!(1));
    for value in 1..=101 {
        server.report(call, f64::from(value));
    }
    server.sent();
    server.send(cancelled(1));
    server.wait(ms(2000));
    server.answer(call, "{}");
    assert_eq!(server.sent(), [] as [Value; 0]);
}

// proves: PROG-03, PING-06
#[test]
fn prog_03_a_token_is_accepted_on_every_request_of_either_direction() {
    let token = json!({ "x": 1, "_meta": { "progressToken": "p" } });
    let mut server = Session::server();
    for method in ["tools/call", "resources/list", "prompts/get", "logging/setLevel", "completion/complete"] {
        server.send(request(1, method, token.clone()));
        let Event::Request { call, .. } = server.event() else { panic!() };
        assert!(server.report(call, 1.0), "{method}");
        server.answer(call, "{}");
        assert_eq!(server.sent()[0], progress("p", 1.0));
    }
    let mut client = Session::client();
    for method in ["sampling/createMessage", "roots/list"] {
        client.send(request(1, method, token.clone()));
        let Event::Request { call, .. } = client.event() else { panic!() };
        assert!(client.report(call, 1.0), "{method}");
        client.answer(call, "{}");
        client.sent();
    }
    for session in [&mut server, &mut client] {
        session.send(request(9, "ping", token.clone()));
        assert_eq!(session.sent(), [result(9, json!({}))]);
    }
}

// proves: PROG-04, PROG-09, PROG-14
#[test]
fn prog_09_only_running_requests_have_progress() {
    let mut client = Session::client();
    let mut wanted = outgoing("tools/call");
    wanted.progress = true;
    let wanted = client.try_ask(wanted).expect("declared");
    let unwanted = client.ask("tools/call");
    client.sent();
    // Totals may change, and progress may pass them.
    for (value, total) in [(1.0, 10.0), (2.5, 20.0), (30.0, 20.0)] {
        let params = json!({ "progressToken": wanted.get(), "progress": value, "total": total, "message": "m" });
        client.send(notification("notifications/progress", params.clone()));
        match client.event() {
            Event::Progress { request, params: received } => {
                assert_eq!(request, wanted);
                assert_eq!(serde_json::from_slice::<Value>(&received).expect("JSON"), params);
            }
            other => panic!("{other:?}"),
        }
    }
    for token in [json!("zz"), json!(unwanted.get()), json!(wanted.get().to_string()), json!(0), json!(-1), json!(99)] {
        client.send(progress(token, 1.0));
        assert!(matches!(client.event(), Event::Diagnostic(Diagnostic::Dropped { method: Method::Progress, .. })));
    }
    client.send(notification("notifications/progress", Value::Null));
    client.send(result(wanted.get(), json!({})));
    client.events();
    client.send(progress(wanted.get(), 99.0));
    assert!(matches!(client.event(), Event::Diagnostic(_)));
    client.assert_silent_and_alive();
}
