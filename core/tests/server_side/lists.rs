//! Lists: pages, changes while sessions live, and who sees what (PAGE, and the list changes of RES, PROM, TOOL, TMPL).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mcp_native::protocol::{Prompt, PromptArgument, Resource, ResourceTemplate};
use mcp_native::server::{CompletionTarget, Item, NoArguments, ToolDefinition, tool};
use mcp_native::{ErrorKind, Server};
use serde_json::{Value, json};

use crate::common::{Peer, builder};

fn answering(name: &str, answer: &'static str) -> ToolDefinition {
    tool(name).handler(move |_: NoArguments, _| async move { Ok(answer) })
}

async fn walk(peer: &Peer, method: &str, key: &str) -> (Vec<usize>, Vec<Value>) {
    let (mut sizes, mut all, mut params) = (Vec::new(), Vec::new(), json!({}));
    loop {
        let page = peer.result(method, params).await;
        let items = page[key].as_array().expect("an array").clone();
        sizes.push(items.len());
        all.extend(items);
        match page.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return (sizes, all),
        }
    }
}

fn names(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["name"].as_str().expect("a name")).collect()
}

// proves: PAGE-01, PAGE-09, FC-066
#[tokio::test]
async fn page_01_all_four_lists_are_paged() {
    let server = builder().page_size(2).build();
    for n in 0..5 {
        let name = format!("n{n}");
        server.tool(answering(&name, "")).expect("new");
        server.prompt(Prompt::new(name.as_str()), |_, _| async { Ok(String::new()) }).expect("new");
        server.resource(Resource::new(format!("x:{n}"), name.as_str()), |_, _| async { Ok("") }).expect("new");
        server
            .resource_template(ResourceTemplate::new(format!("y{n}:{{a}}"), name), |_, _, _| async { Ok("") })
            .expect("new");
    }
    let peer = Peer::ready(&server).await;
    for (method, key) in [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ] {
        let (sizes, all) = walk(&peer, method, key).await;
        assert_eq!(sizes, [2, 2, 1], "{method}");
        assert_eq!(names(&all), ["n0", "n1", "n2", "n3", "n4"]);
    }
}

// proves: PAGE-05
#[tokio::test]
async fn page_05_bad_cursors_are_refused_and_good_ones_last() {
    let server = builder().page_size(2).build();
    let handles: Vec<_> = (0..5).map(|n| server.tool(answering(&format!("t{n}"), "")).expect("new")).collect();
    let peer = Peer::ready(&server).await;
    for bad in [json!("garbage"), json!(""), json!(5), json!("prompts:3"), json!({})] {
        assert_eq!(peer.error("tools/list", json!({ "cursor": bad })).await.0, -32602, "{bad}");
    }
    let cursor = peer.result("tools/list", json!({})).await["nextCursor"].clone();
    let page = |cursor: Value| peer.result("tools/list", json!({ "cursor": cursor }));
    assert_eq!(page(cursor.clone()).await, page(cursor.clone()).await);
    // A change elsewhere moves nothing.
    assert!(handles[0].remove());
    peer.expect("notifications/tools/list_changed").await;
    assert_eq!(names(page(cursor).await["tools"].as_array().expect("an array")), ["t2", "t3"]);
}

// proves: TOOL-14, PROM-10, RES-12, TMPL-04, FC-075
#[tokio::test]
async fn tool_14_a_burst_of_changes_is_announced_once_and_only_where_declared() {
    let server = builder().offer_tools(true).offer_prompts(true).offer_resources(true).build();
    let silent = builder().offer_tools(true).offer_prompts(true).offer_resources(true).list_changed(false).build();
    let (peer, quiet) = (Peer::ready(&server).await, Peer::ready(&silent).await);
    for server in [&server, &silent] {
        for n in 0..200 {
            server.tool(answering(&format!("t{n}"), "")).expect("new");
        }
        server.prompt(Prompt::new("p"), |_, _| async { Ok(String::new()) }).expect("new");
        server.resource_template(ResourceTemplate::new("y:{a}", "y"), |_, _, _| async { Ok("") }).expect("new");
        server.resource(Resource::new("x:a", "a"), |_, _| async { Ok("") }).expect("new");
    }
    let mut methods = Vec::new();
    for _ in 0..3 {
        methods.push(peer.next().await.expect("connected")["method"].as_str().expect("a method").to_owned());
    }
    let expected = ["tools", "resources", "prompts"].map(|list| format!("notifications/{list}/list_changed"));
    assert_eq!(methods, expected);
    peer.quiet().await;
    quiet.quiet().await;
    // The next change is another burst.
    server.tool(answering("late", "")).expect("new");
    peer.expect("notifications/tools/list_changed").await;
    assert_eq!(walk(&peer, "tools/list", "tools").await.0, [100, 100, 1]);
    quiet.quiet().await;
}

