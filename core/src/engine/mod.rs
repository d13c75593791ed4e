//! The rules of one session, without I/O, threads or a clock: frames in, events and frames out.
//!
//! An [`Engine`] is driven by whoever owns the bytes. The vocabulary is that of other sans-I/O protocol machines:
//!
//! * [`handle_frame`](Engine::handle_frame) takes one received message, [`handle_timeout`](Engine::handle_timeout) the
//!   passing of time;
//! * [`poll_event`](Engine::poll_event) yields what the application must know, [`poll_transmit`](Engine::poll_transmit)
//!   what must go to the peer, [`poll_timeout`](Engine::poll_timeout) when to call again without input;
//! * [`request`](Engine::request), [`notify`](Engine::notify), [`respond`](Engine::respond),
//!   [`progress`](Engine::progress), [`cancel`](Engine::cancel), [`close`](Engine::close) are the application's side.
//!
//! Time is a value that the caller passes in, so a session can be fuzzed, replayed from a recording and tested without
//! waiting. The engine holds no lock and starts nothing.
//!
//! What it decides: classification of frames, the lifecycle and what may be sent when (LIFE), capability gates (CAP),
//! ids and duplicates (JRPC), cancellation both ways (CANC), progress (PROG), time limits (TIME), keep-alive (PING), and
//! the bounds on work and memory.

mod config;
mod event;
mod inbound;
mod lifecycle;
mod outbound;
mod outbox;
mod receive;
pub mod replay;
mod timers;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::error::{Error, ErrorKind};
use crate::protocol::{Method, RequestId, Revision};

pub use config::{Config, KeepAlive, Limits, Local, Role};
pub use event::{CallId, CloseReason, Completion, Diagnostic, Event, Peer, RequestKey};
pub use outbound::{OutgoingRequest, TimeLimit};
pub use outbox::Transmit;

use inbound::Inbound;
use lifecycle::State;
use outbound::Outbound;
use outbox::Outbox;
use timers::{Drain, Timers};

/// The state machine of one session, for either role.
#[derive(Debug)]
pub struct Engine {
    config: Config,
    state: State,
    revision: Revision,
    peer: Option<Arc<Peer>>,
    inbound: Inbound,
    outbound: Outbound,
    outbox: Outbox,
    held: Vec<outbound::Held>,
    events: VecDeque<Event>,
    timers: Timers,
    cut_off: bool,
}

impl Engine {
    /// A session that has not begun. A client's begins with [`start`](Engine::start), a server's with the first frame.
    pub fn new(config: Config, now: Instant) -> Engine {
        let revision = config.newest_revision();
        Engine {
            timers: Timers::new(config.keep_alive, now),
            config,
            state: State::New,
            revision,
            peer: None,
            inbound: Inbound::default(),
            outbound: Outbound::default(),
            outbox: Outbox::default(),
            held: Vec::new(),
            events: VecDeque::new(),
            cut_off: false,
        }
    }

    /// The next thing the application must know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Moves all waiting events behind those in `into`; cheaper than one at a time under a lock.
    pub fn take_events(&mut self, into: &mut VecDeque<Event>) {
        if into.is_empty() {
            std::mem::swap(into, &mut self.events);
        } else {
            into.append(&mut self.events);
        }
    }

    /// Appends the next message for the peer to `buf`, without a line end, and says what it belongs to.
    ///
    /// Bytes handed out count against the outbound limit until [`transmitted`](Engine::transmitted) says that the peer
    /// took them.
    pub fn poll_transmit(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.outbox.next(buf)
    }

    /// Takes all waiting messages at once, each ended by a line feed, into an empty `buf`. Returns how many there were.
    pub fn poll_transmit_lines(&mut self, buf: &mut Vec<u8>) -> usize {
        self.outbox.all(buf)
    }

    /// The peer took `bytes` of what was handed out; calls that waited for room may start now.
    pub fn transmitted(&mut self, bytes: usize, now: Instant) {
        self.outbox.transmitted(bytes);
        self.release_waiting(now);
    }

    /// Nothing more can be sent: forgets what waits.
    pub fn discard_output(&mut self) {
        self.outbox.clear();
        self.outbox.transmitted(usize::MAX);
    }

    /// Bytes for the peer that it has not taken yet.
    pub fn unsent_bytes(&self) -> usize {
        self.outbox.unsent()
    }

