use super::*;

fn event(kind: &str, data: &str) -> Signal {
    with_id(kind, data, None)
}

fn with_id(kind: &str, data: &str, id: Option<&str>) -> Signal {
    Signal::Event(Event { kind: kind.to_owned(), data: data.to_owned(), id: id.map(Into::into) })
}

fn message(data: &str) -> Signal {
    event("message", data)
}

/// What comes of a stream whose chunks are these.
fn parsed<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Signal> {
    let mut parser = EventStreamParser::new(limit);
    let mut signals = Vec::new();
    for chunk in chunks {
        parser.feed(chunk, |signal| signals.push(signal));
        assert!(held(&parser) <= 2 * limit.max(64) + BEGINNING + 4 * FIELD, "{parser:?}");
    }
    signals
}

/// Bytes of buffers.
fn held(parser: &EventStreamParser) -> usize {
    parser.line.len() + parser.event.data.as_ref().map_or(0, String::len) + parser.event.kind.len()
}

/// The stream whole, byte by byte, and cut in two at every position, with an empty chunk in between.
fn check(limit: usize, stream: &[u8], expected: &[Signal]) {
    let shown = String::from_utf8_lossy(stream);
    assert_eq!(parsed(limit, [stream]), expected, "whole: {shown:?}");
    assert_eq!(parsed(limit, stream.chunks(1)), expected, "byte by byte: {shown:?}");
    for at in 0..=stream.len() {
        let (left, right) = stream.split_at(at);
        assert_eq!(parsed(limit, [left, b"", right]), expected, "cut at {at}: {shown:?}");
    }
}

// proves: SSE-16, FC-028, FC-029, FC-030
#[test]
fn streams_mean_what_the_standard_says_however_they_are_cut() {
    let table: &[(&str, &[Signal])] = &[
        ("", &[]),
        ("data: a\n\n", &[message("a")]),
        ("data:a\n\n", &[message("a")]),
        ("data:  a \n\n", &[message(" a ")]),
        ("data: {\"a\": \"b:c\"}\n\n", &[message("{\"a\": \"b:c\"}")]),
        ("event: endpoint\ndata: /x?y=z\n\n", &[event("endpoint", "/x?y=z")]),
        ("data: a\nevent: late\n\n", &[event("late", "a")]),
        ("event: one\nevent: two\ndata: a\n\n", &[event("two", "a")]),
        // The type holds for one event only.
        ("event: x\ndata: a\n\ndata: b\n\n", &[event("x", "a"), message("b")]),
        ("event: x\n\ndata: b\n\n", &[message("b")]),
        ("event:\ndata: a\n\n", &[message("a")]),
        // Line ends.
        ("data: a\r\n\r\n", &[message("a")]),
        ("data: a\r\rdata: b\r\r", &[message("a"), message("b")]),
        ("data: a\r\ndata: b\rdata: c\n\r\n", &[message("a\nb\nc")]),
        ("data: a\n\r\ndata: b\r\n\ndata: c\r\n\r", &[message("a"), message("b"), message("c")]),
        ("data: a\r\n\n\r\r\n", &[message("a")]),
        // Several and empty data lines; the standard's own examples.
        ("data: YHOO\ndata: +2\ndata: 10\n\n", &[message("YHOO\n+2\n10")]),
        ("data\n\ndata\ndata\n\ndata:", &[message(""), message("\n")]),
        ("data:test\n\ndata: test\n\n", &[message("test"), message("test")]),
        ("data:\ndata: a\ndata\n\n", &[message("\na\n")]),
        // Comments, unknown fields, fields without a colon, no data.
        (": hello\n\n", &[Signal::Comment]),
        (":\n:\n\n:data: x\n", &[Signal::Comment, Signal::Comment, Signal::Comment]),
        ("data: a\n: between\ndata: b\n\n", &[Signal::Comment, message("a\nb")]),
        ("nonsense\nfoo: bar\n data: x\nDATA: x\nData: y\n\ndata: a\n\n", &[message("a")]),
        ("\n\n\n", &[]),
        // Ids stay until another one comes; one with a NUL is none; an empty one is one.
        ("id: 1\ndata: a\n\ndata: b\n\n", &[with_id("message", "a", Some("1")), with_id("message", "b", Some("1"))]),
        ("id: 1\n\nid: 2\0\ndata: b\n\n", &[with_id("message", "b", Some("1"))]),
        ("id: 1\nid\ndata: b\n\n", &[with_id("message", "b", Some(""))]),
        // Times to wait have digits only.
        ("retry: 1500\n\n", &[Signal::Retry(1500)]),
        ("retry: 1.5\nretry: -1\nretry:\nretry: 1s\nretry: 99999999999999999999\n", &[]),
        // A byte-order mark is passed over at the beginning only.
        ("\u{feff}data: a\n\n", &[message("a")]),
        ("\u{feff}\ndata: a\n\n", &[message("a")]),
        ("\u{feff}\u{feff}data: a\n\n", &[]),
        ("data: a\n\n\u{feff}data: b\n\n", &[message("a")]),
        // What has no end is no event.
        ("data: a\n", &[]),
        ("data: a\n\ndata: b", &[message("a")]),
        ("data: ä€😀\n\n", &[message("ä€😀")]),
    ];
    for (stream, expected) in table {
        check(1024, stream.as_bytes(), expected);
    }
    check(1024, b"data: \xff\xc3\n\n", &[message("\u{fffd}\u{fffd}")]);
}

