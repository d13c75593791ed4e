//! The type rows SCH-T05 … SCH-T31: minimal, incomplete, full, and with unknown members.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::*;
use super::row::Row;
use super::{must_read, refusal, written};
use crate::protocol::{ProgressToken, RequestId};

fn annotations() -> Value {
    json!({"audience": ["user", "assistant"], "priority": 0.5})
}

// proves: SCH-T05, SCH-01, SCH-03, SCH-04
#[test]
fn sch_t05_result() {
    Row { minimal: json!({}), required: &[], full: json!({"_meta": {"a": 1}}), free: &[] }.check::<EmptyResult>();
}

// proves: SCH-T06
#[test]
fn sch_t06_ids_tokens_cursors_and_roles() {
    for id in [json!("a"), json!(""), json!(0), json!(-5), json!(9_007_199_254_740_993_i64)] {
        assert_eq!(written(&must_read::<RequestId>(&id)), id);
        assert_eq!(written(&must_read::<ProgressToken>(&id)), id);
    }
    for cursor in ["", "=?/\u{0}é"] {
        let page: PaginatedRequest = must_read(&json!({"cursor": cursor}));
        assert_eq!(page.cursor.as_deref(), Some(cursor));
    }
    for role in ["user", "assistant"] {
        assert_eq!(must_read::<Role>(&json!(role)).as_str(), role);
    }
    for no_role in [json!("system"), json!("User"), json!(""), json!(1), Value::Null] {
        refusal::<Role>(&no_role);
    }
    Row { minimal: json!({}), required: &[], full: json!({"cursor": "c", "_meta": {"a": 1}}), free: &[] }
        .check::<PaginatedRequest>();
}

// proves: SCH-T07
#[test]
fn sch_t07_implementation() {
    Row {
        minimal: json!({"name": "n", "version": "1"}),
        required: &["name", "version"],
        full: json!({"name": "n", "version": "1", "title": "t"}),
        free: &[],
    }
    .check::<Implementation>();
}

// proves: SCH-T08, CAP-04
#[test]
fn sch_t08_client_capabilities() {
    Row {
        minimal: json!({}),
        required: &[],
        full: json!({"experimental": {"y": {}}, "roots": {"listChanged": true}, "sampling": {}}),
        free: &[],
    }
    .check::<ClientCapabilities>();
}

// proves: SCH-T09, CAP-04
#[test]
fn sch_t09_server_capabilities() {
    Row {
        minimal: json!({}),
        required: &[],
        full: json!({
            "experimental": {"y": {"b": 1}}, "logging": {}, "prompts": {"listChanged": false},
            "resources": {"subscribe": true, "listChanged": true}, "tools": {"listChanged": true}
        }),
        free: &[],
    }
    .check::<ServerCapabilities>();
}

// proves: SCH-T10, SCH-05, SCH-06
#[test]
fn sch_t10_resource() {
    Row {
        minimal: json!({"uri": "x:1", "name": "n"}),
        required: &["uri", "name"],
        full: json!({
            "uri": "x:1", "name": "n", "title": "t", "description": "d", "mimeType": "text/plain", "size": 3,
            "annotations": annotations()
        }),
        free: &[],
    }
    .check::<Resource>();
}

// proves: SCH-T11, SCH-05
#[test]
fn sch_t11_resource_template() {
    Row {
        minimal: json!({"uriTemplate": "x:{p}", "name": "n"}),
        required: &["uriTemplate", "name"],
        full: json!({
            "uriTemplate": "x:{p}", "name": "n", "title": "t", "description": "d", "mimeType": "text/plain",
            "annotations": annotations()
        }),
        free: &[],
    }
    .check::<ResourceTemplate>();
}

// proves: SCH-T12
#[test]
fn sch_t12_resource_contents() {
    let text = Row {
        minimal: json!({"uri": "x:1", "text": ""}),
        required: &["uri", "text"],
        full: json!({"uri": "x:1", "text": "a", "mimeType": "text/plain"}),
        free: &[],
    };
    text.check::<TextResourceContents>();
    text.check::<ResourceContents>();
    let blob = Row {
        minimal: json!({"uri": "x:1", "blob": ""}),
        required: &["uri", "blob"],
        full: json!({"uri": "x:1", "blob": "AAE=", "mimeType": "image/png"}),
        free: &[],
    };
    blob.check::<BlobResourceContents>();
    blob.check::<ResourceContents>();
}

// proves: SCH-T13, SCH-T14
#[test]
fn sch_t13_t14_prompt_and_its_arguments() {
    Row {
        minimal: json!({"name": "n"}),
        required: &["name"],
        full: json!({"name": "n", "title": "t", "description": "d", "arguments": [{"name": "a", "required": true}]}),
        free: &[],
    }
    .check::<Prompt>();
    Row {
        minimal: json!({"name": "n"}),
        required: &["name"],
        full: json!({"name": "n", "title": "t", "description": "d", "required": true}),
        free: &[],
    }
    .check::<PromptArgument>();
}

