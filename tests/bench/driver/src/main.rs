//! Neutral load driver for MCP servers and clients, and the minimal programs they are compared with.
//!
//! Measuring modes print one JSON object a line; `../README.md` says what the figures mean.

mod args;
mod client;
mod lines;
mod message;
mod process;
mod program;
mod serve;
mod sse;
mod stats;
mod stdio;

use args::Args;
use std::process::ExitCode;

/// What goes wrong here is told to a person and ends the run, so a text is enough.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const USAGE: &str = "\
driver stdio  --cmd 'CMD' [--name N] [--tests startup,idle,seq,pipe,big,list,grow] [--env K=V]...
              [--startups 15] [--calls 5000] [--pipe 20000] [--min-secs 5] [--window 64] [--reps 3]
              [--big-bytes 1048576] [--big-calls 20] [--list-tools 500] [--list-calls 50] [--grow 1000000]
              [--tool echo] [--arg text] [--protocol 2024-11-05]
driver client --cmd 'CMD' [--name N] [--tests first,calls,grow] [--server 'CMD'] [--env K=V]...
              [--startups 10] [--reps 3] [--calls 5000] [--conc 64] [--total 20000] [--grow 1000000]
              CMD is given: <seq calls> <concurrency> <concurrent calls> -- <server command...>
driver sse    --cmd 'CMD {port}' [--name N] [--port 18700] [--path /sse] [--sessions 1,50,200] [--secs 6]
              [--warm 1.5] [--idle 500] [--reps 3] [--env K=V]...
All of these take --pin CPU (the driver and all it starts, on that one CPU) and --stderr FILE|inherit
(where the stderr of what is measured goes; thrown away if not given), and print one JSON object a line.

driver serve-floor [--batch]      minimal stdio server: line -> serde_json::Value -> reply
driver serve-instant              stdio server that answers calls without parsing, to measure clients with
driver serve-sse-floor --port P   minimal HTTP+SSE server (tokio, one thread)
driver client-floor SEQ CONC TOTAL -- SERVER...   minimal stdio client";

fn main() -> ExitCode {
    let argv: Vec<String> = std::env::args().skip(1).collect();
    let Some((mode, rest)) = argv.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(mode, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("driver {mode}: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run(mode: &str, rest: &[String]) -> Result<()> {
    match mode {
        "stdio" => stdio::run(&measuring(rest, stdio::OPTIONS)?),
        "client" => client::run(&measuring(rest, client::OPTIONS)?),
        "sse" => sse::run(&measuring(rest, sse::OPTIONS)?),
        "serve-floor" => serve::floor::serve(Args::parse(rest, &["batch"])?.has("batch")).map_err(Into::into),
        "serve-instant" => {
            Args::parse(rest, &[])?;
            serve::instant::serve().map_err(Into::into)
        }
        "serve-sse-floor" => {
            let port = Args::parse(rest, &["port"])?.number("port", 0)?;
            serve::sse_floor::serve(port).map_err(Into::into)
        }
        "client-floor" => client::floor::run(rest),
        "-h" | "--help" | "help" => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("there is no such mode.\n{USAGE}").into()),
    }
}

/// The options of a measuring mode, after `--pin` has been obeyed.
fn measuring(rest: &[String], own: &[&str]) -> Result<Args> {
    let args = Args::parse(rest, &[own, program::OPTIONS, &["pin", "name", "reps"]].concat())?;
    if args.has("pin") {
        pin(args.number("pin", 0)?)?;
    }
    Ok(args)
}

/// Keeps this process, and what it starts, on one CPU: without cross-CPU wake-ups the CPU time per call is the work itself.
fn pin(cpu: usize) -> Result<()> {
    use nix::sched::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    set.set(cpu)
        .and_then(|()| sched_setaffinity(nix::unistd::Pid::from_raw(0), &set))
        .map_err(|e| format!("--pin {cpu}: this process may not run on that CPU ({e})").into())
}
