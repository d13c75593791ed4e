//! From a request to its handler, and from a notification to whom it concerns.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::context::RequestContext;
use super::prompt::{CompletionTarget, TargetKind, encode_completion};
use super::registry::{Listed, Registry};
use super::session::{ServerSession, SessionState};
use super::tool::without_position;
use super::{Inner, Item};
use crate::error::{Error, Excerpt};
use crate::middleware::Message;
use crate::protocol::file_uri::check_root_uri;
use crate::protocol::uri::is_absolute_uri;
use crate::protocol::uri_template::Variables;
use crate::protocol::{
    CallToolRequest, CompleteRequest, Completion, CompletionReference, GetPromptRequest, Json, Method,
    PaginatedRequest, ReadResourceRequest, SetLevelRequest, SubscribeRequest,
};
use crate::session::runtime::{Executor, lock};
use crate::session::{Body, Call, Outcome, Reply, Session};

/// Serves a request, through the middleware if there is any.
pub(super) fn serve(state: &Arc<SessionState>, call: &Arc<Call>) -> Reply {
    let context = RequestContext { call: Arc::clone(call), state: Arc::clone(state) };
    let server = &state.server;
    if server.middleware.is_empty() {
        return dispatch(server, context, &call.method, call.params_text())
            .unwrap_or_else(|error| Reply::Done(Err(error)));
    }
    let params = call.params.is_some().then(|| Json::parse(call.params_text())).transpose();
    let params = match params {
        Ok(params) => params,
        Err(error) => return Reply::Done(Err(Error::invalid_params(format!("Invalid params: {error}")))),
    };
    let message = Message::new(call.method.clone(), params, Arc::clone(&call.session.id), state.peer().cloned());
    let stack = server.middleware.clone();
    Reply::Future(Box::pin(async move {
        let handler = Box::new(move |message: Message| -> Pin<Box<dyn Future<Output = Result<Json, Error>> + Send>> {
            Box::pin(async move {
                let server = Arc::clone(&context.state.server);
                let params = message.params.as_ref().map_or("{}", Json::get);
                let call = Arc::clone(&context.call);
                let body = settle(dispatch(&server, context, &message.method, params)?, call).await?;
                match body {
                    Body::Json(json) => Ok(json),
                    body => Ok(Json::parse(body.as_str())?),
                }
            })
        });
        let result = stack.incoming(message, handler).await?;
        if result.is_object() {
            return Ok(Body::Json(result));
        }
        Err(Error::internal("The middleware made a result that is not an object"))
    }))
}

/// Waits for a reply of any kind.
async fn settle(reply: Reply, call: Arc<Call>) -> Outcome {
    match reply {
        Reply::Done(outcome) => outcome,
        Reply::Future(future) => future.await,
        Reply::Blocking(work) => {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            let span = tracing::Span::current();
            Executor::spawn_blocking(move || {
                // Nobody waits any more once the request was given up.
                let _ = sender.send(span.in_scope(|| call.perform(work)));
            });
            receiver.await.unwrap_or_else(|_| Err(Error::internal("Internal error")))
        }
    }
}

fn dispatch(server: &Arc<Inner>, context: RequestContext, method: &Method, params: &str) -> Result<Reply, Error> {
    match method {
        Method::CallTool => call_tool(server, context, params),
        Method::ListTools => list(&server.tools, server, &context, params, |entry| Item::Tool(&entry.tool)),
        Method::ListResources => {
            list(&server.resources, server, &context, params, |entry| Item::Resource(&entry.resource))
        }
        Method::ListResourceTemplates => {
            list(&server.templates, server, &context, params, |entry| Item::ResourceTemplate(&entry.template))
        }
        Method::ListPrompts => list(&server.prompts, server, &context, params, |entry| Item::Prompt(&entry.prompt)),
        Method::ReadResource => read_resource(server, context, params),
        Method::GetPrompt => get_prompt(server, context, params),
        Method::Complete => complete(server, context, params),
        Method::Subscribe => subscribe(server, &context, params),
        Method::Unsubscribe => {
            let request: SubscribeRequest = decode(params)?;
            lock(&context.state.subscriptions).remove(&request.uri);
            Ok(done(Body::EMPTY))
        }
        Method::SetLogLevel => {
            let request: SetLevelRequest = decode(params)?;
            context.state.set_log_level(request.level);
            Ok(done(Body::EMPTY))
        }
        Method::Other(name) => match server.methods.get(&**name) {
            Some(handler) => {
                let params = Json::parse(params).map_err(|error| Error::invalid_params(error.to_string()))?;
                Ok(handler(params, context))
            }
            None => Err(Error::method_not_found(name)),
        },
        other => Err(Error::method_not_found(other.as_str())),
    }
}

