//! Own requests and notifications: ids, time limits, cancellation, and what is held back until the handshake is done.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::lifecycle::State;
use super::{CallId, Diagnostic, Engine, Event, RequestKey, Role};
use crate::error::{Error, ErrorKind};
use crate::protocol::{Json, Method, MethodKind, ProgressToken};

/// How long an own request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeLimit {
    /// The limit; `None` waits for ever.
    pub limit: Option<Duration>,
    /// Whether progress of the request starts `limit` anew. Default true.
    pub reset_by_progress: bool,
    /// The limit that no progress extends; `None` for none.
    pub maximum: Option<Duration>,
}

impl TimeLimit {
    /// 60 s, begun anew by progress, 10 min in all (TIME-01, TIME-04).
    pub const DEFAULT: TimeLimit = TimeLimit {
        limit: Some(Duration::from_secs(60)),
        reset_by_progress: true,
        maximum: Some(Duration::from_secs(600)),
    };

    /// No limit at all.
    pub const NONE: TimeLimit = TimeLimit { limit: None, reset_by_progress: false, maximum: None };

    /// `limit`, begun anew by progress, without another maximum.
    pub const fn of(limit: Duration) -> TimeLimit {
        TimeLimit { limit: Some(limit), reset_by_progress: true, maximum: None }
    }
}

impl Default for TimeLimit {
    fn default() -> Self {
        TimeLimit::DEFAULT
    }
}

/// An own request to be sent.
#[derive(Debug)]
#[non_exhaustive]
pub struct OutgoingRequest {
    /// What is asked for.
    pub method: Method,
    /// The text of the `params` object, without `_meta`.
    pub params: Option<Json>,
    /// The text of the `_meta` object, without `progressToken`.
    pub meta: Option<Json>,
    /// Whether to ask the peer for progress (PROG-01).
    pub progress: bool,
    /// How long it may take.
    pub time: TimeLimit,
    /// The call of the peer during which this arises.
    pub related: Option<CallId>,
    /// Sends it even if the peer did not declare the capability (CAP-05).
    pub lenient: bool,
}

impl OutgoingRequest {
    /// A request with the default time limit and nothing else.
    pub fn new(method: Method, params: Option<Json>) -> OutgoingRequest {
        OutgoingRequest {
            method,
            params,
            meta: None,
            progress: false,
            time: TimeLimit::DEFAULT,
            related: None,
            lenient: false,
        }
    }
}

/// The table of own requests that are not settled.
#[derive(Debug, Default)]
pub(super) struct Outbound {
    last_id: u64,
    pending: HashMap<u64, Pending>,
}

#[derive(Debug)]
pub(super) struct Pending {
    pub(super) method: Method,
    pub(super) progress: bool,
    time: TimeLimit,
    /// When it times out, and when at the latest.
    pub(super) deadline: Option<Instant>,
    last_deadline: Option<Instant>,
    /// Not on the wire yet.
    held: bool,
}

/// A message that waits for the end of the handshake (LIFE-05, LIFE-06).
#[derive(Debug)]
pub(super) enum Held {
    Request { id: u64, params: Option<String>, related: Option<CallId>, lenient: bool },
    Notification { method: Method, params: Option<Json> },
}

/// Held messages are few by nature; more means that somebody sends without ever finishing a handshake.
const MAX_HELD: usize = 4096;

impl Outbound {
    pub(super) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Forgets everything; returns the requests that now fail.
    pub(super) fn close(&mut self) -> Vec<RequestKey> {
        let mut keys: Vec<_> =
            self.pending.drain().filter(|(_, p)| !p.is_internal()).map(|(id, _)| RequestKey(id)).collect();
        keys.sort_unstable();
        keys
    }

    pub(super) fn take(&mut self, id: u64) -> Option<Pending> {
        self.pending.remove(&id)
    }

    /// Whether the peer was asked this and has not answered.
    pub(super) fn is_asked(&self, id: u64) -> bool {
        self.pending.get(&id).is_some_and(|pending| !pending.held)
    }

    /// For replays, in which ids repeat what was recorded. Returns what was there before.
    pub(super) fn set_last_id(&mut self, id: u64) -> u64 {
        std::mem::replace(&mut self.last_id, id)
    }

    /// Whether this id was given to a request at some time (CANC-05).
    pub(super) fn was_used(&self, id: u64) -> bool {
        (1..=self.last_id).contains(&id)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.pending.values().filter_map(|pending| pending.deadline).min()
    }

    pub(super) fn expired(&self, now: Instant) -> Vec<u64> {
        let due = |pending: &Pending| pending.deadline.is_some_and(|deadline| deadline <= now);
        let mut ids: Vec<_> = self.pending.iter().filter(|(_, p)| due(p)).map(|(id, _)| *id).collect();
        ids.sort_unstable();
        ids
    }
}

impl Pending {
    /// Settled inside the engine, without the application.
    pub(super) fn is_internal(&self) -> bool {
        matches!(self.method, Method::Initialize)
    }
}

