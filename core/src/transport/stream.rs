//! A transport over tokio byte streams: sockets, pipes of a runtime, anything that reads and writes.

use std::future::Future;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Mutex;

use super::lines::{Line, LineBuffer};
use super::{Incoming, Outgoing, Transport, TransportFuture};
use crate::engine::Limits;
use crate::error::{Error, ErrorKind};

/// One message a line, as on stdio, over any pair of asynchronous byte streams.
///
/// For blocking readers and writers there is [`Server::serve_io`](crate::Server::serve_io) and
/// [`ClientBuilder::connect_io`](crate::client::ClientBuilder::connect_io), which cost less.
pub struct StreamTransport<R, W> {
    reader: Mutex<Reading<R>>,
    writer: Mutex<Option<W>>,
}

struct Reading<R> {
    reader: R,
    lines: LineBuffer,
    scratch: Box<[u8]>,
    ended: bool,
}

impl<R, W> StreamTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    /// Messages of up to the default limit.
    pub fn new(reader: R, writer: W) -> Self {
        Self::with_limit(reader, writer, Limits::default().message_in)
    }

    /// Messages of up to `limit` bytes; longer ones are skipped.
    pub fn with_limit(reader: R, writer: W, limit: usize) -> Self {
        let lines = LineBuffer::new(limit);
        let reading = Reading { reader, lines, scratch: vec![0; 16 * 1024].into_boxed_slice(), ended: false };
        StreamTransport { reader: Mutex::new(reading), writer: Mutex::new(Some(writer)) }
    }
}

impl<R: AsyncRead + Unpin> Reading<R> {
    /// Safe to drop at any await: what was read is in the buffer.
    async fn next(&mut self) -> Result<Option<Incoming>, Error> {
        loop {
            let line = match self.lines.next_line() {
                None if self.ended => self.lines.rest(),
                line => line,
            };
            match line {
                Some(Line::Whole(frame)) => return Ok(Some(Incoming::new(frame))),
                Some(Line::TooLong { beginning }) => return Ok(Some(Incoming::oversized(beginning))),
                None if self.ended => return Ok(None),
                None => {}
            }
            let read = self.reader.read(&mut self.scratch).await.map_err(|error| failed("reading from", &error))?;
            self.ended = read == 0;
            self.lines.push(&self.scratch[..read]);
        }
    }
}

impl<R, W> Transport for StreamTransport<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    fn receive(&self) -> TransportFuture<'_, Option<Incoming>> {
        Box::pin(async { self.reader.lock().await.next().await })
    }

    fn send(&self, message: Outgoing) -> TransportFuture<'_, ()> {
        Box::pin(async move {
            let mut writer = self.writer.lock().await;
            let writer = writer.as_mut().ok_or_else(|| Error::closed("the stream is closed"))?;
            let mut line = Vec::with_capacity(message.message.len() + 1);
            line.extend_from_slice(&message.message);
            line.push(b'\n');
            writer.write_all(&line).await.map_err(|error| failed("writing to", &error))?;
            writer.flush().await.map_err(|error| failed("writing to", &error))
        })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            if let Some(mut writer) = self.writer.lock().await.take() {
                // The other side may be gone already.
                let _ = writer.shutdown().await;
            }
        })
    }
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Transport, format!("{what} the peer failed: {error}"))
}
