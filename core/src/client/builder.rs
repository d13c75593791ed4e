//! What a client is built with.

use std::future::Future;
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::connect::Connector;
use super::context::HandlerContext;
use super::handlers::{Handlers, RootsSource, handler};
use super::inner::{Inner, Options};
use super::reconnect::ReconnectPolicy;
use super::state::ClientState;
use super::{Client, Guard, roots};
use crate::engine::{Diagnostic, KeepAlive, Limits, Local, TimeLimit};
use crate::error::{Error, ErrorKind};
use crate::middleware::{BoxFuture, Middleware, Stack};
use crate::protocol::{
    CreateMessageRequest, CreateMessageResult, Implementation, Json, LoggingMessageNotification, Method, MethodKind,
    Revision, Root,
};
use crate::transport::child::ChildCommand;
use crate::transport::{Tap, Transport};

/// How long a connection may take to be made, unless said otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Describes a client: its name, limits and callbacks; then connects it. Made by [`Client::builder`].
///
/// What it says of itself is settled when it connects and holds for the whole session (CAP-09): sampling and roots are
/// declared exactly if a handler for them is given (SAMP-01, ROOT-01). Mistakes in what was given are reported by the
/// methods that connect.
///
/// Callbacks that are not asynchronous are called on the thread that reads from the server, in the order of arrival. They
/// must not block: work that takes long belongs into a task or thread of its own.
#[must_use = "a client does nothing until it is connected"]
pub struct ClientBuilder {
    options: Options,
    experimental: Map<String, Value>,
    roots: Vec<Root>,
    layers: Vec<Arc<dyn Middleware>>,
    announce_roots: Option<bool>,
    problem: Option<Error>,
}

impl ClientBuilder {
    pub(super) fn new(name: String, version: String) -> ClientBuilder {
        ClientBuilder {
            options: Options {
                local: Local::new(Implementation::new(name, version)),
                revisions: Revision::IMPLEMENTED.to_vec(),
                limits: Limits::default(),
                time_limit: TimeLimit::DEFAULT,
                connect_timeout: Some(CONNECT_TIMEOUT),
                keep_alive: None,
                tap: None,
                lenient: false,
                announce_roots: false,
                reconnect: None,
                handlers: Handlers::default(),
            },
            experimental: Map::new(),
            roots: Vec::new(),
            layers: Vec::new(),
            announce_roots: None,
            problem: None,
        }
    }