// proves: SSE-16, FC-031
#[test]
fn events_beyond_the_limit_are_skipped_and_their_beginning_is_told() {
    let limit = 32;
    let fits = "x".repeat(limit);
    check(limit, format!("data: {fits}\n\n").as_bytes(), &[message(&fits)]);
    for stream in [format!("data: {fits}y\n\n"), format!("data: {fits}{fits}{fits}\r\n\r\n")] {
        let skipped = parsed(limit, [stream.as_bytes()]);
        let [Signal::TooLong(beginning)] = &skipped[..] else { panic!("{skipped:?}") };
        assert!(beginning.starts_with(&fits), "{beginning}");
        check(limit, stream.as_bytes(), &skipped);
    }
    // The line feeds between lines count.
    let half = "x".repeat(limit / 2);
    let lines = format!("data: {half}\ndata: {half}\n\ndata: ok\n\n");
    check(limit, lines.as_bytes(), &[Signal::TooLong(format!("{half}\n{half}")), message("ok")]);
    // More lines of an event that is too long already.
    let lines = format!("event: x\ndata: {fits}{fits}\ndata: more\n\ndata: ok\n\n");
    let signals = parsed(limit, [lines.as_bytes()]);
    assert!(matches!(&signals[..], [Signal::TooLong(_), ok] if *ok == message("ok")), "{signals:?}");
    // A comment, a name or an id may be as long as it likes; what is cut off counts for nothing.
    let long = "y".repeat(1000);
    check(
        limit,
        format!(":{long}\nevent: {long}\nid: {long}\n{long}: z\ndata: ok\n\n").as_bytes(),
        &[Signal::Comment, message("ok")],
    );
}

// proves: SSE-16
#[test]
fn a_line_without_end_takes_no_more_memory_than_the_limit() {
    let limit = 64 * 1024;
    let mut parser = EventStreamParser::new(limit);
    let chunk = [b'x'; 4096];
    parser.feed(b"data: ", |_| panic!("no event yet"));
    for _ in 0..4096 {
        parser.feed(&chunk, |_| panic!("no event yet"));
        assert!(parser.line.capacity() <= 2 * (limit + FIELD));
    }
    let mut signals = Vec::new();
    parser.feed(b"\n\ndata: ok\n\n", |signal| signals.push(signal));
    let [Signal::TooLong(beginning), ok] = &signals[..] else { panic!("{} signals", signals.len()) };
    assert_eq!((beginning.len(), ok), (BEGINNING, &message("ok")));
    // Empty data lines without end are bounded as well.
    let mut parser = EventStreamParser::new(1024);
    for _ in 0..100_000 {
        parser.feed(b"data\n", |_| panic!("no event yet"));
        assert!(held(&parser) <= BEGINNING);
    }
    // A buffer that grew for one event is let go of.
    let mut parser = EventStreamParser::new(1024 * 1024);
    parser.feed(format!("data: {}\n\n", "x".repeat(1_000_000)).as_bytes(), |_| {});
    assert!(parser.line.capacity() <= KEEP_CAPACITY);
}

// proves: SSE-04, SSE-13
#[test]
fn what_is_written_is_read_as_it_was() {
    for data in ["", "/messages?sessionId=0", "{\"a\":1}", "a\nb", "\n", "a\n\n", ": no comment", " leading", "ä😀"]
    {
        let mut stream = Vec::new();
        write_event(&mut stream, "endpoint", "first");
        write_event(&mut stream, "message", data);
        check(1024, &stream, &[event("endpoint", "first"), message(data)]);
    }
    // Other line breaks become line feeds: the format knows one only.
    let mut stream = Vec::new();
    write_event(&mut stream, "message", "a\r\nb\rc");
    check(1024, &stream, &[message("a\nb\nc")]);
    let mut stream = Vec::new();
    write_event(&mut stream, "message", "{}");
    assert_eq!(stream, b"event: message\ndata: {}\n\n");
}
