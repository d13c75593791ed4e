//! Tells sessions of changes: lists, each burst as one notification, and resources, to those who subscribed.

use std::collections::HashMap;
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

const LISTS: [(List, Method); 3] = [
    (List::Tools, Method::ToolsChanged),
    (List::Resources, Method::ResourcesChanged),
    (List::Prompts, Method::PromptsChanged),
];

/// The live sessions of a server.
#[derive(Default)]
pub(crate) struct Hub {
    sessions: Mutex<HashMap<Arc<str>, (Weak<Session>, Arc<SessionState>)>>,
    changed: Mutex<Vec<List>>,
}

impl Hub {
    pub(super) fn add(&self, session: &Arc<Session>, state: &Arc<SessionState>) {
        lock(&self.sessions).insert(Arc::clone(&session.id), (Arc::downgrade(session), Arc::clone(state)));
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.sessions).remove(id);
    }

    pub(super) fn sessions(&self) -> Vec<ServerSession> {
        let sessions = lock(&self.sessions);
        let live = sessions.values().filter_map(|(session, state)| {
            Some(ServerSession { session: session.upgrade()?, state: Arc::clone(state) })
        });
        live.collect()
    }

    /// A list has changed. The first change of a burst sets the clock; when it rings, whatever changed is announced.
    pub(super) fn changed(self: &Arc<Self>, list: List) {
        let mut changed = lock(&self.changed);
        if !changed.contains(&list) {
            changed.push(list);
            if changed.len() == 1 {
                let hub = Arc::downgrade(self);
                Clock::at(Instant::now() + BURST, move || {
                    if let Some(hub) = hub.upgrade() {
                        hub.announce();
                    }
                });
            }
        }
    }

    fn announce(&self) {
        let changed = std::mem::take(&mut *lock(&self.changed));
        for session in self.sessions() {
            for (list, method) in LISTS {
                if changed.contains(&list) {
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
