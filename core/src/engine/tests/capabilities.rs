//! CAP: what may be used.

use super::*;

fn client_of(capabilities: &Value) -> Session {
    let mut client = Session::new_client();
    client.send(result(1, server_hello("2024-11-05", capabilities)));
    client.settle_down()
}

/// A server that declares `own`, of a client that declares `theirs`.
fn server_of(own: Value, theirs: &Value) -> Session {
    let mut config = config(Role::Server);
    config.local.capabilities = object(own);
    let mut server = Session::new(config);
    server.send(client_hello("init", "2024-11-05", theirs));
    server.send(notification("notifications/initialized", Value::Null));
    server.settle_down()
}

// proves: CAP-02, CAP-05
#[test]
fn cap_02_a_present_object_means_supported() {
    let mut client = client_of(&json!({ "tools": {} }));
    client.ask("tools/list");
    assert_eq!(client.sent_one()["method"], "tools/list");

    let mut client = client_of(&json!({}));
    let error = client.try_ask(outgoing("tools/list")).expect_err("not declared");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("`tools`"), "{error}");
    assert_eq!((client.sent().len(), client.events().len()), (0, 0));
    // The opt-out.
    let mut lenient = outgoing("tools/list");
    lenient.lenient = true;
    client.try_ask(lenient).expect("sent all the same");
    assert_eq!(client.sent_one()["method"], "tools/list");
}

// proves: CAP-05, LIFE-05
#[test]
fn cap_05_what_was_held_back_is_checked_when_it_is_let_go() {
    let mut client = Session::new_client();
    client.sent();
    let refused = client.ask("tools/list");
    let mut lenient = outgoing("prompts/list");
    lenient.lenient = true;
    let lenient = client.try_ask(lenient).expect("held back");
    client.send(result(1, server_hello("2024-11-05", &json!({}))));
    let ids: Vec<_> = client.sent().iter().filter_map(|message| message["id"].as_u64()).collect();
    assert_eq!(ids, [lenient.get()]);
    let settled = client.events().into_iter().find_map(|event| match event {
        Event::Settled { request, outcome } => Some((request, kind(outcome))),
        _ => None,
    });
    assert_eq!(settled, Some((refused, ErrorKind::Unsupported)));
}

// proves: CAP-03
#[test]
fn cap_03_the_flags_of_resources_are_independent() {
    for (resources, subscribes) in [
        (json!({}), false),
        (json!({ "subscribe": true }), true),
        (json!({ "listChanged": true }), false),
        (json!({ "subscribe": true, "listChanged": true }), true),
        (json!({ "subscribe": "yes" }), false),
    ] {
        let mut client = client_of(&json!({ "resources": resources }));
        assert_eq!(client.try_ask(outgoing("resources/subscribe")).is_ok(), subscribes, "{resources}");
        assert_eq!(client.sent().len(), usize::from(subscribes));

        let changes = resources["listChanged"] == true;
        let mut server = server_of(json!({ "resources": resources }), &json!({}));
        assert_eq!(server.notify("notifications/resources/list_changed").is_ok(), changes);
        assert_eq!(server.notify("notifications/resources/updated").is_ok(), subscribes);
        assert_eq!(server.sent().len(), usize::from(changes) + usize::from(subscribes));
    }
}

// proves: CAP-04, CAP-12
#[test]
fn cap_04_unknown_capabilities_are_kept_and_harmless() {
    let mut capabilities =
        json!({ "x-foo": { "a": 1 }, "experimental": { "y": {} }, "completions": {}, "tasks": true });
    for i in 0..50 {
        capabilities[format!("x-{i}")] = json!({ "deep": [{ "er": [1, null] }] });
    }
    let client = client_of(&capabilities);
    assert_eq!(Value::Object(client.engine.peer().expect("negotiated").capabilities.clone()), capabilities);
    let mut server = server_of(everything(Role::Server), &capabilities);
    let peer = server.engine.peer().expect("negotiated");
    assert_eq!(Value::Object(peer.capabilities.clone()), capabilities);
    assert_eq!(peer.info.name, "peer");
    let raw: Value = peer.raw.to_value().expect("a tree");
    assert_eq!(raw["capabilities"], capabilities);
    server.assert_silent_and_alive();
}

