//! Which requests get in: host, origin, CORS.

use std::net::{IpAddr, SocketAddr};

use http::header::{self, HeaderValue};
use http::{HeaderMap, Response, StatusCode};

use super::options::SseOptions;

/// What the gate says of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Let in; the origin, if it has one, is listed.
    Pass(Option<HeaderValue>),
    /// 403 with the reason.
    Refuse(&'static str),
}

/// Checks `Host` and `Origin` (SSE-05). An origin check alone does not stop DNS rebinding, where both names are the
/// attacker's and a GET of the same origin has no `Origin` at all.
pub(super) fn check(
    options: &SseOptions,
    headers: &HeaderMap,
    authority: Option<&str>,
    local: Option<SocketAddr>,
) -> Verdict {
    let host = headers.get(header::HOST).map(HeaderValue::to_str).transpose();
    let Ok(host) = host else { return Verdict::Refuse("the Host header is not readable") };
    let Some(host) = host.or(authority) else { return Verdict::Refuse("the Host header is missing") };
    if headers.get_all(header::HOST).iter().count() > 1 || !host_allowed(options, host, local) {
        return Verdict::Refuse("this Host is not served here");
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Verdict::Pass(None) };
    let listed = origin.to_str().is_ok_and(|origin| {
        let origin = origin.to_ascii_lowercase();
        options.allowed_origins.contains(&origin)
    });
    if listed && headers.get_all(header::ORIGIN).iter().count() == 1 {
        Verdict::Pass(Some(origin.clone()))
    } else {
        Verdict::Refuse("this Origin is not allowed")
    }
}

fn host_allowed(options: &SseOptions, host: &str, local: Option<SocketAddr>) -> bool {
    let host = host.to_ascii_lowercase();
    let Some(name) = without_port(&host) else { return false };
    if matches!(name, "localhost" | "127.0.0.1" | "[::1]") {
        return true;
    }
    if options.allowed_hosts.iter().any(|allowed| *allowed == host || allowed == name) {
        return true;
    }
    // The very address that the connection came in on can be no name of somebody else's.
    let ip = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    local.is_some_and(|local| ip == Ok(local.ip()))
}

/// The name or address of a `Host` header; `None` if what follows it is no port.
fn without_port(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, rest) = host.split_at(end);
    let is_port =
        |rest: &str| rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    (rest.is_empty() || is_port(rest)).then_some(name)
}

/// The answer to a pre-flight of a listed origin.
pub(super) fn preflight<B: Default>(headers: &HeaderMap, origin: &HeaderValue) -> Response<B> {
    let mut response = Response::new(B::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let out = response.headers_mut();
    out.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST"));
    if let Some(asked) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        out.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, asked.clone());
    }
    out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    allow_origin(out, Some(origin));
    response
}

/// Says to a browser that its page may read the answer.
pub(super) fn allow_origin(headers: &mut HeaderMap, origin: Option<&HeaderValue>) {
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.append(header::VARY, HeaderValue::from_static("origin"));
    }
}

/// Whether an OPTIONS is that of a browser which asks before it acts.
pub(super) fn is_preflight(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// `application/json`, with any parameters, in any case (FC-022).
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()) else { return false };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}
