//! `tools/list` of many tools, over as many pages as the server makes of it.

use super::{Connection, Target};
use crate::Result;
use crate::args::Args;
use crate::message;
use crate::process::ms;
use crate::stats::Samples;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The environment variable that asks a bench server for that many more tools.
const MORE_TOOLS: &str = "BENCH_TOOLS";

#[derive(Deserialize)]
struct Answer {
    result: Page,
}

#[derive(Deserialize)]
struct Page {
    tools: Vec<IgnoredAny>,
    #[serde(rename = "nextCursor")]
    next_cursor: Option<String>,
}

/// One whole list.
#[derive(Default)]
struct List {
    pages: usize,
    tools: usize,
    bytes: usize,
}

pub fn listing(target: &Target, args: &Args) -> Result<Value> {
    const WARM_UP: u64 = 3;
    let (wanted, calls): (usize, u64) = (args.number("list-tools", 500)?, args.number("list-calls", 50)?);
    let program = target.program.clone().with_env(MORE_TOOLS, &wanted.to_string());
    let (mut latency, mut cpu) = (Samples::default(), Samples::default());
    let (mut init, mut seen) = (Samples::default(), List::default());
    for _ in 0..args.number("reps", 3)? {
        let mut connection = Connection::open(&program)?;
        connection.send(message::initialize(&target.protocol).as_bytes())?;
        message::check_initialize(&connection.answer(0)?)?;
        init.push(ms(connection.process.started.elapsed()));
        connection.send(message::INITIALIZED.as_bytes())?;
        let (mut id, mut cpu_before) = (1, Duration::ZERO);
        for call in 0..WARM_UP + calls {
            if call == WARM_UP {
                cpu_before = connection.process.cpu()?;
            }
            let asked = Instant::now();
            let answers = fetch(&mut connection, &mut id)?;
            if call >= WARM_UP {
                latency.push(ms(asked.elapsed()));
            }
            seen = answers;
            if seen.tools < wanted {
                return Err(format!("the server lists {} tools; {MORE_TOOLS} asked for {wanted}", seen.tools).into());
            }
        }
        cpu.push(ms(connection.process.cpu_since(cpu_before)?) / calls as f64);
        connection.close()?;
    }
    Ok(json!({"ms_per_list": latency.spread(), "cpu_ms_per_list": cpu.spread(), "tools": seen.tools,
        "pages": seen.pages, "response_bytes": seen.bytes, "init_ms_with_tools": init.spread()}))
}

/// All pages; each request takes the next id.
fn fetch(connection: &mut Connection, id: &mut u64) -> Result<List> {
    let (mut list, mut params) = (List::default(), json!({}));
    loop {
        let request = json!({"jsonrpc": "2.0", "id": *id, "method": "tools/list", "params": params});
        connection.send(format!("{request}\n").as_bytes())?;
        let line = connection.answer(*id)?;
        *id += 1;
        let page = serde_json::from_slice::<Answer>(&line).map_err(|e| format!("tools/list: {e}"))?.result;
        list.pages += 1;
        list.tools += page.tools.len();
        list.bytes += line.len();
        match page.next_cursor {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => return Ok(list),
        }
    }
}
