//! The rules, one by one. Nothing here waits: time is a value.

mod bounds;
mod cancellation;
mod capabilities;
mod ending;
mod lifecycle;
mod messages;
mod order;
mod own_requests;
mod progress;
mod replaying;
mod time;
mod versions;

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{
    CallId, CloseReason, Completion, Config, Diagnostic, Engine, Event, Local, OutgoingRequest, RequestKey, Role,
    Transmit,
};
use crate::error::{Error, ErrorKind};
use crate::protocol::{Implementation, Json, Method, MethodKind, RequestId};

/// An engine, the clock it believes in, and a peer that does what the test says.
struct Session {
    engine: Engine,
    now: Instant,
}

/// All that a side of this role can declare in 2024-11-05.
fn everything(role: Role) -> Value {
    match role {
        Role::Client => json!({ "roots": { "listChanged": true }, "sampling": {} }),
        Role::Server => json!({
            "tools": { "listChanged": true },
            "resources": { "subscribe": true, "listChanged": true },
            "prompts": { "listChanged": true },
            "logging": {},
        }),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

fn config(role: Role) -> Config {
    let mut local = Local::new(Implementation::new("engine", "1"));
    local.capabilities = object(everything(role));
    Config::new(role, local)
}

/// A server's answer to `initialize`.
fn server_hello(version: &str, capabilities: &Value) -> Value {
    json!({ "protocolVersion": version, "capabilities": capabilities, "serverInfo": { "name": "peer", "version": "1" } })
}

/// A client's `initialize`.
fn client_hello(id: impl Into<Value>, version: &str, capabilities: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": capabilities, "clientInfo": { "name": "peer", "version": "1" },
    } })
}

fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method });
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

fn notification(method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "method": method });
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

fn result(id: impl Into<Value>, result: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id.into() });
    message["result"] = result;
    message
}

