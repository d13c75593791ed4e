//! What the engine tells the application.

use std::fmt;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::error::{Error, ErrorKind, Excerpt};
use crate::protocol::envelope::Fault;
use crate::protocol::{Implementation, Json, Method, RequestId, Revision};

/// Names a request of the peer while it is served. Never reused within a session: a late answer is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId {
    pub(super) index: u32,
    pub(super) generation: u32,
}

impl CallId {
    /// The slot of the call: small numbers, used again after a call has ended.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

/// Names an own request. Counts up from 1 and is the request's JSON-RPC id, so it never repeats (JRPC-04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey(pub(super) u64);

impl RequestKey {
    /// The JSON-RPC id of the request.
    pub fn id(self) -> RequestId {
        RequestId::from(self.0)
    }

    /// The same as a number.
    pub fn get(self) -> u64 {
        self.0
    }
}

/// Whether a completion was of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// The answer is on its way.
    Accepted,
    /// The call had ended before: cancelled, answered already, or closed with the session. Nothing was sent.
    Stale,
}

/// What the peer said of itself in the handshake.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Peer {
    /// Name and version.
    pub info: Implementation,
    /// Its capabilities by name, unknown ones included; null ones are left out (CAP-04, CAP-11).
    pub capabilities: Map<String, Value>,
    /// The negotiated revision.
    pub revision: Revision,
    /// A server's instructions, verbatim (LIFE-14).
    pub instructions: Option<String>,
    /// The parameters (from a client) or the result (from a server) of `initialize`, as received.
    pub raw: Json,
}

/// Something the application must know or do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// The peer's side of the handshake is known; on a server requests may follow at once (LIFE-08).
    Negotiated,
    /// The handshake is complete: what was held back is on its way.
    Ready,
    /// A request to serve. It must be answered with [`respond`](super::Engine::respond), even after a cancel.
    Request {
        /// Names the call from now on.
        call: CallId,
        /// The JSON-RPC id, for people.
        id: RequestId,
        /// What is asked for.
        method: Method,
        /// The text of the `params` object.
        params: Option<Bytes>,
    },
    /// The peer, or the end of the session, wants this call to stop. Its answer will be discarded.
    Cancelled {
        /// The call.
        call: CallId,
        /// The peer's reason.
        reason: Option<String>,
    },
    /// A notification that is not the engine's own business.
    Notification {
        /// What it says.
        method: Method,
        /// The text of the `params` object.
        params: Option<Bytes>,
    },
    /// Progress of an own request that asked for it.
    Progress {
        /// The request.
        request: RequestKey,
        /// The text of the `params` object.
        params: Bytes,
    },
    /// An own request has come to its end: the text of the result object, or the error.
    Settled {
        /// The request.
        request: RequestKey,
        /// Its outcome.
        outcome: Result<Bytes, Error>,
    },
    /// Something odd that does not end the session.
    Diagnostic(Diagnostic),
    /// The session has ended. The last event.
    Closed(CloseReason),
}

/// Something odd that did not end the session, for the diagnostics hook.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Diagnostic {
    /// A frame that is no usable message.
    Malformed {
        /// What is wrong with it.
        fault: Fault,
        /// Its beginning.
        excerpt: String,
    },
    /// A message beyond the limit was skipped.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// A response to nothing that was asked (JRPC-23).
    UnknownResponse(RequestId),
    /// A response to a request that was cancelled or timed out; it is expected (CANC-05).
    LateResponse(RequestId),
    /// The peer reported an error that belongs to no request (JRPC-23).
    ConnectionError(Error),
    /// A notification that is out of place or malformed was dropped.
    Dropped {
        /// Its method.
        method: Method,
        /// Why.
        why: &'static str,
    },
    /// The peer did not answer a keep-alive ping in time (PING-05).
    PingFailed {
        /// How many in a row.
        failures: u32,
    },
    /// A `tools/call` result lacks `content`; it was read as empty (SCH-T20).
    MissingContent,
    /// A notification or an answer was refused on its way to the peer.
    NotSent(Error),
    /// A handler or callback of the application panicked; the message stays on this side (JRPC-26).
    Panic(String),
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Diagnostic::Malformed { fault, excerpt } => write!(f, "{fault}: {}", Excerpt(excerpt)),
            Diagnostic::TooLarge { limit } => write!(f, "a message longer than the limit of {limit} bytes was skipped"),
            Diagnostic::UnknownResponse(id) => write!(f, "a response to id {id}, which was never asked"),
            Diagnostic::LateResponse(id) => write!(f, "a late response to id {id}"),
            Diagnostic::ConnectionError(error) => write!(f, "the peer reports an error without an id: {error}"),
            Diagnostic::Dropped { method, why } => write!(f, "dropped {}: {why}", Excerpt(method.as_str())),
            Diagnostic::PingFailed { failures } => {
                write!(f, "the peer did not answer a ping in time ({failures} in a row)")
            }
            Diagnostic::MissingContent => f.write_str("a tool result without `content` was read as empty"),
            Diagnostic::NotSent(error) => write!(f, "a message was not delivered: {error}"),
            Diagnostic::Panic(message) => write!(f, "a handler panicked: {}", Excerpt(message)),
        }
    }
}

/// Why a session ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CloseReason {
    /// This side closed it.
    Local,
    /// The peer ended its side: end of input, or its process ended.
    Peer {
        /// What is known about it, such as an exit status.
        detail: Option<String>,
    },
    /// The bytes could not be moved.
    Transport(Error),
    /// The peer did not answer pings (PING-03).
    Unresponsive,
    /// The peer did not take what was sent to it, up to the outbound limit.
    Overflow,
    /// The handshake failed (LIFE-12).
    Handshake(Error),
}

impl CloseReason {
    /// The error with which pending calls fail.
    pub fn error(&self) -> Error {
        match self {
            CloseReason::Handshake(error) => error.clone(),
            other => Error::new(ErrorKind::Closed, format!("the connection is closed: {other}")),
        }
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CloseReason::Local => f.write_str("closed by this side"),
            CloseReason::Peer { detail: None } => f.write_str("closed by the peer"),
            CloseReason::Peer { detail: Some(detail) } => write!(f, "closed by the peer: {detail}"),
            CloseReason::Transport(error) => error.fmt(f),
            CloseReason::Unresponsive => f.write_str("the peer does not answer pings"),
            CloseReason::Overflow => f.write_str("the peer does not read what is sent to it"),
            CloseReason::Handshake(error) => write!(f, "the handshake failed: {error}"),
        }
    }
}
