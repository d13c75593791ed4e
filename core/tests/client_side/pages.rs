//! Walks over lists in pages.

use mcp_native::protocol::{Prompt, Tool};
use mcp_native::{Client, Error, ErrorKind};
use serde_json::{Value, json};

use super::support::{Fake, connected, soon};

fn tools(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({ "name": name, "inputSchema": { "type": "object" } })).collect()
}

/// Serves `tools/list` with these pages, each a list of names and the cursor after it. Returns the cursors asked for.
async fn serve(fake: &Fake, pages: &[(&[&str], Option<&str>)]) -> Vec<Value> {
    let mut cursors = Vec::new();
    for (names, next) in pages {
        let request = fake.expect("tools/list").await;
        assert!(request["id"].is_u64(), "a list is asked for by a request");
        cursors.push(request["params"]["cursor"].clone());
        let mut page = json!({ "tools": tools(names) });
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        fake.reply(&request, page).await;
    }
    cursors
}

async fn walk(
    client: &Client,
    fake: &Fake,
    pages: &[(&[&str], Option<&str>)],
) -> (Result<Vec<Tool>, Error>, Vec<Value>) {
    soon(async { tokio::join!(client.list_all_tools().into_future(), serve(fake, pages)) }).await
}

// proves: PAGE-02, PAGE-03, PAGE-04, PAGE-06, PAGE-07, PAGE-10
#[tokio::test]
async fn a_walk_follows_any_cursor_over_pages_of_any_size() {
    let (client, mut fake) = connected().await;
    let odd = "=?/\u{0}é";
    let pages: [(&[&str], _); 5] =
        [(&["a", "b", "c"], Some(odd)), (&["d"], Some("")), (&[], Some("x")), (&["e", "f"], Some("y")), (&["g"], None)];
    let (all, cursors) = walk(&client, &fake, &pages).await;
    let names: Vec<_> = all.expect("it ends").into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e", "f", "g"]);
    assert_eq!(cursors, [Value::Null, json!(odd), json!(""), json!("x"), json!("y")]);
    fake.quiet().await;
    // Nothing is remembered: the next walk begins at the beginning.
    let (all, cursors) = walk(&client, &fake, &[(&["a"], None)]).await;
    assert_eq!((all.expect("one page").len(), cursors), (1, vec![Value::Null]));
}

// proves: PAGE-06
#[tokio::test]
async fn a_null_cursor_is_none() {
    let (client, mut fake) = connected().await;
    let (all, ()) = soon(async {
        tokio::join!(client.list_all_tools().into_future(), async {
            let request = fake.expect("tools/list").await;
            fake.reply(&request, json!({ "tools": tools(&["a"]), "nextCursor": null })).await;
        })
    })
    .await;
    assert_eq!(all.expect("one page").len(), 1);
    fake.quiet().await;
}

// proves: PAGE-08
#[tokio::test]
async fn a_cursor_that_comes_again_ends_the_walk() {
    let (client, mut fake) = connected().await;
    for pages in [
        &[(&["a"][..], Some("a")), (&["b"], Some("a"))][..],
        &[(&["a"], Some("a")), (&["b"], Some("b")), (&["c"], Some("a"))],
    ] {
        let (all, _) = walk(&client, &fake, pages).await;
        assert_eq!(all.expect_err("it would not end").kind(), ErrorKind::EndlessPages);
        fake.quiet().await;
    }
}

// proves: PAGE-08
#[tokio::test]
async fn too_many_pages_end_the_walk() {
    let (client, mut fake) = connected().await;
    let pages: [(&[&str], _); 3] = [(&["a"], Some("1")), (&["b"], Some("2")), (&["c"], Some("3"))];
    let (all, _) =
        soon(async { tokio::join!(client.list_all_tools().max_pages(3).into_future(), serve(&fake, &pages)) }).await;
    assert_eq!(all.expect_err("it would not end").kind(), ErrorKind::EndlessPages);
    fake.quiet().await;
}

// proves: PAGE-04
#[tokio::test]
async fn a_stream_asks_for_a_page_when_it_is_needed() {
    let (client, mut fake) = connected().await;
    let mut stream = client.tools();
    fake.quiet().await;
    let (first, _) = soon(async { tokio::join!(stream.next(), serve(&fake, &[(&["a", "b"], Some("x"))])) }).await;
    assert_eq!(first.expect("an item").expect("a tool").name, "a");
    assert_eq!(soon(stream.next()).await.expect("an item").expect("a tool").name, "b");
    fake.quiet().await;
    let (third, _) = soon(async { tokio::join!(stream.next(), serve(&fake, &[(&["c"], None)])) }).await;
    assert_eq!(third.expect("an item").expect("a tool").name, "c");
    assert!(soon(stream.next()).await.is_none());
    fake.quiet().await;
}

// proves: PAGE-05
#[tokio::test]
async fn a_stream_ends_with_the_first_error() {
    let (client, fake) = connected().await;
    let mut stream = client.tools();
    let (first, ()) = soon(async {
        tokio::join!(stream.next(), async {
            let request = fake.expect("tools/list").await;
            fake.reply_error(&request, json!({ "code": -32602, "message": "bad cursor" })).await;
        })
    })
    .await;
    assert_eq!(first.expect("an item").expect_err("an error").code(), Some(-32602));
    assert!(soon(stream.next()).await.is_none());
}

// proves: PAGE-01, PROM-11
#[tokio::test]
async fn all_four_lists_are_walked() {
    let (client, fake) = connected().await;
    let page = |key: &str, item: Value, n: usize| {
        let mut page = json!({ key: [item, item] });
        if n < 2 {
            page["nextCursor"] = json!(format!("c{n}"));
        }
        page
    };
    let server = async {
        for (method, key, item) in [
            ("prompts/list", "prompts", json!({ "name": "p" })),
            ("resources/list", "resources", json!({ "uri": "x:1", "name": "r" })),
            ("resources/templates/list", "resourceTemplates", json!({ "uriTemplate": "x:{+p*}", "name": "t" })),
            ("tools/list", "tools", tools(&["t"])[0].clone()),
        ] {
            for n in 0..3 {
                let request = fake.expect(method).await;
                fake.reply(&request, page(key, item.clone(), n)).await;
            }
        }
    };
    let walks = async {
        let prompts: Vec<Prompt> = client.list_all_prompts().await.expect("prompts");
        let resources = client.list_all_resources().await.expect("resources");
        let templates = client.list_all_resource_templates().await.expect("templates");
        let tools = client.list_all_tools().await.expect("tools");
        assert_eq!(templates[0].uri_template, "x:{+p*}");
        (prompts.len(), resources.len(), templates.len(), tools.len())
    };
    let (counts, ()) = soon(async { tokio::join!(walks, server) }).await;
    assert_eq!(counts, (6, 6, 6, 6));
}
