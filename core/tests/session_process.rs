//! A server as a process of its own (DOWN-04, STDIO-03, STDIO-05): `examples/probe.rs`, from outside.
#![cfg(unix)]

mod common;

use std::io::{BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use common::streams::line_of;

/// A process that serves, and its client's ends.
struct Probe {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    stderr: Option<std::thread::JoinHandle<String>>,
}

/// Where cargo puts the examples: `cargo test` builds them, `cargo test --test …` does not.
fn program() -> PathBuf {
    let tests = std::env::current_exe().expect("a path");
    let folder = tests.parent().and_then(std::path::Path::parent).expect("the profile's folder");
    let program = folder.join("examples").join("probe");
    assert!(program.exists(), "{} is missing: run `cargo build -p mcp-native --examples` first", program.display());
    program
}

impl Probe {
    fn start(mode: &str) -> Probe {
        Probe::start_with(mode, "67108864")
    }

    fn start_with(mode: &str, outbound: &str) -> Probe {
        let mut command = Command::new(program());
        command.arg(mode).env("PROBE_OUTBOUND", outbound);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the probe starts");
        let mut stderr = child.stderr.take().expect("piped");
        let drain = move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).expect("UTF-8");
            text
        };
        Probe {
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().expect("piped")),
            child,
            stderr: Some(std::thread::spawn(drain)),
        }
    }

    fn write(&mut self, text: &str) {
        self.input.as_mut().expect("open").write_all(text.as_bytes()).expect("the probe reads");
    }

    fn send(&mut self, message: &Value) {
        self.write(&format!("{message}\n"));
    }

    fn call(&mut self, id: u32, tool: &str, arguments: &Value) {
        self.send(&call(id, tool, arguments));
    }

    fn handshake(&mut self) {
        self.send(&initialize());
        assert_eq!(self.next().expect("an answer")["id"], 0);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    }

    fn next(&mut self) -> Option<Value> {
        let line = line_of(&mut self.output)?;
        assert!(line.ends_with('\n'), "a line without its end: {line}");
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }

    /// Ends the input and waits: how long the process took to end by itself with status 0, and what it said on stderr.
    fn end(mut self) -> (Duration, String) {
        let begun = Instant::now();
        drop(self.input.take());
        self.wait(begun)
    }

    fn wait(&mut self, begun: Instant) -> (Duration, String) {
        let status = self.child.wait().expect("a status");
        let took = begun.elapsed();
        assert!(status.success(), "{status}");
        (took, self.stderr.take().expect("once").join().expect("no panic"))
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        // Ended by itself already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn initialize() -> Value {
    let info = json!({ "name": "peer", "version": "1" });
    let params = json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": info });
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params })
}

fn call(id: u32, tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": arguments } })
}

const MODES: [&str; 2] = ["run", "tokio"];

// proves: DOWN-04, STDIO-10, FC-011
#[test]
fn down_04_lines_piped_in_are_all_answered() {
    for mode in MODES {
        let mut probe = Probe::start(mode);
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        // The last line has no end.
        let last = call(1, "sleep", &json!({ "ms": 300 }));
        probe.write(&format!("{}\n{initialized}\n{last}", initialize()));
        drop(probe.input.take());
        assert_eq!(probe.next().expect("an answer")["id"], 0);
        assert_eq!(probe.next().expect("an answer")["result"]["content"][0]["text"], "slept");
        assert_eq!(probe.next(), None);
        probe.end();
    }
}

// proves: DOWN-04, FC-011, FC-083
#[test]
fn down_04_the_process_ends_within_two_seconds_whatever_runs() {
    for mode in MODES {
        let idle = Probe::start(mode);
        let (took, _) = idle.end();
        assert!(took < Duration::from_secs(1), "idle: {took:?}");
        for tool in ["sleep", "block", "pool"] {
            let mut probe = Probe::start(mode);
            probe.handshake();
            probe.call(1, tool, &json!({ "ms": 60_000 }));
            // A ping is answered meanwhile, so the call runs.
            probe.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
            assert_eq!(probe.next().expect("an answer")["id"], 2);
            let (took, said) = probe.end();
            assert!(took < Duration::from_secs(2), "{mode} {tool}: {took:?}");
            assert!(said.contains("served: closed by the peer"), "{said}");
        }
    }
}

