//! A call to the server, described and sent.

use std::fmt;
use std::future::IntoFuture;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::de::DeserializeOwned;

use super::Client;
use super::cancel::CancelToken;
use super::pending::{Pending, Stage};
use super::reconnect::Change;
use crate::engine::{Diagnostic, OutgoingRequest, TimeLimit};
use crate::error::{Error, ErrorKind, Excerpt};
use crate::middleware::{BoxFuture, Message};
use crate::protocol::{Json, Members, Meta, Method, ProgressNotification};
use crate::session::{ProgressHandler, Session};

/// What a request comes to: the result, and what is odd about it.
pub(super) type Finished<T> = Result<(T, Option<Diagnostic>), Error>;

/// Makes the result of a call out of the text of the result object, or of the error.
pub(super) type Finish<T> = fn(&Method, Result<&str, Error>) -> Finished<T>;

/// Called once, when a request is given up.
pub(super) type CancelHook = Box<dyn FnOnce(Option<&str>) + Send>;

/// A request that is about to be sent: options, then `.await`, or [`send`](Request::send).
///
/// ```no_run
/// # use std::time::Duration;
/// # async fn run(client: mcp_native::Client) -> Result<(), mcp_native::Error> {
/// let result = client
///     .call_tool("index", serde_json::json!({ "path": "." }))
///     .timeout(Duration::from_secs(5))
///     .on_progress(|progress| println!("{} of {:?}", progress.progress, progress.total))
///     .await?;
/// # Ok(()) }
/// ```
/// Dropping the future before its end cancels the request (CANC-12).
#[must_use = "nothing is sent before it is awaited or sent"]
pub struct Request<T> {
    client: Client,
    method: Method,
    params: Result<Option<Json>, Error>,
    meta: Option<Meta>,
    time: TimeLimit,
    progress: Option<ProgressHandler>,
    wants_progress: bool,
    token: Option<CancelToken>,
    on_cancel: Option<CancelHook>,
    change: Option<Change>,
    finish: Finish<T>,
}

impl<T> Request<T> {
    pub(super) fn new(
        client: &Client,
        method: Method,
        params: Result<Option<Json>, Error>,
        finish: Finish<T>,
    ) -> Request<T> {
        Request {
            client: client.clone(),
            method,
            params,
            meta: None,
            time: client.inner.options.time_limit,
            progress: None,
            wants_progress: false,
            token: None,
            on_cancel: None,
            change: None,
            finish,
        }
    }

    /// What a success changes in the session, to be restored after a reconnect.
    pub(super) fn changing(mut self, change: Change) -> Self {
        self.change = Some(change);
        self
    }

    /// How long the answer may take; then the request fails with [`ErrorKind::Timeout`] and the server is told to stop
    /// (TIME-01, TIME-03). Zero is refused, and what no clock can hold is for ever (FC-059). The client's hard maximum
    /// stays, or is this limit if that is longer.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.time.limit = Some(limit);
        self.time.maximum = self.time.maximum.map(|maximum| maximum.max(limit));
        self
    }

    /// Waits for ever.
    pub fn no_timeout(self) -> Self {
        self.time_limit(TimeLimit::NONE)
    }

    /// All about how long it may take, in one.
    pub fn time_limit(mut self, time: TimeLimit) -> Self {
        self.time = time;
        self
    }

    /// Whether progress of this request starts its time anew, up to the hard maximum (TIME-04). `true` asks the server
    /// for progress.
    pub fn reset_on_progress(mut self, reset: bool) -> Self {
        self.time.reset_by_progress = reset;
        self.wants_progress = reset;
        self
    }

    /// Asks the server for progress, and calls `handler` with each report, in order, before the outcome (PROG-01). It must
    /// not block.
    pub fn on_progress(mut self, handler: impl Fn(ProgressNotification) + Send + Sync + 'static) -> Self {
        let client = Arc::clone(&self.client.inner);
        self.progress = Some(Arc::new(move |params| match serde_json::from_str(params) {
            Ok(progress) => handler(progress),
            Err(_) => client
                .diagnose(None, &Diagnostic::Dropped { method: Method::Progress, why: "it is no progress report" }),
        }));
        self
    }

    /// Members for `_meta` of the request, such as `traceparent`. The progress token is the library's to set.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Gives the request up when `token` is cancelled; it then ends with [`ErrorKind::Cancelled`] (CANC-10).
    pub fn cancel_token(mut self, token: CancelToken) -> Self {
        self.token = Some(token);
        self
    }

    /// Called with the reason as soon as the request is given up, by whatever means, before it ends: for showing that
    /// cancelling was asked for (CANC-13).
    pub fn on_cancel_requested(mut self, callback: impl FnOnce(Option<&str>) + Send + 'static) -> Self {
        self.on_cancel = Some(Box::new(callback));
        self
    }

    /// Sends the request without waiting for its outcome.
    ///
    /// Fails, with nothing written, if the connection has ended, the server lacks the capability, or an argument cannot
    /// be used. With middleware the way to the server begins when the outcome is awaited.
    pub fn send(mut self) -> Result<Pending<T>, Error> {
        let mut params = std::mem::replace(&mut self.params, Ok(None))?;
        check_time(self.time)?;
        let mut meta = self.meta.take();
        separate_meta(&mut params, &mut meta)?;
        if let Some(meta) = &mut meta {
            meta.remove("progressToken");
        }
        if self.token.as_ref().is_some_and(CancelToken::is_cancelled) {
            return Err(Error::new(ErrorKind::Cancelled, "the request was cancelled before it was sent"));
        }
        let trace = meta.as_ref().and_then(|meta| meta.get("traceparent").cloned());
        let meta = meta.filter(|meta| !meta.is_empty()).map(|meta| Json::from_serialize(&meta)).transpose()?;
        let mut request = self.client.inner.outgoing(self.method.clone(), params);
        request.meta = meta;
        request.progress = self.wants_progress || self.progress.is_some();
        request.time = self.time;

        let session = self.client.inner.session()?;
        let span = tracing::debug_span!(
            "mcp.request",
            method = %self.method,
            id = tracing::field::Empty,
            session = %session.id,
            traceparent = tracing::field::Empty,
        );
        if let Some(trace) = trace {
            span.record("traceparent", trace.get().trim_matches('"'));
        }
        let stage = if self.client.inner.options.handlers.middleware.is_empty() {
            let pending = session.request(request, self.progress.take())?;
            span.record("id", pending.key().get());
            Stage::Direct(pending)
        } else {
            self.layered(session, request)
        };
        let token = self.token.take().map(|token| {
            let watched = token.clone();
            let cancelled: BoxFuture<()> = Box::pin(async move { watched.cancelled().await });
            (token, cancelled)
        });
        Ok(Pending {
            method: self.method,
            stage,
            token,
            on_cancel: self.on_cancel,
            change: self.change,
            finish: self.finish,
            span,
            client: self.client,
        })
    }

    /// The way through the middleware.
    fn layered(&mut self, session: Arc<Session>, request: OutgoingRequest) -> Stage {
        let sent = Arc::new(OnceLock::new());
        let message =
            Message::new(self.method.clone(), request.params.clone(), Arc::clone(&session.id), session.peer());
        let (progress, key) = (self.progress.take(), Arc::clone(&sent));
        let at_last = move |message: Message| -> BoxFuture<Result<Json, Error>> {
            Box::pin(async move {
                let request = OutgoingRequest { method: message.method, params: message.params, ..request };
                let pending = session.request(request, progress)?;
                let _ = key.set((Arc::clone(&session), pending.key()));
                let result = pending.await?;
                Ok(Json::parse(String::from_utf8_lossy(&result))?)
            })
        };
        let stack = &self.client.inner.options.handlers.middleware;
        Stage::Layered(stack.outgoing(message, Box::new(at_last)), sent)
    }
}

