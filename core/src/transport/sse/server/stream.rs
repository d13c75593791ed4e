//! The event stream of one session: the outlet of the session and the body of the GET's response in one.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::sync::Notify;

use super::sessions::{LAST_ANSWERS, Sessions, Ticket};
use crate::engine::CloseReason;
use crate::session::runtime::{Clock, lock};
use crate::session::{Outlet, Session};
use crate::transport::sse::codec::write_event;

/// Wakes the stream when there is something to send. The session writes nothing itself: the body takes what it needs when
/// the connection has room, so a slow reader fills the session's outbound bytes and no other buffer.
#[derive(Clone, Default)]
pub(super) struct StreamOutlet {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    waker: Mutex<Option<Waker>>,
    ended: AtomicBool,
    comment: AtomicBool,
    /// The body is gone: there is no stream any more.
    gone: AtomicBool,
    /// Ends the connection, if it is one of our own listener.
    cut: Option<Cut>,
}

/// Ends a connection from outside.
#[derive(Clone, Default)]
pub(super) struct Cut(Arc<Notify>);

impl Cut {
    pub(super) fn now(&self) {
        self.0.notify_one();
    }

    pub(super) async fn happened(&self) {
        self.0.notified().await;
    }
}

impl StreamOutlet {
    pub(super) fn new(cut: Option<Cut>) -> StreamOutlet {
        StreamOutlet { shared: Arc::new(Shared { cut, ..Shared::default() }) }
    }

    fn wake(&self) {
        let waker = lock(&self.shared.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Puts a comment into the stream if it is idle (SSE-17).
    pub(super) fn comment(&self) {
        self.shared.comment.store(true, Ordering::Release);
        self.wake();
    }
}

impl Outlet for StreamOutlet {
    fn flush(&self, session: &Arc<Session>) -> bool {
        if session.has_output() {
            self.wake();
        }
        false
    }

    fn close(&self, _session: &Arc<Session>) {
        self.shared.ended.store(true, Ordering::Release);
        self.wake();
        // A connection whose reader has stalled is never asked for more, and would stay as it is.
        if self.shared.cut.is_some() && !self.shared.gone.load(Ordering::Acquire) {
            let shared = Arc::clone(&self.shared);
            Clock::at(Instant::now() + LAST_ANSWERS, move || {
                if let Some(cut) = shared.cut.as_ref().filter(|_| !shared.gone.load(Ordering::Acquire)) {
                    cut.now();
                }
            });
        }
    }
}

/// What one frame of the body may come to; a batch of small events is one frame.
const FRAME_BYTES: usize = 64 * 1024;

/// The body of the response. Dropping it, which is what happens when the connection ends, ends the session (DOWN-05).
pub(super) struct StreamBody {
    ticket: Ticket,
    session: Arc<Session>,
    outlet: StreamOutlet,
    sessions: Arc<Sessions>,
    /// The `endpoint` event, before anything else (SSE-02).
    first: Option<Bytes>,
    /// Bytes of the session's output that the last frame held.
    in_flight: usize,
}

impl StreamBody {
    pub(super) fn new(
        ticket: Ticket,
        session: Arc<Session>,
        outlet: StreamOutlet,
        sessions: Arc<Sessions>,
        endpoint: &str,
    ) -> StreamBody {
        let mut first = Vec::with_capacity(endpoint.len() + 32);
        write_event(&mut first, "endpoint", endpoint);
        StreamBody { ticket, session, outlet, sessions, first: Some(first.into()), in_flight: 0 }
    }

    /// The next events that wait, as one frame.
    fn take(&mut self) -> Option<Bytes> {
        let mut frame = Vec::new();
        let mut message = Vec::new();
        while frame.len() < FRAME_BYTES {
            message.clear();
            let Some(bytes) = self.session.take_output(&mut message) else { break };
            self.in_flight += bytes;
            // A session's output is JSON, which is UTF-8.
            write_event(&mut frame, "message", std::str::from_utf8(&message).unwrap_or_default());
        }
        (!frame.is_empty()).then(|| frame.into())
    }

    fn send(&self, frame: Bytes) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.sessions.counters.sent(frame.len());
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return self.send(first);
        }
        // Being asked for more means that the connection took the last frame.
        let taken = std::mem::take(&mut self.in_flight);
        if taken > 0 {
            self.session.transmitted(taken);
        }
        *lock(&self.outlet.shared.waker) = Some(cx.waker().clone());
        let ended = self.outlet.shared.ended.load(Ordering::Acquire);
        if let Some(frame) = self.take() {
            return self.send(frame);
        }
        if ended {
            return Poll::Ready(None);
        }
        if self.outlet.shared.comment.swap(false, Ordering::AcqRel) {
            return self.send(Bytes::from_static(b":\n\n"));
        }
        Poll::Pending
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.outlet.shared.gone.store(true, Ordering::Release);
        self.sessions.remove(&self.ticket);
        self.session.close(CloseReason::Peer { detail: Some("the event stream has ended".to_owned()) });
    }
}
