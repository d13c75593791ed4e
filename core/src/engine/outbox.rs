//! Messages that wait to be transmitted, serialised once into one buffer.

use std::collections::VecDeque;

use super::RequestKey;
use crate::error::Error;
use crate::protocol::{Json, RequestId, Revision};

/// What a transmitted message belongs to. Transports with one stream ignore it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Transmit {
    /// The request of the peer during which this message arose, its response included.
    pub related: Option<RequestId>,
    /// The own request that this message is, if it is one.
    pub request: Option<RequestKey>,
    /// What to tell [`Engine::transmitted`](super::Engine::transmitted) once the peer took it.
    pub bytes: usize,
}

/// Every message ends with a line feed: white space to JSON, the frame's end to stdio.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    buffer: Vec<u8>,
    /// The length of each message in `buffer`, and what it belongs to.
    messages: VecDeque<Queued>,
    /// How much of `buffer` was handed out one by one.
    start: usize,
    /// Bytes handed out that the peer has not taken.
    in_flight: usize,
}

/// One message in the buffer.
#[derive(Debug)]
struct Queued {
    length: usize,
    related: Option<RequestId>,
    request: Option<RequestKey>,
}

/// A buffer that grew for one large message is not kept for ever.
const KEEP_CAPACITY: usize = 256 * 1024;

/// The same where messages are taken one by one: there may be thousands of such sessions, most of them idle.
const KEEP_CAPACITY_SINGLE: usize = 4 * 1024;

impl Outbox {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn unsent(&self) -> usize {
        self.buffer.len() - self.start + self.in_flight
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    pub(super) fn clear(&mut self) {
        self.buffer = Vec::new();
        self.messages.clear();
        self.start = 0;
    }

    pub(super) fn transmitted(&mut self, bytes: usize) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
    }

    pub(super) fn next(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let Queued { length: bytes, related, request } = self.messages.pop_front()?;
        self.in_flight += bytes;
        let end = self.start + bytes;
        buf.extend_from_slice(&self.buffer[self.start..end - 1]);
        self.start = end;
        if self.messages.is_empty() {
            self.reset(KEEP_CAPACITY_SINGLE);
        } else if self.start > KEEP_CAPACITY && self.start > self.buffer.len() / 2 {
            // While there is always one more, what was handed out must not pile up in front of it.
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        Some(Transmit { related, request, bytes })
    }

    /// All is handed out.
    fn reset(&mut self, keep: usize) {
        self.buffer.clear();
        self.start = 0;
        if self.buffer.capacity() > keep {
            self.buffer = Vec::new();
        }
    }

    pub(super) fn all(&mut self, buf: &mut Vec<u8>) -> usize {
        let messages = self.messages.len();
        if messages == 0 {
            return 0;
        }
        self.messages.clear();
        self.in_flight += self.buffer.len() - self.start;
        if buf.is_empty() && self.start == 0 {
            std::mem::swap(buf, &mut self.buffer);
        } else {
            buf.extend_from_slice(&self.buffer[self.start..]);
        }
        self.reset(KEEP_CAPACITY);
        messages
    }

    /// Writes one message with `body` and remembers what it belongs to. Returns its length.
    fn message(&mut self, related: Option<RequestId>, body: impl FnOnce(&mut Vec<u8>)) -> usize {
        let start = self.buffer.len();
        body(&mut self.buffer);
        self.buffer.push(b'\n');
        let length = self.buffer.len() - start;
        self.messages.push_back(Queued { length, related, request: None });
        length
    }

    /// Takes the message written last back out again.
    fn undo(&mut self, length: usize) {
        self.messages.pop_back();
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

    /// An error's `data` is left out where it makes the message longer than `limit`.
    pub(super) fn error(&mut self, id: Option<&RequestId>, error: &Error, revision: Revision, limit: usize) {
        let length = self.write_error(id, error, error.data(), revision);
        if error.data().is_some() && self.within(length, limit).is_err() {
            self.write_error(id, error, None, revision);
        }
    }

    fn write_error(&mut self, id: Option<&RequestId>, error: &Error, data: Option<&Json>, revision: Revision) -> usize {
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
            if let Some(data) = data {
                out.extend_from_slice(b",\"data\":");
                out.extend_from_slice(data.get().as_bytes());
            }
            out.extend_from_slice(b"}}");
        })
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
        if let Some(queued) = self.messages.back_mut() {
            queued.request = Some(RequestKey(id));
        }
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