    /// The bounds on messages, memory and work.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.limits = limits;
        self
    }

    /// How long each request may take that says nothing else. Default: 60 s, begun anew by progress, 10 min in all
    /// (TIME-01, TIME-04).
    pub fn time_limit(mut self, time: TimeLimit) -> Self {
        self.options.time_limit = time;
        self
    }

    /// How long it may take until the handshake is done; `None` for no limit. Default 30 s (LIFE-12).
    pub fn connect_timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.options.connect_timeout = limit.into();
        self
    }

    /// Pings the server periodically. Off by default (PING-04).
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.options.keep_alive = Some(keep_alive);
        self
    }

    /// Shows every message to `tap`.
    pub fn tap(mut self, tap: Tap) -> Self {
        self.options.tap = Some(tap);
        self
    }

    /// Adds code around every request and notification, both ways. The first that is added is the outermost.
    pub fn middleware(mut self, layer: impl Middleware) -> Self {
        self.layers.push(Arc::new(layer));
        self
    }

    /// Whether to send requests for which the server declared no capability, instead of refusing them on this side
    /// (CAP-05). Default false.
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.options.lenient = lenient;
        self
    }

    /// The protocol revisions that may be spoken; the newest is offered (VER-01, VER-02). Default: all that this release
    /// implements.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.options.revisions = revisions.into_iter().collect();
        match self.options.revisions.iter().find(|revision| !Revision::IMPLEMENTED.contains(revision)) {
            Some(revision) => self.refuse(format!("this release does not implement the protocol revision {revision}")),
            None if self.options.revisions.is_empty() => self.refuse("a client must be able to speak some revision"),
            None => {}
        }
        self
    }

    /// Declares an experimental capability: an object with whatever it has to say (CAP-04).
    pub fn experimental(mut self, name: impl Into<String>, capability: impl Serialize) -> Self {
        let name = name.into();
        match serde_json::to_value(capability) {
            Ok(value @ Value::Object(_)) => drop(self.experimental.insert(name, value)),
            _ => self.refuse(format!("the experimental capability {name:?} must be an object")),
        }
        self
    }

    /// Offers this list of roots, which [`Client::set_roots`] replaces later. Each URI starts with `file://` and does not
    /// climb with `..` (ROOT-03, ROOT-06).
    pub fn roots(mut self, list: impl IntoIterator<Item = Root>) -> Self {
        self.roots = list.into_iter().collect();
        if let Err(error) = roots::check(&self.roots) {
            self.problem.get_or_insert(error);
        }
        self.options.handlers.roots = Some(RootsSource::List);
        self
    }

    /// Asks `callback` for the roots each time the server does. An error is answered as -32603 (ROOT-05), as are roots
    /// that may not be told.
    pub fn on_roots<F, Fut>(mut self, callback: F) -> Self
    where
        F: Fn(HandlerContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Vec<Root>, Error>> + Send + 'static,
    {
        self.options.handlers.roots = Some(RootsSource::Callback(handler(move |(), context| callback(context))));
        self
    }

    /// Leaves out of the answer to `roots/list` what `allow` says no to: consent, or a folder that is gone (ROOT-06,
    /// ROOT-07).
    pub fn allow_root(mut self, allow: impl Fn(&Root) -> bool + Send + Sync + 'static) -> Self {
        self.options.handlers.allow_root = Some(Arc::new(allow));
        self
    }

    /// Whether changes of the roots are told to the server (ROOT-01, ROOT-04). Default: yes for a list, no for a
    /// callback; who says yes there calls [`Client::roots_changed`] at each change.
    pub fn announce_roots(mut self, announce: bool) -> Self {
        self.announce_roots = Some(announce);
        self
    }

    /// Answers `sampling/createMessage`, with a model or a person behind it. Without it sampling is not declared
    /// (SAMP-01, SEC-04).
    ///
    /// The request is checked before `callback` sees it (SAMP-02, SAMP-03, SAMP-07). A refusal by the person is an error
    /// of the kind [`ErrorKind::UserRejected`], which the server gets as -1; other errors and panics are -32603 (SAMP-06).
    pub fn on_sampling<F, Fut>(mut self, callback: F) -> Self
    where
        F: Fn(CreateMessageRequest, HandlerContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<CreateMessageResult, Error>> + Send + 'static,
    {
        self.options.handlers.sampling = Some(handler(callback));
        self
    }

    /// Answers requests of the application's own method `name`; `callback` gets the parameters, `{}` if there are none,
    /// and returns the result object. Names of the protocol and those that start with `rpc.` are refused (JRPC-30).
    pub fn method<F, Fut>(mut self, name: impl Into<String>, callback: F) -> Self
    where
        F: Fn(Json, HandlerContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, Error>> + Send + 'static,
    {
        let name = name.into();
        if Method::from_name(&name, MethodKind::Request).spec().is_some() || name.starts_with("rpc.") {
            self.refuse(format!("the method {name:?} belongs to the protocol"));
        } else {
            self.options.handlers.methods.insert(name, handler(callback));
        }
        self
    }

    /// Called with each log message of the server (LOG-10), those before the end of the handshake included (LIFE-18).
    pub fn on_log(mut self, callback: impl Fn(LoggingMessageNotification) + Send + Sync + 'static) -> Self {
        self.options.handlers.log = Some(Arc::new(callback));
        self
    }

    /// Called when the server's list of tools has changed.
    pub fn on_tools_changed(mut self, callback: impl Fn() + Send + Sync + 'static) -> Self {
        self.options.handlers.tools_changed = Some(Arc::new(callback));
        self
    }

    /// Called when the server's list of prompts has changed.
    pub fn on_prompts_changed(mut self, callback: impl Fn() + Send + Sync + 'static) -> Self {
        self.options.handlers.prompts_changed = Some(Arc::new(callback));
        self
    }

    /// Called when the server's list of resources or of resource templates has changed (TMPL-04).
    pub fn on_resources_changed(mut self, callback: impl Fn() + Send + Sync + 'static) -> Self {
        self.options.handlers.resources_changed = Some(Arc::new(callback));
        self
    }

    /// Called with the URI of a resource that has changed: one subscribed to, or a part of it (SUB-05). What it is now is
    /// learned by reading it; nothing is read by itself (SUB-09).
    pub fn on_resource_updated(mut self, callback: impl Fn(String) + Send + Sync + 'static) -> Self {
        self.options.handlers.resource_updated = Some(Arc::new(callback));
        self
    }

    /// Called with method and parameters of every notification, the application's own included; not with progress and
    /// cancellation, which belong to requests.
    pub fn on_notification(mut self, callback: impl Fn(&str, Option<&Json>) + Send + Sync + 'static) -> Self {
        self.options.handlers.notification = Some(Arc::new(callback));
        self
    }

    /// Called with what is odd but ends nothing: unreadable lines, unknown responses, failed pings (JRPC-20, JRPC-23).
    pub fn on_diagnostic(mut self, callback: impl Fn(&Diagnostic) + Send + Sync + 'static) -> Self {
        self.options.handlers.diagnostic = Some(Arc::new(callback));
        self
    }

    /// Called with every state of the connection, in order.
    pub fn on_state(mut self, callback: impl Fn(&ClientState) + Send + Sync + 'static) -> Self {
        self.options.handlers.state = Some(Arc::new(callback));
        self
    }

    /// Makes a lost connection anew. Off by default: the end of a connection is the end of the client. Only for
    /// connections that can be made again: [`stdio`](Self::stdio) and [`connect_with`](Self::connect_with).
    pub fn reconnect(mut self, policy: ReconnectPolicy) -> Self {
        self.options.reconnect = Some(policy);
        self
    }

    /// Connects over a transport and waits for the handshake.
    ///
    /// Fails with [`ErrorKind::VersionMismatch`] (`data` lists what the server supports, VER-06, VER-07),
    /// [`ErrorKind::Timeout`], [`ErrorKind::Handshake`] for other refusals, [`ErrorKind::Closed`] or
    /// [`ErrorKind::Transport`] if the connection ended (LIFE-12), and [`ErrorKind::InvalidArgument`] for mistakes in
    /// what the builder was given. Dropping the future gives the connection up; nothing is cancelled on the wire
    /// (CANC-02).
    pub async fn connect(self, transport: impl Transport) -> Result<Client, Error> {
        let client = self.only_once().build(Connector::Given)?;
        let limit = client.inner.options.connect_timeout;
        let opened = client.inner.open_transport(Arc::new(transport), limit).await;
        client.begin(opened)
    }

    /// Connects over transports that `make` makes, one for each connection, so that a lost one can be made anew.
    ///
    /// Fails as [`connect`](Self::connect) does, or with the error of `make`.
    pub async fn connect_with<F, Fut, T>(self, make: F) -> Result<Client, Error>
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, Error>> + Send + 'static,
        T: Transport,
    {
        let make = move || -> BoxFuture<Result<Arc<dyn Transport>, Error>> {
            let made = make();
            Box::pin(async move { Ok(Arc::new(made.await?) as Arc<dyn Transport>) })
        };
        self.open(Connector::Custom(Arc::new(make))).await
    }

    /// Connects over a pair of byte streams whose reads and writes block, one message a line (STDIO-02). Each gets a
    /// thread of its own; the one that reads ends when `reader` does.
    ///
    /// Fails as [`connect`](Self::connect) does.
    pub async fn connect_io(
        self,
        reader: impl Read + Send + 'static,
        writer: impl Write + Send + 'static,
    ) -> Result<Client, Error> {
        let client = self.only_once().build(Connector::Given)?;
        let opened = client.inner.open_streams(Box::new(reader), Box::new(writer)).await;
        client.begin(opened)
    }

    /// Starts a server as a child process and connects over its stdin and stdout (STDIO-01).
    ///
    /// Fails as [`connect`](Self::connect) does; with [`ErrorKind::Spawn`] if the program cannot be started; and with
    /// [`ErrorKind::Closed`] if it ends during the handshake: the message has its exit status and its last words on
    /// stderr (FC-013). In all cases the child is ended.
    pub async fn stdio(self, command: ChildCommand) -> Result<Client, Error> {
        self.open(Connector::Child(command)).await
    }

    /// Connects to a server over HTTP with SSE; `url` is that of its event stream.
    ///
    /// Fails as [`connect`](Self::connect) does, and with [`ErrorKind::Http`] if the server refuses: `data` has the
    /// status, the challenge and a piece of the body.
    #[cfg(feature = "sse-client")]
    pub async fn sse(
        self,
        url: impl Into<String>,
        options: crate::transport::sse::SseClientOptions,
    ) -> Result<Client, Error> {
        let url = url.into();
        self.connect_with(move || {
            let (url, options) = (url.clone(), options.clone());
            async move { crate::transport::sse::SseTransport::connect(&url, options).await }
        })
        .await
    }

    async fn open(self, connector: Connector) -> Result<Client, Error> {
        let client = self.build(connector)?;
        let opened = client.inner.open().await;
        client.begin(opened)
    }

    fn refuse(&mut self, message: impl Into<std::borrow::Cow<'static, str>>) {
        self.problem.get_or_insert_with(|| Error::new(ErrorKind::InvalidArgument, message));
    }

    /// For connections that cannot be made again.
    fn only_once(mut self) -> Self {
        if self.options.reconnect.is_some() {
            self.refuse("this connection cannot be made again, so `reconnect` has no use here; see `connect_with`");
        }
        self
    }

    fn build(mut self, connector: Connector) -> Result<Client, Error> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        super::request::check_time(self.options.time_limit)?;
        let by_default = matches!(self.options.handlers.roots, Some(RootsSource::List));
        self.options.announce_roots = self.announce_roots.unwrap_or(by_default);
        self.options.local.capabilities = self.capabilities();
        self.options.handlers.middleware = Stack::new(self.layers);
        let inner = Inner::new(self.options, connector, self.roots);
        let guard = Guard { inner: Arc::clone(&inner) };
        Ok(Client { inner, _guard: Some(Arc::new(guard)) })
    }

    /// What the client declares (SCH-T08).
    fn capabilities(&self) -> Map<String, Value> {
        let mut capabilities = Map::new();
        if !self.experimental.is_empty() {
            capabilities.insert("experimental".into(), Value::Object(self.experimental.clone()));
        }
        if self.options.handlers.roots.is_some() {
            let announced = self.options.announce_roots.then(|| ("listChanged".to_owned(), Value::Bool(true)));
            capabilities.insert("roots".into(), Value::Object(announced.into_iter().collect()));
        }
        if self.options.handlers.sampling.is_some() {
            capabilities.insert("sampling".into(), Value::Object(Map::new()));
        }
        capabilities
    }
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder").field("info", &self.options.local.info).finish_non_exhaustive()
    }
}
