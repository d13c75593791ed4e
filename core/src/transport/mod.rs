//! How messages travel: stdio, child processes, byte streams, an in-memory pair, and transports of the application's own.
//!
//! # How each transport makes connections and frames messages
//!
//! | transport | connection | framing |
//! |---|---|---|
//! | stdio of this process | the process itself is the connection | one message a line, UTF-8, ended by `\n` (STDIO-02) |
//! | child process | the client starts the server (STDIO-01) | the same, over its stdin and stdout |
//! | byte streams | any reader and writer | the same |
//! | [`memory`] | [`memory::pair`] makes both ends | whole messages, no framing |
//! | [`Transport`] | the application's affair | whole messages |

pub mod child;
pub(crate) mod lines;
pub mod memory;
#[cfg(any(feature = "sse-server", feature = "sse-client"))]
pub mod sse;
mod stream;
mod tap;

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;

use crate::error::Error;
use crate::protocol::RequestId;

pub use stream::StreamTransport;
pub use tap::{JsonLines, Tap, TapDirection, TapRecord};

/// What the methods of a [`Transport`] return.
pub type TransportFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// A message that was received.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Incoming {
    /// The text of one JSON-RPC message, whatever its form.
    pub message: Bytes,
    /// The message was longer than the transport's own limit, and `message` holds no more than its beginning.
    pub oversized: bool,
}

impl Incoming {
    /// A received message.
    pub fn new(message: impl Into<Bytes>) -> Incoming {
        Incoming { message: message.into(), oversized: false }
    }

    /// The beginning of a message that is longer than the transport's limit. The session refuses it and goes on.
    pub fn oversized(beginning: impl Into<Bytes>) -> Incoming {
        Incoming { message: beginning.into(), oversized: true }
    }
}

/// A message to be sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outgoing {
    /// The text of one JSON-RPC message, without a raw line feed in it.
    pub message: Bytes,
    /// The request of the peer during which it arose, its response included. Transports with one stream ignore it.
    pub related: Option<RequestId>,
}

impl Outgoing {
    /// A message that belongs to no request: for transports that wrap another one, and for playing a peer.
    pub fn new(message: impl Into<Bytes>) -> Outgoing {
        Outgoing { message: message.into(), related: None }
    }
}

/// A channel for whole messages in both directions: the way to bring MCP over anything else (XPORT-01).
///
/// Message format and lifecycle stay those of the protocol (XPORT-02): a transport moves messages unchanged, whole and in
/// order, and knows nothing of what is in them. Both directions are used at the same time, from different threads; each
/// by one caller at a time. Futures may be dropped unfinished: a `receive` dropped so must not lose a message.
pub trait Transport: Send + Sync + 'static {
    /// The next message; `None` when the peer has ended the connection in good order.
    fn receive(&self) -> TransportFuture<'_, Option<Incoming>>;

    /// Sends one message. Done when the peer's side has taken it or room was found for it: while this is pending, the
    /// session holds further messages back, up to its limit of outbound bytes.
    fn send(&self, message: Outgoing) -> TransportFuture<'_, ()>;

    /// Ends the connection. Later calls of the other methods fail or do nothing.
    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}
