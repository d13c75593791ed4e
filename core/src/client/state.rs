//! Where a client's connection stands.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use crate::engine::CloseReason;
use crate::session::runtime::lock;

/// Where a client's connection stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ClientState {
    /// The connection is being made; the handshake is not done.
    Connecting,
    /// Calls can be made.
    Ready,
    /// The connection was lost. It will be made anew, see [`ReconnectPolicy`](super::ReconnectPolicy).
    Reconnecting {
        /// Which attempt comes next, counted from 1.
        attempt: u32,
        /// How long until then.
        delay: Duration,
        /// What ended the connection, or the attempt before.
        reason: CloseReason,
    },
    /// The connection has ended for good.
    Closed(CloseReason),
}

impl fmt::Display for ClientState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientState::Connecting => f.write_str("connecting"),
            ClientState::Ready => f.write_str("ready"),
            ClientState::Reconnecting { attempt, reason, .. } => {
                write!(f, "reconnecting (attempt {attempt}): {reason}")
            }
            ClientState::Closed(reason) => write!(f, "closed: {reason}"),
        }
    }
}

/// Tells of the states of a connection; made by [`Client::state`](super::Client::state).
///
/// Who looks too seldom misses states in between, never the newest one. The callback
/// [`on_state`](super::ClientBuilder::on_state) gets them all.
#[derive(Debug, Clone)]
pub struct States(watch::Receiver<ClientState>);

impl States {
    /// The state now.
    pub fn current(&self) -> ClientState {
        self.0.borrow().clone()
    }

    /// The next state that was not seen; the first call returns the current one. `None` after the last state,
    /// [`Closed`](ClientState::Closed), was seen.
    pub async fn next(&mut self) -> Option<ClientState> {
        // Fails only when nobody can change the state any more.
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }
}

/// Called with each state, in order.
pub(super) type StateHook = Arc<dyn Fn(&ClientState) + Send + Sync>;

/// The state, and those who are told of it.
pub(super) struct StateCell {
    /// `None` after the last state.
    sender: Mutex<Option<watch::Sender<ClientState>>>,
    receiver: watch::Receiver<ClientState>,
    hook: Option<StateHook>,
    told: Mutex<Told>,
}

/// Keeps calls of the hook in order although no lock is held during them.
#[derive(Default)]
struct Told {
    waiting: VecDeque<ClientState>,
    calling: bool,
}

impl StateCell {
    pub(super) fn new(hook: Option<StateHook>) -> StateCell {
        let (sender, mut receiver) = watch::channel(ClientState::Connecting);
        receiver.mark_changed();
        let cell = StateCell { sender: Mutex::new(Some(sender)), receiver, hook, told: Mutex::default() };
        cell.tell(ClientState::Connecting);
        cell
    }

    pub(super) fn watch(&self) -> States {
        States(self.receiver.clone())
    }

    pub(super) fn current(&self) -> ClientState {
        self.receiver.borrow().clone()
    }

    /// Changes the state. [`ClientState::Closed`] is the last one; nothing changes after it. The hook hears of it with
    /// the next [`deliver`](StateCell::deliver), so that this may be called under a lock.
    pub(super) fn set(&self, state: ClientState) {
        let mut slot = lock(&self.sender);
        let Some(sender) = slot.as_ref() else { return };
        sender.send_replace(state.clone());
        if matches!(state, ClientState::Closed(_)) {
            *slot = None;
        }
        if self.hook.is_some() {
            lock(&self.told).waiting.push_back(state);
        }
    }

    fn tell(&self, state: ClientState) {
        if self.hook.is_some() {
            lock(&self.told).waiting.push_back(state);
        }
    }

    /// Calls the hook, on this thread unless another one is at it.
    pub(super) fn deliver(&self) {
        let Some(hook) = &self.hook else { return };
        if std::mem::replace(&mut lock(&self.told).calling, true) {
            return;
        }
        loop {
            let state = {
                let mut told = lock(&self.told);
                let next = told.waiting.pop_front();
                told.calling = next.is_some();
                next
            };
            let Some(state) = state else { return };
            if std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hook(&state))).is_err() {
                tracing::error!(%state, "the state callback panicked");
            }
        }
    }

    /// Waits for the end of the connection.
    pub(super) async fn closed(&self) -> CloseReason {
        let mut states = self.watch();
        loop {
            if let ClientState::Closed(reason) = states.current() {
                return reason;
            }
            if states.next().await.is_none() {
                // The sender is gone, so the state that is there is the last one.
                if let ClientState::Closed(reason) = states.current() {
                    return reason;
                }
                return CloseReason::Local;
            }
        }
    }
}
