//! Calls and their outcomes: JSON-RPC, tools, resources, prompts, logging.

use mcp_native::ErrorKind;
use mcp_native::engine::Diagnostic;
use mcp_native::protocol::{CallToolResult, Content, Json, LoggingLevel, Meta, ResourceContents};
use serde_json::{Value, json};

use super::support::{Fake, Seen, builder, connected, connected_with, everything, soon};

/// The outcome of a call of the tool `t` to which the server answers `result`.
async fn called(client: &mcp_native::Client, fake: &Fake, result: Value) -> Result<CallToolResult, mcp_native::Error> {
    let pending = client.call_tool("t", json!({})).send().expect("sent");
    let request = fake.expect("tools/call").await;
    fake.reply(&request, result).await;
    soon(pending).await
}

// proves: JRPC-20, JRPC-23, FC-001, FC-003, FC-007, FC-040
#[tokio::test]
async fn garbage_is_reported_and_never_answered() {
    let oddities = Seen::new();
    let seen = oddities.clone();
    let builder = builder().on_diagnostic(move |odd| seen.push(odd.to_string()));
    let (client, mut fake) = connected_with(builder, everything()).await;
    let pending = client.list_tools(None).send().expect("sent");
    let request = fake.expect("tools/list").await;
    for garbage in ["Server v1 running", "{not json", "null", "42", "\"x\"", "{}", "[]"] {
        fake.send_text(garbage).await;
    }
    fake.send(json!({ "jsonrpc": "2.0", "id": 999, "result": {} })).await;
    fake.send(json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32700, "message": "parse" } })).await;
    fake.quiet().await;
    fake.reply(&request, json!({ "tools": [] })).await;
    assert_eq!(soon(pending).await.expect("unharmed").tools, []);
    assert_eq!(oddities.wait_for(9).await.len(), 9);
}

// proves: JRPC-08, JRPC-11, FC-040
#[tokio::test]
async fn an_answer_that_is_none_fails_its_call_alone() {
    let (client, fake) = connected().await;
    for tail in [
        "",
        ",\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}",
        ",\"result\":null",
        ",\"result\":5",
        ",\"error\":{\"message\":\"no code\"}",
    ] {
        let pending = client.list_tools(None).send().expect("sent");
        let request = fake.expect("tools/list").await;
        fake.send_text(format!("{{\"jsonrpc\":\"2.0\",\"id\":{}{tail}}}", request["id"])).await;
        assert_eq!(soon(pending).await.expect_err(tail).kind(), ErrorKind::InvalidResponse, "{tail}");
    }
    called(&client, &fake, json!({ "content": [] })).await.expect("the session lives");
}

// proves: JRPC-07, JRPC-24, FC-048
#[tokio::test]
async fn answers_find_their_calls_in_any_order_and_ids_of_the_directions_do_not_mix() {
    let (client, fake) = connected().await;
    let first = client.call_tool("a", json!({})).send().expect("sent");
    let second = client.call_tool("b", json!({})).send().expect("sent");
    let a = fake.expect("tools/call").await;
    let b = fake.expect("tools/call").await;
    assert_ne!(a["id"], b["id"]);
    fake.send(json!({ "jsonrpc": "2.0", "id": a["id"], "method": "ping" })).await;
    assert_eq!(fake.response(a["id"].clone()).await["result"], json!({}));
    fake.reply(&b, json!({ "content": [{ "type": "text", "text": "b" }] })).await;
    fake.reply(&a, json!({ "content": [{ "type": "text", "text": "a" }] })).await;
    assert_eq!(soon(first).await.expect("answered").texts().collect::<Vec<_>>(), ["a"]);
    assert_eq!(soon(second).await.expect("answered").texts().collect::<Vec<_>>(), ["b"]);
}

