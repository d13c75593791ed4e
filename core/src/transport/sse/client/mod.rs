//! HTTP with SSE on the client side: a [`Transport`] whose input is an event stream and whose output are POSTs.

mod options;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{RequestBuilder, Response, Url};
use rustls_platform_verifier::Verifier;
use tokio::sync::Mutex;

use super::codec::{Event, EventStreamParser, Signal};
use crate::error::{Error, ErrorKind};
use crate::transport::{Incoming, Outgoing, Transport, TransportFuture};

pub use options::SseClientOptions;

/// How much of the body of a refused request an error shows, in bytes.
const BODY_EXCERPT: usize = 2048;

const MAX_REDIRECTS: usize = 10;

/// One connection: a GET whose stream says where to post.
pub struct SseTransport {
    http: reqwest::Client,
    options: SseClientOptions,
    endpoint: Url,
    stream: Mutex<Stream>,
    closed: tokio::sync::watch::Sender<bool>,
}

struct Stream {
    response: Option<Response>,
    parser: EventStreamParser,
    /// Messages that came together with one that was handed out.
    waiting: std::collections::VecDeque<Incoming>,
}

impl SseTransport {
    /// Opens the stream at `url` and waits for its `endpoint` event.
    ///
    /// Fails with [`ErrorKind::Http`] and the status if the server refuses, [`ErrorKind::InvalidResponse`] if it answers
    /// with something else than an event stream or with an endpoint of another origin, [`ErrorKind::Timeout`] if it does
    /// not come to an endpoint in time.
    pub async fn connect(url: &str, options: SseClientOptions) -> Result<SseTransport, Error> {
        let url = Url::parse(url)
            .map_err(|error| Error::new(ErrorKind::InvalidArgument, format!("the URL cannot be used: {error}")))?;
        let http = match &options.http {
            Some(http) => http.clone(),
            None => http_client(&options)?,
        };
        let limit = options.endpoint_limit;
        let opening = open(http, url, options);
        match tokio::time::timeout(limit, opening).await {
            Ok(opened) => opened,
            Err(_) => Err(Error::new(ErrorKind::Timeout, "the server did not say in time where to post messages")),
        }
    }
}