impl Engine {
    /// Sends a request. Its outcome comes as [`Event::Settled`] under the returned key, exactly once, unless it is
    /// [cancelled](Engine::cancel). Before the handshake is done it is held back.
    ///
    /// Fails without writing anything if the session is closed, the peer lacks the capability (CAP-05), the revision
    /// lacks the method, or the message is too long.
    pub fn request(&mut self, request: OutgoingRequest, now: Instant) -> Result<RequestKey, Error> {
        self.check_open()?;
        check_own(&request.method)?;
        check_object(request.params.as_ref())?;
        check_object(request.meta.as_ref())?;
        let may_go = self.may_send_now(&request.method, MethodKind::Request);
        // Before the handshake there is nothing to check against; checked when it is let go.
        if may_go {
            self.check_outgoing(&request.method, request.lenient)?;
        }
        self.check_held()?;
        let id = self.outbound.last_id + 1;
        let params = write_params(request.params.as_ref(), request.meta.as_ref(), request.progress.then_some(id))?;
        if may_go {
            let related = self.related(request.related);
            self.outbox
                .request(id, request.method.as_str(), params.as_deref(), related, self.config.limits.message_out)
                .map_err(|length| self.too_long(length))?;
        } else {
            self.held.push(Held::Request { id, params, related: request.related, lenient: request.lenient });
        }
        self.outbound.last_id = id;
        self.track(id, request.method, request.progress, request.time, !may_go, now);
        self.check_overflow();
        Ok(RequestKey(id))
    }

    pub(super) fn track(&mut self, id: u64, method: Method, progress: bool, time: TimeLimit, held: bool, now: Instant) {
        let last_deadline = time.maximum.and_then(|maximum| now.checked_add(maximum));
        let deadline = earliest(time.limit.and_then(|limit| now.checked_add(limit)), last_deadline);
        if let Some(deadline) = deadline {
            self.timers.arm(deadline);
        }
        self.outbound.pending.insert(id, Pending { method, progress, time, deadline, last_deadline, held });
    }

    /// The next id; used where the engine itself sends a request.
    pub(super) fn next_id(&mut self) -> u64 {
        self.outbound.last_id += 1;
        self.outbound.last_id
    }

    /// Sends a notification, or holds it back until the handshake is done.
    ///
    /// Fails without writing anything if the session is closed or this side did not declare the capability (LOG-01,
    /// CAP-10).
    pub fn notify(&mut self, method: &Method, params: Option<&Json>, related: Option<CallId>) -> Result<(), Error> {
        self.check_open()?;
        check_own(method)?;
        check_object(params)?;
        self.check_outgoing(method, false)?;
        if !self.may_send_now(method, MethodKind::Notification) {
            self.check_held()?;
            self.hold_notification(method, params);
            return Ok(());
        }
        let related = self.related(related);
        self.outbox
            .notification(method.as_str(), params.map(Json::get), related, self.config.limits.message_out)
            .map_err(|length| self.too_long(length))?;
        self.check_overflow();
        Ok(())
    }

    /// A change announced twice before anybody may hear of it is one change.
    fn hold_notification(&mut self, method: &Method, params: Option<&Json>) {
        let same = |held: &Held| matches!(held, Held::Notification { method: m, params: None } if m == method);
        if params.is_none() && self.held.iter().any(same) {
            return;
        }
        self.held.push(Held::Notification { method: method.clone(), params: params.cloned() });
    }

    fn may_send_now(&self, method: &Method, kind: MethodKind) -> bool {
        match (self.state, self.config.role) {
            (State::Ready, _) => true,
            (_, Role::Client) => *method == Method::Ping && self.state != State::New,
            // LIFE-06: pings and log messages are all a server may send before `initialized`.
            (_, Role::Server) => match kind {
                MethodKind::Request => *method == Method::Ping,
                MethodKind::Notification => *method == Method::LogMessage,
            },
        }
    }

    /// Lets go of what was held back, in order.
    pub(super) fn release_held(&mut self) {
        for held in std::mem::take(&mut self.held) {
            if self.is_closed() {
                return;
            }
            match held {
                Held::Request { id, params, related, lenient } => {
                    self.release_request(id, params.as_deref(), related, lenient);
                }
                Held::Notification { method, params } => {
                    if self.notify(&method, params.as_ref(), None).is_err() {
                        self.diagnose(Diagnostic::Dropped { method, why: "not possible in this session" });
                    }
                }
            }
        }
    }

    fn release_request(&mut self, id: u64, params: Option<&str>, related: Option<CallId>, lenient: bool) {
        let Some(pending) = self.outbound.pending.get_mut(&id) else { return };
        pending.held = false;
        let method = pending.method.clone();
        let related = self.related(related);
        let limit = self.config.limits.message_out;
        let sent = self.check_outgoing(&method, lenient).and_then(|()| {
            self.outbox.request(id, method.as_str(), params, related, limit).map_err(|length| self.too_long(length))
        });
        if let Err(error) = sent {
            self.outbound.take(id);
            self.events.push_back(Event::Settled { request: RequestKey(id), outcome: Err(error) });
        }
        self.check_overflow();
    }

