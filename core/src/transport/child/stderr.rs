//! What becomes of the standard error of a child: always drained, never interpreted (STDIO-05, STDIO-06).

use std::collections::VecDeque;
use std::fmt;
use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::exit_aware::ExitAware;

/// The longest piece of a line handed to a callback, in bytes.
const LINE_LIMIT: usize = 64 * 1024;
/// How long [`StderrLog::text`] waits, after the exit of the child, for its last words.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// Where the standard error of a child goes. Its end is kept for error texts in every mode, see
/// [`ChildCommand::stderr_tail_bytes`](super::ChildCommand::stderr_tail_bytes).
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum StderrMode {
    /// To the standard error of this process.
    ///
    /// It passes through a thread of ours, which keeps the tail, so the child does not see a terminal. With a tail of 0
    /// bytes the child gets our standard error itself.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// To this function, line by line without line ends, on a thread of its own. Bytes that are no UTF-8 are replaced;
    /// lines over 64 KiB come in pieces. While it blocks, the child may come to wait for it.
    Lines(Arc<dyn Fn(&str) + Send + Sync>),
}

impl fmt::Debug for StderrMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inherit => "Inherit",
            Self::Null => "Null",
            Self::Lines(_) => "Lines(..)",
        })
    }
}

/// The last bytes of a child's standard error.
pub(super) struct StderrLog {
    limit: usize,
    state: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Default)]
struct LogState {
    tail: VecDeque<u8>,
    cut: bool,
    /// Everything that the child wrote before it exited is in.
    complete: bool,
}

/// Without the text, which is the child's affair.
impl fmt::Debug for StderrLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StderrLog").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl StderrLog {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, bytes: &[u8]) {
        let mut state = self.state();
        let bytes = if bytes.len() > self.limit {
            state.cut = true;
            &bytes[bytes.len() - self.limit..]
        } else {
            bytes
        };
        let over = (state.tail.len() + bytes.len()).saturating_sub(self.limit);
        if over > 0 {
            state.cut = true;
            state.tail.drain(..over);
        }
        state.tail.extend(bytes);
    }

    pub(super) fn complete(&self) {
        self.state().complete = true;
        self.changed.notify_all();
    }

    /// The tail as text. `exited`: the child has ended, so that its last words are worth a short wait.
    pub(super) fn text(&self, exited: bool) -> String {
        let mut state = self.state();
        if exited {
            (state, _) = self
                .changed
                .wait_timeout_while(state, LAST_WORDS, |state| !state.complete)
                .unwrap_or_else(PoisonError::into_inner);
        }
        let cut = state.cut;
        let bytes = state.tail.make_contiguous();
        // A cut may have hit the middle of a character.
        let torn = if cut { bytes.iter().take(3).take_while(|byte| is_continuation(**byte)).count() } else { 0 };
        String::from_utf8_lossy(&bytes[torn..]).trim_end().to_owned()
    }
}

/// Who gets the bytes besides the tail.
pub(super) enum Sink {
    Discard,
    Copy(Box<dyn Write + Send>),
    Lines(Lines),
}

impl Sink {
    fn push(&mut self, bytes: &[u8]) {
        let intact = match self {
            Self::Discard => true,
            // A full or closed standard error of ours must not stop the draining; what it does not take is lost.
            Self::Copy(to) => {
                let _ = to.write_all(bytes);
                true
            }
            Self::Lines(lines) => lines.push(bytes),
        };
        if !intact {
            *self = Self::Discard;
        }
    }

    fn finish(&mut self) {
        if let Self::Lines(lines) = self {
            lines.finish();
        }
    }
}

/// Cuts bytes into lines for a callback.
pub(super) struct Lines {
    callback: Arc<dyn Fn(&str) + Send + Sync>,
    partial: Vec<u8>,
}

impl Lines {
    pub(super) fn new(callback: Arc<dyn Fn(&str) + Send + Sync>) -> Self {
        Self { callback, partial: Vec::new() }
    }

