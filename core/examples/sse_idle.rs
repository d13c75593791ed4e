//! What an idle session over HTTP with SSE costs the server in memory: `cargo run --release --features sse-server --example
//! sse_idle [SESSIONS]`. Linux only. The clients are in the same process, bare sockets that cost next to nothing there.
#![allow(clippy::print_stdout, reason = "it prints the figure")]

use mcp_native::Server;
use mcp_native::transport::sse::SseOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HANDSHAKE: [&str; 2] = [
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"idle","version":"1"}}}"#,
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
];

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sessions = std::env::args().nth(1).map_or(Ok(2000), |sessions| sessions.parse::<usize>())?;
    let server = Server::new("idle", "1").serve_sse("127.0.0.1:0", SseOptions::new()).await?;
    let mut streams = Vec::with_capacity(sessions);
    // A few first, so that what the process needs once is not counted.
    for _ in 0..100 {
        streams.push(open(server.local_addr()).await?);
    }
    let before = resident()?;
    for _ in 0..sessions {
        streams.push(open(server.local_addr()).await?);
    }
    let each = (resident()? - before) * 1024 / sessions;
    println!("{} sessions open, {each} bytes for each", server.handle().sessions());
    Ok(())
}

/// A stream with its handshake done.
async fn open(address: std::net::SocketAddr) -> Result<TcpStream, Box<dyn std::error::Error>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(b"GET /sse HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
    let endpoint = until(&mut stream, "\n\n").await?;
    let endpoint = endpoint.split("data: ").nth(1).ok_or("no endpoint")?.trim();
    for message in HANDSHAKE {
        let length = message.len();
        let mut post = TcpStream::connect(address).await?;
        let head = "host: localhost\r\nconnection: close\r\ncontent-type: application/json";
        let request = format!("POST {endpoint} HTTP/1.1\r\n{head}\r\ncontent-length: {length}\r\n\r\n{message}");
        post.write_all(request.as_bytes()).await?;
        until(&mut post, "Accepted").await?;
    }
    until(&mut stream, "serverInfo").await?;
    Ok(stream)
}

async fn until(stream: &mut TcpStream, end: &str) -> Result<String, Box<dyn std::error::Error>> {
    let mut text = String::new();
    while !text.contains(end) {
        let mut buffer = [0; 2048];
        let length = stream.read(&mut buffer).await?;
        if length == 0 {
            return Err(format!("the connection ended after {text}").into());
        }
        text += &String::from_utf8_lossy(&buffer[..length]);
    }
    Ok(text)
}

/// Resident memory in KiB.
fn resident() -> Result<usize, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no figure")?;
    Ok(line.split_whitespace().nth(1).ok_or("no figure")?.parse()?)
}
