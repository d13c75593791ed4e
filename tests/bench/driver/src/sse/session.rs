//! One MCP session over HTTP+SSE: the event stream, and a kept-alive connection to POST on.

use super::http::{Head, Http};
use crate::message::{self, Tool, check_echo, response_id};
use memchr::memmem;
use std::io::{Error, ErrorKind, Result};

pub struct Session {
    port: u16,
    events: Http,
    chunked: bool,
    /// What has arrived of the event stream and is not yet a whole event.
    pending: Vec<u8>,
    endpoint: String,
    post: Option<Http>,
}

impl Session {
    /// Opens the event stream and waits for the endpoint.
    pub async fn open(port: u16, path: &str) -> Result<Self> {
        let mut events = Http::connect(port).await?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\nCache-Control: no-store\r\n\r\n"
        );
        events.send(request.as_bytes()).await?;
        let head = events.head().await?;
        if head.status != 200 {
            return Err(Error::other(format!("GET {path}: {}", head.status)));
        }
        let mut session =
            Self { port, events, chunked: head.chunked, pending: Vec::new(), endpoint: String::new(), post: None };
        let (kind, data) = session.event().await?;
        if kind != "endpoint" {
            return Err(Error::other(format!("the first event is {kind:?}, not endpoint")));
        }
        let address = String::from_utf8_lossy(&data).into_owned();
        session.endpoint = match address.strip_prefix("http://") {
            Some(rest) => rest[rest.find('/').unwrap_or(0)..].to_owned(),
            None => address,
        };
        Ok(session)
    }

    /// Opens and does the handshake.
    pub async fn ready(port: u16, path: &str) -> Result<Self> {
        let mut session = Self::open(port, path).await?;
        session.post(message::initialize("2024-11-05").trim_end().as_bytes()).await?;
        session.answer(0).await?;
        session.post(message::INITIALIZED.trim_end().as_bytes()).await?;
        Ok(session)
    }

    /// Closes the connection that POSTs are sent on; the next POST opens another.
    pub fn close_post(&mut self) {
        self.post = None;
    }

    /// One checked call of `echo`.
    pub async fn call(&mut self, tool: &Tool, id: u64) -> Result<()> {
        let text = message::text_of(id);
        let mut body = Vec::new();
        tool.push_call(&mut body, id, &text);
        self.post(body.trim_ascii_end()).await?;
        let answer = self.answer(id).await?;
        check_echo(&answer, text.as_bytes()).map_err(|e| Error::other(e.to_string()))
    }

    async fn answer(&mut self, id: u64) -> Result<Vec<u8>> {
        loop {
            let (_, data) = self.event().await?;
            if response_id(&data) == Some(id) {
                return Ok(data);
            }
        }
    }

    async fn post(&mut self, body: &[u8]) -> Result<()> {
        let mut request = format!(
            "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.endpoint,
            self.port,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        let kept = self.post.take();
        let was_kept = kept.is_some();
        let mut connection = match kept {
            Some(connection) => connection,
            None => Http::connect(self.port).await?,
        };
        let outcome = match exchange(&mut connection, &request).await {
            Err(_) if was_kept => {
                // The server had dropped the kept connection; that is its right.
                connection = Http::connect(self.port).await?;
                exchange(&mut connection, &request).await
            }
            outcome => outcome,
        };
        let (head, body) = outcome?;
        if !head.close {
            self.post = Some(connection);
        }
        if (200..300).contains(&head.status) {
            return Ok(());
        }
        Err(Error::other(format!("POST: {} {}", head.status, String::from_utf8_lossy(&body))))
    }

    /// The next event that has data: its kind and its data.
    async fn event(&mut self) -> Result<(String, Vec<u8>)> {
        loop {
            while let Some(end) = event_end(&self.pending) {
                let raw: Vec<u8> = self.pending.drain(..end).collect();
                if let Some(event) = parse_event(&raw) {
                    return Ok(event);
                }
            }
            let more = if self.chunked { self.events.chunk().await? } else { self.events.some().await? };
            if more.is_empty() {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.pending.extend(more);
        }
    }
}

async fn exchange(connection: &mut Http, request: &[u8]) -> Result<(Head, Vec<u8>)> {
    connection.send(request).await?;
    let head = connection.head().await?;
    let body = connection.body(&head).await?;
    Ok((head, body))
}

/// Where the first event of `bytes` ends, its blank line included.
fn event_end(bytes: &[u8]) -> Option<usize> {
    let ends = [&b"\n\n"[..], b"\r\n\r\n"].map(|blank| memmem::find(bytes, blank).map(|at| at + blank.len()));
    ends.into_iter().flatten().min()
}

/// Kind and data; none for a comment or an event without data.
fn parse_event(raw: &[u8]) -> Option<(String, Vec<u8>)> {
    let (mut kind, mut data) = ("message".to_owned(), None::<Vec<u8>>);
    for line in raw.split(|b| *b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(value) = line.strip_prefix(b"event:") {
            kind = String::from_utf8_lossy(value.trim_ascii()).into_owned();
        } else if let Some(value) = line.strip_prefix(b"data:") {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => data = Some(value.to_vec()),
            }
        }
    }
    data.map(|data| (kind, data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_end_at_either_kind_of_blank_line() {
        assert_eq!(event_end(b"data: a\n\ndata: b\r\n\r\n"), Some(9));
        assert_eq!(event_end(b"data: b\r\n\r\ndata: a\n\n"), Some(11));
        assert_eq!(event_end(b"data: a\n"), None);
    }

    #[test]
    fn data_lines_are_joined_and_comments_skipped() {
        assert_eq!(parse_event(b"event: x\r\ndata: a\r\ndata:b\r\n\r\n"), Some(("x".into(), b"a\nb".to_vec())));
        assert_eq!(parse_event(b": ping\n\n"), None);
    }
}