fn done(body: Body) -> Reply {
    Reply::Done(Ok(body))
}

/// Reads parameters; the error names the member (JRPC-17).
fn decode<T: DeserializeOwned>(params: &str) -> Result<T, Error> {
    serde_json::from_str(params)
        .map_err(|error| Error::invalid_params(format!("Invalid params: {}", without_position(&error))))
}

fn visible(server: &Inner, context: &RequestContext, item: &Item<'_>) -> bool {
    server.visibility.as_ref().is_none_or(|hook| hook(context, item))
}

fn list<T: Listed>(
    registry: &Registry<T>,
    server: &Inner,
    context: &RequestContext,
    params: &str,
    item: impl Fn(&T) -> Item<'_>,
) -> Result<Reply, Error> {
    let cursor = if params == "{}" { None } else { decode::<PaginatedRequest>(params)?.cursor };
    let hook = |entry: &T| visible(server, context, &item(entry));
    let hook: Option<&dyn Fn(&T) -> bool> = if server.visibility.is_some() { Some(&hook) } else { None };
    registry.page(cursor.as_deref(), context.revision(), hook).map(done)
}

fn call_tool(server: &Inner, context: RequestContext, params: &str) -> Result<Reply, Error> {
    #[derive(Deserialize)]
    struct Borrowed<'a> {
        #[serde(borrow)]
        name: Cow<'a, str>,
        #[serde(borrow, default)]
        arguments: Option<&'a RawValue>,
    }
    // The typed request says better what is wrong.
    let Ok(request) = serde_json::from_str::<Borrowed<'_>>(params) else {
        return Err(match decode::<CallToolRequest>(params) {
            Err(error) => error,
            Ok(_) => Error::invalid_params("Invalid params: `name` and `arguments` are each given once"),
        });
    };
    let arguments = request.arguments.map_or("{}", RawValue::get);
    if !arguments.starts_with('{') {
        return Err(Error::invalid_params("Invalid params: `arguments` must be an object"));
    }
    let tool = server.tools.get(&request.name).filter(|entry| visible(server, &context, &Item::Tool(&entry.tool)));
    match tool {
        Some(tool) => Ok(tool.call(context, arguments)),
        None => Err(Error::invalid_params(format!("Unknown tool: {}", Excerpt(&request.name)))),
    }
}

fn read_resource(server: &Inner, context: RequestContext, params: &str) -> Result<Reply, Error> {
    let request: ReadResourceRequest = decode(params)?;
    match find_resource(server, &context, &request.uri)? {
        Found::Resource(entry) => Ok(entry.read(context, &request.uri)),
        Found::Template(entry, variables) => Ok(entry.read(context, &request.uri, variables)),
    }
}

enum Found {
    Resource(Arc<super::resource::ResourceEntry>),
    Template(Arc<super::resource::TemplateEntry>, Variables),
}

/// By the exact string first, then by the templates in their order (RES-14, RES-16).
fn find_resource(server: &Inner, context: &RequestContext, uri: &str) -> Result<Found, Error> {
    if let Some(entry) = server.resources.get(uri) {
        if visible(server, context, &Item::Resource(&entry.resource)) {
            return Ok(Found::Resource(entry));
        }
        return Err(Error::resource_not_found(uri));
    }
    if !is_absolute_uri(uri) && !has_bad_escape_only(uri) {
        return Err(Error::invalid_params("Invalid params: `uri` must be an absolute URI"));
    }
    // No template may be talked out of its tree (RES-07).
    if uri.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
        check_root_uri(uri).map_err(|error| Error::invalid_params(format!("Invalid params: {error}")))?;
    }
    for entry in server.templates.all() {
        let Some(variables) = entry.matches(uri) else { continue };
        if visible(server, context, &Item::ResourceTemplate(&entry.template)) {
            return Ok(Found::Template(entry, variables?));
        }
    }
    Err(Error::resource_not_found(uri))
}

