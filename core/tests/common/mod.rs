//! What tests of the server side share: a client that is played by the test, message by message, and servers whose traffic
//! can be recorded.
//!
//! `MCP_TEST_TAP` names a folder; there every server of these tests records its sessions, for the check of all traffic
//! against the closed schema.
#![allow(dead_code, reason = "each test program uses a part of it")]

pub(crate) mod measure;
pub(crate) mod streams;

use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use mcp_native::server::{Server, ServerBuilder, ServerSession};
use mcp_native::transport::memory::{self, MemoryTransport};
use mcp_native::transport::{JsonLines, Outgoing, Tap, Transport};
use serde_json::{Value, json};

/// How long a test waits for what must come. Long, because machines may be busy; passing tests never wait for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The outcome of `future`; the test fails if it does not come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("nothing came for a long time")
}

/// A tap that records to a file of its own, if recording is on.
pub(crate) fn recording() -> Option<Tap> {
    static FILES: AtomicU32 = AtomicU32::new(0);
    let folder = PathBuf::from(std::env::var_os("MCP_TEST_TAP")?);
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let file = folder.join(format!("core-{}-{number}.jsonl", std::process::id()));
    let file = std::fs::File::create(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    Some(Tap::json_lines(JsonLines::new(file)))
}

/// A server whose traffic is recorded where that is wanted.
pub(crate) fn builder() -> ServerBuilder {
    let builder = unrecorded();
    match recording() {
        Some(tap) => builder.tap(tap),
        None => builder,
    }
}

/// A server with nothing set: for tests with a tap of their own, or with more traffic than is worth recording.
pub(crate) fn unrecorded() -> ServerBuilder {
    Server::builder("test", "1.0")
}

/// All capabilities that a client may declare.
pub(crate) fn everything() -> Value {
    json!({ "roots": { "listChanged": true }, "sampling": {} })
}

pub(crate) fn initialize(capabilities: &Value) -> Value {
    json!({
        "jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
            "protocolVersion": "2024-11-05", "capabilities": capabilities,
            "clientInfo": { "name": "peer", "version": "1" },
        },
    })
}

/// A client that is played by the test, over the in-memory transport.
pub(crate) struct Peer {
    transport: MemoryTransport,
    pub(crate) session: ServerSession,
    numbers: AtomicU32,
}

impl Peer {
    /// Connects; nothing is said yet.
    pub(crate) fn of(server: &Server) -> Peer {
        let (near, far) = memory::pair();
        let session = server.serve(near);
        Peer { transport: far, session, numbers: AtomicU32::new(1) }
    }

    /// Connects and does the handshake, with all capabilities.
    pub(crate) async fn ready(server: &Server) -> Peer {
        Peer::ready_with(server, everything()).await
    }

    pub(crate) async fn ready_with(server: &Server, capabilities: Value) -> Peer {
        let peer = Peer::of(server);
        peer.handshake(&capabilities).await;
        peer
    }

    /// Returns the result of `initialize`.
    pub(crate) async fn handshake(&self, capabilities: &Value) -> Value {
        self.send(initialize(capabilities)).await;
        let answer = self.response("init").await;
        self.notify("notifications/initialized", Value::Null).await;
        answer["result"].clone()
    }

    pub(crate) async fn send(&self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&self, text: impl Into<Vec<u8>>) {
        soon(self.transport.send(Outgoing::new(text.into()))).await.expect("the server is there");
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn request(&self, method: &str, params: Value) -> u32 {
        let id = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.send(request(id, method, params)).await;
        id
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.send(message).await;
    }

    /// The next message of the server; `None` at the end of the connection.
    pub(crate) async fn next(&self) -> Option<Value> {
        let incoming = soon(self.transport.receive()).await.expect("memory does not fail")?;
        Some(serde_json::from_slice(&incoming.message).expect("servers write JSON"))
    }

    /// The next message, which must be of this method.
    pub(crate) async fn expect(&self, method: &str) -> Value {
        let message = self.next().await.unwrap_or_else(|| panic!("the connection ended before {method}"));
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// The next message, which must be the response with this id.
    pub(crate) async fn response(&self, id: impl Into<Value>) -> Value {
        let (id, message) = (id.into(), self.next().await.expect("the connection ended before the response"));
        assert_eq!((&message["id"], message.get("method")), (&id, None), "{message}");
        message
    }

    /// Asks, and returns the response; nothing else may come before it.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.response(id).await
    }

    /// The result of a request that must succeed.
    pub(crate) async fn result(&self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The code and message of the error with which a request must fail.
    pub(crate) async fn error(&self, method: &str, params: Value) -> (i64, String) {
        error_of(&self.ask(method, params).await)
    }

    /// The text of the only content of a tool's result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> String {
        let result = self.result("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}")).to_owned()
    }

