//! Resources and templates (RES, TMPL).

use mcp_native::protocol::{Resource, ResourceContents, ResourceTemplate};
use mcp_native::server::{CompletionTarget, Item};
use mcp_native::{Error, ErrorKind, Server};
use serde_json::{Value, json};

use crate::common::{Peer, builder};

fn server() -> Server {
    let server = builder().build();
    server
        .resource(Resource::new("test://text", "text").with_mime_type("text/x"), |_, _| async { Ok("hello") })
        .expect("new");
    server
        .resource(Resource::new("test://bytes", "bytes"), |_, _| async { Ok((0..=255).collect::<Vec<u8>>()) })
        .expect("new");
    server.resource(Resource::new("MyApp://Doc", "doc"), |uri, _| async move { Ok(uri) }).expect("new");
    server
}

async fn read(peer: &Peer, uri: &str) -> Value {
    peer.result("resources/read", json!({ "uri": uri })).await["contents"].clone()
}

// proves: RES-02, RES-03, RES-04, RES-08, FC-070
#[tokio::test]
async fn res_03_text_and_bytes_are_read() {
    let peer = Peer::ready(&server()).await;
    let listed = peer.result("resources/list", json!({})).await;
    assert_eq!(listed["resources"][0], json!({ "uri": "test://text", "name": "text", "mimeType": "text/x" }));
    let text = read(&peer, "test://text").await;
    assert_eq!(text, json!([{ "uri": "test://text", "text": "hello", "mimeType": "text/x" }]));
    let bytes = read(&peer, "test://bytes").await[0].clone();
    assert_eq!(bytes.get("text"), None);
    let blob = bytes["blob"].as_str().expect("a blob");
    assert_eq!(blob.len() % 4, 0);
    let contents: ResourceContents = serde_json::from_value(bytes.clone()).expect("contents");
    assert_eq!(contents.bytes().expect("base64"), (0..=255).collect::<Vec<u8>>());
    let empty = Peer::ready(&builder().offer_resources(true).build()).await;
    assert_eq!(empty.result("resources/list", json!({})).await, json!({ "resources": [] }));
}

// proves: RES-05, RES-17, RES-18, FC-065
#[tokio::test]
async fn res_05_unknown_and_malformed_uris_are_errors() {
    let peer = Peer::ready(&server()).await;
    for uri in ["x:none", "test://Nope/%41", "myapp://doc", "test://text/"] {
        let answer = peer.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(answer["error"]["code"], -32002, "{answer}");
        assert_eq!(answer["error"]["data"]["uri"], uri);
    }
    for params in [
        json!({ "uri": "" }),
        json!({ "uri": 5 }),
        json!({}),
        json!({ "uri": "no scheme" }),
        json!({ "uri": "/etc/passwd" }),
    ] {
        assert_eq!(peer.error("resources/read", params.clone()).await.0, -32602, "{params}");
    }
    assert_eq!(read(&peer, "MyApp://Doc").await[0]["uri"], "MyApp://Doc");
}

// proves: RES-06, JRPC-26
#[tokio::test]
async fn res_06_a_reader_that_fails_says_nothing_of_the_inside() {
    let server = builder().build();
    server
        .resource(Resource::new("x:io", "io"), |_, _| async {
            let bytes = std::fs::read("/no/such/secret/file");
            bytes.map_err(|error| Error::internal("The file cannot be read").with_source(error))
        })
        .expect("new");
    let peer = Peer::ready(&server).await;
    let (code, message) = peer.error("resources/read", json!({ "uri": "x:io" })).await;
    assert_eq!((code, message.as_str()), (-32603, "The file cannot be read"));
}

// proves: RES-07
#[tokio::test]
async fn res_07_no_template_is_talked_out_of_its_tree() {
    let server = builder().build();
    server
        .resource_template(ResourceTemplate::new("file:///data/{+path}", "file"), |uri, _, _| async move { Ok(uri) })
        .expect("new");
    let peer = Peer::ready(&server).await;
    assert_eq!(read(&peer, "file:///data/a/b").await[0]["text"], "file:///data/a/b");
    for uri in [
        "file:///data/../etc/passwd",
        "file:///data/%2e%2e/etc/passwd",
        "file:///data/a/..%2f..%2fetc",
        "FILE:///data/../etc",
        "file://x/%2e%2e/",
    ] {
        let (code, message) = peer.error("resources/read", json!({ "uri": uri })).await;
        assert!(code == -32602 || code == -32002, "{uri}: {code} {message}");
    }
}