// proves: CAP-06
#[test]
fn cap_06_what_a_server_did_not_declare_is_not_found() {
    let mut server = server_of(json!({ "tools": {} }), &json!({}));
    for method in ["prompts/list", "resources/read", "logging/setLevel", "resources/subscribe"] {
        server.send(request(1, method, Value::Null));
        assert_eq!(server.refused(1), -32601, "{method}");
    }
    let mut server = server_of(json!({ "resources": {} }), &json!({}));
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        server.send(request(1, method, Value::Null));
        assert_eq!(server.refused(1), -32601, "{method}");
    }
    assert!(server.events().is_empty());
}

// proves: CAP-07
#[test]
fn cap_07_what_a_client_did_not_declare_is_not_found() {
    let mut config = config(Role::Client);
    config.local.capabilities.clear();
    let mut client = Session::client_with(config);
    for method in ["sampling/createMessage", "roots/list"] {
        client.send(request(1, method, Value::Null));
        assert_eq!(client.refused(1), -32601);
    }
    // Of methods that the protocol does not define the application decides.
    client.send(request(1, "no/such", Value::Null));
    assert!(matches!(client.event(), Event::Request { .. }));
}

// proves: CAP-07
#[test]
fn cap_07_a_server_does_not_ask_what_a_client_did_not_declare() {
    let mut server = server_of(everything(Role::Server), &json!({ "roots": null }));
    for method in ["roots/list", "sampling/createMessage"] {
        assert_eq!(kind(server.try_ask(outgoing(method))), ErrorKind::Unsupported);
    }
    // Nor does any side send what the other side sends.
    assert_eq!(kind(server.try_ask(outgoing("tools/list"))), ErrorKind::Unsupported);
    assert_eq!(kind(server.notify("notifications/roots/list_changed")), ErrorKind::Unsupported);
    assert_eq!(server.sent(), [] as [Value; 0]);
}

// proves: CAP-08
#[test]
fn cap_08_capabilities_of_later_revisions_stay_at_home() {
    for role in [Role::Client, Role::Server] {
        let mut config = config(role);
        for later in ["completions", "elicitation", "tasks", "extensions"] {
            config.local.capabilities.insert(later.into(), json!({}));
        }
        config.local.capabilities.insert("experimental".into(), json!({ "z": {} }));
        let mut session = Session::new(config).started();
        if role == Role::Server {
            session.send(client_hello(1, "2024-11-05", &json!({ "elicitation": {} })));
        }
        let hello = session.sent_one();
        let body = if role == Role::Server { &hello["result"] } else { &hello["params"] };
        let mut expected = everything(role);
        expected["experimental"] = json!({ "z": {} });
        assert_eq!(body["capabilities"], expected);
    }
}

// proves: CAP-10, LOG-01
#[test]
fn cap_10_a_server_announces_only_what_it_declared() {
    let mut server = server_of(json!({ "resources": {}, "tools": {} }), &json!({}));
    for method in [
        "notifications/resources/updated",
        "notifications/resources/list_changed",
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/message",
    ] {
        assert_eq!(kind(server.notify(method)), ErrorKind::Unsupported, "{method}");
    }
    assert_eq!(server.sent(), [] as [Value; 0]);
}

// proves: CAP-11
#[test]
fn cap_11_null_is_absent_and_other_values_are_faults() {
    let server = server_of(everything(Role::Server), &json!({ "roots": null }));
    assert!(server.engine.peer().expect("negotiated").capabilities.is_empty());
    for bad in [json!(true), json!(5), json!([]), json!("x")] {
        let mut server = Session::new_server();
        server.send(client_hello(1, "2024-11-05", &json!({ "roots": bad })));
        assert_eq!(server.refused(1), -32602);
        let mut client = Session::new_client();
        client.send(result(1, server_hello("2024-11-05", &json!({ "tools": bad }))));
        assert!(matches!(client.close_reason(), CloseReason::Handshake(error) if error.message().contains("tools")));
    }
}
