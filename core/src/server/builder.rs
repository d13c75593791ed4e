//! The settings of a server.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};

use super::context::RequestContext;
use super::registry::Registry;
use super::session::ServerSession;
use super::{Hooks, Inner, Item, MethodHandler, NotificationHandler, Server, Visibility};
use crate::engine::{CloseReason, Config, Diagnostic, KeepAlive, Limits, Local, Role};
use crate::error::Error;
use crate::middleware::{Middleware, Stack};
use crate::protocol::{Implementation, Json, LoggingLevel, Revision};
use crate::session::{Body, Reply};
use crate::transport::Tap;

/// How many items a page of a list holds by default.
const PAGE_SIZE: usize = 100;

/// How many log messages a session sends in a second by default.
const LOG_MESSAGES_PER_SECOND: u32 = 1000;

/// Which capabilities a server declares beyond what is registered when a session begins (CAP-01, CAP-09).
#[derive(Debug, Clone, Copy)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(super) struct Offers {
    tools: bool,
    resources: bool,
    prompts: bool,
    logging: bool,
    subscriptions: bool,
    list_changed: bool,
}

/// Settings of a server. Made by [`Server::builder`].
#[must_use]
pub struct ServerBuilder {
    config: Config,
    offers: Offers,
    page_size: usize,
    methods: HashMap<String, Box<MethodHandler>>,
    notifications: HashMap<String, Box<NotificationHandler>>,
    visibility: Option<Box<Visibility>>,
    middleware: Vec<Arc<dyn Middleware>>,
    hooks: Hooks,
    log_level: LoggingLevel,
    log_messages_per_second: u32,
    tap: Option<Tap>,
    guard_stdio: bool,
    data: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
}

impl ServerBuilder {
    pub(super) fn new(name: String, version: String) -> ServerBuilder {
        let offers = Offers {
            tools: false,
            resources: false,
            prompts: false,
            logging: false,
            subscriptions: false,
            list_changed: true,
        };
        ServerBuilder {
            config: Config::new(Role::Server, Local::new(Implementation::new(name, version))),
            offers,
            page_size: PAGE_SIZE,
            methods: HashMap::new(),
            notifications: HashMap::new(),
            visibility: None,
            middleware: Vec::new(),
            hooks: Hooks::default(),
            log_level: LoggingLevel::Info,
            log_messages_per_second: LOG_MESSAGES_PER_SECOND,
            tap: None,
            guard_stdio: true,
            data: HashMap::new(),
        }
    }