/// A URI that is fine but for its escapes is left to the templates, which say which variable is at fault.
fn has_bad_escape_only(uri: &str) -> bool {
    is_absolute_uri(&uri.replace('%', "%25"))
}

fn subscribe(server: &Inner, context: &RequestContext, params: &str) -> Result<Reply, Error> {
    let request: SubscribeRequest = decode(params)?;
    find_resource(server, context, &request.uri)?;
    lock(&context.state.subscriptions).insert(request.uri)?;
    Ok(done(Body::EMPTY))
}

fn get_prompt(server: &Inner, context: RequestContext, params: &str) -> Result<Reply, Error> {
    let request: GetPromptRequest = decode(params)?;
    let prompt =
        server.prompts.get(&request.name).filter(|entry| visible(server, &context, &Item::Prompt(&entry.prompt)));
    match prompt {
        Some(prompt) => Ok(prompt.get(context, request.arguments)),
        None => Err(Error::invalid_params(format!("Unknown prompt: {}", Excerpt(&request.name)))),
    }
}

fn complete(server: &Inner, context: RequestContext, params: &str) -> Result<Reply, Error> {
    let completers = lock(&server.completers).clone();
    if completers.is_empty() {
        return Err(Error::method_not_found(Method::Complete.as_str()));
    }
    let request: CompleteRequest = decode(params)?;
    let argument = request.argument.name;
    let (of, known, declared) = match request.reference {
        CompletionReference::Prompt(prompt) => {
            let entry = server.prompts.get(&prompt.name);
            let entry = entry.filter(|entry| visible(server, &context, &Item::Prompt(&entry.prompt)));
            let declared = entry.as_ref().is_some_and(|entry| entry.has_argument(&argument));
            (TargetKind::Prompt(prompt.name), entry.is_some(), declared)
        }
        CompletionReference::Resource(resource) => {
            let entry = server.templates.get(&resource.uri);
            let entry = entry.filter(|entry| visible(server, &context, &Item::ResourceTemplate(&entry.template)));
            let declared = entry.as_ref().is_some_and(|entry| entry.has_variable(&argument));
            (TargetKind::Template(resource.uri), entry.is_some(), declared)
        }
    };
    if !known {
        let what = match &of {
            TargetKind::Prompt(name) | TargetKind::Template(name) => Excerpt(name).to_string(),
        };
        return Err(Error::invalid_params(format!("Unknown prompt or resource template: {what}")));
    }
    let target = CompletionTarget { of, argument };
    match completers.get(&target) {
        Some(completer) => Ok(completer(context, request.argument.value)),
        None if declared => {
            let none = Completion::new(Vec::<String>::new());
            Ok(Reply::Done(encode_completion(none, context.revision())))
        }
        None => Err(Error::invalid_params(format!("Unknown argument: {}", Excerpt(&target.argument)))),
    }
}

/// A notification of the client that the engine leaves to the server.
pub(super) fn notification(state: &Arc<SessionState>, session: &Arc<Session>, method: &Method, params: Option<&str>) {
    let handle = || ServerSession { session: Arc::clone(session), state: Arc::clone(state) };
    let server = &state.server;
    if server.middleware.is_empty() {
        return take_notification(server, handle(), method, params);
    }
    let json = params.and_then(|params| Json::parse(params).ok());
    let message = Message::new(method.clone(), json, Arc::clone(&session.id), state.peer().cloned());
    if let Some(message) = server.middleware.incoming_notification(message) {
        take_notification(server, handle(), &message.method, message.params.as_ref().map(Json::get));
    }
}

fn take_notification(server: &Inner, session: ServerSession, method: &Method, params: Option<&str>) {
    if *method == Method::RootsChanged {
        session.roots_changed();
        if let Some(hook) = &server.hooks.roots_changed {
            hook(session);
        }
        return;
    }
    if let Some(hook) = server.notifications.get(method.as_str()) {
        hook(session, params.and_then(|params| Json::parse(params).ok()));
    }
}
