//! The order of escalation as a plain state machine: no process, no clock, no thread (DOWN-02, DOWN-06).
//!
//! ```text
//! Running --close--> Asked --exit grace--> Terminated --term grace--> Killed
//!    |                 |                       |                         |
//!    +------ the child ended by itself --------+                         |
//!    |  nobody left in its process group                                 |
//!    +--> Gone            <--- nobody left, or half a second over -------+
//! ```
//! A child that ends leaves the question whether members of its process group live on. They get the same two signals.

use std::time::{Duration, Instant};

use super::status::ExitHow;

/// How long, after the handle was dropped, the child may take to end after its stdin closed, and again after `SIGTERM`
/// (DOWN-07 asks for all to be over within a second).
const DROP_GRACE: Duration = Duration::from_millis(200);
/// How long members of the group may take to vanish after `SIGKILL` before the child is reaped all the same.
const KILL_GRACE: Duration = Duration::from_millis(500);
/// Graces are finite (DOWN-06); this also keeps sums of instants and graces within range.
const LONGEST_GRACE: Duration = Duration::from_secs(24 * 60 * 60);

/// What the owner of the ladder has to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing before the deadline.
    Wait,
    /// Send `SIGTERM` to the process group.
    Terminate,
    /// Send `SIGKILL` to the process group.
    Kill,
    /// The child ended and its group is empty or given up: take its exit status away from the system.
    Reap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Asked(Instant),
    Terminated(Instant),
    Killed(Instant),
    Gone,
}

#[derive(Debug)]
pub(super) struct Ladder {
    phase: Phase,
    exit_grace: Duration,
    term_grace: Duration,
    how: ExitHow,
}

impl Ladder {
    pub(super) fn new(exit_grace: Duration, term_grace: Duration) -> Self {
        Self {
            phase: Phase::Running,
            exit_grace: exit_grace.min(LONGEST_GRACE),
            term_grace: term_grace.min(LONGEST_GRACE),
            how: ExitHow::Exited,
        }
    }

    /// Stdin is closed: the child has the exit grace to end by itself. Does nothing if that was said before.
    pub(super) fn close(&mut self, now: Instant) {
        if self.phase == Phase::Running {
            self.phase = Phase::Asked(now + self.exit_grace);
        }
    }

    /// The handle was dropped: as [`close`](Self::close), with short graces. A ladder under way keeps its own.
    pub(super) fn abandon(&mut self, now: Instant) {
        if self.phase == Phase::Running {
            self.exit_grace = self.exit_grace.min(DROP_GRACE);
            self.term_grace = self.term_grace.min(DROP_GRACE);
            self.close(now);
        }
    }

    /// Moves on. `alive`: the child itself has not ended. `leftovers`: whether its group has live members, asked only
    /// when the child has ended.
    pub(super) fn step(&mut self, now: Instant, alive: bool, leftovers: impl FnOnce() -> bool) -> Action {
        if self.phase == Phase::Gone {
            return Action::Wait;
        }
        if !alive && !leftovers() {
            self.phase = Phase::Gone;
            return Action::Reap;
        }
        match self.phase {
            Phase::Running if alive => Action::Wait,
            Phase::Asked(until) if alive && now < until => Action::Wait,
            Phase::Running | Phase::Asked(_) => {
                self.phase = Phase::Terminated(now + self.term_grace);
                if alive {
                    self.how = ExitHow::Terminated;
                }
                Action::Terminate
            }
            Phase::Terminated(until) if now >= until => {
                self.phase = Phase::Killed(now + KILL_GRACE);
                if alive {
                    self.how = ExitHow::Killed;
                }
                Action::Kill
            }
            Phase::Killed(until) if !alive && now >= until => {
                self.phase = Phase::Gone;
                Action::Reap
            }
            Phase::Terminated(_) | Phase::Killed(_) | Phase::Gone => Action::Wait,
        }
    }

    /// When to call [`step`](Self::step) again even if nothing happens.
    pub(super) fn deadline(&self, alive: bool) -> Option<Instant> {
        match self.phase {
            Phase::Asked(until) | Phase::Terminated(until) => Some(until),
            Phase::Killed(until) if !alive => Some(until),
            // After SIGKILL there is nothing left to do but to wait for the system.
            Phase::Running | Phase::Killed(_) | Phase::Gone => None,
        }
    }

