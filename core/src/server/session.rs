//! What a server knows of one session besides what the engine knows: subscriptions, log level, roots.

use std::collections::HashSet;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Inner;
use super::context::Ask;
use crate::engine::{CallId, CloseReason, Diagnostic, Peer};
use crate::error::{Error, ErrorKind};
use crate::middleware::Message;
use crate::protocol::{
    CreateMessageRequest, CreateMessageResult, Json, ListRootsResult, LoggingLevel, Method, MethodKind, Project,
    Revision,
};
use crate::session::runtime::{Clock, lock};
use crate::session::{Call, Reply, Service, Session};

/// One session's state; dies with it (LIFE-16).
pub(crate) struct SessionState {
    pub(super) server: Arc<Inner>,
    peer: OnceLock<Arc<Peer>>,
    /// URIs whose changes the client wants to hear of (SUB-07, SUB-08).
    pub(super) subscriptions: Mutex<Subscriptions>,
    /// Lists whose change is to be announced, as bits.
    pub(super) changed_lists: AtomicU8,
    logging: Mutex<Logging>,
    roots: Mutex<Roots>,
}

/// Bounded, because a template makes any number of URIs readable.
#[derive(Default)]
pub(super) struct Subscriptions {
    uris: HashSet<String>,
    bytes: usize,
}

impl Subscriptions {
    const MAX_URIS: usize = 10_000;
    const MAX_BYTES: usize = 4 * 1024 * 1024;

    pub(super) fn contains(&self, uri: &str) -> bool {
        self.uris.contains(uri)
    }

    pub(super) fn insert(&mut self, uri: String) -> Result<(), Error> {
        if self.uris.contains(&uri) {
            return Ok(());
        }
        let bytes = self.bytes + uri.len();
        if self.uris.len() >= Self::MAX_URIS || bytes > Self::MAX_BYTES {
            return Err(Error::new(ErrorKind::Overloaded, "Too many subscriptions in this session: end some first"));
        }
        self.bytes = bytes;
        self.uris.insert(uri);
        Ok(())
    }

    pub(super) fn remove(&mut self, uri: &str) {
        if self.uris.remove(uri) {
            self.bytes -= uri.len();
        }
    }
}

struct Logging {
    level: LoggingLevel,
    second: Option<Instant>,
    this_second: u32,
    dropped: u64,
}

/// The client's roots as last told (ROOT-08).
#[derive(Default)]
struct Roots {
    known: Option<Arc<ListRootsResult>>,
    /// Counts the changes announced; an answer to a question from before a change is not kept.
    changes: u64,
    wanted: bool,
    /// They are being asked for because they changed.
    refreshing: bool,
}

impl SessionState {
    pub(super) fn new(server: Arc<Inner>) -> SessionState {
        let level = server.log_level;
        SessionState {
            server,
            peer: OnceLock::new(),
            subscriptions: Mutex::default(),
            changed_lists: AtomicU8::new(0),
            logging: Mutex::new(Logging { level, second: None, this_second: 0, dropped: 0 }),
            roots: Mutex::default(),
        }
    }

    pub(super) fn peer(&self) -> Option<&Arc<Peer>> {
        self.peer.get()
    }

    pub(super) fn revision(&self) -> Revision {
        self.peer.get().map_or(Revision::V2024_11_05, |peer| peer.revision)
    }

    pub(super) fn log_level(&self) -> LoggingLevel {
        lock(&self.logging).level
    }

    pub(super) fn set_log_level(&self, level: LoggingLevel) {
        lock(&self.logging).level = level;
    }

    /// Sends a log message that passes the threshold (LOG-03) and the rate (LOG-09).
    pub(super) fn log(
        self: &Arc<Self>,
        session: &Arc<Session>,
        level: LoggingLevel,
        logger: Option<&str>,
        data: &dyn erased::Serialize,
        related: Option<CallId>,
    ) {
        if !self.admit(session, level) {
            return;
        }
        match log_params(level, logger, data) {
            // Without the capability nothing is sent (LOG-01); a closed session has nobody to tell.
            Ok(params) => drop(self.notify(session, Method::LogMessage, Some(params), related)),
            Err(error) => tracing::warn!(%error, "a log message is not JSON"),
        }
    }

