//! Event streams as the WHATWG HTML standard defines them (section "Server-sent events"), without I/O (SSE-16).

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The event's type; `message` if the stream did not name one.
    pub kind: String,
    /// The `data` lines, joined by line feeds.
    pub data: String,
    /// The last id the stream gave, if any. This transport has no use for it: there is no resumption (SSE-15).
    pub id: Option<String>,
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
    /// An event whose data is longer than the limit was skipped.
    TooLong,
}

/// A UTF-8 byte-order mark, tolerated at the very beginning.
const MARK: &[u8] = b"\xef\xbb\xbf";

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
    kind: String,
    data: String,
    has_data: bool,
    overlong_event: bool,
    id: Option<String>,
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
            kind: String::new(),
            data: String::new(),
            has_data: false,
            overlong_event: false,
            id: None,
        }
    }

    /// Takes the next chunk and hands what is complete to `signal`, in order.
    pub fn feed(&mut self, chunk: &[u8], mut signal: impl FnMut(Signal)) {
        let mut rest = chunk;
        if std::mem::take(&mut self.after_return) && !rest.is_empty() {
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
        // The name of a field and its colon come on top of the data.
        const FIELD: usize = 16;
        if self.overlong_line || self.line.len() + bytes.len() > self.limit.saturating_add(FIELD) {
            let room = FIELD.saturating_sub(self.line.len()).min(bytes.len());
            if !self.overlong_line {
                self.line.extend_from_slice(&bytes[..room]);
                self.line.truncate(FIELD);
                self.line.shrink_to_fit();
            }
            self.overlong_line = true;
            return;
        }
        self.line.extend_from_slice(bytes);
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
        // The buffer is used again unless it grew for one large event.
        if line.capacity() <= 64 * 1024 {
            self.line = line;
            self.line.clear();
        }
    }

    fn field(&mut self, field: &str, value: &str, overlong: bool, signal: &mut impl FnMut(Signal)) {
        match field {
            "data" => self.add_data(value, overlong),
            "event" => value.clone_into(&mut self.kind),
            // An id with a NUL is no id.
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                if let Ok(time) = value.parse() {
                    signal(Signal::Retry(time));
                }
            }
            _ => {}
        }
    }

    fn add_data(&mut self, value: &str, overlong: bool) {
        if overlong || self.data.len() + value.len() >= self.limit.saturating_add(1) {
            self.overlong_event = true;
            self.data = String::new();
        }
        if self.has_data && !self.overlong_event {
            self.data.push('\n');
        }
        self.has_data = true;
        if !self.overlong_event {
            self.data.push_str(value);
        }
    }

    /// An empty line ends the event. One without data is none.
    fn dispatch(&mut self, signal: &mut impl FnMut(Signal)) {
        let kind = std::mem::take(&mut self.kind);
        let data = std::mem::take(&mut self.data);
        let has_data = std::mem::take(&mut self.has_data);
        if std::mem::take(&mut self.overlong_event) {
            signal(Signal::TooLong);
        } else if has_data {
            let kind = if kind.is_empty() { "message".to_owned() } else { kind };
            signal(Signal::Event(Event { kind, data, id: self.id.clone() }));
        }
    }
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
