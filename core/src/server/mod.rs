//! Servers: what they offer, and how it is served.
//!
//! A [`Server`] holds registries of tools, resources, resource templates and prompts, and serves any number of sessions
//! from them. Everything can be registered, replaced and removed while sessions live; clients that were promised so are
//! told of changes.
//!
//! ```no_run
//! use mcp_native::server::{RequestContext, Server, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     /// Who is greeted
//!     name: String,
//! }
//!
//! fn main() -> Result<(), mcp_native::Error> {
//!     let server = Server::new("greeter", "1.0");
//!     server.tool(
//!         tool("greet")
//!             .description("Greets somebody")
//!             .handler(|args: Greet, _: RequestContext| async move { Ok(format!("Hello, {}!", args.name)) }),
//!     )?;
//!     server.run_stdio()?;
//!     Ok(())
//! }
//! ```

mod builder;
mod context;
mod dispatch;
mod hub;
mod prompt;
mod registry;
mod resource;
mod result;
mod schema;
mod serve;
mod session;
mod tool;

use std::any::Any;
use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use crate::engine::{CloseReason, Config, Diagnostic};
use crate::error::Error;
use crate::middleware::Stack;
use crate::protocol::uri_template::Variables;
use crate::protocol::{Json, LoggingLevel, Prompt, Resource, ResourceTemplate, Tool};
use crate::session::Reply;
use crate::session::runtime::lock;
use crate::transport::Tap;

pub use builder::ServerBuilder;
pub use context::{Ask, RequestContext};
pub use prompt::{CompletionTarget, IntoCompletion, IntoPrompt, PromptArguments};
pub use resource::IntoContents;
pub use result::{IntoToolResult, Structured, ToolError};
pub use session::ServerSession;
pub use tool::{NoArguments, ToolBuilder, ToolDefinition, tool};

use hub::{Hub, List};
use prompt::{Completer, PromptEntry, completer};
use registry::{Number, Registry};
use resource::{ResourceEntry, TemplateEntry};
use tool::ToolEntry;

