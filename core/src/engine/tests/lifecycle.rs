//! LIFE: who may speak when.

use super::*;

// proves: LIFE-01, LIFE-02, VER-01
#[test]
fn life_01_a_client_begins_with_initialize() {
    let mut local = Local::new(Implementation::new("engine", "1"));
    local.instructions = Some("a client has none".into());
    let mut client = Session::new(Config::new(Role::Client, local)).started();
    let hello = client_hello(1, "2024-11-05", &json!({}));
    let mut expected = hello.clone();
    expected["params"]["clientInfo"] = json!({ "name": "engine", "version": "1" });
    assert_eq!(client.sent(), [expected]);
    // A second start does nothing.
    client.engine.start(None, client.now);
    assert_eq!(client.sent(), [] as [Value; 0]);
}

// proves: LIFE-03, LIFE-13
#[test]
fn life_03_a_server_answers_with_what_it_is() {
    let mut local = Local::new(Implementation::new("engine", "1"));
    local.instructions = Some("abc".into());
    let mut server = Session::new(Config::new(Role::Server, local));
    server.send(client_hello("x", "2024-11-05", &json!({})));
    let expected = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "instructions": "abc",
        "serverInfo": { "name": "engine", "version": "1" } });
    assert_eq!(server.sent(), [result("x", expected)]);
    assert!(matches!(server.event(), Event::Negotiated));
}

// proves: LIFE-13
#[test]
fn life_13_a_server_without_features_still_pings_and_refuses_the_rest() {
    let mut server = Session::server_with(Config::new(Role::Server, Local::new(Implementation::new("engine", "1"))));
    server.assert_silent_and_alive();
    for method in ["tools/list", "tools/call", "resources/list", "prompts/get", "logging/setLevel", "roots/list"] {
        server.send(request(5, method, Value::Null));
        assert_eq!(server.refused(5), -32601, "{method}");
    }
    assert!(server.events().is_empty());
}

// proves: LIFE-04
#[test]
fn life_04_initialized_follows_the_result_once() {
    let mut client = Session::new_client();
    client.sent();
    client.send(result(1, server_hello("2024-11-05", &json!({}))));
    assert_eq!(client.sent(), [notification("notifications/initialized", Value::Null)]);
    assert!(matches!(client.events()[..], [Event::Negotiated, Event::Ready]));
    // The same result again is a late answer to nothing.
    client.send(result(1, server_hello("2024-11-05", &json!({}))));
    assert_eq!(client.sent(), [] as [Value; 0]);
    assert!(matches!(client.diagnostics()[..], [Diagnostic::LateResponse(_)]));
    // Nor can the application say what the session says.
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/progress"] {
        assert_eq!(kind(client.notify(method)), ErrorKind::InvalidArgument);
    }
    for mut session in [client, Session::new_client(), Session::new_server()] {
        session.sent();
        assert_eq!(kind(session.try_ask(outgoing("initialize"))), ErrorKind::InvalidArgument);
        assert_eq!((session.sent().len(), session.engine.is_closed()), (0, false));
    }
}

// proves: LIFE-05
#[test]
fn life_05_a_client_waits_with_everything_but_ping() {
    let mut client = Session::new(config(Role::Client));
    let first = client.ask("tools/list");
    let mut client = client.started();
    let second = client.ask("prompts/list");
    client.notify("notifications/roots/list_changed").expect("declared");
    let ping = client.ask("ping");
    let methods: Vec<_> = client.sent().iter().map(|message| message["method"].clone()).collect();
    assert_eq!(methods, ["initialize", "ping"]);

    // Nothing can be answered that was not asked yet.
    client.send(result(first.get(), json!({ "tools": [] })));
    assert!(matches!(client.event(), Event::Diagnostic(_)));
    client.send(result(ping.get(), json!({})));
    assert_eq!(client.settled(ping).expect("answered"), json!({}));
    let initialize = first.get() + 1;
    client.send(result(initialize, server_hello("2024-11-05", &everything(Role::Server))));
    let sent: Vec<_> = client.sent().iter().map(|message| (message["method"].clone(), message["id"].clone())).collect();
    assert_eq!(
        sent,
        [
            (json!("notifications/initialized"), Value::Null),
            (json!("tools/list"), json!(first.get())),
            (json!("prompts/list"), json!(second.get())),
            (json!("notifications/roots/list_changed"), Value::Null),
        ]
    );
}

