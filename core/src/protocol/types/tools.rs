//! Tools: their description, calls and results.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::content::Content;
use super::invalid::InvalidValue;
use super::json::{Json, JsonError, is_object};
use super::members::Meta;
use super::object::object;
use super::project::Adapt;
use crate::protocol::Revision;

object! {
    /// Something a client can call (SCH-T19).
    pub struct Tool {
        required {
            /// The name it is called by: exact, with case (TOOL-11).
            "name" => name: String,
            /// JSON Schema of its arguments, passed through untouched (TOOL-03). See [`validate`](Tool::validate).
            "inputSchema" => input_schema: Json check is_object,
        }
        optional {
            /// A name for people, from 2025-06-18 on.
            "title" => title, with_title: opt String since V2025_06_18;
            /// What it does, for the model.
            "description" => description, with_description: opt String;
            /// JSON Schema of its structured result, from 2025-06-18 on.
            "outputSchema" => output_schema, with_output_schema: opt Json since V2025_06_18 check is_object;
            /// Hints about its behaviour, from 2025-03-26 on.
            "annotations" => annotations, with_annotations: opt ToolAnnotations since V2025_03_26;
        }
    }
}

impl Tool {
    /// Checks what the protocol asks of `inputSchema` (TOOL-03): `"type": "object"` at its root, every entry of
    /// `properties` an object, `required` an array of strings. Other keywords are free.
    ///
    /// Servers check their tools when they are registered. On receipt a tool with a sloppy schema is kept.
    pub fn validate(&self) -> Result<(), InvalidValue> {
        #[derive(Deserialize)]
        struct Root {
            #[serde(rename = "type")]
            kind: Option<Json>,
            properties: Option<BTreeMap<String, Json>>,
            #[serde(rename = "required")]
            _required: Option<Vec<String>>,
        }

        let wrong = |reason: String| Err(InvalidValue::new(reason).within("inputSchema"));
        if !self.input_schema.is_object() {
            return wrong("must be an object".to_owned());
        }
        let root: Root = match self.input_schema.decode() {
            Ok(root) => root,
            Err(error) => return wrong(format!("`properties` is an object, `required` an array of strings: {error}")),
        };
        if root.kind.as_ref().map(Json::get) != Some("\"object\"") {
            return wrong("must have \"type\": \"object\" at its root".to_owned());
        }
        match root.properties.iter().flatten().find(|(_, schema)| !schema.is_object()) {
            Some((name, _)) => wrong(format!("property {name:?} must be described by an object")),
            None => Ok(()),
        }
    }
}

object! {
    /// Hints about a tool's behaviour, from 2025-03-26 on. They come from the server and are not to be trusted.
    #[derive(Default)]
    pub struct ToolAnnotations {
        required {}
        optional {
            /// A name for people.
            "title" => title, with_title: opt String;
            /// It changes nothing. Absent means false.
            "readOnlyHint" => read_only_hint, with_read_only_hint: opt bool;
            /// It may destroy something. Absent means true.
            "destructiveHint" => destructive_hint, with_destructive_hint: opt bool;
            /// Calling it twice does no more than calling it once. Absent means false.
            "idempotentHint" => idempotent_hint, with_idempotent_hint: opt bool;
            /// It deals with the world outside. Absent means true.
            "openWorldHint" => open_world_hint, with_open_world_hint: opt bool;
        }
    }
}

object! {
    /// The result of `tools/list` (SCH-T29).
    pub struct ListToolsResult {
        required {
            /// This page's tools.
            "tools" => tools: Vec<Tool>,
        }
        optional {
            /// Where the next page starts; the empty string is a cursor too (PAGE-06).
            "nextCursor" => next_cursor, with_next_cursor: opt String;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The parameters of `tools/call` (TOOL-04).
    pub struct CallToolRequest {
        required {
            /// The tool's name.
            "name" => name: String,
        }
        optional {
            /// Its arguments: an object; absent and null mean an empty one (TOOL-10).
            "arguments" => arguments, with_arguments: opt Json check is_object;
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The result of `tools/call` (SCH-T20).
    #[derive(Default)]
    pub struct CallToolResult {
        required {
            /// What the tool returned, for the model; may be empty.
            "content" => content: Vec<Content> lax content_missing,
        }
        optional {
            /// The same as a value for programs, from 2025-06-18 on. `Some(null)` is a value, `None` is none.
            "structuredContent" => structured_content, with_structured_content: nullable Json since V2025_06_18;
            /// Whether the tool failed (TOOL-07).
            "isError" => is_error: flag bool;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
    adapt;
}

impl CallToolResult {
    /// A result of one block of text.
    pub fn text(text: impl Into<String>) -> CallToolResult {
        CallToolResult::content(vec![Content::text(text)])
    }

    /// The tool failed: a result that tells the model why (TOOL-07).
    pub fn error(text: impl Into<String>) -> CallToolResult {
        let mut result = CallToolResult::text(text);
        result.is_error = true;
        result
    }

    /// A result of any blocks.
    pub fn content(content: impl Into<Vec<Content>>) -> CallToolResult {
        CallToolResult::new(content)
    }

    /// A result that is a value. Its JSON text is the content as well, for models and for peers before 2025-06-18.
    ///
    /// Fails if JSON cannot hold the value.
    pub fn structured<T: serde::Serialize + ?Sized>(value: &T) -> Result<CallToolResult, JsonError> {
        let value = Json::from_serialize(value)?;
        Ok(CallToolResult::text(value.get()).with_structured_content(value))
    }

    /// The texts of the text blocks, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Content::as_text)
    }
}

impl Adapt for CallToolResult {
    /// Before 2025-06-18 there is no structured content, and before 2026-07-28 it is an object: what cannot be sent as
    /// such is sent as a block of JSON text, unless a block says just that already (TOOL-16).
    fn adapt(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        let sendable = |value: &Json| {
            revision >= Revision::V2026_07_28 || (revision >= Revision::V2025_06_18 && value.is_object())
        };
        if let Some(value) = self.structured_content.take_if(|value| !sendable(value))
            && !self.texts().any(|text| says(text, &value))
        {
            self.content.push(Content::text(value.get()));
        }
        Ok(())
    }
}

/// Whether `text` is JSON for `value`, however it is spaced and ordered.
fn says(text: &str, value: &Json) -> bool {
    text == value.get()
        || serde_json::from_str::<serde_json::Value>(text)
            .is_ok_and(|tree| value.to_value().is_ok_and(|value| value == tree))
}
