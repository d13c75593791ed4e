//! The client: typed calls to a server, and callbacks for what the server asks and tells.
//!
//! ```no_run
//! # async fn run() -> Result<(), mcp_native::Error> {
//! use mcp_native::Client;
//!
//! let client = Client::stdio("my-server", ["--verbose"]).await?;
//! for tool in client.list_all_tools().await? {
//!     println!("{}", tool.name);
//! }
//! let result = client.call_tool("add", serde_json::json!({ "a": 1, "b": 2 })).await?;
//! println!("{:?}", result.texts().collect::<Vec<_>>());
//! client.close().await;
//! # Ok(()) }
//! ```
//!
//! # Consent and trust
//!
//! A server is a stranger's program: its tools run code, and what it says of itself, of its tools and in its results is
//! data, not instruction. The library sends and answers nothing by itself but the handshake, pings and what a handler was
//! given for; everything else is the application's decision, made in these places:
//!
//! * **Calling a tool** runs code somewhere. A [`Middleware`](crate::middleware::Middleware) whose `outgoing_request`
//!   asks the person, shows the arguments and may refuse, sees every call before a byte of it is written (SEC-01, SEC-03);
//!   the same place serves for limits and an audit log.
//! * **Sampling** lets a server use the person's model. Without [`on_sampling`](ClientBuilder::on_sampling) it is not even
//!   declared. The handler, or a middleware's `incoming_request` around it, shows the person the prompt and the answer, and
//!   may change or refuse either (SEC-04).
//! * **Roots** tell a server of the person's folders: only those in [`roots`](ClientBuilder::roots) or from
//!   [`on_roots`](ClientBuilder::on_roots), less what [`allow_root`](ClientBuilder::allow_root) holds back (SEC-02).
//! * **Recordings** at the [`tap`](ClientBuilder::tap) hold all that is said; [`Tap::redact`](crate::transport::Tap::redact)
//!   takes secrets out. Logs and errors of the library hold no arguments, environment or results.
//! * **Text of a server** on its way to a terminal should lose its control characters first (SEC-08). Error messages of
//!   this library have none from the server's stderr.
//!
//! # Connections
//!
//! A [`Client`] stands for one connection to one server, and servers learn nothing of each other (SEC-05). No runtime is
//! needed: the futures work on any executor, and callbacks that suspend run on the tokio runtime in which the client was
//! connected, or else on one of the library's.

mod builder;
mod calls;
mod cancel;
mod completer;
mod connect;
mod context;
mod handlers;
mod inner;
mod pages;
mod pending;
mod reconnect;
mod request;
mod roots;
mod service;
mod state;
mod time;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::engine::{CloseReason, Peer};
use crate::error::Error;
use crate::middleware::Message;
use crate::protocol::{Implementation, Json, Method, MethodKind, Revision, Root, ServerCapabilities};
use crate::session::Session;
use crate::session::runtime::{Clock, thread};
use crate::transport::child::{ChildCommand, ExitReport, ExitStatus};

use inner::Inner;

pub use builder::ClientBuilder;
pub use cancel::CancelToken;
pub use completer::Completer;
pub use context::HandlerContext;
pub use pages::{Items, Walk};
pub use pending::Pending;
pub use reconnect::ReconnectPolicy;
pub use request::Request;
pub use state::{ClientState, States};

/// A connection to a server. Clones are handles to the same connection, cheap to make.
///
/// The connection ends with [`close`](Client::close), with the server, or when the last handle is dropped; dropping does
/// not wait, a child process is ended in the background (DOWN-07). A program that ends right after a drop does not end
/// a server that ignores the end of its input: call [`close`](Client::close) before.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// Ends the connection with the last handle. The handles of handlers have none.
    _guard: Option<Arc<Guard>>,
}

/// Ends the connection when it is dropped.
struct Guard {
    inner: Arc<Inner>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(session) = self.inner.abandon() {
            // Closing calls back to the application, which is nothing a destructor should do.
            Clock::at(Instant::now(), move || session.close(CloseReason::Local));
        }
    }
}

