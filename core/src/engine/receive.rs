//! One received frame, sorted.

use std::borrow::Cow;
use std::time::Instant;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::lifecycle::{State, handshake_error};
use super::{CloseReason, Diagnostic, Engine, Event, RequestKey, Role, slice};
use crate::error::{Error, ErrorKind};
use crate::protocol::envelope::{self, Answer, Fault, Malformed, Message, Outcome, RpcError};
use crate::protocol::{Json, Method, MethodKind, ProgressToken, RequestId};

/// How much of a faulty frame a diagnostic shows.
const EXCERPT_BYTES: usize = 200;

impl Engine {
    /// Takes one received message: the bytes of one line, one event, one POST. Slices of it are handed on without a copy.
    pub fn handle_frame(&mut self, frame: &Bytes, now: Instant) {
        // DOWN-04: after the end of input no new work is taken.
        if !self.takes_input() {
            return;
        }
        if frame.len() > self.config.limits.message_in {
            self.handle_oversized(&frame[..frame.len().min(4096)]);
            return;
        }
        match envelope::parse(frame, self.config.limits.depth) {
            Ok(Message::Request { id, method, params }) => self.request_received(frame, id, &method, params),
            Ok(Message::Notification { method, params }) => self.notification_received(frame, &method, params, now),
            Ok(Message::Response { id, outcome }) => self.response_received(frame, &id, outcome, now),
            Ok(Message::ConnectionError(error)) => {
                let error = received_error(error);
                self.diagnose(Diagnostic::ConnectionError(error));
            }
            Err(malformed) => self.malformed_received(frame, malformed),
        }
    }

    /// A message longer than the limit was skipped by whoever cut the frames; `beginning` is what was kept of it.
    ///
    /// If it answers an own request, that request fails; a server tells the peer (JRPC-29).
    pub fn handle_oversized(&mut self, beginning: &[u8]) {
        if self.is_closed() {
            return;
        }
        let limit = self.config.limits.message_in;
        self.diagnose(Diagnostic::TooLarge { limit });
        let id = leading_id(beginning);
        if let Some((id, true)) = &id {
            self.fail_pending(id, || {
                Error::new(ErrorKind::TooLarge, format!("the answer is longer than the limit of {limit} bytes"))
            });
            return;
        }
        if self.config.role == Role::Server || id.is_some() {
            let error =
                Error::new(ErrorKind::InvalidRequest, format!("The message is longer than the limit of {limit} bytes"));
            self.refuse(id.map(|(id, _)| id).as_ref(), &error);
        }
    }

    fn malformed_received(&mut self, frame: &Bytes, malformed: Malformed) {
        let Malformed { fault, id, answer } = malformed;
        let excerpt = String::from_utf8_lossy(&frame[..frame.len().min(EXCERPT_BYTES)]).into_owned();
        self.diagnose(Diagnostic::Malformed { fault, excerpt });
        // A response that cannot be used fails its call instead of leaving it to the clock (JRPC-08).
        if answer != Answer::Request
            && let Some(id) = &id
            && self.fail_pending(id, || {
                Error::new(ErrorKind::InvalidResponse, format!("the answer cannot be used: {fault}"))
            })
        {
            return;
        }
        let answered = match answer {
            Answer::Request => true,
            Answer::Unclear => self.config.role == Role::Server,
            Answer::Never => false,
        };
        if answered {
            let kind = match fault {
                Fault::NotUtf8 | Fault::NotJson => ErrorKind::Parse,
                Fault::Params => ErrorKind::InvalidParams,
                _ => ErrorKind::InvalidRequest,
            };
            self.refuse(id.as_ref(), &Error::new(kind, fault.to_string()));
        }
    }

    fn request_received(&mut self, frame: &Bytes, id: RequestId, name: &str, params: Option<&str>) {
        if self.inbound.find(&id).is_some() {
            self.refuse_kind(
                &id,
                ErrorKind::InvalidRequest,
                "Invalid request: a request with this id is still being served",
            );
            return;
        }
        let method = Method::from_name(name, MethodKind::Request);
        let token = match params.map(progress_token).transpose() {
            Ok(token) => token.flatten(),
            Err(fault) => {
                self.refuse_kind(&id, ErrorKind::InvalidParams, fault);
                return;
            }
        };
        match method {
            Method::Ping => {
                let _ = self.outbox.result(&id, "{}", usize::MAX);
                self.check_overflow();
            }
            Method::Initialize if self.config.role == Role::Server => self.initialize_received(&id, params),
            _ if matches!(self.state, State::New | State::Initializing) => {
                self.refuse_kind(
                    &id,
                    ErrorKind::InvalidRequest,
                    "Invalid request: the session is not initialized; send `initialize` first",
                );
            }
            _ if !self.serves(&method) => self.refuse(Some(&id), &Error::method_not_found(name)),
            _ => self.accept(id, method, params.map(|params| slice(frame, params)), token),
        }
    }

