//! Two ends in one process, for tests and for servers inside their host.

use std::future::Future;
use std::pin::Pin;

use tokio::sync::{Mutex, mpsc};

use super::{Incoming, Outgoing, Transport, TransportFuture};
use crate::error::Error;

/// Messages on their way in one direction; a sender waits for room.
const ROOM: usize = 64;

/// One end of a pair. Messages are handed over as they are; dropping or closing an end ends the connection.
#[derive(Debug)]
pub struct MemoryTransport {
    sender: std::sync::Mutex<Option<mpsc::Sender<Incoming>>>,
    receiver: Mutex<mpsc::Receiver<Incoming>>,
}

/// Makes two connected ends. It does not matter which one the client gets.
pub fn pair() -> (MemoryTransport, MemoryTransport) {
    let (left_sender, right_receiver) = mpsc::channel(ROOM);
    let (right_sender, left_receiver) = mpsc::channel(ROOM);
    let end = |sender, receiver| MemoryTransport {
        sender: std::sync::Mutex::new(Some(sender)),
        receiver: Mutex::new(receiver),
    };
    (end(left_sender, left_receiver), end(right_sender, right_receiver))
}

impl Transport for MemoryTransport {
    fn receive(&self) -> TransportFuture<'_, Option<Incoming>> {
        Box::pin(async { Ok(self.receiver.lock().await.recv().await) })
    }

    fn send(&self, message: Outgoing) -> TransportFuture<'_, ()> {
        Box::pin(async move {
            let sender = crate::session::runtime::lock(&self.sender).clone();
            let closed = || Error::closed("the other end of the pair is closed");
            let sender = sender.ok_or_else(closed)?;
            sender.send(Incoming::new(message.message)).await.map_err(|_| closed())
        })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            crate::session::runtime::lock(&self.sender).take();
            // Whoever still sends to this end learns that nobody reads. A read under way ends by itself.
            if let Ok(mut receiver) = self.receiver.try_lock() {
                receiver.close();
            }
        })
    }
}