    /// A name for people. Only peers from 2025-06-18 on get it.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.config.local.info.title = Some(title.into());
        self
    }

    /// How the server is to be used, for the model (LIFE-14).
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.config.local.instructions = Some(instructions.into());
        self
    }

    /// Declares `tools` even to sessions that begin before a tool is registered. Default false: whatever is registered
    /// when a session begins is declared, and holds for that session (CAP-09).
    pub fn offer_tools(mut self, offer: bool) -> Self {
        self.offers.tools = offer;
        self
    }

    /// Declares `resources` even to sessions that begin before one is registered. Default false.
    pub fn offer_resources(mut self, offer: bool) -> Self {
        self.offers.resources = offer;
        self
    }

    /// Declares `prompts` even to sessions that begin before one is registered. Default false.
    pub fn offer_prompts(mut self, offer: bool) -> Self {
        self.offers.prompts = offer;
        self
    }

    /// Lets clients subscribe to resources. Default false; a server that turns it on calls
    /// [`resource_updated`](Server::resource_updated) when a resource changes (SUB-01).
    pub fn subscriptions(mut self, on: bool) -> Self {
        self.offers.subscriptions = on;
        self
    }

    /// Whether changes of the lists are announced. Default true.
    pub fn list_changed(mut self, on: bool) -> Self {
        self.offers.list_changed = on;
        self
    }

    /// Declares `logging`, and sets the threshold until a client sets its own (LOG-01, LOG-04). Without this call log
    /// messages go nowhere.
    pub fn logging(mut self, threshold: LoggingLevel) -> Self {
        self.offers.logging = true;
        self.log_level = threshold;
        self
    }

    /// How many log messages a session sends in a second; those beyond are dropped and counted in a message of their
    /// own. Default 1000 (LOG-09).
    pub fn log_messages_per_second(mut self, messages: u32) -> Self {
        self.log_messages_per_second = messages;
        self
    }

    /// A capability under `experimental`; the value is an object (CAP-04).
    pub fn experimental(mut self, name: impl Into<String>, value: Map<String, Value>) -> Self {
        let entry = self.config.local.capabilities.entry("experimental").or_insert_with(|| json!({}));
        if let Value::Object(experimental) = entry {
            experimental.insert(name.into(), Value::Object(value));
        }
        self
    }

    /// How many items a page of a list holds. Default 100 (PAGE-09).
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = items;
        self
    }

    /// The bounds of each session.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.config.limits = limits;
        self
    }

    /// The revisions on offer. Default: all that are implemented.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.config.revisions = revisions.into_iter().filter(|r| Revision::IMPLEMENTED.contains(r)).collect();
        self
    }

    /// Pings every client periodically. Off by default (PING-04).
    pub fn keep_alive(mut self, keep_alive: KeepAlive) -> Self {
        self.config.keep_alive = Some(keep_alive);
        self
    }

    /// Decides who sees what: used alike by lists, calls, reads, subscriptions, prompts and completion. What is not
    /// visible does not exist for that client. Must not block.
    pub fn visibility(mut self, hook: impl Fn(&RequestContext, &Item<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.visibility = Some(Box::new(hook));
        self
    }

    /// Adds a layer around requests and notifications; the first one is the outermost.
    pub fn middleware(mut self, layer: impl Middleware) -> Self {
        self.middleware.push(Arc::new(layer));
        self
    }

    /// Serves requests of a method of the application's own. `handler` gets the `params` object, empty if absent, and
    /// returns the result object. Methods of the protocol, and those that begin with `rpc.`, never get here (JRPC-30).
    pub fn method<F, Fut>(mut self, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Json, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Json, Error>> + Send + 'static,
    {
        let handler = move |params: Json, context: RequestContext| {
            let future = handler(params, context);
            Reply::Future(Box::pin(async move {
                let result = future.await?;
                if result.is_object() {
                    Ok(Body::Json(result))
                } else {
                    Err(Error::internal("The result is not an object"))
                }
            }))
        };
        self.methods.insert(name.into(), Box::new(handler));
        self
    }

    /// Takes notifications of the application's own. Must not block.
    pub fn on_notification(
        mut self,
        method: impl Into<String>,
        handler: impl Fn(ServerSession, Option<Json>) + Send + Sync + 'static,
    ) -> Self {
        self.notifications.insert(method.into(), Box::new(handler));
        self
    }

    /// Called when the handshake of a session is complete. Must not block.
    pub fn on_session_ready(mut self, hook: impl Fn(ServerSession) + Send + Sync + 'static) -> Self {
        self.hooks.ready = Some(Box::new(hook));
        self
    }

    /// Called once when a session has ended, with its id. Must not block.
    pub fn on_session_closed(mut self, hook: impl Fn(&str, &CloseReason) + Send + Sync + 'static) -> Self {
        self.hooks.closed = Some(Box::new(hook));
        self
    }

    /// Called when the client says that its roots changed. Must not block.
    pub fn on_roots_changed(mut self, hook: impl Fn(ServerSession) + Send + Sync + 'static) -> Self {
        self.hooks.roots_changed = Some(Box::new(hook));
        self
    }

    /// Called when something odd happens that does not end a session. Must not block.
    pub fn on_diagnostic(mut self, hook: impl Fn(&Diagnostic) + Send + Sync + 'static) -> Self {
        self.hooks.diagnostic = Some(Box::new(hook));
        self
    }

    /// Sees every message of every session.
    pub fn tap(mut self, tap: Tap) -> Self {
        self.tap = Some(tap);
        self
    }

    /// Whether serving over stdio keeps the protocol's descriptors to itself: what else the process prints to stdout
    /// then goes to stderr, and what else reads stdin finds it empty. Default true (STDIO-03).
    pub fn guard_stdio(mut self, guard: bool) -> Self {
        self.guard_stdio = guard;
        self
    }

    /// Application data that handlers find with [`RequestContext::data`]; one value of each type.
    pub fn data<T: Any + Send + Sync>(mut self, value: T) -> Self {
        self.data.insert(TypeId::of::<T>(), Box::new(value));
        self
    }

    /// The server, to which tools and all else can now be added.
    pub fn build(self) -> Server {
        let inner = Inner {
            config: self.config,
            offers: self.offers,
            tools: Registry::new(self.page_size),
            resources: Registry::new(self.page_size),
            templates: Registry::new(self.page_size),
            prompts: Registry::new(self.page_size),
            completers: Mutex::default(),
            methods: self.methods,
            notifications: self.notifications,
            visibility: self.visibility,
            middleware: Stack::new(self.middleware),
            hooks: self.hooks,
            hub: Arc::default(),
            log_level: self.log_level,
            log_messages_per_second: self.log_messages_per_second,
            tap: self.tap,
            guard_stdio: self.guard_stdio,
            data: self.data,
        };
        Server { inner: Arc::new(inner) }
    }
}

impl Inner {
    /// What a session that begins now is told (CAP-01, CAP-09).
    pub(super) fn session_config(&self) -> Config {
        let mut config = self.config.clone();
        let capabilities = &mut config.local.capabilities;
        let offers = self.offers;
        let flag = |name: &str, on: bool| if on { json!({ name: true }) } else { json!({}) };
        if offers.tools || !self.tools.is_empty() {
            capabilities.insert("tools".into(), flag("listChanged", offers.list_changed));
        }
        if offers.prompts || !self.prompts.is_empty() {
            capabilities.insert("prompts".into(), flag("listChanged", offers.list_changed));
        }
        if offers.resources || !self.resources.is_empty() || !self.templates.is_empty() {
            let mut resources = flag("listChanged", offers.list_changed);
            if offers.subscriptions {
                resources["subscribe"] = true.into();
            }
            capabilities.insert("resources".into(), resources);
        }
        if offers.logging {
            capabilities.insert("logging".into(), json!({}));
        }
        config
    }
}
