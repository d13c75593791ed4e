//! The engine alone, without threads and pipes: what one message costs.
//!
//! `cargo bench -p mcp-native --no-default-features --bench engine`; for figures that can be compared pin it to one core.
#![allow(missing_docs, reason = "the macros of the harness define public items")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use mcp_native::engine::{Config, Engine, Event, Local, OutgoingRequest, Role};
use mcp_native::protocol::{Implementation, Json, Method, envelope};
use serde_json::json;

const RESULT: &str = r#"{"content":[{"type":"text","text":"hello from the other side"}]}"#;

/// A session after the handshake, and what is needed to turn it.
struct Session {
    engine: Engine,
    now: Instant,
    out: Vec<u8>,
}

impl Session {
    fn new(role: Role) -> Session {
        let mut local = Local::new(Implementation::new("bench", "1"));
        local.capabilities.insert("tools".into(), json!({}));
        let now = Instant::now();
        let mut session = Session { engine: Engine::new(Config::new(role, local), now), now, out: Vec::new() };
        session.engine.start(None, now);
        let hello = |name: &str| {
            json!({ "protocolVersion": "2024-11-05", "capabilities": { "tools": {} },
                name: { "name": "peer", "version": "1" } })
        };
        let frames = match role {
            Role::Server => vec![
                json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello("clientInfo") }),
                json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            ],
            Role::Client => vec![json!({ "jsonrpc": "2.0", "id": 1, "result": hello("serverInfo") })],
        };
        for frame in frames {
            session.engine.handle_frame(&Bytes::from(frame.to_string()), now);
        }
        while session.engine.poll_event().is_some() {}
        session.flush();
        assert!(session.engine.is_ready());
        session
    }

    fn flush(&mut self) -> usize {
        self.out.clear();
        let messages = self.engine.poll_transmit_lines(&mut self.out);
        self.engine.transmitted(self.out.len(), self.now);
        messages
    }

    /// Answers every request that has come.
    fn serve(&mut self) {
        while let Some(event) = self.engine.poll_event() {
            if let Event::Request { call, params, .. } = event {
                black_box(params);
                self.engine.respond(call, Ok(RESULT), self.now);
            }
        }
    }
}

fn call(id: u64, text: &str) -> Bytes {
    let params = json!({ "name": "echo", "arguments": { "text": text } });
    Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#))
}

fn server(criterion: &mut Criterion) {
    let mut session = Session::new(Role::Server);
    let frame = call(7, "hello, how are you today?");
    criterion.bench_function("server/tools_call", |bencher| {
        bencher.iter(|| {
            session.engine.handle_frame(black_box(&frame), session.now);
            session.serve();
            session.flush()
        });
    });

    let ping = Bytes::from_static(br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    criterion.bench_function("server/ping", |bencher| {
        bencher.iter(|| {
            session.engine.handle_frame(black_box(&ping), session.now);
            session.flush()
        });
    });

    let frames: Vec<_> = (0..64).map(|id| call(id, "hello, how are you today?")).collect();
    let mut group = criterion.benchmark_group("server");
    group.throughput(Throughput::Elements(64));
    group.bench_function("tools_call_x64", |bencher| {
        bencher.iter(|| {
            for frame in &frames {
                session.engine.handle_frame(black_box(frame), session.now);
            }
            session.serve();
            session.flush()
        });
    });
    group.finish();
}

fn client(criterion: &mut Criterion) {
    let mut session = Session::new(Role::Client);
    let params = Json::parse(r#"{"name":"echo","arguments":{"text":"hello, how are you today?"}}"#).expect("JSON");
    criterion.bench_function("client/request_to_settled", |bencher| {
        bencher.iter_batched(
            || params.clone(),
            |params| {
                let key = session.engine.request(OutgoingRequest::new(Method::CallTool, Some(params)), session.now);
                let key = key.expect("the session is ready");
                session.flush();
                let answer = Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{},"result":{RESULT}}}"#, key.get()));
                session.engine.handle_frame(&answer, session.now);
                let event = session.engine.poll_event();
                assert!(matches!(event, Some(Event::Settled { outcome: Ok(_), .. })));
            },
            BatchSize::SmallInput,
        );
    });
}

fn parse(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("envelope");
    for (name, text) in [("160_bytes", "x".repeat(64)), ("1_mib", "x".repeat(1024 * 1024))] {
        let frame = call(7, &text);
        group.throughput(Throughput::Bytes(frame.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| envelope::parse(black_box(&frame), 128).is_ok()));
    }
    group.finish();
}

criterion_group! {
    name = engine;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3));
    targets = server, client, parse
}
criterion_main!(engine);
