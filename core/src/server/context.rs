//! What a handler knows and can do while it serves a request.

use std::any::Any;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::session::SessionState;
use crate::engine::{OutgoingRequest, Peer, TimeLimit};
use crate::error::{Error, ErrorKind};
use crate::middleware::Message;
use crate::protocol::{
    CreateMessageRequest, CreateMessageResult, Json, ListRootsResult, LoggingLevel, Meta, Method, MethodKind,
    ProgressNotification, Project, RequestId, Revision,
};
use crate::session::{Call, ProgressHandler, Session};

/// The request that a handler serves: who asks, how to report to them, and how to ask back.
///
/// Cheap to clone, and it may outlive the request: reports then go nowhere (PROG-07), and requests to the peer still work
/// while the session lives.
#[derive(Clone)]
pub struct RequestContext {
    pub(super) call: Arc<Call>,
    pub(super) state: Arc<SessionState>,
}

impl RequestContext {
    /// The protocol revision of the session.
    pub fn revision(&self) -> Revision {
        self.state.revision()
    }

    /// The session's id: unguessable, and unique to this connection.
    pub fn session_id(&self) -> &str {
        &self.call.session.id
    }

    /// The id of the request.
    pub fn request_id(&self) -> &RequestId {
        &self.call.request_id
    }

    /// The method of the request.
    pub fn method(&self) -> &Method {
        &self.call.method
    }

    /// The client's name, version and capabilities.
    pub fn peer(&self) -> Option<&Arc<Peer>> {
        self.state.peer()
    }

    /// The `_meta` object of the request; empty if there is none.
    pub fn meta(&self) -> Meta {
        self.call.meta()
    }

    /// Application data that was given to [`ServerBuilder::data`](super::ServerBuilder::data).
    pub fn data<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.state.server.data::<T>()
    }

    /// The session, for what is not bound to this request.
    pub fn session(&self) -> super::ServerSession {
        super::ServerSession { session: Arc::clone(&self.call.session), state: Arc::clone(&self.state) }
    }

    /// The HTTP request that carried this one; `None` over other transports.
    #[cfg(feature = "sse-server")]
    pub fn http(&self) -> Option<&crate::transport::sse::HttpRequest> {
        self.call.origin.as_deref()?.downcast_ref()
    }

    /// Whether the peer, or the end of the session, wants this request to stop.
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Resolves when the request is to stop. A handler that goes on regardless is dropped a second later.
    pub async fn cancelled(&self) {
        self.call.cancelled().await;
    }

    /// Reports progress, if the peer asked for it. Values must rise; others are ignored (PROG-05). Reports in quick
    /// succession are merged, and the newest always arrives before the answer (PROG-10).
    ///
    /// Returns whether the report will reach the peer.
    pub fn progress(&self, progress: f64, total: Option<f64>) -> bool {
        self.call.session.progress(self.call.id, progress, total, None)
    }

    /// The same with a text for people, which peers from 2025-03-26 on get (PROG-13).
    pub fn progress_with_message(&self, progress: f64, total: Option<f64>, message: &str) -> bool {
        self.call.session.progress(self.call.id, progress, total, Some(message))
    }

    /// Sends a log message if its level passes the session's threshold (LOG-03). `data` is any value that serialises.
    pub fn log(&self, level: LoggingLevel, data: impl Serialize) {
        self.state.log(&self.call.session, level, None, &data, Some(self.call.id));
    }

    /// The same under a logger's name.
    pub fn log_as(&self, logger: &str, level: LoggingLevel, data: impl Serialize) {
        self.state.log(&self.call.session, level, Some(logger), &data, Some(self.call.id));
    }

    /// The least severe level that reaches the peer now.
    pub fn log_level(&self) -> LoggingLevel {
        self.state.log_level()
    }

    /// Asks the client's model for a completion. Fails with [`ErrorKind::Unsupported`] if the client does not offer
    /// sampling, and before anything is sent if the request has what this revision does not know (SAMP-14).
    ///
    /// The request is cancelled when this one is (SAMP-13).
    pub fn sample(&self, request: CreateMessageRequest) -> Ask<CreateMessageResult> {
        let revision = self.revision();
        let mut request = request;
        let params = request
            .validate(revision)
            .and_then(|()| request.project(revision))
            .map_err(Error::from)
            .and_then(|()| Ok(Json::from_serialize(&request)?));
        self.ask(Method::CreateMessage, params.map(Some))
    }

    /// Asks the client for its roots, anew each time. Fails with [`ErrorKind::Unsupported`] if the client has none to
    /// tell.
    pub fn list_roots(&self) -> Ask<ListRootsResult> {
        self.ask(Method::ListRoots, Ok(None))
    }

    /// Sends a request of the application's own, or any other, and returns the result object as it comes.
    pub fn request(&self, method: &str, params: Option<Json>) -> Ask<Json> {
        self.ask(Method::from_name(method, MethodKind::Request), Ok(params))
    }

    /// Sends a notification of the application's own, or any other.
    pub fn notify(&self, method: &str, params: Option<Json>) -> Result<(), Error> {
        let method = Method::from_name(method, MethodKind::Notification);
        self.state.notify(&self.call.session, method, params, Some(self.call.id))
    }

    fn ask<T>(&self, method: Method, params: Result<Option<Json>, Error>) -> Ask<T> {
        let mut ask = Ask::new(&self.call.session, &self.state, method, params);
        ask.call = Some(Arc::clone(&self.call));
        ask
    }
}

