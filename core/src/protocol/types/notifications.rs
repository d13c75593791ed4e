//! Parameters of notifications, and those of requests that have none of their own.

use super::invalid::InvalidValue;
use super::members::Meta;
use super::object::object;
use super::project::Adapt;
use crate::protocol::{ProgressToken, RequestId, Revision};

object! {
    /// The parameters of `notifications/cancelled` (CANC-01).
    #[derive(Default)]
    pub struct CancelledNotification {
        required {}
        optional {
            /// The request to give up. Absent in 2025-11-25 at times, required in all other revisions.
            "requestId" => request_id, with_request_id: opt RequestId;
            /// Why, for people.
            "reason" => reason, with_reason: opt String;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
    adapt;
}

impl CancelledNotification {
    /// Gives up the request of this id.
    pub fn of(request_id: impl Into<RequestId>) -> CancelledNotification {
        CancelledNotification::new().with_request_id(request_id)
    }
}

impl Adapt for CancelledNotification {
    fn adapt(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        if self.request_id.is_some() || revision == Revision::V2025_11_25 {
            return Ok(());
        }
        Err(InvalidValue::new("is missing").within("requestId"))
    }
}

object! {
    /// The parameters of `notifications/progress` (PROG-11).
    pub struct ProgressNotification {
        required {
            /// The token that the request carried, with its type (PROG-14).
            "progressToken" => progress_token: ProgressToken,
            /// How far it is; rises with each notification (PROG-05); may be fractional (PROG-06).
            "progress" => progress: f64,
        }
        optional {
            /// How far it has to go, if known.
            "total" => total, with_total: opt f64;
            /// What is being done, for people, from 2025-03-26 on (PROG-13).
            "message" => message, with_message: opt String since V2025_03_26;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The parameters of `notifications/resources/updated` (SUB-04).
    pub struct ResourceUpdatedNotification {
        required {
            /// What changed: the resource subscribed to, or a part of it (SUB-05).
            "uri" => uri: String,
        }
        optional {
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The parameters of a notification that has none of its own.
    #[derive(Default)]
    pub struct EmptyNotification {
        required {}
        optional {
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

/// The parameters of `notifications/initialized`.
pub type InitializedNotification = EmptyNotification;
/// The parameters of `notifications/resources/list_changed`.
pub type ResourceListChangedNotification = EmptyNotification;
/// The parameters of `notifications/prompts/list_changed`.
pub type PromptListChangedNotification = EmptyNotification;
/// The parameters of `notifications/tools/list_changed`.
pub type ToolListChangedNotification = EmptyNotification;
/// The parameters of `notifications/roots/list_changed`.
pub type RootsListChangedNotification = EmptyNotification;

object! {
    /// The parameters of a request that has none of its own.
    #[derive(Default)]
    pub struct EmptyRequest {
        required {}
        optional {
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

/// The parameters of `ping`.
pub type PingRequest = EmptyRequest;
/// The parameters of `roots/list`, which is not paged (PAGE-01).
pub type ListRootsRequest = EmptyRequest;

object! {
    /// The parameters of a request for one page of a list (PAGE-01).
    #[derive(Default)]
    pub struct PaginatedRequest {
        required {}
        optional {
            /// Where the page starts, as the server gave it (PAGE-02); absent for the first page.
            "cursor" => cursor, with_cursor: opt String;
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

/// The parameters of `resources/list`.
pub type ListResourcesRequest = PaginatedRequest;
/// The parameters of `resources/templates/list`.
pub type ListResourceTemplatesRequest = PaginatedRequest;
/// The parameters of `prompts/list`.
pub type ListPromptsRequest = PaginatedRequest;
/// The parameters of `tools/list`.
pub type ListToolsRequest = PaginatedRequest;

object! {
    /// A result that says nothing but that it was done (SCH-T05).
    #[derive(Default)]
    pub struct EmptyResult {
        required {}
        optional {
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}
