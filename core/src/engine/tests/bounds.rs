//! Bounds on work and memory: JRPC-29 and the table of limits.

use super::*;
use crate::engine::Limits;

fn limited(role: Role, limit: impl FnOnce(&mut Limits)) -> Session {
    let mut config = config(role);
    limit(&mut config.limits);
    if role == Role::Client { Session::client_with(config) } else { Session::server_with(config) }
}

fn calls(events: Vec<Event>) -> Vec<CallId> {
    let call = |event| match event {
        Event::Request { call, .. } => call,
        other => panic!("{other:?}"),
    };
    events.into_iter().map(call).collect()
}

#[test]
fn calls_beyond_the_limit_wait_in_order_and_are_then_refused() {
    let mut server = limited(Role::Server, |limits| (limits.running, limits.waiting) = (2, 3));
    for id in 1..=6 {
        server.send(request(id, "tools/call", json!({ "n": id })));
    }
    assert_eq!(server.refused(6), -32603);
    let running = calls(server.events());
    assert_eq!((running.len(), server.engine.calls_in_flight()), (2, 5));
    // A ping is no work.
    server.assert_silent_and_alive();
    server.answer(running[0], "{}");
    match server.event() {
        Event::Request { id, params: Some(params), .. } => {
            assert_eq!((id, &params[..]), (RequestId::from(3_u64), &br#"{"n":3}"#[..]));
        }
        other => panic!("{other:?}"),
    }
    // Once something waits, nobody overtakes it.
    server.send(request(7, "tools/call", Value::Null));
    assert!(server.events().is_empty());
    server.answer(running[1], "{}");
    assert!(matches!(server.event(), Event::Request { id, .. } if id == RequestId::from(4_u64)));
}

// proves: CANC-03
#[test]
fn a_cancelled_call_that_waits_is_never_started() {
    let mut server = limited(Role::Server, |limits| limits.running = 1);
    for id in 1..=3 {
        server.send(request(id, "tools/call", Value::Null));
    }
    let running = calls(server.events());
    server.send(cancelled(2));
    assert!(server.events().is_empty(), "nobody knows of it");
    server.answer(running[0], "{}");
    assert!(matches!(server.event(), Event::Request { id, .. } if id == RequestId::from(3_u64)));
    assert_eq!(server.sent(), [result(1, json!({}))]);
}

// proves: JRPC-05
#[test]
fn the_id_of_a_call_that_waits_is_in_use() {
    let mut server = limited(Role::Server, |limits| limits.running = 1);
    server.call(1, Value::Null);
    server.send(request(2, "tools/call", Value::Null));
    server.send(request(2, "ping", Value::Null));
    assert_eq!(server.refused(2), -32600);
}

// proves: JRPC-29
#[test]
fn jrpc_29_everything_that_waits_counts_against_the_byte_limit() {
    let long = "x".repeat(600);
    for message in [
        request("b", "tools/call", json!({ "arguments": { "a": long } })),
        request(long.as_str(), "tools/call", Value::Null),
        request("b", "tools/call", json!({ "_meta": { "progressToken": long } })),
        request("b", &long, Value::Null),
    ] {
        let mut server = limited(Role::Server, |limits| (limits.running, limits.waiting_bytes) = (1, 1500));
        let first = server.call("a", Value::Null);
        server.send(&message);
        assert_eq!(server.sent(), [] as [Value; 0], "it fits");
        let another = request("c", "tools/call", json!({ "arguments": { "a": "x".repeat(900) } }));
        server.send(&another);
        assert_eq!(server.refused("c"), -32603, "{message}");
        // What is given up or started makes room.
        server.send(cancelled(message["id"].clone()));
        server.send(&another);
        assert_eq!(server.sent(), [] as [Value; 0], "it fits now");
        server.answer(first, "{}");
        let next = calls(server.events());
        server.send(request("d", "tools/call", json!({ "arguments": { "a": "x".repeat(1400) } })));
        server.answer(next[0], "{}");
        let last = calls(server.events());
        server.answer(last[0], "{}");
        let answered: Vec<_> = server.sent().iter().map(|message| message["id"].clone()).collect();
        assert_eq!(answered, ["a", "c", "d"]);
    }
}

// proves: JRPC-29
#[test]
fn jrpc_29_nesting_is_bounded() {
    let mut server = Session::server();
    let nested = |depth: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"a":{}{}}}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    server.send_text(nested(100_000));
    assert_eq!(server.refused(1), -32600);
    server.events();
    server.send_text(nested(126));
    assert!(matches!(server.event(), Event::Request { .. }));
    let mut client = Session::client();
    let key = client.ask("tools/list");
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    client.send_text(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"a":{deep}}}}}"#, key.get()));
    let outcome = client.events().into_iter().find_map(|event| match event {
        Event::Settled { request, outcome } if request == key => Some(kind(outcome)),
        _ => None,
    });
    assert_eq!(outcome, Some(ErrorKind::InvalidResponse));
}

