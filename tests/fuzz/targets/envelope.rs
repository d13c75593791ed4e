//! The envelope of a frame, compared with a slow reading of the whole tree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_native::protocol::RequestId;
use mcp_native::protocol::envelope::{Answer, Fault, Message, Outcome, parse};
use serde_json::Value;

/// What a frame is, in short.
#[derive(Debug, PartialEq)]
enum Shape {
    Request(RequestId, String, bool),
    Notification(String, bool),
    Result(RequestId),
    Error(RequestId, i64, String),
    Unusable(RequestId),
    ConnectionError(i64),
    Malformed(Fault, Option<RequestId>, Answer),
}

fuzz_target!(|frame: &[u8]| {
    let fast = shape(frame);
    let Ok(tree) = serde_json::from_slice::<Value>(frame) else {
        // A tree holds less than the text: no half surrogates, no huge numbers, no deep nesting.
        let more = frame.windows(2).any(|pair| pair == b"\\u") || frame.iter().any(u8::is_ascii_digit);
        let deep = frame.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() > 100;
        assert!(
            more || deep || matches!(fast, Shape::Malformed(Fault::NotJson | Fault::NotUtf8, None, Answer::Unclear)),
            "{fast:?}"
        );
        return;
    };
    // Of repeated members a tree keeps the last, and of integers beyond 64 bits the beginning.
    let beyond = |number: Option<&Value>| number.is_some_and(Value::is_f64);
    if matches!(fast, Shape::Malformed(Fault::Repeated, ..))
        || beyond(tree.get("id"))
        || beyond(tree.get("error").and_then(|error| error.get("code")))
    {
        return;
    }
    assert_eq!(fast, reference(&tree), "of {tree}");
    // Written again, members in another order, it is the same.
    assert_eq!(shape(tree.to_string().as_bytes()), fast);
});

fn shape(frame: &[u8]) -> Shape {
    match parse(frame, 128) {
        Ok(Message::Request { id, method, params }) => Shape::Request(id, method.into(), params.is_some()),
        Ok(Message::Notification { method, params }) => Shape::Notification(method.into(), params.is_some()),
        Ok(Message::Response { id, outcome: Outcome::Result(_) }) => Shape::Result(id),
        Ok(Message::Response { id, outcome: Outcome::Error(error) }) => {
            Shape::Error(id, error.code, error.message.into())
        }
        Ok(Message::Response { id, outcome: Outcome::Invalid(_) }) => Shape::Unusable(id),
        Ok(Message::ConnectionError(error)) => Shape::ConnectionError(error.code),
        Ok(other) => panic!("{other:?}"),
        Err(malformed) => Shape::Malformed(malformed.fault, malformed.id, malformed.answer),
    }
}

fn reference(tree: &Value) -> Shape {
    let unclear = |fault| Shape::Malformed(fault, None, Answer::Unclear);
    let members = match tree {
        Value::Object(members) => members,
        Value::Array(_) => return unclear(Fault::Batch),
        _ => return unclear(Fault::NotAnObject),
    };
    let id = members.get("id").map(|id| RequestId::from_json(&id.to_string()).ok());
    let (method, outcome) = (members.get("method"), members.contains_key("result") || members.contains_key("error"));
    let answer = match (method, &id) {
        (Some(_), Some(_)) => Answer::Request,
        (None, _) if !outcome => Answer::Unclear,
        _ => Answer::Never,
    };
    let malformed = |fault| Shape::Malformed(fault, id.clone().flatten(), answer);
    if members.get("jsonrpc") != Some(&Value::from("2.0")) {
        return malformed(Fault::Version);
    }
    if answer == Answer::Unclear {
        return malformed(Fault::Shapeless);
    }
    if depth(tree) > 128 {
        return malformed(Fault::TooDeep);
    }
    let Some(method) = method else {
        let error = members.get("error").filter(|error| !error.is_null());
        let shape = match (members.get("result"), error) {
            (Some(Value::Object(_)), None) => id.clone().flatten().map(Shape::Result),
            (None, Some(error)) => match (rpc_error(error), &id) {
                (Some((code, _)), None) => Some(Shape::ConnectionError(code)),
                (Some((code, _)), _) if members.get("id") == Some(&Value::Null) => Some(Shape::ConnectionError(code)),
                (Some((code, message)), Some(Some(id))) => Some(Shape::Error(id.clone(), code, message)),
                (None, Some(Some(id))) => Some(Shape::Unusable(id.clone())),
                _ => None,
            },
            _ => id.clone().flatten().map(Shape::Unusable),
        };
        return shape.unwrap_or_else(|| malformed(Fault::Id));
    };
    if id == Some(None) {
        return malformed(Fault::Id);
    }
    let Some(method) = method.as_str() else { return malformed(Fault::Method) };
    let params = members.get("params").filter(|params| !params.is_null());
    if params.is_some_and(|params| !params.is_object()) {
        return malformed(Fault::Params);
    }
    match id.flatten() {
        Some(id) => Shape::Request(id, method.into(), params.is_some()),
        None => Shape::Notification(method.into(), params.is_some()),
    }
}

fn rpc_error(error: &Value) -> Option<(i64, String)> {
    let RequestId::Integer(code) = RequestId::from_json(&error.get("code")?.to_string()).ok()? else { return None };
    Some((code.try_into().ok()?, error.get("message")?.as_str()?.to_owned()))
}

fn depth(tree: &Value) -> usize {
    match tree {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
