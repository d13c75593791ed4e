//! The parameters of requests and notifications, checked like the type rows.

use serde_json::json;

use super::super::*;
use super::read;
use super::row::Row;

// proves: SCH-12, PROG-11, LOG-07, COMP-01, SAMP-02
#[test]
fn parameters_of_requests_and_notifications() {
    let meta = json!({"progressToken": 1});
    Row {
        minimal: json!({"protocolVersion": "v", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}),
        required: &["protocolVersion", "capabilities", "clientInfo"],
        full: json!({
            "protocolVersion": "v", "capabilities": {"sampling": {}}, "clientInfo": {"name": "n", "version": "1"},
            "_meta": meta
        }),
        free: &[],
    }
    .check::<InitializeRequest>();
    let uri = Row {
        minimal: json!({"uri": "x:1"}),
        required: &["uri"],
        full: json!({"uri": "x:1", "_meta": meta}),
        free: &[],
    };
    uri.check::<ReadResourceRequest>();
    uri.check::<SubscribeRequest>();
    uri.check::<UnsubscribeRequest>();
    uri.check::<ResourceUpdatedNotification>();
    Row {
        minimal: json!({"name": "n"}),
        required: &["name"],
        full: json!({"name": "n", "arguments": {"a": {"b": null}}, "_meta": meta}),
        free: &[],
    }
    .check::<CallToolRequest>();
    Row {
        minimal: json!({"name": "n"}),
        required: &["name"],
        full: json!({"name": "n", "arguments": {"a": "b"}, "_meta": meta}),
        free: &["arguments"],
    }
    .check::<GetPromptRequest>();
    Row {
        minimal: json!({"level": "info"}),
        required: &["level"],
        full: json!({"level": "info", "_meta": meta}),
        free: &[],
    }
    .check::<SetLevelRequest>();
    Row {
        minimal: json!({"level": "info", "data": null}),
        required: &["level", "data"],
        full: json!({"level": "info", "data": {"a": [null]}, "logger": "l", "_meta": {}}),
        free: &["data"],
    }
    .check::<LoggingMessageNotification>();
    Row {
        minimal: json!({"progressToken": "t", "progress": 0.5}),
        required: &["progressToken", "progress"],
        full: json!({"progressToken": 1, "progress": 0.5, "total": 2.5, "message": "m", "_meta": {}}),
        free: &[],
    }
    .check::<ProgressNotification>();
    Row { minimal: json!({}), required: &[], full: json!({"requestId": 1, "reason": "r", "_meta": {}}), free: &[] }
        .check::<CancelledNotification>();
    let argument = json!({"name": "a", "value": ""});
    Row {
        minimal: json!({"ref": {"type": "ref/prompt", "name": "n"}, "argument": argument}),
        required: &["ref", "argument"],
        full: json!({
            "ref": {"type": "ref/resource", "uri": "x:{p}"}, "argument": argument,
            "context": {"arguments": {"b": "c"}}, "_meta": meta
        }),
        free: &["arguments"],
    }
    .check::<CompleteRequest>();
    Row { minimal: argument.clone(), required: &["name", "value"], full: argument, free: &[] }
        .check::<CompletionArgument>();
    Row {
        minimal: json!({"messages": [], "maxTokens": 1}),
        required: &["messages", "maxTokens"],
        full: json!({
            "messages": [{"role": "user", "content": {"type": "text", "text": "a"}}], "maxTokens": 1,
            "modelPreferences": {"hints": [{"name": "h"}]}, "systemPrompt": "s", "includeContext": "thisServer",
            "temperature": 0.5, "stopSequences": ["x"], "metadata": {"a": [1]}, "_meta": meta
        }),
        free: &[],
    }
    .check::<CreateMessageRequest>();
    Row { minimal: json!({}), required: &[], full: json!({"_meta": meta}), free: &[] }.check::<EmptyRequest>();
    Row { minimal: json!({}), required: &[], full: json!({"_meta": meta}), free: &[] }.check::<EmptyNotification>();
    assert!(read::<ListToolsRequest>(&json!({"cursor": 5})).is_err());
}
