//! Serves what the server asks of a client, and hands on what it tells.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::context::HandlerContext;
use super::inner::Inner;
use super::roots;
use crate::engine::{CloseReason, Diagnostic};
use crate::error::Error;
use crate::middleware::{BoxFuture, Message};
use crate::protocol::{
    CreateMessageRequest, Json, LoggingMessageNotification, Method, Project, ResourceUpdatedNotification, Revision,
};
use crate::session::{Body, Call, Outcome, Reply, Service, Session};

/// The client's side of one session.
pub(super) struct ClientService {
    pub(super) inner: Arc<Inner>,
}

impl Service for ClientService {
    fn request(&self, call: &Arc<Call>) -> Reply {
        let context = HandlerContext { call: Arc::clone(call), inner: Arc::clone(&self.inner) };
        let stack = &self.inner.options.handlers.middleware;
        if stack.is_empty() {
            return Reply::Future(serve(context, &call.method, call.params_text()));
        }
        let params = match call.params.as_ref().map(|_| Json::parse(call.params_text())).transpose() {
            Ok(params) => params,
            Err(error) => return Reply::Done(Err(Error::invalid_params(format!("Invalid params: {error}")))),
        };
        let message = Message::new(call.method.clone(), params, Arc::clone(&call.session.id), call.session.peer());
        let handle = move |message: Message| -> BoxFuture<Result<Json, Error>> {
            let params = message.params.as_ref().map_or("{}", Json::get);
            let served = serve(context, &message.method, params);
            Box::pin(async move { Ok(Json::parse(served.await?.as_str())?) })
        };
        let served = stack.incoming(message, Box::new(handle));
        Reply::Future(Box::pin(async move { served.await.map(Body::Json) }))
    }

    fn notification(&self, session: &Arc<Session>, method: &Method, params: Option<&str>) {
        let handlers = &self.inner.options.handlers;
        if handlers.middleware.is_empty() && handlers.notification.is_none() {
            self.hand_on(session, method, params);
            return;
        }
        let Ok(params) = params.map(Json::parse).transpose() else {
            return self.dropped(session, method, "its parameters are nested too deep");
        };
        let message = Message::new(method.clone(), params, Arc::clone(&session.id), session.peer());
        let Some(message) = handlers.middleware.incoming_notification(message) else { return };
        self.hand_on(session, &message.method, message.params.as_ref().map(Json::get));
        if let Some(hook) = &handlers.notification {
            hook(message.method.as_str(), message.params.as_ref());
        }
    }

    fn call_cancelled(&self, call: &Call, reason: Option<&str>) {
        tracing::debug!(session = %call.session.id, id = %call.request_id, reason, "the server cancelled its request");
    }

    fn diagnostic(&self, session: &Session, diagnostic: &Diagnostic) {
        self.inner.diagnose(Some(&session.id), diagnostic);
    }

    fn closed(&self, session: &Arc<Session>, reason: &CloseReason) {
        self.inner.session_closed(session, reason);
    }
}

impl ClientService {
    /// Calls the callback for a notification of the protocol.
    fn hand_on(&self, session: &Session, method: &Method, params: Option<&str>) {
        let handlers = &self.inner.options.handlers;
        match method {
            Method::LogMessage => {
                if let Some(hook) = &handlers.log {
                    match read::<LoggingMessageNotification>(params) {
                        Ok(message) => hook(message),
                        Err(_) => self.dropped(session, method, "it is no log message"),
                    }
                }
            }
            Method::ResourceUpdated => {
                if let Some(hook) = &handlers.resource_updated {
                    match read::<ResourceUpdatedNotification>(params) {
                        Ok(update) => hook(update.uri),
                        Err(_) => self.dropped(session, method, "it names no resource"),
                    }
                }
            }
            Method::ToolsChanged => call(handlers.tools_changed.as_deref()),
            Method::PromptsChanged => call(handlers.prompts_changed.as_deref()),
            Method::ResourcesChanged => call(handlers.resources_changed.as_deref()),
            _ => {}
        }
    }

    fn dropped(&self, session: &Session, method: &Method, why: &'static str) {
        self.inner.diagnose(Some(&session.id), &Diagnostic::Dropped { method: method.clone(), why });
    }
}

fn call(hook: Option<&(dyn Fn() + Send + Sync)>) {
    if let Some(hook) = hook {
        hook();
    }
}

/// Serves a request. What is wrong with it is found before any future is made.
fn serve(context: HandlerContext, method: &Method, params: &str) -> BoxFuture<Outcome> {
    let handlers = &context.inner.options.handlers;
    let revision = context.revision();
    match method {
        Method::CreateMessage => {
            let Some(sampling) = handlers.sampling.clone() else {
                return refuse(Error::method_not_found(method.as_str()));
            };
            match sampling_params(params, revision) {
                Ok(request) => Box::pin(async move { encode(sampling(request, context).await?, revision) }),
                Err(error) => refuse(error),
            }
        }
        Method::ListRoots => {
            let Some(source) = handlers.roots.clone() else { return refuse(Error::method_not_found(method.as_str())) };
            Box::pin(async move { encode(roots::list(source, context).await?, revision) })
        }
        Method::Other(name) => {
            let Some(handler) = handlers.methods.get(&**name).cloned() else {
                return refuse(Error::method_not_found(name));
            };
            match Json::parse(params) {
                Ok(params) => Box::pin(async move { object(handler(params, context).await?) }),
                Err(error) => refuse(Error::invalid_params(format!("Invalid params: {error}"))),
            }
        }
        _ => refuse(Error::method_not_found(method.as_str())),
    }
}

fn refuse(error: Error) -> BoxFuture<Outcome> {
    Box::pin(std::future::ready(Err(error)))
}

/// SAMP-02, SAMP-03, SAMP-07, SAMP-10.
fn sampling_params(params: &str, revision: Revision) -> Result<CreateMessageRequest, Error> {
    let invalid = |fault: &dyn std::fmt::Display| Error::invalid_params(format!("Invalid params: {fault}"));
    let request: CreateMessageRequest = serde_json::from_str(params).map_err(|error| invalid(&error))?;
    request.validate(revision).map_err(|error| invalid(&error))?;
    Ok(request)
}

/// The JSON of a result as `revision` knows it.
fn encode<T: Project + serde::Serialize>(mut result: T, revision: Revision) -> Outcome {
    result.project(revision).map_err(|error| {
        tracing::warn!(%error, "a handler returned what cannot be sent");
        Error::internal("The result cannot be sent")
    })?;
    Ok(Body::Json(Json::from_serialize(&result).map_err(|error| {
        tracing::warn!(%error, "a handler returned what JSON cannot hold");
        Error::internal("The result cannot be written as JSON")
    })?))
}

/// A result is an object (JRPC-11).
fn object(result: Json) -> Outcome {
    if result.is_object() {
        return Ok(Body::Json(result));
    }
    tracing::warn!("a handler returned a result that is no object");
    Err(Error::internal("The result is no object"))
}

fn read<T: DeserializeOwned>(params: Option<&str>) -> Result<T, serde_json::Error> {
    serde_json::from_str(params.unwrap_or("{}"))
}
