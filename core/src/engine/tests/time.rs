//! TIME and PING: limits and keep-alive.

use super::*;
use crate::engine::{KeepAlive, TimeLimit};

fn limited(time: TimeLimit) -> OutgoingRequest {
    let mut request = outgoing("tools/call");
    (request.time, request.progress) = (time, true);
    request
}

// proves: TIME-01, TIME-02, TIME-03
#[test]
fn time_02_each_request_has_its_own_limit() {
    let mut client = Session::client();
    let short = client.try_ask(limited(TimeLimit::of(ms(100)))).expect("declared");
    let long = client.try_ask(limited(TimeLimit::of(ms(500)))).expect("declared");
    let usual = client.ask("tools/list");
    let endless = client.try_ask(limited(TimeLimit::NONE)).expect("declared");
    client.sent();
    for (wait, key) in [(100, short), (400, long), (59_500, usual)] {
        client.wait(ms(wait - 1));
        assert!(client.events().is_empty());
        client.wait(ms(1));
        let error = client.settled(key).expect_err("timed out");
        assert_eq!(error.kind(), ErrorKind::Timeout);
        let note = client.sent_one();
        assert_eq!(
            (&note["method"], &note["params"]["requestId"]),
            (&json!("notifications/cancelled"), &json!(key.get()))
        );
    }
    assert_eq!(client.engine.poll_timeout(), None);
    client.send(result(endless.get(), json!({})));
    assert!(client.settled(endless).is_ok());
}

// proves: TIME-04
#[test]
fn time_04_progress_starts_the_limit_anew_up_to_the_maximum() {
    let mut time = TimeLimit::of(ms(100));
    time.maximum = Some(ms(1000));
    let mut client = Session::client();
    let key = client.try_ask(limited(time)).expect("declared");
    client.sent();
    for step in 1..20 {
        let params = json!({ "progressToken": key.get(), "progress": step });
        client.send(notification("notifications/progress", params));
        assert!(matches!(client.event(), Event::Progress { .. }));
        client.wait(ms(50));
    }
    client.wait(ms(49));
    assert!(client.events().is_empty());
    client.wait(ms(1));
    assert_eq!(kind(client.settled(key)), ErrorKind::Timeout);

    time.reset_by_progress = false;
    let key = client.try_ask(limited(time)).expect("declared");
    client.wait(ms(60));
    client.send(notification("notifications/progress", json!({ "progressToken": key.get(), "progress": 1 })));
    client.events();
    client.wait(ms(40));
    assert_eq!(kind(client.settled(key)), ErrorKind::Timeout);
}

#[test]
fn limits_beyond_the_clock_never_run_out() {
    let mut config = config(Role::Server);
    config.limits.eof_grace = Duration::MAX;
    config.keep_alive = Some(KeepAlive::new(Duration::MAX));
    let mut server = Session::server_with(config);
    let mut request = outgoing("roots/list");
    request.time = TimeLimit::of(Duration::MAX);
    server.try_ask(request).expect("declared");
    server.call(1, Value::Null);
    server.wait(Duration::from_secs(365 * 24 * 60 * 60));
    assert!(server.events().is_empty());
    server.engine.handle_eof(None, server.now);
    server.wait(Duration::from_secs(365 * 24 * 60 * 60));
    assert!(!server.engine.is_closed());
}

fn pinging(role: Role, keep_alive: KeepAlive) -> Session {
    let mut config = config(role);
    config.keep_alive = Some(keep_alive);
    if role == Role::Client { Session::client_with(config) } else { Session::server_with(config) }
}

