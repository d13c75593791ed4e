//! Measurements of clients over stdio. The client program times its own calls; its start and memory are seen from here.
//!
//! The program under test is started as `CMD SEQ CONC TOTAL -- SERVER...`. It starts the server, does the handshake and
//! one call of `echo`, and prints `FIRST`. With SEQ 0 it ends there. Otherwise it makes SEQ calls one after another,
//! then TOTAL calls CONC at a time, checks every answer, and prints one JSON object:
//! `{"seq_p50_us", "seq_p99_us", "seq_cpu_us", "conc_per_s", "conc_cpu_us"}`, CPU of its own process only.

pub mod floor;

use crate::Result;
use crate::args::{Args, split_command};
use crate::lines::Lines;
use crate::process::{Process, ms};
use crate::program::Program;
use crate::stats::{Samples, emit, round};
use serde_json::{Value, json};
use std::process::{ChildStdout, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

pub const OPTIONS: &[&str] = &["tests", "server", "startups", "calls", "conc", "total", "grow"];

const FIGURES: [&str; 5] = ["seq_p50_us", "seq_p99_us", "seq_cpu_us", "conc_per_s", "conc_cpu_us"];

pub fn run(args: &Args) -> Result<()> {
    let target = Target::from_args(args)?;
    for test in args.text("tests", "first,calls").split(',') {
        let figures = match test {
            "first" => target.first(args.number("startups", 10)?)?,
            "calls" => target.calls(args)?,
            "grow" => target.growth(args.number("conc", 64)?, args.number("grow", 1_000_000)?)?,
            _ => return Err(format!("--tests: there is no test {test:?}").into()),
        };
        emit(args, test, figures);
    }
    Ok(())
}

/// The client under test, and the server that it is given.
struct Target {
    program: Program,
    server: Vec<String>,
}

impl Target {
    fn from_args(args: &Args) -> Result<Self> {
        let server = if let Some(command) = args.get("server") {
            split_command(command)
        } else {
            let own = std::env::current_exe()?;
            vec![own.to_str().ok_or("the driver's own path is not UTF-8")?.to_owned(), "serve-instant".to_owned()]
        };
        Ok(Self { program: Program::from_args(args)?, server })
    }

    /// Starts the client and waits for its first result.
    fn start(&self, seq: u64, conc: u64, total: u64) -> Result<(Process, Lines<ChildStdout>)> {
        let words = [seq, conc, total].map(|n| n.to_string()).into_iter().chain(["--".to_owned()]);
        let program = self.program.clone().with_args(words.chain(self.server.iter().cloned()));
        let mut process = program.spawn(Stdio::null(), Stdio::piped())?;
        let mut lines = Lines::new(process.child.stdout.take().ok_or("no pipe from the client")?);
        match lines.line() {
            Ok(line) if line == b"FIRST" => Ok((process, lines)),
            Ok(line) => Err(format!("the client printed {:?}, not FIRST", String::from_utf8_lossy(&line)).into()),
            Err(e) => Err(format!("the client ended before its first result: {e}").into()),
        }
    }

    /// From the start of the process to the result of its first call.
    fn first(&self, startups: u32) -> Result<Value> {
        let (mut first, mut cpu, mut rss) = (Samples::default(), Samples::default(), Samples::default());
        for start in 0..=startups {
            let (mut process, _lines) = self.start(0, 0, 0)?;
            // The memory is read at once: with no calls to make, the client is about to end.
            let now = (ms(process.started.elapsed()), process.cpu()?, process.rss_mb());
            process.finish(LIMIT)?;
            if start == 0 {
                continue; // it brings the program into the page cache
            }
            first.push(now.0);
            cpu.push(ms(now.1));
            rss.push(now.2);
        }
        Ok(json!({"first_ms": first.spread(), "first_cpu_ms": cpu.spread(), "rss_mb": rss.spread()}))
    }

    fn calls(&self, args: &Args) -> Result<Value> {
        let (calls, conc, total) =
            (args.number("calls", 5000)?, args.number("conc", 64)?, args.number("total", 20_000)?);
        let mut figures: [Samples; FIGURES.len()] = Default::default();
        for _ in 0..args.number("reps", 3)? {
            let (mut process, mut lines) = self.start(calls, conc, total)?;
            let line = lines.line().map_err(|e| format!("the client ended before its calls did: {e}"))?;
            let result: Value = serde_json::from_slice(&line).map_err(|e| format!("the client's figures: {e}"))?;
            for (samples, name) in figures.iter_mut().zip(FIGURES) {
                samples.push(result[name].as_f64().ok_or_else(|| format!("the client gave no figure {name}"))?);
            }
            process.finish(LIMIT)?;
        }
        let mut out = json!({"calls": calls, "conc": conc, "total": total});
        for (samples, name) in figures.iter().zip(FIGURES) {
            out[name] = samples.spread();
        }
        Ok(out)
    }

    /// RSS at the first result, and after about a tenth, half and all of `calls` concurrent calls: the samples are
    /// taken at equal intervals of time, and the calls go at an even pace.
    fn growth(&self, conc: u64, calls: u64) -> Result<Value> {
        const SAMPLE_EVERY: Duration = Duration::from_millis(25);
        let (mut process, mut lines) = self.start(1, conc, calls)?;
        let mut rss = vec![process.rss_mb()];
        let (done, is_done) = mpsc::channel();
        let reader = thread::spawn(move || done.send(lines.line()));
        let last = loop {
            match is_done.recv_timeout(SAMPLE_EVERY) {
                Err(mpsc::RecvTimeoutError::Timeout) => rss.push(process.rss_mb()),
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err("the reading thread died".into());
                }
                Ok(line) => break line,
            }
        };
        last.map_err(|e| format!("the client ended before its calls did: {e}"))?;
        process.finish(LIMIT)?;
        let _ = reader.join();
        let (n, at) = (rss.len() - 1, |i: usize| round(rss[i]));
        Ok(json!({"rss_idle_mb": at(0), "rss_tenth_mb": at(n.div_ceil(10)), "rss_half_mb": at(n.div_ceil(2)),
            "rss_end_mb": at(n), "calls": calls, "rss_samples": n + 1}))
    }
}

/// How long a client may take to end after its last line.
const LIMIT: Duration = Duration::from_secs(5);