/// Handles change and remove what they stand for, and calls find the new at once.
// proves: TOOL-14
#[tokio::test]
async fn everything_can_be_replaced_and_removed_while_sessions_live() {
    let server = builder().build();
    let first = server.tool(answering("first", "old")).expect("new");
    let second = server.tool(answering("second", "")).expect("new");
    let peer = Peer::ready(&server).await;
    assert_eq!(peer.call("first", json!({})).await, "old");
    first.replace(answering("first", "new")).expect("the same name");
    peer.expect("notifications/tools/list_changed").await;
    assert_eq!(peer.call("first", json!({})).await, "new");
    first.replace(answering("renamed", "other")).expect("a free name");
    peer.expect("notifications/tools/list_changed").await;
    assert_eq!(peer.error("tools/call", json!({ "name": "first" })).await.0, -32602);
    assert_eq!(names(&walk(&peer, "tools/list", "tools").await.1), ["renamed", "second"]);
    assert_eq!(first.replace(answering("second", "")).expect_err("taken").kind(), ErrorKind::Duplicate);
    assert_eq!(first.definition().map(|tool| tool.name), Some("renamed".to_owned()));
    assert!(second.remove() && !second.remove());
    assert!(second.replace(answering("again", "")).is_err() && second.definition().is_none());
    peer.expect("notifications/tools/list_changed").await;
    assert_eq!(names(&walk(&peer, "tools/list", "tools").await.1), ["renamed"]);

    let resource = server.resource(Resource::new("x:a", "a"), |_, _| async { Ok("old") }).expect("new");
    let template =
        server.resource_template(ResourceTemplate::new("y:{a}", "y"), |_, _, _| async { Ok("old") }).expect("new");
    let prompt = server.prompt(Prompt::new("p"), |_, _| async { Ok("old".to_owned()) }).expect("new");
    let peer = Peer::ready(&server).await;
    resource.replace(Resource::new("x:b", "b"), |_, _| async { Ok("new") }).expect("free");
    template.replace(ResourceTemplate::new("z:{a}", "z"), |_, _, _| async { Ok("new") }).expect("free");
    prompt.replace(Prompt::new("q"), |_, _| async { Ok("new".to_owned()) }).expect("free");
    peer.expect("notifications/resources/list_changed").await;
    peer.expect("notifications/prompts/list_changed").await;
    for (uri, text) in [("x:b", "new"), ("z:1", "new")] {
        assert_eq!(peer.result("resources/read", json!({ "uri": uri })).await["contents"][0]["text"], text);
    }
    for uri in ["x:a", "y:1"] {
        assert_eq!(peer.error("resources/read", json!({ "uri": uri })).await.0, -32002);
    }
    assert_eq!(peer.result("prompts/get", json!({ "name": "q" })).await["messages"][0]["content"]["text"], "new");
    assert!(resource.remove() && template.remove() && prompt.remove());
    assert_eq!(peer.error("resources/read", json!({ "uri": "z:1" })).await.0, -32002);
}

