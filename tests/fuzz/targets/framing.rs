//! Lines out of chunks, compared with a reference that sees the whole input at once.
//!
//! The first byte is the limit, the second the length of the chunks, of which every other one is a single byte.
#![no_main]

use libfuzzer_sys::fuzz_target;

// The buffer is an inner part of the crate; its source is all that is needed.
#[allow(dead_code, unused_imports)]
#[path = "../../../core/src/transport/lines.rs"]
mod lines;

use lines::{Line, LineBuffer};

const BEGINNING: usize = 4096;

fuzz_target!(|input: &[u8]| {
    let [limit, chunk, input @ ..] = input else { return };
    let (limit, chunk) = (usize::from(*limit) * 32, usize::from(*chunk) + 1);
    let mut buffer = LineBuffer::new(limit);
    let mut found = Vec::new();
    let (mut rest, mut single) = (input, false);
    while !rest.is_empty() {
        let length = if single { 1 } else { chunk.min(rest.len()) };
        single = !single;
        buffer.push(&rest[..length]);
        rest = &rest[length..];
        while let Some(line) = buffer.next_line() {
            found.push(line);
        }
    }
    found.extend(buffer.rest());
    assert_eq!(found, reference(input, limit));
});

fn reference(input: &[u8], limit: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, line) in input.split(|byte| *byte == b'\n').enumerate() {
        if line.len() > limit {
            lines.push(Line::TooLong { beginning: line[..line.len().min(BEGINNING)].to_vec() });
            continue;
        }
        let line = if number == 0 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.trim_ascii().is_empty() {
            lines.push(Line::Whole(line.to_vec().into()));
        }
    }
    lines
}
