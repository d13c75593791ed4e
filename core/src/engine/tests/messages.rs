//! JRPC: what a frame is, and whether it is answered.

use super::*;

/// Frames that nobody can take for a message, with the code of a server's answer, whose id is null.
const GARBAGE: &[(&[u8], i64)] = &[
    (b"{not json", -32700),
    (b"plain text", -32700),
    (b"\xff\xfe", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":{\"a\":\"\xff\"}}", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\",}", -32700),
    (b"{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"} {}", -32700),
    (b"", -32700),
    (b"42", -32600),
    (b"null", -32600),
    (b"\"x\"", -32600),
    (b"{}", -32600),
    (b"[]", -32600),
    (
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}]",
        -32600,
    ),
];

// proves: JRPC-18, JRPC-19, JRPC-22
#[test]
fn jrpc_18_a_server_answers_garbage_and_lives_on() {
    let mut server = Session::server();
    for (frame, code) in GARBAGE {
        server.send_text(frame);
        assert_eq!(server.refused(Value::Null), *code, "{:?}", String::from_utf8_lossy(frame));
        // Nothing of it was executed.
        assert!(matches!(server.event(), Event::Diagnostic(Diagnostic::Malformed { .. })));
    }
    server.assert_silent_and_alive();
    server.send(json!({ "jsonrpc": "2.0", "id": 4 }));
    assert_eq!(server.refused(4), -32600);
}

// proves: JRPC-20
#[test]
fn jrpc_20_a_client_never_answers_garbage() {
    let mut client = Session::client();
    let key = client.ask("tools/list");
    client.sent();
    for (frame, _) in GARBAGE {
        client.send_text(frame);
        assert_eq!(client.diagnostics().len(), 1);
    }
    client.send(json!({ "jsonrpc": "2.0", "id": 4 }));
    client.send(json!({ "jsonrpc": "2.0", "id": true, "result": {} }));
    client.events();
    assert_eq!(client.sent(), [] as [Value; 0]);
    client.send(result(key.get(), json!({ "tools": [] })));
    assert_eq!(client.settled(key).expect("answered"), json!({ "tools": [] }));
}

// proves: JRPC-20
#[test]
fn jrpc_20_nobody_answers_what_looks_like_a_response() {
    for mut session in [Session::server(), Session::client()] {
        for frame in [
            json!({ "jsonrpc": "2.0", "id": 999, "result": {} }),
            json!({ "jsonrpc": "2.0", "id": [], "result": {} }),
            json!({ "jsonrpc": "1.0", "id": 999, "result": {} }),
            json!({ "jsonrpc": "2.0", "result": {} }),
            json!({ "jsonrpc": "2.0", "id": 999, "error": 5 }),
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": 1, "message": "m" } }),
        ] {
            session.send(frame);
        }
        session.assert_silent_and_alive();
    }
}

// proves: JRPC-01
#[test]
fn jrpc_01_other_versions_of_json_rpc_are_refused() {
    let mut server = Session::server();
    for version in [json!("1.0"), json!(2), json!(2.0), Value::Null] {
        server.send(json!({ "jsonrpc": version, "id": 5, "method": "ping" }));
        assert_eq!(server.refused(5), -32600);
    }
    server.send(json!({ "id": 5, "method": "ping" }));
    assert_eq!(server.refused(5), -32600);
    server.assert_silent_and_alive();
}