impl std::fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RequestContext")
            .field("method", self.method())
            .field("id", self.request_id())
            .finish_non_exhaustive()
    }
}

/// A request to the client that is about to be sent: options, then `.await`.
///
/// Dropping the future cancels the request (CANC-12).
#[must_use = "nothing is sent before it is awaited"]
pub struct Ask<T> {
    session: Arc<Session>,
    state: Arc<SessionState>,
    call: Option<Arc<Call>>,
    method: Method,
    params: Result<Option<Json>, Error>,
    meta: Option<Meta>,
    time: TimeLimit,
    progress: Option<ProgressHandler>,
    result: PhantomData<fn() -> T>,
}

/// People answer these, so they get more time than programs.
const ASK_LIMIT: TimeLimit = TimeLimit::of(Duration::from_secs(600));

impl<T> Ask<T> {
    pub(super) fn new(
        session: &Arc<Session>,
        state: &Arc<SessionState>,
        method: Method,
        params: Result<Option<Json>, Error>,
    ) -> Ask<T> {
        Ask {
            session: Arc::clone(session),
            state: Arc::clone(state),
            call: None,
            method,
            params,
            meta: None,
            time: ASK_LIMIT,
            progress: None,
            result: PhantomData,
        }
    }

    /// A key for this question, unique within the handler and the same each time the handler runs. Revisions without
    /// server-to-client requests match answers to questions by it; 2024-11-05 has no use for it.
    pub fn key(self, _key: &str) -> Self {
        self
    }

    /// How long it may take. Default 10 minutes, begun anew by progress.
    pub fn time_limit(mut self, time: TimeLimit) -> Self {
        self.time = time;
        self
    }

    /// Asks for progress and calls `handler` with each report.
    pub fn on_progress(mut self, handler: impl Fn(ProgressNotification) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(move |params| {
            if let Ok(progress) = serde_json::from_str(params) {
                handler(progress);
            }
        }));
        self
    }

    /// Members for `_meta` of the request. Without it, a `traceparent` and `tracestate` of the request that is being
    /// served are passed on.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }

    async fn send(self) -> Result<Json, Error> {
        let params = self.params?;
        let (call, state, session) = (self.call, self.state, self.session);
        let meta = self.meta.or_else(|| call.as_deref().and_then(trace_context));
        let meta = meta.map(|meta| Json::from_serialize(&meta)).transpose()?;
        let (time, progress) = (self.time, self.progress);
        let id = Arc::clone(&session.id);
        let send = move |message: Message| -> crate::middleware::BoxFuture<Result<Json, Error>> {
            Box::pin(async move {
                let mut request = OutgoingRequest::new(message.method, message.params);
                request.meta = meta;
                request.time = time;
                request.progress = progress.is_some();
                request.related = call.as_ref().map(|call| call.id);
                let pending = session.request(request, progress)?;
                let result = unless_cancelled(pending, call).await?;
                let text = String::from_utf8(result.into()).unwrap_or_default();
                Ok(Json::parse(text)?)
            })
        };
        let message = Message::new(self.method, params, id, state.peer().cloned());
        state.server.middleware.outgoing(message, Box::new(send)).await
    }
}

/// What a request carries for tracing across processes, if it carries it.
fn trace_context(call: &Call) -> Option<Meta> {
    let meta = call.meta();
    let mut carried = Meta::default();
    for name in ["traceparent", "tracestate"] {
        if let Some(value) = meta.get(name) {
            carried = carried.with(name, value.clone());
        }
    }
    (!carried.is_empty()).then_some(carried)
}

/// The outcome of `pending`, or `Cancelled` as soon as `call` is cancelled; then the peer is told.
async fn unless_cancelled(
    mut pending: crate::session::PendingRequest,
    call: Option<Arc<Call>>,
) -> Result<bytes::Bytes, Error> {
    let Some(call) = call else { return pending.await };
    let mut cancelled = Box::pin(async { call.cancelled().await });
    let outcome = std::future::poll_fn(|cx| {
        if let Poll::Ready(outcome) = Pin::new(&mut pending).poll(cx) {
            return Poll::Ready(Some(outcome));
        }
        cancelled.as_mut().poll(cx).map(|()| None)
    })
    .await;
    outcome.unwrap_or_else(|| Err(pending.cancel(Some("the request it belongs to was cancelled"))))
}

impl<T: DeserializeOwned + 'static> IntoFuture for Ask<T> {
    type Output = Result<T, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let method = self.method.clone();
            let result = self.send().await?;
            result.decode().map_err(|error| {
                Error::new(ErrorKind::InvalidResponse, format!("the answer to `{method}` cannot be used: {error}"))
            })
        })
    }
}
