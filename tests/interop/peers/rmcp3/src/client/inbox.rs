//! What the server sent by itself, in the order in which it came, and what the client has to offer it.
#![allow(deprecated, reason = "logging, sampling and roots are deprecated as of a later revision only")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ClientCapabilities, CreateMessageRequestParams, CreateMessageResult, CustomNotification, ErrorCode, ErrorData,
    Implementation, InitializeRequestParams, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ResourceUpdatedNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// How long a check waits for what it expects.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Everything that came, as JSON.
#[derive(Default)]
pub struct Mail {
    pub logs: Vec<Value>,
    pub updated: Vec<String>,
    pub list_changes: Vec<&'static str>,
    pub sampling: Vec<Value>,
    pub progress: Vec<Value>,
    pub faults: Vec<String>,
    pub roots: Vec<&'static str>,
}

/// The client's handler; clones share the mail.
#[derive(Clone)]
pub struct Inbox {
    mail: Arc<Mutex<Mail>>,
    news: Arc<Notify>,
}

impl Inbox {
    pub fn new() -> Self {
        let roots = vec!["file:///data/r", "file:///data/a%20b"];
        Self { mail: Arc::new(Mutex::new(Mail { roots, ..Mail::default() })), news: Arc::default() }
    }

    pub fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, put: impl FnOnce(&mut Mail)) {
        put(&mut self.mail());
        self.news.notify_waiters();
    }

    /// Waits until `condition` holds; an error that names `what` when it does not within the deadline.
    pub async fn until(&self, what: &str, condition: impl Fn(&Mail) -> bool) -> Result<(), String> {
        let wait = async {
            loop {
                let news = self.news.notified();
                if condition(&self.mail()) {
                    return;
                }
                news.await;
            }
        };
        let late = |_| format!("waited {DEADLINE:?} in vain for {what}");
        tokio::time::timeout(DEADLINE, wait).await.map_err(late)
    }
}

fn to_json(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

impl ClientHandler for Inbox {
    fn get_info(&self) -> InitializeRequestParams {
        let capabilities = ClientCapabilities::builder().enable_sampling().enable_roots().enable_roots_list_changed();
        InitializeRequestParams::new(capabilities.build(), Implementation::new("interop-rmcp3", "1.0.0"))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let params = to_json(params);
        let prompt = params["messages"][0]["content"]["text"].as_str().unwrap_or_default().to_owned();
        self.file(|mail| mail.sampling.push(params));
        if prompt == "refuse" {
            return Err(ErrorData::new(ErrorCode(-1), "the user refused", None));
        }
        let content = json!({"type": "text", "text": format!("sampled: {prompt}")});
        let result = json!({"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"});
        serde_json::from_value(result).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        let roots: Vec<_> = self.mail().roots.iter().map(|uri| json!({"uri": uri})).collect();
        serde_json::from_value(json!({"roots": roots}))
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.file(|mail| mail.progress.push(to_json(params)));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.file(|mail| mail.logs.push(to_json(params)));
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.file(|mail| mail.updated.push(params.uri));
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.file(|mail| mail.list_changes.push("notifications/resources/list_changed"));
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.file(|mail| mail.list_changes.push("notifications/tools/list_changed"));
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.file(|mail| mail.list_changes.push("notifications/prompts/list_changed"));
    }

    async fn on_custom_notification(&self, params: CustomNotification, _: NotificationContext<RoleClient>) {
        self.file(|mail| mail.faults.push(format!("notification {} is not of this revision", params.method)));
    }
}