    fn admit(self: &Arc<Self>, session: &Arc<Session>, level: LoggingLevel) -> bool {
        const SECOND: Duration = Duration::from_secs(1);
        let now = Instant::now();
        let mut logging = lock(&self.logging);
        if level < logging.level {
            return false;
        }
        match logging.second {
            Some(second) if now.saturating_duration_since(second) < SECOND => logging.this_second += 1,
            _ => (logging.second, logging.this_second) = (Some(now), 1),
        }
        if logging.this_second <= self.server.log_messages_per_second {
            return true;
        }
        logging.dropped += 1;
        if logging.dropped == 1 {
            let due = logging.second.unwrap_or(now) + SECOND;
            let (state, session) = (Arc::clone(self), Arc::downgrade(session));
            Clock::at(due, move || {
                if let Some(session) = session.upgrade() {
                    state.note_dropped(&session);
                }
            });
        }
        false
    }

    /// Says how many messages the rate kept back.
    fn note_dropped(&self, session: &Arc<Session>) {
        let (dropped, level) = {
            let mut logging = lock(&self.logging);
            // Not below the threshold, where nobody would read it (LOG-03).
            (std::mem::take(&mut logging.dropped), logging.level.max(LoggingLevel::Warning))
        };
        let data = format!(
            "{dropped} log messages were dropped: more than {} in a second",
            self.server.log_messages_per_second
        );
        if let Ok(params) = log_params(level, None, &data) {
            drop(self.notify(session, Method::LogMessage, Some(params), None));
        }
    }

    /// Sends a notification past the middleware.
    pub(super) fn notify(
        &self,
        session: &Arc<Session>,
        method: Method,
        params: Option<Json>,
        related: Option<CallId>,
    ) -> Result<(), Error> {
        match self.filter(session, method, params) {
            Some(message) => session.notify(&message.method, message.params.as_ref(), related),
            None => Ok(()),
        }
    }

    /// What the middleware makes of a notification; `None` if it is not to be sent.
    pub(super) fn filter(&self, session: &Arc<Session>, method: Method, params: Option<Json>) -> Option<Message> {
        let message = Message::new(method, params, Arc::clone(&session.id), self.peer().cloned());
        let stack = &self.server.middleware;
        if stack.is_empty() {
            return Some(message);
        }
        // Middleware that panics lets nothing through.
        let mut passed = None;
        session.guarded(|| passed = stack.outgoing_notification(message));
        passed
    }
}

/// `dyn Serialize`, which serde itself does not have.
mod erased {
    use crate::protocol::{Json, JsonError};

    pub(crate) trait Serialize {
        fn to_json(&self) -> Result<Json, JsonError>;
    }

    impl<T: serde::Serialize> Serialize for T {
        fn to_json(&self) -> Result<Json, JsonError> {
            Json::from_serialize(self)
        }
    }
}

fn log_params(level: LoggingLevel, logger: Option<&str>, data: &dyn erased::Serialize) -> Result<Json, Error> {
    #[derive(Serialize)]
    struct Params<'a> {
        level: LoggingLevel,
        #[serde(skip_serializing_if = "Option::is_none")]
        logger: Option<&'a str>,
        data: Json,
    }
    Ok(Json::from_serialize(&Params { level, logger, data: data.to_json()? })?)
}

/// Serves one session for a server.
pub(super) struct SessionService {
    pub(super) state: Arc<SessionState>,
}

impl Service for SessionService {
    fn request(&self, call: &Arc<Call>) -> Reply {
        super::dispatch::serve(&self.state, call)
    }

    fn notification(&self, session: &Arc<Session>, method: &Method, params: Option<&str>) {
        super::dispatch::notification(&self.state, session, method, params);
    }

    fn negotiated(&self, session: &Arc<Session>) {
        if let Some(peer) = session.peer() {
            let _ = self.state.peer.set(peer);
        }
    }

    fn ready(&self, session: &Arc<Session>) {
        if let Some(hook) = &self.state.server.hooks.ready {
            let handle = ServerSession { session: Arc::clone(session), state: Arc::clone(&self.state) };
            session.guarded(|| hook(handle));
        }
    }

    fn diagnostic(&self, session: &Session, diagnostic: &Diagnostic) {
        tracing::debug!(session = %session.id, %diagnostic);
        if let Some(hook) = &self.state.server.hooks.diagnostic {
            hook(diagnostic);
        }
    }

    fn closed(&self, session: &Arc<Session>, reason: &CloseReason) {
        self.state.server.hub.remove(&session.id);
        if let Some(hook) = &self.state.server.hooks.closed {
            hook(&session.id, reason);
        }
    }
}

