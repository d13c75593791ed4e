//! Who reads: one leader at a time, relieved when a handler holds it up.
//!
//! The leader serves requests where it reads them. A handler that blocks there must not silence the session, so the clock
//! looks at the leader while there is traffic, and when it sees the same message still being served at a second look,
//! another reader takes the lead: it goes on reading, answers pings, and serves what else there is. The reader that was
//! relieved ends when its handler does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::runtime::Clock;

/// How often the clock looks at a busy leader.
const LOOK: Duration = Duration::from_millis(20);

/// The lower half of a [`Lead`].
const COUNT: u64 = u32::MAX as u64;

/// The turn of the leader in the upper half; in the lower a count that is odd while the leader serves a message. One
/// word, so that a relief and the end of a call cannot cross.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Lead(u64);

impl Lead {
    /// The first leader, before its first message.
    pub(super) const FIRST: Lead = Lead(0);

    fn is_busy(self) -> bool {
        self.0 % 2 == 1
    }

    /// The same turn, one step on.
    fn step(self) -> Lead {
        Lead((self.0 & !COUNT) | (self.0.wrapping_add(1) & COUNT))
    }

    /// The beginning of the next turn.
    fn next_turn(self) -> Lead {
        Lead((self.0 & !COUNT).wrapping_add(COUNT + 1))
    }
}

/// The lead of one session. Between a reader that gets busy and a clock that stops looking, each must see what the other
/// did, so all of it is sequentially consistent.
pub(super) struct Leadership {
    lead: AtomicU64,
    /// The clock looks.
    watched: AtomicBool,
    /// Starts another reader, which [takes over](Leadership::take_over) from the stuck one.
    relieve: Box<dyn Fn(Lead) + Send + Sync>,
}

impl Leadership {
    pub(super) fn new(relieve: impl Fn(Lead) + Send + Sync + 'static) -> Arc<Leadership> {
        Arc::new(Leadership {
            lead: AtomicU64::new(Lead::FIRST.0),
            watched: AtomicBool::new(false),
            relieve: Box::new(relieve),
        })
    }

    /// The lead, if the leader is still stuck where it was seen.
    pub(super) fn take_over(&self, stuck: Lead) -> Option<Lead> {
        let relief = stuck.next_turn();
        self.exchange(stuck, relief).then_some(relief)
    }

    /// Does `work` as the leader; false if this reader is not the leader any more afterwards.
    pub(super) fn serving(self: &Arc<Self>, lead: &mut Lead, work: impl FnOnce()) -> bool {
        if !self.advance(lead) {
            return false;
        }
        if !self.watched.load(Ordering::SeqCst) {
            self.watch();
        }
        work();
        self.advance(lead)
    }

    fn advance(&self, lead: &mut Lead) -> bool {
        let before = std::mem::replace(lead, lead.step());
        self.exchange(before, *lead)
    }

    fn exchange(&self, from: Lead, to: Lead) -> bool {
        self.lead.compare_exchange(from.0, to.0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    fn lead(&self) -> Lead {
        Lead(self.lead.load(Ordering::SeqCst))
    }

    fn watch(self: &Arc<Self>) {
        if !self.watched.swap(true, Ordering::SeqCst) {
            self.look_later(self.lead());
        }
    }

    fn look_later(self: &Arc<Self>, seen: Lead) {
        let leadership = Arc::downgrade(self);
        Clock::at(Instant::now() + LOOK, move || {
            if let Some(leadership) = leadership.upgrade() {
                leadership.look(seen);
            }
        });
    }

    /// `seen` is where the leader was at the look before.
    fn look(self: &Arc<Self>, seen: Lead) {
        let now = self.lead();
        if now != seen {
            self.look_later(now);
        } else if now.is_busy() {
            (self.relieve)(now);
            self.look_later(now);
        } else {
            // Idle since the last look: sleep until there is traffic again. A message that came in this very moment may
            // have counted on the clock.
            self.watched.store(false, Ordering::SeqCst);
            if self.lead() != now {
                self.watch();
            }
        }
    }
}
