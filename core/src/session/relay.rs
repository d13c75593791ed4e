//! Turns a session over a [`Transport`]: one task reads, one writes. Where a handler blocks the one that reads, another task
//! [takes the lead](super::lead).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::lead::{Lead, Leadership};
use super::outlet::Outlet;
use super::runtime::{Clock, lock};
use super::{Session, Setup};
use crate::engine::{CloseReason, Diagnostic};
use crate::error::{Error, ErrorKind};
use crate::transport::{Incoming, Outgoing, TapDirection, Transport, TransportFuture};

/// How long the last messages may take to go out when a session ends.
const LAST_MESSAGES: Duration = Duration::from_secs(1);

/// How much of a message that is too long is looked at, to see whose it was.
const BEGINNING: usize = 4096;

/// Wakes the task that writes.
struct Wake(Arc<Notify>);

impl Outlet for Wake {
    fn flush(&self, session: &Arc<Session>) -> bool {
        if lock(&session.core).engine.has_transmit() {
            self.0.notify_one();
        }
        false
    }

    fn close(&self, _session: &Arc<Session>) {
        self.0.notify_one();
    }
}

/// Begins a session over this transport, on the runtime of the caller or on ours.
pub(crate) fn relay(setup: Setup, transport: Arc<dyn Transport>) -> Arc<Session> {
    let wake = Arc::new(Notify::new());
    let session = Session::new(setup, Box::new(Wake(Arc::clone(&wake))));
    let relay = Arc::new_cyclic(|relay: &Weak<Relay>| {
        let relay = relay.clone();
        let leadership = Leadership::new(move |stuck| {
            if let Some(relay) = relay.upgrade() {
                let executor = relay.session.executor.clone();
                executor.spawn(async move { relay.relieve(stuck).await });
            }
        });
        Relay { session: Arc::clone(&session), transport, leadership }
    });
    session.executor.spawn(Arc::clone(&relay).write(wake));
    session.executor.spawn(async move { relay.lead(Lead::FIRST).await });
    session
}

/// A session and the transport it goes over.
struct Relay {
    session: Arc<Session>,
    transport: Arc<dyn Transport>,
    leadership: Arc<Leadership>,
}

impl Relay {
    async fn relieve(&self, stuck: Lead) {
        if let Some(lead) = self.leadership.take_over(stuck) {
            self.lead(lead).await;
        }
    }

    /// Leads until the input or the session ends, or another task takes over.
    async fn lead(&self, mut lead: Lead) {
        let session = &self.session;
        let alive = EndsWithTask::new(session, "reading from");
        // The end of the session ends the reading, whatever the transport does.
        let mut closed = pin!(session.closed());
        loop {
            let mut receive = self.transport.receive();
            let next = poll_fn(|cx| {
                if closed.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                receive.as_mut().poll(cx).map(Some)
            })
            .await;
            drop(receive);
            match next {
                None => break,
                Some(Ok(Some(incoming))) => {
                    if !self.leadership.serving(&mut lead, || self.take(&incoming)) {
                        session.kick();
                        break;
                    }
                }
                Some(Ok(None)) => {
                    session.end_of_input(None);
                    break;
                }
                Some(Err(error)) => {
                    session.close(CloseReason::Transport(error));
                    break;
                }
            }
        }
        alive.done();
    }

    fn take(&self, incoming: &Incoming) {
        let message = &incoming.message;
        if incoming.oversized || message.len() > self.session.message_limit() {
            self.session.receive_oversized(&message[..BEGINNING.min(message.len())]);
        } else {
            self.session.receive(message, true);
        }
        self.session.kick_inline();
    }

    async fn write(self: Arc<Self>, wake: Arc<Notify>) {
        let (session, transport) = (&self.session, &self.transport);
        let alive = EndsWithTask::new(session, "writing to");
        loop {
            let mut message = Vec::new();
            let (transmit, closed) = {
                let engine = &mut lock(&session.core).engine;
                (engine.poll_transmit(&mut message), engine.is_closed())
            };
            let Some(transmit) = transmit else {
                // Once it is closed, nothing is added to what is to be sent.
                if closed {
                    break;
                }
                wake.notified().await;
                continue;
            };
            if let Some(tap) = &session.tap {
                tap.record(TapDirection::Out, &session.id, &message);
            }
            let outgoing = Outgoing { message: message.into(), related: transmit.related };
            match self.unless_over(transport.send(outgoing)).await {
                Ok(()) => {
                    lock(&session.core).engine.transmitted(transmit.bytes, Instant::now());
                    session.kick();
                }
                // The message was refused, not the connection.
                Err(error) if error.kind() == ErrorKind::Http && !session.is_closed() => {
                    lock(&session.core).engine.transmitted(transmit.bytes, Instant::now());
                    match transmit.request {
                        Some(request) => lock(&session.core).engine.fail_request(request, error),
                        None => session.diagnostic(&Diagnostic::NotSent(error)),
                    }
                    session.kick();
                }
                Err(error) => {
                    lock(&session.core).engine.discard_output();
                    session.close(CloseReason::Transport(error));
                }
            }
        }
        alive.done();
        transport.close().await;
    }

    /// What becomes of `sending`; an error when the session has been over for [`LAST_MESSAGES`], so that a peer that reads
    /// nothing cannot keep it for ever.
    async fn unless_over(&self, mut sending: TransportFuture<'_, ()>) -> Result<(), Error> {
        let mut closed = pin!(self.session.closed());
        let mut until: Option<Instant> = None;
        poll_fn(|cx| {
            if let Poll::Ready(sent) = sending.as_mut().poll(cx) {
                return Poll::Ready(sent);
            }
            if until.is_none() && closed.as_mut().poll(cx).is_ready() {
                let waker = cx.waker().clone();
                Clock::at(*until.insert(Instant::now() + LAST_MESSAGES), move || waker.wake());
            }
            match until {
                Some(until) if until <= Instant::now() => {
                    Poll::Ready(Err(Error::closed("the peer does not take the last messages")))
                }
                _ => Poll::Pending,
            }
        })
        .await
    }
}

/// Ends the session if the task that turns it is lost: its runtime was shut down, or the transport panicked.
struct EndsWithTask<'a> {
    session: &'a Arc<Session>,
    what: &'static str,
    done: bool,
}

impl<'a> EndsWithTask<'a> {
    fn new(session: &'a Arc<Session>, what: &'static str) -> EndsWithTask<'a> {
        EndsWithTask { session, what, done: false }
    }

    fn done(mut self) {
        self.done = true;
    }
}

impl Drop for EndsWithTask<'_> {
    fn drop(&mut self) {
        if !self.done {
            let (session, what) = (Arc::clone(self.session), self.what);
            Clock::at(Instant::now(), move || {
                let message = format!("{what} the peer failed: its task was stopped, or it panicked");
                session.close(CloseReason::Transport(Error::new(ErrorKind::Transport, message)));
            });
        }
    }
}
