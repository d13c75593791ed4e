//! As much HTTP/1.1 as a client of HTTP+SSE needs: response heads, bodies by length or in chunks.

use memchr::memmem;
use std::io::{Error, ErrorKind, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Http {
    stream: TcpStream,
    buffer: Vec<u8>,
    read: usize,
}

pub struct Head {
    pub status: u16,
    pub chunked: bool,
    pub close: bool,
    length: usize,
}

impl Http {
    pub async fn connect(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096), read: 0 })
    }

    pub async fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).await
    }

    async fn fill(&mut self) -> Result<()> {
        self.buffer.drain(..self.read);
        self.read = 0;
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let bytes = self.buffer[self.read..self.read + count].to_vec();
        self.read += count;
        bytes
    }

    /// Up to and including `pattern`.
    async fn until(&mut self, pattern: &[u8]) -> Result<Vec<u8>> {
        loop {
            if let Some(at) = memmem::find(&self.buffer[self.read..], pattern) {
                return Ok(self.take(at + pattern.len()));
            }
            self.fill().await?;
        }
    }

    async fn exactly(&mut self, count: usize) -> Result<Vec<u8>> {
        while self.buffer.len() - self.read < count {
            self.fill().await?;
        }
        Ok(self.take(count))
    }

    /// Whatever arrives next.
    pub async fn some(&mut self) -> Result<Vec<u8>> {
        if self.read == self.buffer.len() {
            self.fill().await?;
        }
        Ok(self.take(self.buffer.len() - self.read))
    }

    pub async fn head(&mut self) -> Result<Head> {
        let head = self.until(b"\r\n\r\n").await?;
        let text = String::from_utf8_lossy(&head).to_lowercase();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        let header = |name: &str| {
            let mut fields = text.lines().filter_map(|line| line.split_once(':'));
            fields.find(|(n, _)| *n == name).map_or("", |(_, value)| value.trim())
        };
        Ok(Head {
            status: status.ok_or_else(|| Error::other(format!("no HTTP response: {text:?}")))?,
            length: header("content-length").parse().unwrap_or(0),
            chunked: header("transfer-encoding").contains("chunked"),
            close: header("connection").contains("close"),
        })
    }

    /// One chunk; an empty one is the end of the body.
    pub async fn chunk(&mut self) -> Result<Vec<u8>> {
        let line = self.until(b"\r\n").await?;
        let text = String::from_utf8_lossy(&line);
        let digits = text.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(digits, 16).map_err(|_| Error::other(format!("no chunk size: {text:?}")))?;
        let mut data = self.exactly(size + 2).await?;
        data.truncate(size);
        Ok(data)
    }

    pub async fn body(&mut self, head: &Head) -> Result<Vec<u8>> {
        if !head.chunked {
            return self.exactly(head.length).await;
        }
        let mut body = Vec::new();
        loop {
            let chunk = self.chunk().await?;
            if chunk.is_empty() {
                return Ok(body);
            }
            body.extend(chunk);
        }
    }
}
