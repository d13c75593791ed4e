//! Replays a recorded session: the same frames, in the same order, at the same moments, without waiting.
//!
//! A recording is what `JsonLines` of the `transport` module writes, one message a line:
//! `{"dir":"in"|"out","t":microseconds,"session":"…","frame":"…"}`, with `frame_hex` instead of `frame` for bytes that are
//! not UTF-8. [`parse`] reads it, [`Replay`] drives an [`Engine`] with it.
//!
//! The peer's part is replayed as it stands. The application's part is the caller's choice. It can act as an application
//! does, through [`Replay::engine`], whenever a step asks for it. Or it can [repeat](Replay::repeat) what the application
//! did then: each [`Step::Recorded`] hands out what was sent at that point of the recording.
//!
//! ```
//! use mcp_native::engine::replay::{self, Replay, Step};
//! use mcp_native::engine::{Config, Local, Role};
//! use mcp_native::protocol::Implementation;
//!
//! let recording = r#"{"dir":"in","t":5,"session":"s","frame":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"}"#;
//! let config = Config::new(Role::Server, Local::new(Implementation::new("server", "1.0")));
//! let mut replay = Replay::new(config, replay::parse(recording)?);
//! let mut sent = Vec::new();
//! while let Some(step) = replay.step() {
//!     match step {
//!         Step::Sent(frame) => sent.push(frame),
//!         Step::Recorded(frame) => replay.repeat(&frame),
//!         Step::Event(event) => println!("{event:?}"),
//!     }
//! }
//! assert_eq!(sent, [r#"{"jsonrpc":"2.0","id":1,"result":{}}"#]);
//! # Ok::<(), mcp_native::Error>(())
//! ```

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Deserialize;

use super::receive::{cancelled_params, received_error};
use super::{Config, Engine, Event, OutgoingRequest, RequestKey, Role, TimeLimit, later};
use crate::error::{Error, ErrorKind};
use crate::protocol::envelope::{self, Message, Outcome};
use crate::protocol::{Json, Method, MethodKind, ProgressToken, RequestId};

/// One message of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// Whether the recording side received it; else it sent it.
    pub received: bool,
    /// When it passed, from the first message of the recording on.
    pub at: Duration,
    /// The session it belongs to. A recording may hold several; a replay is of one.
    pub session: String,
    /// Its bytes without a line end.
    pub frame: Bytes,
}

/// Reads a recording; blank lines are skipped.
///
/// Fails at the first line that is no record, and says which.
pub fn parse(recording: &str) -> Result<Vec<Record>, Error> {
    let mut records = Vec::new();
    let mut begin = None;
    for (number, line) in recording.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fault = |what: &str| {
            Error::new(ErrorKind::InvalidArgument, format!("line {} of the recording: {what}", number + 1))
        };
        let line: Line = serde_json::from_str(line).map_err(|error| fault(&error.to_string()))?;
        let frame = match (line.frame, line.frame_hex) {
            (Some(text), None) => Bytes::from(text),
            (None, Some(hex)) => from_hex(&hex).ok_or_else(|| fault("`frame_hex` is not hexadecimal"))?,
            _ => return Err(fault("exactly one of `frame` and `frame_hex` is needed")),
        };
        let at = Duration::from_micros(line.t);
        records.push(Record {
            received: matches!(line.dir, Dir::In),
            at: at.saturating_sub(*begin.get_or_insert(at)),
            session: line.session,
            frame,
        });
    }
    Ok(records)
}

