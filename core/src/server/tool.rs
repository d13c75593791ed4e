//! Tools: their definition, and how handlers are attached to them.

use std::future::Future;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::context::RequestContext;
use super::registry::Listed;
use super::result::{IntoToolResult, ToolError, tool_outcome};
use super::schema::ArgumentCheck;
use crate::error::{Error, ErrorKind, Excerpt};
use crate::protocol::{Json, Project, Revision, Tool, ToolAnnotations};
use crate::session::Reply;

/// Serves one call; gets the text of the arguments object.
type Handler = Arc<dyn Fn(RequestContext, &str) -> Reply + Send + Sync>;

/// A tool with its handler, ready to be registered. Made by [`tool`].
pub struct ToolDefinition {
    tool: Result<Tool, Error>,
    check: bool,
    handler: Handler,
}

/// Begins the definition of a tool.
///
/// ```
/// use mcp_native::server::{RequestContext, tool};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// let add = tool("add")
///     .description("Adds two integers")
///     .handler(|args: Add, _: RequestContext| async move { Ok(args.a + args.b) });
/// ```
pub fn tool(name: impl Into<String>) -> ToolBuilder {
    ToolBuilder {
        name: name.into(),
        description: None,
        title: None,
        annotations: None,
        output_schema: None,
        schema: None,
        check: true,
    }
}

/// The definition of a tool before it has a handler.
#[must_use]
pub struct ToolBuilder {
    name: String,
    description: Option<String>,
    title: Option<String>,
    annotations: Option<ToolAnnotations>,
    output_schema: Option<Json>,
    schema: Option<Result<Json, Error>>,
    check: bool,
}

impl ToolBuilder {
    /// What it does, for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// A name for people. Only peers from 2025-06-18 on get it.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Hints about its behaviour. Only peers from 2025-03-26 on get them.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// The schema of its structured result. Only peers from 2025-06-18 on get it.
    pub fn output_schema(mut self, schema: Json) -> Self {
        self.output_schema = Some(schema);
        self
    }

    /// A ready JSON Schema for the arguments, passed through untouched, instead of the one made from the handler's
    /// argument type. `"type": "object"` at its root is all that is asked of it (TOOL-03).
    pub fn input_schema(mut self, schema: impl Into<Json>) -> Self {
        self.schema = Some(Ok(schema.into()));
        self
    }

    /// The same from JSON text.
    pub fn input_schema_text(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(Json::parse(schema).map_err(Into::into));
        self
    }

    /// Whether arguments are checked against the schema before the handler runs. Default true (TOOL-06).
    pub fn check_arguments(mut self, check: bool) -> Self {
        self.check = check;
        self
    }

