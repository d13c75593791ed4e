//! What must be true of every session, whatever happens.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use mcp_native::Error;
use mcp_native::engine::{
    CallId, CloseReason, Completion, Config, Engine, Event, KeepAlive, Local, OutgoingRequest, RequestKey, Role,
};
use mcp_native::protocol::{Implementation, Json, Method, MethodKind, RequestId};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub struct Model {
    engine: Engine,
    now: Instant,
    /// Calls as they came, answered or not.
    calls: Vec<CallId>,
    open: HashSet<CallId>,
    /// Own requests as they were made.
    asked: Vec<RequestKey>,
    pending: HashSet<RequestKey>,
    /// How often the peer may be answered, by id; `None` for frames without a usable one.
    owed: HashMap<Option<RequestId>, usize>,
    /// Ids of requests that went out.
    sent_ids: HashSet<u64>,
    /// Lengths of messages that were handed out and not taken.
    handed_out: VecDeque<usize>,
    closed: bool,
    greeted: bool,
}

/// The longest frame accepted.
const MESSAGE_IN: usize = 2048;

fn capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "resources": { "subscribe": true }, "logging": {},
        "roots": { "listChanged": true }, "sampling": {} })
}

impl Model {
    pub fn new(head: &[u8]) -> Option<Model> {
        let mut words = head.split(|byte| *byte == b' ');
        let role = match words.next()? {
            b"server" => Role::Server,
            b"client" => Role::Client,
            _ => return None,
        };
        let mut local = Local::new(Implementation::new("fuzzed", "1"));
        local.capabilities = match capabilities() {
            Value::Object(capabilities) => capabilities,
            _ => return None,
        };
        let mut config = Config::new(role, local);
        config.limits.message_in = MESSAGE_IN;
        config.limits.message_out = 1024;
        (config.limits.running, config.limits.waiting, config.limits.waiting_bytes) = (3, 3, 2048);
        config.limits.outbound_bytes = 4096;
        config.limits.progress_per_second = 2;
        config.keep_alive = Some(KeepAlive::new(Duration::from_secs(5)).close_after(Some(2)));
        let now = Instant::now();
        let mut model = Model {
            engine: Engine::new(config, now),
            now,
            calls: Vec::new(),
            open: HashSet::new(),
            asked: Vec::new(),
            pending: HashSet::new(),
            owed: HashMap::new(),
            sent_ids: HashSet::new(),
            handed_out: VecDeque::new(),
            closed: false,
            greeted: false,
        };
        model.engine.start(Some(Duration::from_secs(30)), now);
        if words.next() == Some(b"ready") {
            let hello = |name: &str| json!({ "protocolVersion": "2024-11-05", "capabilities": capabilities(), name: { "name": "p", "version": "1" } });
            if role == Role::Server {
                let params = hello("clientInfo");
                model.frame(
                    json!({ "jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params })
                        .to_string()
                        .as_bytes(),
                );
                model.frame(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
            } else {
                model.frame(json!({ "jsonrpc": "2.0", "id": 1, "result": hello("serverInfo") }).to_string().as_bytes());
            }
            model.check();
            assert!(model.engine.is_ready());
            model.take(usize::MAX);
        }
        Some(model)
    }

    pub fn step(&mut self, letter: &[u8], rest: &[u8]) {
        let (number, text) = number(rest);
        match letter {
            b"<" => self.frame(rest),
            b"a" => {
                if let Some(key) = pick(&self.asked, number) {
                    let members = String::from_utf8_lossy(text);
                    self.frame(format!(r#"{{"jsonrpc":"2.0","id":{},{members}}}"#, key.get()).as_bytes());
                }
            }
            b"n" => {
                if let Some(key) = pick(&self.asked, number) {
                    let params = json!({ "progressToken": key.get(), "progress": 1 });
                    let note = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
                    self.frame(note.to_string().as_bytes());
                }
            }
            b"o" => {
                self.owe_beginning(rest);
                self.engine.handle_oversized(rest);
            }
            b"z" => self.engine.handle_eof(None, self.now),
            b"?" => self.ask(rest),
            b"!" => {
                let (method, params) = method(rest, MethodKind::Notification);
                let _ = self.engine.notify(&method, params.as_ref(), self.calls.last().copied());
            }
            b"r" | b"e" => {
                if let Some(call) = pick(&self.calls, number) {
                    self.respond(call, letter == b"r");
                }
            }
            b"p" => {
                if let Some(call) = pick(&self.calls, number) {
                    let value = String::from_utf8_lossy(text).trim().parse().unwrap_or(f64::NAN);
                    self.engine.progress(call, value, Some(value), Some("message"), self.now);
                }
            }
            b"x" => {
                if let Some(key) = pick(&self.asked, number) {
                    let given_up = self.engine.cancel(key, Some("no longer needed"));
                    assert!(!given_up || self.pending.remove(&key), "{key:?} was settled and could be cancelled");
                }
            }
            b"q" => self.engine.close(CloseReason::Local),
            b"t" => self.wait(Duration::from_millis(number as u64 % 100_000)),
            b"k" => self.take(number),
            _ => {}
        }
    }

    fn frame(&mut self, frame: &[u8]) {
        if frame.len() > MESSAGE_IN {
            self.owe_beginning(frame);
        } else {
            // It may be answered once, under its id if it has one.
            let members: Option<BTreeMap<String, &RawValue>> = serde_json::from_slice(frame).ok();
            let id = members.and_then(|members| RequestId::from_json(members.get("id")?.get()).ok());
            *self.owed.entry(id).or_default() += 1;
        }
        self.engine.handle_frame(&Bytes::copy_from_slice(frame), self.now);
    }

    /// A frame that is too long may be answered under the id in its beginning, or under none.
    fn owe_beginning(&mut self, frame: &[u8]) {
        let text = String::from_utf8_lossy(frame);
        for (at, _) in text.match_indices(':') {
            let mut values = serde_json::Deserializer::from_str(&text[at + 1..]).into_iter::<&RawValue>();
            let value = values.next().and_then(Result::ok);
            if let Some(id) = value.and_then(|value| RequestId::from_json(value.get()).ok()) {
                *self.owed.entry(Some(id)).or_default() += 1;
            }
        }
        *self.owed.entry(None).or_default() += 1;
    }

    fn ask(&mut self, rest: &[u8]) {
        let (method, params) = method(rest, MethodKind::Request);
        let mut request = OutgoingRequest::new(method, params);
        request.progress = request.params.is_some();
        request.time.limit = Some(Duration::from_secs(1));
        request.related = self.calls.last().copied();
        if let Ok(key) = self.engine.request(request, self.now) {
            assert!(!self.asked.contains(&key), "{key:?} is given twice");
            self.asked.push(key);
            self.pending.insert(key);
        }
    }

    fn respond(&mut self, call: CallId, well: bool) {
        let error = Error::invalid_params("a\nb").with_data(Json::empty_object());
        let outcome = if well { Ok(r#"{"a":[1]}"#) } else { Err(&error) };
        let completion = self.engine.respond(call, outcome, self.now);
        let was_open = self.open.remove(&call);
        assert!(was_open || completion == Completion::Stale, "{call:?} was answered twice");
    }

    fn wait(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(at) = self.engine.poll_timeout().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.engine.handle_timeout(self.now);
            assert!(self.engine.poll_timeout().is_none_or(|next| next > at), "time stands still");
            self.check();
        }
        self.now = until;
    }

    fn take(&mut self, messages: usize) {
        for _ in 0..messages {
            let Some(bytes) = self.handed_out.pop_front() else { return };
            self.engine.transmitted(bytes, self.now);
        }
    }

    /// Everything that came of a step.
    pub fn check(&mut self) {
        let ready = self.engine.is_ready();
        let mut frame = Vec::new();
        while let Some(transmit) = self.engine.poll_transmit(&mut frame) {
            assert!(!self.closed, "sent after the end: {}", String::from_utf8_lossy(&frame));
            self.handed_out.push_back(transmit.bytes);
            self.sent(&frame, ready);
            frame.clear();
        }
        while let Some(event) = self.engine.poll_event() {
            assert!(!self.closed, "told after the end: {event:?}");
            self.told(event);
        }
        assert_eq!(self.engine.is_closed(), self.closed);
        if self.closed {
            assert!(self.pending.is_empty(), "never settled: {:?}", self.pending);
            assert_eq!((self.engine.calls_in_flight(), self.engine.requests_pending()), (0, 0));
            assert!(self.engine.poll_timeout().is_none());
        }
        assert!(self.engine.calls_in_flight() <= 6);
    }

    fn sent(&mut self, frame: &[u8], ready: bool) {
        assert!(!frame.contains(&b'\n') && frame.len() <= 1024);
        // Half surrogates and endless numbers of the application are JSON, but fit into no tree.
        let text: &RawValue = serde_json::from_slice(frame).expect("what is sent is JSON");
        let Ok(message) = serde_json::from_str::<Value>(text.get()) else { return };
        assert_eq!(message["jsonrpc"], "2.0");
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            assert!(message["result"].is_object() ^ message["error"]["code"].is_i64(), "{message}");
            // From the text: a tree does not hold integers beyond 64 bits exactly.
            let mut members: HashMap<String, &RawValue> = serde_json::from_str(text.get()).expect("an object");
            let id = members.remove("id").map(RawValue::get).filter(|id| *id != "null");
            let id = id.map(|id| RequestId::from_json(id).expect("an id"));
            let owed = self.owed.get_mut(&id).filter(|owed| **owed > 0);
            *owed.unwrap_or_else(|| panic!("nobody asked for {message}")) -= 1;
            return;
        };
        if let Some(id) = message.get("id") {
            assert!(self.sent_ids.insert(id.as_u64().expect("own ids are integers")), "used again: {message}");
        }
        assert!(message.get("params").is_none_or(Value::is_object));
        self.greeted |= method == "notifications/initialized";
        // LIFE-05, LIFE-06. Progress belongs to a call that the peer made.
        let early = ["initialize", "ping", "notifications/message", "notifications/progress"];
        assert!(ready || self.greeted || self.engine.is_closed() || early.contains(&method), "too early: {message}");
    }

    fn told(&mut self, event: Event) {
        match event {
            Event::Request { call, .. } => {
                assert!(!self.calls.contains(&call), "{call:?} came twice");
                self.calls.push(call);
                self.open.insert(call);
            }
            Event::Cancelled { call, .. } => assert!(self.open.contains(&call), "{call:?} had ended"),
            Event::Settled { request, .. } => {
                assert!(self.pending.remove(&request), "{request:?} was settled or given up before");
            }
            Event::Progress { request, .. } => assert!(self.pending.contains(&request)),
            Event::Closed(_) => self.closed = true,
            _ => {}
        }
    }

    /// In the end nothing is left over.
    pub fn finish(mut self) {
        // A peer that reads lets the calls come up that waited for room.
        self.take(usize::MAX);
        self.check();
        while let Some(call) = self.open.iter().next().copied() {
            self.respond(call, true);
            self.check();
            self.take(usize::MAX);
            self.check();
        }
        assert_eq!(self.engine.calls_in_flight(), 0);
        for key in std::mem::take(&mut self.pending) {
            assert!(self.engine.cancel(key, None), "{key:?} is not settled");
            self.check();
            self.take(usize::MAX);
        }
        // Its own `initialize` and pings aside.
        assert!(self.engine.requests_pending() <= 1);
        self.engine.close(CloseReason::Local);
        self.check();
        self.take(usize::MAX);
        assert_eq!(self.engine.unsent_bytes(), 0);
        self.engine.handle_frame(&Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), self.now);
        self.check();
    }
}

fn number(rest: &[u8]) -> (usize, &[u8]) {
    let digits = rest.iter().take(5).take_while(|byte| byte.is_ascii_digit()).count();
    let number = rest[..digits].iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
    (number, rest[digits..].strip_prefix(b" ").unwrap_or(&rest[digits..]))
}

fn pick<T: Copy>(all: &[T], number: usize) -> Option<T> {
    all.get(number % all.len().max(1)).copied()
}

fn method(rest: &[u8], kind: MethodKind) -> (Method, Option<Json>) {
    let text = String::from_utf8_lossy(rest);
    let (name, params) = text.split_once(' ').unwrap_or((&text, ""));
    (Method::from_name(name, kind), Json::parse(params).ok())
}