// proves: SCH-T15
#[test]
fn sch_t15_prompt_message() {
    for content in [
        json!({"type": "text", "text": "a"}),
        json!({"type": "image", "data": "AAE=", "mimeType": "image/png"}),
        json!({"type": "resource", "resource": {"uri": "x:1", "text": "a"}}),
    ] {
        let message = json!({"role": "user", "content": content});
        Row { minimal: message.clone(), required: &["role", "content"], full: message, free: &[] }
            .check::<PromptMessage>();
    }
}

// proves: SCH-T16, SCH-T17, SCH-T18, SCH-05
#[test]
fn sch_t16_t17_t18_content() {
    let text = Row {
        minimal: json!({"type": "text", "text": ""}),
        required: &["type", "text"],
        full: json!({"type": "text", "text": "a", "annotations": annotations()}),
        free: &[],
    };
    text.check::<TextContent>();
    text.check::<Content>();
    let image = Row {
        minimal: json!({"type": "image", "data": "", "mimeType": "image/png"}),
        required: &["type", "data", "mimeType"],
        full: json!({"type": "image", "data": "AAE=", "mimeType": "image/png", "annotations": annotations()}),
        free: &[],
    };
    image.check::<ImageContent>();
    image.check::<Content>();
    let resource = Row {
        minimal: json!({"type": "resource", "resource": {"uri": "x:1", "text": "a"}}),
        required: &["type", "resource"],
        full: json!({
            "type": "resource", "resource": {"uri": "x:1", "blob": "AAE=", "mimeType": "image/png"},
            "annotations": annotations()
        }),
        free: &[],
    };
    resource.check::<EmbeddedResource>();
    resource.check::<Content>();
    // A tag of another type is refused where only one is possible.
    let error = refusal::<TextContent>(&json!({"type": "image", "text": "a"}));
    assert!(error.contains("`type` must be \"text\""), "{error}");
}

#[test]
fn content_of_later_revisions() {
    let audio = Row {
        minimal: json!({"type": "audio", "data": "", "mimeType": "audio/wav"}),
        required: &["type", "data", "mimeType"],
        full: json!({"type": "audio", "data": "AAE=", "mimeType": "audio/wav", "annotations": annotations()}),
        free: &[],
    };
    audio.check::<AudioContent>();
    audio.check::<Content>();
    let link = Row {
        minimal: json!({"type": "resource_link", "uri": "x:1", "name": "n"}),
        required: &["type", "uri", "name"],
        full: json!({
            "type": "resource_link", "uri": "x:1", "name": "n", "title": "t", "description": "d",
            "mimeType": "text/plain", "size": 3, "annotations": annotations()
        }),
        free: &[],
    };
    link.check::<ResourceLink>();
    link.check::<Content>();
}

// proves: SCH-T19
#[test]
fn sch_t19_tool() {
    Row {
        minimal: json!({"name": "n", "inputSchema": {"type": "object"}}),
        required: &["name", "inputSchema"],
        full: json!({
            "name": "n", "title": "t", "description": "d",
            "inputSchema": {"type": "object", "properties": {"p": {}}, "required": ["p"]},
            "outputSchema": {"type": "object"},
            "annotations": {
                "title": "t", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true,
                "openWorldHint": false
            }
        }),
        free: &[],
    }
    .check::<Tool>();
    // The required member inside `inputSchema`.
    assert!(must_read::<Tool>(&json!({"name": "n", "inputSchema": {}})).validate().is_err());
}

// proves: SCH-T20
#[test]
fn sch_t20_call_tool_result() {
    Row {
        minimal: json!({"content": []}),
        required: &[],
        full: json!({
            "content": [{"type": "text", "text": "a"}], "isError": true, "structuredContent": {"a": null},
            "_meta": {"a": 1}
        }),
        free: &["structuredContent", "content"],
    }
    .check::<CallToolResult>();
    // Always sent; forgiven on receipt, but told.
    for lacking in [json!({"isError": true, "zz": 1}), json!({"content": null, "isError": true, "zz": 1})] {
        let result: CallToolResult = must_read(&lacking);
        assert!(result.content_missing && result.content.is_empty() && result.is_error);
        assert_eq!(written(&result), json!({"content": [], "isError": true, "zz": 1}));
    }
    assert!(!must_read::<CallToolResult>(&json!({"content": []})).content_missing);
    assert!(refusal::<CallToolResult>(&json!({"content": {}})).contains("`content`"));
}

// proves: SCH-T21
#[test]
fn sch_t21_sampling_message() {
    for content in
        [json!({"type": "text", "text": "a"}), json!({"type": "image", "data": "AAE=", "mimeType": "image/png"})]
    {
        let message = json!({"role": "assistant", "content": content});
        Row { minimal: message.clone(), required: &["role", "content"], full: message, free: &[] }
            .check::<SamplingMessage>();
    }
}

// proves: SCH-T22
#[test]
fn sch_t22_create_message_result() {
    Row {
        minimal: json!({"role": "assistant", "content": {"type": "text", "text": "a"}, "model": "m"}),
        required: &["role", "content", "model"],
        full: json!({
            "role": "assistant", "content": {"type": "text", "text": "a"}, "model": "m", "stopReason": "endTurn",
            "_meta": {"a": 1}
        }),
        free: &[],
    }
    .check::<CreateMessageResult>();
}