#[derive(Deserialize)]
struct Line {
    dir: Dir,
    t: u64,
    session: String,
    frame: Option<String>,
    frame_hex: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Dir {
    In,
    Out,
}

fn from_hex(hex: &str) -> Option<Bytes> {
    let digit = |byte: u8| (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect();
    rest.is_empty().then_some(Bytes::from(bytes?))
}

/// What happens next in a replay.
#[derive(Debug)]
pub enum Step {
    /// The engine tells the application.
    Event(Event),
    /// The engine sends this to the peer.
    Sent(Bytes),
    /// At this point of the recording this was sent. Compare it, [repeat](Replay::repeat) it, or pass over it.
    Recorded(Bytes),
}

/// A session that happens again.
#[derive(Debug)]
pub struct Replay {
    engine: Engine,
    records: VecDeque<Record>,
    begin: Instant,
    now: Instant,
}

impl Replay {
    /// A session under `config`, with the records of one session, as [`parse`] gave them.
    ///
    /// A client begins at once, and waits for the answer to `initialize` as long as the recording does.
    pub fn new(config: Config, records: impl IntoIterator<Item = Record>) -> Replay {
        let now = Instant::now();
        let records: VecDeque<_> = records.into_iter().collect();
        let mut engine = Engine::new(config, now);
        if engine.role() == Role::Client {
            let recorded =
                records.iter().filter(|record| !record.received).find_map(|record| request_id(&record.frame));
            with_id(&mut engine, recorded.unwrap_or(1), |engine| engine.start(None, now));
        }
        Replay { engine, records, begin: now, now }
    }

    /// The engine, to act on as an application does.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// The moment that the replay has come to.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Goes on to whatever happens next; `None` at the end of the recording. The session is not closed by that.
    pub fn step(&mut self) -> Option<Step> {
        loop {
            if let Some(event) = self.engine.poll_event() {
                return Some(Step::Event(event));
            }
            let mut frame = Vec::new();
            if let Some(transmit) = self.engine.poll_transmit(&mut frame) {
                self.engine.transmitted(transmit.bytes, self.now);
                return Some(Step::Sent(frame.into()));
            }
            let next = later(self.begin, self.records.front()?.at);
            if let Some(due) = self.engine.poll_timeout().filter(|due| *due <= next) {
                self.now = self.now.max(due);
                self.engine.handle_timeout(self.now);
                continue;
            }
            self.now = self.now.max(next);
            let record = self.records.pop_front()?;
            if !record.received {
                return Some(Step::Recorded(record.frame));
            }
            self.engine.handle_frame(&record.frame, self.now);
        }
    }

    /// Does what the application did to make the session send this frame: answers the call, makes the request, cancels it,
    /// reports progress, sends the notification. What the session sends by itself is left to it.
    ///
    /// Own requests get the ids that they had, and no time limit: the recording tells when they were given up.
    pub fn repeat(&mut self, frame: &Bytes) {
        let Ok(message) = envelope::parse(frame, usize::MAX) else { return };
        match message {
            Message::Response { id, outcome } => self.repeat_response(&id, outcome),
            Message::Request { id: RequestId::Integer(id), method, params } => {
                if let Ok(id) = u64::try_from(id) {
                    self.repeat_request(id, &method, params);
                }
            }
            Message::Notification { method, params } => {
                self.repeat_notification(Method::from_name(&method, MethodKind::Notification), params);
            }
            Message::Request { .. } | Message::ConnectionError(_) => {}
        }
    }

    fn repeat_response(&mut self, id: &RequestId, outcome: Outcome<'_>) {
        // What the engine answered by itself is no open call.
        let Some(call) = self.engine.inbound.find(id) else { return };
        match outcome {
            Outcome::Result(result) => self.engine.respond(call, Ok(result), self.now),
            Outcome::Error(error) => self.engine.respond(call, Err(&received_error(error)), self.now),
            Outcome::Invalid(_) => return,
        };
    }

    fn repeat_request(&mut self, id: u64, method: &str, params: Option<&str>) {
        // `initialize` and the pings of the keep-alive are on their way already.
        if self.engine.outbound.is_asked(id) {
            return;
        }
        let mut request = OutgoingRequest::new(Method::from_name(method, MethodKind::Request), params.and_then(json));
        request.progress = params.is_some_and(|params| params.contains("\"progressToken\""));
        request.time = TimeLimit::NONE;
        request.lenient = true;
        let now = self.now;
        // It was possible then; if it is not under this configuration, the steps that follow show it.
        let _ = with_id(&mut self.engine, id, |engine| engine.request(request, now));
    }

    fn repeat_notification(&mut self, method: Method, params: Option<&str>) {
        match method {
            Method::Initialized => {}
            Method::Cancelled => {
                let cancelled = params.and_then(cancelled_params);
                if let Some((RequestId::Integer(id), reason)) = cancelled
                    && let Ok(id) = u64::try_from(id)
                {
                    self.engine.cancel(RequestKey(id), reason.as_deref());
                }
            }
            Method::Progress => {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Report {
                    progress_token: ProgressToken,
                    progress: f64,
                    total: Option<f64>,
                    message: Option<String>,
                }
                if let Some(Ok(report)) = params.map(serde_json::from_str::<Report>)
                    && let Some(call) = self.engine.inbound.find_token(&report.progress_token)
                {
                    let (total, message) = (report.total, report.message.as_deref());
                    self.engine.progress(call, report.progress, total, message, self.now);
                }
            }
            // As with requests: what is not possible now is seen in the steps that follow.
            method => drop(self.engine.notify(&method, params.and_then(json).as_ref(), None)),
        }
    }
}

fn json(text: &str) -> Option<Json> {
    Json::parse(text).ok()
}

fn request_id(frame: &[u8]) -> Option<u64> {
    match envelope::parse(frame, usize::MAX) {
        Ok(Message::Request { id: RequestId::Integer(id), .. }) => u64::try_from(id).ok(),
        _ => None,
    }
}

/// Lets the next own request have this id.
fn with_id<T>(engine: &mut Engine, id: u64, act: impl FnOnce(&mut Engine) -> T) -> T {
    let last = engine.outbound.set_last_id(id.saturating_sub(1));
    let done = act(engine);
    let now = engine.outbound.set_last_id(last);
    engine.outbound.set_last_id(last.max(now));
    done
}
