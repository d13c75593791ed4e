//! The settings of HTTP with SSE on the client side.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::error::{Error, ErrorKind};
use crate::middleware::BoxFuture;

/// Makes headers for one request, such as a fresh token.
pub(super) type HeaderCallback = Arc<dyn Fn() -> BoxFuture<Result<HeaderMap, Error>> + Send + Sync>;

/// How a client connects over HTTP with SSE.
#[derive(Clone)]
#[non_exhaustive]
pub struct SseClientOptions {
    pub(super) headers: HeaderMap,
    pub(super) header_callback: Option<HeaderCallback>,
    pub(super) endpoint_limit: Duration,
    pub(super) idle_limit: Option<Duration>,
    pub(super) post_limit: Duration,
    pub(super) message_limit: usize,
    pub(super) roots: Vec<CertificateDer<'static>>,
    pub(super) http: Option<reqwest::Client>,
}

impl Default for SseClientOptions {
    fn default() -> Self {
        SseClientOptions {
            headers: HeaderMap::new(),
            header_callback: None,
            endpoint_limit: Duration::from_secs(30),
            idle_limit: None,
            post_limit: Duration::from_secs(60),
            message_limit: crate::engine::Limits::default().message_in,
            roots: Vec::new(),
            http: None,
        }
    }
}

impl SseClientOptions {
    /// The defaults.
    pub fn new() -> SseClientOptions {
        SseClientOptions::default()
    }

    /// A header for the GET and every POST. Fails if the name or the value is not one that HTTP allows; the message does
    /// not show the value (SEC-09).
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let name = HeaderName::try_from(name)
            .map_err(|_| Error::new(ErrorKind::InvalidArgument, "the name of a header is not one that HTTP allows"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            Error::new(ErrorKind::InvalidArgument, format!("the value of header `{name}` is not one that HTTP allows"))
        })?;
        value.set_sensitive(true);
        self.headers.append(name, value);
        Ok(self)
    }

    /// Headers made anew for the GET and for every POST (FC-023).
    #[must_use]
    pub fn header_callback<F, Fut>(mut self, callback: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<HeaderMap, Error>> + Send + 'static,
    {
        self.header_callback = Some(Arc::new(move || Box::pin(callback())));
        self
    }

    /// How long the connection, the answer to the GET and the `endpoint` event may take together. Default 30 s (FC-019).
    #[must_use]
    pub fn endpoint_limit(mut self, limit: Duration) -> Self {
        self.endpoint_limit = limit;
        self
    }

    /// How long the stream may carry nothing at all, comments included, before it counts as dead. Default: for ever
    /// (FC-032).
    #[must_use]
    pub fn idle_limit(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.idle_limit = limit.into();
        self
    }

    /// How long a POST may take until it is accepted. Default 60 s.
    #[must_use]
    pub fn post_limit(mut self, limit: Duration) -> Self {
        self.post_limit = limit;
        self
    }

    /// The longest message accepted, in bytes. Default 64 MiB.
    #[must_use]
    pub fn message_limit(mut self, bytes: usize) -> Self {
        self.message_limit = bytes;
        self
    }

    /// Trusts this certificate authority besides those of the system. Fails if `pem` holds no certificate.
    pub fn certificate_authority(mut self, pem: &[u8]) -> Result<Self, Error> {
        let before = self.roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            self.roots.push(certificate.map_err(|error| {
                Error::new(ErrorKind::InvalidArgument, format!("the certificate cannot be read: {error}"))
            })?);
        }
        if self.roots.len() == before {
            return Err(Error::new(ErrorKind::InvalidArgument, "there is no certificate in what was given"));
        }
        Ok(self)
    }

    /// The HTTP client to use, for its own certificates, proxies and the like. It must not follow redirects to another
    /// origin. Default: one with rustls that takes proxies from the environment.
    #[must_use]
    pub fn http_client(mut self, client: reqwest::Client) -> Self {
        self.http = Some(client);
        self
    }
}
