//! A server of HTTP with SSE that is played by the test, request by request.

use std::time::Duration;

use mcp_native::transport::sse::SseClientOptions;
use mcp_native::{Client, ClientBuilder, Error};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::common::soon;
use crate::raw::{Connection, Said};

pub(crate) struct Site {
    listener: TcpListener,
}

/// A request that waits for its answer.
pub(crate) struct Exchange {
    pub(crate) request: Said,
    pub(crate) connection: Connection,
}

impl Exchange {
    /// Such as `POST /messages`.
    pub(crate) fn line(&self) -> &str {
        self.request.first.strip_suffix(" HTTP/1.1").expect("a request line")
    }

    pub(crate) fn message(&self) -> Value {
        serde_json::from_str(&self.request.body).expect("clients write JSON")
    }

    /// Answers, and ends the connection.
    pub(crate) async fn answer(mut self, status: &str, headers: &str, body: &str) {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n");
        self.connection.write(head + body).await;
    }

    pub(crate) async fn accept(self) {
        self.answer("202 Accepted", "", "Accepted").await;
    }

    /// Begins a stream with this text.
    pub(crate) async fn stream(mut self, text: &str) -> Stream {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        self.connection.write(format!("{head}{text}")).await;
        Stream(self.connection)
    }
}

/// The stream to the client.
pub(crate) struct Stream(pub(crate) Connection);

impl Stream {
    pub(crate) async fn write(&mut self, text: &str) {
        self.0.write(text).await;
    }

    pub(crate) async fn send(&mut self, message: &Value) {
        self.write(&format!("event: message\ndata: {message}\n\n")).await;
    }

    pub(crate) async fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })).await;
    }
}

impl Site {
    pub(crate) async fn new() -> Site {
        Site { listener: TcpListener::bind("127.0.0.1:0").await.expect("a port is free") }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.listener.local_addr().expect("bound"))
    }

    /// The next request.
    pub(crate) async fn next(&self) -> Exchange {
        let (stream, _) = soon(self.listener.accept()).await.expect("accepted");
        let mut connection = Connection::new(stream);
        let request = connection.said().await;
        Exchange { request, connection }
    }

    /// The next request, which must be a POST with this method.
    pub(crate) async fn expect(&self, method: &str) -> Exchange {
        let exchange = self.next().await;
        assert!(exchange.line().starts_with("POST "), "{}", exchange.line());
        assert_eq!(exchange.message()["method"], method);
        exchange
    }

    /// Nobody has come who was not taken in yet, and nobody comes in a while.
    pub(crate) async fn quiet(&self) {
        let come = tokio::time::timeout(Duration::from_millis(50), self.listener.accept()).await;
        assert!(come.is_err(), "a connection that should not have been made");
    }

    /// The server's part of connecting.
    pub(crate) async fn handshake(&self) -> Stream {
        let mut stream = self.next().await.stream("event: endpoint\ndata: /messages\n\n").await;
        self.initialize(&mut stream).await;
        stream
    }

    pub(crate) async fn initialize(&self, stream: &mut Stream) {
        let initialize = self.expect("initialize").await;
        let request = initialize.message();
        initialize.accept().await;
        let result = json!({
            "protocolVersion": "2024-11-05", "capabilities": { "tools": {} },
            "serverInfo": { "name": "site", "version": "1" },
        });
        stream.reply(&request, result).await;
        self.expect("notifications/initialized").await.accept().await;
    }

    /// A client, and its stream.
    pub(crate) async fn connected(&self, builder: ClientBuilder, options: SseClientOptions) -> (Client, Stream) {
        let (client, stream) = tokio::join!(builder.sse(self.origin() + "/sse", options), self.handshake());
        (client.expect("connected"), stream)
    }

    /// What comes of connecting to a site that is played by `script`.
    pub(crate) async fn connecting<T>(
        &self,
        options: SseClientOptions,
        script: impl Future<Output = T>,
    ) -> (Result<Client, Error>, T) {
        let connect = Box::pin(builder().sse(self.origin() + "/sse", options));
        let script = Box::pin(script);
        soon(async { tokio::join!(connect, script) }).await
    }
}

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("test", "1.0")
}
