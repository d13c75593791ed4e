//! Rules of single types.

use serde_json::{Value, json};

use super::super::*;
use super::{must_read, read, refusal, text_of, written};
use crate::protocol::Revision;

const BASE: Revision = Revision::V2024_11_05;

fn text_message() -> Value {
    json!({"role": "user", "content": {"type": "text", "text": "a"}})
}

// proves: SCH-03
#[test]
fn sch_03_null_is_absent_but_where_null_is_data() {
    let list: ListToolsResult = must_read(
        &json!({"tools": [{"name": "n", "inputSchema": {"type": "object"}, "description": null}], "nextCursor": null}),
    );
    assert_eq!((list.next_cursor.as_deref(), list.tools[0].description.as_deref()), (None, None));
    let log: LoggingMessageNotification = must_read(&json!({"level": "info", "data": null, "logger": null}));
    assert!(log.data.is_null() && log.logger.is_none());
    // A structured result may be null, which is not the same as none.
    let result: CallToolResult = must_read(&json!({"content": [], "structuredContent": null}));
    assert_eq!(result.structured_content, Some(Json::null()));
    assert_eq!(must_read::<CallToolResult>(&json!({"content": []})).structured_content, None);
    // A required member that is null is an error.
    assert!(refusal::<Root>(&json!({"uri": null})).contains("`uri`"));
}

// proves: SCH-05
#[test]
fn sch_05_priorities_out_of_range_are_not_built_but_read() {
    for priority in [-0.1, 1.5, f64::NAN, f64::INFINITY] {
        assert!(Annotations::new().with_priority(priority).is_err(), "{priority}");
    }
    for priority in [0.0, 0.5, 1.0] {
        let annotations = Annotations::new().with_priority(priority).expect("it is in range");
        assert_eq!(written(&annotations), json!({"priority": priority}));
    }
    let list: ListResourcesResult =
        must_read(&json!({"resources": [{"uri": "x:1", "name": "n", "annotations": {"priority": 1.5}}]}));
    assert_eq!(list.resources[0].annotations.as_ref().and_then(|hints| hints.priority), Some(1.5));
}

