//! Lines out of chunks: the framing of stdio (STDIO-02, STDIO-08…STDIO-12).

use bytes::Bytes;

/// A UTF-8 byte-order mark, tolerated at the very beginning (STDIO-08).
const MARK: &[u8] = b"\xef\xbb\xbf";

/// How much of a line that is too long is kept, to see whose it was.
const BEGINNING: usize = 4096;

/// One line of input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end; never blank.
    Whole(Bytes),
    /// A line longer than the limit, skipped up to its end.
    TooLong {
        /// What was kept of it.
        beginning: Vec<u8>,
    },
}

/// Cuts chunks, however they come, into lines. Work is linear in the bytes, memory bounded by the limit.
#[derive(Debug)]
pub(crate) struct LineBuffer {
    limit: usize,
    /// Whole lines, one after another, of the newest chunk.
    chunk: Bytes,
    /// A line whose end has not come.
    partial: Vec<u8>,
    /// Skipping a line that is too long.
    skipping: bool,
    at_start: bool,
}

impl LineBuffer {
    /// Accepts lines of up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> LineBuffer {
        LineBuffer { limit, chunk: Bytes::new(), partial: Vec::new(), skipping: false, at_start: true }
    }

    /// Takes the next chunk. All lines of the one before must have been taken.
    pub(crate) fn push(&mut self, chunk: &[u8]) {
        let head = if self.chunk.is_empty() { chunk } else { return self.push_behind(chunk) };
        // Nothing is left over from before: the whole chunk is cut in place.
        if self.partial.is_empty() && !self.skipping {
            self.chunk = Bytes::copy_from_slice(head);
            return;
        }
        match memchr::memchr(b'\n', head) {
            None => self.extend_partial(head),
            Some(end) => {
                self.extend_partial(&head[..end]);
                self.chunk = Bytes::copy_from_slice(&head[end..]);
            }
        }
    }

    fn push_behind(&mut self, chunk: &[u8]) {
        let mut joined = self.chunk.to_vec();
        joined.extend_from_slice(chunk);
        self.chunk = Bytes::from(joined);
    }

    fn extend_partial(&mut self, bytes: &[u8]) {
        if !self.skipping && self.partial.len() + bytes.len() > self.limit {
            self.skipping = true;
            self.partial.truncate(BEGINNING);
            self.partial.shrink_to_fit();
        }
        // Of a line that is too long only the beginning is kept, wherever the chunks were cut.
        let room = if self.skipping { BEGINNING - self.partial.len() } else { bytes.len() };
        self.partial.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    /// The next whole line, blank ones left out.
    pub(crate) fn next_line(&mut self) -> Option<Line> {
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.chunk) else {
                let rest = std::mem::take(&mut self.chunk);
                self.extend_partial(&rest);
                return None;
            };
            let line = self.chunk.split_to(end + 1).slice(..end);
            if let Some(line) = self.finish(line) {
                return Some(line);
            }
        }
    }

    /// What is left at the end of the input: a last line without its end (STDIO-10).
    pub(crate) fn rest(&mut self) -> Option<Line> {
        let rest = std::mem::take(&mut self.chunk);
        self.finish(rest)
    }

    /// A line is complete: what was kept of it, and its last piece.
    fn finish(&mut self, last: Bytes) -> Option<Line> {
        let line = if self.partial.is_empty() && !self.skipping && last.len() <= self.limit {
            last
        } else {
            self.extend_partial(&last);
            let beginning = std::mem::take(&mut self.partial);
            if std::mem::take(&mut self.skipping) {
                self.at_start = false;
                return Some(Line::TooLong { beginning });
            }
            Bytes::from(beginning)
        };
        let line = self.without_mark(line);
        let length = line.len() - usize::from(line.ends_with(b"\r"));
        let line = line.slice(..length);
        (!line.trim_ascii().is_empty()).then_some(Line::Whole(line))
    }

    fn without_mark(&mut self, line: Bytes) -> Bytes {
        if std::mem::take(&mut self.at_start) && line.starts_with(MARK) {
            return line.slice(MARK.len()..);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(limit: usize, chunks: &[&[u8]]) -> Vec<Line> {
        let mut buffer = LineBuffer::new(limit);
        let mut lines = Vec::new();
        for chunk in chunks {
            buffer.push(chunk);
            lines.extend(std::iter::from_fn(|| buffer.next_line()));
        }
        lines.extend(buffer.rest());
        lines
    }

    fn whole(text: &str) -> Line {
        Line::Whole(Bytes::copy_from_slice(text.as_bytes()))
    }

    // proves: STDIO-08, STDIO-09, FC-002
    #[test]
    fn stdio_09_marks_blank_lines_and_carriage_returns_are_tolerated() {
        let lines = lines_of(100, &[b"\xef\xbb\xbf{\"a\":1}\r\n\n\r\n  \n{}\n"]);
        assert_eq!(lines, [whole("{\"a\":1}"), whole("{}")]);
    }

    // proves: STDIO-10
    #[test]
    fn stdio_10_a_last_line_needs_no_end() {
        assert_eq!(lines_of(100, &[b"{}\n{\"b\"", b":2}"]), [whole("{}"), whole("{\"b\":2}")]);
    }

    // proves: STDIO-12, FC-008
    #[test]
    fn stdio_12_chunks_may_be_cut_anywhere() {
        let text = "{\"x\":\"héllo 😀\"}\n\r\n{\"y\":2}\r\n".as_bytes();
        let expected = [whole("{\"x\":\"héllo 😀\"}"), whole("{\"y\":2}")];
        for cut in 0..=text.len() {
            assert_eq!(lines_of(100, &[&text[..cut], &text[cut..]]), expected, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(lines_of(100, &bytes), expected);
    }

    // proves: JRPC-29, FC-006
    #[test]
    fn fc_006_a_line_beyond_the_limit_is_skipped_with_bounded_memory() {
        let mut buffer = LineBuffer::new(10_000);
        for _ in 0..1000 {
            buffer.push(&[b'a'; 4096]);
            assert_eq!(buffer.next_line(), None);
            assert!(buffer.partial.capacity() <= 16_384);
        }
        buffer.push(b"aaa\n{}\n");
        assert!(matches!(buffer.next_line(), Some(Line::TooLong { beginning }) if beginning.len() == BEGINNING));
        assert_eq!(buffer.next_line(), Some(whole("{}")));
        // A line that comes whole is bounded as well.
        assert!(matches!(&lines_of(3, &[b"12345\n{}\n"])[..], [Line::TooLong { .. }, Line::Whole(_)]));
        // What is kept does not depend on the chunks.
        let beginning = Line::TooLong { beginning: b"1234567".to_vec() };
        assert_eq!(lines_of(3, &[b"12", b"34", b"567\n"]), [beginning]);
    }
}
