//! What goes to a peer of which revision.

use serde::Serialize;
use serde_json::{Value, json};

use super::super::*;
use super::{must_read, written};
use crate::protocol::Revision;

const BASE: Revision = Revision::V2024_11_05;

fn projected<T: Project + Serialize>(mut value: T, revision: Revision) -> Value {
    value.project(revision).unwrap_or_else(|error| panic!("{revision}: {error}"));
    written(&value)
}

// proves: SCH-02, SCH-04, TOOL-16
#[test]
fn tool_16_later_members_of_a_tool_do_not_go_out() {
    let json = json!({
        "name": "n", "title": "t", "inputSchema": {"type": "object", "x": 1}, "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true}, "icons": [], "execution": {}, "_meta": {"a": 1}
    });
    let tool: Tool = must_read(&json);
    assert_eq!(projected(tool.clone(), BASE), json!({"name": "n", "inputSchema": {"type": "object", "x": 1}}));
    let march = projected(tool.clone(), Revision::V2025_03_26);
    assert_eq!((march.get("annotations").is_some(), march.get("title")), (true, None));
    let june = projected(tool.clone(), Revision::V2025_06_18);
    assert!(june.get("title").is_some() && june.get("outputSchema").is_some() && june.get("_meta").is_some());
}

// proves: TOOL-16
#[test]
fn tool_16_a_structured_result_becomes_json_text() {
    let block = |text: &str| json!({"type": "text", "text": text});
    let value = Json::parse(r#"{"b":1,"a":9007199254740993}"#).expect("it is JSON");
    let bare = CallToolResult::default().with_structured_content(value.clone());
    assert_eq!(projected(bare.clone(), BASE), json!({"content": [block(value.get())]}));
    assert!(projected(bare, Revision::V2025_06_18).get("structuredContent").is_some());
    // Other content stays, and the value is still told.
    let beside = CallToolResult::text("hi").with_structured_content(value.clone());
    assert_eq!(projected(beside, BASE), json!({"content": [block("hi"), block(value.get())]}));
    // What a block says already is not said twice.
    let same = CallToolResult::text(r#"{ "a": 9007199254740993, "b": 1 }"#).with_structured_content(value);
    assert_eq!(projected(same, BASE)["content"].as_array().map(Vec::len), Some(1));
    let made = CallToolResult::structured(&[1, 2]).expect("JSON holds it");
    assert_eq!(projected(made.clone(), BASE), json!({"content": [block("[1,2]")]}));
    // Only objects are structured content before 2026-07-28.
    assert_eq!(projected(made.clone(), Revision::V2025_11_25), json!({"content": [block("[1,2]")]}));
    assert_eq!(projected(made, Revision::V2026_07_28)["structuredContent"], json!([1, 2]));
    let null = CallToolResult::default().with_structured_content(Json::null());
    assert_eq!(projected(null, BASE), json!({"content": [block("null")]}));
}

// proves: TOOL-16, PROM-14, SCH-02
#[test]
fn prom_14_sound_and_links_become_lines_of_text() {
    let audio = Content::audio([0; 123], "audio/wav").expect("the type is fine");
    let link = Content::from(ResourceLink::new("x:1", "n").with_title("t").with_annotations(Annotations::new()));
    let prompt = GetPromptResult::new([PromptMessage::user(audio), PromptMessage::user(link)]);
    assert_eq!(
        projected(prompt.clone(), BASE),
        json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "[audio audio/wav, 123 bytes]"}},
            {"role": "user", "content": {"type": "text", "text": "[resource n: x:1]", "annotations": {}}},
        ]})
    );
    assert_eq!(projected(prompt.clone(), Revision::V2025_03_26)["messages"][0]["content"]["type"], "audio");
    assert_eq!(projected(prompt.clone(), Revision::V2025_03_26)["messages"][1]["content"]["type"], "text");
    assert_eq!(projected(prompt, Revision::V2025_06_18)["messages"][1]["content"]["type"], "resource_link");
    assert_eq!(projected(GetPromptResult::new([]), BASE), json!({"messages": []}));
    let prompt = Prompt::new("n").with_title("t").with_arguments([PromptArgument::new("a").with_title("t")]);
    assert_eq!(projected(prompt, BASE), json!({"name": "n", "arguments": [{"name": "a"}]}));
}

// proves: SCH-02
#[test]
fn an_unknown_block_is_not_sent_in_the_first_revision() {
    let mut result: CallToolResult = must_read(&json!({"content": [{"type": "text", "text": "a"}, {"type": "x-new"}]}));
    let error = result.clone().project(BASE).expect_err("x-new does not exist");
    assert_eq!(error.to_string(), "`content[1]`: content of type \"x-new\" does not exist in 2024-11-05");
    result.project(Revision::V2026_07_28).expect("the application knows best");
}

// proves: PROM-09
#[test]
fn prom_09_embedded_resources_have_a_media_type() {
    let mime = |contents: ResourceContents| {
        projected(CallToolResult::content([Content::resource(contents)]), BASE)["content"][0]["resource"]["mimeType"]
            .clone()
    };
    assert_eq!(mime(ResourceContents::text("x:1", "a")), "text/plain");
    assert_eq!(mime(ResourceContents::blob("x:1", [0])), "application/octet-stream");
    assert_eq!(mime(ResourceContents::text("x:1", "a").with_mime_type("text/html")), "text/html");
    let read: Content = must_read(&json!({"type": "resource", "resource": {"uri": "x:1", "text": "a"}}));
    let Content::Resource(read) = read else { panic!("no resource") };
    assert_eq!(read.resource.mime_type(), None);
}