fn cancelled(id: impl Into<Value>) -> Value {
    notification("notifications/cancelled", json!({ "requestId": id.into() }))
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

impl Session {
    fn new(config: Config) -> Session {
        let now = Instant::now();
        Session { engine: Engine::new(config, now), now }
    }

    /// A server before the handshake.
    fn new_server() -> Session {
        Session::new(config(Role::Server))
    }

    /// A client that has sent `initialize` (id 1), which the test has not looked at.
    fn new_client() -> Session {
        Session::new(config(Role::Client)).started()
    }

    fn started(mut self) -> Session {
        self.engine.start(Some(Duration::from_secs(30)), self.now);
        self
    }

    /// A server after the handshake with a client that can do everything.
    fn server() -> Session {
        Session::server_with(config(Role::Server))
    }

    fn server_with(config: Config) -> Session {
        let mut session = Session::new(config);
        session.send(client_hello("init", "2024-11-05", &everything(Role::Client)));
        session.send(notification("notifications/initialized", Value::Null));
        session.settle_down()
    }

    /// A client after the handshake with a server that can do everything.
    fn client() -> Session {
        Session::client_with(config(Role::Client))
    }

    fn client_with(config: Config) -> Session {
        let mut session = Session::new(config).started();
        session.send(result(1, server_hello("2024-11-05", &everything(Role::Server))));
        session.settle_down()
    }

    /// The handshake is done and looked at.
    fn settle_down(mut self) -> Session {
        assert!(self.engine.is_ready(), "the handshake failed: {:?}", self.events());
        self.sent();
        self.events();
        self
    }

    /// The peer sends this.
    fn send(&mut self, message: impl std::borrow::Borrow<Value>) {
        self.send_text(message.borrow().to_string());
    }

    fn send_text(&mut self, text: impl AsRef<[u8]>) {
        self.engine.handle_frame(&Bytes::copy_from_slice(text.as_ref()), self.now);
    }

    /// What the engine wants to say, each message a line of its own; the peer takes it.
    fn sent(&mut self) -> Vec<Value> {
        self.transmits().into_iter().map(|(message, _)| message).collect()
    }

    fn transmits(&mut self) -> Vec<(Value, Option<RequestId>)> {
        let mut all = Vec::new();
        let mut frame = Vec::new();
        while let Some(Transmit { related, bytes, .. }) = self.engine.poll_transmit(&mut frame) {
            assert_eq!(bytes, frame.len() + 1);
            assert!(!frame.contains(&b'\n'), "a frame is one line");
            let message: Value = serde_json::from_slice(&frame).expect("what is sent is JSON");
            assert_eq!(message["jsonrpc"], "2.0");
            all.push((message, related));
            frame.clear();
            self.engine.transmitted(bytes, self.now);
        }
        all
    }

    /// The one message that the engine wants to send.
    fn sent_one(&mut self) -> Value {
        let mut sent = self.sent();
        assert_eq!(sent.len(), 1, "one message expected: {sent:?}");
        sent.remove(0)
    }

    /// The code of the error that is the only message sent, which must answer `id`.
    fn refused(&mut self, id: impl Into<Value>) -> i64 {
        let sent = self.sent_one();
        assert_eq!(sent["id"], id.into(), "{sent}");
        sent["error"]["code"].as_i64().unwrap_or_else(|| panic!("not an error: {sent}"))
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.engine.poll_event()).collect()
    }

    fn event(&mut self) -> Event {
        let mut events = self.events();
        assert_eq!(events.len(), 1, "one event expected: {events:?}");
        events.remove(0)
    }

    fn diagnostics(&mut self) -> Vec<Diagnostic> {
        let diagnostic = |event| match event {
            Event::Diagnostic(diagnostic) => Some(diagnostic),
            _ => None,
        };
        self.events().into_iter().filter_map(diagnostic).collect()
    }

    /// Time passes as under any driver: the engine is called whenever it asked for it.
    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(at) = self.engine.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.engine.handle_timeout(self.now);
            assert!(self.engine.poll_timeout().is_none_or(|next| next > at), "time stands still");
        }
        self.now = until;
    }

    /// The peer's `tools/call` reaches the application.
    fn call(&mut self, id: impl Into<Value>, params: Value) -> CallId {
        self.send(request(id, "tools/call", params));
        match self.event() {
            Event::Request { call, method: Method::CallTool, .. } => call,
            other => panic!("{other:?}"),
        }
    }

    fn answer(&mut self, call: CallId, result: &str) -> Completion {
        self.engine.respond(call, Ok(result), self.now)
    }

    /// The application asks the peer.
    fn ask(&mut self, method: &str) -> RequestKey {
        self.try_ask(outgoing(method)).expect("the request is allowed")
    }

    fn try_ask(&mut self, request: OutgoingRequest) -> Result<RequestKey, Error> {
        self.engine.request(request, self.now)
    }

    fn notify(&mut self, method: &str) -> Result<(), Error> {
        self.engine.notify(&Method::from_name(method, MethodKind::Notification), None, None)
    }

    /// The only event is the end of this request.
    fn settled(&mut self, key: RequestKey) -> Result<Value, Error> {
        match self.event() {
            Event::Settled { request, outcome } if request == key => {
                outcome.map(|result| serde_json::from_slice(&result).expect("a result is JSON"))
            }
            other => panic!("{other:?}"),
        }
    }

    /// The session has ended, and this is why.
    fn close_reason(&mut self) -> CloseReason {
        assert!(self.engine.is_closed());
        match self.events().pop() {
            Some(Event::Closed(reason)) => reason,
            other => panic!("the last event is not the end: {other:?}"),
        }
    }

    /// The peer still gets an answer to a ping, and nothing before it.
    fn assert_silent_and_alive(&mut self) {
        self.send(request("alive?", "ping", Value::Null));
        assert_eq!(self.sent(), [result("alive?", json!({}))]);
    }
}

fn outgoing(method: &str) -> OutgoingRequest {
    OutgoingRequest::new(Method::from_name(method, MethodKind::Request), None)
}

fn kind<T: std::fmt::Debug>(outcome: Result<T, Error>) -> ErrorKind {
    outcome.expect_err("an error is expected").kind()
}

fn json_text(value: &Value) -> Json {
    Json::parse(value.to_string()).expect("a tree is JSON")
}
