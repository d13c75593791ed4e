//! A recorded session happens again.

use super::*;
use crate::engine::replay::{self, Record, Replay, Step};

/// A session that writes down all that goes over its line.
struct Recorder {
    session: Session,
    begin: Instant,
    lines: String,
}

/// Two digits a byte.
fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).expect("a nibble is one digit");
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

impl Recorder {
    fn new(session: Session) -> Recorder {
        Recorder { begin: session.now, session, lines: String::new() }
    }

    fn line(&mut self, dir: &str, frame: &[u8]) {
        let t = 1_733_011_200_000_000 + u64::try_from((self.session.now - self.begin).as_micros()).expect("short");
        let mut line = json!({ "dir": dir, "t": t, "session": "s" });
        match std::str::from_utf8(frame) {
            Ok(text) => line["frame"] = json!(text),
            Err(_) => line["frame_hex"] = hexadecimal(frame).into(),
        }
        self.lines += &line.to_string();
        self.lines.push('\n');
    }

    fn receive(&mut self, message: impl std::borrow::Borrow<Value>) {
        self.receive_bytes(message.borrow().to_string().as_bytes());
    }

    fn receive_bytes(&mut self, frame: &[u8]) {
        self.line("in", frame);
        self.session.send_text(frame);
        self.flush();
    }

    fn flush(&mut self) {
        let mut frame = Vec::new();
        while let Some(transmit) = self.session.engine.poll_transmit(&mut frame) {
            self.session.engine.transmitted(transmit.bytes, self.session.now);
            self.line("out", &frame);
            frame.clear();
        }
    }

    fn act<T>(&mut self, act: impl FnOnce(&mut Session) -> T) -> T {
        let done = act(&mut self.session);
        self.flush();
        done
    }

    fn call(&mut self, message: Value) -> CallId {
        self.session.events();
        self.receive(message);
        let call = |event| match event {
            Event::Request { call, .. } => Some(call),
            _ => None,
        };
        self.session.events().into_iter().find_map(call).expect("a call")
    }
}

