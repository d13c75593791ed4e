//! How a server meets its clients.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use super::Server;
use super::session::{ServerSession, SessionService, SessionState};
use crate::engine::CloseReason;
use crate::error::{Error, ErrorKind};
use crate::session::runtime::Executor;
use crate::session::{FdOutlet, Outlet, Pump, Session, Setup, ThreadOutlet, relay, session_id};
use crate::transport::Transport;

/// How long the last answers may take to leave after the session has ended.
const LAST_ANSWERS: Duration = Duration::from_millis(400);

impl Server {
    /// Serves the process's own stdin and stdout until the client ends the session or it is closed; the calling thread
    /// waits for that.
    ///
    /// This is the whole life of a stdio server: when the input ends, calls already accepted may finish within
    /// `limits.eof_grace` (1 s), their answers are written, and this returns (DOWN-04). The program should end then. A
    /// handler that still blocks does not keep it from that; if the session was closed on this side, the thread that reads
    /// waits for one more line and ends then.
    ///
    /// For programs that have a tokio runtime, there is [`serve_stdio`](Server::serve_stdio).
    pub fn run_stdio(&self) -> Result<CloseReason, Error> {
        let (session, guard) = self.open_stdio()?;
        let reason = session.wait_closed();
        session.wait_sent(LAST_ANSWERS);
        drop(guard);
        Ok(reason)
    }

    /// Serves the process's own stdin and stdout on a thread of its own, until the client ends the session or it is
    /// closed.
    ///
    /// Handlers that suspend continue on the runtime of the caller. The thread ends when the input does; if the session
    /// is closed before that, it waits for one more line and ends then.
    pub async fn serve_stdio(&self) -> Result<CloseReason, Error> {
        let (session, guard) = self.open_stdio()?;
        let reason = session.closed().await;
        flushed(session).await;
        drop(guard);
        Ok(reason)
    }

    fn open_stdio(&self) -> Result<(Arc<Session>, Option<stdio::Guard>), Error> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Transport, format!("stdin and stdout cannot be used: {error}"))
        };
        let (input, output, guard) = stdio::take(self.inner.guard_stdio).map_err(failed)?;
        let session = self.open(Box::new(FdOutlet::new(output)), Box::new(input))?;
        Ok((session.session, guard))
    }

    /// Begins a session over blocking byte streams, one message a line, as on stdio. `reader` and `writer` are used on
    /// threads of their own, which end when the streams do.
    pub fn serve_io(
        &self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<ServerSession, Error> {
        let outlet = ThreadOutlet::new(Box::new(writer)).map_err(|error| no_thread(&error))?;
        self.open(Box::new(outlet), Box::new(reader))
    }

    /// Begins a session over a transport of any kind. Handlers run on the runtime of the caller, or on one of ours.
    pub fn serve(&self, transport: impl Transport) -> ServerSession {
        let (setup, state) = self.setup();
        let session = relay(setup, Arc::new(transport));
        self.inner.hub.add(&session, &state);
        ServerSession { session, state }
    }

    /// Begins a session whose transport hands in messages by itself.
    #[cfg(feature = "sse-server")]
    pub(crate) fn begin(&self, outlet: Box<dyn Outlet>) -> Arc<Session> {
        let (setup, state) = self.setup();
        let session = Session::new(setup, outlet);
        self.inner.hub.add(&session, &state);
        session
    }

    fn setup(&self) -> (Setup, Arc<SessionState>) {
        let state = Arc::new(SessionState::new(Arc::clone(&self.inner)));
        let setup = Setup {
            id: session_id(),
            config: self.inner.session_config(),
            service: Arc::new(SessionService { state: Arc::clone(&state) }),
            tap: self.inner.tap.clone(),
        };
        (setup, state)
    }

    fn open(&self, outlet: Box<dyn Outlet>, reader: Box<dyn Read + Send>) -> Result<ServerSession, Error> {
        let (setup, state) = self.setup();
        let session = Session::new(setup, outlet);
        self.inner.hub.add(&session, &state);
        Pump::new(Arc::clone(&session), reader, Box::new(|| None)).spawn().map_err(|error| no_thread(&error))?;
        Ok(ServerSession { session, state })
    }
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Transport, format!("no thread can be started: {error}"))
}

/// Waits off the runtime until the last answers are out.
async fn flushed(session: Arc<Session>) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    if session.unsent_bytes() > 0 {
        Executor::spawn_blocking(move || {
            session.wait_sent(LAST_ANSWERS);
            // Whoever waited may be gone.
            let _ = sender.send(());
        });
        // An error only says that the waiting is over.
        let _ = receiver.await;
    }
}

/// The process's own stdin and stdout.
mod stdio {
    use std::io;

    use super::File;

    /// Gives the descriptors back when the session is over.
    #[derive(Debug)]
    pub(super) struct Guard {
        #[cfg(unix)]
        input: File,
        #[cfg(unix)]
        output: File,
    }

    /// Files for the protocol's input and output. With `guard`, descriptors 0 and 1 are replaced for everybody else: stdout
    /// by stderr, stdin by nothing. Descriptors are never made non-blocking, because others may share them.
    #[cfg(unix)]
    pub(super) fn take(guard: bool) -> io::Result<(File, File, Option<Guard>)> {
        use std::os::fd::AsFd;

        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        if !guard {
            return Ok((input, output, None));
        }
        let kept = Guard { input: input.try_clone()?, output: output.try_clone()? };
        let nothing = File::open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok((input, output, Some(kept)))
    }

    #[cfg(unix)]
    impl Drop for Guard {
        fn drop(&mut self) {
            // Nothing is lost if it fails: the process goes on with what it has.
            let _ = rustix::stdio::dup2_stdin(&self.input);
            let _ = rustix::stdio::dup2_stdout(&self.output);
        }
    }

    /// Without a guard: the handles of the process are duplicated and otherwise left alone.
    #[cfg(windows)]
    pub(super) fn take(_guard: bool) -> io::Result<(File, File, Option<Guard>)> {
        use std::os::windows::io::AsHandle;

        let input = File::from(io::stdin().as_handle().try_clone_to_owned()?);
        let output = File::from(io::stdout().as_handle().try_clone_to_owned()?);
        Ok((input, output, None))
    }
}
