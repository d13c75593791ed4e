//! The application's callbacks, as a client keeps them.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use super::context::HandlerContext;
use super::state::StateHook;
use crate::engine::Diagnostic;
use crate::error::Error;
use crate::middleware::{BoxFuture, Stack};
use crate::protocol::{CreateMessageRequest, CreateMessageResult, Json, LoggingMessageNotification, Root};

/// An asynchronous callback that serves one kind of request.
pub(super) type Handler<P, R> = Arc<dyn Fn(P, HandlerContext) -> BoxFuture<Result<R, Error>> + Send + Sync>;

/// Makes a [`Handler`] of a closure.
pub(super) fn handler<P, R, F, Fut>(handle: F) -> Handler<P, R>
where
    F: Fn(P, HandlerContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, Error>> + Send + 'static,
{
    Arc::new(move |params, context| Box::pin(handle(params, context)))
}

/// Where the answer to `roots/list` comes from.
#[derive(Clone)]
pub(super) enum RootsSource {
    /// A list that the application sets.
    List,
    /// A callback that is asked each time.
    Callback(Handler<(), Vec<Root>>),
}

type Hook<T> = Option<Arc<dyn Fn(T) + Send + Sync>>;

/// Says whether a root may be told.
pub(super) type RootFilter = Arc<dyn Fn(&Root) -> bool + Send + Sync>;

/// Called with what is odd.
pub(super) type DiagnosticHook = Arc<dyn Fn(&Diagnostic) + Send + Sync>;

/// Called with the method and the parameters of a notification.
pub(super) type NotificationHook = Arc<dyn Fn(&str, Option<&Json>) + Send + Sync>;

/// Everything that the application wants to be called for.
#[derive(Clone, Default)]
pub(super) struct Handlers {
    pub(super) sampling: Option<Handler<CreateMessageRequest, CreateMessageResult>>,
    pub(super) roots: Option<RootsSource>,
    pub(super) allow_root: Option<RootFilter>,
    pub(super) methods: HashMap<String, Handler<Json, Json>>,
    pub(super) middleware: Stack,
    pub(super) log: Hook<LoggingMessageNotification>,
    pub(super) tools_changed: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(super) prompts_changed: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(super) resources_changed: Option<Arc<dyn Fn() + Send + Sync>>,
    pub(super) resource_updated: Hook<String>,
    pub(super) notification: Option<NotificationHook>,
    pub(super) diagnostic: Option<DiagnosticHook>,
    pub(super) state: Option<StateHook>,
}