    /// Whether this side serves requests of this method in this session (JRPC-14, JRPC-30, CAP-06, CAP-07).
    fn serves(&self, method: &Method) -> bool {
        let Some(spec) = method.spec() else { return !method.as_str().starts_with("rpc.") };
        self.config.role.may_receive(spec.direction)
            && spec.exists_in(self.revision)
            && spec.gate(self.revision).is_none_or(|gate| self.declares(true, gate))
    }

    fn notification_received(&mut self, frame: &Bytes, name: &str, params: Option<&str>, now: Instant) {
        let method = Method::from_name(name, MethodKind::Notification);
        if let Some(spec) = method.spec()
            && (!self.config.role.may_receive(spec.direction) || !spec.exists_in(self.revision))
        {
            self.diagnose(Diagnostic::Dropped { method, why: "not for this side" });
            return;
        }
        match method {
            Method::Cancelled => {
                if let Some((id, reason)) = params.and_then(cancelled_params) {
                    self.cancel_inbound(&id, reason, now);
                }
            }
            Method::Progress => {
                let id = params.and_then(own_token);
                let taken =
                    id.zip(params).is_some_and(|(id, params)| self.progress_received(id, slice(frame, params), now));
                if !taken {
                    self.diagnose(Diagnostic::Dropped { method, why: "no running request has this token" });
                }
            }
            Method::Initialized => self.initialized_received(now),
            // LIFE-18: a server may log before it answers `initialize`.
            Method::LogMessage => self.hand_on(frame, method, params),
            _ if matches!(self.state, State::New | State::Initializing) => {
                self.diagnose(Diagnostic::Dropped { method, why: "the session is not initialized" });
            }
            _ => self.hand_on(frame, method, params),
        }
    }

    fn hand_on(&mut self, frame: &Bytes, method: Method, params: Option<&str>) {
        let params = params.map(|params| slice(frame, params));
        self.events.push_back(Event::Notification { method, params });
    }

    fn response_received(&mut self, frame: &Bytes, id: &RequestId, outcome: Outcome<'_>, now: Instant) {
        let Some(number) = own_id(id).filter(|number| self.outbound.is_asked(*number)) else {
            let late = own_id(id).is_some_and(|number| self.outbound.was_used(number));
            let id = id.clone();
            self.diagnose(if late { Diagnostic::LateResponse(id) } else { Diagnostic::UnknownResponse(id) });
            return;
        };
        let outcome = match outcome {
            Outcome::Result(result) => Ok(slice(frame, result)),
            Outcome::Error(error) => Err(received_error(error)),
            Outcome::Invalid(fault) => Err(Error::new(ErrorKind::InvalidResponse, fault)),
        };
        self.settle(number, outcome, now);
    }

    fn settle(&mut self, id: u64, outcome: Result<Bytes, Error>, now: Instant) {
        let keep_alive = self.is_keep_alive(id);
        let Some(pending) = self.outbound.take(id) else { return };
        if keep_alive {
            self.ping_answered();
        } else if pending.method == Method::Initialize {
            self.initialize_settled(outcome, now);
        } else {
            self.events.push_back(Event::Settled { request: RequestKey(id), outcome });
        }
    }

    /// An own request did not reach the peer: it fails, the session goes on. A failed `initialize` ends the session.
    pub fn fail_request(&mut self, request: RequestKey, error: Error) {
        if !self.is_closed() {
            self.fail_pending(&request.id(), || error);
        }
    }