// proves: PING-02, PING-04
#[test]
fn ping_04_pings_keep_their_interval() {
    for role in [Role::Client, Role::Server] {
        let mut session = pinging(role, KeepAlive::new(ms(200)));
        for _ in 0..10 {
            session.wait(ms(199));
            assert_eq!(session.sent(), [] as [Value; 0]);
            session.wait(ms(1));
            let ping = session.sent_one();
            assert_eq!(ping["method"], "ping");
            session.wait(ms(50));
            // Any answer shows that the peer lives.
            let mut answer = json!({ "jsonrpc": "2.0", "id": ping["id"] });
            answer["error"] = json!({ "code": -32601, "message": "what?" });
            session.send(answer);
            assert!(session.events().is_empty());
            session.now -= ms(50);
        }
    }
}

// proves: PING-04
#[test]
fn ping_04_off_is_off() {
    let mut client = Session::client();
    client.wait(Duration::from_secs(3600));
    assert_eq!(client.sent(), [] as [Value; 0]);
    assert_eq!(client.engine.poll_timeout(), None);
}

// proves: PING-04
#[test]
fn ping_04_never_two_are_unanswered_and_a_slow_answer_does_not_end_the_pings() {
    let mut session = pinging(Role::Server, KeepAlive::new(ms(100)).timeout(ms(1000)));
    session.wait(ms(900));
    let ping = session.sent_one();
    session.send(result(ping["id"].clone(), json!({})));
    assert!(session.events().is_empty());
    session.wait(ms(1));
    assert_eq!(session.sent_one()["method"], "ping");
}

// proves: PING-04, JRPC-08
#[test]
fn ping_04_a_faulty_answer_is_an_answer() {
    let mut session = pinging(Role::Server, KeepAlive::new(ms(100)));
    session.wait(ms(100));
    let ping = session.sent_one();
    session.send(json!({ "jsonrpc": "1.0", "id": ping["id"], "result": {} }));
    assert!(matches!(session.event(), Event::Diagnostic(Diagnostic::Malformed { .. })));
    session.wait(ms(100));
    let ping = session.sent_one();
    session.engine.handle_oversized(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{"#, ping["id"]).as_bytes());
    assert!(matches!(session.event(), Event::Diagnostic(Diagnostic::TooLarge { .. })));
    session.wait(ms(100));
    assert_eq!(session.sent_one()["method"], "ping");
}

// proves: PING-03, PING-05
#[test]
fn ping_03_a_mute_peer_ends_the_session() {
    let mut session = pinging(Role::Client, KeepAlive::new(ms(100)).close_after(Some(2)));
    let key = session.ask("tools/list");
    session.wait(ms(250));
    assert!(matches!(session.event(), Event::Diagnostic(Diagnostic::PingFailed { failures: 1 })));
    session.wait(ms(50));
    let events = session.events();
    assert!(
        matches!(&events[..], [
            Event::Diagnostic(Diagnostic::PingFailed { failures: 2 }),
            Event::Settled { request, outcome: Err(_) },
            Event::Closed(CloseReason::Unresponsive),
        ] if *request == key),
        "{events:?}"
    );
    session.wait(ms(1000));
    assert!(session.events().is_empty());
}

// proves: PING-03, PING-05
#[test]
fn ping_03_failures_can_be_reported_only() {
    let mut session = pinging(Role::Client, KeepAlive::new(ms(100)).close_after(None));
    session.wait(ms(1050));
    let failures: Vec<_> = session
        .diagnostics()
        .into_iter()
        .map(|diagnostic| match diagnostic {
            Diagnostic::PingFailed { failures } => failures,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(failures, (1..=9).collect::<Vec<_>>());
    assert!(!session.engine.is_closed());
}

// proves: PING-01, PING-02, PING-06
#[test]
fn ping_01_both_sides_answer_while_calls_run() {
    for mut session in [Session::server(), Session::client()] {
        session.send(request(
            1,
            if session.engine.role() == Role::Server { "tools/call" } else { "roots/list" },
            json!({}),
        ));
        assert!(matches!(session.event(), Event::Request { .. }));
        for params in [Value::Null, json!({}), json!({ "x": 1, "_meta": { "progressToken": 1 } })] {
            session.send(request(2, "ping", params));
            assert_eq!(session.sent(), [result(2, json!({}))]);
        }
    }
}