impl<T> IntoFuture for Request<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Pending<T>;

    fn into_future(self) -> Pending<T> {
        let (client, method, finish) = (self.client.clone(), self.method.clone(), self.finish);
        self.send().unwrap_or_else(|error| Pending {
            client,
            method,
            stage: Stage::Failed(error),
            token: None,
            on_cancel: None,
            change: None,
            finish,
            span: tracing::Span::none(),
        })
    }
}

impl<T> fmt::Debug for Request<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The result as a type; what does not fit fails this call alone (SCH-09).
pub(super) fn decoded<T: DeserializeOwned>(method: &Method, outcome: Result<&str, Error>) -> Finished<T> {
    serde_json::from_str(outcome?).map(|result| (result, None)).map_err(|error| unusable(method, &error))
}

/// For results that say nothing but that it was done. Any object will do.
pub(super) fn nothing(_method: &Method, outcome: Result<&str, Error>) -> Finished<()> {
    outcome.map(|_| ((), None))
}

/// The result object as it came.
pub(super) fn raw(method: &Method, outcome: Result<&str, Error>) -> Finished<Json> {
    Json::parse(outcome?).map(|result| (result, None)).map_err(|error| unusable(method, &error))
}

pub(super) fn unusable(method: &Method, error: &dyn fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidResponse, format!("the answer to `{method}` cannot be used: {error}"))
}

/// The error for messages that the library sends by itself.
pub(super) fn reserved(method: &Method) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("`{method}` is sent by the library, when it is time for it"))
}

/// `params` is an object (JRPC-16).
pub(super) fn check_object(method: &Method, params: Option<&Json>) -> Result<(), Error> {
    if params.is_none_or(Json::is_object) {
        return Ok(());
    }
    let method = Excerpt(method.as_str());
    Err(Error::new(ErrorKind::InvalidArgument, format!("the parameters of {method} must be an object")))
}

/// A limit that is over before it begins is a mistake (FC-059).
pub(super) fn check_time(time: TimeLimit) -> Result<(), Error> {
    let zero = |limit: Option<Duration>| limit.is_some_and(|limit| limit.is_zero());
    if zero(time.limit) || zero(time.maximum) {
        let message = "a time limit must be longer than zero; without any limit use `no_timeout`";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    }
    Ok(())
}

/// Takes `_meta` out of parameters that the application wrote by itself; members given apart win.
fn separate_meta(params: &mut Option<Json>, meta: &mut Option<Meta>) -> Result<(), Error> {
    let Some(text) = params.as_ref().map(Json::get) else { return Ok(()) };
    if memchr::memmem::find(text.as_bytes(), b"\"_meta\"").is_none() {
        return Ok(());
    }
    let mut members: Members = serde_json::from_str(text).map_err(crate::protocol::JsonError::from)?;
    let Some(inside) = members.remove("_meta") else { return Ok(()) };
    let mut merged: Meta =
        inside.decode().map_err(|_| Error::new(ErrorKind::InvalidArgument, "`_meta` must be an object"))?;
    for (name, value) in meta.iter().flat_map(|meta| meta.iter()) {
        merged.insert(name, value);
    }
    *meta = Some(merged);
    *params = Some(Json::from_serialize(&members)?);
    Ok(())
}