// proves: SCH-T23, SCH-T24
#[test]
fn sch_t23_t24_model_preferences_and_hints() {
    Row {
        minimal: json!({}),
        required: &[],
        full: json!({
            "hints": [{"name": "sonnet"}, {}], "costPriority": 0.0, "speedPriority": 0.5, "intelligencePriority": 1.0
        }),
        free: &[],
    }
    .check::<ModelPreferences>();
    Row { minimal: json!({}), required: &[], full: json!({"name": "sonnet"}), free: &[] }.check::<ModelHint>();
}

// proves: SCH-T25
#[test]
fn sch_t25_references() {
    let prompt = Row {
        minimal: json!({"type": "ref/prompt", "name": "n"}),
        required: &["type", "name"],
        full: json!({"type": "ref/prompt", "name": "n", "title": "t"}),
        free: &[],
    };
    prompt.check::<PromptReference>();
    prompt.check::<CompletionReference>();
    let resource = Row {
        minimal: json!({"type": "ref/resource", "uri": "x:{p}"}),
        required: &["type", "uri"],
        full: json!({"type": "ref/resource", "uri": "x:{p}"}),
        free: &[],
    };
    resource.check::<ResourceReference>();
    resource.check::<CompletionReference>();
}

// proves: SCH-T26, SCH-06
#[test]
fn sch_t26_complete_result() {
    Row {
        minimal: json!({"completion": {"values": []}}),
        required: &["completion"],
        full: json!({"completion": {"values": ["a"], "total": 5, "hasMore": false}, "_meta": {"a": 1}}),
        free: &[],
    }
    .check::<CompleteResult>();
    Row {
        minimal: json!({"values": []}),
        required: &["values"],
        full: json!({"values": ["a"], "total": 5, "hasMore": true}),
        free: &[],
    }
    .check::<Completion>();
}

// proves: SCH-T27
#[test]
fn sch_t27_root() {
    Row {
        minimal: json!({"uri": "file:///a"}),
        required: &["uri"],
        full: json!({"uri": "file:///a", "name": "n"}),
        free: &[],
    }
    .check::<Root>();
}

// proves: SCH-T28
#[test]
fn sch_t28_logging_level() {
    for level in LoggingLevel::ALL {
        assert_eq!(must_read::<LoggingLevel>(&json!(level.as_str())), *level);
        assert_eq!(written(level), json!(level.as_str()));
    }
    for no_level in [json!("verbose"), json!("INFO"), json!(3), Value::Null] {
        refusal::<LoggingLevel>(&no_level);
    }
}

// proves: SCH-T29
#[test]
fn sch_t29_list_results() {
    fn check<T: DeserializeOwned + Serialize + Debug + PartialEq>(list: &'static [&'static str], item: &Value) {
        Row {
            minimal: json!({list[0]: []}),
            required: list,
            full: json!({list[0]: [item], "nextCursor": "c", "_meta": {"a": 1}}),
            free: &[],
        }
        .check::<T>();
        // The empty string is a cursor (PAGE-06).
        written(&must_read::<T>(&json!({list[0]: [], "nextCursor": ""})))["nextCursor"].as_str().expect("a cursor");
    }
    check::<ListResourcesResult>(&["resources"], &json!({"uri": "x:1", "name": "n"}));
    check::<ListResourceTemplatesResult>(&["resourceTemplates"], &json!({"uriTemplate": "x:{p}", "name": "n"}));
    check::<ListPromptsResult>(&["prompts"], &json!({"name": "n"}));
    check::<ListToolsResult>(&["tools"], &json!({"name": "n", "inputSchema": {"type": "object"}}));
    Row {
        minimal: json!({"roots": []}),
        required: &["roots"],
        full: json!({"roots": [{"uri": "file:///a"}], "_meta": {"a": 1}}),
        free: &[],
    }
    .check::<ListRootsResult>();
}

// proves: SCH-T30
#[test]
fn sch_t30_get_prompt_and_read_resource_results() {
    Row {
        minimal: json!({"messages": []}),
        required: &["messages"],
        full: json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "a"}}], "description": "d",
            "_meta": {"a": 1}
        }),
        free: &[],
    }
    .check::<GetPromptResult>();
    Row {
        minimal: json!({"contents": []}),
        required: &["contents"],
        full: json!({"contents": [{"uri": "x:1", "text": "a"}, {"uri": "x:2", "blob": "AAE="}], "_meta": {"a": 1}}),
        free: &[],
    }
    .check::<ReadResourceResult>();
}

// proves: SCH-T31
#[test]
fn sch_t31_initialize_result() {
    let server = json!({"name": "n", "version": "1"});
    Row {
        minimal: json!({"protocolVersion": "v", "capabilities": {}, "serverInfo": server}),
        required: &["protocolVersion", "capabilities", "serverInfo"],
        full: json!({
            "protocolVersion": "v", "capabilities": {"tools": {}}, "serverInfo": server, "instructions": "i",
            "_meta": {"a": 1}
        }),
        free: &[],
    }
    .check::<InitializeResult>();
}
