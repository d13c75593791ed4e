//! Completion (COMP).

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_native::ErrorKind;
use mcp_native::protocol::{CompleteRequest, CompletionArgument, CompletionContext, CompletionReference};
use serde_json::json;

use super::support::{builder, connected, connected_with, soon};

fn request(value: &str) -> CompleteRequest {
    CompleteRequest::new(CompletionReference::prompt("p"), CompletionArgument::new("a", value))
}

// proves: COMP-07, COMP-08, COMP-11
#[tokio::test]
async fn an_empty_value_is_legal_and_context_stays_here() {
    let (client, fake) = connected().await;
    let context = CompletionContext::new().with_arguments(BTreeMap::from([("b".to_owned(), "1".to_owned())]));
    let pending = client.complete(request("").with_context(context)).send().expect("sent");
    let sent = fake.expect("completion/complete").await;
    assert_eq!(
        sent["params"],
        json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } })
    );
    fake.reply(&sent, json!({ "completion": { "values": ["a"] } })).await;
    let completion = soon(pending).await.expect("answered").expect("a server with completion").completion;
    assert_eq!((completion.values.as_slice(), completion.total), (&["a".to_owned()][..], None));
    assert!(!completion.has_more.unwrap_or(false));
}

// proves: COMP-09
#[tokio::test]
async fn a_server_without_completion_is_no_failure() {
    // There is no capability for it: it may always be asked for.
    let (client, fake) = connected_with(builder(), json!({})).await;
    let pending = client.complete(request("x")).send().expect("sent");
    let sent = fake.expect("completion/complete").await;
    fake.reply_error(&sent, json!({ "code": -32601, "message": "Method not found" })).await;
    assert!(soon(pending).await.expect("no failure").is_none());
    let pending = client.complete(request("x")).send().expect("sent");
    let sent = fake.expect("completion/complete").await;
    fake.reply_error(&sent, json!({ "code": -32602, "message": "no such prompt" })).await;
    assert_eq!(soon(pending).await.expect_err("this is one").kind(), ErrorKind::InvalidParams);
}

// proves: COMP-07
#[tokio::test]
async fn quick_edits_ask_once_and_answers_are_remembered() {
    let (client, mut fake) = connected().await;
    let completer = client.completer(CompletionReference::prompt("p")).delay(Duration::from_millis(100));
    let typed = ["a", "ab", "abc"];
    let edits = async {
        tokio::join!(
            completer.suggest("a", typed[0]),
            completer.suggest("a", typed[1]),
            completer.suggest("a", typed[2])
        )
    };
    let server = async {
        let sent = fake.expect("completion/complete").await;
        assert_eq!(sent["params"]["argument"]["value"], "abc");
        fake.reply(&sent, json!({ "completion": { "values": ["abcd"] } })).await;
    };
    let ((first, second, third), ()) = soon(async { tokio::join!(edits, server) }).await;
    for outdated in [first, second] {
        assert_eq!(outdated.expect_err("outdated").kind(), ErrorKind::Cancelled);
    }
    assert_eq!(third.expect("answered").expect("some").completion.values, ["abcd"]);
    let again = soon(completer.suggest("a", "abc")).await.expect("remembered").expect("some");
    assert_eq!(again.completion.values, ["abcd"]);
    fake.quiet().await;
}
