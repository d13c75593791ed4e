//! Event streams as the WHATWG HTML standard defines them (section "Server-sent events"), without I/O (SSE-16).

use std::sync::Arc;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The event's type; `message` if the stream did not name one.
    pub kind: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
    /// The last id the stream gave, if any. This transport has no use for it: there is no resumption (SSE-15).
    pub id: Option<Arc<str>>,
}

/// What a stream says besides events.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Signal {
    /// An event is complete.
    Event(Event),
    /// The server proposes this time before a reconnect, in milliseconds.
    Retry(u64),
    /// A comment; servers send them to keep idle streams open.
    Comment,
    /// An event whose data is longer than the limit was skipped; this is its beginning, at most 4 KiB.
    TooLong(String),
}

/// A UTF-8 byte-order mark, tolerated at the very beginning.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// How much of an event that is too long is kept, to see whose it was, in bytes.
const BEGINNING: usize = 4096;

/// The name of a field and its colon come on top of the data.
const FIELD: usize = 16;

/// A line buffer that grew for one large event is not kept for ever.
const KEEP_CAPACITY: usize = 64 * 1024;

/// Reads an event stream from chunks, cut anywhere. Memory is bounded by the limit, work linear in the bytes.
#[derive(Debug)]
pub struct EventStreamParser {
    limit: usize,
    /// A line whose end has not come.
    line: Vec<u8>,
    /// The line is longer than the limit; the rest of it is skipped.
    overlong_line: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    at_start: bool,
    event: Building,
    id: Option<Arc<str>>,
}

/// What the lines since the last event come to.
#[derive(Debug, Default)]
struct Building {
    kind: String,
    /// `None` until there is a `data` line.
    data: Option<String>,
    /// The data is longer than the limit; its beginning is kept.
    overlong: bool,
}

impl EventStreamParser {
    /// Accepts events whose data and lines have up to `limit` bytes.
    pub fn new(limit: usize) -> EventStreamParser {
        EventStreamParser {
            limit,
            line: Vec::new(),
            overlong_line: false,
            after_return: false,
            at_start: true,
            event: Building::default(),
            id: None,
        }
    }

    /// Takes the next chunk and hands what is complete to `signal`, in order.
    pub fn feed(&mut self, chunk: &[u8], mut signal: impl FnMut(Signal)) {
        if chunk.is_empty() {
            return;
        }
        let mut rest = chunk;
        if std::mem::take(&mut self.after_return) {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            self.extend_line(&rest[..end]);
            let ended_by_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if ended_by_return {
                match rest.first() {
                    Some(b'\n') => rest = &rest[1..],
                    Some(_) => {}
                    None => self.after_return = true,
                }
            }
            self.finish_line(&mut signal);
        }
        self.extend_line(rest);
    }

    fn extend_line(&mut self, bytes: &[u8]) {
        if !self.overlong_line && self.line.len() + bytes.len() <= self.limit.saturating_add(FIELD) {
            self.line.extend_from_slice(bytes);
        } else if !std::mem::replace(&mut self.overlong_line, true) {
            let keep = self.limit.min(BEGINNING) + FIELD;
            let more = bytes.len().min(keep.saturating_sub(self.line.len()));
            self.line.extend_from_slice(&bytes[..more]);
            self.line.truncate(keep);
            self.line.shrink_to_fit();
        }
    }

    fn finish_line(&mut self, signal: &mut impl FnMut(Signal)) {
        let line = std::mem::take(&mut self.line);
        let overlong = std::mem::take(&mut self.overlong_line);
        let mut text = &line[..];
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(MARK).unwrap_or(text);
        }
        if text.is_empty() {
            self.dispatch(signal);
        } else if text[0] == b':' {
            signal(Signal::Comment);
        } else {
            let text = String::from_utf8_lossy(text);
            let (field, value) = text.split_once(':').unwrap_or((&text, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            self.field(field, value, overlong, signal);
        }
        if line.capacity() <= KEEP_CAPACITY {
            self.line = line;
            self.line.clear();
        }
    }

    fn field(&mut self, field: &str, value: &str, overlong: bool, signal: &mut impl FnMut(Signal)) {
        match field {
            "data" => self.add_data(value, overlong),
            // Only data may be long: what else is cut off would mean something else.
            _ if overlong => {}
            "event" => value.clone_into(&mut self.event.kind),
            // An id with a NUL is no id.
            "id" if !value.contains('\0') => self.id = Some(value.into()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                if let Ok(time) = value.parse() {
                    signal(Signal::Retry(time));
                }
            }
            _ => {}
        }
    }

    fn add_data(&mut self, value: &str, overlong: bool) {
        let first = self.event.data.is_none();
        let data = self.event.data.get_or_insert_default();
        if self.event.overlong {
            return;
        }
        if !first {
            data.push('\n');
        }
        if overlong || data.len() + value.len() > self.limit {
            self.event.overlong = true;
            let room = BEGINNING.saturating_sub(data.len());
            data.push_str(beginning(value, room));
            data.truncate(beginning(data, BEGINNING).len());
            data.shrink_to_fit();
        } else {
            data.push_str(value);
        }
    }

    /// An empty line ends the event. One without data is none.
    fn dispatch(&mut self, signal: &mut impl FnMut(Signal)) {
        let Building { kind, data, overlong } = std::mem::take(&mut self.event);
        let Some(data) = data else { return };
        if overlong {
            signal(Signal::TooLong(data));
        } else {
            let kind = if kind.is_empty() { "message".to_owned() } else { kind };
            signal(Signal::Event(Event { kind, data, id: self.id.clone() }));
        }
    }
}

/// As much of the beginning of `text` as fits into so many bytes.
fn beginning(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

/// Appends an event to `out`. Line breaks in `data` start further `data` lines.
pub fn write_event(out: &mut Vec<u8>, kind: &str, data: &str) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(kind.as_bytes());
    if memchr::memchr2(b'\n', b'\r', data.as_bytes()).is_none() {
        out.extend_from_slice(b"\ndata: ");
        out.extend_from_slice(data.as_bytes());
    } else {
        for line in data.replace("\r\n", "\n").split(['\n', '\r']) {
            out.extend_from_slice(b"\ndata: ");
            out.extend_from_slice(line.as_bytes());
        }
    }
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests;
