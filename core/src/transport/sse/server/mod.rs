//! HTTP with SSE on the server side: a GET opens a session and its event stream, POSTs carry the client's messages.
//!
//! | request | answer |
//! |---|---|
//! | `GET` of the stream's path | 200 and the stream; its first event, `endpoint`, says where to post (SSE-02) |
//! | `POST` of a message | 202, and whatever comes of it on the stream (SSE-09) |
//! | a body that is no JSON-RPC message | 400 (SSE-11) |
//! | no session id; an unknown one | 400; 404 (SSE-10) |
//! | a foreign `Host` or `Origin` | 403 (SSE-05) |
//! | the hook says no | its status; another identity than the stream's: 403 |
//! | another method; content type; too long a body | 405; 415; 413 (SSE-20) |
//! | too many sessions; of one identity; shutting down | 503; 429; 503 |
//! | the body does not arrive in time | 408 |

mod auth;
mod counters;
mod gate;
mod options;
mod serve;
mod sessions;
mod stream;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, OriginalUri, Request, State};
use axum::response::Response;
use axum::routing::{any, get};
use bytes::Bytes;
use http::header::{self, HeaderValue};
use http::{Extensions, HeaderMap, Method, StatusCode, Uri};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::protocol::{RequestId, envelope};
use crate::server::Server;

pub use auth::{AuthRequest, Authenticate, BearerTokens, Identity, Refusal, bearer_tokens};
pub use counters::{SseCounters, SseSnapshot};
pub use options::SseOptions;
pub use serve::SseServer;
pub use sessions::{ShutdownReport, SseHandle};

use gate::Verdict;
use sessions::Sessions;
use stream::{Cut, StreamBody, StreamOutlet};

/// What is known of the HTTP request that carried a message; see
/// [`RequestContext::http`](crate::server::RequestContext::http).
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The headers of the POST.
    pub headers: HeaderMap,
    /// Where it came from, if the server knows.
    pub peer: Option<SocketAddr>,
    /// Who it is from.
    pub identity: Identity,
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of headers may be secrets (SEC-09).
        let names: Vec<_> = self.headers.keys().collect();
        let mut out = f.debug_struct("HttpRequest");
        out.field("peer", &self.peer).field("identity", &self.identity).field("headers", &names).finish()
    }
}

/// The address that a connection came in on, for the check of the `Host` header.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocalAddr(pub(super) SocketAddr);

impl Server {
    /// Routes to mount in a larger axum app, under any prefix, and a handle to look after them.
    ///
    /// Use `into_make_service_with_connect_info::<SocketAddr>()` so that handlers and hooks learn the peer's address.
    pub fn sse_router(&self, options: SseOptions) -> (Router, SseHandle) {
        let sessions = Arc::new(Sessions::new(self.clone(), options));
        let options = &sessions.options;
        // Not `get` and `post`: a HEAD would open a session, and refusals of other methods would not be counted.
        let mut router = Router::new()
            .route(&options.sse_path, any(stream_requested))
            .route(&options.message_path, any(message_requested));
        if options.health {
            router = router.route("/healthz", get(health));
        }
        sessions.begin_comments();
        (router.with_state(Arc::clone(&sessions)), SseHandle::new(sessions))
    }
}

/// What the head of a request says, once it is let in.
struct Admitted {
    origin: Option<HeaderValue>,
    peer: Option<SocketAddr>,
    identity: Identity,
}

