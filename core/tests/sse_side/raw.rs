//! HTTP/1.1 by hand, and a client of HTTP with SSE that is played by the test.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use mcp_native::Server;
use mcp_native::transport::sse::codec::{Event, EventStreamParser, Signal};
use mcp_native::transport::sse::{SseOptions, SseServer};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::common::{everything, initialize, request, soon};

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");

/// Serves on a port that the system chooses.
pub(crate) async fn serve(server: &Server, options: SseOptions) -> SseServer {
    server.serve_sse("127.0.0.1:0", options).await.expect("a port is free")
}

/// What one side said: the first line, the headers, the body.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) first: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Said {
    pub(crate) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// One connection, either end of it.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn new(stream: TcpStream) -> Connection {
        Connection(BufReader::new(stream))
    }

    pub(crate) async fn to(address: SocketAddr) -> Connection {
        Connection::new(soon(TcpStream::connect(address)).await.expect("somebody listens"))
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        soon(self.0.get_mut().write_all(bytes.as_ref())).await.expect("the other side reads");
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        // A connection that was reset has ended as well.
        let read = soon(self.0.read_line(&mut line)).await.unwrap_or(0);
        (read > 0).then(|| line.trim_end().to_owned())
    }

    /// The next head; `None` at the end of the connection.
    pub(crate) async fn head(&mut self) -> Option<Said> {
        let first = self.line().await?;
        let mut headers = Vec::new();
        loop {
            let line = self.line().await.expect("a whole head");
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        Some(Said { first, headers, body: String::new() })
    }

    /// The next head with its body.
    pub(crate) async fn said(&mut self) -> Said {
        let mut said = self.head().await.expect("the connection ended");
        let length = said.header("content-length").map_or(0, |length| length.parse().expect("a number"));
        let mut body = vec![0; length];
        soon(self.0.read_exact(&mut body)).await.expect("the whole body");
        said.body = String::from_utf8(body).expect("UTF-8");
        said
    }

    /// The next chunk of a chunked body; `None` at its end or that of the connection.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = self.line().await?;
        let length = usize::from_str_radix(&length, 16).expect("the length of a chunk");
        let mut chunk = vec![0; length + 2];
        soon(self.0.read_exact(&mut chunk)).await.ok()?;
        chunk.truncate(length);
        (length > 0).then_some(chunk)
    }

    /// Reads until the connection ends, and fails the test if it does not.
    pub(crate) async fn end(&mut self) -> String {
        let mut rest = Vec::new();
        // Whether it was closed or reset is the same here.
        let _ = soon(self.0.read_to_end(&mut rest)).await;
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// One request on a connection of its own.
pub(crate) async fn ask(address: SocketAddr, line: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Said {
    let mut connection = Connection::to(address).await;
    connection.write(head(address, line, headers, body.as_ref().len())).await;
    connection.write(body).await;
    connection.said().await
}

/// The head of a request such as `GET /sse`; a `Host` among the headers takes the place of the right one.
pub(crate) fn head(address: SocketAddr, line: &str, headers: &[(&str, &str)], length: usize) -> String {
    let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
    let mut lines = vec![format!("{line} HTTP/1.1")];
    lines.extend((!has_host).then(|| format!("host: {address}")));
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    lines.extend((length > 0).then(|| format!("content-length: {length}")));
    lines.join("\r\n") + "\r\n\r\n"
}

/// A client that is played by the test.
pub(crate) struct Peer {
    connection: Connection,
    parser: EventStreamParser,
    signals: VecDeque<Signal>,
    pub(crate) head: Said,
    pub(crate) endpoint: String,
    address: SocketAddr,
    headers: Vec<(String, String)>,
    numbers: u32,
}

impl Peer {
    /// Opens a stream; nothing is said yet.
    pub(crate) async fn of(server: &SseServer) -> Peer {
        Peer::open(server.local_addr(), "/sse", &[]).await.expect("a stream")
    }

    /// Opens a stream and does the handshake.
    pub(crate) async fn ready(server: &SseServer) -> Peer {
        let mut peer = Peer::of(server).await;
        peer.handshake().await;
        peer
    }

    /// The headers go with the GET and every POST. Fails with what was answered instead of a stream.
    pub(crate) async fn open(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Result<Peer, Said> {
        let mut connection = Connection::to(address).await;
        connection.write(self::head(address, &format!("GET {path}"), headers, 0)).await;
        let head = connection.head().await.expect("an answer");
        if head.status() != 200 {
            return Err(head);
        }
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let parser = EventStreamParser::new(1024 * 1024);
        let (signals, endpoint) = (VecDeque::new(), String::new());
        let mut peer = Peer { connection, parser, signals, head, endpoint, address, headers, numbers: 0 };
        // SSE-02: whatever a test does, the first event is the endpoint.
        let Some(Signal::Event(Event { kind, data, .. })) = peer.signal().await else { panic!("no event") };
        assert_eq!(kind, "endpoint");
        peer.endpoint = data;
        Ok(peer)
    }

    /// The next event or comment; `None` at the end of the stream.
    pub(crate) async fn signal(&mut self) -> Option<Signal> {
        while self.signals.is_empty() {
            let chunk = self.connection.chunk().await?;
            self.parser.feed(&chunk, |signal| self.signals.push_back(signal));
        }
        self.signals.pop_front()
    }

    /// The next message; `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            match self.signal().await? {
                Signal::Event(Event { kind, data, .. }) => {
                    assert_eq!(kind, "message");
                    return Some(serde_json::from_str(&data).expect("servers write JSON"));
                }
                Signal::Comment => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next message, which must be the response with this id.
    pub(crate) async fn response(&mut self, id: impl Into<Value>) -> Value {
        let (id, message) = (id.into(), self.next().await.expect("the stream ended before the response"));
        assert_eq!((&message["id"], message.get("method")), (&id, None), "{message}");
        message
    }

    /// Posts a message, on a connection of its own.
    pub(crate) fn post(&self, message: &Value) -> impl Future<Output = Said> + Send + 'static {
        let (address, line, message) = (self.address, format!("POST {}", self.endpoint), message.to_string());
        let headers = self.headers.clone();
        async move {
            let mut headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            headers.push(JSON);
            ask(address, &line, &headers, message).await
        }
    }

    /// Posts a message that must be accepted.
    pub(crate) async fn send(&self, message: &Value) {
        let said = self.post(message).await;
        assert_eq!(said.status(), 202, "{said:?}");
        // SSE-09: the answer is never in here.
        assert!(!said.body.contains("jsonrpc"), "{said:?}");
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> u32 {
        self.numbers += 1;
        self.send(&request(self.numbers, method, params)).await;
        self.numbers
    }

    /// The result of a request that must succeed; nothing else may come before it.
    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        let answer = self.response(id).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// Begins a call; the answer comes later.
    pub(crate) async fn begin(&mut self, tool: &str) -> u32 {
        self.request("tools/call", json!({ "name": tool })).await
    }

    /// The text of the only content of a tool's result.
    pub(crate) async fn call(&mut self, tool: &str) -> String {
        let result = self.result("tools/call", json!({ "name": tool })).await;
        result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {result}")).to_owned()
    }

    pub(crate) async fn handshake(&mut self) {
        self.send(&initialize(&everything())).await;
        assert!(self.response("init").await["result"].is_object());
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    /// The server has sent nothing that was not taken: the next message is the answer to a ping.
    pub(crate) async fn quiet(&mut self) {
        assert_eq!(self.result("ping", Value::Null).await, json!({}));
    }
}

/// Waits until this many streams are open.
pub(crate) async fn open(server: &SseServer, many: usize) {
    soon(async {
        while server.handle().sessions() != many {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}