    /// Gives up an own request: tells the peer (CANC-01), forgets it, and discards a late answer (CANC-05). The outcome
    /// is the caller's to deliver, there will be no event. Returns false if it was settled before; then nothing is sent.
    pub fn cancel(&mut self, request: RequestKey, reason: Option<&str>) -> bool {
        let Some(pending) = self.outbound.take(request.0) else { return false };
        self.withdraw(request.0, &pending, reason);
        true
    }

    /// Nobody waits for the answer to this request any more.
    pub(super) fn withdraw(&mut self, request: u64, pending: &Pending, reason: Option<&str>) {
        if pending.held {
            self.held.retain(|held| !matches!(held, Held::Request { id, .. } if *id == request));
        } else if self.state == State::Ready {
            // Before, only pings can be on their way, and nothing but pings may be written (LIFE-05, LIFE-06).
            self.send_cancelled(request, reason);
        }
    }

    fn send_cancelled(&mut self, id: u64, reason: Option<&str>) {
        #[derive(serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Params<'a> {
            request_id: u64,
            #[serde(skip_serializing_if = "Option::is_none")]
            reason: Option<&'a str>,
        }
        let params = serde_json::to_string(&Params { request_id: id, reason }).expect("numbers and strings are JSON");
        let limit = self.config.limits.message_out;
        if self.outbox.notification(Method::Cancelled.as_str(), Some(&params), None, limit).is_err() {
            self.diagnose(Diagnostic::Dropped { method: Method::Cancelled, why: "longer than the limit" });
        }
        self.check_overflow();
    }

    /// Progress of an own request: starts its limit anew, and is handed on if it was asked for (PROG-09).
    pub(super) fn progress_received(&mut self, id: u64, params: Bytes, now: Instant) -> bool {
        let Some(pending) = self.outbound.pending.get_mut(&id).filter(|pending| pending.progress && !pending.held)
        else {
            return false;
        };
        if pending.time.reset_by_progress && pending.deadline.is_some() {
            let anew = pending.time.limit.and_then(|limit| now.checked_add(limit));
            pending.deadline = earliest(anew, pending.last_deadline);
        }
        self.events.push_back(Event::Progress { request: RequestKey(id), params });
        true
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.is_closed() || self.timers.draining() {
            return Err(Error::closed("the connection is closed"));
        }
        Ok(())
    }

    fn check_held(&self) -> Result<(), Error> {
        if self.held.len() >= MAX_HELD {
            return Err(Error::new(ErrorKind::Overloaded, "too many messages wait for the end of the handshake"));
        }
        Ok(())
    }

    fn too_long(&self, length: usize) -> Error {
        let limit = self.config.limits.message_out;
        Error::new(ErrorKind::TooLarge, format!("the message has {length} bytes, more than the limit of {limit}"))
    }
}

fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// What belongs to the session, the application does not send: LIFE-01, LIFE-04, CANC-01, PROG-05.
fn check_own(method: &Method) -> Result<(), Error> {
    if !matches!(method, Method::Initialize | Method::Initialized | Method::Cancelled | Method::Progress) {
        return Ok(());
    }
    let message = format!("`{method}` is sent by the session itself, at the right moment");
    Err(Error::new(ErrorKind::InvalidArgument, message))
}

/// JRPC-16: what is sent as `params` or `_meta` is an object.
fn check_object(json: Option<&Json>) -> Result<(), Error> {
    if json.is_none_or(Json::is_object) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidArgument, "`params` and `_meta` must be JSON objects"))
}

/// The `params` object with `_meta` in front.
fn write_params(params: Option<&Json>, meta: Option<&Json>, token: Option<u64>) -> Result<Option<String>, Error> {
    if meta.is_none() && token.is_none() {
        return Ok(params.map(|params| params.get().to_owned()));
    }
    // One member each, even if both sides name it: a message with two of them means different things to different peers.
    let mut params = members(params)?;
    let mut all = match params.remove("_meta") {
        Some(inner) if inner.is_object() => members(Some(&inner))?,
        _ => BTreeMap::new(),
    };
    all.append(&mut members(meta)?);
    if let Some(token) = token {
        all.insert("progressToken".to_owned(), Json::from(&ProgressToken::from(token)));
    }
    params.insert("_meta".to_owned(), Json::from_serialize(&all)?);
    Ok(Some(Json::from_serialize(&params)?.get().to_owned()))
}

/// The members of an object, each as its text.
fn members(object: Option<&Json>) -> Result<BTreeMap<String, Json>, Error> {
    Ok(object.map(Json::decode).transpose()?.unwrap_or_default())
}
