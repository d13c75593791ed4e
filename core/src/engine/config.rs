//! What a session is told before it begins.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::protocol::{Direction, Era, Gate, Implementation, Revision};

/// Which side of the protocol a session plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Begins with `initialize`.
    Client,
    /// Waits for `initialize`.
    Server,
}

impl Role {
    /// Whether this role sends messages of `direction`.
    pub fn may_send(self, direction: Direction) -> bool {
        match direction {
            Direction::Both => true,
            Direction::ClientToServer => self == Role::Client,
            Direction::ServerToClient => self == Role::Server,
        }
    }

    /// Whether this role receives messages of `direction`.
    pub fn may_receive(self, direction: Direction) -> bool {
        match direction {
            Direction::Both => true,
            Direction::ClientToServer => self == Role::Server,
            Direction::ServerToClient => self == Role::Client,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Client => "client",
            Role::Server => "server",
        })
    }
}

/// What this side says of itself in the handshake. It holds for the whole session (CAP-09).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Local {
    /// Name and version.
    pub info: Implementation,
    /// The declared capabilities by name; an object that is present means supported (CAP-02).
    pub capabilities: Map<String, Value>,
    /// A server's instructions for the model (LIFE-14).
    pub instructions: Option<String>,
}

impl Local {
    /// Declares nothing.
    pub fn new(info: Implementation) -> Local {
        Local { info, capabilities: Map::new(), instructions: None }
    }
}

/// The bounds of a session. The defaults are those of the table "Limits" in the project's documentation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// The longest message accepted, in bytes. Default 64 MiB.
    pub message_in: usize,
    /// The longest message sent, in bytes. Default 64 MiB.
    pub message_out: usize,
    /// Arrays and objects open at once in a received message. Default 128.
    pub depth: usize,
    /// Requests of the peer that run at once. Default 256.
    pub running: usize,
    /// Requests of the peer that wait for their turn. Default 4096; beyond, they are refused.
    pub waiting: usize,
    /// Bytes of parameters that wait for their turn. Default 64 MiB; beyond, requests are refused.
    pub waiting_bytes: usize,
    /// Bytes for the peer that it has not taken. Default 64 MiB; beyond, the session is closed. From half of it on no
    /// further call is started, so that answers do not pile up for a peer that is merely slow.
    pub outbound_bytes: usize,
    /// How long accepted calls may go on after the end of a server's input. Default 1 s (DOWN-04).
    pub eof_grace: Duration,
    /// Progress notifications per second and call; more are merged, and the newest value is always sent. Default 100
    /// (PROG-10).
    pub progress_per_second: u32,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1024 * 1024;
        Limits {
            message_in: 64 * MIB,
            message_out: 64 * MIB,
            depth: 128,
            running: 256,
            waiting: 4096,
            waiting_bytes: 64 * MIB,
            outbound_bytes: 64 * MIB,
            eof_grace: Duration::from_secs(1),
            progress_per_second: 100,
        }
    }
}

/// Periodic pings that find out whether the peer still answers (PING-03, PING-04).
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct KeepAlive {
    /// The time from one ping to the next.
    pub interval: Duration,
    /// How long a ping may go unanswered. Never two are unanswered at once.
    pub timeout: Duration,
    /// After how many failures in a row the session is closed; `None` only reports them. Default 1.
    pub close_after: Option<u32>,
}

impl KeepAlive {
    /// A ping every `interval`, each of which must be answered within the same time.
    pub fn new(interval: Duration) -> KeepAlive {
        KeepAlive { interval, timeout: interval, close_after: Some(1) }
    }

    /// How long a ping may go unanswered.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> KeepAlive {
        self.timeout = timeout;
        self
    }

    /// After how many failures in a row the session is closed; `None` only reports them.
    #[must_use]
    pub fn close_after(mut self, failures: Option<u32>) -> KeepAlive {
        self.close_after = failures;
        self
    }
}

/// Everything a session is told before it begins.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Which side this is.
    pub role: Role,
    /// What this side says of itself.
    pub local: Local,
    /// The revisions on offer, in any order. Default: all that are implemented.
    pub revisions: Vec<Revision>,
    /// The bounds.
    pub limits: Limits,
    /// Periodic pings; off by default.
    pub keep_alive: Option<KeepAlive>,
}

impl Config {
    /// The defaults for this role.
    pub fn new(role: Role, local: Local) -> Config {
        Config { role, local, revisions: Revision::IMPLEMENTED.to_vec(), limits: Limits::default(), keep_alive: None }
    }

    /// The revisions on offer that a handshake can agree on.
    pub(super) fn offers(&self) -> impl Iterator<Item = Revision> {
        self.revisions.iter().copied().filter(|revision| revision.era() == Era::Legacy)
    }

    /// The newest revision on offer (VER-02, VER-05).
    pub(super) fn newest_revision(&self) -> Revision {
        self.offers().max().unwrap_or(Revision::V2024_11_05)
    }

    /// The revision on offer with this name (VER-03, VER-09).
    pub(super) fn offered(&self, name: &str) -> Option<Revision> {
        self.offers().find(|revision| revision.as_str() == name)
    }
}

/// Whether `capabilities` hold what `gate` asks for: a present object, and a flag that is `true` (CAP-02, CAP-03).
pub(super) fn declares(capabilities: &Map<String, Value>, gate: Gate) -> bool {
    match (capabilities.get(gate.capability), gate.flag) {
        (Some(Value::Object(_)), None) => true,
        (Some(Value::Object(object)), Some(flag)) => object.get(flag) == Some(&Value::Bool(true)),
        _ => false,
    }
}
