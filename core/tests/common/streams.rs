//! A client that is played by the test over blocking byte streams, such as the pipes of an operating system.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};

use mcp_native::server::{Server, ServerSession};
use serde_json::{Value, json};

use super::{everything, initialize, request};

/// The next line of a pipe as it is; `None` at the end. The test fails if nothing comes for a long time.
#[cfg(unix)]
pub(crate) fn line_of(output: &mut BufReader<impl Read + std::os::fd::AsFd>) -> Option<String> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let patience = Timespec { tv_sec: super::PATIENCE.as_secs().try_into().expect("short"), tv_nsec: 0 };
    let mut line = Vec::new();
    loop {
        if output.buffer().is_empty() {
            let ready = poll(&mut [PollFd::new(output.get_ref(), PollFlags::IN)], Some(&patience)).expect("a pipe");
            assert!(ready > 0, "nothing came for a long time");
        }
        let buffer = output.fill_buf().expect("a pipe");
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        line.extend_from_slice(&buffer[..taken]);
        output.consume(taken);
        if end.is_some() || taken == 0 {
            return (!line.is_empty()).then(|| String::from_utf8(line).expect("UTF-8"));
        }
    }
}

/// The same where a pipe cannot be asked first: a test that fails here hangs.
#[cfg(not(unix))]
pub(crate) fn line_of(output: &mut BufReader<impl Read>) -> Option<String> {
    let mut line = String::new();
    output.read_line(&mut line).expect("UTF-8");
    (!line.is_empty()).then_some(line)
}

/// The client's ends of two pipes.
pub(crate) struct PipePeer {
    pub(crate) input: Option<PipeWriter>,
    pub(crate) output: BufReader<PipeReader>,
}

impl PipePeer {
    /// Connects over two pipes of the operating system; nothing is said yet.
    pub(crate) fn of(server: &Server) -> (PipePeer, ServerSession) {
        let (their_input, input) = std::io::pipe().expect("a pipe");
        let (output, their_output) = std::io::pipe().expect("a pipe");
        let session = server.serve_io(their_input, their_output).expect("threads");
        (PipePeer { input: Some(input), output: BufReader::new(output) }, session)
    }

    pub(crate) fn ready(server: &Server) -> (PipePeer, ServerSession) {
        let (mut peer, session) = PipePeer::of(server);
        peer.handshake();
        (peer, session)
    }

    pub(crate) fn handshake(&mut self) {
        self.send(&initialize(&everything()));
        assert!(self.response("init")["result"].is_object());
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("not closed yet").write_all(bytes).expect("the server reads");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.send(&request(id, method, params));
    }

    pub(crate) fn begin(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        let mut params = json!({ "name": tool });
        params["arguments"] = arguments;
        self.request(id, "tools/call", params);
    }

    /// The next line as it is; `None` at the end.
    pub(crate) fn line(&mut self) -> Option<String> {
        line_of(&mut self.output)
    }

    pub(crate) fn next(&mut self) -> Option<Value> {
        self.line().map(|line| serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    pub(crate) fn response(&mut self, id: impl Into<Value>) -> Value {
        let (id, message) = (id.into(), self.next().expect("the connection ended before the response"));
        assert_eq!((&message["id"], message.get("method")), (&id, None), "{message}");
        message
    }

    /// The end of input.
    pub(crate) fn end(&mut self) {
        self.input = None;
    }
}
