//! A server played by the test, over the in-memory transport.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_native::transport::memory::{self, MemoryTransport};
use mcp_native::transport::{Outgoing, Transport};
use mcp_native::{Client, ClientBuilder, Error};
use serde_json::{Value, json};

/// How long a test waits for what must come. Long, because machines may be busy; passing tests never wait for it.
const PATIENCE: Duration = Duration::from_secs(10);

/// The outcome of `future`; the test fails if it does not come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("nothing came for a long time")
}

/// The server's end of the connection.
pub(crate) struct Fake {
    transport: MemoryTransport,
    barriers: u32,
}

impl Fake {
    pub(crate) fn new(transport: MemoryTransport) -> Fake {
        Fake { transport, barriers: 0 }
    }

    /// The next message of the client; `None` at the end of the connection.
    pub(crate) async fn next(&self) -> Option<Value> {
        let incoming = soon(self.transport.receive()).await.expect("memory does not fail")?;
        Some(serde_json::from_slice(&incoming.message).expect("clients write JSON"))
    }

    /// The next message, which must be of this method.
    pub(crate) async fn expect(&self, method: &str) -> Value {
        let message = self.next().await.unwrap_or_else(|| panic!("the connection ended before {method}"));
        assert_eq!(message["method"], method, "{message}");
        message
    }

    /// The next message, which must be the response with this id.
    pub(crate) async fn response(&self, id: impl Into<Value>) -> Value {
        let message = self.next().await.expect("the connection ended before the response");
        assert_eq!(message["id"], id.into(), "{message}");
        assert!(message.get("method").is_none(), "{message}");
        message
    }

    /// Everything that the client wrote until the connection ended.
    pub(crate) async fn rest(&self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(message) = self.next().await {
            rest.push(message);
        }
        rest
    }

    pub(crate) async fn send(&self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&self, text: impl Into<String>) {
        self.transport.send(Outgoing::new(text.into())).await.expect("the client is there");
    }

    /// Answers a request of the client.
    pub(crate) async fn reply(&self, request: &Value, result: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }

    pub(crate) async fn reply_error(&self, request: &Value, error: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": request["id"], "error": error })).await;
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Asks the client, and returns its response; nothing else may come before it.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        let id = format!("ask {method}");
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        self.response(id).await
    }

    /// The client has written nothing that was not taken: the next thing it writes is the answer to a ping.
    pub(crate) async fn quiet(&mut self) {
        self.barriers += 1;
        let id = format!("barrier {}", self.barriers);
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })).await;
        assert_eq!(self.response(id).await["result"], json!({}));
    }

    /// The server's part of the handshake. Returns the client's `initialize`.
    pub(crate) async fn handshake(&self, capabilities: Value) -> Value {
        let initialize = self.expect("initialize").await;
        self.reply(&initialize, initialize_result(capabilities)).await;
        self.expect("notifications/initialized").await;
        initialize
    }

    pub(crate) async fn close(&self) {
        self.transport.close().await;
    }
}

/// All capabilities that a server may declare.
pub(crate) fn everything() -> Value {
    json!({
        "tools": { "listChanged": true }, "prompts": { "listChanged": true }, "logging": {},
        "resources": { "subscribe": true, "listChanged": true },
    })
}

pub(crate) fn initialize_result(capabilities: impl serde::Serialize) -> Value {
    json!({
        "protocolVersion": "2024-11-05", "capabilities": capabilities,
        "serverInfo": { "name": "fake", "version": "1" },
    })
}

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("test", "1.0")
}

/// A client, and the fake server it is connected to.
pub(crate) async fn connected_with(builder: ClientBuilder, capabilities: Value) -> (Client, Fake) {
    let (near, far) = memory::pair();
    let fake = Fake::new(far);
    let (client, _) = soon(async { tokio::join!(builder.connect(near), fake.handshake(capabilities)) }).await;
    (client.expect("the fake server agrees"), fake)
}

/// The same, with a client without callbacks and a server that can do everything.
pub(crate) async fn connected() -> (Client, Fake) {
    connected_with(builder(), everything()).await
}

/// Connects to a server that is played by `script`, and returns what came of it.
pub(crate) async fn connect_to<F: Future>(
    builder: ClientBuilder,
    script: impl FnOnce(Fake) -> F,
) -> (Result<Client, Error>, F::Output) {
    let (near, far) = memory::pair();
    soon(async { tokio::join!(builder.connect(near), script(Fake::new(far))) }).await
}

/// Keeps what callbacks were told.
#[derive(Clone, Default)]
pub(crate) struct Seen<T>(Arc<Mutex<Vec<T>>>, Arc<tokio::sync::Notify>);

impl<T: Clone> Seen<T> {
    pub(crate) fn new() -> Seen<T> {
        Seen(Arc::default(), Arc::default())
    }

    pub(crate) fn push(&self, item: T) {
        self.0.lock().expect("no panic under the lock").push(item);
        self.1.notify_one();
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.0.lock().expect("no panic under the lock").clone()
    }

    /// Waits until there are `count`, or more.
    pub(crate) async fn wait_for(&self, count: usize) -> Vec<T> {
        soon(async {
            loop {
                let all = self.all();
                if all.len() >= count {
                    return all;
                }
                self.1.notified().await;
            }
        })
        .await
    }
}
