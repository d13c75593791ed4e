//! How bytes leave a session whose peer is at the other end of a byte stream.

use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Session;
use super::runtime::{Clock, lock, thread};
use crate::engine::CloseReason;

/// Gets what the engine has for the peer out of the session.
pub(crate) trait Outlet: Send + Sync {
    /// Sends what waits, or sees to it that somebody does. Called from any thread; never blocks. Returns whether something
    /// was sent by this call itself; who sends it elsewhere [kicks](Session::kick) the session afterwards.
    fn flush(&self, session: &Arc<Session>) -> bool;
    /// The session has ended; what was flushed before may still go out. Never blocks.
    fn close(&self, session: &Arc<Session>);
}

/// After a write failed, the end of the input usually says why; only without it does the write error end the session.
const WRITE_ERROR_GRACE: Duration = Duration::from_millis(250);

/// Writing to a pipe that is ready takes this much without blocking (`PIPE_BUF`).
const SURE_BYTES: usize = 4096;

/// A buffer that grew for one large message is not kept for ever.
const KEEP_CAPACITY: usize = 256 * 1024;

/// Takes the output of a session for writing; `None` if there is none or somebody else writes.
fn begin(session: &Session) -> Option<Vec<u8>> {
    let mut core = lock(&session.core);
    if core.writing || !core.engine.has_transmit() {
        return None;
    }
    core.writing = true;
    let mut buffer = std::mem::take(&mut core.spare);
    buffer.clear();
    core.engine.poll_transmit_lines(&mut buffer);
    drop(core);
    session.tap_lines(&buffer);
    Some(buffer)
}

/// Reports a finished write.
fn end(session: &Arc<Session>, buffer: Vec<u8>, written: io::Result<()>) {
    let mut core = lock(&session.core);
    core.writing = false;
    match written {
        Ok(()) => core.engine.transmitted(buffer.len(), Instant::now()),
        Err(error) => {
            drop(core);
            write_failed(session, &error);
            return;
        }
    }
    let all_sent = core.engine.unsent_bytes() == 0;
    if core.spare.capacity() < buffer.capacity() && buffer.capacity() <= KEEP_CAPACITY {
        core.spare = buffer;
    }
    drop(core);
    if all_sent && lock(&session.end).is_some() {
        session.ended.notify_all();
    }
}

/// Nothing more can be sent. `writing` stays set, so that nobody tries again.
fn write_failed(session: &Arc<Session>, error: &io::Error) {
    {
        let mut core = lock(&session.core);
        core.writing = true;
        core.engine.discard_output();
    }
    session.ended.notify_all();
    let detail = Some(format!("it does not take messages any more ({error})"));
    let weak = Arc::downgrade(session);
    Clock::at(Instant::now() + WRITE_ERROR_GRACE, move || {
        if let Some(session) = weak.upgrade() {
            session.close(CloseReason::Peer { detail });
        }
    });
}

/// Writes to a file descriptor that may be shared with other processes, so it is never made non-blocking: what surely
/// fits is written at once, and a thread takes over the rest where the peer is slow to read.
pub(crate) struct FdOutlet {
    state: Mutex<FdState>,
}

struct FdState {
    file: Option<Arc<File>>,
    /// To be closed as soon as all is written.
    closing: bool,
}

impl FdOutlet {
    pub(crate) fn new(file: File) -> FdOutlet {
        FdOutlet { state: Mutex::new(FdState { file: Some(Arc::new(file)), closing: false }) }
    }

    fn close_if_done(&self, session: &Session) {
        let mut state = lock(&self.state);
        if state.closing {
            let core = lock(&session.core);
            if !core.writing && !core.engine.has_transmit() {
                drop(core);
                state.file = None;
            }
        }
    }
}

impl Outlet for FdOutlet {
    fn flush(&self, session: &Arc<Session>) -> bool {
        let mut sent = false;
        while let Some(buffer) = begin(session) {
            let Some(file) = lock(&self.state).file.clone() else { return sent };
            match write_sure(&file, &buffer) {
                Ok(at) if at == buffer.len() => {
                    end(session, buffer, Ok(()));
                    sent = true;
                }
                Ok(at) => {
                    let owner = Arc::clone(session);
                    let started = thread("mcp-write", move || {
                        let written = (&*file).write_all(&buffer[at..]);
                        drop(file);
                        end(&owner, buffer, written);
                        owner.kick();
                    });
                    if let Err(error) = started {
                        write_failed(session, &error);
                    }
                    return sent;
                }
                Err(error) => end(session, buffer, Err(error)),
            }
        }
        self.close_if_done(session);
        sent
    }

    fn close(&self, session: &Arc<Session>) {
        lock(&self.state).closing = true;
        self.close_if_done(session);
    }
}

/// Writes as much as goes without blocking; returns how much that was.
#[cfg(unix)]
fn write_sure(file: &File, buffer: &[u8]) -> io::Result<usize> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use std::os::fd::AsFd;

    let mut at = 0;
    while at < buffer.len() {
        let mut ready = [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::OUT)];
        match poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(0) => return Ok(at),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let chunk = &buffer[at..buffer.len().min(at + SURE_BYTES)];
        match (&*file).write(chunk) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => at += written,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(at)
}

/// Without `poll`, nothing is sure: the thread writes all of it.
#[cfg(not(unix))]
fn write_sure(_file: &File, _buffer: &[u8]) -> io::Result<usize> {
    Ok(0)
}

/// Writes to anything that can be written to, on a thread of its own: nobody knows whether it blocks.
pub(crate) struct ThreadOutlet {
    bell: Arc<Bell>,
}

#[derive(Default)]
struct Bell {
    state: Mutex<BellState>,
    rung: Condvar,
}

#[derive(Default)]
struct BellState {
    session: Option<Arc<Session>>,
    closed: bool,
}

impl ThreadOutlet {
    pub(crate) fn new(writer: Box<dyn Write + Send>) -> io::Result<ThreadOutlet> {
        let bell = Arc::new(Bell::default());
        let inner = Arc::clone(&bell);
        thread("mcp-write", move || inner.run(writer))?;
        Ok(ThreadOutlet { bell })
    }
}

impl Bell {
    fn run(&self, mut writer: Box<dyn Write + Send>) {
        loop {
            let mut state = lock(&self.state);
            let session = loop {
                if let Some(session) = state.session.take() {
                    break session;
                }
                if state.closed {
                    return;
                }
                state = self.rung.wait(state).unwrap_or_else(PoisonError::into_inner);
            };
            drop(state);
            while let Some(buffer) = begin(&session) {
                // Writers are the application's; a panic of one counts as a failed write.
                let write = AssertUnwindSafe(|| writer.write_all(&buffer).and_then(|()| writer.flush()));
                let written = catch_unwind(write).unwrap_or_else(|_| Err(io::Error::other("the writer panicked")));
                end(&session, buffer, written);
                session.kick();
            }
        }
    }
}

impl Outlet for ThreadOutlet {
    fn flush(&self, session: &Arc<Session>) -> bool {
        if lock(&session.core).engine.has_transmit() {
            lock(&self.bell.state).session = Some(Arc::clone(session));
            self.bell.rung.notify_one();
        }
        false
    }

    fn close(&self, _session: &Arc<Session>) {
        lock(&self.bell.state).closed = true;
        self.bell.rung.notify_one();
    }
}
