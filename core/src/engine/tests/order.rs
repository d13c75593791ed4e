//! JRPC: many requests at once, in both directions.

use super::*;

fn request_of(event: Event) -> (CallId, RequestId) {
    match event {
        Event::Request { call, id, .. } => (call, id),
        other => panic!("{other:?}"),
    }
}

// proves: JRPC-24
#[test]
fn jrpc_24_a_slow_call_does_not_hold_up_a_fast_one() {
    let mut server = Session::server();
    let slow = server.call(1, json!({ "name": "slow" }));
    let fast = server.call(2, json!({ "name": "fast" }));
    server.answer(fast, r#"{"fast":1}"#);
    server.answer(slow, r#"{"slow":1}"#);
    assert_eq!(server.sent(), [result(2, json!({ "fast": 1 })), result(1, json!({ "slow": 1 }))]);
}

// proves: JRPC-24, JRPC-04
#[test]
fn jrpc_24_answers_find_their_requests_in_any_order() {
    let mut client = Session::client();
    let keys: Vec<_> = (0..100).map(|_| client.ask("tools/list")).collect();
    let mut ids: Vec<_> = client.sent().iter().filter_map(|message| message["id"].as_u64()).collect();
    assert_eq!(ids, keys.iter().map(|key| key.get()).collect::<Vec<_>>());
    ids.dedup();
    assert_eq!(ids.len(), 100, "never the same twice");
    for key in keys.into_iter().rev() {
        client.send(result(key.get(), json!({ "of": key.get() })));
        assert_eq!(client.settled(key).expect("answered")["of"], key.get());
    }
    assert_eq!(client.engine.requests_pending(), 0);
}

// proves: JRPC-05
#[test]
fn jrpc_05_an_id_in_use_is_refused_and_a_finished_one_is_not() {
    let mut server = Session::server();
    let call = server.call(7, Value::Null);
    for method in ["ping", "tools/call", "initialize"] {
        server.send(request(7, method, Value::Null));
        assert_eq!(server.refused(7), -32600, "{method}");
    }
    assert!(server.events().is_empty());
    server.answer(call, r#"{"first":1}"#);
    assert_eq!(server.sent(), [result(7, json!({ "first": 1 }))]);
    let again = server.call(7, Value::Null);
    assert_ne!(again, call);
    assert_eq!(server.answer(call, "{}"), Completion::Stale);
    assert_eq!(server.answer(again, "{}"), Completion::Accepted);
}

// proves: JRPC-07
#[test]
fn jrpc_07_one_and_the_string_one_are_two_ids_and_each_side_has_its_own() {
    let mut server = Session::server();
    let integer = server.call(1, Value::Null);
    let string = server.call("1", Value::Null);
    let own = server.ask("roots/list");
    assert_eq!(own.get(), 1);
    server.sent();
    // The server asked with the integer.
    server.send(result("1", json!({ "roots": [] })));
    assert!(matches!(server.event(), Event::Diagnostic(Diagnostic::UnknownResponse(_))));
    server.send(result(1, json!({ "roots": [] })));
    assert_eq!(server.settled(own).expect("answered"), json!({ "roots": [] }));
    server.answer(string, r#"{"s":1}"#);
    server.answer(integer, r#"{"i":1}"#);
    assert_eq!(server.sent(), [result("1", json!({ "s": 1 })), result(1, json!({ "i": 1 }))]);
}

// proves: JRPC-25, SAMP-13
#[test]
fn jrpc_25_a_handler_can_wait_for_its_own_request() {
    let mut server = Session::server();
    let call = server.call(5, json!({ "name": "samples" }));
    let mut sampling = outgoing("sampling/createMessage");
    sampling.related = Some(call);
    let key = server.try_ask(sampling).expect("declared");
    // What arises while a call is served says so, for transports with a stream per request.
    let [(asked, related)] = &server.transmits()[..] else { panic!() };
    assert_eq!((&asked["method"], related), (&json!("sampling/createMessage"), &Some(RequestId::from(5_u64))));
    server.send(result(key.get(), json!({ "model": "m" })));
    assert_eq!(server.settled(key).expect("answered")["model"], "m");
    server.answer(call, "{}");
    assert_eq!(server.transmits(), [(result(5, json!({})), Some(RequestId::from(5_u64)))]);
}

#[test]
fn messages_of_a_call_belong_to_it_until_it_ends() {
    let mut server = Session::server();
    let call = server.call("c", json!({ "_meta": { "progressToken": 1 } }));
    server.engine.progress(call, 1.0, None, None, server.now);
    let method = Method::LogMessage;
    let log = json_text(&json!({ "level": "info", "data": 1 }));
    server.engine.notify(&method, Some(&log), Some(call)).expect("declared");
    server.engine.notify(&method, Some(&log), None).expect("declared");
    let related: Vec<_> = server.transmits().into_iter().map(|(_, related)| related).collect();
    assert_eq!(related, [Some(RequestId::from("c")), Some(RequestId::from("c")), None]);
    server.send(cancelled("c"));
    server.engine.notify(&method, Some(&log), Some(call)).expect("declared");
    server.answer(call, "{}");
    server.engine.notify(&method, Some(&log), Some(call)).expect("declared");
    assert!(server.transmits().iter().all(|(_, related)| related.is_none()));
}

// proves: JRPC-28, CANC-03
#[test]
fn jrpc_28_a_completion_that_comes_too_late_is_stale() {
    let mut server = Session::server();
    let call = server.call(1, Value::Null);
    assert_eq!(server.answer(call, "{}"), Completion::Accepted);
    assert_eq!(server.answer(call, "{}"), Completion::Stale);
    // The slot is used again, the name is not.
    let next = server.call(2, Value::Null);
    assert_eq!(next.index(), call.index());
    assert_eq!(server.answer(call, "{}"), Completion::Stale);
    server.engine.close(CloseReason::Local);
    assert_eq!(server.answer(next, "{}"), Completion::Stale);
    assert_eq!(server.sent(), [result(1, json!({}))]);
}

#[test]
fn waiting_events_and_messages_can_be_taken_at_once() {
    let mut server = Session::server();
    for id in 0..3 {
        server.send(request(id, "tools/call", Value::Null));
    }
    let mut events = std::collections::VecDeque::new();
    server.engine.take_events(&mut events);
    server.send(request(3, "tools/call", Value::Null));
    server.engine.take_events(&mut events);
    for (expected, event) in events.into_iter().enumerate() {
        let (call, id) = request_of(event);
        assert_eq!(id, RequestId::from(expected as u64));
        server.answer(call, "{}");
    }
    let mut lines = Vec::new();
    assert!(server.engine.has_transmit());
    assert_eq!(server.engine.poll_transmit_lines(&mut lines), 4);
    assert_eq!(server.engine.poll_transmit_lines(&mut lines), 0);
    assert_eq!(server.engine.unsent_bytes(), lines.len());
    server.engine.transmitted(lines.len(), server.now);
    assert_eq!(server.engine.unsent_bytes(), 0);
    let ids: Vec<_> = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice::<Value>(line).expect("JSON")["id"].clone())
        .collect();
    assert_eq!(ids, [0, 1, 2, 3]);
    // One by one and at once can be mixed.
    server.send(request("a", "ping", Value::Null));
    server.send(request("b", "ping", Value::Null));
    let (mut one, mut rest) = (Vec::new(), b"before\n".to_vec());
    server.engine.poll_transmit(&mut one).expect("two wait");
    assert_eq!(server.engine.poll_transmit_lines(&mut rest), 1);
    assert_eq!(rest, b"before\n{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"result\":{}}\n");
}