// proves: JRPC-09, JRPC-27
#[tokio::test]
async fn errors_reach_the_caller_as_they_came() {
    let (client, fake) = connected().await;
    for (code, data) in [(-31999, json!({ "k": 1 })), (7, json!([1, null])), (-32602, Value::Null)] {
        let pending = client.call_tool("t", json!({})).send().expect("sent");
        let request = fake.expect("tools/call").await;
        fake.reply_error(&request, json!({ "code": code, "message": "m", "data": data })).await;
        let error = soon(pending).await.expect_err("an error");
        assert_eq!((error.code(), error.message()), (Some(code), "m"));
        let received = error.data().map_or(Value::Null, |data| data.to_value().expect("JSON"));
        assert_eq!(received, data);
    }
}

// proves: JRPC-28, FC-014
#[tokio::test]
async fn the_end_of_the_connection_fails_what_is_pending() {
    let (client, fake) = connected().await;
    let pending = [client.list_tools(None).send().expect("sent"), client.list_tools(None).send().expect("sent")];
    fake.expect("tools/list").await;
    fake.close().await;
    for call in pending {
        assert_eq!(soon(call).await.expect_err("gone").kind(), ErrorKind::Closed);
    }
    soon(client.closed()).await;
    assert_eq!(client.list_tools(None).await.expect_err("gone").kind(), ErrorKind::Closed);
}

// proves: JRPC-12, JRPC-13, JRPC-14, JRPC-30, FC-041
#[tokio::test]
async fn unknown_requests_are_refused_and_unknown_notifications_dropped() {
    let (_client, mut fake) = connected().await;
    for method in ["no/such", "tools/call", "rpc.discover", "initialize", "notifications/initialized"] {
        assert_eq!(fake.ask(method, json!({})).await["error"]["code"], -32601, "{method}");
    }
    for (method, params) in [
        ("notifications/nope", json!({ "a": 1 })),
        ("notifications/message", json!({ "level": "nonsense" })),
        ("notifications/resources/updated", json!({})),
        ("notifications/cancelled", json!({})),
    ] {
        fake.notify(method, params).await;
    }
    fake.quiet().await;
}

// proves: SCH-03, SCH-04
#[tokio::test]
async fn nulls_count_as_absent_and_meta_is_kept() {
    let (client, fake) = connected().await;
    let pending = client.list_tools(None).send().expect("sent");
    let request = fake.expect("tools/list").await;
    let tool = json!({ "name": "t", "description": null, "inputSchema": { "type": "object" }, "zz": 1 });
    fake.reply(&request, json!({ "tools": [tool], "nextCursor": null, "_meta": { "a": 1 } })).await;
    let page = soon(pending).await.expect("read");
    assert_eq!((page.tools[0].description.as_deref(), page.next_cursor.as_deref()), (None, None));
    assert_eq!(page.tools[0].extra.get("zz").map(Json::get), Some("1"));
    assert_eq!(page.meta.and_then(|meta| meta.get("a").map(|a| a.get().to_owned())).as_deref(), Some("1"));
}

// proves: SCH-09
#[tokio::test]
async fn the_pending_request_decides_how_a_result_is_read() {
    let (client, fake) = connected().await;
    let (listing, ping) = (client.list_tools(None).send().expect("sent"), client.ping().send().expect("sent"));
    for _ in 0..2 {
        let request = fake.next().await.expect("two requests");
        fake.reply(&request, json!({})).await;
    }
    let error = soon(listing).await.expect_err("no tools in it");
    assert_eq!(error.kind(), ErrorKind::InvalidResponse);
    assert!(error.message().contains("tools/list") && error.message().contains("`tools`"), "{error}");
    soon(ping).await.expect("anything will do");
}