    /// `false` if the callback panicked, and is not to be called again.
    fn push(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let room = LINE_LIMIT - self.partial.len();
            let window = &bytes[..bytes.len().min(room)];
            if let Some(end) = window.iter().position(|byte| *byte == b'\n') {
                self.partial.extend_from_slice(&bytes[..end]);
                bytes = &bytes[end + 1..];
                let line = std::mem::take(&mut self.partial);
                if !self.emit(line.strip_suffix(b"\r").unwrap_or(&line)) {
                    return false;
                }
            } else {
                self.partial.extend_from_slice(window);
                bytes = &bytes[window.len()..];
                if self.partial.len() == LINE_LIMIT {
                    let rest = self.partial.split_off(whole_characters(&self.partial));
                    let piece = std::mem::replace(&mut self.partial, rest);
                    if !self.emit(&piece) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn finish(&mut self) {
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            self.emit(&line);
        }
    }

    fn emit(&self, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        let intact = catch_unwind(AssertUnwindSafe(|| (self.callback)(&line))).is_ok();
        if !intact {
            tracing::error!("the callback for a child's stderr lines panicked and is not called again");
        }
        intact
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How many bytes to take so that no UTF-8 character at the end is torn.
fn whole_characters(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(4).position(|byte| !is_continuation(*byte));
    let Some(after) = last else {
        return bytes.len();
    };
    let first = bytes.len() - 1 - after;
    let length = match bytes[first] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    if first + length > bytes.len() { first } else { bytes.len() }
}

/// Reads until nobody holds the pipe, or until `linger` after the exit of the child.
pub(super) fn drain<R>(mut source: ExitAware<R>, linger: Duration, log: &StderrLog, mut sink: Sink)
where
    ExitAware<R>: Read,
{
    // First without lingering: the first end means that the child has exited and what it wrote is in. Then for those
    // that outlive it; a pipe that really ended says so again at once.
    for _ in 0..2 {
        pump(&mut source, log, &mut sink);
        log.complete();
        source.set_linger(linger);
    }
    sink.finish();
}

fn pump(source: &mut impl Read, log: &StderrLog, sink: &mut Sink) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => {
                log.push(&buffer[..n]);
                sink.push(&buffer[..n]);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                tracing::warn!(%error, "cannot read a child's stderr any more");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(chunks: &[&[u8]]) -> Vec<String> {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let copy = Arc::clone(&seen);
        let mut lines = Lines::new(Arc::new(move |line| {
            copy.lock().expect("not poisoned").push(line.to_owned());
        }));
        for chunk in chunks {
            assert!(lines.push(chunk));
        }
        lines.finish();
        let seen = seen.lock().expect("not poisoned");
        seen.clone()
    }

    // proves: STDIO-06
    #[test]
    fn lines_are_cut_wherever_the_reads_split() {
        assert_eq!(lines_of(&[b"a\r\nb", b"c\n\nh\xc3", b"\xa9\nlast"]), ["a", "bc", "", "hé", "last"]);
        assert_eq!(lines_of(&[b"\xff\n"]), ["\u{fffd}"]);
    }

    // proves: STDIO-06
    #[test]
    fn a_line_without_end_comes_in_bounded_pieces_of_whole_characters() {
        let text = format!("x{}", "é".repeat(LINE_LIMIT));
        let pieces = lines_of(&[text.as_bytes()]);
        assert!(pieces.len() > 2);
        assert!(pieces.iter().all(|piece| piece.len() <= LINE_LIMIT));
        assert_eq!(pieces.concat(), text);
        let junk = vec![0xff; LINE_LIMIT * 2];
        assert_eq!(lines_of(&[&junk]).len(), 2);
    }

    #[test]
    fn a_line_of_exactly_the_limit_is_followed_by_an_empty_rest() {
        let mut text = vec![b'a'; LINE_LIMIT];
        text.extend_from_slice(b"\nb\n");
        assert_eq!(lines_of(&[&text])[1..], ["", "b"]);
    }

    // proves: FC-013
    #[test]
    fn the_tail_is_bounded_and_starts_at_a_whole_character() {
        let log = StderrLog::new(5);
        log.push(b"hello ");
        log.push("aé日".as_bytes());
        assert_eq!(log.text(false), "é日");
        log.push(b"0123456789\n");
        assert_eq!(log.text(false), "6789");
        let none = StderrLog::new(0);
        none.push(b"x");
        assert_eq!(none.text(false), "");
    }

    // proves: STDIO-06
    #[test]
    fn a_panicking_callback_is_not_called_again() {
        let mut sink = Sink::Lines(Lines::new(Arc::new(|_| panic!("on purpose"))));
        sink.push(b"one\ntwo\n");
        assert!(matches!(sink, Sink::Discard));
    }
}
