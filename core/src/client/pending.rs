//! A request on its way, until it is answered or given up.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::Bytes;

use super::Client;
use super::cancel::CancelToken;
use super::reconnect::Change;
use super::request::{CancelHook, Finish};
use crate::engine::RequestKey;
use crate::error::{Error, ErrorKind};
use crate::middleware::BoxFuture;
use crate::protocol::{Json, Method, RequestId};
use crate::session::{PendingRequest, Session};

/// A request that was sent. Resolves to its outcome; dropping it before cancels the request (CANC-12).
#[must_use = "dropping it cancels the request"]
pub struct Pending<T> {
    pub(super) client: Client,
    pub(super) method: Method,
    pub(super) stage: Stage,
    pub(super) token: Option<(CancelToken, BoxFuture<()>)>,
    pub(super) on_cancel: Option<CancelHook>,
    pub(super) change: Option<Change>,
    pub(super) finish: Finish<T>,
    pub(super) span: tracing::Span,
}

/// How far a request has come.
pub(super) enum Stage {
    /// On the wire.
    Direct(PendingRequest),
    /// On its way through the middleware, and on the wire once the key is set.
    Layered(BoxFuture<Result<Json, Error>>, Arc<OnceLock<(Arc<Session>, RequestKey)>>),
    /// Over before anybody asked.
    Failed(Error),
    Done,
}

/// The text of a result object.
enum Text {
    Slice(Bytes),
    Json(Json),
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            // Frames are checked to be UTF-8 before they are cut.
            Text::Slice(slice) => std::str::from_utf8(slice).unwrap_or_default(),
            Text::Json(json) => json.get(),
        }
    }
}

impl<T> Pending<T> {
    /// The JSON-RPC id of the request; `None` while it is on its way through the middleware.
    pub fn id(&self) -> Option<RequestId> {
        match &self.stage {
            Stage::Direct(pending) => Some(pending.key().id()),
            Stage::Layered(_, sent) => sent.get().map(|(_, key)| key.id()),
            Stage::Failed(_) | Stage::Done => None,
        }
    }

    /// Gives the request up: tells the server, with a reason for its log (CANC-01, CANC-08). The outcome is
    /// [`ErrorKind::Cancelled`] from now on; a late answer is discarded (CANC-05). After the end of the request nothing
    /// happens.
    pub fn cancel(&mut self, reason: Option<&str>) {
        if matches!(self.stage, Stage::Direct(..) | Stage::Layered(..)) {
            let error = self.give_up(reason);
            self.stage = Stage::Failed(error);
        }
    }

    fn give_up(&mut self, reason: Option<&str>) -> Error {
        if let Some(callback) = self.on_cancel.take() {
            callback(reason);
        }
        match std::mem::replace(&mut self.stage, Stage::Done) {
            Stage::Direct(mut pending) => return pending.cancel(reason),
            Stage::Layered(future, sent) => {
                if let Some((session, key)) = sent.get() {
                    session.cancel(*key, reason);
                }
                drop(future);
            }
            Stage::Failed(_) | Stage::Done => {}
        }
        Error::new(ErrorKind::Cancelled, "the request was cancelled")
    }

    /// Turns the outcome into the result.
    fn settle(&mut self, outcome: Result<&str, Error>) -> Result<T, Error> {
        let finished = (self.finish)(&self.method, outcome);
        match &finished {
            Ok(_) => tracing::debug!(parent: &self.span, "answered"),
            Err(error) => tracing::debug!(parent: &self.span, %error, "failed"),
        }
        let (result, odd) = finished?;
        if let Some(change) = self.change.take() {
            self.client.inner.note(change);
        }
        if let Some(diagnostic) = odd {
            self.client.inner.diagnose(None, &diagnostic);
        }
        Ok(result)
    }
}

impl<T> Future for Pending<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let polled = match &mut this.stage {
            Stage::Direct(pending) => Pin::new(pending).poll(cx).map_ok(Text::Slice),
            Stage::Layered(future, _) => {
                let _entered = this.span.enter();
                future.as_mut().poll(cx).map_ok(Text::Json)
            }
            Stage::Failed(_) | Stage::Done => {
                let over = std::mem::replace(&mut this.stage, Stage::Done);
                let Stage::Failed(error) = over else { panic!("a request was polled after its end") };
                return Poll::Ready(Err(error));
            }
        };
        if let Poll::Ready(outcome) = polled {
            this.stage = Stage::Done;
            let outcome = match &outcome {
                Ok(text) => Ok(text.as_str()),
                Err(error) => Err(error.clone()),
            };
            return Poll::Ready(this.settle(outcome));
        }
        let Some((token, cancelled)) = &mut this.token else { return Poll::Pending };
        ready!(cancelled.as_mut().poll(cx));
        let reason = token.reason().map(str::to_owned);
        Poll::Ready(Err(this.give_up(reason.as_deref())))
    }
}

impl<T> Drop for Pending<T> {
    fn drop(&mut self) {
        if matches!(self.stage, Stage::Direct(..) | Stage::Layered(..)) {
            self.give_up(None);
        }
    }
}

impl<T> fmt::Debug for Pending<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("method", &self.method).field("id", &self.id()).finish_non_exhaustive()
    }
}