    /// Begins a call; the answer comes later.
    pub(crate) async fn begin(&self, tool: &str, arguments: Value) -> u32 {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    pub(crate) async fn reply(&self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    pub(crate) async fn cancel(&self, id: impl Into<Value>) {
        self.notify("notifications/cancelled", json!({ "requestId": id.into() })).await;
    }

    /// The server has sent nothing that was not taken: the next thing it sends is the answer to a ping.
    pub(crate) async fn quiet(&self) {
        assert_eq!(self.result("ping", Value::Null).await, json!({}));
    }

    /// What the server sends before it answers a ping.
    pub(crate) async fn until_ping(&self) -> Vec<Value> {
        let id = self.request("ping", Value::Null).await;
        let mut before = Vec::new();
        loop {
            let message = self.next().await.expect("the connection ended before the ping was answered");
            if message["id"] == id && message.get("method").is_none() {
                return before;
            }
            before.push(message);
        }
    }

    pub(crate) async fn close(&self) {
        self.transport.close().await;
    }
}

pub(crate) fn request(id: impl Into<Value>, method: &str, params: Value) -> Value {
    let mut message = json!({ "jsonrpc": "2.0", "id": id.into(), "method": method });
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

/// Messages as lines, one after another.
pub(crate) fn lines(messages: impl IntoIterator<Item = Value>) -> String {
    messages.into_iter().fold(String::new(), |lines, message| lines + &message.to_string() + "\n")
}

pub(crate) fn error_of(answer: &Value) -> (i64, String) {
    let code = answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {answer}"));
    (code, answer["error"]["message"].as_str().expect("a message").to_owned())
}

/// A list that tests and callbacks share; a test can wait until it is long enough.
#[derive(Clone)]
pub(crate) struct Seen<T>(Arc<Mutex<Vec<T>>>, Arc<tokio::sync::Notify>);

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Seen(Arc::default(), Arc::default())
    }
}

impl<T: Clone> Seen<T> {
    pub(crate) fn push(&self, item: T) {
        self.0.lock().expect("no test panics in here").push(item);
        self.1.notify_waiters();
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().expect("no test panics in here").clone()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().expect("no test panics in here").len()
    }

    /// Waits until there are this many.
    pub(crate) async fn wait(&self, many: usize) -> Vec<T> {
        soon(async {
            loop {
                let changed = self.1.notified();
                if self.len() >= many {
                    return self.all();
                }
                changed.await;
            }
        })
        .await
    }
}

/// A door that opens once, for handlers that are to wait for the test or the other way round.
#[derive(Clone, Default)]
pub(crate) struct Door(Arc<Hinges>);

#[derive(Default)]
struct Hinges {
    open: Mutex<bool>,
    rung: Condvar,
    told: tokio::sync::Notify,
}

impl Door {
    pub(crate) fn open(&self) {
        *self.0.open.lock().expect("nobody panics in here") = true;
        self.0.rung.notify_all();
        self.0.told.notify_waiters();
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.0.open.lock().expect("nobody panics in here")
    }

    pub(crate) async fn opened(&self) {
        soon(async {
            loop {
                let told = self.0.told.notified();
                if self.is_open() {
                    return;
                }
                told.await;
            }
        })
        .await;
    }

    /// Blocks the thread.
    pub(crate) fn wait(&self) {
        let open = self.0.open.lock().expect("nobody panics in here");
        let waited = self.0.rung.wait_timeout_while(open, PATIENCE, |open| !*open);
        assert!(*waited.expect("nobody panics in here").0, "the door was not opened for a long time");
    }
}

/// Opens a door when it is dropped: shows that something was let go of.
pub(crate) struct OnDrop(pub(crate) Door);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.open();
    }
}
