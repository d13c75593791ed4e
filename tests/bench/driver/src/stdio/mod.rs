//! Measurements of servers over stdio, the server as a child of the driver.

mod connection;
mod growth;
mod large;
mod listing;
mod small;
mod start;

use crate::Result;
use crate::args::Args;
use crate::message::{self, Tool};
use crate::program::Program;
use crate::stats::emit;
use connection::Connection;
use std::time::{Duration, Instant};

pub const OPTIONS: &[&str] = &[
    "tests",
    "protocol",
    "tool",
    "arg",
    "startups",
    "calls",
    "pipe",
    "min-secs",
    "window",
    "big-bytes",
    "big-calls",
    "list-tools",
    "list-calls",
    "grow",
];

pub fn run(args: &Args) -> Result<()> {
    let target = Target::from_args(args)?;
    for test in args.text("tests", "startup,idle,seq,pipe,big,list,grow").split(',') {
        let figures = match test {
            "startup" => start::startup(&target, args)?,
            "idle" => start::idle(&target, args)?,
            "seq" => small::sequential(&target, args)?,
            "pipe" => small::pipelined(&target, args)?,
            "big" => large::large(&target, args)?,
            "list" => listing::listing(&target, args)?,
            "grow" => growth::growth(&target, args)?,
            _ => return Err(format!("--tests: there is no test {test:?}").into()),
        };
        emit(args, test, figures);
    }
    Ok(())
}

/// The server under test.
struct Target {
    program: Program,
    protocol: String,
    tool: Tool,
}

impl Target {
    fn from_args(args: &Args) -> Result<Self> {
        Ok(Self {
            program: Program::from_args(args)?,
            protocol: args.text("protocol", "2024-11-05").to_owned(),
            tool: Tool { name: args.text("tool", "echo").to_owned(), argument: args.text("arg", "text").to_owned() },
        })
    }

    /// A fresh process, with the handshake done.
    fn open(&self) -> Result<Connection> {
        let mut connection = Connection::open(&self.program)?;
        connection.send(message::initialize(&self.protocol).as_bytes())?;
        message::check_initialize(&connection.answer(0)?)?;
        connection.send(message::INITIALIZED.as_bytes())?;
        Ok(connection)
    }

    /// `total` calls from `first_id` on, `window` of them outstanding; every answer is checked.
    fn pipeline(&self, connection: &mut Connection, first_id: u64, total: u64, window: u64) -> Result<()> {
        let (mut next, end, mut answered) = (first_id, first_id + total, 0);
        let mut out = Vec::with_capacity(1 << 16);
        while next < end.min(first_id + window) {
            self.tool.push_call(&mut out, next, &message::text_of(next));
            next += 1;
        }
        loop {
            if !out.is_empty() {
                connection.send(&out)?;
                out.clear();
            }
            if answered == total {
                return Ok(());
            }
            connection.receive()?;
            while let Some(line) = connection.buffered() {
                let Some(id) = message::response_id(line) else {
                    continue;
                };
                message::check_echo(line, message::text_of(id).as_bytes())?;
                answered += 1;
                if next < end {
                    self.tool.push_call(&mut out, next, &message::text_of(next));
                    next += 1;
                }
            }
        }
    }

    /// Calls that are not measured: up to `limit` of them, or two seconds.
    fn warm_up(&self, connection: &mut Connection, limit: u64, window: u64) -> Result<()> {
        const STEP: u64 = 250;
        let (begun, mut id) = (Instant::now(), 1);
        while id < limit && begun.elapsed() < Duration::from_secs(2) {
            self.pipeline(connection, id, STEP, window)?;
            id += STEP;
        }
        Ok(())
    }
}