// proves: SCH-13
#[tokio::test]
async fn free_form_json_passes_untouched_both_ways() {
    let text = r#"{"a":9007199254740993,"b":null,"c":{},"d":[],"e":1.0,"f":1e3}"#;
    let (near, far) = mcp_native::transport::memory::pair();
    let fake = Fake::new(far);
    let raw = Seen::new();
    let seen = raw.clone();
    let tap =
        mcp_native::transport::Tap::new(move |record| seen.push(String::from_utf8_lossy(&record.frame).into_owned()));
    let (client, _) =
        soon(async { tokio::join!(builder().tap(tap).connect(near), fake.handshake(everything())) }).await;
    let client = client.expect("connected");
    let pending = client.call_tool("t", Json::parse(text).expect("JSON")).send().expect("sent");
    let request = fake.expect("tools/call").await;
    assert!(raw.all().iter().any(|frame| frame.contains(&format!("\"arguments\":{text}"))));
    fake.send_text(format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[],"structuredContent":{text}}}}}"#,
        request["id"]
    ))
    .await;
    let result = soon(pending).await.expect("answered");
    assert_eq!(result.structured_content.as_ref().map(Json::get), Some(text));
}

// proves: TOOL-09
#[tokio::test]
async fn a_failed_tool_is_a_result() {
    let (client, fake) = connected().await;
    let failed = json!({ "content": [{ "type": "text", "text": "disk full" }], "isError": true });
    let result = called(&client, &fake, failed).await.expect("a result all the same");
    assert!(result.is_error);
    assert_eq!(result.texts().collect::<Vec<_>>(), ["disk full"]);
    assert!(!called(&client, &fake, json!({ "content": [] })).await.expect("a result").is_error);
}

// proves: TOOL-17, FC-049
#[tokio::test]
async fn an_unknown_kind_of_content_does_not_void_the_result() {
    let (client, fake) = connected().await;
    let content = json!([{ "type": "x-new", "v": 1 }, { "type": "text", "text": "usable" }]);
    let result = called(&client, &fake, json!({ "content": content })).await.expect("read");
    assert_eq!(result.content.len(), 2);
    assert!(matches!(&result.content[0], Content::Unknown(_)));
    assert_eq!(result.texts().collect::<Vec<_>>(), ["usable"]);
}

// proves: SCH-T20, FC-068
#[tokio::test]
async fn missing_content_is_forgiven_and_reported() {
    let oddities = Seen::new();
    let seen = oddities.clone();
    let builder = builder().on_diagnostic(move |odd| seen.push(matches!(odd, Diagnostic::MissingContent)));
    let (client, fake) = connected_with(builder, everything()).await;
    let result = called(&client, &fake, json!({ "structuredContent": { "a": 1 } })).await.expect("read");
    assert!(result.content.is_empty() && result.content_missing);
    assert_eq!(result.structured_content.as_ref().map(Json::get), Some("{\"a\":1}"));
    assert_eq!(oddities.all(), [true]);
}

// proves: TOOL-10
#[tokio::test]
async fn arguments_are_objects_or_left_out() {
    let (client, mut fake) = connected().await;
    for arguments in [json!([1]), json!("x"), json!(5)] {
        let error = client.call_tool("t", &arguments).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{arguments}");
    }
    fake.quiet().await;
    for none in [client.call_tool("t", ()), client.call_tool("t", Value::Null)] {
        let none = none.send().expect("sent");
        assert_eq!(fake.expect("tools/call").await["params"], json!({ "name": "t" }));
        drop(none);
        fake.expect("notifications/cancelled").await;
    }
}

// proves: RES-10, RES-14, SCH-10
#[tokio::test]
async fn uris_go_out_byte_for_byte_and_nothing_is_fetched_here() {
    let (client, fake) = connected().await;
    for uri in ["git://h/r", "x-my+y:thing", "HTTP://A/%7Eb/", "https://example.com/a b", "MyApp://Doc"] {
        let pending = client.read_resource(uri).send().expect("sent");
        let request = fake.expect("resources/read").await;
        assert_eq!(request["params"], json!({ "uri": uri }));
        fake.reply(&request, json!({ "contents": [{ "uri": uri, "text": "x" }] })).await;
        assert_eq!(soon(pending).await.expect("read").contents[0].uri(), uri);
    }
}

