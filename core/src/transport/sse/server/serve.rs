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

use super::sessions::{LAST_ANSWERS, ShutdownReport, SseHandle};
use super::stream::Cut;
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
        let stop = Arc::new(watch::Sender::new(false));
        tokio::spawn(accept(listener, router, header_time, Arc::clone(&stop)));
        Ok(SseServer { handle, address, stop })
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

    /// Ends the sessions in good order, see [`SseHandle::shutdown`]; then stops listening and ends all connections.
    pub async fn shutdown(&self, grace: Duration) -> ShutdownReport {
        let report = self.handle.shutdown(grace).await;
        self.stop.send_replace(true);
        // Each connection looks at it until it ends, and none takes longer than the last answers may.
        self.stop.closed().await;
        report
    }
}

async fn accept(listener: TcpListener, router: Router, header_time: Duration, stop: Arc<watch::Sender<bool>>) {
    let mut stopped = stop.subscribe();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = told(&mut stopped) => return,
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
    let cut = Cut::default();
    let cut_by_stream = cut.clone();
    let service = hyper::service::service_fn(move |mut request: http::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request.extensions_mut().insert(cut_by_stream.clone());
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
        served = connection.as_mut() => Some(served),
        () = cut.happened() => None,
        () = told(&mut stopped) => {
            connection.as_mut().graceful_shutdown();
            tokio::time::timeout(LAST_ANSWERS, connection).await.ok()
        }
    };
    match served {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::debug!(%error, "an HTTP connection ended badly"),
        None => tracing::debug!("an HTTP connection was cut, because the other side does not read"),
    }
}

async fn told(stopped: &mut watch::Receiver<bool>) {
    // An error says that nobody is there who could tell.
    if stopped.wait_for(|stopped| *stopped).await.is_err() {
        std::future::pending::<()>().await;
    }
}
