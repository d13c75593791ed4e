//! The sessions that are open over HTTP, and their end.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::response::Response;
use http::StatusCode;
use http::header::HeaderValue;

use super::auth::Identity;
use super::counters::SseCounters;
use super::options::SseOptions;
use super::stream::StreamOutlet;
use crate::engine::CloseReason;
use crate::server::Server;
use crate::session::Session;
use crate::session::runtime::{Clock, lock};

/// One open session.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) session: Arc<Session>,
    pub(super) identity: Identity,
    outlet: StreamOutlet,
}

/// All open sessions.
pub(super) struct Sessions {
    server: Server,
    pub(super) options: SseOptions,
    pub(super) counters: SseCounters,
    open: Mutex<HashMap<Arc<str>, Entry>>,
    shutting_down: AtomicBool,
    changed: tokio::sync::Notify,
}

impl Sessions {
    pub(super) fn new(server: Server, options: SseOptions) -> Sessions {
        Sessions {
            server,
            options,
            counters: SseCounters::default(),
            open: Mutex::default(),
            shutting_down: AtomicBool::new(false),
            changed: tokio::sync::Notify::new(),
        }
    }

    /// Begins a session, or says why not.
    pub(super) fn open(&self, identity: &Identity, outlet: StreamOutlet) -> Result<Arc<Session>, (StatusCode, &'static str)> {
        if self.is_shutting_down() {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down"));
        }
        let mut open = lock(&self.open);
        if open.len() >= self.options.max_sessions {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open"));
        }
        if let Some(id) = &identity.id {
            let theirs = open.values().filter(|entry| entry.identity.id.as_ref() == Some(id)).count();
            if theirs >= self.options.max_sessions_per_identity {
                return Err((StatusCode::TOO_MANY_REQUESTS, "too many sessions of this identity are open"));
            }
        }
        let session = self.server.begin(Box::new(outlet.clone()));
        let entry = Entry { session: Arc::clone(&session), identity: identity.clone(), outlet };
        open.insert(Arc::clone(&session.id), entry);
        self.counters.opened();
        Ok(session)
    }

    pub(super) fn find(&self, id: &str) -> Option<Entry> {
        lock(&self.open).get(id).filter(|entry| !entry.session.is_closed()).cloned()
    }

    pub(super) fn remove(&self, id: &str) {
        let removed = lock(&self.open).remove(id);
        if removed.is_some() {
            self.counters.closed();
            self.changed.notify_waiters();
        }
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.shutting_down.load(Ordering::Acquire)
    }

    /// Refuses a request with a status and a sentence.
    pub(super) fn refuse(&self, status: StatusCode, why: &str, origin: Option<&HeaderValue>) -> Response {
        self.counters.refused();
        tracing::debug!(status = status.as_u16(), why, "HTTP request refused");
        super::answer(status, why.to_owned(), origin)
    }

    /// One clock for all streams.
    pub(super) fn begin_comments(self: &Arc<Self>) {
        let Some(interval) = self.options.comment_interval else { return };
        let sessions = Arc::downgrade(self);
        Clock::at(Instant::now() + interval, move || {
            if let Some(sessions) = sessions.upgrade() {
                let outlets: Vec<_> = lock(&sessions.open).values().map(|entry| entry.outlet.clone()).collect();
                for outlet in outlets {
                    outlet.comment();
                }
                sessions.begin_comments();
            }
        });
    }

    fn all(&self) -> Vec<Arc<Session>> {
        lock(&self.open).values().map(|entry| Arc::clone(&entry.session)).collect()
    }

    fn count(&self) -> usize {
        lock(&self.open).len()
    }
}

/// Looks after the sessions that are open over HTTP.
#[derive(Clone)]
pub struct SseHandle {
    sessions: Arc<Sessions>,
}

/// What became of the sessions in a shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Sessions whose accepted calls were all answered.
    pub finished: usize,
    /// Sessions that were cut off with calls still running.
    pub cancelled: usize,
}

impl SseHandle {
    pub(super) fn new(sessions: Arc<Sessions>) -> SseHandle {
        SseHandle { sessions }
    }

    /// How many sessions are open.
    pub fn sessions(&self) -> usize {
        self.sessions.count()
    }

    /// What has happened so far.
    pub fn counters(&self) -> &SseCounters {
        &self.sessions.counters
    }

    /// Ends the service in good order: no new sessions and no new messages (503); calls already accepted may finish within
    /// `grace` and are answered; then the rest is cancelled and all streams end.
    pub async fn shutdown(&self, grace: Duration) -> ShutdownReport {
        self.sessions.shutting_down.store(true, Ordering::Release);
        let until = Instant::now() + grace;
        let all = self.sessions.all();
        for session in &all {
            session.drain(grace);
        }
        let mut report = ShutdownReport { finished: 0, cancelled: 0 };
        for session in &all {
            // Drained sessions close by themselves, at the end of the grace at the latest.
            session.closed().await;
            if Instant::now() < until { report.finished += 1 } else { report.cancelled += 1 }
        }
        report
    }

    /// Ends all sessions at once.
    pub fn close(&self) {
        for session in self.sessions.all() {
            session.close(CloseReason::Local);
        }
    }
}
