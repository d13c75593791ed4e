//! What the handle of a child and the keeper share about it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::keeper;
use super::ladder::{Action, Ladder};
use super::status::{ExitReport, ExitStatus};

type ExitCallback = Box<dyn FnOnce(ExitStatus) + Send>;

/// What the system says about the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Observed {
    Running,
    /// It ended, and stays a zombie until it is reaped.
    Ended(ExitStatus),
    /// Somebody else reaped it: its pid may be anybody's by now and must not be signalled.
    Lost,
}

pub(super) struct Watch {
    pub(super) pid: u32,
    /// Only the keeper reaps, and only as the last step.
    pub(super) process: Mutex<process::Child>,
    pub(super) system: keeper::PerChild,
    progress: Mutex<Progress>,
    changed: Condvar,
}

struct Progress {
    ladder: Ladder,
    status: Option<ExitStatus>,
    lost: bool,
    report: Option<ExitReport>,
    callbacks: Vec<ExitCallback>,
}

impl Watch {
    pub(super) fn new(process: process::Child, system: keeper::PerChild, ladder: Ladder) -> Self {
        Self {
            pid: process.id(),
            process: Mutex::new(process),
            system,
            progress: Mutex::new(Progress { ladder, status: None, lost: false, report: None, callbacks: Vec::new() }),
            changed: Condvar::new(),
        }
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> Option<ExitStatus> {
        self.progress().status
    }

    pub(super) fn is_gone(&self) -> bool {
        self.progress().report.is_some()
    }

    pub(super) fn close(&self) {
        self.progress().ladder.close(Instant::now());
        keeper::ring(self);
    }

    pub(super) fn abandon(&self) {
        self.progress().ladder.abandon(Instant::now());
        keeper::ring(self);
    }

    pub(super) fn wait_status(&self, timeout: Duration) -> Option<ExitStatus> {
        let (progress, _) = self
            .changed
            .wait_timeout_while(self.progress(), timeout, |progress| progress.status.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        progress.status
    }

    /// Waits for the end of the ladder that [`close`](Self::close) set going.
    pub(super) fn wait_report(&self) -> ExitReport {
        let progress = self.progress();
        let bound = progress.ladder.bound();
        let (progress, _) = self
            .changed
            .wait_timeout_while(progress, bound, |progress| progress.report.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        progress.report.unwrap_or_else(|| progress.report_now())
    }

    pub(super) fn on_exit(&self, callback: ExitCallback) {
        let mut progress = self.progress();
        match progress.status {
            None => progress.callbacks.push(callback),
            Some(status) => {
                drop(progress);
                callback(status);
            }
        }
    }

    /// Looks at the child and does what is due. Called by the keeper alone. Returns when to come again at the latest.
    pub(super) fn step(&self, now: Instant) -> Option<Instant> {
        let first_sight = self.observe();
        if let Some((status, callbacks)) = first_sight {
            self.system.exited();
            self.changed.notify_all();
            tracing::debug!(pid = self.pid, %status, "child process ended");
            for callback in callbacks {
                // A panic must not take the keeper, and with it all other children, down.
                if catch_unwind(AssertUnwindSafe(|| callback(status))).is_err() {
                    tracing::error!(pid = self.pid, "an exit callback panicked");
                }
            }
        }
        loop {
            let mut progress = self.progress();
            let alive = progress.status.is_none();
            let lost = progress.lost;
            match progress.ladder.step(now, alive, || !lost && keeper::has_leftovers(self)) {
                Action::Wait => return progress.ladder.deadline(alive),
                Action::Terminate => {
                    tracing::debug!(pid = self.pid, alive, "sending SIGTERM to the process group of a child");
                    keeper::terminate(self);
                }
                Action::Kill => {
                    tracing::debug!(pid = self.pid, alive, "sending SIGKILL to the process group of a child");
                    keeper::kill(self);
                }
                Action::Reap => {
                    if !lost {
                        keeper::reap(self);
                    }
                    progress.report = Some(progress.report_now());
                    drop(progress);
                    self.changed.notify_all();
                    return None;
                }
            }
        }
    }

    /// The status and those who wait for it, if the child is first seen to have ended.
    fn observe(&self) -> Option<(ExitStatus, Vec<ExitCallback>)> {
        let mut progress = self.progress();
        let observed = keeper::observe(self);
        if progress.status.is_some() {
            // The zombie may be taken from us while its group is being ended.
            progress.lost |= observed == Observed::Lost;
            return None;
        }
        let status = match observed {
            Observed::Running => return None,
            Observed::Ended(status) => status,
            Observed::Lost => {
                progress.lost = true;
                ExitStatus::UNKNOWN
            }
        };
        progress.status = Some(status);
        Some((status, std::mem::take(&mut progress.callbacks)))
    }
}

impl Progress {
    fn report_now(&self) -> ExitReport {
        ExitReport { status: self.status.unwrap_or(ExitStatus::UNKNOWN), how: self.ladder.how() }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("pid", &self.pid).finish_non_exhaustive()
    }
}
