//! Messages that wait to be transmitted, serialised once into one buffer.

use std::collections::VecDeque;

use crate::error::Error;
use crate::protocol::{RequestId, Revision};

/// What a transmitted message belongs to. Transports with one stream ignore it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Transmit {
    /// The request of the peer during which this message arose, its response included.
    pub related: Option<RequestId>,
    /// What to tell [`Engine::transmitted`](super::Engine::transmitted) once the peer took it.
    pub bytes: usize,
}

/// Every message ends with a line feed: white space to JSON, the frame's end to stdio.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    buffer: Vec<u8>,
    /// Where each message ends in `buffer`, and what it belongs to.
    ends: VecDeque<(usize, Option<RequestId>)>,
    /// How much of `buffer` was handed out one by one.
    start: usize,
    /// Bytes handed out that the peer has not taken.
    in_flight: usize,
}

/// A buffer that grew for one large message is not kept for ever.
const KEEP_CAPACITY: usize = 256 * 1024;

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub(super) fn unsent(&self) -> usize {
        self.buffer.len() - self.start + self.in_flight
    }

    pub(super) fn clear(&mut self) {
        self.buffer = Vec::new();
        self.ends.clear();
        self.start = 0;
    }

    pub(super) fn transmitted(&mut self, bytes: usize) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
    }

    pub(super) fn next(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (end, related) = self.ends.pop_front()?;
        let message = &self.buffer[self.start..end];
        let bytes = message.len();
        self.in_flight += bytes;
        buf.extend_from_slice(&message[..bytes - 1]);
        self.start = end;
        if self.ends.is_empty() {
            self.buffer.clear();
            self.start = 0;
            if self.buffer.capacity() > KEEP_CAPACITY {
                self.buffer = Vec::new();
            }
        }
        Some(Transmit { related, bytes })
    }

    pub(super) fn all(&mut self, buf: &mut Vec<u8>) -> usize {
        let messages = self.ends.len();
        if messages == 0 {
            return 0;
        }
        self.ends.clear();
        self.in_flight += self.buffer.len() - self.start;
        if buf.is_empty() && self.start == 0 {
            std::mem::swap(buf, &mut self.buffer);
        } else {
            buf.extend_from_slice(&self.buffer[self.start..]);
        }
        self.buffer.clear();
        self.start = 0;
        if self.buffer.capacity() > KEEP_CAPACITY {
            self.buffer = Vec::new();
        }
        messages
    }

    /// Writes one message with `body` and remembers what it belongs to. Returns its length.
    fn message(&mut self, related: Option<RequestId>, body: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.buffer.len();
        body(&mut self.buffer);
        self.buffer.push(b'\n');
        self.ends.push_back((self.buffer.len(), related));
        self.buffer.len() - start
    }

    /// Takes the message written last back out again.
    fn undo(&mut self, length: usize) {
        self.ends.pop_back();
        self.buffer.truncate(self.buffer.len() - length);
    }

    pub(super) fn result(&mut self, id: &RequestId, result: &str, limit: usize) -> Result<(), usize> {
        let length = self.message(Some(id.clone()), |out| {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            id.write_json(out);
            out.extend_from_slice(b",\"result\":");
            out.extend_from_slice(result.as_bytes());
            out.push(b'}');
        });
        self.within(length, limit)
    }

    pub(super) fn error(&mut self, id: Option<&RequestId>, error: &Error, revision: Revision) {
        self.message(id.cloned(), |out| {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            match id {
                Some(id) => id.write_json(out),
                None => out.extend_from_slice(b"null"),
            }
            out.extend_from_slice(b",\"error\":{\"code\":");
            crate::protocol::write_integer(out, error.wire_code(revision).into());
            out.extend_from_slice(b",\"message\":");
            write_string(out, &error.wire_message());
            if let Some(data) = error.data() {
                out.extend_from_slice(b",\"data\":");
                out.extend_from_slice(data.get().as_bytes());
            }
            out.extend_from_slice(b"}}");
        });
    }

    pub(super) fn request(
        &mut self,
        id: u64,
        method: &str,
        params: Option<&str>,
        related: Option<RequestId>,
        limit: usize,
    ) -> Result<(), usize> {
        let length = self.message(related, |out| {
            out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
            crate::protocol::write_integer(out, id.into());
            write_method(out, b",\"method\":", method, params);
        });
        self.within(length, limit)
    }

    pub(super) fn notification(
        &mut self,
        method: &str,
        params: Option<&str>,
        related: Option<RequestId>,
        limit: usize,
    ) -> Result<(), usize> {
        let length = self.message(related, |out| {
            write_method(out, b"{\"jsonrpc\":\"2.0\",\"method\":", method, params);
        });
        self.within(length, limit)
    }

    fn within(&mut self, length: usize, limit: usize) -> Result<(), usize> {
        if length - 1 > limit {
            self.undo(length);
            return Err(length - 1);
        }
        Ok(())
    }
}

fn write_method(out: &mut Vec<u8>, lead: &[u8], method: &str, params: Option<&str>) {
    out.extend_from_slice(lead);
    write_string(out, method);
    if let Some(params) = params {
        out.extend_from_slice(b",\"params\":");
        out.extend_from_slice(params.as_bytes());
    }
    out.push(b'}');
}

fn write_string(out: &mut Vec<u8>, string: &str) {
    serde_json::to_writer(&mut *out, string).expect("writing a string to memory cannot fail");
}