// proves: JRPC-02, JRPC-03
#[test]
fn jrpc_02_a_request_with_a_bad_id_is_no_notification() {
    for mut session in [Session::server(), Session::client()] {
        for id in [Value::Null, json!(true), json!(1.5), json!([]), json!({})] {
            session.send(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" }));
            assert_eq!(session.refused(Value::Null), -32600, "{id}");
        }
        // A number with a zero fraction is an integer.
        session.send_text(r#"{"jsonrpc":"2.0","id":1.0,"method":"ping"}"#);
        assert_eq!(session.sent(), [result(1, json!({}))]);
    }
}

// proves: JRPC-06, JRPC-11
#[test]
fn jrpc_06_ids_come_back_as_they_were() {
    let mut server = Session::server();
    for id in ["\"1\"", "1", "0", "-7", "9007199254740993", "18446744073709551615", "\"\"", "\"ключ\"", "\"a\\\"\\n\""]
    {
        server.send_text(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#));
        let mut frame = Vec::new();
        server.engine.poll_transmit(&mut frame).expect("answered");
        let expected = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        assert_eq!(String::from_utf8_lossy(&frame), expected);
    }
}

// proves: JRPC-12, JRPC-13, JRPC-16
#[test]
fn jrpc_12_notifications_are_never_answered() {
    for mut session in [Session::server(), Session::client()] {
        for frame in [
            json!({ "jsonrpc": "2.0", "method": "notifications/nope", "params": {} }),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": [] }),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5 }),
            json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": [] } }),
            json!({ "jsonrpc": "2.0", "method": 7 }),
            json!({ "jsonrpc": "1.0", "method": "notifications/initialized" }),
            json!({ "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": { "_meta": 5 } }),
            json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": "x" }),
        ] {
            session.send(frame);
        }
        session.assert_silent_and_alive();
    }
}

// proves: JRPC-15
#[test]
fn jrpc_15_the_id_decides_and_not_the_name() {
    let mut server = Session::new_server();
    server.send(client_hello(1, "2024-11-05", &json!({})));
    server.sent();
    server.events();
    server.notify("notifications/tools/list_changed").expect("held back");
    // A notification with an id is an unknown request; it does not initialise.
    server.send(request(8, "notifications/initialized", Value::Null));
    assert!(!server.engine.is_ready());
    match server.event() {
        Event::Request { call, method: Method::Other(name), .. } => {
            let error = Error::method_not_found(&name);
            assert_eq!(server.engine.respond(call, Err(&error), server.now), Completion::Accepted);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(server.refused(8), -32601);
    // A request without an id is an unknown notification; no tool runs.
    server.send(notification("notifications/initialized", Value::Null));
    server.events();
    server.sent();
    server.send(notification("tools/call", json!({ "name": "x" })));
    assert!(matches!(server.event(), Event::Notification { method: Method::Other(_), .. }));
    server.assert_silent_and_alive();
}

// proves: JRPC-16, JRPC-17
#[test]
fn jrpc_16_params_are_an_object_or_absent() {
    let mut server = Session::server();
    for bad in [json!([]), json!(5), json!("x"), json!(false)] {
        server.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": bad }));
        assert_eq!(server.refused(2), -32602, "{bad}");
    }
    server.events();
    for params in [None, Some(Value::Null), Some(json!({}))] {
        let mut message = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        if let Some(params) = params {
            message["params"] = params;
        }
        server.send(message);
        let Event::Request { call, .. } = server.event() else { panic!() };
        server.answer(call, "{}");
    }
}

// proves: JRPC-16
#[test]
fn jrpc_16_nothing_else_is_sent() {
    let mut client = Session::client();
    for bad in ["[]", "5", "null"] {
        let json = Json::parse(bad).expect("JSON");
        let mut with_params = outgoing("tools/list");
        with_params.params = Some(json.clone());
        assert_eq!(kind(client.try_ask(with_params)), ErrorKind::InvalidArgument);
        let mut with_meta = outgoing("tools/list");
        with_meta.meta = Some(json.clone());
        assert_eq!(kind(client.try_ask(with_meta)), ErrorKind::InvalidArgument);
        let method = Method::Other("notifications/x".into());
        assert_eq!(kind(client.engine.notify(&method, Some(&json), None)), ErrorKind::InvalidArgument);
    }
    assert_eq!(client.sent(), [] as [Value; 0]);
}

// proves: JRPC-30
#[test]
fn jrpc_30_reserved_names_never_reach_the_application() {
    for mut session in [Session::server(), Session::client()] {
        session.send(request(1, "rpc.discover", json!({})));
        assert_eq!(session.refused(1), -32601);
        assert!(session.events().is_empty());
    }
}

// proves: JRPC-10, SEC-08
#[test]
fn jrpc_10_refusals_are_one_short_line_even_for_long_names() {
    let mut server = Session::server();
    server.send(request(1, &format!("rpc.\u{1b}[2J\n{}", "x".repeat(5000)), json!({})));
    let message = server.sent_one()["error"]["message"].as_str().expect("a message").to_owned();
    assert!(message.chars().count() < 200 && !message.chars().any(char::is_control), "{message:?}");
}

// proves: SCH-04, PROG-01
#[test]
fn sch_04_meta_is_an_object_and_a_token_a_string_or_an_integer() {
    let mut server = Session::server();
    for method in ["tools/call", "ping", "resources/list"] {
        for meta in [json!(5), json!([]), json!({ "progressToken": 1.5 }), json!({ "progressToken": true })] {
            server.send(request(2, method, json!({ "_meta": meta })));
            assert_eq!(server.refused(2), -32602, "{meta}");
        }
        server.send(request(2, method, json!({ "_meta": { "progressToken": null } })));
        assert_eq!(server.refused(2), -32602);
    }
    // Null counts as absent (SCH-03), and a member of that name elsewhere is not ours.
    server.call(3, json!({ "_meta": null, "arguments": { "_meta": 5 } }));
}

// proves: SCH-13, JRPC-02
#[test]
fn sch_13_params_reach_the_application_as_they_were_written() {
    let mut server = Session::server();
    let params = r#"{ "a":9007199254740993, "b":1.0,"c":1e3 ,"d":null,"e":"\u00e9é","f":{},"f":[] }"#;
    server.send_text(format!(r#" {{"params":{params},"method":"tools\/call","\u0069d":"1","jsonrpc":"2.0","zz":1}} "#));
    match server.event() {
        Event::Request { params: Some(received), id, .. } => {
            assert_eq!((&received[..], id), (params.as_bytes(), RequestId::from("1")));
        }
        other => panic!("{other:?}"),
    }
}