impl Client {
    /// Begins to describe a client; `name` and `version` are what it tells the server of itself.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name.into(), version.into())
    }

    /// Starts a server as a child process and connects to it, with all defaults and no callbacks. The client tells the
    /// server the name of this library. For more see [`ClientBuilder::stdio`].
    pub async fn stdio<A: AsRef<std::ffi::OsStr>>(
        program: impl AsRef<std::ffi::OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Client, Error> {
        let builder = Client::builder(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"));
        builder.stdio(ChildCommand::new(program).args(args)).await
    }

    /// Hands the client out if its first connection stands.
    fn begin(self, opened: Result<Arc<Session>, Error>) -> Result<Client, Error> {
        let live = opened.and_then(|session| self.inner.go_live(&session).map_err(|reason| reason.error()));
        match live {
            Ok(()) => Ok(self),
            Err(error) => {
                let reason = self.inner.failure(error.clone());
                self.inner.set_state(ClientState::Closed(reason));
                Err(error)
            }
        }
    }

    /// What the server said of itself in the handshake, all of it; in
    /// [`Peer::raw`](crate::engine::Peer::raw) as it was received. `None` only while a lost connection is made anew and
    /// nothing was said yet.
    pub fn peer(&self) -> Option<Arc<Peer>> {
        self.inner.peer()
    }

    /// The server's name and version.
    pub fn server_info(&self) -> Option<Implementation> {
        self.peer().map(|peer| peer.info.clone())
    }

    /// The server's instructions for the model, verbatim (LIFE-14).
    pub fn instructions(&self) -> Option<String> {
        self.peer()?.instructions.clone()
    }

    /// What the server can do. Capabilities that the protocol does not know are in `extra` (CAP-04).
    pub fn capabilities(&self) -> ServerCapabilities {
        let read = |peer: Arc<Peer>| serde_json::from_value(peer.capabilities.clone().into()).ok();
        self.peer().and_then(read).unwrap_or_default()
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.inner.revision()
    }

    /// The id of the session on this side: unguessable, unique to the connection of the moment, and that of the records
    /// at the [tap](ClientBuilder::tap). `None` when there is no connection.
    pub fn session_id(&self) -> Option<Arc<str>> {
        self.inner.session().ok().map(|session| Arc::clone(&session.id))
    }

    /// The process id of the server, if it is a child process.
    pub fn pid(&self) -> Option<u32> {
        self.inner.child().map(|child| child.pid())
    }

    /// How the server's process ended, if it is a child process and has ended (STDIO-13).
    pub fn exit_status(&self) -> Option<ExitStatus> {
        self.inner.child()?.try_exit_status()
    }

    /// Sends a notification of the application's own, or any other that clients may send. `params` must be an object.
    ///
    /// Fails without writing anything if the connection has ended or the client did not declare the capability. The
    /// notifications of the handshake, of progress and of cancellation are sent by the library alone.
    pub fn notify(&self, method: &str, params: Option<Json>) -> Result<(), Error> {
        let method = Method::from_name(method, MethodKind::Notification);
        if matches!(method, Method::Initialized | Method::Cancelled | Method::Progress) {
            return Err(request::reserved(&method));
        }
        request::check_object(&method, params.as_ref())?;
        self.send_notification(method, params)
    }

    fn send_notification(&self, method: Method, params: Option<Json>) -> Result<(), Error> {
        let session = self.inner.session()?;
        let stack = &self.inner.options.handlers.middleware;
        if stack.is_empty() {
            return session.notify(&method, params.as_ref(), None);
        }
        let message = Message::new(method, params, Arc::clone(&session.id), session.peer());
        match stack.outgoing_notification(message) {
            Some(message) => session.notify(&message.method, message.params.as_ref(), None),
            None => Ok(()),
        }
    }

    /// Replaces the list of roots and tells the server that it changed, once, unless the client was built not to
    /// [announce](ClientBuilder::announce_roots) it (ROOT-04).
    ///
    /// Fails and changes nothing if a root may not be told (ROOT-03, ROOT-06) or the client was built without a list
    /// (CAP-09). Fails with [`Closed`](crate::ErrorKind::Closed), with the list replaced, if there is no connection.
    pub fn set_roots(&self, roots: impl IntoIterator<Item = Root>) -> Result<(), Error> {
        self.inner.set_roots(roots.into_iter().collect())?;
        if self.inner.options.announce_roots { self.send_notification(Method::RootsChanged, None) } else { Ok(()) }
    }

    /// Tells the server that the roots which the callback of this client gives have changed. Fails unless the client was
    /// built to [announce](ClientBuilder::announce_roots) changes.
    pub fn roots_changed(&self) -> Result<(), Error> {
        self.send_notification(Method::RootsChanged, None)
    }

    /// Ends the connection: pending calls fail, running handlers are told to stop, a lost connection is not made anew.
    /// Nothing is said to the server, the end of the transport is the signal (DOWN-01). A child process is asked to
    /// exit, and forced to if it does not (DOWN-02).
    ///
    /// Returns when all that is done, at the latest a second after the graces of the child; then with how it ended, if
    /// there was a child. A second call waits for the same end.
    pub async fn close(&self) -> Option<ExitReport> {
        if let Some(session) = self.inner.give_up() {
            session.close(CloseReason::Local);
        }
        self.inner.states.closed().await;
        let child = self.inner.child()?;
        let (sender, receiver) = oneshot::channel();
        let wait = move || {
            let _ = sender.send(child.close());
        };
        thread("mcp-close", wait).ok()?;
        receiver.await.ok()
    }

    /// Whether the connection has ended for good.
    pub fn is_closed(&self) -> bool {
        matches!(self.inner.states.current(), ClientState::Closed(_))
    }

    /// Waits for the end of the connection, and tells what ended it.
    pub async fn closed(&self) -> CloseReason {
        self.inner.states.closed().await
    }

    /// Where the connection stands, now and later.
    pub fn state(&self) -> States {
        self.inner.states.watch()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let server = self.peer().map(|peer| peer.info.name.clone());
        f.debug_struct("Client")
            .field("server", &server)
            .field("state", &format_args!("{}", self.inner.states.current()))
            .finish_non_exhaustive()
    }
}
