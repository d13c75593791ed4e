//! A raw tap: every message as it came in, before it is parsed, and as it goes out, after it is serialised.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::session::hexadecimal;
use crate::session::runtime::lock;

/// Which way a message went, seen from this side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TapDirection {
    /// Received.
    In,
    /// Sent.
    Out,
}

impl TapDirection {
    /// `in` or `out`.
    pub fn as_str(self) -> &'static str {
        match self {
            TapDirection::In => "in",
            TapDirection::Out => "out",
        }
    }
}

/// One message at the tap.
#[derive(Debug)]
#[non_exhaustive]
pub struct TapRecord<'a> {
    /// Which way it went.
    pub direction: TapDirection,
    /// When it passed.
    pub at: SystemTime,
    /// The session it belongs to.
    pub session: &'a str,
    /// Its bytes without a line end; received ones may be anything.
    pub frame: Cow<'a, [u8]>,
}

type Hook = dyn Fn(&TapRecord<'_>) + Send + Sync;
type Redaction = dyn Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync;

/// Sees every message of the sessions it is given to. Called on the thread that moves the message, so it must not block.
///
/// Frames hold all that the two sides say to each other. Use [`redact`](Tap::redact) before they are stored.
#[derive(Clone)]
pub struct Tap {
    hook: Arc<Hook>,
    redaction: Option<Arc<Redaction>>,
}

impl Tap {
    /// Calls `hook` with every message.
    pub fn new(hook: impl Fn(&TapRecord<'_>) + Send + Sync + 'static) -> Tap {
        Tap { hook: Arc::new(hook), redaction: None }
    }

    /// Writes every message to `lines`.
    pub fn json_lines<W: Write + Send + 'static>(lines: JsonLines<W>) -> Tap {
        Tap::new(move |record| lines.write(record))
    }

    /// Passes every frame through `redact` first: `Some` replaces the bytes that the hook sees, `None` leaves them.
    #[must_use]
    pub fn redact(mut self, redact: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + Sync + 'static) -> Tap {
        self.redaction = Some(Arc::new(redact));
        self
    }

    /// A panic of the hook must not take the session along.
    pub(crate) fn record(&self, direction: TapDirection, session: &str, frame: &[u8]) {
        let call = || {
            let redacted = self.redaction.as_ref().and_then(|redact| redact(frame));
            let frame = redacted.map_or(Cow::Borrowed(frame), Cow::Owned);
            (self.hook)(&TapRecord { direction, at: SystemTime::now(), session, frame });
        };
        if std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err() {
            tracing::error!(session, "the tap panicked");
        }
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap").finish_non_exhaustive()
    }
}

/// Writes records as JSON lines: `{"dir":"in","t":1733011200000000,"session":"…","frame":"…"}`, `t` in microseconds since
/// 1970. Bytes that are not UTF-8 are written as `frame_hex`.
pub struct JsonLines<W> {
    writer: Mutex<W>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `writer`, one line a message, flushed each time.
    pub fn new(writer: W) -> JsonLines<W> {
        JsonLines { writer: Mutex::new(writer) }
    }

    /// Writes one record. A recording that cannot be written is no reason to disturb the session: it is logged.
    pub fn write(&self, record: &TapRecord<'_>) {
        #[derive(serde::Serialize)]
        struct Line<'a> {
            dir: &'static str,
            t: u128,
            session: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            frame: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            frame_hex: Option<String>,
        }
        let frame = std::str::from_utf8(&record.frame).ok();
        let line = Line {
            dir: record.direction.as_str(),
            t: record.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros()),
            session: record.session,
            frame,
            frame_hex: frame.is_none().then(|| hexadecimal(&record.frame)),
        };
        let mut text = serde_json::to_vec(&line).expect("strings and numbers are JSON");
        text.push(b'\n');
        let mut writer = lock(&self.writer);
        if let Err(error) = writer.write_all(&text).and_then(|()| writer.flush()) {
            tracing::warn!(%error, "the recording cannot be written");
        }
    }
}

impl<W> fmt::Debug for JsonLines<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonLines").finish_non_exhaustive()
    }
}
