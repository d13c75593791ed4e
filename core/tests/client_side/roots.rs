//! Roots (ROOT).

use mcp_native::client::HandlerContext;
use mcp_native::protocol::Root;
use mcp_native::{Error, ErrorKind};
use serde_json::json;

use super::support::{builder, connected, connected_with, everything, soon};

// proves: ROOT-02, SCH-T29
#[tokio::test]
async fn the_whole_list_is_told_even_if_empty() {
    let list = [Root::new("file:///data/r").with_name("data"), Root::new("file:///x%20y")];
    let (client, fake) = connected_with(builder().roots(list), everything()).await;
    let told = json!({ "roots": [{ "uri": "file:///data/r", "name": "data" }, { "uri": "file:///x%20y" }] });
    assert_eq!(fake.ask("roots/list", json!({})).await["result"], told);
    // Never paged (PAGE-01).
    assert_eq!(fake.ask("roots/list", json!({ "cursor": "x" })).await["result"], told);
    client.set_roots([]).expect("set");
    fake.expect("notifications/roots/list_changed").await;
    assert_eq!(fake.ask("roots/list", json!({})).await["result"], json!({ "roots": [] }));
}

// proves: ROOT-03, ROOT-06
#[tokio::test]
async fn only_files_that_do_not_climb_are_roots() {
    let bad = ["https://x/", "file:///a/../b", "file:///a/%2e%2e/b", "data", ""];
    for uri in bad {
        let (near, _far) = mcp_native::transport::memory::pair();
        let error = builder().roots([Root::new(uri)]).connect(near).await.expect_err(uri);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{uri}");
    }
    let (client, mut fake) = connected_with(builder().roots([Root::new("file:///a")]), everything()).await;
    for uri in bad {
        assert_eq!(client.set_roots([Root::new(uri)]).expect_err(uri).kind(), ErrorKind::InvalidArgument);
    }
    fake.quiet().await;
    assert_eq!(fake.ask("roots/list", json!({})).await["result"], json!({ "roots": [{ "uri": "file:///a" }] }));
}

// proves: ROOT-04
#[tokio::test]
async fn a_change_is_announced_once_or_not_at_all() {
    let (client, mut fake) = connected_with(builder().roots([]), everything()).await;
    client.set_roots([Root::new("file:///b")]).expect("set");
    let note = fake.expect("notifications/roots/list_changed").await;
    assert!(note.get("id").is_none());
    fake.quiet().await;

    let (client, mut fake) = connected_with(builder().roots([]).announce_roots(false), everything()).await;
    client.set_roots([Root::new("file:///b")]).expect("set");
    fake.quiet().await;
    assert_eq!(client.roots_changed().expect_err("not declared").kind(), ErrorKind::Unsupported);
}

// proves: ROOT-05, CAP-07, CAP-09, FC-060
#[tokio::test]
async fn without_roots_there_are_none_to_ask_for_or_to_set() {
    let (client, mut fake) = connected().await;
    assert_eq!(fake.ask("roots/list", json!({})).await["error"]["code"], -32601);
    assert_eq!(client.set_roots([]).expect_err("not declared").kind(), ErrorKind::Unsupported);
    fake.quiet().await;
    assert_eq!(fake.ask("roots/list", json!({})).await["error"]["code"], -32601);
}

// proves: ROOT-05, JRPC-26
#[tokio::test]
async fn a_callback_that_fails_is_an_internal_error() {
    async fn climb(_context: HandlerContext) -> Result<Vec<Root>, Error> {
        Ok(vec![Root::new("file:///secret/../x")])
    }
    async fn panicking(_context: HandlerContext) -> Result<Vec<Root>, Error> {
        panic!("secret detail")
    }
    let failing = |_context| async { Err(Error::internal("The disk is gone")) };
    for (builder, leaked) in [
        (builder().on_roots(failing), None),
        (builder().on_roots(climb), Some("secret")),
        (builder().on_roots(panicking), Some("secret")),
    ] {
        let (_client, mut fake) = connected_with(builder, everything()).await;
        let error = fake.ask("roots/list", json!({})).await["error"].clone();
        assert_eq!(error["code"], -32603);
        assert!(leaked.is_none_or(|secret| !error.to_string().contains(secret)), "{error}");
        fake.quiet().await;
    }
}

// proves: ROOT-06, ROOT-07, SEC-01
#[tokio::test]
async fn what_the_application_does_not_allow_is_not_told() {
    let list = ["file:///yes", "file:///no"].map(Root::new);
    let callback = list.clone();
    for builder in
        [builder().roots(list), builder().on_roots(move |_context| std::future::ready(Ok(callback.to_vec())))]
    {
        let builder = builder.allow_root(|root| root.uri != "file:///no");
        let (_client, fake) = connected_with(builder, everything()).await;
        assert_eq!(fake.ask("roots/list", json!({})).await["result"], json!({ "roots": [{ "uri": "file:///yes" }] }));
    }
}

#[tokio::test]
async fn a_callback_may_announce_its_changes() {
    let builder = builder().on_roots(|_context| async { Ok(Vec::new()) }).announce_roots(true);
    let (client, fake) = connected_with(builder, everything()).await;
    client.roots_changed().expect("declared");
    fake.expect("notifications/roots/list_changed").await;
    assert_eq!(client.set_roots([]).expect_err("there is no list").kind(), ErrorKind::InvalidArgument);
    soon(client.close()).await;
    assert_eq!(client.roots_changed().expect_err("gone").kind(), ErrorKind::Closed);
}
