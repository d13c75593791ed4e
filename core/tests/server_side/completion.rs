//! Completion (COMP).

use mcp_native::Server;
use mcp_native::protocol::{Completion, Prompt, PromptArgument};
use mcp_native::server::{CompletionTarget, Item};
use serde_json::{Value, json};

use crate::common::{Peer, builder};

fn server() -> Server {
    let server =
        builder().visibility(|_, item| !matches!(item, Item::Prompt(prompt) if prompt.name == "hidden")).build();
    let arguments = || ["a", "b", "many", "total"].map(PromptArgument::new).to_vec();
    for name in ["p", "hidden"] {
        server.prompt(Prompt::new(name).with_arguments(arguments()), |_, _| async { Ok(String::new()) }).expect("new");
        server.completion(CompletionTarget::prompt(name, "a"), |typed, _| async move {
            let all = ["banana", "apple", "cherry"];
            Ok(all.into_iter().filter(|value| value.contains(&typed)).collect::<Vec<_>>())
        });
    }
    server.completion(CompletionTarget::prompt("p", "many"), |_, _| async {
        Ok((0..250).map(|n| n.to_string()).collect::<Vec<_>>())
    });
    server.completion(CompletionTarget::prompt("p", "total"), |_, _| async {
        Ok(Completion::new(vec!["x".to_owned()]).with_total(5_u64).with_has_more(true))
    });
    server
}

fn params(prompt: &str, argument: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/prompt", "name": prompt }, "argument": { "name": argument, "value": value } })
}

// proves: COMP-01, COMP-05, COMP-08
#[tokio::test]
async fn comp_01_values_come_in_the_order_of_the_completer() {
    let peer = Peer::ready(&server()).await;
    let complete = |value| peer.result("completion/complete", params("p", "a", value));
    assert_eq!(complete("").await, json!({ "completion": { "values": ["banana", "apple", "cherry"] } }));
    assert_eq!(complete("an").await["completion"]["values"], json!(["banana"]));
    assert_eq!(complete("zzz").await["completion"]["values"], json!([]));
    for missing in
        [json!({ "ref": { "type": "ref/prompt", "name": "p" } }), json!({ "argument": { "name": "a", "value": "" } })]
    {
        assert_eq!(peer.error("completion/complete", missing).await.0, -32602);
    }
}

// proves: COMP-02, COMP-03, FC-072
#[tokio::test]
async fn comp_02_at_most_a_hundred_values_are_sent() {
    let peer = Peer::ready(&server()).await;
    let many = peer.result("completion/complete", params("p", "many", "")).await["completion"].clone();
    let values = many["values"].as_array().expect("an array");
    assert_eq!((values.len(), &values[99]), (100, &json!("99")));
    assert_eq!((&many["hasMore"], &many["total"]), (&json!(true), &json!(250)));
    let total = peer.result("completion/complete", params("p", "total", "")).await;
    assert_eq!(total, json!({ "completion": { "values": ["x"], "total": 5, "hasMore": true } }));
}

// proves: COMP-10, COMP-06
#[tokio::test]
async fn comp_10_unknown_references_are_refused_and_hidden_ones_unknown() {
    let peer = Peer::ready(&server()).await;
    assert_eq!(peer.result("completion/complete", params("p", "b", "x")).await["completion"]["values"], json!([]));
    let other = json!({ "ref": { "type": "ref/x", "name": "p" }, "argument": { "name": "a", "value": "" } });
    let template =
        json!({ "ref": { "type": "ref/resource", "uri": "x:{y}" }, "argument": { "name": "y", "value": "" } });
    for bad in [params("nope", "a", ""), params("p", "zz", ""), params("hidden", "a", ""), other, template] {
        assert_eq!(peer.error("completion/complete", bad.clone()).await.0, -32602, "{bad}");
    }
}
