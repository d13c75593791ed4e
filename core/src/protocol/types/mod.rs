//! The protocol's data types: one Rust type per concept, for all revisions.
//!
//! * Every object is open: what a type does not know by name is kept in its `extra` (SCH-01).
//! * Optional members are left out when absent; an explicit null is read as absent (SCH-03).
//! * Free-form JSON is a [`Json`]: kept as text, exact (SCH-13).
//! * Members of later revisions are typed where servers in the field send them. [`Project`] takes them out before a
//!   message goes to a peer that does not know them (SCH-02).
//! * The parameters of a method are called `…Request`, those of a notification `…Notification`, as in the schema.

mod binary;
mod blocks;
mod completion;
mod content;
mod initialize;
mod invalid;
mod json;
mod logging;
mod members;
mod notifications;
mod object;
mod project;
mod prompts;
mod read;
mod resources;
mod roots;
mod sampling;
mod tools;
mod words;

#[cfg(test)]
mod tests;

pub use binary::Base64Error;
pub use blocks::{
    Annotations, AudioContent, EmbeddedResource, ImageContent, ResourceLink, Role, TextContent, UnknownContent,
};
pub use completion::{
    CompleteRequest, CompleteResult, Completion, CompletionArgument, CompletionContext, CompletionReference,
    MAX_COMPLETION_VALUES, PromptReference, ResourceReference,
};
pub use content::Content;
pub use initialize::{
    ClientCapabilities, Implementation, InitializeRequest, InitializeResult, LoggingCapability, PromptsCapability,
    ResourcesCapability, RootsCapability, SamplingCapability, ServerCapabilities, ToolsCapability,
};
pub use invalid::InvalidValue;
pub use json::{Json, JsonError};
pub use logging::{LoggingLevel, LoggingMessageNotification, SetLevelRequest};
pub use members::{Members, Meta};
pub use notifications::{
    CancelledNotification, EmptyNotification, EmptyRequest, EmptyResult, InitializedNotification, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListRootsRequest, ListToolsRequest, PaginatedRequest,
    PingRequest, ProgressNotification, PromptListChangedNotification, ResourceListChangedNotification,
    ResourceUpdatedNotification, RootsListChangedNotification, ToolListChangedNotification,
};
pub use project::Project;
pub use prompts::{GetPromptRequest, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage};
pub use resources::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult, ReadResourceRequest, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate, SubscribeRequest, TextResourceContents, UnsubscribeRequest,
};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageRequest, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences, SamplingMessage, StopReason,
};
pub use tools::{CallToolRequest, CallToolResult, ListToolsResult, Tool, ToolAnnotations};