/// A handler's own things may call the server when they go: nothing of them is dropped under a lock.
#[tokio::test]
async fn what_a_handler_holds_is_dropped_without_a_lock() {
    struct Registers(Server, Arc<AtomicU32>);
    impl Drop for Registers {
        fn drop(&mut self) {
            let number = self.1.fetch_add(1, Ordering::Relaxed);
            self.0.tool(answering(&format!("from drop {number}"), "")).expect("new");
            self.0.completion(CompletionTarget::prompt("p", "other"), |_, _| async { Ok(vec!["x"]) });
        }
    }
    let server = builder().build();
    let dropped = Arc::new(AtomicU32::new(0));
    let holding = |name: &str| {
        let held = Registers(server.clone(), Arc::clone(&dropped));
        tool(name).sync_handler(move |_: NoArguments, _| {
            let _ = &held;
            Ok("")
        })
    };
    let done = tokio::task::spawn_blocking({
        let (server, a, b) = (server.clone(), holding("a"), holding("b"));
        let held = Registers(server.clone(), Arc::clone(&dropped));
        move || {
            let a = server.tool(a).expect("new");
            a.replace(b).expect("free");
            a.remove();
            server.completion(CompletionTarget::prompt("p", "a"), move |_, _| {
                let _ = &held;
                async { Ok(vec!["x"]) }
            });
            server.completion(CompletionTarget::prompt("p", "a"), |_, _| async { Ok(vec!["x"]) });
        }
    });
    crate::common::soon(done).await.expect("no deadlock");
    assert_eq!(dropped.load(Ordering::Relaxed), 3);
}

/// One hook decides for lists, calls, reads, subscriptions, prompts and completions alike.
// proves: TOOL-12, RES-09, COMP-06
#[tokio::test]
async fn one_hook_decides_who_sees_what() {
    let seen = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&seen);
    let server = builder()
        .subscriptions(true)
        .page_size(1)
        .visibility(move |context, item| {
            count.fetch_add(1, Ordering::Relaxed);
            let name = match item {
                Item::Tool(tool) => &tool.name,
                Item::Resource(resource) => &resource.name,
                Item::ResourceTemplate(template) => &template.name,
                Item::Prompt(prompt) => &prompt.name,
                _ => return false,
            };
            context.peer().is_some_and(|peer| peer.capabilities.contains_key("experimental"))
                || !name.starts_with("secret")
        })
        .build();
    for name in ["secret", "open"] {
        server.tool(answering(name, "ran")).expect("new");
        server
            .prompt(Prompt::new(name).with_arguments(vec![PromptArgument::new("a")]), |_, _| async {
                Ok(String::new())
            })
            .expect("new");
        server.completion(CompletionTarget::prompt(name, "a"), |_, _| async { Ok(vec!["x"]) });
        server.resource(Resource::new(format!("x:{name}"), name), |_, _| async { Ok("") }).expect("new");
        server
            .resource_template(ResourceTemplate::new(format!("{name}:{{a}}"), name), |_, _, _| async { Ok("") })
            .expect("new");
    }
    let complete =
        |name: &str| json!({ "ref": { "type": "ref/prompt", "name": name }, "argument": { "name": "a", "value": "" } });
    let guest = Peer::ready(&server).await;
    let insider = Peer::ready_with(&server, json!({ "experimental": { "insider": {} } })).await;
    let lists = [
        ("tools/list", "tools"),
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ];
    for (method, key) in lists {
        assert_eq!(names(&walk(&guest, method, key).await.1), ["open"], "{method}");
        assert_eq!(names(&walk(&insider, method, key).await.1), ["secret", "open"], "{method}");
    }
    let uses = |name: &str| {
        [
            ("tools/call", json!({ "name": name })),
            ("prompts/get", json!({ "name": name })),
            ("resources/read", json!({ "uri": format!("x:{name}") })),
            ("resources/read", json!({ "uri": format!("{name}:1") })),
            ("resources/subscribe", json!({ "uri": format!("x:{name}") })),
            ("resources/subscribe", json!({ "uri": format!("{name}:1") })),
            ("completion/complete", complete(name)),
        ]
    };
    for (method, params) in uses("secret") {
        let (code, _) = guest.error(method, params.clone()).await;
        assert!(code == -32602 || code == -32002, "{method}: {code}");
        insider.result(method, params).await;
    }
    for (method, params) in uses("open") {
        guest.result(method, params).await;
    }
    assert!(seen.load(Ordering::Relaxed) > 0);
}
