//! The settings of HTTP with SSE on the server side.

use std::sync::Arc;
use std::time::Duration;

use super::auth::Authenticate;

/// What a server over HTTP with SSE does and allows. The defaults are safe for a server on this machine: loopback only,
/// no foreign origins, bounded bodies and sessions.
#[derive(Clone)]
#[non_exhaustive]
pub struct SseOptions {
    pub(super) sse_path: String,
    pub(super) message_path: String,
    pub(super) public_prefix: Option<String>,
    pub(super) allowed_origins: Vec<String>,
    pub(super) allowed_hosts: Vec<String>,
    pub(super) auth: Option<Arc<dyn Authenticate>>,
    pub(super) body_limit: usize,
    pub(super) header_time: Duration,
    pub(super) body_time: Duration,
    pub(super) max_sessions: usize,
    pub(super) max_sessions_per_identity: usize,
    pub(super) comment_interval: Option<Duration>,
    pub(super) health: bool,
}

impl Default for SseOptions {
    fn default() -> Self {
        SseOptions {
            sse_path: "/sse".to_owned(),
            message_path: "/messages".to_owned(),
            public_prefix: None,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            auth: None,
            body_limit: 8 * 1024 * 1024,
            header_time: Duration::from_secs(30),
            body_time: Duration::from_secs(60),
            max_sessions: 10_000,
            max_sessions_per_identity: usize::MAX,
            comment_interval: Some(Duration::from_secs(15)),
            health: true,
        }
    }
}

impl SseOptions {
    /// The defaults.
    pub fn new() -> SseOptions {
        SseOptions::default()
    }

    /// Where the event stream is. Default `/sse`.
    #[must_use]
    pub fn sse_path(mut self, path: impl Into<String>) -> Self {
        self.sse_path = absolute(path.into());
        self
    }

    /// Where messages are posted. Default `/messages`.
    #[must_use]
    pub fn message_path(mut self, path: impl Into<String>) -> Self {
        self.message_path = absolute(path.into());
        self
    }

    /// What a proxy in front takes away from the beginning of the path, such as `/svc`: it is put back into the URI that
    /// clients are told. A prefix under which the routes are mounted in a larger app is found without this.
    #[must_use]
    pub fn public_prefix(mut self, prefix: impl Into<String>) -> Self {
        let prefix = absolute(prefix.into());
        self.public_prefix = Some(prefix.trim_end_matches('/').to_owned());
        self
    }

    /// Lets pages of this origin, such as `https://app.example`, use the server from a browser; also answers their
    /// pre-flights. Requests of other origins get 403 (SSE-05). Default: none.
    #[must_use]
    pub fn allow_origin(mut self, origin: impl Into<String>) -> Self {
        self.allowed_origins.push(origin.into().trim_end_matches('/').to_ascii_lowercase());
        self
    }

    /// Accepts requests to this host name, with any port unless the name has one. Names of the loopback and the address
    /// that a connection came in on are accepted always; anything else gets 403, which stops DNS rebinding.
    #[must_use]
    pub fn allow_host(mut self, host: impl Into<String>) -> Self {
        self.allowed_hosts.push(host.into().to_ascii_lowercase());
        self
    }

    /// Who may connect, and as whom. Default: everybody who reaches the server (SSE-07).
    #[must_use]
    pub fn auth(mut self, hook: impl Authenticate) -> Self {
        self.auth = Some(Arc::new(hook));
        self
    }

    /// The longest body of a POST, in bytes. Default 8 MiB; beyond, 413 (SSE-20).
    #[must_use]
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// How long a connection may take to send the head of a request. Default 30 s. Only for
    /// [`serve_sse`](crate::Server::serve_sse); a larger app has its own.
    #[must_use]
    pub fn header_time(mut self, limit: Duration) -> Self {
        self.header_time = limit;
        self
    }

    /// How long the body of a POST may take to arrive. Default 60 s; beyond, 408.
    #[must_use]
    pub fn body_time(mut self, limit: Duration) -> Self {
        self.body_time = limit;
        self
    }

    /// How many sessions there may be at once. Default 10 000; beyond, 503.
    #[must_use]
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// How many sessions one identity may have at once. Default: no limit of its own; beyond, 429.
    #[must_use]
    pub fn max_sessions_per_identity(mut self, sessions: usize) -> Self {
        self.max_sessions_per_identity = sessions;
        self
    }

    /// How often an idle stream carries a comment, so that proxies keep it open and dead peers are found (SSE-17).
    /// Default 15 s, at least 10 ms; `None` for never.
    #[must_use]
    pub fn comment_interval(mut self, interval: impl Into<Option<Duration>>) -> Self {
        self.comment_interval = interval.into();
        self
    }

    /// Whether `GET /healthz` answers. Default true.
    #[must_use]
    pub fn health(mut self, on: bool) -> Self {
        self.health = on;
        self
    }
}

fn absolute(path: String) -> String {
    if path.starts_with('/') { path } else { format!("/{path}") }
}
