//! One own request while it waits for its answer.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::Session;
use crate::engine::RequestKey;
use crate::error::{Error, ErrorKind};

/// Called with the text of the parameters of each progress notification, in order, before the outcome.
pub(crate) type ProgressHandler = Arc<dyn Fn(&str) + Send + Sync>;

/// The other end of a [`PendingRequest`].
pub(super) struct Waiter {
    pub(super) outcome: oneshot::Sender<Result<Bytes, Error>>,
    pub(super) progress: Option<ProgressHandler>,
}

impl Waiter {
    pub(super) fn settle(self, outcome: Result<Bytes, Error>) {
        // Whoever waited may have gone in this very moment.
        let _ = self.outcome.send(outcome);
    }
}

/// Resolves to the text of the result object. Dropping it unfinished cancels the request (CANC-12).
pub(crate) struct PendingRequest {
    session: Arc<Session>,
    key: RequestKey,
    outcome: oneshot::Receiver<Result<Bytes, Error>>,
    settled: bool,
}

impl PendingRequest {
    pub(super) fn new(
        session: Arc<Session>,
        key: RequestKey,
        outcome: oneshot::Receiver<Result<Bytes, Error>>,
    ) -> Self {
        PendingRequest { session, key, outcome, settled: false }
    }

    pub(crate) fn key(&self) -> RequestKey {
        self.key
    }

    /// Tells the peer to stop, with a reason for its log, and ends the wait at once (CANC-10).
    pub(crate) fn cancel(&mut self, reason: Option<&str>) -> Error {
        self.settled = true;
        self.session.cancel(self.key, reason);
        cancelled()
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the request was cancelled")
}

impl Future for PendingRequest {
    type Output = Result<Bytes, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let outcome = std::task::ready!(Pin::new(&mut self.outcome).poll(cx));
        self.settled = true;
        // The sender only goes away unused when the session is torn down.
        Poll::Ready(outcome.unwrap_or_else(|_| Err(Error::closed("the connection is closed"))))
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if !self.settled {
            self.session.cancel_later(self.key);
        }
    }
}
