//! One request of the peer while it is served.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;
use tracing::Instrument;

use super::runtime::{Clock, Executor};
use super::{Body, BoxFuture, Origin, Outcome, Session};
use crate::engine::{CallId, Completion, Diagnostic};
use crate::error::{Error, ErrorKind};
use crate::protocol::{Meta, Method, RequestId};

/// How long a handler that was told to stop may take before its future is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Work that may block.
pub(crate) type Work = Box<dyn FnOnce() -> Outcome + Send>;

/// How a request is served.
pub(crate) enum Reply {
    /// It is served already, on the thread that read it.
    Done(Outcome),
    /// A future: polled once where the request was read, and moved to the runtime only if it suspends.
    Future(BoxFuture<Outcome>),
    /// Work that may block: done on a thread of the pool.
    Blocking(Work),
}

/// A request of the peer, from the moment it was handed out until its handler has ended.
pub(crate) struct Call {
    pub(crate) session: Arc<Session>,
    pub(crate) id: CallId,
    pub(crate) request_id: RequestId,
    pub(crate) method: Method,
    pub(crate) params: Option<Bytes>,
    /// How it came, if the transport tells.
    #[cfg_attr(not(feature = "sse-server"), allow(dead_code, reason = "only HTTP tells so far"))]
    pub(crate) origin: Option<Origin>,
    cancelled: AtomicBool,
    cancel: Notify,
    done: AtomicBool,
}

impl Call {
    pub(crate) fn new(
        session: Arc<Session>,
        id: CallId,
        request_id: RequestId,
        method: Method,
        params: Option<Bytes>,
        origin: Option<Origin>,
    ) -> Call {
        Call {
            origin,
            session,
            id,
            request_id,
            method,
            params,
            cancelled: AtomicBool::new(false),
            cancel: Notify::new(),
            done: AtomicBool::new(false),
        }
    }

    /// The text of the `params` object; the empty object if there are none (JRPC-17).
    pub(crate) fn params_text(&self) -> &str {
        // Frames are checked to be UTF-8 before they are cut.
        self.params.as_deref().and_then(|params| std::str::from_utf8(params).ok()).unwrap_or("{}")
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) async fn cancelled(&self) {
        let notified = self.cancel.notified();
        let mut notified = pin!(notified);
        notified.as_mut().enable();
        if !self.is_cancelled() {
            notified.await;
        }
    }

    /// Takes charge of the call.
    pub(super) fn begin(self: Arc<Self>) -> Task {
        Task(self)
    }

    pub(super) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.cancel.notify_waiters();
    }

    /// Answers the request. What came too late is thrown away.
    pub(super) fn complete(&self, outcome: &Outcome) -> Completion {
        if self.done.swap(true, Ordering::AcqRel) {
            return Completion::Stale;
        }
        self.session.respond(self.id, outcome)
    }

    /// Does work that may block, on a thread where it may.
    pub(crate) fn perform(&self, work: Work) -> Outcome {
        let _runtime = self.session.executor.handle().enter();
        self.guarded(work).unwrap_or_else(|failed| failed)
    }

    /// Lets go of a handler that has ended, before anybody hears that it did: what it held is freed, and a destructor
    /// that panics harms nobody.
    fn dismiss(&self, future: BoxFuture<Outcome>) {
        let _ = self.guarded(|| drop(future));
    }

    /// Runs a piece of the application's code; a panic becomes an internal error that tells the peer nothing (JRPC-26).
    fn guarded<T>(&self, code: impl FnOnce() -> T) -> Result<T, Outcome> {
        catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
            self.session.diagnostic(&Diagnostic::Panic(panic_message(&*panic)));
            Err(Error::internal("Internal error"))
        })
    }

    /// A span for everything that is done for this request. It carries the caller's `traceparent`, if there is one, so that
    /// a subscriber can join the two processes' traces.
    fn span(&self) -> tracing::Span {
        let span = tracing::debug_span!(
            "mcp.serve",
            method = %self.method,
            id = %self.request_id,
            session = %self.session.id,
            traceparent = tracing::field::Empty,
        );
        if !span.is_disabled()
            && let Some(parent) = self.meta().get("traceparent")
        {
            span.record("traceparent", parent.get().trim_matches('"'));
        }
        span
    }

    /// The `_meta` object of the request; empty if there is none.
    pub(crate) fn meta(&self) -> Meta {
        #[derive(serde::Deserialize)]
        struct Params {
            #[serde(default, rename = "_meta")]
            meta: Option<Meta>,
        }
        serde_json::from_str::<Params>(self.params_text()).ok().and_then(|params| params.meta).unwrap_or_default()
    }
}