// proves: SAMP-14, SAMP-03
#[test]
fn samp_14_sampling_without_later_features() {
    let message = |content: Content| CreateMessageRequest::new([SamplingMessage::user(content)], 10);
    let audio = Content::audio([0], "audio/wav").expect("the type is fine");
    for content in [audio.clone(), Content::resource(ResourceContents::text("x:1", "a"))] {
        let error = message(content).project(BASE).expect_err("it must not go out");
        assert_eq!(error.member(), "messages[0].content");
    }
    message(audio.clone()).project(Revision::V2025_03_26).expect("there is sound by then");
    assert!(CreateMessageResult::new(Role::Assistant, audio, "m").project(BASE).is_err());
    for member in ["tools", "toolChoice"] {
        let mut request = message(Content::text("a"));
        request.extra.insert(member, json!([]));
        assert_eq!(request.clone().project(BASE).expect_err("it must not go out").member(), member);
        request.project(Revision::V2025_11_25).expect("there are tools by then");
    }
    let mut preferences = ModelPreferences::new();
    preferences.speed_priority = Some(1.1);
    let mut request = message(Content::text("a")).with_model_preferences(preferences);
    assert_eq!(request.project(BASE).expect_err("out of range").member(), "modelPreferences.speedPriority");
}

// proves: CAP-08, SCH-02
#[test]
fn cap_08_later_capabilities_do_not_go_out() {
    let json = json!({
        "tools": {"listChanged": true, "x": 1}, "completions": {}, "tasks": {}, "x-foo": {}, "experimental": {"y": {"a": 1}}
    });
    let server: ServerCapabilities = must_read(&json);
    assert_eq!(projected(server, BASE), json!({"tools": {"listChanged": true}, "experimental": {"y": {"a": 1}}}));
    let client: ClientCapabilities = must_read(&json!({"elicitation": {}, "sampling": {"tools": {}}, "roots": {}}));
    assert_eq!(projected(client, BASE), json!({"sampling": {}, "roots": {}}));
}

// proves: PROG-13, COMP-11, SCH-04
#[test]
fn later_members_of_other_types_do_not_go_out() {
    let progress = ProgressNotification::new(1_i64, 1.0).with_message("m");
    assert_eq!(projected(progress, BASE), json!({"progressToken": 1, "progress": 1.0}));
    let context = CompletionContext::new().with_arguments(std::collections::BTreeMap::from([("a".into(), "b".into())]));
    let request = CompleteRequest::new(PromptReference::new("n").with_title("t"), CompletionArgument::new("a", "b"));
    assert_eq!(
        projected(request.with_context(context), BASE),
        json!({"ref": {"type": "ref/prompt", "name": "n"}, "argument": {"name": "a", "value": "b"}})
    );
    let resource: Resource = must_read(&json!({
        "uri": "x:1", "name": "n", "title": "t", "_meta": {}, "size": 3,
        "annotations": {"audience": ["user"], "lastModified": "2025-01-01T00:00:00Z"}
    }));
    assert_eq!(
        projected(ListResourcesResult::new([resource]).with_meta(Meta::new().with("a", json!(1))), BASE),
        json!({
            "resources": [{"uri": "x:1", "name": "n", "size": 3, "annotations": {"audience": ["user"]}}],
            "_meta": {"a": 1}
        })
    );
    let contents: ReadResourceResult =
        must_read(&json!({"contents": [{"uri": "x:1", "text": "a", "_meta": {}}], "zz": 1}));
    assert_eq!(projected(contents, BASE), json!({"contents": [{"uri": "x:1", "text": "a"}]}));
    let server = Implementation::new("n", "1").with_title("t");
    assert_eq!(projected(server, BASE), json!({"name": "n", "version": "1"}));
}

// proves: SCH-05, PROM-08, ROOT-03
#[test]
fn values_that_the_protocol_forbids_do_not_go_out() {
    let mut text = TextContent::new("a");
    for (given, sent) in [(1.5, json!({"priority": 1.0})), (-0.1, json!({"priority": 0.0})), (f64::NAN, json!({}))] {
        let mut annotations = Annotations::new();
        annotations.priority = Some(given);
        text.annotations = Some(annotations);
        assert_eq!(projected(text.clone(), BASE)["annotations"], sent);
    }
    let error = CallToolResult::content([ImageContent::new("AAE=", "png").into()]).project(BASE).expect_err("no type");
    assert_eq!(error.member(), "content[0].mimeType");
    assert!(AudioContent::new("AAE=", "").project(Revision::V2025_03_26).is_err());
    let mut roots = ListRootsResult::new([Root::new("file:///a"), Root::new("https://x/")]);
    assert_eq!(roots.project(BASE).expect_err("no file").member(), "roots[1].uri");
}

// proves: COMP-02
#[test]
fn comp_02_at_most_100_values_are_sent() {
    let values = |count: usize| CompleteResult::values((0..count).map(|i| i.to_string()));
    let cut = projected(values(250), BASE);
    let sent = cut["completion"]["values"].as_array().expect("values are an array");
    assert_eq!((sent.len(), &sent[99], &cut["completion"]["hasMore"]), (100, &json!("99"), &json!(true)));
    assert_eq!(projected(values(100), BASE)["completion"].get("hasMore"), None);
}

// proves: FC-071, CANC-01
#[test]
fn what_json_or_the_revision_cannot_say_is_refused() {
    let error = ProgressNotification::new("t", f64::NAN).project(BASE).expect_err("no number");
    assert_eq!(error.member(), "progress");
    let error = ProgressNotification::new("t", 1.0).with_total(f64::INFINITY).project(BASE).expect_err("no number");
    assert_eq!(error.member(), "total");
    assert!(CancelledNotification::new().project(BASE).is_err());
    assert!(CancelledNotification::new().project(Revision::V2025_11_25).is_ok());
    assert_eq!(projected(CancelledNotification::of(1_i64), BASE), json!({"requestId": 1}));
}
