//! The child process that a stdio client starts (STDIO-01).
//!
//! Blocking, on threads of the standard library. Three promises:
//!
//! * **It ends.** [`Child::close`] climbs the ladder of DOWN-02: stdin closed, a grace, `SIGTERM`, a grace, `SIGKILL`.
//!   The signals go to the whole process group, so wrappers such as `npx` and shells take what they started along. When
//!   a child ends by itself, members of its group that live on are ended the same way. Dropping the handle does all this
//!   in the background with short graces (DOWN-07).
//! * **It leaves nothing.** Every child is reaped, whoever asks or does not ask for its status.
//! * **Nobody waits for ever.** Standard error is always drained, into a bounded tail at least (STDIO-06); reads of
//!   [`ChildStdout`] end soon after the exit of the child even if a grandchild keeps the pipe open.
//!
//! What it cannot do: a grandchild that makes itself a process group or session of its own (a daemon) has left the
//! family, and is not ended; it finds its pipes closed. Where this process ignores `SIGCHLD`, or other code in it waits
//! for any child there is, the exit status and the members of the group are lost with the zombie. A child that is alive
//! when this process ends without closing it sees its stdin end, which every server must heed (DOWN-04), but gets no
//! signals. Since the child is in its own process group, Ctrl-C at the terminal reaches this process only.
//!
//! On Windows the steps are the nearest equivalent (see `keeper_windows.rs`); that part is compiled, not tested.

mod command;
mod env;
mod error;
mod exit_aware;
#[cfg(unix)]
mod group;
#[cfg_attr(windows, path = "keeper_windows.rs")]
mod keeper;
mod ladder;
mod locate;
mod status;
mod stderr;
#[cfg(all(test, unix))]
mod tests;
mod watch;

use std::io::{self, Read};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use exit_aware::{ExitAware, ExitBell};
use ladder::Ladder;
use stderr::StderrLog;
use watch::Watch;

pub use command::ChildCommand;
pub use env::EnvPolicy;
pub use error::SpawnError;
pub use status::{ExitHow, ExitReport, ExitStatus};
pub use stderr::StderrMode;

/// The end of a child's stdin: `Write`, `AsFd`, convertible into an `OwnedFd`. Dropping it closes the pipe, which is what
/// asks the child to exit.
pub use std::process::ChildStdin;

/// How long reads of [`ChildStdout`] wait, after the exit of the child, for bytes from others that hold the pipe.
const STDOUT_LINGER: Duration = Duration::from_millis(250);

/// A running child process, from [`ChildCommand::spawn`]. All methods may be called from any thread.
///
/// Dropping the handle returns at once. In the background the child then has 200 ms to exit after its stdin was closed,
/// 200 ms after `SIGTERM` (less if its graces are shorter), and is killed after that (DOWN-07). A
/// [`ChildStdin`] that was taken out has to be dropped by its owner for the first of these to have a meaning.
#[derive(Debug)]
pub struct Child {
    watch: Arc<Watch>,
    stdin: Mutex<Option<ChildStdin>>,
    stdout: Mutex<Option<ChildStdout>>,
    stderr: Option<Arc<StderrLog>>,
}

impl Child {
    /// Puts a process just started into the care of the keeper.
    fn adopt(mut process: process::Child, command: &ChildCommand) -> io::Result<Self> {
        let ladder = Ladder::new(command.exit_grace, command.term_grace);
        // Survivors of the child are ended within this time, so nobody writes to stderr later.
        let stderr_linger = ladder.bound();
        let (stdin, stdout, stderr) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let (watch, bell) = start_watch(process, ladder)?;
        let log = stderr.is_some().then(|| Arc::new(StderrLog::new(command.stderr_tail_bytes)));
        let child = Self {
            watch,
            stdin: Mutex::new(stdin),
            stdout: Mutex::new(stdout.map(|pipe| ChildStdout(ExitAware::new(pipe, bell.clone(), STDOUT_LINGER)))),
            stderr: log.clone(),
        };
        if let (Some(pipe), Some(log)) = (stderr, log) {
            let source = ExitAware::new(pipe, bell, Duration::ZERO);
            let sink = command.sink();
            // If this fails the child is dropped, and thereby ended.
            thread::Builder::new()
                .name("mcp-child-stderr".into())
                .spawn(move || stderr::drain(source, stderr_linger, &log, sink))?;
        }
        Ok(child)
    }