    /// An asynchronous handler. It is polled once on the thread that reads, and moves to the runtime if it suspends, so
    /// it must not block.
    pub fn handler<A, R, F, Fut>(self, handler: F) -> ToolDefinition
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoToolResult + 'static,
        F: Fn(A, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, ToolError>> + Send + 'static,
    {
        self.build::<A>(move |context, arguments: A| {
            let revision = context.revision();
            let future = handler(arguments, context);
            Reply::Future(Box::pin(async move { tool_outcome(future.await, revision) }))
        })
    }

    /// A handler that is done at once. It runs on the thread that reads: the fastest way for short work. Should it block
    /// after all, another thread takes over the reading after some 20 to 40 ms, and for a second runs handlers elsewhere;
    /// over HTTP, nobody takes over, and it holds up a thread of the runtime.
    pub fn sync_handler<A, R, F>(self, handler: F) -> ToolDefinition
    where
        A: DeserializeOwned + JsonSchema + 'static,
        R: IntoToolResult,
        F: Fn(A, RequestContext) -> Result<R, ToolError> + Send + Sync + 'static,
    {
        self.build::<A>(move |context, arguments: A| {
            let revision = context.revision();
            Reply::Done(tool_outcome(handler(arguments, context), revision))
        })
    }

    /// A handler that may block. It runs on a thread of a pool.
    pub fn blocking_handler<A, R, F>(self, handler: F) -> ToolDefinition
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        R: IntoToolResult,
        F: Fn(A, RequestContext) -> Result<R, ToolError> + Send + Sync + 'static,
    {
        let handler = Arc::new(handler);
        self.build::<A>(move |context, arguments: A| {
            let handler = Arc::clone(&handler);
            Reply::Blocking(Box::new(move || {
                let revision = context.revision();
                tool_outcome(handler(arguments, context), revision)
            }))
        })
    }

    fn build<A>(self, run: impl Fn(RequestContext, A) -> Reply + Send + Sync + 'static) -> ToolDefinition
    where
        A: DeserializeOwned + JsonSchema + 'static,
    {
        let tool = self.schema.unwrap_or_else(|| Ok(derive_schema::<A>())).map(|schema| {
            let mut tool = Tool::new(self.name, schema);
            tool.description = self.description;
            tool.title = self.title;
            tool.annotations = self.annotations;
            tool.output_schema = self.output_schema;
            tool
        });
        let handler = move |context: RequestContext, arguments: &str| match read_arguments::<A>(arguments) {
            Ok(arguments) => run(context, arguments),
            Err(error) => {
                let message = format!("Invalid arguments: {}", without_position(&error));
                Reply::Done(Err(Error::new(ErrorKind::InvalidToolArguments, message)))
            }
        };
        ToolDefinition { tool, check: self.check, handler: Arc::new(handler) }
    }
}

/// Reads arguments as their type. To JSON Schema `1.0` is an integer, to the type it may not be: where the text does not
/// fit, whole numbers are written as such and it is tried once more.
fn read_arguments<A: DeserializeOwned>(arguments: &str) -> Result<A, serde_json::Error> {
    serde_json::from_str::<A>(arguments).or_else(|error| {
        let mut value: Value = serde_json::from_str(arguments)?;
        if !wholes_as_integers(&mut value) {
            return Err(error);
        }
        serde_json::from_value(value)
    })
}

/// Turns reals without a fraction into integers; false if there are none.
fn wholes_as_integers(value: &mut Value) -> bool {
    // Doubles hold every integer up to here.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|real| real.fract() == 0.0 && real.abs() <= EXACT);
            #[allow(clippy::cast_possible_truncation, reason = "checked: whole and within 2^53")]
            let whole = whole.map(|real| real as i64);
            whole.map(|whole| *number = whole.into()).is_some()
        }
        Value::Array(items) => items.iter_mut().map(wholes_as_integers).fold(false, |some, one| some | one),
        Value::Object(members) => members.values_mut().map(wholes_as_integers).fold(false, |some, one| some | one),
        _ => false,
    }
}

/// What a JSON error says, without where in a text that nobody sees it happened.
pub(super) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).map_or(text.clone(), str::to_owned)
}

/// The arguments of a tool that takes none. Whatever is sent is ignored.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize, JsonSchema)]
pub struct NoArguments {}

fn derive_schema<A: JsonSchema>() -> Json {
    let mut schema = schemars::schema_for!(A).to_value();
    if let Value::Object(root) = &mut schema {
        // Said by the protocol, and of no use to a model.
        root.remove("$schema");
        root.remove("title");
        if let Some(Value::Object(properties)) = root.get_mut("properties") {
            // "Anything goes" is `true` in JSON Schema and `{}` here (TOOL-03).
            for property in properties.values_mut().filter(|property| property.is_boolean()) {
                *property = Value::Object(serde_json::Map::new());
            }
        }
    }
    Json::from(schema)
}

/// A registered tool.
pub(crate) struct ToolEntry {
    pub(crate) tool: Tool,
    check: Option<ArgumentCheck>,
    handler: Handler,
}

impl ToolEntry {
    pub(crate) fn new(definition: ToolDefinition) -> Result<ToolEntry, Error> {
        let tool = definition.tool?;
        if tool.name.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "a tool needs a name"));
        }
        tool.validate().map_err(|fault| {
            Error::new(ErrorKind::InvalidArgument, format!("tool {}: {fault}", Excerpt(&tool.name)))
        })?;
        let check = definition.check.then(|| ArgumentCheck::new(tool.input_schema.clone()));
        Ok(ToolEntry { tool, check, handler: definition.handler })
    }

    /// Checks the arguments and calls the handler.
    pub(crate) fn call(&self, context: RequestContext, arguments: &str) -> Reply {
        match self.check.as_ref().map_or(Ok(()), |check| check.check(&self.tool.name, arguments)) {
            Ok(()) => (self.handler)(context, arguments),
            Err(error) => Reply::Done(Err(error)),
        }
    }
}

impl Listed for ToolEntry {
    const KEY: &'static str = "tools";
    const NOUN: &'static str = "tool";

    fn key(&self) -> &str {
        &self.tool.name
    }

    fn json(&self, revision: Revision) -> Result<String, Error> {
        listed(&self.tool, revision)
    }
}

/// A description as `revision` knows it.
pub(crate) fn listed<T: Project + serde::Serialize + Clone>(item: &T, revision: Revision) -> Result<String, Error> {
    let mut item = item.clone();
    item.project(revision)?;
    serde_json::to_string(&item).map_err(|error| Error::internal(format!("an item cannot be listed: {error}")))
}