    /// The step that ended the child, or the highest one tried so far.
    pub(super) fn how(&self) -> ExitHow {
        self.how
    }

    /// The longest time from [`close`](Self::close) to the end, both graces used up and a second for the system.
    pub(super) fn bound(&self) -> Duration {
        self.exit_grace + self.term_grace + Duration::from_secs(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXIT: Duration = Duration::from_secs(2);
    const TERM: Duration = Duration::from_secs(3);

    fn nobody() -> bool {
        false
    }

    // proves: DOWN-02
    #[test]
    fn a_deaf_child_gets_each_step_once_and_at_its_time() {
        let start = Instant::now();
        let mut ladder = Ladder::new(EXIT, TERM);
        assert_eq!(ladder.step(start, true, nobody), Action::Wait);
        assert_eq!(ladder.deadline(true), None);
        ladder.close(start);
        assert_eq!(ladder.deadline(true), Some(start + EXIT));
        assert_eq!(ladder.step(start + EXIT / 2, true, nobody), Action::Wait);
        assert_eq!(ladder.step(start + EXIT, true, nobody), Action::Terminate);
        assert_eq!(ladder.step(start + EXIT, true, nobody), Action::Wait);
        assert_eq!(ladder.deadline(true), Some(start + EXIT + TERM));
        assert_eq!(ladder.step(start + EXIT + TERM, true, nobody), Action::Kill);
        assert_eq!(ladder.step(start + EXIT * 99, true, nobody), Action::Wait);
        assert_eq!(ladder.step(start + EXIT * 99, false, nobody), Action::Reap);
        assert_eq!(ladder.how(), ExitHow::Killed);
        assert_eq!(ladder.step(start + EXIT * 99, false, nobody), Action::Wait);
    }

    // proves: DOWN-03
    #[test]
    fn a_child_that_ends_by_itself_and_alone_is_only_reaped() {
        let now = Instant::now();
        let mut ladder = Ladder::new(EXIT, TERM);
        assert_eq!(ladder.step(now, false, nobody), Action::Reap);
        assert_eq!(ladder.how(), ExitHow::Exited);
    }

    // proves: DOWN-02
    #[test]
    fn who_outlives_the_child_is_terminated_then_killed_then_given_up() {
        let start = Instant::now();
        let mut ladder = Ladder::new(EXIT, TERM);
        assert_eq!(ladder.step(start, false, || true), Action::Terminate);
        assert_eq!(ladder.step(start, false, || true), Action::Wait);
        assert_eq!(ladder.step(start + TERM, false, || true), Action::Kill);
        assert_eq!(ladder.deadline(false), Some(start + TERM + KILL_GRACE));
        assert_eq!(ladder.step(start + TERM + KILL_GRACE, false, || true), Action::Reap);
        assert_eq!(ladder.how(), ExitHow::Exited);
    }

    #[test]
    fn survivors_get_no_second_grace_when_the_group_was_terminated_before() {
        let start = Instant::now();
        let mut ladder = Ladder::new(EXIT, TERM);
        ladder.close(start);
        assert_eq!(ladder.step(start + EXIT, true, nobody), Action::Terminate);
        assert_eq!(ladder.step(start + EXIT + TERM / 2, false, || true), Action::Wait);
        assert_eq!(ladder.deadline(false), Some(start + EXIT + TERM));
        assert_eq!(ladder.step(start + EXIT + TERM, false, || true), Action::Kill);
        assert_eq!(ladder.how(), ExitHow::Terminated);
    }

    // proves: DOWN-07
    #[test]
    fn dropping_shortens_the_graces_but_not_of_a_ladder_under_way() {
        let start = Instant::now();
        let mut dropped = Ladder::new(EXIT, TERM);
        dropped.abandon(start);
        assert_eq!(dropped.deadline(true), Some(start + DROP_GRACE));
        let mut closed = Ladder::new(EXIT, TERM);
        closed.close(start);
        closed.abandon(start);
        assert_eq!(closed.deadline(true), Some(start + EXIT));
    }

    // proves: DOWN-06
    #[test]
    fn graces_are_finite_whatever_is_asked_for() {
        let start = Instant::now();
        let mut ladder = Ladder::new(Duration::MAX, Duration::MAX);
        ladder.close(start);
        assert_eq!(ladder.deadline(true), Some(start + LONGEST_GRACE));
        assert!(ladder.bound() > LONGEST_GRACE);
    }
}