/// Something a server offers, for the [visibility hook](ServerBuilder::visibility).
#[derive(Debug)]
#[non_exhaustive]
pub enum Item<'a> {
    /// A tool: listed and called.
    Tool(&'a Tool),
    /// A resource: listed, read and subscribed to.
    Resource(&'a Resource),
    /// A resource template: listed, read through, and completed.
    ResourceTemplate(&'a ResourceTemplate),
    /// A prompt: listed, got and completed.
    Prompt(&'a Prompt),
}

type Visibility = dyn Fn(&RequestContext, &Item<'_>) -> bool + Send + Sync;
type MethodHandler = dyn Fn(Json, RequestContext) -> Reply + Send + Sync;
type SessionHook = dyn Fn(ServerSession) + Send + Sync;
type DiagnosticHook = dyn Fn(&Diagnostic) + Send + Sync;
type ClosedHook = dyn Fn(&str, &CloseReason) + Send + Sync;
type NotificationHandler = dyn Fn(ServerSession, Option<Json>) + Send + Sync;

/// Called when something happens to a session. Must not block.
#[derive(Default)]
struct Hooks {
    ready: Option<Box<SessionHook>>,
    closed: Option<Box<ClosedHook>>,
    roots_changed: Option<Box<SessionHook>>,
    diagnostic: Option<Box<DiagnosticHook>>,
}

struct Inner {
    /// What every session is told; its capabilities are worked out when a session begins.
    config: Config,
    offers: builder::Offers,
    tools: Registry<ToolEntry>,
    resources: Registry<ResourceEntry>,
    templates: Registry<TemplateEntry>,
    prompts: Registry<PromptEntry>,
    completers: Mutex<Arc<HashMap<CompletionTarget, Completer>>>,
    methods: HashMap<String, Box<MethodHandler>>,
    notifications: HashMap<String, Box<NotificationHandler>>,
    visibility: Option<Box<Visibility>>,
    middleware: Stack,
    hooks: Hooks,
    hub: Arc<Hub>,
    log_level: LoggingLevel,
    log_messages_per_second: u32,
    tap: Option<Tap>,
    guard_stdio: bool,
    data: HashMap<std::any::TypeId, Box<dyn Any + Send + Sync>>,
}

impl Inner {
    fn data<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.data.get(&std::any::TypeId::of::<T>())?.downcast_ref()
    }
}

/// A server. Clones are handles of one and the same server.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

impl Server {
    /// A server with the default settings; see [`builder`](Server::builder) for the others.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Server {
        Server::builder(name, version).build()
    }

    /// Begins a server with other settings.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ServerBuilder {
        ServerBuilder::new(name.into(), version.into())
    }

    /// Registers a tool. Fails if the name is taken or the schema is not one of an object (TOOL-03, TOOL-11).
    pub fn tool(&self, definition: ToolDefinition) -> Result<ToolHandle, Error> {
        let number = self.inner.tools.insert(ToolEntry::new(definition)?)?;
        self.inner.hub.changed(List::Tools);
        Ok(ToolHandle { server: self.clone(), number })
    }

    /// Registers a resource. `handler` gets the URI as the client sent it. Fails if the URI is taken or not absolute
    /// (RES-13).
    pub fn resource<R, F, Fut>(&self, resource: Resource, handler: F) -> Result<ResourceHandle, Error>
    where
        R: IntoContents + 'static,
        F: Fn(String, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        let number = self.inner.resources.insert(ResourceEntry::new(resource, handler)?)?;
        self.inner.hub.changed(List::Resources);
        Ok(ResourceHandle { server: self.clone(), number })
    }

    /// Registers a resource template (RFC 6570). `handler` gets the URI as the client sent it and the values of the
    /// template's variables, decoded once. Exact resources are found before templates, templates in their order of
    /// registration. Fails if the template is taken, malformed, or ambiguous.
    pub fn resource_template<R, F, Fut>(
        &self,
        template: ResourceTemplate,
        handler: F,
    ) -> Result<ResourceTemplateHandle, Error>
    where
        R: IntoContents + 'static,
        F: Fn(String, Variables, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        let number = self.inner.templates.insert(TemplateEntry::new(template, handler)?)?;
        self.inner.hub.changed(List::Resources);
        Ok(ResourceTemplateHandle { server: self.clone(), number })
    }

    /// Registers a prompt. Required arguments are checked before `handler` runs (PROM-05). Fails if the name is taken.
    pub fn prompt<R, F, Fut>(&self, prompt: Prompt, handler: F) -> Result<PromptHandle, Error>
    where
        R: IntoPrompt + 'static,
        F: Fn(PromptArguments, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        let number = self.inner.prompts.insert(PromptEntry::new(prompt, handler)?)?;
        self.inner.hub.changed(List::Prompts);
        Ok(PromptHandle { server: self.clone(), number })
    }

    /// Registers a completion for one argument of a prompt or variable of a template; `handler` gets what was typed so
    /// far and returns values, best first. More than 100 are cut (COMP-02). Replaces one that was registered before.
    pub fn completion<R, F, Fut>(&self, target: CompletionTarget, handler: F)
    where
        R: IntoCompletion + 'static,
        F: Fn(String, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        let completer = completer(handler);
        let replaced = Arc::make_mut(&mut lock(&self.inner.completers)).insert(target, completer);
        // Without the lock: it is the application's.
        drop(replaced);
    }

    /// A resource has changed: those who subscribed to it are told (SUB-04).
    pub fn resource_updated(&self, uri: &str) {
        self.inner.hub.resource_updated(uri, uri);
    }

    /// A part of a resource has changed: those who subscribed to the whole are told the URI of the part (SUB-05).
    pub fn resource_part_updated(&self, subscribed: &str, part: &str) {
        self.inner.hub.resource_updated(subscribed, part);
    }

    /// Sends a log message to every session whose threshold it passes.
    pub fn log(&self, level: LoggingLevel, logger: Option<&str>, data: impl serde::Serialize) {
        for session in self.sessions() {
            session.log(level, logger, &data);
        }
    }

    /// The sessions whose handshake has got as far as telling who the client is.
    pub fn sessions(&self) -> Vec<ServerSession> {
        let mut sessions = self.inner.hub.sessions();
        sessions.retain(|session| session.peer().is_some());
        sessions
    }

    /// Ends every session: running handlers are told to stop, and their answers are dropped. A second call does nothing.
    pub fn close(&self) {
        for session in self.inner.hub.sessions() {
            session.close();
        }
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("info", &self.inner.config.local.info).finish_non_exhaustive()
    }
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident $field:ident $entry:ty, $list:expr, $item:ident: $def:ty) => {
        $(#[$doc])*
        ///
        /// Dropping it changes nothing.
        #[derive(Clone, Debug)]
        pub struct $name {
            server: Server,
            number: Number,
        }

        impl $name {
            /// Takes it out of the server. Calls that run go on. Returns false if it was removed before.
            pub fn remove(&self) -> bool {
                let removed = self.server.inner.$field.remove(self.number);
                if removed {
                    self.server.inner.hub.changed($list);
                }
                removed
            }

            /// Its description as it stands; `None` if it was removed.
            pub fn definition(&self) -> Option<$def> {
                self.server.inner.$field.number(self.number).map(|entry| entry.$item.clone())
            }

            fn put(&self, entry: $entry) -> Result<(), Error> {
                self.server.inner.$field.replace(self.number, entry)?;
                self.server.inner.hub.changed($list);
                Ok(())
            }
        }
    };
}

handle! {
    /// A registered tool.
    ToolHandle tools ToolEntry, List::Tools, tool: Tool
}
handle! {
    /// A registered resource.
    ResourceHandle resources ResourceEntry, List::Resources, resource: Resource
}
handle! {
    /// A registered resource template.
    ResourceTemplateHandle templates TemplateEntry, List::Resources, template: ResourceTemplate
}
handle! {
    /// A registered prompt.
    PromptHandle prompts PromptEntry, List::Prompts, prompt: Prompt
}

impl ToolHandle {
    /// Puts another definition in its place in the list.
    pub fn replace(&self, definition: ToolDefinition) -> Result<(), Error> {
        self.put(ToolEntry::new(definition)?)
    }
}

impl ResourceHandle {
    /// Puts another resource in its place in the list.
    pub fn replace<R, F, Fut>(&self, resource: Resource, handler: F) -> Result<(), Error>
    where
        R: IntoContents + 'static,
        F: Fn(String, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        self.put(ResourceEntry::new(resource, handler)?)
    }

    /// The resource has changed: those who subscribed are told.
    pub fn updated(&self) {
        if let Some(resource) = self.definition() {
            self.server.resource_updated(&resource.uri);
        }
    }
}

impl ResourceTemplateHandle {
    /// Puts another template in its place in the list.
    pub fn replace<R, F, Fut>(&self, template: ResourceTemplate, handler: F) -> Result<(), Error>
    where
        R: IntoContents + 'static,
        F: Fn(String, Variables, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        self.put(TemplateEntry::new(template, handler)?)
    }
}

impl PromptHandle {
    /// Puts another prompt in its place in the list.
    pub fn replace<R, F, Fut>(&self, prompt: Prompt, handler: F) -> Result<(), Error>
    where
        R: IntoPrompt + 'static,
        F: Fn(PromptArguments, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        self.put(PromptEntry::new(prompt, handler)?)
    }
}
