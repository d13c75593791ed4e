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

    /// Whether this leader relieved another. What blocked that one may come again, so a relief runs handlers
    /// elsewhere for a while.
    pub(super) fn is_relief(self) -> bool {
        self.0 > COUNT
    }

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

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn leadership() -> (Arc<Leadership>, Receiver<Lead>) {
        let (sender, receiver): (Sender<Lead>, _) = channel();
        // Asked again while nobody has taken over: the test may have heard enough by then.
        (
            Leadership::new(move |stuck| {
                let _ = sender.send(stuck);
            }),
            receiver,
        )
    }

    /// Serves a message that lasts until another reader has taken over.
    fn stuck(leadership: &Arc<Leadership>, lead: &mut Lead, relieved: &Receiver<Lead>) -> Lead {
        let mut next = None;
        let still_leads = leadership.serving(lead, || {
            let stuck = relieved.recv_timeout(PATIENCE).expect("somebody is asked to take over");
            next = leadership.take_over(stuck);
            assert!(leadership.take_over(stuck).is_none(), "only one takes over");
        });
        assert!(!still_leads);
        next.expect("the lead was free to take")
    }

    // proves: PING-01
    #[test]
    fn ping_01_a_stuck_leader_is_relieved_each_time_and_knows_it() {
        let (leadership, relieved) = leadership();
        let mut lead = Lead::FIRST;
        for _ in 0..5 {
            assert!(leadership.serving(&mut lead, || {}));
            let mut next = stuck(&leadership, &mut lead, &relieved);
            // What was asked twice is asked for a turn that is over.
            while let Ok(late) = relieved.try_recv() {
                assert!(leadership.take_over(late).is_none());
            }
            assert!(!leadership.serving(&mut lead, || unreachable!("it is not the leader any more")));
            std::mem::swap(&mut lead, &mut next);
        }
    }

    // proves: PING-01
    #[test]
    fn ping_01_the_clock_looks_again_after_it_had_stopped() {
        let (leadership, relieved) = leadership();
        let mut lead = Lead::FIRST;
        assert!(leadership.serving(&mut lead, || {}));
        for _ in 0..10 {
            let until = Instant::now() + PATIENCE;
            while leadership.watched.load(Ordering::SeqCst) {
                assert!(Instant::now() < until, "the clock looks at an idle session for ever");
                std::thread::yield_now();
            }
            assert!(relieved.try_recv().is_err(), "an idle leader needs no relief");
            // In this very moment the message comes, and lasts.
            lead = stuck(&leadership, &mut lead, &relieved);
            while let Ok(late) = relieved.try_recv() {
                assert!(leadership.take_over(late).is_none());
            }
        }
    }

    #[test]
    fn turns_and_counts_go_round() {
        let last = Lead(u64::MAX);
        assert!(last.is_busy() && !last.step().is_busy());
        assert_eq!((last.step().0, last.next_turn().0), (u64::MAX - u64::from(u32::MAX), 0));
        assert_eq!(Lead::FIRST.step().next_turn().0, 1 << 32);
    }
}
