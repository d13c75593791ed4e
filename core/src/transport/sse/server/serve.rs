//! A listener of our own for servers that are not part of a larger app.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::watch;
use tower::ServiceExt;

use super::sessions::{SseHandle, ShutdownReport};
use super::{LocalAddr, SseOptions};
use crate::error::{Error, ErrorKind};
use crate::server::Server;

/// The head of a request must fit into this.
const HEAD_BYTES: usize = 16 * 1024;

/// A server that listens. Dropping it changes nothing; [`shutdown`](SseServer::shutdown) ends it.
pub struct SseServer {
    handle: SseHandle,
    address: SocketAddr,
    stop: Arc<watch::Sender<bool>>,
}

impl Server {
    /// Listens on `address` and serves HTTP with SSE on the runtime of the caller.
    ///
    /// Bind to a loopback address such as `127.0.0.1:8080` unless the server is meant to be reached from elsewhere
    /// (SSE-06); then say with [`allow_host`](SseOptions::allow_host) under which names.
    pub async fn serve_sse(&self, address: impl ToSocketAddrs, options: SseOptions) -> Result<SseServer, Error> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Transport, format!("the address cannot be listened on: {error}"))
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let header_time = options.header_time;
        let (router, handle) = self.sse_router(options);
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(accept(listener, router, header_time, stopped));
        Ok(SseServer { handle, address, stop: Arc::new(stop) })
    }
}

impl SseServer {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The sessions and counts.
    pub fn handle(&self) -> &SseHandle {
        &self.handle
    }

    /// Stops listening and ends the sessions in good order; see [`SseHandle::shutdown`].
    pub async fn shutdown(&self, grace: Duration) -> ShutdownReport {
        let report = self.handle.shutdown(grace).await;
        let _ = self.stop.send(true);
        report
    }
}

async fn accept(listener: TcpListener, router: Router, header_time: Duration, mut stopped: watch::Receiver<bool>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                tokio::spawn(serve(stream, peer, router.clone(), header_time, stopped.clone()));
            }
            Err(error) => {
                // Out of descriptors, most likely: others will be closed in a moment.
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    header_time: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let local = stream.local_addr().ok();
    let service = hyper::service::service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        if let Some(local) = local {
            request.extensions_mut().insert(LocalAddr(local));
        }
        router.clone().oneshot(request)
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header_time)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "an HTTP connection ended badly");
    }
}
