//! Measurements of servers over HTTP+SSE (2024-11-05, two endpoints). One-threaded, on this machine only.

mod calls;
mod http;
mod idle;
mod session;

use crate::Result;
use crate::args::Args;
use crate::message::Tool;
use crate::process::{Process, ms};
use crate::program::Program;
use crate::stats::emit;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use session::Session;
use std::process::Stdio;
use std::time::Duration;
use tokio::time::{sleep, timeout};

pub const OPTIONS: &[&str] = &["port", "path", "sessions", "secs", "warm", "idle"];

/// How long a server may take to answer before it counts as an error.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many errors are reported.
const MOST_ERRORS: usize = 5;

pub fn run(args: &Args) -> Result<()> {
    // Each session takes two descriptors.
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, measure(args))
}

async fn measure(args: &Args) -> Result<()> {
    let mut target = Target {
        program: Program::from_args(args)?,
        path: args.text("path", "/sse").to_owned(),
        port: args.number("port", 18_700)?,
    };
    for count in args.text("sessions", "1,50,200").split(',') {
        let sessions = count.parse().map_err(|_| format!("--sessions: {count:?} is not a number"))?;
        emit(args, "sse", calls::calls(&mut target, args, sessions).await?);
    }
    let sessions = args.number("idle", 500)?;
    if sessions > 0 {
        emit(args, "sse_idle", idle::idle(&mut target, sessions).await?);
    }
    Ok(())
}

/// The server under test; every start is on another port, so that none waits for one to become free.
struct Target {
    program: Program,
    path: String,
    port: u16,
}

impl Target {
    /// Starts the server and waits until it gives out an endpoint. Milliseconds from its start to there.
    async fn start(&mut self) -> Result<(Process, f64)> {
        const LIMIT: Duration = Duration::from_secs(30);
        self.port += 1;
        let mut process = self.program.clone().on_port(self.port).spawn(Stdio::null(), Stdio::null())?;
        while process.started.elapsed() < LIMIT {
            if let Ok(Ok(session)) = timeout(PATIENCE, Session::open(self.port, &self.path)).await {
                let took = ms(process.started.elapsed());
                drop(session);
                sleep(Duration::from_millis(200)).await; // lets it put that session away
                return Ok((process, took));
            }
            if let Some(status) = process.child.try_wait()? {
                return Err(format!("the server ended at its start: {status}").into());
            }
            sleep(Duration::from_millis(3)).await;
        }
        Err(format!("the server gave no endpoint at {} in {} s", self.path, LIMIT.as_secs()).into())
    }

    /// `count` sessions with the handshake done; those that fail go to `errors`, and after a few of them it stops.
    async fn open(&self, count: usize, errors: &mut Vec<String>) -> Vec<Session> {
        let mut sessions = Vec::new();
        for number in 0..count {
            match timeout(PATIENCE, Session::ready(self.port, &self.path)).await {
                Ok(Ok(session)) => sessions.push(session),
                Ok(Err(e)) => errors.push(format!("opening session {number}: {e}")),
                Err(_) => errors.push(format!("opening session {number}: no answer in {} s", PATIENCE.as_secs())),
            }
            if errors.len() >= MOST_ERRORS {
                break;
            }
        }
        sessions
    }
}

fn echo() -> Tool {
    Tool { name: "echo".to_owned(), argument: "text".to_owned() }
}
