//! Turns a session by blocking reads on a thread: the fastest way to serve a pipe.
//!
//! The thread reads, serves requests where it reads them, and writes the answers of a whole batch at once. Where a handler
//! blocks it, another thread [takes the lead](super::lead).

use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use super::Session;
use super::lead::{Lead, Leadership};
use super::runtime::{lock, thread};
use crate::engine::CloseReason;
use crate::error::{Error, ErrorKind};
use crate::transport::lines::{Line, LineBuffer};

/// How long a leader that relieved another runs no handlers itself.
const CAREFUL: Duration = Duration::from_secs(1);

/// Answers of a batch are written when they come to this much, even if more requests have been read.
const FLUSH_BYTES: usize = 64 * 1024;

/// Says how the input ended, for the error that pending calls get.
pub(crate) type EndDetail = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// The input of one session and who reads it.
pub(crate) struct Pump {
    session: Arc<Session>,
    input: Mutex<Input>,
    leadership: Arc<Leadership>,
    end_detail: EndDetail,
}

struct Input {
    reader: Box<dyn Read + Send>,
    lines: LineBuffer,
    scratch: Box<[u8]>,
    ended: bool,
}

/// What the leader got from the input.
enum Next {
    Line(Line),
    /// No whole line is left of what was read.
    Exhausted,
    End,
}

impl Pump {
    pub(crate) fn new(session: Arc<Session>, reader: Box<dyn Read + Send>, end_detail: EndDetail) -> Arc<Pump> {
        let lines = LineBuffer::new(session.message_limit());
        let input = Input { reader, lines, scratch: vec![0; 64 * 1024].into_boxed_slice(), ended: false };
        Arc::new_cyclic(|pump| {
            let pump: Weak<Pump> = pump.clone();
            let leadership = Leadership::new(move |stuck| {
                let Some(pump) = pump.upgrade() else { return };
                if let Err(error) = thread("mcp-read", move || pump.relieve(stuck)) {
                    tracing::error!(%error, "no thread can be started to relieve a blocked handler");
                }
            });
            Pump { session, input: Mutex::new(input), leadership, end_detail }
        })
    }

    /// Leads on a thread of its own. If none can be started, the session ends.
    pub(crate) fn spawn(self: &Arc<Self>) -> io::Result<()> {
        let pump = Arc::clone(self);
        let started = thread("mcp-read", move || pump.lead(Lead::FIRST));
        if started.is_err() {
            self.session.close(CloseReason::Local);
        }
        started
    }

    fn relieve(&self, stuck: Lead) {
        if let Some(lead) = self.leadership.take_over(stuck) {
            self.lead(lead);
        }
    }

    /// Leads until the input ends or another thread takes over.
    fn lead(&self, mut lead: Lead) {
        // What blocked the one before may come again at once: for a while, handlers run elsewhere.
        let mut careful = lead.is_relief().then(|| Instant::now() + CAREFUL);
        loop {
            match self.next() {
                Next::Line(line) => {
                    let relieved = !self.leadership.serving(&mut lead, || self.take(&line, careful.is_none()));
                    if relieved {
                        break;
                    }
                }
                Next::Exhausted => {
                    careful = careful.filter(|until| Instant::now() < *until);
                    // Calls that waited for room are served here too.
                    let kick = || if careful.is_none() { self.session.kick_inline() } else { self.session.kick() };
                    let relieved = !self.leadership.serving(&mut lead, kick);
                    if relieved || self.session.is_closed() {
                        break;
                    }
                    if let Err(error) = self.fill() {
                        return self.session.close(CloseReason::Transport(read_error(&error)));
                    }
                }
                Next::End => return self.session.end_of_input((self.end_detail)()),
            }
        }
        // Relieved, or closed: what this thread's last handler answered must still go out.
        self.session.kick();
    }

    fn next(&self) -> Next {
        let mut input = lock(&self.input);
        let input = &mut *input;
        if let Some(line) = input.lines.next_line() {
            return Next::Line(line);
        }
        if !input.ended {
            return Next::Exhausted;
        }
        // A last line without its end is a message all the same (STDIO-10).
        input.lines.rest().map_or(Next::End, Next::Line)
    }

    fn fill(&self) -> io::Result<()> {
        let mut input = lock(&self.input);
        let Input { reader, lines, scratch, ended } = &mut *input;
        loop {
            // Readers may be the application's; a panic of one ends its session, not in silence.
            let read = catch_unwind(AssertUnwindSafe(|| reader.read(scratch)));
            match read.unwrap_or_else(|_| Err(io::Error::other("the reader panicked"))) {
                Ok(0) => {
                    *ended = true;
                    return Ok(());
                }
                Ok(read) => {
                    lines.push(&scratch[..read]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&self, line: &Line, inline: bool) {
        match line {
            Line::Whole(frame) => self.session.receive(frame, inline),
            Line::TooLong { beginning } => self.session.receive_oversized(beginning),
        }
        if self.session.unsent_bytes() > FLUSH_BYTES {
            self.session.kick();
        }
    }
}

fn read_error(error: &io::Error) -> Error {
    Error::new(ErrorKind::Transport, format!("reading from the peer failed: {error}"))
}
