//! Who is at the other end of an HTTP request.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderMap, Method, StatusCode};

use crate::middleware::BoxFuture;

/// What an authentication hook sees of a GET or POST.
#[derive(Clone)]
#[non_exhaustive]
pub struct AuthRequest {
    /// `GET` opens a session, `POST` sends a message.
    pub method: Method,
    /// All headers.
    pub headers: HeaderMap,
    /// Where the connection comes from, if the server knows.
    pub peer: Option<SocketAddr>,
}

impl fmt::Debug for AuthRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values of headers may be secrets (SEC-09).
        let names: Vec<_> = self.headers.keys().collect();
        f.debug_struct("AuthRequest")
            .field("method", &self.method)
            .field("peer", &self.peer)
            .field("headers", &names)
            .finish()
    }
}

/// Who a request is from. Sessions belong to the identity that opened them: messages of another one get 403.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Identity {
    /// A name that is equal for requests of the same caller.
    pub id: Option<Arc<str>>,
    /// Data of the application for the handlers' context.
    pub data: Option<Arc<dyn Any + Send + Sync>>,
}

impl Identity {
    /// A caller with this name.
    pub fn new(id: impl Into<Arc<str>>) -> Identity {
        Identity { id: Some(id.into()), data: None }
    }

    /// The same with data for the handlers.
    #[must_use]
    pub fn with_data(mut self, data: impl Any + Send + Sync) -> Identity {
        self.data = Some(Arc::new(data));
        self
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names of callers may be secrets.
        f.debug_struct("Identity").field("named", &self.id.is_some()).finish_non_exhaustive()
    }
}

/// Why a request is refused.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Refusal {
    /// The status, such as 401 or 403.
    pub status: StatusCode,
    /// The `WWW-Authenticate` header.
    pub challenge: Option<String>,
    /// A sentence for people, sent as the body.
    pub message: String,
}

impl Refusal {
    /// 401 with a challenge such as `Bearer`.
    pub fn unauthorized(challenge: impl Into<String>) -> Refusal {
        Refusal {
            status: StatusCode::UNAUTHORIZED,
            challenge: Some(challenge.into()),
            message: "Unauthorized".to_owned(),
        }
    }

    /// Any status.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal { status, challenge: None, message: message.into() }
    }
}

/// Decides about every GET and POST (SSE-07). Runs before anything of the request is looked at but its head.
pub trait Authenticate: Send + Sync + 'static {
    /// Who it is, or why not.
    fn authenticate(&self, request: AuthRequest) -> BoxFuture<Result<Identity, Refusal>>;
}

impl<F, Fut> Authenticate for F
where
    F: Fn(AuthRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Identity, Refusal>> + Send + 'static,
{
    fn authenticate(&self, request: AuthRequest) -> BoxFuture<Result<Identity, Refusal>> {
        Box::pin(self(request))
    }
}

/// Accepts bearer tokens (RFC 6750) that a check of the application knows.
pub struct BearerTokens<F> {
    check: Arc<F>,
}

/// A hook that reads `Authorization: Bearer …` and asks `check` whose token it is. Compare tokens in constant time.
pub fn bearer_tokens<F, Fut>(check: F) -> BearerTokens<F>
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Option<Identity>> + Send + 'static,
{
    BearerTokens { check: Arc::new(check) }
}

impl<F, Fut> Authenticate for BearerTokens<F>
where
    F: Fn(String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Option<Identity>> + Send + 'static,
{
    fn authenticate(&self, request: AuthRequest) -> BoxFuture<Result<Identity, Refusal>> {
        let check = Arc::clone(&self.check);
        Box::pin(async move {
            let header = request.headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
            let token = header.and_then(|header| header.split_once(' '));
            match token {
                Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
                    let known = check(token.trim().to_owned()).await;
                    known.ok_or_else(|| Refusal::unauthorized("Bearer error=\"invalid_token\""))
                }
                _ => Err(Refusal::unauthorized("Bearer")),
            }
        })
    }
}