// proves: RES-15, SCH-08
#[tokio::test]
async fn contents_may_be_several_with_uris_of_their_own() {
    let (client, fake) = connected().await;
    let pending = client.read_resource("x:/d").send().expect("sent");
    let request = fake.expect("resources/read").await;
    let contents = json!([
        { "uri": "x:/d/1", "text": "one" }, { "uri": "x:/d/2", "blob": "AAE" }, { "uri": "x:/d/3", "blob": "***" },
    ]);
    fake.reply(&request, json!({ "contents": contents })).await;
    let read = soon(pending).await.expect("bad base64 does not void the message").contents;
    assert_eq!(read.iter().map(ResourceContents::uri).collect::<Vec<_>>(), ["x:/d/1", "x:/d/2", "x:/d/3"]);
    assert_eq!(read[1].bytes().expect("unpadded base64 is read"), [0, 1]);
    assert!(read[2].bytes().is_err(), "bad base64 is found when it is decoded");
}

// proves: RES-11
#[tokio::test]
async fn resources_are_listed_unchanged() {
    let (client, fake) = connected().await;
    let pending = client.list_resources(None).send().expect("sent");
    let request = fake.expect("resources/list").await;
    fake.reply(&request, json!({ "resources": [{ "uri": "file:///d", "name": "d", "mimeType": "inode/directory" }] }))
        .await;
    let listed = soon(pending).await.expect("read").resources;
    assert_eq!((listed[0].uri.as_str(), listed[0].mime_type.as_deref()), ("file:///d", Some("inode/directory")));
}

// proves: SUB-05, SUB-09
#[tokio::test]
async fn an_update_is_handed_on_and_nothing_is_read_for_it() {
    let updates = Seen::new();
    let seen = updates.clone();
    let builder = builder().on_resource_updated(move |uri| seen.push(uri));
    let (client, mut fake) = connected_with(builder, everything()).await;
    let pending = client.subscribe("x:/d").send().expect("sent");
    let request = fake.expect("resources/subscribe").await;
    assert_eq!(request["params"], json!({ "uri": "x:/d" }));
    fake.reply(&request, json!({})).await;
    soon(pending).await.expect("subscribed");
    fake.notify("notifications/resources/updated", json!({ "uri": "x:/d/f" })).await;
    fake.quiet().await;
    assert_eq!(updates.all(), ["x:/d/f"]);
    let pending = client.unsubscribe("x:/d").send().expect("sent");
    let request = fake.expect("resources/unsubscribe").await;
    fake.reply(&request, json!({})).await;
    soon(pending).await.expect("unsubscribed");
}

// proves: PROM-04, PROM-07, PROM-13
#[tokio::test]
async fn prompts_have_string_arguments_and_two_roles() {
    let (client, mut fake) = connected().await;
    let error = client.get_prompt("p", json!({ "n": 5 })).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    fake.quiet().await;
    for (role, fine) in [("user", true), ("assistant", true), ("system", false)] {
        let pending = client.get_prompt("p", json!({ "n": "5" })).send().expect("sent");
        let request = fake.expect("prompts/get").await;
        assert_eq!(request["params"], json!({ "name": "p", "arguments": { "n": "5" } }));
        let message = json!({ "role": role, "content": { "type": "text", "text": "x" } });
        fake.reply(&request, json!({ "messages": [message] })).await;
        assert_eq!(
            soon(pending).await.map_err(|error| error.kind()).err(),
            (!fine).then_some(ErrorKind::InvalidResponse)
        );
    }
    // After all that, nothing is asked for by the client itself.
    fake.quiet().await;
}

