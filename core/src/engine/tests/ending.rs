//! DOWN and JRPC-28: how a session ends.

use super::*;

// proves: DOWN-01
#[test]
fn down_01_there_is_no_farewell() {
    for mut session in [Session::server(), Session::client()] {
        session.engine.close(CloseReason::Local);
        assert_eq!(session.sent(), [] as [Value; 0]);
        assert!(matches!(session.close_reason(), CloseReason::Local));
    }
}

// proves: JRPC-28
#[test]
fn jrpc_28_the_end_fails_requests_and_stops_handlers() {
    for reason in [CloseReason::Local, CloseReason::Transport(Error::closed("gone"))] {
        let mut server = Session::server();
        let call = server.call(1, Value::Null);
        let told = server.call(2, Value::Null);
        server.send(cancelled(2));
        server.events();
        let (one, two) = (server.ask("roots/list"), server.ask("roots/list"));
        server.engine.close(reason);
        let events = server.events();
        assert!(
            matches!(&events[..], [
                Event::Settled { request: first, outcome: Err(error) },
                Event::Settled { request: second, outcome: Err(_) },
                Event::Cancelled { call: stopped, .. },
                Event::Closed(_),
            ] if (*first, *second, *stopped) == (one, two, call) && error.kind() == ErrorKind::Closed),
            "{events:?}"
        );
        // Afterwards there is nothing.
        server.engine.close(CloseReason::Local);
        server.engine.handle_eof(None, server.now);
        server.send(request(3, "ping", Value::Null));
        server.engine.handle_oversized(b"{");
        server.wait(Duration::from_secs(3600));
        for late in [call, told] {
            assert_eq!(server.answer(late, "{}"), Completion::Stale);
        }
        assert!(!server.engine.cancel(one, None));
        assert_eq!(kind(server.try_ask(outgoing("roots/list"))), ErrorKind::Closed);
        assert_eq!(kind(server.notify("notifications/message")), ErrorKind::Closed);
        assert!(server.events().is_empty());
        assert!(server.engine.poll_timeout().is_none());
        assert_eq!((server.engine.calls_in_flight(), server.engine.requests_pending()), (0, 0));
    }
}

// proves: JRPC-28, STDIO-13
#[test]
fn jrpc_28_the_end_of_a_clients_input_is_its_end() {
    let mut client = Session::client();
    let key = client.ask("tools/list");
    client.engine.handle_eof(Some("exited with code 3".into()), client.now);
    let events = client.events();
    assert!(
        matches!(&events[..], [Event::Settled { request, outcome: Err(error) }, Event::Closed(CloseReason::Peer { .. })]
            if *request == key && error.message().contains("exited with code 3")),
        "{events:?}"
    );
    // What was queued may still be sent.
    assert_eq!(client.sent_one()["method"], "tools/list");
}

// proves: DOWN-04
#[test]
fn down_04_accepted_calls_may_finish_after_the_end_of_input() {
    let mut server = Session::server();
    let (slow, fast) = (server.call(1, Value::Null), server.call(2, Value::Null));
    let own = server.ask("roots/list");
    server.sent();
    server.engine.handle_eof(None, server.now);
    assert_eq!(kind(server.settled(own)), ErrorKind::Closed, "nobody can answer it");
    assert_eq!(kind(server.try_ask(outgoing("roots/list"))), ErrorKind::Closed);
    // No new work.
    server.send(request(3, "tools/call", Value::Null));
    assert_eq!(server.engine.calls_in_flight(), 2);
    server.answer(fast, "{}");
    server.wait(ms(300));
    assert_eq!(server.engine.draining_for(server.now), Some(ms(700)));
    server.answer(slow, "{}");
    assert_eq!(server.sent(), [result(2, json!({})), result(1, json!({}))]);
    assert!(matches!(server.close_reason(), CloseReason::Peer { .. }));
}

// proves: DOWN-04
#[test]
fn down_04_the_grace_ends() {
    let mut server = Session::server();
    let call = server.call(1, json!({ "_meta": { "progressToken": 1 } }));
    server.engine.handle_eof(None, server.now);
    server.wait(ms(600));
    // A second end of input does not prolong it.
    server.engine.handle_eof(None, server.now);
    assert!(server.engine.progress(call, 1.0, None, None, server.now));
    server.wait(ms(399));
    assert!(!server.engine.is_closed());
    server.wait(ms(1));
    let events = server.events();
    assert!(
        matches!(&events[..], [Event::Cancelled { call: which, .. }, Event::Closed(_)] if *which == call),
        "{events:?}"
    );
    assert_eq!(server.answer(call, "{}"), Completion::Stale);
}

// proves: DOWN-04
#[test]
fn down_04_calls_that_wait_are_accepted_calls() {
    let mut config = config(Role::Server);
    config.limits.running = 1;
    let mut server = Session::server_with(config);
    let first = server.call(1, Value::Null);
    server.send(request(2, "tools/call", Value::Null));
    server.engine.handle_eof(None, server.now);
    server.answer(first, "{}");
    let Event::Request { call: second, .. } = server.event() else { panic!() };
    server.answer(second, "{}");
    assert_eq!(server.sent().len(), 2);
    assert!(server.engine.is_closed());
}

// proves: DOWN-04
#[test]
fn down_04_an_idle_server_ends_at_once() {
    for mut server in [Session::server(), Session::new_server()] {
        server.engine.handle_eof(None, server.now);
        assert!(matches!(server.close_reason(), CloseReason::Peer { detail: None }));
    }
}

// proves: JRPC-28, PING-04
#[test]
fn jrpc_28_the_sessions_own_ping_ends_without_a_word() {
    let mut config = config(Role::Client);
    config.keep_alive = Some(crate::engine::KeepAlive::new(ms(100)));
    let mut client = Session::client_with(config);
    client.wait(ms(100));
    assert_eq!(client.sent_one()["method"], "ping");
    client.engine.close(CloseReason::Local);
    assert!(matches!(client.event(), Event::Closed(CloseReason::Local)));
}

#[test]
fn output_can_be_given_up() {
    let mut server = Session::server();
    server.send(request(1, "ping", Value::Null));
    server.engine.poll_transmit(&mut Vec::new()).expect("an answer");
    server.send(request(2, "ping", Value::Null));
    assert!(server.engine.unsent_bytes() > 0);
    server.engine.discard_output();
    assert_eq!((server.engine.unsent_bytes(), server.engine.has_transmit()), (0, false));
}