// proves: LIFE-06
#[test]
fn life_06_until_initialized_a_server_only_pings_and_logs() {
    let mut server = Session::new_server();
    server.send(client_hello(1, "2024-11-05", &everything(Role::Client)));
    server.sent();
    server.notify("notifications/tools/list_changed").expect("declared");
    server.notify("notifications/tools/list_changed").expect("declared");
    server.notify("notifications/prompts/list_changed").expect("declared");
    server.ask("roots/list");
    assert_eq!(server.sent(), [] as [Value; 0]);
    server.ask("ping");
    server.notify("notifications/message").expect("declared");
    let methods = |sent: Vec<Value>| sent.iter().map(|message| message["method"].clone()).collect::<Vec<_>>();
    assert_eq!(methods(server.sent()), ["ping", "notifications/message"]);
    server.send(notification("notifications/initialized", Value::Null));
    // A change that was announced twice before anybody could hear it is one change.
    assert_eq!(
        methods(server.sent()),
        ["notifications/tools/list_changed", "notifications/prompts/list_changed", "roots/list"]
    );
}

// proves: LIFE-06, CANC-01
#[test]
fn life_06_a_ping_given_up_before_initialized_is_not_cancelled_on_the_wire() {
    let mut server = Session::new_server();
    let ping = server.ask("ping");
    server.sent();
    assert!(server.engine.cancel(ping, None));
    assert_eq!(server.sent(), [] as [Value; 0]);
}

// proves: LIFE-07, LIFE-15
#[test]
fn life_07_requests_before_initialize_are_refused_and_ping_is_answered() {
    let mut server = Session::new_server();
    server.send(request(1, "tools/list", Value::Null));
    let error = server.sent_one();
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(1), &json!(-32600)));
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("not initialized")));
    server.assert_silent_and_alive();
    server.send(client_hello(2, "2024-11-05", &json!({})));
    assert_eq!(server.sent_one()["result"]["protocolVersion"], "2024-11-05");
}

// proves: LIFE-08
#[test]
fn life_08_requests_are_served_from_the_result_on() {
    let mut server = Session::new_server();
    server.send(client_hello(1, "2024-11-05", &json!({})));
    server.events();
    let call = server.call(2, Value::Null);
    assert_eq!(server.answer(call, "{}"), Completion::Accepted);
    server.send(notification("notifications/initialized", Value::Null));
    assert!(matches!(server.event(), Event::Ready));
}

// proves: LIFE-09
#[test]
fn life_09_a_second_initialize_changes_nothing() {
    let mut server = Session::server();
    server.send(client_hello(9, "1999-01-01", &json!({ "x-new": {} })));
    assert_eq!(server.refused(9), -32600);
    let peer = server.engine.peer().expect("negotiated");
    assert!(!peer.capabilities.contains_key("x-new"));
    server.call(10, Value::Null);
}

// proves: LIFE-10
#[test]
fn life_10_a_faulty_initialize_can_be_retried() {
    let good = client_hello(1, "2024-11-05", &json!({}));
    for member in ["protocolVersion", "capabilities", "clientInfo"] {
        for replacement in [None, Some(json!(5)), Some(json!([]))] {
            let mut server = Session::new_server();
            let mut bad = good.clone();
            match &replacement {
                None => drop(bad["params"].as_object_mut().expect("an object").remove(member)),
                Some(value) => bad["params"][member] = value.clone(),
            }
            server.send(&bad);
            let error = server.sent_one();
            assert_eq!(error["error"]["code"], -32602, "{bad}");
            assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains(member)), "{error}");
            server.send(request(2, "tools/list", Value::Null));
            assert_eq!(server.refused(2), -32600);
            server.send(client_hello(3, "2024-11-05", &json!({})));
            assert!(server.sent_one()["result"].is_object());
        }
    }
    let mut server = Session::new_server();
    server.send(request(1, "initialize", Value::Null));
    assert_eq!(server.refused(1), -32602);
}