// proves: JRPC-29
#[test]
fn jrpc_29_an_oversized_message_fails_alone() {
    let long = "x".repeat(2000);
    let mut server = limited(Role::Server, |limits| limits.message_in = 1000);
    for (message, answered) in [
        (format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"a":"{long}"}}}}"#), json!(7)),
        (format!(r#" {{ "id" : "s" , "jsonrpc":"2.0", "params":{{"a":"{long}"}},"method":"tools/call"}}"#), json!("s")),
        (format!(r#"{{"method":"tools/call","params":{{"a":"{long}"}},"jsonrpc":"2.0","id":7}}"#), Value::Null),
        (format!(r#"{{"\u0069d":8,"method":"x","params":{{"a":"{long}"}}}}"#), json!(8)),
        (long.clone(), Value::Null),
    ] {
        server.send_text(&message);
        assert_eq!(server.refused(answered), -32600, "{}", &message[..60]);
        assert!(matches!(server.event(), Event::Diagnostic(Diagnostic::TooLarge { limit: 1000 })));
    }
    // What looks like a response is never answered.
    server.send_text(format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":"{long}"}}}}"#));
    server.assert_silent_and_alive();
}

// proves: JRPC-29, JRPC-20
#[test]
fn jrpc_29_an_oversized_answer_fails_its_call() {
    let long = "x".repeat(2000);
    let mut client = limited(Role::Client, |limits| limits.message_in = 1000);
    let (key, other) = (client.ask("tools/list"), client.ask("tools/list"));
    client.sent();
    client.send_text(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"a":"{long}"}}}}"#, key.get()));
    let events = client.events();
    assert!(
        matches!(&events[..], [Event::Diagnostic(Diagnostic::TooLarge { .. }), Event::Settled { request, outcome: Err(error) }]
            if *request == key && error.kind() == ErrorKind::TooLarge),
        "{events:?}"
    );
    client.send_text(format!(r#"{{"jsonrpc":"2.0","result":{{"a":"{long}"}},"id":{}}}"#, other.get()));
    client.send_text(&long);
    assert_eq!(client.engine.requests_pending(), 1, "what cannot be seen is not guessed");
    assert_eq!(client.sent(), [] as [Value; 0]);
    // Half of an id is no id.
    client.engine.handle_oversized(br#"{"jsonrpc":"2.0","id":3"#);
    assert_eq!(client.engine.requests_pending(), 1);
}

// proves: JRPC-29, LIFE-12
#[test]
fn jrpc_29_an_oversized_answer_to_initialize_ends_the_session() {
    let mut client = Session::new_client();
    client.engine.handle_oversized(br#"{"jsonrpc":"2.0","id":1,"result":{"#);
    assert!(matches!(client.close_reason(), CloseReason::Handshake(error) if error.kind() == ErrorKind::Handshake));
}

#[test]
fn an_answer_that_is_too_long_becomes_an_error() {
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(2000));
    let mut server = limited(Role::Server, |limits| limits.message_out = 1000);
    let call = server.call(1, Value::Null);
    assert_eq!(server.answer(call, &long), Completion::Accepted);
    assert_eq!(server.refused(1), -32603);
    // Detail that is too long is left out.
    let call = server.call(2, Value::Null);
    let error = Error::with_code(7, "m").with_data(Json::parse(long.clone()).expect("JSON"));
    server.engine.respond(call, Err(&error), server.now);
    assert_eq!(server.sent_one()["error"], json!({ "code": 7, "message": "m" }));
    // What the application sends of its own accord is an error of its own.
    let mut client = limited(Role::Client, |limits| limits.message_out = 1000);
    let mut request = outgoing("tools/call");
    request.params = Some(Json::parse(long.clone()).expect("JSON"));
    assert_eq!(kind(client.try_ask(request)), ErrorKind::TooLarge);
    let params = Json::parse(long).expect("JSON");
    let note = client.engine.notify(&Method::Other("notifications/x".into()), Some(&params), None);
    assert_eq!(kind(note), ErrorKind::TooLarge);
    assert_eq!((client.sent().len(), client.engine.requests_pending()), (0, 0));
}

#[test]
fn a_server_that_cannot_describe_itself_says_so() {
    let mut config = config(Role::Server);
    config.limits.message_out = 200;
    config.local.instructions = Some("x".repeat(500));
    let mut server = Session::new(config);
    server.send(client_hello(1, "2024-11-05", &json!({})));
    assert_eq!(server.refused(1), -32603);
    assert!(server.events().is_empty(), "nothing was negotiated");
}

#[test]
fn a_slow_reader_gets_no_further_calls_started() {
    let mut server = limited(Role::Server, |limits| limits.outbound_bytes = 10_000);
    let first = server.call(1, Value::Null);
    let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(6000));
    server.answer(first, &long);
    server.send(request(2, "tools/call", Value::Null));
    assert!(server.events().is_empty(), "more than half is full");
    let mut frame = Vec::new();
    let transmit = server.engine.poll_transmit(&mut frame).expect("an answer");
    // Handed out is not taken.
    assert!(server.events().is_empty());
    server.engine.transmitted(transmit.bytes, server.now);
    assert!(matches!(server.event(), Event::Request { .. }));
}

#[test]
fn a_peer_that_does_not_read_is_left_with_bounded_memory() {
    let mut server = limited(Role::Server, |limits| limits.outbound_bytes = 10_000);
    let call = server.call("c", Value::Null);
    let own = server.ask("roots/list");
    let mut pings = 0;
    while !server.engine.is_closed() {
        server.send(request(pings, "ping", Value::Null));
        pings += 1;
        assert!(pings < 1000);
    }
    let events = server.events();
    assert!(
        matches!(&events[..], [Event::Settled { request, outcome: Err(_) }, Event::Cancelled { call: which, .. },
            Event::Closed(CloseReason::Overflow)] if *request == own && *which == call),
        "{events:?}"
    );
    assert!(!server.engine.has_transmit(), "nobody takes it");
    assert_eq!(server.answer(call, "{}"), Completion::Stale);
    assert!(!server.engine.has_transmit() && server.events().is_empty());
}

/// The end is the last event, whatever fills the outbox.
#[test]
fn nothing_follows_an_overflow() {
    let filled = |server: &mut Session, left: usize| {
        let room = 10_000 - server.engine.unsent_bytes();
        let call = server.call("fill", Value::Null);
        let frame = r#"{"jsonrpc":"2.0","id":"fill","result":{"a":""}}"#.len() + 1;
        server.answer(call, &format!(r#"{{"a":"{}"}}"#, "x".repeat(room - left - frame)));
        assert_eq!(server.engine.unsent_bytes(), 10_000 - left);
    };
    // A merged report before an answer.
    let mut server = limited(Role::Server, |limits| (limits.outbound_bytes, limits.progress_per_second) = (10_000, 0));
    let call = server.call(1, json!({ "_meta": { "progressToken": 1 } }));
    server.engine.progress(call, 1.0, None, None, server.now);
    filled(&mut server, 1);
    assert_eq!(server.answer(call, "{}"), Completion::Stale);
    assert!(matches!(server.close_reason(), CloseReason::Overflow));
    assert!(!server.engine.has_transmit());

    // Merged reports of two calls.
    let mut server = limited(Role::Server, |limits| (limits.outbound_bytes, limits.progress_per_second) = (10_000, 0));
    for id in [1, 2] {
        let call = server.call(id, json!({ "_meta": { "progressToken": id } }));
        server.engine.progress(call, 1.0, None, None, server.now);
    }
    filled(&mut server, 1);
    server.wait(ms(2000));
    assert!(matches!(server.close_reason(), CloseReason::Overflow));
    assert!(!server.engine.has_transmit());

    // The note that a request timed out.
    let mut server = limited(Role::Server, |limits| limits.outbound_bytes = 10_000);
    let own = server.ask("roots/list");
    filled(&mut server, 1);
    server.wait(Duration::from_secs(60));
    let events = server.events();
    assert!(
        matches!(&events[..], [Event::Settled { request, outcome: Err(error) }, Event::Closed(CloseReason::Overflow)]
            if *request == own && error.kind() == ErrorKind::Timeout),
        "{events:?}"
    );

    // What was held back.
    let mut config = config(Role::Server);
    config.limits.outbound_bytes = 500;
    let mut server = Session::new(config);
    server.send(client_hello(1, "2024-11-05", &json!({})));
    server.sent();
    let params = json_text(&json!({ "a": "x".repeat(400) }));
    for name in ["notifications/a", "notifications/b", "notifications/c"] {
        server.engine.notify(&Method::Other(name.into()), Some(&params), None).expect("held back");
    }
    server.send(notification("notifications/initialized", Value::Null));
    assert!(matches!(server.close_reason(), CloseReason::Overflow));

    // The description of the server.
    let mut config = self::config(Role::Server);
    config.limits.outbound_bytes = 10;
    let mut server = Session::new(config);
    server.send(client_hello(1, "2024-11-05", &json!({})));
    assert!(matches!(server.close_reason(), CloseReason::Overflow));
}

/// While a peer reads, but never catches up, what it has read is forgotten.
#[test]
fn what_was_handed_out_does_not_pile_up() {
    let mut server = Session::server();
    let id = "x".repeat(1000);
    let mut frame = Vec::new();
    for round in 0..5000 {
        server.send(request(format!("{id}{round}"), "ping", Value::Null));
        if round > 0 {
            frame.clear();
            let transmit = server.engine.poll_transmit(&mut frame).expect("two wait");
            let answered: Value = serde_json::from_slice(&frame).expect("JSON");
            assert_eq!(answered["id"], format!("{id}{}", round - 1));
            server.engine.transmitted(transmit.bytes, server.now);
        }
    }
    assert!(server.engine.outbox.capacity() < 2 * 1024 * 1024, "{}", server.engine.outbox.capacity());
}

#[test]
fn held_messages_are_bounded() {
    let mut client = Session::new_client();
    let refused = (0..5000).find_map(|_| client.try_ask(outgoing("tools/list")).err()).expect("there is a limit");
    assert_eq!(refused.kind(), ErrorKind::Overloaded);
    assert_eq!(client.sent().len(), 1);
}