    /// Fails the own request with this id, if there is one.
    fn fail_pending(&mut self, id: &RequestId, error: impl FnOnce() -> Error) -> bool {
        let Some(number) = own_id(id).filter(|number| self.outbound.is_asked(*number)) else { return false };
        let keep_alive = self.is_keep_alive(number);
        let Some(pending) = self.outbound.take(number) else { return false };
        if keep_alive {
            self.ping_answered();
        } else if pending.method == Method::Initialize {
            self.close(CloseReason::Handshake(handshake_error(error())));
        } else {
            self.events.push_back(Event::Settled { request: RequestKey(number), outcome: Err(error()) });
        }
        true
    }
}

pub(super) fn received_error(error: RpcError<'_>) -> Error {
    let message: Cow<'static, str> = error.message.into_owned().into();
    let received = Error::with_code(error.code, message);
    match error.data.and_then(|data| Json::parse(data).ok()) {
        Some(data) => received.with_data(data),
        None => received,
    }
}

/// Our ids are positive integers (JRPC-03); an answer with another type is no answer to us (JRPC-07).
fn own_id(id: &RequestId) -> Option<u64> {
    match id {
        RequestId::Integer(integer) => u64::try_from(*integer).ok(),
        RequestId::String(_) => None,
    }
}

/// The token in `_meta`, on requests of any method and direction (PROG-03). Errors are sentences for the peer.
fn progress_token(params: &str) -> Result<Option<ProgressToken>, &'static str> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow, default, rename = "_meta")]
        meta: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(borrow, default, rename = "progressToken", deserialize_with = "envelope::present")]
        token: Option<&'a RawValue>,
    }
    const META: &str = "Invalid params: `_meta` must be an object";
    // Most requests have no `_meta`, and a member name written with escapes has a backslash.
    let bytes = params.as_bytes();
    if memchr::memmem::find(bytes, b"\"_meta\"").is_none() && memchr::memchr(b'\\', bytes).is_none() {
        return Ok(None);
    }
    let Ok(Params { meta }) = serde_json::from_str(params) else { return Ok(None) };
    let Some(meta) = meta else { return Ok(None) };
    if !meta.get().starts_with('{') {
        return Err(META);
    }
    let Meta { token } = serde_json::from_str(meta.get()).map_err(|_| META)?;
    let Some(token) = token else { return Ok(None) };
    let token = RequestId::from_json(token.get());
    token.map(Some).map_err(|_| "Invalid params: `_meta.progressToken` must be a string or an integer")
}

pub(super) fn cancelled_params(params: &str) -> Option<(RequestId, Option<String>)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        #[serde(borrow)]
        request_id: &'a RawValue,
        #[serde(borrow, default)]
        reason: Option<&'a RawValue>,
    }
    let params: Params<'_> = serde_json::from_str(params).ok()?;
    let reason = params.reason.and_then(|reason| serde_json::from_str(reason.get()).ok());
    Some((RequestId::from_json(params.request_id.get()).ok()?, reason))
}

/// The token of a progress notification, if it is one of ours: the number of the request.
fn own_token(params: &str) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        #[serde(borrow)]
        progress_token: &'a RawValue,
    }
    let params: Params<'_> = serde_json::from_str(params).ok()?;
    own_id(&RequestId::from_json(params.progress_token.get()).ok()?)
}

/// The id in the beginning of a message that was too long to be read, and whether the message looks like a response.
///
/// The envelope's small members usually come before the large one. What cannot be seen is not guessed.
fn leading_id(beginning: &[u8]) -> Option<(RequestId, bool)> {
    let text = match std::str::from_utf8(beginning) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&beginning[..error.valid_up_to()]).ok()?,
    };
    let mut rest = text.trim_ascii_start().strip_prefix('{')?;
    let (mut id, mut is_call) = (None, false);
    loop {
        let mut names = serde_json::Deserializer::from_str(rest.trim_ascii_start()).into_iter::<String>();
        let Some(Ok(name)) = names.next() else { break };
        rest = rest
            .trim_ascii_start()
            .get(names.byte_offset()..)?
            .trim_ascii_start()
            .strip_prefix(':')?
            .trim_ascii_start();
        if matches!(name.as_str(), "params" | "result" | "error") {
            is_call |= name == "params";
            break;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let Some(Ok(value)) = values.next() else { break };
        match name.as_str() {
            "id" => id = RequestId::from_json(value.get()).ok(),
            "method" => is_call = true,
            _ => {}
        }
        rest = rest.get(values.byte_offset()..)?.trim_ascii_start().strip_prefix(',')?;
    }
    id.map(|id| (id, !is_call))
}
