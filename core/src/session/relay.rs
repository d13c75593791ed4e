//! Turns a session over a [`Transport`]: one task reads, one writes.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::outlet::Outlet;
use super::runtime::lock;
use super::{Session, Setup};
use crate::engine::CloseReason;
use crate::transport::{Outgoing, TapDirection, Transport};

/// How long the last messages may take to go out when a session ends.
const LAST_MESSAGES: Duration = Duration::from_secs(1);

/// Wakes the task that writes.
struct Wake(Arc<Notify>);

impl Outlet for Wake {
    fn flush(&self, session: &Arc<Session>) {
        if lock(&session.core).engine.has_transmit() {
            self.0.notify_one();
        }
    }

    fn close(&self, _session: &Arc<Session>) {
        self.0.notify_one();
    }
}

/// Begins a session over this transport, on the runtime of the caller or on ours.
pub(crate) fn relay(setup: Setup, transport: Arc<dyn Transport>) -> Arc<Session> {
    let wake = Arc::new(Notify::new());
    let session = Session::new(setup, Box::new(Wake(Arc::clone(&wake))));
    session.executor.spawn(read(Arc::clone(&session), Arc::clone(&transport)));
    session.executor.spawn(write(Arc::clone(&session), transport, wake));
    session
}

async fn read(session: Arc<Session>, transport: Arc<dyn Transport>) {
    let limit = session.message_limit();
    // The end of the session ends the reading, whatever the transport does.
    let ended = Arc::new(OnceLock::new());
    loop {
        let next = {
            let mut receive = transport.receive();
            let mut closed = Box::pin(session.closed());
            std::future::poll_fn(|cx| {
                if let std::task::Poll::Ready(reason) = closed.as_mut().poll(cx) {
                    let _ = ended.set(reason);
                    return std::task::Poll::Ready(None);
                }
                receive.as_mut().poll(cx).map(Some)
            })
            .await
        };
        match next {
            None => return,
            Some(Ok(Some(incoming))) if incoming.oversized || incoming.message.len() > limit => {
                session.receive_oversized(&incoming.message[..4096.min(incoming.message.len())]);
            }
            Some(Ok(Some(incoming))) => {
                session.receive(&incoming.message, true);
                session.kick_inline();
            }
            Some(Ok(None)) => return session.end_of_input(None),
            Some(Err(error)) => return session.close(CloseReason::Transport(error)),
        }
    }
}

async fn write(session: Arc<Session>, transport: Arc<dyn Transport>, wake: Arc<Notify>) {
    loop {
        let mut message = Vec::new();
        let transmit = lock(&session.core).engine.poll_transmit(&mut message);
        let Some(transmit) = transmit else {
            if session.close_reason().is_some() {
                transport.close().await;
                return;
            }
            wake.notified().await;
            continue;
        };
        if let Some(tap) = &session.tap {
            tap.record(TapDirection::Out, &session.id, &message);
        }
        let outgoing = Outgoing { message: message.into(), related: transmit.related };
        let sent = transport.send(outgoing);
        let sent = if session.close_reason().is_some() { within(LAST_MESSAGES, sent).await } else { sent.await };
        match sent {
            Ok(()) => {
                lock(&session.core).engine.transmitted(transmit.bytes, Instant::now());
                session.kick();
            }
            Err(error) => {
                lock(&session.core).engine.discard_output();
                session.close(CloseReason::Transport(error));
            }
        }
    }
}

/// `future`, or an error after `limit`.
async fn within(
    limit: Duration,
    mut future: crate::transport::TransportFuture<'_, ()>,
) -> Result<(), crate::error::Error> {
    let until = Instant::now() + limit;
    let mut armed = false;
    std::future::poll_fn(|cx| {
        if let std::task::Poll::Ready(done) = future.as_mut().poll(cx) {
            return std::task::Poll::Ready(done);
        }
        if Instant::now() >= until {
            return std::task::Poll::Ready(Err(crate::error::Error::closed(
                "the peer does not take the last messages",
            )));
        }
        if !armed {
            armed = true;
            let waker = cx.waker().clone();
            super::runtime::Clock::at(until, move || waker.wake());
        }
        std::task::Poll::Pending
    })
    .await
}