// proves: RES-09, TOOL-12, COMP-06
#[tokio::test]
async fn res_09_what_is_not_visible_does_not_exist() {
    let server = builder()
        .visibility(|context, item| match item {
            Item::Resource(resource) => {
                resource.uri != "x:secret" || context.peer().is_some_and(|peer| peer.info.name == "admin")
            }
            _ => true,
        })
        .build();
    server.resource(Resource::new("x:secret", "s"), |_, _| async { Ok("secret") }).expect("new");
    server.resource(Resource::new("x:open", "o"), |_, _| async { Ok("open") }).expect("new");
    let peer = Peer::ready(&server).await;
    assert_eq!(peer.error("resources/read", json!({ "uri": "x:secret" })).await.0, -32002);
    assert_eq!(read(&peer, "x:open").await[0]["text"], "open");
    assert_eq!(peer.result("resources/list", json!({})).await["resources"].as_array().map(Vec::len), Some(1));
}

// proves: RES-13
#[tokio::test]
async fn res_13_a_uri_names_one_resource() {
    let server = server();
    let twice = server.resource(Resource::new("test://text", "other"), |_, _| async { Ok("") });
    assert_eq!(twice.expect_err("taken").kind(), ErrorKind::Duplicate);
    let relative = server.resource(Resource::new("text", "text"), |_, _| async { Ok("") });
    assert_eq!(relative.expect_err("not absolute").kind(), ErrorKind::InvalidArgument);
    let peer = Peer::ready(&server).await;
    assert_eq!(peer.result("resources/list", json!({})).await["resources"].as_array().map(Vec::len), Some(3));
}

// proves: RES-16, TMPL-01, TMPL-02, FC-064
#[tokio::test]
async fn res_16_expansions_of_templates_are_read() {
    let server = builder().build();
    server
        .resource_template(ResourceTemplate::new("test://items/{id}", "item"), |_, variables, _| async move {
            Ok(variables.text("id").unwrap_or_default().to_owned())
        })
        .expect("new");
    let typed = ResourceTemplate::new("test://search{?q,limit}", "search").with_mime_type("text/plain");
    server
        .resource_template(typed, |_, variables, _| async move {
            Ok(format!("{:?} {:?}", variables.text("q"), variables.text("limit")))
        })
        .expect("new");
    let bad = server.resource_template(ResourceTemplate::new("test://{", "bad"), |_, _, _| async { Ok("") });
    assert_eq!(bad.expect_err("malformed").kind(), ErrorKind::InvalidArgument);
    let peer = Peer::ready(&server).await;
    let listed = peer.result("resources/templates/list", json!({})).await;
    let expected = json!({ "resourceTemplates": [
        { "uriTemplate": "test://items/{id}", "name": "item" },
        { "uriTemplate": "test://search{?q,limit}", "name": "search", "mimeType": "text/plain" },
    ] });
    assert_eq!(listed, expected);
    assert_eq!(peer.result("resources/list", json!({})).await, json!({ "resources": [] }));
    for (uri, text) in [
        ("test://items/a%20b", "a b"),
        ("test://items/a%2Fb", "a/b"),
        ("test://items/caf%C3%A9", "café"),
        ("test://search?limit=2&q=x%26y", "Some(\"x&y\") Some(\"2\")"),
        ("test://search", "None None"),
    ] {
        let contents = read(&peer, uri).await;
        assert_eq!((&contents[0]["uri"], &contents[0]["text"]), (&json!(uri), &json!(text)));
    }
    assert_eq!(peer.error("resources/read", json!({ "uri": "test://items/%zz" })).await.0, -32602);
    assert_eq!(peer.error("resources/read", json!({ "uri": "test://items/a/b" })).await.0, -32002);
    let empty = Peer::ready(&server_with_one_resource()).await;
    assert_eq!(empty.result("resources/templates/list", json!({})).await, json!({ "resourceTemplates": [] }));
}

fn server_with_one_resource() -> Server {
    let server = builder().build();
    server.resource(Resource::new("x:a", "a"), |_, _| async { Ok("a") }).expect("new");
    server
}

// proves: TMPL-03, COMP-04
#[tokio::test]
async fn tmpl_03_variables_are_completed() {
    let server = builder().build();
    server.resource_template(ResourceTemplate::new("x:{who}", "w"), |_, _, _| async { Ok("") }).expect("new");
    server.completion(CompletionTarget::resource_template("x:{who}", "who"), |typed, _| async move {
        Ok(vec![format!("{typed}na")])
    });
    let peer = Peer::ready(&server).await;
    let params =
        json!({ "ref": { "type": "ref/resource", "uri": "x:{who}" }, "argument": { "name": "who", "value": "an" } });
    assert_eq!(peer.result("completion/complete", params).await, json!({ "completion": { "values": ["anna"] } }));
}