/// A server's day: handshake, garbage, calls, progress, a cancelled call, own requests of which one is given up.
fn server_recording() -> String {
    let mut recorder = Recorder::new(Session::new_server());
    recorder.receive(client_hello("init", "2024-11-05", &everything(Role::Client)));
    recorder.act(|session| session.notify("notifications/message")).expect("declared");
    recorder.receive(notification("notifications/initialized", Value::Null));
    recorder.receive_bytes(b"{not json");
    recorder.receive_bytes(b"\xff\xfe");
    recorder.receive(request("p", "ping", json!({ "x": 1 })));
    let call = recorder.call(request(1, "tools/call", json!({ "name": "a", "_meta": { "progressToken": "t" } })));
    for value in 1..150 {
        recorder.act(|session| session.engine.progress(call, f64::from(value), Some(150.0), None, session.now));
    }
    recorder.act(|session| session.wait(ms(1500)));
    let sampling = recorder.act(|session| session.ask("sampling/createMessage"));
    let roots = recorder.act(|session| session.ask("roots/list"));
    recorder.act(|session| session.engine.cancel(roots, Some("no longer needed")));
    recorder.receive(result(sampling.get(), json!({ "role": "assistant", "model": "m" })));
    recorder.act(|session| session.answer(call, r#"{"content":[]}"#));
    let call = recorder.call(request(2, "prompts/get", json!({ "name": "none" })));
    let error = Error::invalid_params("Unknown prompt").with_data(Json::parse("[1]").expect("JSON"));
    recorder.act(|session| session.engine.respond(call, Err(&error), session.now));
    recorder.call(request(3, "tools/call", json!({ "name": "slow", "arguments": { "a": { "b": [1, null] } } })));
    recorder.receive(notification("notifications/cancelled", json!({ "requestId": 3, "reason": "r" })));
    recorder.receive(request(4, "rpc.x", Value::Null));
    recorder.receive(json!([]));
    recorder.lines
}

/// A client's day, with requests made before the handshake, a timeout and a keep-alive.
fn client_recording() -> String {
    let mut session = Session::new(client_config());
    let early = session.ask("tools/list");
    let mut recorder = Recorder::new(session);
    recorder.act(|session| session.engine.start(None, session.now));
    recorder.receive(request(1, "ping", Value::Null));
    recorder.receive(result(2, server_hello("2024-11-05", &everything(Role::Server))));
    recorder.receive(result(early.get(), json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object" } }] })));
    let mut wanted = outgoing("tools/call");
    wanted.params = Some(json_text(&json!({ "name": "t" })));
    wanted.progress = true;
    let wanted = recorder.act(|session| session.try_ask(wanted)).expect("declared");
    let note = json!({ "progressToken": wanted.get(), "progress": 1 });
    recorder.receive(notification("notifications/progress", note));
    recorder
        .receive(json!({ "jsonrpc": "2.0", "id": wanted.get(), "error": { "code": 5, "message": "m", "data": {} } }));
    let mut brief = outgoing("prompts/list");
    brief.time.limit = Some(ms(100));
    recorder.act(|session| session.try_ask(brief)).expect("declared");
    recorder.act(|session| session.wait(ms(200)));
    let roots = recorder.call(request(2, "roots/list", Value::Null));
    recorder.act(|session| session.answer(roots, r#"{"roots":[]}"#));
    recorder.act(|session| session.wait(ms(500)));
    recorder.receive(notification("notifications/tools/list_changed", Value::Null));
    recorder.lines
}

fn client_config() -> Config {
    let mut config = config(Role::Client);
    config.keep_alive = Some(crate::engine::KeepAlive::new(ms(600)));
    config
}

/// What came of a replay, and what was recorded: all without the unknown member `zz`.
fn outcome(config: Config, records: Vec<Record>) -> (Vec<String>, Vec<Value>, Vec<Value>) {
    let mut replay = Replay::new(config, records);
    let (mut events, mut sent, mut recorded) = (Vec::new(), Vec::new(), Vec::new());
    let json = |frame: &[u8]| serde_json::from_slice::<Value>(frame).expect("JSON");
    while let Some(step) = replay.step() {
        match step {
            Step::Sent(frame) => sent.push(json(&frame)),
            Step::Recorded(frame) => {
                recorded.push(json(&frame));
                replay.repeat(&frame);
            }
            Step::Event(event) => events.push(told(event)),
        }
    }
    (events, sent, recorded)
}

/// An event in words.
fn told(event: Event) -> String {
    let plain =
        |text: Option<Bytes>| text.map(|text| without_zz(serde_json::from_slice(&text).expect("JSON")).to_string());
    match event {
        Event::Request { id, method, params, .. } => format!("request {id} {method} {:?}", plain(params)),
        Event::Notification { method, params } => format!("notification {method} {:?}", plain(params)),
        Event::Progress { request, params } => format!("progress {request:?} {:?}", plain(Some(params))),
        Event::Settled { request, outcome: Ok(result) } => format!("settled {request:?} {:?}", plain(Some(result))),
        Event::Settled { request, outcome: Err(error) } => format!("failed {request:?} {:?} {error}", error.kind()),
        Event::Diagnostic(Diagnostic::Malformed { fault, .. }) => format!("malformed {fault:?}"),
        other => format!("{other:?}"),
    }
}

fn with_zz(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().map(|(name, value)| (name, with_zz(value)));
            Value::Object(members.chain([("zz".to_owned(), json!(1))]).collect())
        }
        Value::Array(items) => items.into_iter().map(with_zz).collect(),
        other => other,
    }
}

fn without_zz(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.into_iter().filter(|(name, _)| name != "zz");
            Value::Object(members.map(|(name, value)| (name, without_zz(value))).collect())
        }
        Value::Array(items) => items.into_iter().map(without_zz).collect(),
        other => other,
    }
}

fn both() -> [(Config, String); 2] {
    [(config(Role::Server), server_recording()), (client_config(), client_recording())]
}

#[test]
fn a_recorded_session_happens_again() {
    for (config, recording) in both() {
        let records = replay::parse(&recording).expect("a recording");
        let (events, sent, recorded) = outcome(config.clone(), records.clone());
        assert_eq!(sent, recorded);
        assert!(events.len() > 6 && sent.len() > 6, "much happened: {events:?}");
        // And again.
        assert_eq!(outcome(config, records), (events, sent, recorded));
    }
}

// proves: SCH-01
#[test]
fn sch_01_an_unknown_member_in_every_object_changes_nothing() {
    for (config, recording) in both() {
        let plain = replay::parse(&recording).expect("a recording");
        let mut extended = plain.clone();
        for record in extended.iter_mut().filter(|record| record.received) {
            if let Ok(message) = serde_json::from_slice::<Value>(&record.frame) {
                record.frame = with_zz(message).to_string().into();
            }
        }
        assert_ne!(plain, extended);
        assert_eq!(outcome(config.clone(), plain), outcome(config, extended));
    }
}

#[test]
fn a_caller_may_act_for_the_application() {
    let records = replay::parse(&server_recording()).expect("a recording");
    let mut replay = Replay::new(config(Role::Server), records);
    let mut answers = 0;
    while let Some(step) = replay.step() {
        match step {
            Step::Event(Event::Request { call, .. }) => {
                let now = replay.now();
                assert_eq!(replay.engine().respond(call, Ok(r#"{"mine":1}"#), now), Completion::Accepted);
            }
            Step::Sent(frame) => answers += usize::from(frame.ends_with(br#""result":{"mine":1}}"#)),
            _ => {}
        }
    }
    assert_eq!(answers, 3);
    assert!(!replay.engine().is_closed());
}

#[test]
fn a_faulty_recording_says_where() {
    let good = r#"{"dir":"in","t":1,"session":"s","frame":"{}"}"#;
    for bad in [
        "x",
        "{}",
        r#"{"dir":"up","t":1,"session":"s","frame":""}"#,
        r#"{"dir":"in","t":1,"session":"s"}"#,
        r#"{"dir":"in","t":1,"session":"s","frame":"","frame_hex":""}"#,
        r#"{"dir":"in","t":1,"session":"s","frame_hex":"f"}"#,
        r#"{"dir":"in","t":1,"session":"s","frame_hex":"zz"}"#,
    ] {
        let error = replay::parse(&format!("{good}\n\n{bad}\n")).expect_err(bad);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().starts_with("line 3 of the recording: "), "{error}");
    }
}

/// What the tap writes is what is read here.
#[cfg(feature = "io")]
#[test]
fn what_the_tap_writes_can_be_replayed() {
    use crate::transport::{JsonLines, Tap, TapDirection};
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("not poisoned").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let file = Shared::default();
    let tap = Tap::json_lines(JsonLines::new(file.clone()));
    tap.record(TapDirection::In, "s", b"{\"a\":1}");
    tap.record(TapDirection::Out, "s", b"\xff\x00");
    let text = String::from_utf8(file.0.lock().expect("not poisoned").clone()).expect("UTF-8");
    let records = replay::parse(&text).expect("a recording");
    let shown: Vec<_> = records.iter().map(|record| (record.received, &*record.session, &record.frame[..])).collect();
    assert_eq!(shown, [(true, "s", &b"{\"a\":1}"[..]), (false, "s", &b"\xff\x00"[..])]);
    assert_eq!(records[0].at, Duration::ZERO);
}
