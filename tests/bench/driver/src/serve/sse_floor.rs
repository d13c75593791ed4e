//! The minimal HTTP+SSE server: one-threaded tokio, HTTP/1.1 by hand, `serde_json::Value`.

use super::floor::{dispatch, tools};
use memchr::memmem;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

struct Server {
    tools: Value,
    /// The event streams, by the number of the connection that opened each.
    sessions: RefCell<HashMap<u64, UnboundedSender<Vec<u8>>>>,
}

/// Serves on 127.0.0.1 until it is killed.
pub fn serve(port: u16) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async move {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let server = Rc::new(Server { tools: tools(), sessions: RefCell::default() });
        for number in 1.. {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let server = server.clone();
            tokio::task::spawn_local(async move {
                // A peer that breaks its connection is no fault of the server's; it only takes its session with it.
                let _ = server.connection(stream, number).await;
                server.sessions.borrow_mut().remove(&number);
            });
        }
        Ok(())
    })
}

impl Server {
    async fn connection(&self, mut stream: TcpStream, number: u64) -> io::Result<()> {
        let mut buffer: Vec<u8> = Vec::with_capacity(2048);
        loop {
            let body = loop {
                if let Some(end) = memmem::find(&buffer, b"\r\n\r\n") {
                    break end + 4;
                }
                if stream.read_buf(&mut buffer).await? == 0 {
                    return Ok(());
                }
            };
            if buffer.starts_with(b"GET ") {
                return self.events(stream, number).await;
            }
            let head = String::from_utf8_lossy(&buffer[..body]);
            let length = content_length(&head);
            let session = session_number(&head);
            while buffer.len() < body + length {
                if stream.read_buf(&mut buffer).await? == 0 {
                    return Ok(());
                }
            }
            let message: Value = serde_json::from_slice(&buffer[body..body + length]).unwrap_or(Value::Null);
            buffer.drain(..body + length);
            stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n").await?;
            if let Some(reply) = dispatch(&message, &self.tools)
                && let Some(sender) = session.and_then(|s| self.sessions.borrow().get(&s).cloned())
            {
                // Fails only if the session has just ended.
                let _ = sender.send(event("message", &serde_json::to_vec(&reply)?));
            }
        }
    }

    /// The event stream of a session, until the client closes it.
    async fn events(&self, mut stream: TcpStream, number: u64) -> io::Result<()> {
        let (sender, mut replies) = unbounded_channel();
        self.sessions.borrow_mut().insert(number, sender);
        let mut head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
            Transfer-Encoding: chunked\r\n\r\n"
            .to_vec();
        head.extend(event("endpoint", format!("/m?s={number}").as_bytes()));
        stream.write_all(&head).await?;
        let mut byte = [0];
        loop {
            tokio::select! {
                reply = replies.recv() => match reply {
                    Some(reply) => stream.write_all(&reply).await?,
                    None => return Ok(()),
                },
                read = stream.read(&mut byte) => if read? == 0 { return Ok(()) },
            }
        }
    }
}

fn content_length(head: &str) -> usize {
    head.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse().ok())
        .unwrap_or(0)
}

fn session_number(head: &str) -> Option<u64> {
    let (_, rest) = head.split_once("?s=")?;
    rest.split(' ').next()?.parse().ok()
}

/// One event, as one HTTP chunk.
fn event(kind: &str, data: &[u8]) -> Vec<u8> {
    let mut event = format!("event: {kind}\ndata: ").into_bytes();
    event.extend_from_slice(data);
    event.extend_from_slice(b"\n\n");
    let mut chunk = format!("{:x}\r\n", event.len()).into_bytes();
    chunk.extend(event);
    chunk.extend_from_slice(b"\r\n");
    chunk
}
