//! Making a connection: starting a child, opening streams, and the handshake.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::inner::Inner;
use super::time::within;
use crate::engine::CloseReason;
use crate::error::{Error, ErrorKind};
use crate::middleware::BoxFuture;
use crate::session::runtime::Executor;
use crate::session::{FdOutlet, Pump, Session, ThreadOutlet, relay};
use crate::transport::Transport;
use crate::transport::child::{Child, ChildCommand, SpawnError};

/// How long a child whose output has ended may take to exit before its end is reported without a status.
const EXIT_WAIT: Duration = Duration::from_millis(250);

/// How much of a child's last words an error shows, in characters.
const LAST_WORDS: usize = 1000;

/// Makes a transport, each time a new connection is needed.
pub(super) type MakeTransport = Arc<dyn Fn() -> BoxFuture<Result<Arc<dyn Transport>, Error>> + Send + Sync>;

/// How a client comes to its connections.
pub(super) enum Connector {
    /// By starting a server as a child process (STDIO-01).
    Child(ChildCommand),
    /// By a closure of the application.
    Custom(MakeTransport),
    /// It was given one, and there is no other.
    Given,
}

impl Inner {
    /// Makes the connection that the connector stands for.
    pub(super) async fn open(self: &Arc<Self>) -> Result<Arc<Session>, Error> {
        match &self.connector {
            Connector::Child(command) => self.open_child(command.clone()).await,
            Connector::Custom(make) => {
                let begun = Instant::now();
                let limit = self.options.connect_timeout;
                let timeout = || Err(Error::new(ErrorKind::Timeout, "no connection was made in time"));
                let transport = within(limit, make()).await.unwrap_or_else(timeout)?;
                self.open_transport(transport, limit.map(|limit| limit.saturating_sub(begun.elapsed()))).await
            }
            Connector::Given => Err(Error::closed("the connection has ended, and there is no way to make a new one")),
        }
    }

    /// Makes a connection in place of one that was lost, and tells the new session what the old one knew.
    pub(super) async fn open_again(self: &Arc<Self>) -> Result<(), Error> {
        self.forget_failure();
        let session = self.open().await?;
        self.restore().apply(self, &session).await;
        self.go_live(&session).map_err(|reason| reason.error())
    }

    /// A connection over a transport.
    pub(super) async fn open_transport(
        self: &Arc<Self>,
        transport: Arc<dyn Transport>,
        limit: Option<Duration>,
    ) -> Result<Arc<Session>, Error> {
        let session = relay(self.setup(), transport);
        self.attach(&session, None);
        handshake(session, limit).await
    }

    /// A connection over streams with blocking reads and writes.
    pub(super) async fn open_streams(
        self: &Arc<Self>,
        reader: Box<dyn Read + Send>,
        writer: Box<dyn Write + Send>,
    ) -> Result<Arc<Session>, Error> {
        let outlet = ThreadOutlet::new(writer).map_err(|error| no_thread(&error))?;
        let session = Session::new(self.setup(), Box::new(outlet));
        self.attach(&session, None);
        let pump = Pump::new(Arc::clone(&session), reader, Box::new(|| None));
        pump.spawn().map_err(|error| no_thread(&error))?;
        handshake(session, self.options.connect_timeout).await
    }

    async fn open_child(self: &Arc<Self>, command: ChildCommand) -> Result<Arc<Session>, Error> {
        let child = command.spawn().map_err(not_started)?;
        let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(Error::new(ErrorKind::Spawn, "the child process has no pipes"));
        };
        let session = Session::new(self.setup(), Box::new(FdOutlet::new(into_file(stdin))));
        self.attach(&session, Some(child));
        let ended = self.child();
        let detail = move || ended.as_ref().map(|child| last_words(child));
        let pump = Pump::new(Arc::clone(&session), Box::new(stdout), Box::new(detail));
        pump.spawn().map_err(|error| no_thread(&error))?;
        let opened = handshake(session, self.options.connect_timeout).await;
        if opened.is_err() {
            // The program may end right after this: the child has to be gone before.
            self.child_gone().await;
        }
        opened
    }

    /// Ends the child without much ado and waits until it has.
    async fn child_gone(&self) {
        let Some(child) = self.child() else { return };
        child.abandon();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        Executor::spawn_blocking(move || {
            child.close();
            // Whoever waited may be gone.
            let _ = sender.send(());
        });
        let _ = receiver.await;
    }
}

/// Begins the handshake and waits for its end. A session that fails in it has closed itself (LIFE-12).
async fn handshake(session: Arc<Session>, limit: Option<Duration>) -> Result<Arc<Session>, Error> {
    session.start(limit);
    match session.ready().await {
        Ok(()) => Ok(session),
        Err(CloseReason::Local) => Err(Error::closed("the connection was given up before the handshake was done")),
        Err(reason) => Err(reason.error()),
    }
}

/// How a child came to its end, for the error that pending calls get (STDIO-13, FC-013).
fn last_words(child: &Child) -> String {
    let ending = match child.wait_timeout(EXIT_WAIT) {
        Some(status) => match status.code {
            Some(code) => format!("the server exited with code {code}"),
            None => format!("the server was ended by {status}"),
        },
        None => "the server closed its output".to_owned(),
    };
    // What the server wrote is data: no control character of it reaches a terminal by way of our errors (SEC-08).
    let words: String =
        child.stderr_tail().chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect();
    let length = words.chars().count();
    if words.is_empty() {
        return ending;
    }
    let words: String = words.chars().skip(length.saturating_sub(LAST_WORDS)).collect();
    format!("{ending}; stderr: {words}")
}

#[cfg(unix)]
fn into_file(stdin: crate::transport::child::ChildStdin) -> File {
    File::from(std::os::fd::OwnedFd::from(stdin))
}

#[cfg(windows)]
fn into_file(stdin: crate::transport::child::ChildStdin) -> File {
    File::from(std::os::windows::io::OwnedHandle::from(stdin))
}

fn not_started(error: SpawnError) -> Error {
    Error::new(ErrorKind::Spawn, error.to_string()).with_source(error)
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Transport, format!("no thread can be started for the connection: {error}"))
}
