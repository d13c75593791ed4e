//! Reading a pipe of a child that may have been inherited by others.
//!
//! A pipe ends when every process that holds its other end has closed it. A grandchild that outlives the child can hold
//! it for ever, so a reader that waits for the end alone may never come back. The reader here also hears of the exit of
//! the child, and from then on waits only a given time for what may still come.

use std::io::{self, Read};
use std::time::Duration;

#[cfg(unix)]
use std::{io::PipeReader, os::fd::AsFd, sync::Arc, time::Instant};

#[cfg(unix)]
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The bell of a child: becomes readable when the child has exited, and stays so because nobody reads from it.
#[cfg(unix)]
pub(super) type ExitBell = Arc<PipeReader>;
/// Pipes cannot be waited for on Windows without unsafe code; there the end of the pipe is all a reader sees.
#[cfg(not(unix))]
#[derive(Debug, Clone)]
pub(super) struct ExitBell;

/// What one who never stops writing can still deliver after the time is over: the largest pipe of a common system.
#[cfg(unix)]
const LATE_BYTES: usize = 1 << 20;

/// A pipe whose reads end, with `Ok(0)`, once `linger` has passed since the exit of the child and no bytes are waiting.
#[derive(Debug)]
pub(super) struct ExitAware<R> {
    source: R,
    linger: Duration,
    #[cfg(unix)]
    bell: ExitBell,
    #[cfg(unix)]
    exited: Option<Instant>,
    #[cfg(unix)]
    late: usize,
}

impl<R> ExitAware<R> {
    #[cfg(unix)]
    pub(super) fn new(source: R, bell: ExitBell, linger: Duration) -> Self {
        Self { source, linger, bell, exited: None, late: 0 }
    }

    #[cfg(not(unix))]
    pub(super) fn new(source: R, _bell: ExitBell, linger: Duration) -> Self {
        Self { source, linger }
    }

    pub(super) fn set_linger(&mut self, linger: Duration) {
        self.linger = linger;
        #[cfg(unix)]
        {
            self.late = 0;
        }
    }

    pub(super) fn get_ref(&self) -> &R {
        &self.source
    }

    pub(super) fn into_inner(self) -> R {
        self.source
    }
}

#[cfg(unix)]
impl<R: Read + AsFd> ExitAware<R> {
    /// Waits for bytes or the end of the pipe; `false` when the time after the exit is over.
    fn wait(&mut self) -> io::Result<bool> {
        loop {
            let left = self.exited.map(|at| self.linger.saturating_sub(at.elapsed()));
            let timeout = left.map(timespec);
            let mut fds = [PollFd::new(&self.source, PollFlags::IN), PollFd::new(&self.bell, PollFlags::IN)];
            // Once heard, the bell would only keep the call from waiting.
            let heard = if left.is_some() { 1 } else { 2 };
            match poll(&mut fds[..heard], timeout.as_ref()) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
                Ok(_) => {}
            }
            let (ready, rung) = (!fds[0].revents().is_empty(), !fds[1].revents().is_empty());
            if rung && left.is_none() {
                self.exited = Some(Instant::now());
            }
            match left {
                _ if ready && self.late <= LATE_BYTES => return Ok(true),
                Some(left) if ready || left.is_zero() => return Ok(false),
                _ => {}
            }
        }
    }
}

#[cfg(unix)]
impl<R: Read + AsFd> Read for ExitAware<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !self.wait()? {
            return Ok(0);
        }
        let n = self.source.read(buf)?;
        if self.exited.is_some_and(|at| at.elapsed() > self.linger) {
            self.late += n;
        }
        Ok(n)
    }
}

#[cfg(not(unix))]
impl<R: Read> Read for ExitAware<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.source.read(buf)
    }
}

/// For `poll`; a time that does not fit is as good as for ever.
#[cfg(unix)]
pub(super) fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i32::MAX.into(), tv_nsec: 0 })
}