// proves: STDIO-03, STDIO-05, FC-007
#[test]
fn stdio_03_stdout_is_for_messages_whatever_the_program_prints() {
    for mode in MODES {
        let mut probe = Probe::start(mode);
        probe.handshake();
        probe.call(1, "print", &json!({}));
        let logged = probe.next().expect("a message");
        assert_eq!(logged["params"]["data"], "logged");
        // The tool found stdin empty.
        assert_eq!(probe.next().expect("an answer")["result"]["content"][0]["text"], "read 0");
        let (_, said) = probe.end();
        for text in ["a stray print", "to stderr", "mcp.serve", "session closed"] {
            assert!(said.contains(text), "no {text:?} on stderr:\n{said}");
        }
    }
}

/// Closing from inside ends the serving, not the program: it goes on behind the call.
#[test]
fn closing_from_a_handler_returns_to_the_program() {
    for mode in MODES {
        let mut probe = Probe::start(mode);
        probe.handshake();
        probe.call(1, "close", &json!({}));
        let (took, said) = probe.wait(Instant::now());
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(said.contains("served: closed by this side"), "{said}");
        assert_eq!(probe.next(), None);
    }
}

/// A client that stops listening ends the process, although its input stays open.
// proves: FC-011
#[test]
fn a_closed_stdout_ends_the_process() {
    for mode in MODES {
        let mut probe = Probe::start(mode);
        probe.handshake();
        let deaf = std::mem::replace(&mut probe.output, BufReader::new(gone()));
        drop(deaf);
        probe.send(&json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" }));
        let (took, said) = probe.wait(Instant::now());
        assert!(took < Duration::from_secs(2), "{took:?}");
        assert!(said.contains("does not take messages"), "{said}");
    }
}

/// The stdout of a process that is gone.
fn gone() -> ChildStdout {
    let mut child = Command::new("true").stdout(Stdio::piped()).spawn().expect("`true` is everywhere");
    child.wait().expect("a status");
    child.stdout.take().expect("piped")
}

/// A client that reads late gets everything, and calls that wait for room start when there is some.
// proves: FC-010, STDIO-11
#[test]
fn fc_010_a_client_that_reads_late_gets_everything() {
    for (outbound, bytes, calls) in [("67108864", 1024 * 1024, 20_u32), ("8192", 1000, 400), ("262144", 20_000, 200)] {
        let mut probe = Probe::start_with("run", outbound);
        probe.handshake();
        let mut input = probe.input.take().expect("open");
        let asked = (1..=calls).map(|id| call(id, "big", &json!({ "bytes": bytes })).to_string() + "\n");
        let all = asked.collect::<String>();
        let writer = std::thread::spawn(move || input.write_all(all.as_bytes()).map(|()| input));
        probe.input = Some(writer.join().expect("no panic").expect("the probe reads though nobody reads from it"));
        let mut answered = std::collections::BTreeSet::new();
        for _ in 0..calls {
            let answer = probe.next().expect("everything arrives");
            let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
            assert_eq!(text.len(), bytes);
            assert!(answered.insert(answer["id"].as_u64()));
        }
        probe.end();
    }
}

/// The last answers leave before the process does.
// proves: FC-010, DOWN-04
#[test]
fn fc_010_the_tail_is_not_lost_at_the_end() {
    let mut probe = Probe::start("run");
    probe.handshake();
    for id in 1..=8 {
        probe.call(id, "big", &json!({ "bytes": 256 * 1024 }));
    }
    drop(probe.input.take());
    for _ in 1..=8 {
        let answer = probe.next().expect("everything arrives");
        assert_eq!(answer["result"]["content"][0]["text"].as_str().map(str::len), Some(256 * 1024));
    }
    assert_eq!(probe.next(), None);
    probe.end();
}
