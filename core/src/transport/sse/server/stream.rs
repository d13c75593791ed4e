//! The event stream of one session: the outlet of the session and the body of the GET's response in one.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body, Frame};

use super::Sessions;
use crate::engine::CloseReason;
use crate::session::runtime::lock;
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
}

impl StreamOutlet {
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
    }
}

/// What one frame of the body may come to; a batch of small events is one frame.
const FRAME_BYTES: usize = 64 * 1024;

/// The body of the response. Dropping it, which is what happens when the connection ends, ends the session (DOWN-05).
pub(super) struct StreamBody {
    session: Arc<Session>,
    outlet: StreamOutlet,
    sessions: Arc<Sessions>,
    /// The `endpoint` event, before anything else (SSE-02).
    first: Option<Bytes>,
    /// Bytes of the session's output that the last frame held.
    in_flight: usize,
}

impl StreamBody {
    pub(super) fn new(session: Arc<Session>, outlet: StreamOutlet, sessions: Arc<Sessions>, endpoint: &str) -> StreamBody {
        let mut first = Vec::with_capacity(endpoint.len() + 32);
        write_event(&mut first, "endpoint", endpoint);
        StreamBody { session, outlet, sessions, first: Some(first.into()), in_flight: 0 }
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
        self.sessions.counters.sent(frame.len());
        (!frame.is_empty()).then(|| frame.into())
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }
        // Being asked for more means that the connection took the last frame.
        let taken = std::mem::take(&mut self.in_flight);
        if taken > 0 {
            self.session.transmitted(taken);
        }
        *lock(&self.outlet.shared.waker) = Some(cx.waker().clone());
        let ended = self.outlet.shared.ended.load(Ordering::Acquire);
        if let Some(frame) = self.take() {
            return Poll::Ready(Some(Ok(Frame::data(frame))));
        }
        if ended {
            return Poll::Ready(None);
        }
        if self.outlet.shared.comment.swap(false, Ordering::AcqRel) {
            return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))));
        }
        Poll::Pending
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        self.sessions.remove(&self.session.id);
        self.session.close(CloseReason::Peer { detail: Some("the event stream has ended".to_owned()) });
    }
}
