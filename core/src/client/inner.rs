//! What all handles of a client share: the connection, and what outlives it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::engine::{
    CloseReason, Config, Diagnostic, KeepAlive, Limits, Local, OutgoingRequest, Peer, Role, TimeLimit,
};
use crate::error::Error;
use crate::protocol::{Json, Method, Revision, Root};
use crate::session::runtime::lock;
use crate::session::{Session, Setup, session_id};
use crate::transport::Tap;
use crate::transport::child::Child;

use super::cancel::CancelToken;
use super::connect::Connector;
use super::handlers::Handlers;
use super::reconnect::{Change, ReconnectPolicy, Restore, reconnect};
use super::service::ClientService;
use super::state::{ClientState, StateCell};

/// What a client was built with. It holds for all its connections (CAP-09).
pub(super) struct Options {
    pub(super) local: Local,
    pub(super) revisions: Vec<Revision>,
    pub(super) limits: Limits,
    pub(super) time_limit: TimeLimit,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) keep_alive: Option<KeepAlive>,
    pub(super) tap: Option<Tap>,
    pub(super) lenient: bool,
    pub(super) announce_roots: bool,
    pub(super) reconnect: Option<ReconnectPolicy>,
    pub(super) handlers: Handlers,
}

/// The client behind its handles.
pub(super) struct Inner {
    pub(super) options: Options,
    pub(super) connector: Connector,
    pub(super) states: StateCell,
    /// The fixed list of roots.
    pub(super) roots: Mutex<Vec<Root>>,
    /// Cancelled when nobody wants the connection any more.
    pub(super) closing: CancelToken,
    /// Nobody waits for the end of the child.
    abandoned: AtomicBool,
    restore: Mutex<Restore>,
    link: Mutex<Link>,
}

/// The connection of the moment, or what is left of it. Sessions and clients hold each other; the end of a session
/// takes it out of here.
#[derive(Default)]
struct Link {
    session: Option<Arc<Session>>,
    phase: Phase,
    child: Option<Arc<Child>>,
    peer: Option<Arc<Peer>>,
    reason: Option<CloseReason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// Whoever makes the connection learns of its failure and acts on it.
    #[default]
    Opening,
    /// The connection stands, or stood until its end was noticed.
    Live,
}

impl Inner {
    pub(super) fn new(options: Options, connector: Connector, roots: Vec<Root>) -> Arc<Inner> {
        let states = StateCell::new(options.handlers.state.clone());
        states.deliver();
        Arc::new(Inner {
            options,
            connector,
            states,
            roots: Mutex::new(roots),
            closing: CancelToken::new(),
            abandoned: AtomicBool::new(false),
            restore: Mutex::default(),
            link: Mutex::default(),
        })
    }

    /// What a new session is told.
    pub(super) fn setup(self: &Arc<Self>) -> Setup {
        let options = &self.options;
        let mut config = Config::new(Role::Client, options.local.clone());
        config.revisions.clone_from(&options.revisions);
        config.limits = options.limits.clone();
        config.keep_alive = options.keep_alive;
        let service = Arc::new(ClientService { inner: Arc::clone(self) });
        Setup { id: session_id(), config, service, tap: options.tap.clone() }
    }

    /// A connection begins.
    pub(super) fn attach(&self, session: &Arc<Session>, child: Option<Child>) {
        let mut link = lock(&self.link);
        *link = Link { session: Some(Arc::clone(session)), child: child.map(Arc::new), ..Link::default() };
        drop(link);
        // It may have been given up in the meantime.
        if self.closing.is_cancelled() {
            session.close(CloseReason::Local);
        }
    }

    /// The handshake is done and the session is as it should be: calls may be made. Fails if it has ended already.
    pub(super) fn go_live(&self, session: &Arc<Session>) -> Result<(), CloseReason> {
        let mut link = lock(&self.link);
        if !link.holds(session) {
            return Err(link.reason.clone().unwrap_or(CloseReason::Local));
        }
        link.phase = Phase::Live;
        link.peer = session.peer();
        self.states.set(ClientState::Ready);
        drop(link);
        self.states.deliver();
        Ok(())
    }