/// A call in somebody's charge. Whoever has it answers the request; if it is lost instead, with a runtime that shuts down
/// or a panic in a destructor, the request is answered then, so that the peer does not wait for ever.
pub(super) struct Task(Arc<Call>);

impl Task {
    /// Serves the request where it was read. Suspends to the runtime, or goes to the pool, only if it must.
    pub(super) fn serve_inline(self) {
        let span = self.0.span();
        match self.begin(&span) {
            Reply::Done(outcome) => {
                self.0.complete(&outcome);
            }
            Reply::Blocking(work) => Executor::spawn_blocking(move || self.work(work, &span)),
            Reply::Future(future) => self.serve_future(future, span),
        }
    }

    /// Serves the request away from the thread that learned of it.
    pub(super) fn serve_elsewhere(self) {
        Executor::spawn_blocking(move || {
            let span = self.0.span();
            match self.begin(&span) {
                Reply::Done(outcome) => self.finish(&outcome),
                Reply::Blocking(work) => self.work(work, &span),
                Reply::Future(future) => self.serve_future(future, span),
            }
        });
    }

    /// Calls the handler; a future is polled once, and comes back only if it suspends.
    fn begin(&self, span: &tracing::Span) -> Reply {
        let call = &self.0;
        if call.is_cancelled() {
            return Reply::Done(Err(cancelled()));
        }
        let _span = span.enter();
        let mut future = match call.guarded(|| call.session.service.request(call)) {
            Ok(Reply::Future(future)) => future,
            Ok(reply) => return reply,
            Err(failed) => return Reply::Done(failed),
        };
        let first = {
            let _runtime = call.session.executor.handle().enter();
            call.guarded(|| future.as_mut().poll(&mut Context::from_waker(Waker::noop())))
        };
        match first {
            Ok(Poll::Pending) => Reply::Future(future),
            Ok(Poll::Ready(outcome)) | Err(outcome) => {
                call.dismiss(future);
                Reply::Done(outcome)
            }
        }
    }

    fn work(self, work: Work, span: &tracing::Span) {
        let outcome = span.in_scope(|| self.0.perform(work));
        self.finish(&outcome);
    }

    fn serve_future(self, future: BoxFuture<Outcome>, span: tracing::Span) {
        let executor = self.0.session.executor.clone();
        executor.spawn(self.run(future).instrument(span));
    }

    async fn run(self, mut future: BoxFuture<Outcome>) {
        let call = &self.0;
        let outcome = {
            let mut told = pin!(call.cancelled());
            let mut deadline: Option<Instant> = None;
            poll_fn(|cx| {
                match call.guarded(|| future.as_mut().poll(cx)) {
                    Ok(Poll::Pending) => {}
                    Ok(Poll::Ready(outcome)) | Err(outcome) => return Poll::Ready(outcome),
                }
                if deadline.is_none() && told.as_mut().poll(cx).is_ready() {
                    // The handler saw it too. If it does not end by itself, it is dropped.
                    let waker = cx.waker().clone();
                    Clock::at(*deadline.insert(Instant::now() + CANCEL_GRACE), move || waker.wake());
                }
                match deadline {
                    Some(at) if at <= Instant::now() => Poll::Ready(Err(cancelled())),
                    _ => Poll::Pending,
                }
            })
            .await
        };
        call.dismiss(future);
        self.finish(&outcome);
    }

    fn finish(&self, outcome: &Outcome) {
        self.0.complete(outcome);
        self.0.session.kick();
    }
}

/// What becomes of a call that was cancelled; nobody gets to read it.
fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the request was cancelled")
}

impl Drop for Task {
    fn drop(&mut self) {
        if !self.0.done.load(Ordering::Acquire) {
            self.0.complete(&Err(Error::internal("Internal error")));
            self.0.session.kick_later();
        }
    }
}

pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".to_owned())
}

impl Body {
    /// `{}`, the result of everything that has nothing to say (JRPC-11).
    pub(crate) const EMPTY: Body = Body::Static("{}");
}
