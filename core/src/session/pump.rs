//! Turns a session by blocking reads on a thread: the fastest way to serve a pipe.
//!
//! One thread leads: it reads, serves requests where it reads them, and writes the answers of a whole batch at once. A
//! handler that blocks the leading thread must not silence the session, so the clock looks at the leader while there is
//! traffic, and when it sees the same call still running at a second look, another thread takes the lead: it goes on
//! reading, answers pings, and serves what else there is. The thread that was relieved ends when its handler does.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Session;
use super::runtime::{Clock, lock, thread};
use crate::engine::CloseReason;
use crate::error::{Error, ErrorKind};
use crate::transport::lines::{Line, LineBuffer};

/// How often the clock looks at a busy leader.
const LOOK: Duration = Duration::from_millis(20);

/// Answers of a batch are written when they come to this much, even if more requests have been read.
const FLUSH_BYTES: usize = 64 * 1024;

/// Says how the input ended, for the error that pending calls get.
pub(crate) type EndDetail = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// The input of one session and who reads it.
pub(crate) struct Pump {
    session: Arc<Session>,
    input: Mutex<Input>,
    /// Who leads and what it does, in one word so that a relief and the end of a call cannot cross: see [`Lead`].
    lead: AtomicU64,
    looking: AtomicBool,
    end_detail: EndDetail,
}

struct Input {
    reader: Box<dyn Read + Send>,
    lines: LineBuffer,
    scratch: Box<[u8]>,
    ended: bool,
}

/// The turn of the leader in the upper half; in the lower a count that is odd while the leader serves a message.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Lead(u64);

impl Lead {
    fn of_turn(turn: u32) -> Lead {
        Lead(u64::from(turn) << 32)
    }

    fn turn(self) -> u32 {
        u32::try_from(self.0 >> 32).expect("the upper half of 64 bits")
    }

    fn is_busy(self) -> bool {
        self.0 % 2 == 1
    }

    /// The same turn, one step on.
    fn step(self) -> Lead {
        const COUNT: u64 = u32::MAX as u64;
        Lead((self.0 & !COUNT) | (self.0.wrapping_add(1) & COUNT))
    }
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
        Arc::new(Pump {
            session,
            input: Mutex::new(input),
            lead: AtomicU64::new(0),
            looking: AtomicBool::new(false),
            end_detail,
        })
    }

    /// Leads on a thread of its own.
    pub(crate) fn spawn(self: &Arc<Self>) -> io::Result<()> {
        let pump = Arc::clone(self);
        thread("mcp-read", move || pump.run(0))
    }

    /// Leads until the input ends or another thread takes over.
    pub(crate) fn run(self: &Arc<Self>, turn: u32) {
        let mut lead = Lead::of_turn(turn);
        loop {
            match self.next() {
                Next::Line(line) => {
                    let relieved = !self.serving(&mut lead, || self.take(&line));
                    if relieved {
                        break;
                    }
                }
                Next::Exhausted => {
                    // Calls that waited for room are served here too.
                    let relieved = !self.serving(&mut lead, || self.session.kick_inline());
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

    /// Does `work` as the leader; false if this thread is not the leader any more afterwards.
    fn serving(self: &Arc<Self>, lead: &mut Lead, work: impl FnOnce()) -> bool {
        if !self.advance(lead) {
            return false;
        }
        if !self.looking.load(Ordering::Relaxed) {
            self.begin_looking();
        }
        work();
        self.advance(lead)
    }

    fn advance(&self, lead: &mut Lead) -> bool {
        let next = lead.step();
        let advanced = self.lead.compare_exchange(lead.0, next.0, Ordering::AcqRel, Ordering::Acquire).is_ok();
        *lead = next;
        advanced
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
        let input = &mut *input;
        loop {
            match input.reader.read(&mut input.scratch) {
                Ok(0) => {
                    input.ended = true;
                    return Ok(());
                }
                Ok(read) => {
                    input.lines.push(&input.scratch[..read]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&self, line: &Line) {
        match line {
            Line::Whole(frame) => self.session.receive(frame, true),
            Line::TooLong { beginning } => self.session.receive_oversized(beginning),
        }
        if self.session.unsent_bytes() > FLUSH_BYTES {
            self.session.kick_inline();
        }
    }

    fn lead(&self) -> Lead {
        Lead(self.lead.load(Ordering::Acquire))
    }

    fn begin_looking(self: &Arc<Self>) {
        if !self.looking.swap(true, Ordering::AcqRel) {
            self.look_again(self.lead());
        }
    }

    fn look_again(self: &Arc<Self>, seen: Lead) {
        let pump = Arc::downgrade(self);
        Clock::at(Instant::now() + LOOK, move || {
            if let Some(pump) = pump.upgrade() {
                pump.look(seen);
            }
        });
    }

    /// `seen` is where the leader was at the look before.
    fn look(self: &Arc<Self>, seen: Lead) {
        let now = self.lead();
        if now == seen && now.is_busy() {
            self.relieve(now);
            self.look_again(self.lead());
        } else if now != seen {
            self.look_again(now);
        } else {
            // Idle since the last look: sleep until there is traffic again.
            self.looking.store(false, Ordering::Release);
        }
    }

    fn relieve(self: &Arc<Self>, stuck: Lead) {
        let turn = stuck.turn().wrapping_add(1);
        let relief = Lead::of_turn(turn);
        if self.lead.compare_exchange(stuck.0, relief.0, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // The call has just ended.
            return;
        }
        let pump = Arc::clone(self);
        if let Err(error) = thread("mcp-read", move || pump.run(turn)) {
            tracing::error!(%error, "no thread can be started to relieve a blocked handler");
        }
    }
}

fn read_error(error: &io::Error) -> Error {
    Error::new(ErrorKind::Transport, format!("reading from the peer failed: {error}"))
}