    /// The session has ended: lets go of it, and of the child process, and makes a new one if that is wanted.
    pub(super) fn session_closed(self: &Arc<Self>, session: &Arc<Session>, reason: &CloseReason) {
        let mut link = lock(&self.link);
        if !link.holds(session) {
            return;
        }
        let was_live = link.phase == Phase::Live;
        let ended = link.session.take();
        link.peer = ended.as_ref().and_then(|session| session.peer());
        link.phase = Phase::Opening;
        link.reason = Some(reason.clone());
        let child = link.child.clone();
        let policy = self.options.reconnect.as_ref().filter(|_| was_live && !self.closing.is_cancelled());
        let again = policy.filter(|_| !matches!(reason, CloseReason::Local)).cloned();
        if again.is_none() && (was_live || self.closing.is_cancelled()) {
            self.states.set(ClientState::Closed(reason.clone()));
        }
        drop(link);
        if let Some(child) = child {
            // Its stdin is closed by now: the session that wrote to it has closed its outlet.
            if self.abandoned.load(Ordering::Acquire) { child.abandon() } else { child.start_close() }
        }
        if let Some(policy) = again {
            session.executor().spawn(reconnect(Arc::clone(self), policy, reason.clone()));
        }
        self.states.deliver();
    }

    /// The session of the moment, once calls can be made.
    pub(super) fn session(&self) -> Result<Arc<Session>, Error> {
        let link = lock(&self.link);
        match (&link.session, &link.reason) {
            // A handler may serve the server, and call it, a moment before the connection counts as made.
            (Some(session), _) if link.phase == Phase::Live || session.is_ready() => Ok(Arc::clone(session)),
            (None, Some(reason)) => Err(reason.error()),
            _ => Err(Error::closed("the connection is being made and not ready yet")),
        }
    }

    /// A new attempt begins; what ended the connection before is not its affair.
    pub(super) fn forget_failure(&self) {
        lock(&self.link).reason = None;
    }

    /// Why no connection came about: what its session said when it ended, or `error`, if it came to no session.
    pub(super) fn failure(&self, error: Error) -> CloseReason {
        lock(&self.link).reason.clone().unwrap_or(CloseReason::Transport(error))
    }

    pub(super) fn peer(&self) -> Option<Arc<Peer>> {
        let link = lock(&self.link);
        link.peer.clone().or_else(|| link.session.as_ref()?.peer())
    }

    pub(super) fn revision(&self) -> Revision {
        let newest = || self.options.revisions.iter().copied().max().unwrap_or(Revision::V2024_11_05);
        self.peer().map_or_else(newest, |peer| peer.revision)
    }

    pub(super) fn child(&self) -> Option<Arc<Child>> {
        lock(&self.link).child.clone()
    }

    pub(super) fn set_state(&self, state: ClientState) {
        self.states.set(state);
        self.states.deliver();
    }

    /// Nobody wants the connection any more. Returns the session that has to be closed for that.
    pub(super) fn give_up(&self) -> Option<Arc<Session>> {
        self.closing.cancel();
        lock(&self.link).session.clone()
    }

    /// The same when nobody is left who could wait for the end; a child process gets less time then (DOWN-07).
    pub(super) fn abandon(&self) -> Option<Arc<Session>> {
        self.abandoned.store(true, Ordering::Release);
        self.give_up()
    }

    /// A request with the defaults of this client.
    pub(super) fn outgoing(&self, method: Method, params: Option<Json>) -> OutgoingRequest {
        let mut request = OutgoingRequest::new(method, params);
        request.time = self.options.time_limit;
        request.lenient = self.options.lenient;
        request
    }

    /// A call has changed what the session knows.
    pub(super) fn note(&self, change: Change) {
        lock(&self.restore).note(change);
    }

    pub(super) fn restore(&self) -> Restore {
        lock(&self.restore).clone()
    }

    /// Something odd happened in a session.
    pub(super) fn diagnose(&self, session: Option<&str>, diagnostic: &Diagnostic) {
        tracing::debug!(session, %diagnostic);
        if let Some(hook) = &self.options.handlers.diagnostic {
            let call = std::panic::AssertUnwindSafe(|| hook(diagnostic));
            if std::panic::catch_unwind(call).is_err() {
                tracing::error!(session, "the diagnostics hook panicked");
            }
        }
    }
}

impl Link {
    fn holds(&self, session: &Arc<Session>) -> bool {
        self.session.as_ref().is_some_and(|held| Arc::ptr_eq(held, session))
    }
}
