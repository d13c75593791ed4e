//! JRPC: answers to own requests.

use super::*;
use crate::protocol::ProgressToken;

/// The outcome of an own request after the peer answered with `members`.
fn outcome_of(members: &Value) -> Result<Value, Error> {
    let mut client = Session::client();
    let key = client.ask("tools/list");
    let mut answer = json!({ "jsonrpc": "2.0", "id": key.get() });
    answer.as_object_mut().expect("an object").extend(object(members.clone()));
    client.send(answer);
    // A diagnostic may come before.
    let outcome = match client.events().pop() {
        Some(Event::Settled { request, outcome }) if request == key => outcome,
        other => panic!("{other:?}"),
    };
    let outcome = outcome.map(|result| serde_json::from_slice(&result).expect("a result is JSON"));
    assert_eq!(client.engine.requests_pending(), 0);
    // The next one works.
    let key = client.ask("tools/list");
    client.send(result(key.get(), json!({ "next": true })));
    assert_eq!(client.settled(key).expect("answered"), json!({ "next": true }));
    outcome
}

// proves: JRPC-08, JRPC-11
#[test]
fn jrpc_08_a_faulty_answer_fails_its_call_and_no_other() {
    for members in [
        json!({ "result": {}, "error": { "code": 1, "message": "m" } }),
        json!({ "result": null }),
        json!({ "result": [] }),
        json!({ "result": "x" }),
        json!({ "error": {} }),
        json!({ "error": "x" }),
        json!({ "error": { "code": "1", "message": "m" } }),
        json!({ "error": { "code": 1.5, "message": "m" } }),
        json!({ "error": { "code": 1 } }),
        json!({}),
        json!({ "jsonrpc": "1.0", "result": {} }),
    ] {
        assert_eq!(kind(outcome_of(&members)), ErrorKind::InvalidResponse, "{members}");
    }
    // What some libraries write for "no error".
    assert_eq!(outcome_of(&json!({ "result": { "a": 1 }, "error": null })).expect("usable"), json!({ "a": 1 }));
}

// proves: JRPC-09, JRPC-27, SCH-03
#[test]
fn jrpc_27_errors_arrive_as_they_were_sent() {
    for data in [json!({ "k": 1 }), json!([1, null]), json!("x"), Value::Null, json!(false)] {
        let error = outcome_of(&json!({ "error": { "code": -31999, "message": "m", "data": data } }))
            .expect_err("the peer answered with an error");
        assert_eq!((error.kind(), error.code(), error.message()), (ErrorKind::Rpc, Some(-31999), "m"));
        assert_eq!(error.data().expect("kept").to_value().expect("a tree"), data);
    }
    let error = outcome_of(&json!({ "error": { "code": -32601, "message": "" } })).expect_err("an error");
    assert_eq!((error.kind(), error.code()), (ErrorKind::MethodNotFound, Some(-32601)));
    assert!(error.data().is_none());
}

// proves: JRPC-23, CANC-05
#[test]
fn jrpc_23_answers_to_nothing_are_reported_and_dropped() {
    let mut client = Session::client();
    let key = client.ask("tools/list");
    client.send(result(999, json!({})));
    assert!(matches!(client.event(), Event::Diagnostic(Diagnostic::UnknownResponse(_))));
    client.send(json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32603, "message": "x" } }));
    match client.event() {
        Event::Diagnostic(Diagnostic::ConnectionError(error)) => assert_eq!(error.code(), Some(-32603)),
        other => panic!("{other:?}"),
    }
    for id in [json!(-1), json!(0), json!(key.get().to_string()), json!(1.5), json!(u64::MAX)] {
        client.send(json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
        assert!(matches!(client.event(), Event::Diagnostic(_)));
    }
    client.send(result(key.get(), json!({})));
    assert_eq!(client.settled(key).expect("answered"), json!({}));
    // Twice is once.
    client.send(result(key.get(), json!({})));
    assert!(matches!(client.event(), Event::Diagnostic(Diagnostic::LateResponse(_))));
}

// proves: SCH-13
#[test]
fn sch_13_results_are_handed_on_as_they_were_written() {
    let mut client = Session::client();
    let key = client.ask("tools/list");
    let body = r#"{"a":9007199254740993, "b":1.0,"c":null}"#;
    client.send_text(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{body}}}"#, key.get()));
    assert!(matches!(client.event(), Event::Settled { outcome: Ok(text), .. } if text == body));
}

// proves: PROG-01, PROG-02
#[test]
fn prog_02_each_request_that_wants_progress_has_its_own_token() {
    let mut client = Session::client();
    for _ in 0..100 {
        let mut request = outgoing("tools/call");
        request.progress = true;
        client.try_ask(request).expect("declared");
    }
    let mut tokens: Vec<_> =
        client.sent().iter().filter_map(|message| message["params"]["_meta"]["progressToken"].as_u64()).collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 100);
}

#[test]
fn meta_is_spliced_into_the_params_once() {
    let sent = |params: Option<Value>, meta: Option<Value>, progress| {
        let mut client = Session::client();
        let mut request = outgoing("tools/call");
        (request.params, request.meta) = (params.as_ref().map(json_text), meta.as_ref().map(json_text));
        request.progress = progress;
        client.try_ask(request).expect("declared");
        let mut frame = Vec::new();
        client.engine.poll_transmit(&mut frame).expect("sent");
        let text = String::from_utf8(frame).expect("UTF-8");
        assert!(text.matches("_meta").count() <= 1 && text.matches("progressToken").count() <= 1, "{text}");
        serde_json::from_str::<Value>(&text).expect("JSON")["params"].clone()
    };
    let token = json!(2);
    assert_eq!(sent(None, None, false), Value::Null);
    assert_eq!(sent(None, None, true), json!({ "_meta": { "progressToken": token } }));
    assert_eq!(sent(Some(json!({})), Some(json!({})), false), json!({ "_meta": {} }));
    assert_eq!(
        sent(
            Some(json!({ "name": "x", "arguments": { "big": u64::MAX } })),
            Some(json!({ "traceparent": "00" })),
            true
        ),
        json!({ "name": "x", "arguments": { "big": u64::MAX }, "_meta": { "traceparent": "00", "progressToken": token } })
    );
    // The application's own `_meta` and token give way to what the session needs.
    assert_eq!(
        sent(Some(json!({ "_meta": { "a": 1, "b": 1 } })), Some(json!({ "b": 2, "progressToken": 77 })), true),
        json!({ "_meta": { "a": 1, "b": 2, "progressToken": token } })
    );
    assert_eq!(ProgressToken::from(2_u64), RequestId::from(2_u64));
}