/// Host, origin and the authentication hook, the same for GET and POST.
async fn admit(
    sessions: &Sessions,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> Result<Admitted, Response> {
    let authority = uri.authority().map(http::uri::Authority::as_str);
    let local = extensions.get::<LocalAddr>().map(|local| local.0);
    let origin = match gate::check(&sessions.options, headers, authority, local) {
        Verdict::Pass(origin) => origin,
        Verdict::Refuse(why) => return Err(sessions.refuse(StatusCode::FORBIDDEN, why, None)),
    };
    let peer = extensions.get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    let Some(hook) = &sessions.options.auth else {
        return Ok(Admitted { origin, peer, identity: Identity::default() });
    };
    let request = AuthRequest { method: method.clone(), headers: headers.clone(), peer };
    match hook.authenticate(request).await {
        Ok(identity) => Ok(Admitted { origin, peer, identity }),
        Err(refusal) => {
            let mut response = sessions.refuse(refusal.status, &refusal.message, origin.as_ref());
            if let Some(challenge) = refusal.challenge.and_then(|challenge| HeaderValue::try_from(challenge).ok()) {
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            }
            Err(response)
        }
    }
}

async fn stream_requested(
    State(sessions): State<Arc<Sessions>>,
    OriginalUri(original): OriginalUri,
    request: Request,
) -> Response {
    match *request.method() {
        Method::GET => open_stream(sessions, original, request).await,
        Method::OPTIONS => preflight(&sessions, &original, request, "GET, OPTIONS"),
        _ => wrong_method(&sessions, "GET, OPTIONS"),
    }
}

async fn message_requested(
    State(sessions): State<Arc<Sessions>>,
    OriginalUri(original): OriginalUri,
    request: Request,
) -> Response {
    match *request.method() {
        Method::POST => post_message(sessions, original, request).await,
        Method::OPTIONS => preflight(&sessions, &original, request, "POST, OPTIONS"),
        _ => wrong_method(&sessions, "POST, OPTIONS"),
    }
}

fn wrong_method(sessions: &Sessions, allow: &'static str) -> Response {
    let mut response = sessions.refuse(StatusCode::METHOD_NOT_ALLOWED, "this method is not served here", None);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
    response
}

async fn open_stream(sessions: Arc<Sessions>, original: Uri, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let admitted = match admit(&sessions, &head.method, &original, &head.headers, &head.extensions).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let outlet = StreamOutlet::new(head.extensions.get::<Cut>().cloned());
    let (ticket, session) = match sessions.open(&admitted.identity, &outlet) {
        Ok(opened) => opened,
        Err((status, why)) => return sessions.refuse(status, why, admitted.origin.as_ref()),
    };
    let endpoint = endpoint(&sessions.options, &original, &ticket);
    let body = StreamBody::new(ticket, session, outlet, Arc::clone(&sessions), &endpoint);
    let mut response = Response::new(Body::new(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    gate::allow_origin(headers, admitted.origin.as_ref());
    response
}

/// The URI that the client posts to: relative to the origin, behind whatever the routes are mounted under and whatever a
/// proxy takes away (FC-017).
fn endpoint(options: &SseOptions, original: &Uri, ticket: &str) -> String {
    let mount = original.path().strip_suffix(&options.sse_path).unwrap_or_default().trim_end_matches('/');
    let public = options.public_prefix.as_deref().unwrap_or_default();
    let path = format!("{public}{mount}{}", options.message_path);
    // Two slashes at the beginning would name another host.
    format!("/{}?sessionId={ticket}", path.trim_start_matches('/'))
}

async fn post_message(sessions: Arc<Sessions>, original: Uri, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let admitted = match admit(&sessions, &head.method, &original, &head.headers, &head.extensions).await {
        Ok(admitted) => admitted,
        Err(response) => return response,
    };
    let origin = admitted.origin.clone();
    let refuse = |status, why: &str| sessions.refuse(status, why, origin.as_ref());
    let Some(id) = session_id(head.uri.query()) else {
        return refuse(StatusCode::BAD_REQUEST, "the query must have a sessionId");
    };
    let Some(entry) = sessions.find(&id) else {
        return refuse(StatusCode::NOT_FOUND, "there is no such session");
    };
    if entry.identity.id != admitted.identity.id {
        return refuse(StatusCode::FORBIDDEN, "the session belongs to somebody else");
    }
    if !gate::is_json(&head.headers) {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the content type must be application/json");
    }
    let message = match read_body(body, &sessions.options).await {
        Ok(message) => message,
        Err((status, why)) => return refuse(status, why),
    };
    if sessions.is_shutting_down() {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down");
    }
    let id = match request_id(&message, entry.session.depth_limit()) {
        Ok(id) => id,
        Err(body) => {
            let mut response = refuse(StatusCode::BAD_REQUEST, &body);
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            return response;
        }
    };
    let http = HttpRequest { headers: head.headers, peer: admitted.peer, identity: admitted.identity };
    if entry.session.receive_with(&message, id, Arc::new(http)) {
        sessions.counters.received(message.len());
        answer(StatusCode::ACCEPTED, "Accepted", origin.as_ref())
    } else if sessions.is_shutting_down() {
        refuse(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down")
    } else {
        refuse(StatusCode::NOT_FOUND, "the session has ended")
    }
}

/// The id of a message, if it is a request. What is no message is refused with a JSON-RPC error as the body, and the
/// stream hears nothing of it (SSE-11).
fn request_id(message: &Bytes, depth: usize) -> Result<Option<RequestId>, String> {
    match envelope::parse(message, depth) {
        Ok(envelope::Message::Request { id, .. }) => Ok(Some(id)),
        Ok(_) => Ok(None),
        Err(malformed) if malformed.answer == envelope::Answer::Never || malformed.id.is_some() => Ok(None),
        Err(malformed) => {
            let unreadable = matches!(malformed.fault, envelope::Fault::NotUtf8 | envelope::Fault::NotJson);
            let code = if unreadable { -32700 } else { -32600 };
            let error = serde_json::json!({
                "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": malformed.fault.to_string() }
            });
            Err(error.to_string())
        }
    }
}

async fn read_body(body: Body, options: &SseOptions) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LONG: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "the message is longer than the limit");
    // A length that is announced need not be waited for.
    if body.size_hint().lower() > options.body_limit as u64 {
        return Err(TOO_LONG);
    }
    let read = Limited::new(body, options.body_limit).collect();
    match tokio::time::timeout(options.body_time, read).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(TOO_LONG),
        Ok(Err(_)) => Err((StatusCode::BAD_REQUEST, "the body could not be read")),
        Err(_) => Err((StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
    }
}

/// The value of `sessionId`. Ids are hexadecimal, so nothing has to be decoded.
fn session_id(query: Option<&str>) -> Option<String> {
    let mut pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == "sessionId").map(|(_, value)| value.to_owned())
}

fn preflight(sessions: &Sessions, original: &Uri, request: Request, allow: &'static str) -> Response {
    let (head, _) = request.into_parts();
    let authority = original.authority().map(http::uri::Authority::as_str);
    let local = head.extensions.get::<LocalAddr>().map(|local| local.0);
    match gate::check(&sessions.options, &head.headers, authority, local) {
        Verdict::Pass(Some(origin)) if gate::is_preflight(&head.headers) => gate::preflight(&head.headers, &origin),
        Verdict::Pass(_) => wrong_method(sessions, allow),
        Verdict::Refuse(why) => sessions.refuse(StatusCode::FORBIDDEN, why, None),
    }
}

async fn health(State(sessions): State<Arc<Sessions>>) -> Response {
    let status = if sessions.is_shutting_down() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    answer(status, if status == StatusCode::OK { "ok" } else { "shutting down" }, None)
}

fn answer(status: StatusCode, body: impl Into<Body>, origin: Option<&HeaderValue>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    gate::allow_origin(headers, origin);
    response
}
