//! A reader of newline-delimited messages with one growing buffer.

use std::io::{self, Read};

/// Lines of `R`; those already read are handed out without a copy.
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// First byte not yet handed out, first byte not yet searched for a newline, end of what was read.
    start: usize,
    searched: usize,
    end: usize,
}

impl<R: Read> Lines<R> {
    pub fn new(source: R) -> Self {
        Self { source, buffer: vec![0; 256 * 1024], start: 0, searched: 0, end: 0 }
    }

    /// A complete line that is already in the buffer, without its newline.
    pub fn buffered(&mut self) -> Option<&[u8]> {
        let Some(offset) = memchr::memchr(b'\n', &self.buffer[self.searched..self.end]) else {
            self.searched = self.end;
            return None;
        };
        let (start, end) = (self.start, self.searched + offset);
        self.start = end + 1;
        self.searched = self.start;
        Some(&self.buffer[start..end])
    }

    /// One read; the end of the stream is an error of kind `UnexpectedEof`.
    pub fn fill(&mut self) -> io::Result<()> {
        self.make_room();
        let n = self.source.read(&mut self.buffer[self.end..])?;
        self.end += n;
        if n == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.searched, self.end) = (0, 0, 0);
        } else if self.end == self.buffer.len() {
            if self.start > self.buffer.len() / 2 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.searched -= self.start;
                self.start = 0;
            } else {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
    }

    /// The next line, waiting for it.
    pub fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(line.to_vec());
            }
            self.fill()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in pieces of at most `step`.
    struct Pieces<'a> {
        rest: &'a [u8],
        step: usize,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.step.min(into.len()).min(self.rest.len());
            into[..n].copy_from_slice(&self.rest[..n]);
            self.rest = &self.rest[n..];
            Ok(n)
        }
    }

    #[test]
    fn lines_survive_any_cut_and_a_growing_buffer() {
        let long = "x".repeat(1_000_000);
        let text = format!("one\n\n{long}\nlast\n");
        for step in [1000, 7777, usize::MAX] {
            let mut lines = Lines::new(Pieces { rest: text.as_bytes(), step });
            for expected in ["one", "", &long, "last"] {
                assert_eq!(lines.line().expect("a line"), expected.as_bytes());
            }
            assert_eq!(lines.line().expect_err("the end").kind(), io::ErrorKind::UnexpectedEof);
        }
    }
}
