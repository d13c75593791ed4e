//! Prompts (PROM).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_native::protocol::{
    Content, GetPromptResult, ImageContent, Prompt, PromptArgument, PromptMessage, ResourceContents,
};
use mcp_native::{Error, ErrorKind, Server};
use serde_json::{Value, json};

use crate::common::{Peer, builder};

fn server() -> (Server, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&runs);
    let server = builder().build();
    let name = PromptArgument::new("name").with_required(true).with_description("whom");
    let greet =
        Prompt::new("greet").with_description("Greets").with_arguments(vec![name, PromptArgument::new("style")]);
    server.prompt(greet, move |arguments, _| {
        count.fetch_add(1, Ordering::Relaxed);
        let name = arguments.get("name").cloned().unwrap_or_default();
        async move { Ok(GetPromptResult::new(vec![PromptMessage::user(format!("hello {name}"))]).with_description("d")) }
    }).expect("new");
    (server, runs)
}

async fn get(peer: &Peer, params: Value) -> Value {
    peer.result("prompts/get", params).await
}

// proves: PROM-02, PROM-03
#[tokio::test]
async fn prom_03_prompts_are_listed_and_got() {
    let (server, _) = server();
    let peer = Peer::ready(&server).await;
    let listed = peer.result("prompts/list", json!({})).await["prompts"].clone();
    let arguments = json!([{ "name": "name", "description": "whom", "required": true }, { "name": "style" }]);
    assert_eq!(listed, json!([{ "name": "greet", "description": "Greets", "arguments": arguments }]));
    let got = get(&peer, json!({ "name": "greet", "arguments": { "name": "Ann" } })).await;
    let message = json!({ "role": "user", "content": { "type": "text", "text": "hello Ann" } });
    assert_eq!(got, json!({ "description": "d", "messages": [message] }));
}

// proves: PROM-04, PROM-05, PROM-06, FC-077
#[tokio::test]
async fn prom_05_arguments_are_checked_before_use() {
    let (server, runs) = server();
    server
        .prompt(Prompt::new("fails"), |_, _| async { Err::<String, _>(Error::internal("Out of order")) })
        .expect("new");
    let peer = Peer::ready(&server).await;
    for (params, named) in [
        (json!({ "name": "greet", "arguments": { "name": 5 } }), "string"),
        (json!({ "name": "greet", "arguments": { "style": "x" } }), "`name`"),
        (json!({ "name": "greet" }), "`name`"),
        (json!({ "name": "nope" }), "`nope`"),
        (json!({}), "`name`"),
    ] {
        let (code, message) = peer.error("prompts/get", params).await;
        assert_eq!(code, -32602);
        assert!(message.contains(named), "{message}");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert_eq!(peer.error("prompts/get", json!({ "name": "fails" })).await, (-32603, "Out of order".to_owned()));
    get(&peer, json!({ "name": "greet", "arguments": { "name": "5", "extra": "x" } })).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let twice = server.prompt(Prompt::new("greet"), |_, _| async { Ok(String::new()) });
    assert_eq!(twice.expect_err("taken").kind(), ErrorKind::Duplicate);
}

// proves: PROM-12
#[tokio::test]
async fn prom_12_arguments_are_data() {
    let (server, _) = server();
    let peer = Peer::ready(&server).await;
    let name = "{name} ${style} {{#if}} %s </s>";
    let got = get(&peer, json!({ "name": "greet", "arguments": { "name": name } })).await;
    assert_eq!(got["messages"][0]["content"]["text"], format!("hello {name}"));
}

// proves: PROM-08, PROM-09
#[tokio::test]
async fn prom_08_images_and_resources_in_prompts() {
    assert!(ImageContent::from_bytes([1], "").is_err() && ImageContent::from_bytes([1], "png").is_err());
    let server = builder().build();
    server
        .prompt(Prompt::new("media"), |_, _| async {
            let image = Content::image([1, 2, 3], "image/png").map_err(Error::from)?;
            Ok(vec![
                PromptMessage::user(image),
                PromptMessage::assistant(Content::resource(ResourceContents::text("x:a", "a"))),
            ])
        })
        .expect("new");
    // An image whose type is not one cannot be sent, and says so on this side only.
    server
        .prompt(Prompt::new("bad"), |_, _| async { Ok(PromptMessage::user(ImageContent::new("AQID", "png"))) })
        .expect("new");
    let peer = Peer::ready(&server).await;
    let messages = get(&peer, json!({ "name": "media" })).await["messages"].clone();
    let expected = json!([
        { "role": "user", "content": { "type": "image", "data": "AQID", "mimeType": "image/png" } },
        { "role": "assistant", "content": { "type": "resource", "resource": { "uri": "x:a", "text": "a", "mimeType": "text/plain" } } },
    ]);
    assert_eq!(messages, expected);
    assert_eq!(peer.error("prompts/get", json!({ "name": "bad" })).await.0, -32603);
}
