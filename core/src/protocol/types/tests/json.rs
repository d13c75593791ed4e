//! Free-form JSON, open objects, `_meta`.

use serde_json::json;

use super::super::*;
use super::{must_read, refusal, text_of, written};
use crate::protocol::ProgressToken;

// proves: SCH-13
#[test]
fn sch_13_free_form_json_passes_unchanged() {
    let free = r#"{"a":9007199254740993,"b":null,"c":{},"d":[],"e":1.0,"f":1e3,"g":18446744073709551616,"h":"\ud800"}"#;
    let frames = [
        format!(r#"{{"name":"n","arguments":{free}}}"#),
        format!(r#"{{"name":"n","_meta":{free}}}"#),
        format!(r#"{{"name":"n","zz":{free}}}"#),
    ];
    for frame in frames {
        let request: CallToolRequest = serde_json::from_str(&frame).expect("it is readable");
        assert_eq!(text_of(&request), frame);
    }
    let tool = format!(r#"{{"name":"n","inputSchema":{free}}}"#);
    let read: Tool = serde_json::from_str(&tool).expect("it is readable");
    assert_eq!(read.input_schema.get(), free);
    let block = format!(r#"{{"type":"x-new","v":{free}}}"#);
    let read: Content = serde_json::from_str(&block).expect("it is readable");
    assert_eq!(text_of(&read), block);
    // Also where `type` comes last, so that the other members wait as text.
    let block = format!(r#"{{"v":{free},"text":"é\n","type":"text"}}"#);
    let Content::Text(text) = serde_json::from_str(&block).expect("it is readable") else { panic!("no text") };
    assert_eq!((text.text.as_str(), text.extra.get("v").map(Json::get)), ("é\n", Some(free)));
}

// proves: SCH-13, STDIO-02
#[test]
fn a_json_text_is_one_line() {
    let json = Json::parse("\r\n{\"a\":\n[1,\r\n\"b\\n\"]\n}\n").expect("it is valid");
    assert_eq!(json.get(), r#"{"a": [1,  "b\n"] }"#);
    let read: CallToolRequest =
        serde_json::from_str("{\"name\":\"n\",\"arguments\":{\n\"a\":1}}").expect("it is readable");
    assert_eq!(read.arguments.expect("arguments are there").get(), "{ \"a\":1}");
}

#[test]
fn json_is_checked_when_it_is_made() {
    for text in ["", "{", "{} {}", "nul", "{\"a\":}", "[1,]", "\"\u{1}\"", "1 2"] {
        assert!(Json::parse(text).is_err(), "{text:?}");
    }
    for depth in [1, 100, 128] {
        assert!(Json::parse("[".repeat(depth) + &"]".repeat(depth)).is_ok(), "{depth}");
    }
    for depth in [129, 100_000] {
        let error = Json::parse("[".repeat(depth) + &"]".repeat(depth)).expect_err("too deep");
        assert!(error.to_string().contains("128"), "{error}");
    }
    // Brackets inside strings, after escaped quotes too, are no nesting.
    let text = format!(r#"["\"{}\\",1]"#, "[".repeat(500));
    assert_eq!(Json::parse(text.clone()).expect("it is flat").get(), text);
    assert!(Json::from_serialize(&std::collections::BTreeMap::from([(vec![1], 1)])).is_err());
}

#[test]
fn json_is_read_and_compared() {
    let json = Json::from_serialize(&(1, "a")).expect("JSON holds it");
    assert_eq!(json.get(), r#"[1,"a"]"#);
    assert_eq!(json.decode::<(u8, String)>(), Ok((1, "a".to_owned())));
    assert_eq!(json.to_value(), Ok(json!([1, "a"])));
    assert!(json.decode::<String>().is_err());
    assert!(Json::parse("1e999").expect("it is JSON").to_value().is_err());
    assert_eq!(json, Json::from(json!([1, "a"])));
    assert_ne!(json, Json::parse(r#"[1, "a"]"#).expect("it is JSON"));
    assert!(Json::null().is_null() && Json::empty_object().is_object());
}

// proves: SCH-04, PROG-01
#[test]
fn sch_04_meta_is_an_object() {
    let result: EmptyResult = must_read(&json!({"_meta": {"a": 1}}));
    assert_eq!(result.meta.as_ref().and_then(|meta| meta.get("a")).map(Json::get), Some("1"));
    for wrong in [json!(5), json!([]), json!("a"), json!(true)] {
        let error = refusal::<CallToolRequest>(&json!({"name": "n", "_meta": wrong}));
        assert!(error.contains("`_meta`"), "{error}");
    }
    let token = |meta: serde_json::Value| must_read::<Meta>(&meta).progress_token();
    assert_eq!(token(json!({})), Ok(None));
    assert_eq!(token(json!({"progressToken": "1"})), Ok(Some(ProgressToken::from("1"))));
    assert_eq!(token(json!({"progressToken": 1})), Ok(Some(ProgressToken::from(1_i64))));
    for wrong in [json!(1.5), json!(true), json!(null)] {
        assert!(token(json!({"progressToken": wrong})).is_err(), "{wrong}");
    }
    assert_eq!(
        written(&Meta::new().with_progress_token("t").with("a", json!(1))),
        json!({"progressToken": "t", "a": 1})
    );
}

#[test]
fn members_behave_as_a_map() {
    let mut members: Members = [("a", json!(1)), ("b", json!(2))].into_iter().collect();
    assert_eq!(members.insert("a", json!(3)), Some(Json::from(json!(1))));
    assert_eq!(members.iter().map(|(name, value)| format!("{name}{value}")).collect::<Vec<_>>(), ["a3", "b2"]);
    assert_eq!(members.remove("a"), Some(Json::from(json!(3))));
    assert_eq!((members.len(), members.contains_key("a")), (1, false));
    // Of two members of one name the last counts, as everywhere.
    let twice: Members = serde_json::from_str(r#"{"a":1,"a":2}"#).expect("it is readable");
    assert_eq!(twice.get("a").map(Json::get), Some("2"));
    let twice: Root = serde_json::from_str(r#"{"uri":"a","uri":"b"}"#).expect("it is readable");
    assert_eq!(twice.uri, "b");
}

#[test]
fn a_known_member_is_written_once() {
    let mut root = Root::new("file:///a");
    root.extra.insert("uri", json!("x"));
    root.extra.insert("name", json!("x"));
    root.extra.insert("", json!("empty"));
    assert_eq!(text_of(&root), r#"{"uri":"file:///a","":"empty"}"#);
}