// proves: SCH-06, PROG-06
#[test]
fn sch_06_integers_stay_integers_and_reals_reals() {
    assert_eq!(text_of(&Resource::new("x:1", "n").with_size(3)), r#"{"uri":"x:1","name":"n","size":3}"#);
    assert_eq!(text_of(&CreateMessageRequest::new([], 10)), r#"{"messages":[],"maxTokens":10}"#);
    let progress = ProgressNotification::new("t", 0.2).with_total(1.0);
    assert_eq!(text_of(&progress), r#"{"progressToken":"t","progress":0.2,"total":1.0}"#);
    let read: ProgressNotification = must_read(&json!({"progressToken": 1, "progress": 0.2, "total": 1}));
    assert_eq!((read.progress, read.total), (0.2, Some(1.0)));
    assert!(refusal::<Resource>(&json!({"uri": "x:1", "name": "n", "size": 1.5})).contains("`size`"));
}

// proves: SCH-07
#[test]
fn sch_07_contents_are_told_by_presence() {
    let contents = |json: Value| read::<ResourceContents>(&json);
    assert_eq!(contents(json!({"uri": "x:1", "text": "a"})), Ok(ResourceContents::text("x:1", "a")));
    assert_eq!(contents(json!({"uri": "x:1", "blob": "AAE="})), Ok(ResourceContents::blob("x:1", [0, 1])));
    let both = contents(json!({"uri": "x:1", "blob": "AAE=", "text": "a"})).expect("it is read as text");
    assert_eq!(written(&both), json!({"uri": "x:1", "text": "a"}));
    let nothing = contents(json!({"uri": "x:1"})).expect_err("neither is there");
    assert!(nothing.contains("`text`") && nothing.contains("`blob`"), "{nothing}");
    assert_eq!(contents(json!({"uri": "x:1", "blob": "", "text": null})), Ok(ResourceContents::blob("x:1", [])));
    // The tag of content may stand anywhere.
    for order in
        [r#"{"type":"text","text":"a"}"#, r#"{"text":"a","type":"text"}"#, r#"{"\u0074ype":"text","t\u0065xt":"a"}"#]
    {
        assert_eq!(serde_json::from_str::<Content>(order).expect("it is readable"), Content::text("a"));
    }
    assert!(refusal::<Content>(&json!({"text": "a"})).contains("`type`"));
    assert!(refusal::<Content>(&json!({"type": 1, "text": "a"})).contains("`type`"));
}

// proves: SCH-08, RES-04, FC-070
#[test]
fn sch_08_base64_is_standard_out_and_forgiving_in() {
    let all: Vec<u8> = (0..=255).collect();
    let contents = BlobResourceContents::from_bytes("x:1", &all);
    assert_eq!(contents.blob.len() % 4, 0);
    assert_eq!(contents.bytes().as_ref(), Ok(&all));
    let blob = |blob: &str| BlobResourceContents::new("x:1", blob).bytes();
    let bytes = vec![0xFB, 0xFF, 0xFE, 0xFF];
    assert_eq!(BlobResourceContents::from_bytes("x:1", &bytes).blob, "+//+/w==");
    for text in ["+//+/w==", "+//+/w", "-__-_w==", "-__-_w"] {
        assert_eq!(blob(text).as_ref(), Ok(&bytes), "{text}");
    }
    assert_eq!(blob(""), Ok(Vec::new()));
    // What is wrong surfaces when the bytes are asked for; the item itself is there.
    let read: ReadResourceResult = must_read(&json!({"contents": [{"uri": "x:1", "blob": "***"}]}));
    assert!(read.contents[0].bytes().is_err());
    for text in ["***", "A", "AA=A", "AB==C", "AA AA", "+_"] {
        assert!(blob(text).is_err(), "{text}");
    }
    let image = ImageContent::from_bytes([0x89, 0x50, 0x4E, 0x47], "image/png").expect("the type is fine");
    assert_eq!(image.data, "iVBORw==");
}

// proves: SCH-10, RES-14
#[test]
fn sch_10_uris_are_kept_as_given() {
    for uri in ["http://a/%7e", "git://h/r", "x-my+y:thing", "HTTP://A/%7Eb/", "file:///a/../b", ""] {
        let resource: Resource = must_read(&json!({"uri": uri, "name": "n"}));
        assert_eq!(resource.uri, uri);
        assert_eq!(written(&ReadResourceRequest::new(resource.uri))["uri"], uri);
    }
    let template: ResourceTemplate = must_read(&json!({"uriTemplate": "x:{+p*}", "name": "n"}));
    assert_eq!(template.uri_template, "x:{+p*}");
}

// proves: SCH-09
#[test]
fn sch_09_the_pending_request_decides() {
    assert!(refusal::<ListToolsResult>(&json!({})).contains("`tools`"));
    must_read::<EmptyResult>(&json!({}));
    must_read::<EmptyResult>(&json!({"tools": 5}));
}

// proves: CAP-02, CAP-03, CAP-04, CAP-11, CAP-12
#[test]
fn capabilities_are_there_if_their_object_is() {
    let server = |json: Value| must_read::<ServerCapabilities>(&json);
    assert!(server(json!({"tools": {}})).tools.is_some());
    assert!(server(json!({})).tools.is_none());
    assert!(server(json!({"tools": null, "logging": null})) == ServerCapabilities::new());
    let flags = |json: Value| {
        let capabilities = server(json!({"resources": json}));
        (capabilities.resources_subscribe(), capabilities.resources_list_changed())
    };
    assert_eq!(flags(json!({})), (false, false));
    assert_eq!(flags(json!({"subscribe": true})), (true, false));
    assert_eq!(flags(json!({"listChanged": true})), (false, true));
    assert_eq!(flags(json!({"subscribe": true, "listChanged": true})), (true, true));
    assert_eq!(flags(json!({"subscribe": false, "listChanged": null})), (false, false));
    assert!(server(json!({"tools": {"listChanged": true}})).tools_list_changed());
    assert!(server(json!({"prompts": {"listChanged": true}})).prompts_list_changed());
    let client: ClientCapabilities = must_read(&json!({"roots": {"listChanged": true}}));
    assert!(client.roots_list_changed());

    for wrong in [json!(true), json!([]), json!("yes"), json!(1)] {
        for name in ["tools", "resources", "prompts", "logging", "experimental"] {
            let error = refusal::<ServerCapabilities>(&json!({name: wrong}));
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
        for name in ["roots", "sampling", "experimental"] {
            let error = refusal::<ClientCapabilities>(&json!({name: wrong}));
            assert!(error.contains(&format!("`{name}`")), "{error}");
        }
        let error = refusal::<ServerCapabilities>(&json!({"experimental": {"y": wrong}}));
        assert!(error.contains("`experimental`") && error.contains("\"y\""), "{error}");
    }
    assert!(refusal::<ServerCapabilities>(&json!({"tools": {"listChanged": "yes"}})).contains("`listChanged`"));

    // Names nobody knows are kept, whatever they hold.
    let open = server(json!({"x-foo": {"a": 1}, "elicitation": true, "experimental": {"y": {}}}));
    assert_eq!(open.extra.get("x-foo").map(Json::get), Some(r#"{"a":1}"#));
    assert!(open.extra.contains_key("elicitation"));
    assert!(open.experimental.expect("it is there").contains_key("y"));
    let many: serde_json::Map<String, Value> = (0..50).map(|i| (format!("x{i}"), json!({"a": [{}]}))).collect();
    assert_eq!(must_read::<ClientCapabilities>(&Value::Object(many)).extra.len(), 50);
}

// proves: TOOL-17, FC-049
#[test]
fn tool_17_an_unknown_block_does_not_void_the_result() {
    let json = json!({"content": [
        {"type": "text", "text": "a"},
        {"type": "resource_link", "uri": "x:1", "name": "n"},
        {"type": "x-new", "v": 1},
        {"v": 1, "type": "x-new"},
        {"type": "audio", "data": "AAE=", "mimeType": "audio/wav"},
    ]});
    let result: CallToolResult = must_read(&json);
    let kinds: Vec<&str> = result.content.iter().map(Content::kind).collect();
    assert_eq!(kinds, ["text", "resource_link", "x-new", "x-new", "audio"]);
    assert_eq!(result.content[0].as_text(), Some("a"));
    let Content::Unknown(block) = &result.content[2] else { panic!("x-new is known") };
    assert_eq!(block.extra.get("v").map(Json::get), Some("1"));
    assert_eq!(written(&result), json);
}

// proves: TOOL-03
#[test]
fn tool_03_input_schemas() {
    let check = |schema: Value| Tool::new("n", schema).validate();
    for fine in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {}, "b": {"type": "string"}}, "required": ["a"]}),
        json!({"type": "object", "additionalProperties": false, "$defs": {"a": true}, "x": 1}),
    ] {
        assert_eq!(check(fine.clone()), Ok(()), "{fine}");
    }
    for wrong in [
        json!({}),
        json!(true),
        json!({"type": "string"}),
        json!({"type": ["object"]}),
        json!({"type": "object", "properties": {"a": true}}),
        json!({"type": "object", "properties": []}),
        json!({"type": "object", "required": "a"}),
        json!({"type": "object", "required": [1]}),
    ] {
        let error = check(wrong.clone()).expect_err("it is wrong");
        assert_eq!(error.member(), "inputSchema", "{wrong}");
    }
    assert!(refusal::<Tool>(&json!({"name": "n", "inputSchema": true})).contains("`inputSchema`"));
}

// proves: TOOL-04, TOOL-10
#[test]
fn tool_results_and_arguments() {
    assert!(!must_read::<CallToolResult>(&json!({"content": []})).is_error);
    let failed = CallToolResult::error("why");
    assert_eq!(written(&failed), json!({"content": [{"type": "text", "text": "why"}], "isError": true}));
    let none: CallToolRequest = must_read(&json!({"name": "n", "arguments": null}));
    assert_eq!(none.arguments, None);
    let error = refusal::<CallToolRequest>(&json!({"name": "n", "arguments": [1]}));
    assert!(error.contains("`arguments` must be an object"), "{error}");
}

// proves: LOG-05
#[test]
fn log_05_levels_are_ordered_by_severity() {
    let order = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    let levels: Vec<LoggingLevel> = order.iter().map(|word| word.parse().expect("it is a level")).collect();
    assert_eq!(levels, LoggingLevel::ALL);
    let mut pairs = 0;
    for (index, low) in levels.iter().enumerate() {
        for high in &levels[index + 1..] {
            assert!(low < high, "{low} < {high}");
            pairs += 1;
        }
    }
    assert_eq!(pairs, 28);
    let error = "INFO".parse::<LoggingLevel>().expect_err("case matters").to_string();
    assert!(error.contains("INFO") && error.contains("emergency"), "{error}");
}

// proves: SAMP-02, SAMP-03, SAMP-07, SAMP-10
#[test]
fn sampling_requests_are_checked() {
    let request = |changes: Value| {
        let mut json = json!({"messages": [text_message()], "maxTokens": 10});
        for (name, value) in changes.as_object().expect("changes are an object") {
            json[name] = value.clone();
        }
        read::<CreateMessageRequest>(&json)
            .and_then(|request| request.validate(BASE).map_err(|error| error.to_string()))
    };
    let block = |content: Value| json!({"messages": [text_message(), {"role": "user", "content": content}]});
    for fine in [
        json!({}),
        json!({"includeContext": "none"}),
        json!({"includeContext": "thisServer"}),
        json!({"includeContext": "allServers"}),
        json!({"modelPreferences": {"costPriority": 0, "speedPriority": 1, "intelligencePriority": 0.5}}),
        block(json!({"type": "image", "data": "AAE=", "mimeType": "image/png"})),
    ] {
        assert_eq!(request(fine.clone()), Ok(()), "{fine}");
    }
    for (wrong, named) in [
        (json!({"maxTokens": 1.5}), "maxTokens"),
        (json!({"maxTokens": null}), "maxTokens"),
        (json!({"messages": null}), "messages"),
        (json!({"includeContext": "all"}), "includeContext"),
        (json!({"metadata": 5}), "metadata"),
        (json!({"modelPreferences": {"costPriority": -0.1}}), "modelPreferences.costPriority"),
        (json!({"modelPreferences": {"speedPriority": 1.1}}), "modelPreferences.speedPriority"),
        (json!({"modelPreferences": {"intelligencePriority": 2}}), "modelPreferences.intelligencePriority"),
        (block(json!({"type": "resource", "resource": {"uri": "x:1", "text": "a"}})), "messages[1].content"),
        (block(json!({"type": "audio", "data": "", "mimeType": "audio/wav"})), "messages[1].content"),
        (block(json!({"type": "x-new"})), "messages[1].content"),
        (block(json!([{"type": "text", "text": "a"}])), "content"),
    ] {
        let error = request(wrong.clone()).expect_err("it is wrong");
        assert!(error.contains(named), "{wrong}: {error}");
    }
    for priority in [-0.1, 1.1, f64::NAN] {
        assert!(ModelPreferences::new().with_cost_priority(priority).is_err());
        assert!(ModelPreferences::new().with_speed_priority(priority).is_err());
        assert!(ModelPreferences::new().with_intelligence_priority(priority).is_err());
    }
}

// proves: SAMP-04
#[test]
fn samp_04_stop_reasons_are_open() {
    let result = |reason: &str| {
        must_read::<CreateMessageResult>(
            &json!({"role": "assistant", "content": text_message()["content"], "model": "m", "stopReason": reason}),
        )
    };
    assert_eq!(result("endTurn").stop_reason, Some(StopReason::END_TURN));
    for word in ["weird", "toolUse", ""] {
        assert_eq!(written(&result(word))["stopReason"], word);
    }
    let silent = CreateMessageResult::text("m", "hi");
    assert_eq!(written(&silent), json!({"role": "assistant", "content": {"type": "text", "text": "hi"}, "model": "m"}));
}

// proves: SAMP-08
#[test]
fn samp_08_the_first_hint_that_fits_wins() {
    let hints = |names: &[&str]| {
        let hints: Vec<ModelHint> = names.iter().map(|name| ModelHint::named(*name)).collect();
        ModelPreferences::new().with_hints(hints).with_cost_priority(1.0).expect("it is in range")
    };
    let models = ["x-haiku", "y-sonnet-1", "y-sonnet-2"];
    assert_eq!(hints(&["zzz", "sonnet", "haiku"]).pick(&models), Some("y-sonnet-1"));
    assert_eq!(hints(&["haiku", "sonnet"]).pick(&models), Some("x-haiku"));
    assert_eq!(hints(&["zzz"]).pick(&models), None);
    assert_eq!(hints(&["", "sonnet-2"]).pick(&models), Some("y-sonnet-2"));
    assert_eq!(ModelPreferences::new().with_hints([ModelHint::new()]).pick(&models), None);
}

// proves: SAMP-11
#[test]
fn samp_11_metadata_and_hints_keep_unknown_keys() {
    let json = json!({
        "messages": [], "maxTokens": 1, "metadata": {"a": [1]},
        "modelPreferences": {"hints": [{"name": "h", "vendor": {"x": 1}}, {"family": "f"}]}
    });
    let mut request: CreateMessageRequest = must_read(&json);
    assert_eq!(request.metadata.as_ref().map(Json::get), Some(r#"{"a":[1]}"#));
    request.project(BASE).expect("it can be sent");
    assert_eq!(written(&request), json);
}

// proves: PROM-03, PROM-04, PROM-07
#[test]
fn prompts_hold_strings_and_two_roles() {
    let error = refusal::<GetPromptRequest>(&json!({"name": "n", "arguments": {"n": 5}}));
    assert!(error.contains("`arguments`"), "{error}");
    let request: GetPromptRequest = must_read(&json!({"name": "n", "arguments": {"n": "5"}}));
    assert_eq!(request.arguments["n"], "5");
    let error = refusal::<GetPromptResult>(
        &json!({"messages": [{"role": "system", "content": {"type": "text", "text": "a"}}]}),
    );
    assert!(error.contains("`role`") && error.contains("assistant"), "{error}");
    let error = refusal::<PromptMessage>(&json!({"role": "user", "content": [{"type": "text", "text": "a"}]}));
    assert!(error.contains("`content`"), "{error}");
    let result = GetPromptResult::new([PromptMessage::user("hi"), PromptMessage::assistant(Content::text("ho"))]);
    assert_eq!(
        written(&result)["messages"][1],
        json!({"role": "assistant", "content": {"type": "text", "text": "ho"}})
    );
}

// proves: PROM-08
#[test]
fn prom_08_images_have_a_media_type() {
    for mime in ["", "image", "image/", "/png", "image/p ng", "im age/png", "image/png/x", "image/png\n", "image/ä"] {
        let error = Content::image([1], mime).expect_err(mime);
        assert_eq!(error.member(), "mimeType", "{mime:?}");
        assert!(Content::audio([1], mime).is_err(), "{mime:?}");
    }
    for mime in ["image/png", "image/svg+xml", "image/x-a.b; q=1"] {
        let image = Content::image([1], mime).expect("the type is fine");
        assert_eq!(written(&image), json!({"type": "image", "data": "AQ==", "mimeType": mime}));
    }
}

// proves: COMP-03, COMP-04, COMP-08, COMP-10
#[test]
fn completion_requests_and_results() {
    let argument = json!({"name": "a", "value": ""});
    let request: CompleteRequest =
        must_read(&json!({"ref": {"uri": "x:{p}", "type": "ref/resource"}, "argument": argument}));
    assert_eq!(request.reference, CompletionReference::resource("x:{p}"));
    assert_eq!(request.argument.value, "");
    let error = refusal::<CompleteRequest>(&json!({"ref": {"type": "ref/x", "name": "n"}, "argument": argument}));
    assert!(error.contains("`ref`") && error.contains("ref/prompt"), "{error}");
    let more = json!({"completion": {"values": ["a"], "hasMore": true}});
    assert_eq!(written(&must_read::<CompleteResult>(&more)), more);
    let total = json!({"completion": {"values": ["a"], "total": 1000}});
    assert_eq!(written(&must_read::<CompleteResult>(&total)), total);
}

// proves: ROOT-03
#[test]
fn root_03_file_roots_are_told_from_others() {
    for (uri, file) in
        [("file:///a", true), ("FILE:///a", true), ("https://x/", false), ("file:/a", false), ("é", false)]
    {
        assert_eq!(Root::new(uri).is_file(), file, "{uri}");
    }
}

// An error tells the way to the fault.
#[test]
fn errors_name_the_way_to_the_member() {
    let error = refusal::<CallToolResult>(&json!({"content": [{"type": "text", "text": 5}]}));
    assert!(error.starts_with("`content`: `text`: invalid type: integer `5`, expected a string"), "{error}");
    let error = refusal::<ListResourcesResult>(&json!({"resources": [{"uri": "x:1"}]}));
    assert!(error.starts_with("`resources`: member `name` is missing (Resource)"), "{error}");
}
