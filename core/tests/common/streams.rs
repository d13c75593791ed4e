//! A client that is played by the test over blocking byte streams, such as the pipes of an operating system.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write};

use mcp_native::server::{Server, ServerSession};
use serde_json::{Value, json};

use super::{everything, initialize, request};

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
        let mut line = String::new();
        self.output.read_line(&mut line).expect("UTF-8");
        (!line.is_empty()).then_some(line)
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
