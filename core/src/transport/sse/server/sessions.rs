//! The sessions that are open over HTTP, and their end.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::response::Response;
use http::StatusCode;
use http::header::HeaderValue;
use tokio::task::JoinSet;

use super::auth::Identity;
use super::counters::SseCounters;
use super::options::SseOptions;
use super::stream::StreamOutlet;
use crate::engine::CloseReason;
use crate::server::Server;
use crate::session::runtime::{Clock, lock};
use crate::session::{Session, hexadecimal};

/// How long the last answers may take to leave in a shutdown.
pub(super) const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Comments that come faster keep nobody alive any better.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// What clients say to post to a session: 128 random bits in hexadecimal (SSE-14). Other than the session's id it is never
/// logged.
pub(super) type Ticket = Arc<str>;

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
    open: Mutex<HashMap<Ticket, Entry>>,
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
    pub(super) fn open(
        &self,
        identity: &Identity,
        outlet: &StreamOutlet,
    ) -> Result<(Ticket, Arc<Session>), (StatusCode, &'static str)> {
        let Some(ticket) = ticket() else {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "there is no randomness for a session's id"));
        };
        let mut open = lock(&self.open);
        // Under the lock, so that a shutdown either sees the session or keeps it from being opened.
        if self.is_shutting_down() {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down"));
        }
        if open.len() >= self.options.max_sessions {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open"));
        }
        if let Some(id) = &identity.id
            && self.options.max_sessions_per_identity < self.options.max_sessions
        {
            let theirs = open.values().filter(|entry| entry.identity.id.as_ref() == Some(id)).count();
            if theirs >= self.options.max_sessions_per_identity {
                return Err((StatusCode::TOO_MANY_REQUESTS, "too many sessions of this identity are open"));
            }
        }
        let session = self.server.begin(Box::new(outlet.clone()));
        let entry = Entry { session: Arc::clone(&session), identity: identity.clone(), outlet: outlet.clone() };
        open.insert(Arc::clone(&ticket), entry);
        self.counters.opened();
        Ok((ticket, session))
    }

    pub(super) fn find(&self, ticket: &str) -> Option<Entry> {
        let entry = lock(&self.open).get(ticket).cloned();
        entry.filter(|entry| !entry.session.is_closed())
    }

    pub(super) fn remove(&self, ticket: &str) {
        let mut open = lock(&self.open);
        let removed = open.remove(ticket);
        if open.capacity() > 64 && open.capacity() > 4 * open.len() {
            open.shrink_to_fit();
        }
        drop(open);
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
        // An interval that the clock cannot count never comes.
        let Some(due) = Instant::now().checked_add(interval.max(SHORTEST_INTERVAL)) else { return };
        let sessions = Arc::downgrade(self);
        Clock::at(due, move || {
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

    /// Waits until no stream is open any more.
    async fn none_open(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            changed.await;
        }
    }
}

fn ticket() -> Option<Ticket> {
    let mut bits = [0_u8; 16];
    getrandom::fill(&mut bits).ok()?;
    Some(hexadecimal(&bits).into())
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
    /// Sessions that ended with calls still running, at the end of the grace or because the client went away.
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
        let mut drained = JoinSet::new();
        for session in self.sessions.all() {
            session.drain(grace);
            drained.spawn(async move {
                // Drained sessions close by themselves, at the end of the grace at the latest.
                session.closed().await;
                !session.was_cut_off()
            });
        }
        let mut report = ShutdownReport { finished: 0, cancelled: 0 };
        while let Some(finished) = drained.join_next().await {
            if matches!(finished, Ok(true)) { report.finished += 1 } else { report.cancelled += 1 }
        }
        // The last answers are on their way; a reader that has stalled does not get to wait for them.
        let _ = tokio::time::timeout(LAST_ANSWERS, self.sessions.none_open()).await;
        report
    }

    /// Ends all sessions at once.
    pub fn close(&self) {
        for session in self.sessions.all() {
            session.close(CloseReason::Local);
        }
    }
}