// proves: LOG-02, LOG-10
#[tokio::test]
async fn log_messages_reach_the_callback_unchanged() {
    let logs = Seen::new();
    let seen = logs.clone();
    let builder = builder().on_log(move |message| {
        seen.push((message.level, message.logger, message.data.get().to_owned()));
    });
    let (client, mut fake) = connected_with(builder, everything()).await;
    let pending = client.set_log_level(LoggingLevel::Debug).send().expect("sent");
    let request = fake.expect("logging/setLevel").await;
    assert_eq!(request["params"], json!({ "level": "debug" }));
    fake.reply(&request, json!({})).await;
    soon(pending).await.expect("set");
    fake.notify("notifications/message", json!({ "level": "alert", "logger": "db", "data": { "a": [1] } })).await;
    fake.notify("notifications/message", json!({ "level": "debug", "data": null })).await;
    fake.quiet().await;
    let expected = [
        (LoggingLevel::Alert, Some("db".to_owned()), r#"{"a":[1]}"#.to_owned()),
        (LoggingLevel::Debug, None, "null".to_owned()),
    ];
    assert_eq!(logs.all(), expected);
}

// proves: TMPL-04
#[tokio::test]
async fn changes_of_lists_are_told_and_nothing_is_listed_for_them() {
    let changes = Seen::new();
    let note = |what: &'static str| {
        let changes = changes.clone();
        move || changes.push(what)
    };
    let builder = builder()
        .on_tools_changed(note("tools"))
        .on_prompts_changed(note("prompts"))
        .on_resources_changed(note("resources"));
    let (_client, mut fake) = connected_with(builder, everything()).await;
    for list in ["resources", "tools", "prompts"] {
        fake.send(json!({ "jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed") })).await;
    }
    fake.quiet().await;
    assert_eq!(changes.all(), ["resources", "tools", "prompts"]);
}

#[tokio::test]
async fn methods_of_the_application_go_both_ways() {
    let notes = Seen::new();
    let seen = notes.clone();
    let builder = builder()
        .method("app/double", |params: Json, context| async move {
            let n = params.to_value()?["n"].as_i64().unwrap_or_default();
            let trace = context.meta().get("traceparent").cloned();
            Ok(Json::from_serialize(&json!({ "n": n * 2, "trace": trace }))?)
        })
        .on_notification(move |method, params| seen.push((method.to_owned(), params.map(|p| p.get().to_owned()))));
    let (client, mut fake) = connected_with(builder, everything()).await;
    let answer = fake.ask("app/double", json!({ "n": 21, "_meta": { "traceparent": "00-1" } })).await;
    assert_eq!(answer["result"], json!({ "n": 42, "trace": "00-1" }));
    fake.notify("app/note", json!({ "x": 1 })).await;
    fake.quiet().await;
    assert_eq!(notes.all(), [("app/note".to_owned(), Some("{\"x\":1}".to_owned()))]);

    let params = Json::parse(r#"{"a":1,"_meta":{"inside":true}}"#).expect("JSON");
    let meta = Meta::new().with("traceparent", json!("00-2"));
    let pending = client.request("app/other", Some(params)).meta(meta).on_progress(|_| {}).send().expect("sent");
    let request = fake.expect("app/other").await;
    let token = request["id"].clone();
    assert_eq!(
        request["params"],
        json!({ "_meta": { "inside": true, "traceparent": "00-2", "progressToken": token }, "a": 1 })
    );
    fake.reply(&request, json!({ "anything": [1, 2] })).await;
    assert_eq!(soon(pending).await.expect("answered").get(), r#"{"anything":[1,2]}"#);

    client.notify("app/told", Some(Json::parse("{\"y\":2}").expect("JSON"))).expect("sent");
    assert_eq!(fake.expect("app/told").await["params"], json!({ "y": 2 }));
}

// proves: JRPC-16
#[tokio::test]
async fn what_the_library_sends_by_itself_cannot_be_sent_by_hand() {
    let (client, mut fake) = connected().await;
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/progress"] {
        assert_eq!(client.notify(method, None).expect_err(method).kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(
        client.request("initialize", None).await.expect_err("once is enough").kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        client.request("x", Some(Json::parse("[1]").expect("JSON"))).await.expect_err("no object").kind(),
        ErrorKind::InvalidArgument
    );
    assert_eq!(
        client.notify("notifications/tools/list_changed", None).expect_err("a server's").kind(),
        ErrorKind::Unsupported
    );
    fake.quiet().await;
}