/// A live session, for what is not bound to one request: asking the client, telling it things, closing.
///
/// Only revisions with sessions have these calls; handlers that should work under every revision use their
/// [`RequestContext`](super::RequestContext).
#[derive(Clone)]
pub struct ServerSession {
    pub(super) session: Arc<Session>,
    pub(super) state: Arc<SessionState>,
}

impl ServerSession {
    /// The session's id.
    pub fn id(&self) -> &str {
        &self.session.id
    }

    /// The client's name, version and capabilities, once it told.
    pub fn peer(&self) -> Option<&Arc<Peer>> {
        self.state.peer()
    }

    /// Whether the session has ended.
    pub fn is_closed(&self) -> bool {
        self.session.is_closed()
    }

    /// Resolves when the session has ended, with the reason.
    pub async fn closed(&self) -> CloseReason {
        self.session.closed().await
    }

    /// Ends the session. Running handlers are told to stop, and their answers are dropped.
    pub fn close(&self) {
        self.session.close(CloseReason::Local);
    }

    /// Asks whether the client is there (PING-02).
    pub fn ping(&self) -> Ask<Json> {
        Ask::new(&self.session, &self.state, Method::Ping, Ok(None))
    }

    /// Asks the client's model for a completion; see [`RequestContext::sample`](super::RequestContext::sample).
    pub fn sample(&self, mut request: CreateMessageRequest) -> Ask<CreateMessageResult> {
        let revision = self.state.revision();
        let params = request
            .validate(revision)
            .and_then(|()| request.project(revision))
            .map_err(Error::from)
            .and_then(|()| Ok(Some(Json::from_serialize(&request)?)));
        Ask::new(&self.session, &self.state, Method::CreateMessage, params)
    }

    /// Asks the client for its roots, anew.
    pub fn list_roots(&self) -> Ask<ListRootsResult> {
        Ask::new(&self.session, &self.state, Method::ListRoots, Ok(None))
    }

    /// The client's roots as last told. Asks when nothing is known; after that, a change that the client announces makes
    /// the server ask again by itself (ROOT-08).
    pub async fn roots(&self) -> Result<Arc<ListRootsResult>, Error> {
        let changes = {
            let mut roots = lock(&self.state.roots);
            roots.wanted = true;
            if let Some(known) = &roots.known {
                return Ok(Arc::clone(known));
            }
            roots.changes
        };
        let told = Arc::new(self.list_roots().await?);
        let mut roots = lock(&self.state.roots);
        if roots.changes == changes {
            roots.known = Some(Arc::clone(&told));
        }
        Ok(told)
    }

    /// The client's roots are not what they were. However often a client says so, there is one question at a time.
    pub(super) fn roots_changed(&self) {
        let mut roots = lock(&self.state.roots);
        roots.known = None;
        roots.changes += 1;
        if roots.wanted && !std::mem::replace(&mut roots.refreshing, true) {
            drop(roots);
            self.session.executor().spawn(self.clone().refresh_roots());
        }
    }

    async fn refresh_roots(self) {
        loop {
            let asked_at = lock(&self.state.roots).changes;
            if let Err(error) = self.roots().await {
                tracing::debug!(%error, "the roots that changed cannot be asked for");
            }
            let mut roots = lock(&self.state.roots);
            if roots.changes == asked_at || self.session.is_closed() {
                roots.refreshing = false;
                return;
            }
        }
    }

    /// Sends a log message if its level passes the session's threshold.
    pub fn log(&self, level: LoggingLevel, logger: Option<&str>, data: impl Serialize) {
        self.state.log(&self.session, level, logger, &data, None);
    }

    /// Sends a request of the application's own, or any other, and returns the result object as it comes.
    pub fn request(&self, method: &str, params: Option<Json>) -> Ask<Json> {
        Ask::new(&self.session, &self.state, Method::from_name(method, MethodKind::Request), Ok(params))
    }

    /// Sends a notification of the application's own, or any other.
    pub fn notify(&self, method: &str, params: Option<Json>) -> Result<(), Error> {
        self.state.notify(&self.session, Method::from_name(method, MethodKind::Notification), params, None)
    }
}

impl std::fmt::Debug for ServerSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerSession").field("id", &self.session.id).finish_non_exhaustive()
    }
}