// proves: LIFE-11
#[test]
fn life_11_initialized_out_of_place_is_ignored() {
    let mut server = Session::new_server();
    server.send(notification("notifications/initialized", Value::Null));
    server.assert_silent_and_alive();
    server.send(client_hello(1, "2024-11-05", &json!({})));
    server.sent();
    assert!(!server.engine.is_ready());
    server.send(notification("notifications/initialized", Value::Null));
    server.send(notification("notifications/initialized", Value::Null));
    let ready = server.events().iter().filter(|event| matches!(event, Event::Ready)).count();
    assert_eq!(ready, 1);
    server.assert_silent_and_alive();
}

// proves: LIFE-12, CANC-02
#[test]
fn life_12_a_failed_initialize_ends_the_session_without_another_word() {
    let refusal = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "no" } });
    let unusable = result(1, json!({ "protocolVersion": "2024-11-05" }));
    for answer in [refusal, unusable, result(1, Value::Null), json!({ "jsonrpc": "1.0", "id": 1, "result": {} })] {
        let mut client = Session::new_client();
        client.sent();
        client.ask("tools/list");
        client.send(&answer);
        assert_eq!(client.sent(), [] as [Value; 0]);
        let events = client.events();
        assert!(
            events.iter().any(|event| matches!(event, Event::Settled { outcome: Err(_), .. })),
            "what was held back fails: {events:?}"
        );
        match events.last() {
            Some(Event::Closed(CloseReason::Handshake(error))) => assert_eq!(error.kind(), ErrorKind::Handshake),
            other => panic!("{other:?}"),
        }
    }
}

// proves: LIFE-12, LIFE-17, TIME-03, CANC-02
#[test]
fn life_17_a_mute_server_is_a_timeout() {
    let mut client = Session::new_client();
    client.sent();
    client.wait(ms(29_999));
    assert!(!client.engine.is_closed());
    client.wait(ms(1));
    assert!(matches!(client.close_reason(), CloseReason::Handshake(error) if error.kind() == ErrorKind::Timeout));
    assert_eq!(client.sent(), [] as [Value; 0]);
}

// proves: LIFE-14
#[test]
fn life_14_instructions_are_kept_verbatim() {
    let instructions = |hello: Value| {
        let mut client = Session::new_client();
        client.send(result(1, hello));
        client.engine.peer().expect("negotiated").instructions.clone()
    };
    let mut hello = server_hello("2024-11-05", &json!({}));
    assert_eq!(instructions(hello.clone()), None);
    hello["instructions"] = json!("  abc\n\u{7}");
    assert_eq!(instructions(hello).as_deref(), Some("  abc\n\u{7}"));
}

// proves: LIFE-15, LIFE-18
#[test]
fn life_18_a_server_may_ping_and_log_before_its_answer() {
    let mut client = Session::new_client();
    client.sent();
    client.send(request("p", "ping", Value::Null));
    assert_eq!(client.sent(), [result("p", json!({}))]);
    client.send(notification("notifications/message", json!({ "level": "info", "data": 1 })));
    assert!(matches!(client.event(), Event::Notification { method: Method::LogMessage, .. }));
    client.send(result(1, server_hello("2024-11-05", &json!({}))));
    assert!(client.engine.is_ready());
}

// proves: LIFE-16, SEC-05
#[test]
fn life_16_two_sessions_share_nothing() {
    let (mut one, mut two) = (Session::server(), Session::server());
    let (first, second) = (one.call(7, Value::Null), two.call(7, Value::Null));
    one.send(cancelled(7));
    assert!(matches!(one.event(), Event::Cancelled { .. }));
    assert!(two.events().is_empty());
    assert_eq!(one.answer(first, "{}"), Completion::Stale);
    assert_eq!(two.answer(second, "{}"), Completion::Accepted);
    assert_eq!(one.ask("roots/list").get(), two.ask("roots/list").get());
    one.engine.close(CloseReason::Local);
    assert!(!two.engine.is_closed());
    // A new session begins before its handshake.
    let mut again = Session::new_server();
    again.send(request(1, "tools/list", Value::Null));
    assert_eq!(again.refused(1), -32600);
}
