//! Code of the application around every request and notification, in both directions, on servers and clients alike.
//!
//! Limits on calls, access control, approval, audit logs and filters for what goes out are written as a [`Middleware`].
//! Without any, nothing of this costs anything.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::engine::Peer;
use crate::error::Error;
use crate::protocol::{Json, Method};

/// A future that owns all it needs.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A request or notification on its way through.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Message {
    /// What it asks for or says.
    pub method: Method,
    /// The `params` object. `_meta` is in it on the way in, not on the way out.
    pub params: Option<Json>,
    /// The session it belongs to.
    pub session_id: Arc<str>,
    /// Who is at the other end, once the handshake has told.
    pub peer: Option<Arc<Peer>>,
}

impl Message {
    pub(crate) fn new(method: Method, params: Option<Json>, session_id: Arc<str>, peer: Option<Arc<Peer>>) -> Message {
        Message { method, params, session_id, peer }
    }
}

/// The rest of the way: further middleware, and in the end the handler or the peer. Resolves to the result object.
///
/// Dropping the future it returns gives the request up.
pub type Next = Box<dyn FnOnce(Message) -> BoxFuture<Result<Json, Error>> + Send>;

/// What becomes of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It goes on, changed or not.
    Continue,
    /// It goes no further.
    Drop,
}

/// Sees every request and notification of the sessions of a server or client, but not what the engine deals with by
/// itself: the handshake, the peer's pings, progress and cancellation. Every method has a default that lets things pass.
///
/// The first middleware that was added is the outermost.
pub trait Middleware: Send + Sync + 'static {
    /// A request of the peer. May answer by itself, change the parameters before `next`, or the result after it.
    fn incoming_request(self: Arc<Self>, request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        next(request)
    }

    /// A request of this side. May refuse it, so that nothing is sent.
    fn outgoing_request(self: Arc<Self>, request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        next(request)
    }

    /// A notification of the peer. Must not block.
    fn incoming_notification(&self, _notification: &mut Message) -> Flow {
        Flow::Continue
    }

    /// A notification of this side. Must not block.
    fn outgoing_notification(&self, _notification: &mut Message) -> Flow {
        Flow::Continue
    }
}

/// All middleware of a server or client.
#[derive(Clone, Default)]
pub(crate) struct Stack(Arc<[Arc<dyn Middleware>]>);

impl Stack {
    pub(crate) fn new(layers: Vec<Arc<dyn Middleware>>) -> Stack {
        Stack(layers.into())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A request of the peer through all layers to `handler`.
    pub(crate) fn incoming(&self, request: Message, handler: Next) -> BoxFuture<Result<Json, Error>> {
        let wrap = |next: Next, layer: &Arc<dyn Middleware>| -> Next {
            let layer = Arc::clone(layer);
            Box::new(move |request| layer.incoming_request(request, next))
        };
        self.0.iter().rev().fold(handler, wrap)(request)
    }

    /// A request of this side through all layers to `send`.
    pub(crate) fn outgoing(&self, request: Message, send: Next) -> BoxFuture<Result<Json, Error>> {
        let wrap = |next: Next, layer: &Arc<dyn Middleware>| -> Next {
            let layer = Arc::clone(layer);
            Box::new(move |request| layer.outgoing_request(request, next))
        };
        self.0.iter().rev().fold(send, wrap)(request)
    }

    /// A notification of the peer through all layers; `None` if one dropped it.
    pub(crate) fn incoming_notification(&self, mut notification: Message) -> Option<Message> {
        let passes = |layer: &Arc<dyn Middleware>| layer.incoming_notification(&mut notification) == Flow::Continue;
        self.0.iter().all(passes).then_some(notification)
    }

    /// A notification of this side through all layers; `None` if one dropped it.
    pub(crate) fn outgoing_notification(&self, mut notification: Message) -> Option<Message> {
        let passes = |layer: &Arc<dyn Middleware>| layer.outgoing_notification(&mut notification) == Flow::Continue;
        self.0.iter().all(passes).then_some(notification)
    }
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} middleware", self.0.len())
    }
}