    /// The process id. It is also the id of the child's process group. Belongs to the child until
    /// [`close`](Self::close) has returned or the exit was reported; to nobody in particular after that.
    pub fn pid(&self) -> u32 {
        self.watch.pid
    }

    /// The writing end of the child's stdin; `None` if it was taken before or [`close`](Self::close) was called.
    pub fn take_stdin(&self) -> Option<ChildStdin> {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The reading end of the child's stdout; `None` if it was taken before.
    pub fn take_stdout(&self) -> Option<ChildStdout> {
        self.stdout.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The exit status if the child has exited. Does not wait.
    pub fn try_exit_status(&self) -> Option<ExitStatus> {
        self.watch.status()
    }

    /// Waits for the exit of the child for at most `timeout`, without asking it to exit. `None` if it still runs.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<ExitStatus> {
        self.watch.wait_status(timeout)
    }

    /// Calls `callback` once when the child has exited, at once if it has already (STDIO-13).
    ///
    /// It runs on the thread that looks after all children, so it must be quick, and must not call
    /// [`close`](Self::close). [`stderr_tail`](Self::stderr_tail) is fine. Answers that the child wrote before its exit
    /// may still be in the pipe: read [`ChildStdout`] to its end, which comes within 250 ms of the exit once the pipe is
    /// empty.
    pub fn on_exit(&self, callback: impl FnOnce(ExitStatus) + Send + 'static) {
        self.watch.on_exit(Box::new(callback));
    }

    /// The last bytes that the child wrote to its standard error, as text, for error messages (FC-013). At most
    /// [`stderr_tail_bytes`](ChildCommand::stderr_tail_bytes), cut at the front. After the exit of the child it holds
    /// everything written before it; getting there can take up to 250 ms.
    pub fn stderr_tail(&self) -> String {
        self.stderr.as_ref().map(|log| log.text(self.watch.status().is_some())).unwrap_or_default()
    }

    /// Starts the ladder without waiting for it: the child should exit because its stdin is closed, which it is now
    /// unless it was taken out; in that case drop it first. Calling it again changes nothing.
    pub fn start_close(&self) {
        drop(self.take_stdin());
        self.watch.close();
    }

    /// What dropping the handle does, for owners who share it.
    pub(crate) fn abandon(&self) {
        drop(self.take_stdin());
        self.watch.abandon();
    }

    /// Ends the child and waits until it is gone (DOWN-02, FC-012): [`start_close`](Self::start_close), the exit grace,
    /// `SIGTERM` to the process group, the term grace, `SIGKILL` to the group; then the child is reaped.
    ///
    /// Returns within the sum of both graces and a second. A second call, from this or another thread, sends nothing,
    /// waits for the same end, and returns the same report.
    pub fn close(&self) -> ExitReport {
        self.start_close();
        self.watch.wait_report()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Puts a process just started under watch, or ends it: nobody else would look after it.
fn start_watch(mut process: process::Child, ladder: Ladder) -> io::Result<(Arc<Watch>, ExitBell)> {
    let (system, bell) = match keeper::PerChild::new(process.id()) {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = process.kill();
            let _ = process.wait();
            return Err(error);
        }
    };
    let watch = Arc::new(Watch::new(process, system, ladder));
    if let Err(error) = keeper::adopt(&watch) {
        keeper::kill(&watch);
        keeper::reap(&watch);
        return Err(error);
    }
    Ok((watch, bell))
}

/// The reading end of a child's stdout, with blocking reads.
///
/// A read returns `Ok(0)` at the end of the pipe. On Unix it also does so once the child has exited, 250 ms have passed
/// and no bytes are waiting, whoever else holds the pipe. Every read makes one call of `poll` for that; a reader that
/// polls by itself can do without, see [`into_inner`](Self::into_inner).
#[derive(Debug)]
pub struct ChildStdout(ExitAware<process::ChildStdout>);

impl ChildStdout {
    /// The bare pipe, which ends when all who inherited it have closed it; combine it with [`Child::on_exit`].
    pub fn into_inner(self) -> process::ChildStdout {
        self.0.into_inner()
    }
}

impl Read for ChildStdout {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for ChildStdout {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.get_ref().as_fd()
    }
}

#[cfg(windows)]
impl std::os::windows::io::AsHandle for ChildStdout {
    fn as_handle(&self) -> std::os::windows::io::BorrowedHandle<'_> {
        self.0.get_ref().as_handle()
    }
}
