//! One thread that looks after all children of this process (Unix).
//!
//! It sleeps in `poll` on one pidfd per child (Linux), the bell that handles ring, and the next deadline of a ladder. So
//! nothing is polled at intervals, closing never depends on the thread that asked for it, and dropping a handle is one
//! ring of the bell. The thread starts with the first child and ends with the last.
//! Where there is no pidfd (other systems, old kernels, some sandboxes) a thread per child waits for it and rings.
//!
//! # Why no stranger is ever signalled
//!
//! A child is made the leader of a process group of its own, so that its pid and the number of the group are the same.
//! The system gives neither away again while the child is a zombie. So the keeper learns of an exit with `WNOWAIT`, which
//! leaves the zombie, sends whatever signals members of the group must get while the zombie holds the number, and takes
//! the zombie away as the very last step. After that the number is never used again. A child that somebody else has
//! reaped (`ECHILD`) is not signalled at all.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process, kill_process_group, waitid};

use super::exit_aware::{ExitBell, timespec};
use super::group;
use super::status::ExitStatus;
use super::watch::{Observed, Watch};

/// How often to look at members of a group that cannot be waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What the keeper keeps with each child.
pub(super) struct PerChild {
    pid: Pid,
    pidfd: Option<OwnedFd>,
    /// The other end of the exit bell.
    exit_bell: Mutex<Option<PipeWriter>>,
}

impl PerChild {
    pub(super) fn new(pid: u32) -> io::Result<(Self, ExitBell)> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        let (bell, ringer) = io::pipe()?;
        let per_child = Self { pid, pidfd: group::pidfd(pid), exit_bell: Mutex::new(Some(ringer)) };
        Ok((per_child, Arc::new(bell)))
    }

    /// As on a system without pidfd.
    #[cfg(test)]
    pub(super) fn without_pidfd(pid: u32) -> io::Result<(Self, ExitBell)> {
        let (per_child, bell) = Self::new(pid)?;
        Ok((Self { pidfd: None, ..per_child }, bell))
    }

    /// Rings the exit bell: a byte, and not the closed end alone, because a fork of this process may hold a copy of it.
    pub(super) fn exited(&self) {
        let bell = self.exit_bell.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut bell) = bell {
            // Fails only if nobody listens any more.
            let _ = bell.write_all(&[1]);
        }
    }
}

struct Keeper {
    children: Vec<Arc<Watch>>,
    bell: Option<PipeWriter>,
    /// Whether there is a byte in the bell, so that there is never more than one and ringing never blocks.
    rung: bool,
    /// The process that the thread runs in; a fork inherits the memory, but neither the thread nor the children.
    owner: u32,
}

static KEEPER: Mutex<Keeper> = Mutex::new(Keeper { children: Vec::new(), bell: None, rung: false, owner: 0 });

impl Keeper {
    fn lock() -> MutexGuard<'static, Self> {
        KEEPER.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ring(&mut self) {
        if let (Some(bell), false) = (&mut self.bell, self.rung) {
            self.rung = bell.write_all(&[1]).is_ok();
        }
    }
}

/// Takes a child into care.
pub(super) fn adopt(watch: &Arc<Watch>) -> io::Result<()> {
    if watch.system.pidfd.is_none() {
        let pid = watch.system.pid;
        thread::Builder::new().name("mcp-child-wait".into()).spawn(move || {
            // Whatever the answer is, the keeper looks itself.
            while matches!(
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT),
                Err(rustix::io::Errno::INTR)
            ) {}
            Keeper::lock().ring();
        })?;
    }
    let mut keeper = Keeper::lock();
    if keeper.bell.is_none() || keeper.owner != std::process::id() {
        let (reader, writer) = io::pipe()?;
        thread::Builder::new().name("mcp-children".into()).spawn(move || run(reader))?;
        *keeper = Keeper { children: Vec::new(), bell: Some(writer), rung: false, owner: std::process::id() };
    }
    keeper.children.push(Arc::clone(watch));
    keeper.ring();
    Ok(())
}

/// Tells the keeper that the ladder of a child has changed.
pub(super) fn ring(_watch: &Watch) {
    let mut keeper = Keeper::lock();
    if keeper.owner == std::process::id() {
        keeper.ring();
    }
}

fn run(mut bell: PipeReader) {
    loop {
        let children = {
            let mut keeper = Keeper::lock();
            if std::mem::take(&mut keeper.rung) {
                // The one byte that `rung` stands for; it is there, so this does not wait.
                let _ = bell.read(&mut [0]);
            }
            keeper.children.retain(|child| !child.is_gone());
            if keeper.children.is_empty() {
                keeper.bell = None;
                return;
            }
            keeper.children.clone()
        };
        let now = Instant::now();
        let deadline = children.iter().filter_map(|child| child.step(now)).min();
        if children.iter().any(|child| child.is_gone()) {
            continue;
        }
        wait(&bell, &children, deadline);
    }
}

/// Sleeps until the bell rings, a child or a member of the group of an ended child exits, or the deadline comes.
fn wait(bell: &PipeReader, children: &[Arc<Watch>], deadline: Option<Instant>) {
    let mut timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let mut leftovers: Vec<OwnedFd> = Vec::new();
    let mut fds = vec![PollFd::new(bell, PollFlags::IN)];
    for child in children {
        if child.status().is_none() {
            if let Some(pidfd) = &child.system.pidfd {
                fds.push(PollFd::new(pidfd, PollFlags::IN));
            }
        } else {
            match group::leftover_fds(child.system.pid) {
                // The last one went since the step: step again at once.
                Some(found) if found.is_empty() => timeout = Some(Duration::ZERO),
                Some(found) => leftovers.extend(found),
                None => {
                    timeout = Some(timeout.map_or(LOOK_AGAIN, |timeout| timeout.min(LOOK_AGAIN)));
                }
            }
        }
    }
    fds.extend(leftovers.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
    let timeout = timeout.map(timespec);
    if let Err(error) = poll(&mut fds, timeout.as_ref())
        && error != rustix::io::Errno::INTR
    {
        tracing::error!(%error, "cannot wait for child processes");
        // The system is out of memory: look again soon, without spinning.
        thread::sleep(LOOK_AGAIN);
    }
}

/// Asks the system, without taking the zombie away.
pub(super) fn observe(watch: &Watch) -> Observed {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(watch.system.pid), options) {
        Ok(None) | Err(rustix::io::Errno::INTR) => Observed::Running,
        Ok(Some(status)) => Observed::Ended(exit_status(&status)),
        Err(_) => Observed::Lost,
    }
}

fn exit_status(status: &WaitIdStatus) -> ExitStatus {
    ExitStatus { code: status.exit_status(), signal: status.terminating_signal() }
}

/// Whether the group of an ended child has members that live; yes if that cannot be found out.
pub(super) fn has_leftovers(watch: &Watch) -> bool {
    group::has_leftovers(watch.system.pid)
}

pub(super) fn terminate(watch: &Watch) {
    let pid = watch.system.pid;
    if kill_process_group(pid, Signal::TERM).is_err() {
        // No member may be signalled, or the child has moved itself into another group.
        let _ = kill_process(pid, Signal::TERM);
    }
}

pub(super) fn kill(watch: &Watch) {
    let pid = watch.system.pid;
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = kill_process(pid, Signal::KILL);
}

/// Takes the zombie away.
pub(super) fn reap(watch: &Watch) {
    let mut process = watch.process.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(error) = process.wait() {
        tracing::debug!(pid = watch.pid, %error, "a child was reaped by somebody else");
    }
}
