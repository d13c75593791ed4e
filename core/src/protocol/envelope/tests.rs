use super::*;

fn fault(text: &str) -> (Fault, Option<RequestId>, Answer) {
    let malformed = parse(text.as_bytes(), 128).expect_err(text);
    (malformed.fault, malformed.id, malformed.answer)
}

// proves: JRPC-01
#[test]
fn jrpc_01_the_version_member_must_be_2_0() {
    for bad in [
        r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#,
        r#"{"id":5,"method":"ping"}"#,
        r#"{"jsonrpc":2.0,"id":5,"method":"ping"}"#,
    ] {
        assert_eq!(fault(bad), (Fault::Version, Some(RequestId::from(5_i64)), Answer::Request));
    }
}

// proves: JRPC-02, JRPC-03
#[test]
fn jrpc_02_a_method_with_any_id_is_a_request() {
    for id in ["null", "true", "1.5", "[]", "{}"] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        assert_eq!(fault(&text), (Fault::Id, None, Answer::Request));
    }
}

// proves: JRPC-08, JRPC-11
#[test]
fn jrpc_08_a_response_has_exactly_one_outcome() {
    let outcome = |text: &'static str| match parse(text.as_bytes(), 128) {
        Ok(Message::Response { outcome, .. }) => outcome,
        other => panic!("{other:?}"),
    };
    assert!(matches!(
        outcome(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#),
        Outcome::Invalid(_)
    ));
    assert!(matches!(outcome(r#"{"jsonrpc":"2.0","id":1,"result":null}"#), Outcome::Invalid(_)));
    assert!(matches!(outcome(r#"{"jsonrpc":"2.0","id":1,"result":[]}"#), Outcome::Invalid(_)));
    assert!(matches!(outcome(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#), Outcome::Result("{}")));
    assert!(matches!(outcome(r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}"#), Outcome::Invalid(_)));
}

// proves: JRPC-09
#[test]
fn jrpc_09_error_data_may_be_any_json() {
    let text = br#"{"jsonrpc":"2.0","id":1,"error":{"code":-31999,"message":"m","data":[1,null]}}"#;
    let Ok(Message::Response { outcome: Outcome::Error(error), .. }) = parse(text, 128) else { panic!() };
    assert_eq!((error.code, &*error.message, error.data), (-31999, "m", Some("[1,null]")));
}

// proves: JRPC-16
#[test]
fn jrpc_16_params_are_an_object_or_absent() {
    let request = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":[]}"#;
    assert_eq!(fault(request), (Fault::Params, Some(RequestId::from(2_i64)), Answer::Request));
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#;
    assert_eq!(fault(notification), (Fault::Params, None, Answer::Never));
    let null = br#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":null}"#;
    assert!(matches!(parse(null, 128), Ok(Message::Request { params: None, .. })));
}

// proves: JRPC-18, JRPC-19, JRPC-22
#[test]
fn jrpc_19_what_is_no_message_is_told_apart() {
    assert_eq!(fault("{not json").0, Fault::NotJson);
    assert_eq!(fault("Content-Length: 40").0, Fault::NotJson);
    assert_eq!(fault("[not json").0, Fault::NotJson);
    assert_eq!(fault("").0, Fault::NotJson);
    assert_eq!(fault("42").0, Fault::NotAnObject);
    assert_eq!(fault("null").0, Fault::NotAnObject);
    assert_eq!(fault("[]").0, Fault::Batch);
    assert_eq!(fault(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#).0, Fault::Batch);
    assert_eq!(fault(r#"{"jsonrpc":"2.0","id":4}"#), (Fault::Shapeless, Some(RequestId::from(4_i64)), Answer::Unclear));
    assert_eq!(parse(b"{\"a\":\"\xff\"}", 128).expect_err("not UTF-8").fault, Fault::NotUtf8);
}

// proves: JRPC-12
#[test]
fn jrpc_12_malformed_notifications_and_responses_are_never_answered() {
    assert_eq!(fault(r#"{"jsonrpc":"2.0","method":7}"#).2, Answer::Never);
    assert_eq!(fault(r#"{"method":"notifications/x"}"#).2, Answer::Never);
    assert_eq!(fault(r#"{"jsonrpc":"1.0","id":1,"result":{}}"#).2, Answer::Never);
}

// proves: JRPC-23
#[test]
fn jrpc_23_an_error_without_an_id_is_about_the_connection() {
    for text in [
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}"#,
    ] {
        assert!(matches!(parse(text.as_bytes(), 128), Ok(Message::ConnectionError(_))), "{text}");
    }
}

#[test]
fn names_written_with_escapes_are_the_same_names() {
    let text = br#"{"jsonrpc":"\u0032.0","\u0069d":1,"method":"tools\/list"}"#;
    assert!(matches!(parse(text, 128), Ok(Message::Request { method, .. }) if method == "tools/list"));
}

#[test]
fn a_repeated_member_is_refused() {
    let text = r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#;
    assert_eq!(fault(text).0, Fault::Repeated);
}

// proves: JRPC-29
#[test]
fn jrpc_29_depth_is_bounded_and_brackets_in_strings_do_not_count() {
    let nested = |n: usize| {
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}{}}}}}"#, "[".repeat(n), "]".repeat(n))
    };
    assert!(parse(nested(50).as_bytes(), 128).is_ok());
    assert!(parse(nested(126).as_bytes(), 128).is_ok());
    assert_eq!(fault(&nested(127)), (Fault::TooDeep, Some(RequestId::from(1_i64)), Answer::Request));
    assert_eq!(fault(&nested(100_000)).0, Fault::TooDeep);
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":"{}\"[["}}}}"#, "[{".repeat(500));
    assert!(parse(text.as_bytes(), 128).is_ok());
}

/// Each message without one of its members, by the member's name.
fn without_each(message: &str) -> Vec<(String, String)> {
    let members: serde_json::Map<String, serde_json::Value> = serde_json::from_str(message).expect("an object");
    let without = |name: &String| {
        let mut fewer = members.clone();
        fewer.remove(name);
        (name.clone(), serde_json::Value::Object(fewer).to_string())
    };
    members.keys().map(without).collect()
}

// proves: SCH-T01
#[test]
fn sch_t01_a_request_has_a_version_an_id_and_a_method() {
    let minimal = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert!(matches!(parse(minimal.as_bytes(), 128), Ok(Message::Request { params: None, .. })));
    for (name, text) in without_each(minimal) {
        let found = parse(text.as_bytes(), 128);
        assert!(!matches!(found, Ok(Message::Request { .. })), "without {name}: {found:?}");
    }
    let full = br#"{"jsonrpc":"2.0","id":"a","method":"m","params":{"a":[1.0,null]},"zz":1}"#;
    let Ok(Message::Request { id, method, params }) = parse(full, 128) else { panic!("a full request") };
    assert_eq!((id, &*method, params), (RequestId::from("a"), "m", Some(r#"{"a":[1.0,null]}"#)));
}

// proves: SCH-T02
#[test]
fn sch_t02_a_notification_has_a_version_and_a_method() {
    let minimal = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert!(matches!(parse(minimal.as_bytes(), 128), Ok(Message::Notification { params: None, .. })));
    for (name, text) in without_each(minimal) {
        assert!(parse(text.as_bytes(), 128).is_err(), "without {name}");
    }
    let full = br#"{"jsonrpc":"2.0","method":"m","params":{"a":{}},"zz":[1]}"#;
    let Ok(Message::Notification { method, params }) = parse(full, 128) else { panic!("a full notification") };
    assert_eq!((&*method, params), ("m", Some(r#"{"a":{}}"#)));
}

// proves: SCH-T03
#[test]
fn sch_t03_a_response_has_a_version_an_id_and_a_result() {
    let minimal = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let result = |text: &str| match parse(text.as_bytes(), 128) {
        Ok(Message::Response { id, outcome: Outcome::Result(result) }) => Some((id, result.to_owned())),
        _ => None,
    };
    assert_eq!(result(minimal), Some((RequestId::from(1_i64), "{}".to_owned())));
    for (name, text) in without_each(minimal) {
        assert_eq!(result(&text), None, "without {name}");
    }
    let full = r#"{"jsonrpc":"2.0","id":"a","result":{"_meta":{"k":1e3},"x":null},"zz":1}"#;
    assert_eq!(result(full), Some((RequestId::from("a"), r#"{"_meta":{"k":1e3},"x":null}"#.to_owned())));
}

// proves: SCH-T04
#[test]
fn sch_t04_an_error_has_a_version_an_id_a_code_and_a_message() {
    let error = |text: &str| match parse(text.as_bytes(), 128) {
        Ok(Message::Response { id, outcome: Outcome::Error(error) }) => {
            Some((id, error.code, error.message.into_owned(), error.data.map(str::to_owned)))
        }
        _ => None,
    };
    let minimal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}"#;
    assert_eq!(error(minimal), Some((RequestId::from(1_i64), -1, "m".to_owned(), None)));
    for (name, text) in without_each(minimal) {
        assert_eq!(error(&text), None, "without {name}");
    }
    for (name, inner) in without_each(r#"{"code":-1,"message":"m"}"#) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{inner}}}"#);
        assert_eq!(error(&text), None, "without {name}");
    }
    let full = r#"{"jsonrpc":"2.0","id":1,"error":{"code":9007199254740993,"message":"m","data":[1.0],"zz":1},"zz":1}"#;
    let data = Some("[1.0]".to_owned());
    assert_eq!(error(full), Some((RequestId::from(1_i64), 9_007_199_254_740_993, "m".to_owned(), data)));
}
