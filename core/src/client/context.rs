//! What a handler knows and can do while it serves a request of the server.

use std::fmt;
use std::sync::Arc;

use super::Client;
use super::inner::Inner;
use crate::engine::Peer;
use crate::protocol::{Meta, Method, RequestId, Revision};
use crate::session::Call;

/// The server's request that a handler of the client serves: sampling, roots, or a method of the application's own.
///
/// Cheap to clone, and it may outlive the request: reports then go nowhere (PROG-07).
#[derive(Clone)]
pub struct HandlerContext {
    pub(super) call: Arc<Call>,
    pub(super) inner: Arc<Inner>,
}

impl HandlerContext {
    /// The id of the session on this side: unguessable, and unique to this connection.
    pub fn session_id(&self) -> &str {
        &self.call.session.id
    }

    /// The id of the request.
    pub fn request_id(&self) -> &RequestId {
        &self.call.request_id
    }

    /// The method of the request.
    pub fn method(&self) -> &Method {
        &self.call.method
    }

    /// The protocol revision of the session.
    pub fn revision(&self) -> Revision {
        self.call.session.revision()
    }

    /// The server's name, version and capabilities.
    pub fn peer(&self) -> Option<Arc<Peer>> {
        self.call.session.peer()
    }

    /// The `_meta` object of the request; empty if there is none. `traceparent` and `tracestate` are in it if the server
    /// sent them.
    pub fn meta(&self) -> Meta {
        self.call.meta()
    }

    /// Whether the server, or the end of the session, wants this request to stop.
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Resolves when the request is to stop. A handler that goes on regardless is dropped a second later.
    pub async fn cancelled(&self) {
        self.call.cancelled().await;
    }

    /// Reports progress, if the server asked for it. Values must rise; others are ignored (PROG-05). Reports in quick
    /// succession are merged, and the newest always arrives before the answer (PROG-10).
    ///
    /// Returns whether the report will reach the server.
    pub fn progress(&self, progress: f64, total: Option<f64>) -> bool {
        self.call.session.progress(self.call.id, progress, total, None)
    }

    /// The client, for calling back on the same session (FC-061). It does not keep the connection open by itself: when
    /// the application drops its last handle, the connection ends.
    pub fn client(&self) -> Client {
        Client { inner: Arc::clone(&self.inner), _guard: None }
    }
}

impl fmt::Debug for HandlerContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerContext")
            .field("method", self.method())
            .field("id", self.request_id())
            .finish_non_exhaustive()
    }
}
