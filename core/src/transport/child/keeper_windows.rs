//! Looking after children on Windows. Compiled, but not run in our tests.
//!
//! Without unsafe code there is no way to wait for a process and still be able to end it, so a thread per child looks at
//! it 40 times a second. The steps that Unix does with signals are `taskkill /T`, and then `taskkill /T /F`, which ends
//! the child with its descendants as far as Windows still knows them. Descendants of a child that has ended by itself
//! are not found: that would take a job object.

use std::io;
use std::os::windows::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::exit_aware::ExitBell;
use super::status::ExitStatus;
use super::watch::{Observed, Watch};

const LOOK_AGAIN: Duration = Duration::from_millis(25);
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// What the keeper keeps with each child.
pub(super) struct PerChild;

impl PerChild {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix")]
    pub(super) fn new(_pid: u32) -> io::Result<(Self, ExitBell)> {
        Ok((Self, ExitBell))
    }

    #[expect(clippy::unused_self, reason = "as on Unix")]
    pub(super) fn exited(&self) {}
}

/// Takes a child into care.
pub(super) fn adopt(watch: &Arc<Watch>) -> io::Result<()> {
    let watch = Arc::clone(watch);
    thread::Builder::new().name("mcp-child-wait".into()).spawn(move || {
        while !watch.is_gone() {
            watch.step(Instant::now());
            thread::sleep(LOOK_AGAIN);
        }
    })?;
    Ok(())
}

/// The thread looks by itself.
pub(super) fn ring(_watch: &Watch) {}

pub(super) fn observe(watch: &Watch) -> Observed {
    let mut process = watch.process.lock().unwrap_or_else(PoisonError::into_inner);
    match process.try_wait() {
        Ok(None) => Observed::Running,
        Ok(Some(status)) => Observed::Ended(ExitStatus { code: status.code(), signal: None }),
        Err(_) => Observed::Lost,
    }
}

pub(super) fn has_leftovers(_watch: &Watch) -> bool {
    false
}

pub(super) fn terminate(watch: &Watch) {
    taskkill(watch.pid, &["/T"]);
}

pub(super) fn kill(watch: &Watch) {
    taskkill(watch.pid, &["/T", "/F"]);
    let mut process = watch.process.lock().unwrap_or_else(PoisonError::into_inner);
    // Fails if it has ended meanwhile.
    let _ = process.kill();
}

/// The pid stays taken while our handle of the process is open, so that it cannot be a stranger's.
fn taskkill(pid: u32, options: &[&str]) {
    let done = Command::new("taskkill")
        .args(["/PID", &pid.to_string()])
        .args(options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .creation_flags(CREATE_NO_WINDOW)
        .status();
    if let Err(error) = done {
        tracing::warn!(pid, %error, "cannot run taskkill");
    }
}

/// Windows has no zombies; dropping the handle is enough.
pub(super) fn reap(_watch: &Watch) {}
