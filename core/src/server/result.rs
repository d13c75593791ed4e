//! What tool handlers may return.

use std::fmt;

use crate::error::Error;
use crate::protocol::{CallToolResult, Content, ImageContent, Json, Project, Revision};
use crate::session::{Body, Outcome};

/// Something a tool can return.
pub trait IntoToolResult {
    /// The result for the peer. An error here is a failure of the tool (TOOL-07).
    fn into_tool_result(self) -> Result<CallToolResult, ToolError>;
}

impl IntoToolResult for CallToolResult {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(self)
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::default())
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self))
    }
}

impl IntoToolResult for Content {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::content(vec![self]))
    }
}

impl IntoToolResult for ImageContent {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::content(vec![Content::from(self)]))
    }
}

impl IntoToolResult for Vec<Content> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::content(self))
    }
}

impl IntoToolResult for Json {
    /// The JSON as text.
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        Ok(CallToolResult::text(self.get()))
    }
}

/// A value for programs. Peers before 2025-06-18 get its JSON as text (TOOL-16).
#[derive(Debug, Clone)]
pub struct Structured<T>(pub T);

impl<T: serde::Serialize> IntoToolResult for Structured<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        CallToolResult::structured(&self.0).map_err(|error| ToolError::new(format!("the result is not JSON: {error}")))
    }
}

macro_rules! displayed {
    ($($t:ty)*) => {$(
        impl IntoToolResult for $t {
            fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
                Ok(CallToolResult::text(self.to_string()))
            }
        }
    )*};
}

displayed!(bool char i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64);

/// The failure of a tool. Its text reaches the model as a result with `isError` (TOOL-07).
///
/// Any error converts with `?`: its `Display` text is what the model reads, so it should not tell secrets. To answer with
/// a JSON-RPC error instead, use [`ToolError::protocol`].
pub struct ToolError(Failure);

enum Failure {
    Tool(String),
    Protocol(Error),
}

impl ToolError {
    /// A failure with a text for the model.
    pub fn new(text: impl Into<String>) -> ToolError {
        ToolError(Failure::Tool(text.into()))
    }

    /// Not a result at all but a JSON-RPC error: for conditions that are not the tool's own (TOOL-08).
    pub fn protocol(error: Error) -> ToolError {
        ToolError(Failure::Protocol(error))
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> ToolError {
        ToolError::new(error.to_string())
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Failure::Tool(text) => f.debug_tuple("ToolError").field(text).finish(),
            Failure::Protocol(error) => f.debug_tuple("ToolError").field(error).finish(),
        }
    }
}

/// What goes to the peer.
pub(crate) fn tool_outcome<R: IntoToolResult>(returned: Result<R, ToolError>, revision: Revision) -> Outcome {
    let result = match returned.and_then(R::into_tool_result) {
        Ok(result) => result,
        Err(ToolError(Failure::Tool(text))) => CallToolResult::error(text),
        Err(ToolError(Failure::Protocol(error))) => return Err(error),
    };
    encode(result, revision)
}

/// The JSON of a result as `revision` knows it.
pub(crate) fn encode<T: Project + serde::Serialize>(mut result: T, revision: Revision) -> Outcome {
    result.project(revision).map_err(|error| {
        tracing::warn!(%error, "a handler returned what cannot be sent");
        Error::internal(format!("The result cannot be sent: {error}"))
    })?;
    serde_json::to_string(&result).map(Body::Owned).map_err(|error| {
        tracing::warn!(%error, "a handler returned what JSON cannot hold");
        Error::internal("The result cannot be written as JSON")
    })
}
