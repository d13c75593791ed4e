//! The minimal stdio client: value → line, line → value, and nothing else; calls that fall due together are written at
//! once. See the module above for what it is started with and what it prints.

use crate::Result;
use crate::lines::Lines;
use crate::message::text_of;
use crate::process::us;
use crate::stats::Samples;
use nix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const USAGE: &str = "needs: SEQ CONC TOTAL -- SERVER...";

pub fn run(words: &[String]) -> Result<()> {
    let [seq, conc, total, dashes, server, server_args @ ..] = words else {
        return Err(USAGE.into());
    };
    if dashes != "--" {
        return Err(USAGE.into());
    }
    let (seq, conc, total): (u64, u64, u64) = (seq.parse()?, conc.parse()?, total.parse()?);
    let mut session = Session::start(server, server_args)?;
    session.call(&text_of(0))?;
    print_now("FIRST")?;
    if seq > 0 {
        print_now(&session.measure(seq, conc, total)?.to_string())?;
    }
    session.end()
}

/// Standard output is line-buffered only for a terminal's sake; the driver times this line.
fn print_now(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

struct Session {
    child: Child,
    to_server: ChildStdin,
    from_server: Lines<ChildStdout>,
    out: Vec<u8>,
    last_id: u64,
}

impl Session {
    fn start(server: &str, args: &[String]) -> Result<Self> {
        let mut child = Command::new(server)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{server:?} does not start: {e}"))?;
        let to_server = child.stdin.take().ok_or("no pipe to the server")?;
        let from_server = Lines::new(child.stdout.take().ok_or("no pipe from the server")?);
        let mut session = Self { child, to_server, from_server, out: Vec::with_capacity(1 << 16), last_id: 0 };
        session.queue(
            "initialize",
            &json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "floor", "version": "1"}}),
        )?;
        session.flush()?;
        session.receive()?;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        session.queue_message(&initialized)?;
        session.flush()?;
        Ok(session)
    }

    fn queue_message(&mut self, message: &Value) -> Result<()> {
        serde_json::to_writer(&mut self.out, message)?;
        self.out.push(b'\n');
        Ok(())
    }

    fn queue(&mut self, method: &str, params: &Value) -> Result<u64> {
        self.last_id += 1;
        self.queue_message(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}))?;
        Ok(self.last_id)
    }

    fn queue_call(&mut self, text: &str) -> Result<u64> {
        self.queue("tools/call", &json!({"name": "echo", "arguments": {"text": text}}))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to_server.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// The next response.
    fn receive(&mut self) -> Result<(u64, Value)> {
        loop {
            if let Some(response) = self.received()? {
                return Ok(response);
            }
            self.from_server.fill()?;
        }
    }

    /// A response that is in the buffer; what has no id is skipped.
    fn received(&mut self) -> Result<Option<(u64, Value)>> {
        while let Some(line) = self.from_server.buffered() {
            let mut message: Value = serde_json::from_slice(line)?;
            if let Some(id) = message["id"].as_u64() {
                let result = message.get_mut("result").ok_or("the server answered with an error")?;
                return Ok(Some((id, result.take())));
            }
        }
        Ok(None)
    }

    fn call(&mut self, text: &str) -> Result<()> {
        let id = self.queue_call(text)?;
        self.flush()?;
        let (answered, result) = self.receive()?;
        check(answered == id && result["content"][0]["text"] == text)
    }

    /// `total` calls with `window` outstanding; what one read answered is replaced by one write.
    fn call_many(&mut self, total: u64, window: u64) -> Result<()> {
        let before = self.last_id;
        for n in 0..total.min(window) {
            self.queue_call(&text_of(n))?;
        }
        let (mut sent, mut answered) = (total.min(window), 0);
        while answered < total {
            if !self.out.is_empty() {
                self.flush()?;
            }
            self.from_server.fill()?;
            while let Some((id, result)) = self.received()? {
                check(result["content"][0]["text"] == text_of(id - before - 1))?;
                answered += 1;
                if sent < total {
                    self.queue_call(&text_of(sent))?;
                    sent += 1;
                }
            }
        }
        Ok(())
    }

    fn measure(&mut self, seq: u64, conc: u64, total: u64) -> Result<Value> {
        for n in 0..1000 {
            self.call(&text_of(n))?;
        }
        let (mut latencies, cpu_before) = (Samples::default(), own_cpu()?);
        for n in 0..seq {
            let text = text_of(n);
            let sent = Instant::now();
            self.call(&text)?;
            latencies.push(us(sent.elapsed()));
        }
        let seq_cpu = own_cpu()?.saturating_sub(cpu_before);

        let (cpu_before, begun) = (own_cpu()?, Instant::now());
        self.call_many(total, conc)?;
        let (took, conc_cpu) = (begun.elapsed(), own_cpu()?.saturating_sub(cpu_before));
        Ok(json!({"seq_p50_us": latencies.percentile(50.0), "seq_p99_us": latencies.percentile(99.0),
            "seq_cpu_us": us(seq_cpu) / seq as f64, "conc_per_s": total as f64 / took.as_secs_f64(),
            "conc_cpu_us": us(conc_cpu) / total as f64}))
    }

    fn end(mut self) -> Result<()> {
        drop(self.to_server);
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the server ended with {status}").into()) }
    }
}

fn check(right: bool) -> Result<()> {
    if right { Ok(()) } else { Err("a call was answered with another text".into()) }
}

fn own_cpu() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}
