//! What the server sent by itself, in the order in which it came, and what the client found wrong.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_native::protocol::{CreateMessageRequest, LoggingLevel};
use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// How long a check waits for what it expects.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// Everything that came.
#[derive(Default)]
pub(crate) struct Mail {
    pub(crate) logs: Vec<LoggingLevel>,
    pub(crate) updated: Vec<String>,
    /// `tools`, `prompts` or `resources`, once for each notification.
    pub(crate) list_changes: Vec<&'static str>,
    pub(crate) sampling: Vec<CreateMessageRequest>,
    /// Diagnostics, and what the library logged above the level debug.
    pub(crate) faults: Vec<String>,
}

/// Filled by the client's callbacks, read by the checks. Clones are the same inbox.
#[derive(Clone, Default)]
pub(crate) struct Inbox {
    mail: Arc<Mutex<Mail>>,
    news: Arc<Notify>,
}

impl Inbox {
    pub(crate) fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn file(&self, put: impl FnOnce(&mut Mail)) {
        put(&mut self.mail());
        self.news.notify_waiters();
    }

    /// Takes the faults out that came after the first `start`.
    pub(crate) fn take_faults(&self, start: usize) -> Vec<String> {
        let mut mail = self.mail();
        let start = start.min(mail.faults.len());
        mail.faults.split_off(start)
    }

    /// Waits until `condition` holds; an error that names `what` when it does not within the deadline.
    pub(crate) async fn until(&self, what: &str, condition: impl Fn(&Mail) -> bool) -> Result<(), String> {
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

/// Files what the library logs above the level debug: in a session without faults that is nothing.
pub(crate) struct LibraryLog(Inbox);

impl LibraryLog {
    pub(crate) fn new(inbox: Inbox) -> LibraryLog {
        LibraryLog(inbox)
    }
}

impl<S: Subscriber> Layer<S> for LibraryLog {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() > Level::INFO || !metadata.target().starts_with("mcp_native") {
            return;
        }
        let mut text = Text(format!("logged at {}:", metadata.level()));
        event.record(&mut text);
        self.0.file(|mail| mail.faults.push(text.0));
    }
}

/// The fields of an event as one line.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, " {field}={value:?}");
    }
}
