//! Tells sessions of changes: lists, each burst as one notification, and resources, to those who subscribed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::session::{ServerSession, SessionState};
use crate::protocol::{Json, Method, ResourceUpdatedNotification};
use crate::session::Session;
use crate::session::runtime::{Clock, lock};

/// Changes of a list within this time are announced as one.
const BURST: Duration = Duration::from_millis(50);

/// A list whose changes are announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    /// Resources and their templates (TMPL-04).
    Resources,
    Prompts,
}

impl List {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

const LISTS: [(List, Method); 3] = [
    (List::Tools, Method::ToolsChanged),
    (List::Resources, Method::ResourcesChanged),
    (List::Prompts, Method::PromptsChanged),
];

type Live = (Weak<Session>, Arc<SessionState>);

/// The live sessions of a server.
#[derive(Default)]
pub(crate) struct Hub {
    sessions: Mutex<HashMap<Arc<str>, Live>>,
    /// The clock is set.
    announcing: AtomicBool,
}

impl Hub {
    pub(super) fn add(&self, session: &Arc<Session>, state: &Arc<SessionState>) {
        lock(&self.sessions).insert(Arc::clone(&session.id), (Arc::downgrade(session), Arc::clone(state)));
        // Its end may have come first.
        if session.is_closed() {
            self.remove(&session.id);
        }
    }

    pub(super) fn remove(&self, id: &str) {
        let removed = lock(&self.sessions).remove(id);
        // Without the lock: the last one that holds a session's state may be this.
        drop(removed);
    }

    /// All sessions, whether or not their client said who it is.
    pub(super) fn sessions(&self) -> Vec<ServerSession> {
        let sessions = lock(&self.sessions);
        let live = sessions.values().filter_map(|(session, state)| {
            Some(ServerSession { session: session.upgrade()?, state: Arc::clone(state) })
        });
        live.collect()
    }

    /// A list has changed, for all sessions that live now. The first change of a burst sets the clock; when it rings,
    /// whatever changed is announced.
    pub(super) fn changed(self: &Arc<Self>, list: List) {
        let mut waiting = false;
        // Whoever has not been told what there is cannot hear that it changed.
        for (_, state) in lock(&self.sessions).values().filter(|(_, state)| state.peer().is_some()) {
            state.changed_lists.fetch_or(list.bit(), Ordering::AcqRel);
            waiting = true;
        }
        if waiting && !self.announcing.swap(true, Ordering::AcqRel) {
            let hub = Arc::downgrade(self);
            Clock::at(Instant::now() + BURST, move || {
                if let Some(hub) = hub.upgrade() {
                    hub.announce();
                }
            });
        }
    }

    fn announce(&self) {
        // Changes from here on set the clock anew.
        self.announcing.store(false, Ordering::Release);
        for session in self.sessions() {
            let changed = session.state.changed_lists.swap(0, Ordering::AcqRel);
            for (list, method) in LISTS {
                if changed & list.bit() != 0 {
                    // Sessions that were not promised announcements refuse to send them (TOOL-14).
                    drop(session.state.notify(&session.session, method, None, None));
                }
            }
        }
    }

    /// A resource has changed: one notification to each session that subscribed to `subscribed` (SUB-04), naming `uri`,
    /// which is the same or a part of it (SUB-05).
    pub(super) fn resource_updated(&self, subscribed: &str, uri: &str) {
        let Ok(params) = Json::from_serialize(&ResourceUpdatedNotification::new(uri)) else { return };
        for session in self.sessions() {
            if !lock(&session.state.subscriptions).contains(subscribed) {
                continue;
            }
            let message = session.state.filter(&session.session, Method::ResourceUpdated, Some(params.clone()));
            let Some(message) = message else { continue };
            // Looked up again and held while the message is queued, so that nothing follows the answer to an unsubscribe
            // (SUB-06). Delivery, which may run code of the application, comes after.
            let subscriptions = lock(&session.state.subscriptions);
            if subscriptions.contains(subscribed) {
                drop(session.session.enqueue(&message.method, message.params.as_ref(), None));
            }
            drop(subscriptions);
            session.session.kick();
        }
    }
}