fn http_client(options: &SseClientOptions) -> Result<reqwest::Client, Error> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .tls_backend_preconfigured(tls(options)?)
        .user_agent(concat!("mcp-native/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| Error::new(ErrorKind::Transport, format!("no HTTP client can be made: {error}")))
}

/// The system's certificate authorities, and those of the options, by rustls with ring.
fn tls(options: &SseClientOptions) -> Result<rustls::ClientConfig, Error> {
    let failed = |error: rustls::Error| Error::new(ErrorKind::Transport, format!("TLS cannot be set up: {error}"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        Verifier::new_with_extra_roots(options.roots.iter().cloned(), Arc::clone(&provider)).map_err(failed)?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Sends what `request` makes for a URL, and follows redirects within the origin: what another origin gets to see would
/// include our headers. Only a redirect that keeps the method is followed, so that no message is lost on the way;
/// `is_get` says that all of them do.
async fn send(
    mut url: Url,
    is_get: bool,
    failed: impl Fn(&reqwest::Error) -> Error,
    request: impl Fn(Url) -> RequestBuilder,
) -> Result<Response, Error> {
    for _ in 0..=MAX_REDIRECTS {
        let response = request(url.clone()).send().await.map_err(|error| failed(&error))?;
        let followed = match response.status().as_u16() {
            307 | 308 => true,
            301..=303 => is_get,
            _ => false,
        };
        let location = response.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
        let Some(location) = location.filter(|_| followed) else { return accepted(response).await };
        let next = response.url().join(location);
        match next {
            Ok(next) if next.origin() == url.origin() => url = next,
            _ => {
                let message = "the server redirects to another origin, which is not followed";
                return Err(Error::new(ErrorKind::Http, message));
            }
        }
    }
    Err(Error::new(ErrorKind::Http, "the server redirects again and again"))
}

async fn open(http: reqwest::Client, url: Url, options: SseClientOptions) -> Result<SseTransport, Error> {
    let headers = headers(&options).await?;
    let cannot = |error: &reqwest::Error| failed("the stream cannot be opened", error);
    let get = |url| http.get(url).headers(headers.clone()).header(header::ACCEPT, "text/event-stream");
    let response = send(url, true, cannot, get).await?;
    let media_type = response.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media_type = media_type.and_then(|value| value.split(';').next()).unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("text/event-stream") {
        let message = format!("the server answered with content type `{media_type}` instead of an event stream");
        return Err(Error::new(ErrorKind::InvalidResponse, message));
    }
    // Relative to where redirects led (FC-018).
    let base = response.url().clone();
    let parser = EventStreamParser::new(options.message_limit);
    let mut stream = Stream { response: Some(response), parser, waiting: std::collections::VecDeque::new() };
    let endpoint = stream.endpoint(&base).await?;
    let (closed, _) = tokio::sync::watch::channel(false);
    Ok(SseTransport { http, options, endpoint, stream: Mutex::new(stream), closed })
}

async fn headers(options: &SseClientOptions) -> Result<HeaderMap, Error> {
    let mut headers = options.headers.clone();
    if let Some(callback) = &options.header_callback {
        // A header of the callback takes the place of a fixed one.
        headers.extend(callback().await?);
    }
    Ok(headers)
}

/// A response with a 2xx status, or the error that the status stands for, with a piece of the body.
async fn accepted(response: Response) -> Result<Response, Error> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let challenge =
        response.headers().get(header::WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let body = excerpt(response).await;
    let data = serde_json::json!({ "status": status.as_u16(), "wwwAuthenticate": challenge, "body": body });
    let error = Error::new(ErrorKind::Http, format!("the server answered with HTTP status {status}"));
    Err(match crate::protocol::Json::from_serialize(&data) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    })
}

async fn excerpt(mut response: Response) -> String {
    let mut body = Vec::new();
    while body.len() < BODY_EXCERPT {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk[..chunk.len().min(BODY_EXCERPT - body.len())]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

impl Stream {
    /// Reads on until something was signalled; false at the end of the stream.
    async fn read(&mut self, idle: Option<Duration>, mut signal: impl FnMut(Signal)) -> Result<bool, Error> {
        let Some(response) = &mut self.response else { return Ok(false) };
        let chunk = match idle {
            Some(limit) => tokio::time::timeout(limit, response.chunk())
                .await
                .map_err(|_| Error::new(ErrorKind::Timeout, "the stream carried nothing for too long"))?,
            None => response.chunk().await,
        };
        if let Some(chunk) = chunk.map_err(|error| failed("the stream broke off", &error))? {
            self.parser.feed(&chunk, &mut signal);
            Ok(true)
        } else {
            self.response = None;
            Ok(false)
        }
    }

    async fn endpoint(&mut self, base: &Url) -> Result<Url, Error> {
        let mut endpoint = None;
        // What came with it; nothing may come before it.
        let mut early = Vec::new();
        while endpoint.is_none() {
            let more = self.read(None, |signal| match signal {
                Signal::Event(event) if event.kind == "endpoint" && endpoint.is_none() => endpoint = Some(event.data),
                other if endpoint.is_some() => early.push(other),
                _ => {}
            });
            if !more.await? {
                return Err(Error::closed("the stream ended before it said where to post messages"));
            }
        }
        self.waiting.extend(early.into_iter().filter_map(incoming));
        resolve(base, &endpoint.unwrap_or_default())
    }
}

/// Resolves the endpoint by RFC 3986; another origin is refused (SSE-12).
fn resolve(base: &Url, endpoint: &str) -> Result<Url, Error> {
    let refused = |why: String| Error::new(ErrorKind::InvalidResponse, why);
    if endpoint.trim().is_empty() {
        return Err(refused("the endpoint that the server named is empty".to_owned()));
    }
    let url = base.join(endpoint).map_err(|error| refused(format!("the endpoint is no URI: {error}")))?;
    if url.origin() != base.origin() {
        return Err(refused(format!(
            "the endpoint is on another origin: {} instead of {}",
            url.origin().ascii_serialization(),
            base.origin().ascii_serialization()
        )));
    }
    Ok(url)
}

/// The message of an event, if it has one.
fn incoming(signal: Signal) -> Option<Incoming> {
    match signal {
        Signal::Event(Event { kind, data, .. }) if kind == "message" && !data.is_empty() => Some(Incoming::new(data)),
        Signal::TooLong(beginning) => Some(Incoming::oversized(beginning)),
        _ => None,
    }
}

impl Transport for SseTransport {
    fn receive(&self) -> TransportFuture<'_, Option<Incoming>> {
        Box::pin(async {
            let mut stream = self.stream.lock().await;
            let mut closed = self.closed.subscribe();
            loop {
                if let Some(message) = stream.waiting.pop_front() {
                    return Ok(Some(message));
                }
                let mut arrived = Vec::new();
                let more = tokio::select! {
                    more = stream.read(self.options.idle_limit, |signal| arrived.extend(incoming(signal))) => more?,
                    _ = closed.wait_for(|closed| *closed) => false,
                };
                stream.waiting.extend(arrived);
                if !more && stream.waiting.is_empty() {
                    stream.response = None;
                    return Ok(None);
                }
            }
        })
    }

    /// Done when the server has accepted the message, so messages keep their order (SSE-18). A message that is refused
    /// fails by itself; the session goes on.
    fn send(&self, message: Outgoing) -> TransportFuture<'_, ()> {
        Box::pin(async move {
            let headers = headers(&self.options).await.map_err(|error| {
                let message = format!("there are no headers for the message: {}", error.message());
                Error::new(ErrorKind::Http, message).with_source(error)
            })?;
            let cannot = |error: &reqwest::Error| {
                Error::new(ErrorKind::Http, describe("the message could not be posted", error))
            };
            let post = |url| {
                self.http
                    .post(url)
                    .headers(headers.clone())
                    .header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
                    .timeout(self.options.post_limit)
                    .body(message.message.clone())
            };
            // Whatever 2xx it is, the answer comes on the stream (FC-025).
            send(self.endpoint.clone(), false, cannot, post).await.map(drop)
        })
    }

    fn close(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // Whoever reads lets go of the stream; without a reader it is free.
            self.closed.send_replace(true);
            self.stream.lock().await.response = None;
        })
    }
}

/// An error without the URL, whose query may hold secrets.
fn describe(what: &str, error: &reqwest::Error) -> String {
    let mut text = what.to_owned();
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn failed(what: &str, error: &reqwest::Error) -> Error {
    let kind = if error.is_timeout() { ErrorKind::Timeout } else { ErrorKind::Transport };
    Error::new(kind, describe(what, error))
}