    /// Whether messages wait to be taken by [`poll_transmit`](Engine::poll_transmit).
    pub fn has_transmit(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// When [`handle_timeout`](Engine::handle_timeout) must be called at the latest, if nothing happens before. It may
    /// be earlier than necessary, never later.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// What the peer said of itself; `None` until the handshake got that far.
    pub fn peer(&self) -> Option<&Arc<Peer>> {
        self.peer.as_ref()
    }

    /// The negotiated revision, or the newest one on offer until then.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Which side this is.
    pub fn role(&self) -> Role {
        self.config.role
    }

    /// The limits this session works under.
    pub fn limits(&self) -> &Limits {
        &self.config.limits
    }

    /// Whether the session has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Whether the session has ended with requests of the peer that were not answered.
    pub fn was_cut_off(&self) -> bool {
        self.cut_off
    }

    /// Whether the handshake is complete.
    pub fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready)
    }

    /// Requests of the peer that run or wait.
    pub fn calls_in_flight(&self) -> usize {
        self.inbound.in_flight()
    }

    /// Own requests that are not settled.
    pub fn requests_pending(&self) -> usize {
        self.outbound.len()
    }

    /// Ends the session: every own request fails, every running handler is told to stop, later input is ignored.
    /// Messages already queued may still be transmitted. A second call does nothing.
    pub fn close(&mut self, reason: CloseReason) {
        if self.is_closed() {
            return;
        }
        self.state = State::Closed;
        self.held.clear();
        if matches!(reason, CloseReason::Overflow) {
            self.outbox.clear();
        }
        self.fail_all(&reason.error());
        self.cut_off = self.inbound.in_flight() > 0;
        for call in self.inbound.close() {
            self.events.push_back(Event::Cancelled { call, reason: None });
        }
        self.timers.clear();
        self.events.push_back(Event::Closed(reason));
    }

    /// The peer will send nothing more. A client's session ends with that. A server lets the calls that it has accepted
    /// finish for at most `limits.eof_grace`, then cancels the rest and closes (DOWN-04).
    pub fn handle_eof(&mut self, detail: Option<String>, now: Instant) {
        let reason = CloseReason::Peer { detail };
        if self.config.role == Role::Client || self.inbound.in_flight() == 0 {
            self.close(reason);
            return;
        }
        if self.timers.draining() {
            return;
        }
        // Nobody can answer our requests any more.
        self.fail_all(&reason.error());
        self.held.clear();
        let until = later(now, self.config.limits.eof_grace);
        self.timers.drain(Drain { until, reason });
    }

    /// Ends the session from this side in good order: calls already accepted may finish within `grace`, then the rest is
    /// cancelled. Frames that come meanwhile are ignored.
    pub fn drain(&mut self, grace: Duration, now: Instant) {
        if self.inbound.in_flight() == 0 {
            self.close(CloseReason::Local);
        } else if !self.is_closed() && !self.timers.draining() {
            self.timers.drain(Drain { until: later(now, grace), reason: CloseReason::Local });
        }
    }

    /// Whether frames are still taken: not after the end of input, in a drain, or after the end.
    pub fn takes_input(&self) -> bool {
        !self.is_closed() && !self.timers.draining()
    }

    /// Whether a request of the peer with this id is being served or waits.
    pub fn is_in_flight(&self, id: &RequestId) -> bool {
        self.inbound.find(id).is_some()
    }

    /// Every own request fails, those of the engine itself without a word.
    fn fail_all(&mut self, error: &Error) {
        for key in self.outbound.close() {
            if !self.is_keep_alive(key.0) {
                self.events.push_back(Event::Settled { request: key, outcome: Err(error.clone()) });
            }
        }
    }

    fn diagnose(&mut self, diagnostic: Diagnostic) {
        self.events.push_back(Event::Diagnostic(diagnostic));
    }

    /// Writes an error response; `None` is written as a null id (JRPC-18).
    fn refuse(&mut self, id: Option<&RequestId>, error: &Error) {
        self.outbox.error(id, error, self.revision, self.config.limits.message_out);
        self.check_overflow();
    }

    fn refuse_kind(&mut self, id: &RequestId, kind: ErrorKind, message: &'static str) {
        self.refuse(Some(id), &Error::new(kind, message));
    }

    /// A peer that does not read must not make memory grow without bound.
    fn check_overflow(&mut self) {
        if self.outbox.unsent() > self.config.limits.outbound_bytes {
            self.close(CloseReason::Overflow);
        }
    }

    /// The capabilities that decide about messages which `emitter_is_local` sends or serves.
    fn declares(&self, local: bool, gate: crate::protocol::Gate) -> bool {
        let capabilities = if local {
            Some(&self.config.local.capabilities)
        } else {
            self.peer.as_ref().map(|peer| &peer.capabilities)
        };
        capabilities.is_some_and(|map| config::declares(map, gate))
    }

    /// Whether this method may be used at all in this session by `sender_is_local`, and if not, why.
    fn check_outgoing(&self, method: &Method, lenient: bool) -> Result<(), Error> {
        let Some(spec) = method.spec() else { return Ok(()) };
        if !spec.exists_in(self.revision) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("`{}` is not part of protocol revision {}", spec.name, self.revision),
            ));
        }
        if !self.config.role.may_send(spec.direction) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("a {} does not send `{}`", self.config.role, spec.name),
            ));
        }
        let Some(gate) = spec.gate(self.revision) else { return Ok(()) };
        // Requests need the capability of the peer who serves them, notifications our own.
        let local = spec.kind == crate::protocol::MethodKind::Notification;
        if self.declares(local, gate) || (lenient && !local) {
            return Ok(());
        }
        let who = if local { "this side" } else { "the peer" };
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("`{}` needs the capability `{gate}`, which {who} did not declare", spec.name),
        ))
    }
}

/// `now + wait`, for waits of any length: what is too far away for the clock is thirty years away.
fn later(now: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    now.checked_add(wait).unwrap_or_else(|| now + FAR)
}

/// The part of `frame` that `text`, a slice of it, covers: shared, not copied.
fn slice(frame: &Bytes, text: &str) -> Bytes {
    frame.slice_ref(text.as_bytes())
}

#[cfg(test)]
mod tests;
