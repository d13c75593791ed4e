//! Starting, being idle, ending.

use super::{Connection, Target};
use crate::Result;
use crate::args::Args;
use crate::message;
use crate::process::ms;
use crate::stats::Samples;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;

/// From the start of the process to the answer to initialize, on to the answer to the first call; from closing its
/// stdin to its end.
pub fn startup(target: &Target, args: &Args) -> Result<Value> {
    const TEXT: &str = "0123456789abcdef";
    let (mut init, mut init_cpu) = (Samples::default(), Samples::default());
    let (mut first, mut first_cpu) = (Samples::default(), Samples::default());
    let (mut shutdown, mut killed) = (Samples::default(), 0);
    let mut about = Default::default();
    for start in 0..=args.number("startups", 15)? {
        let mut connection = Connection::open(&target.program)?;
        connection.send(message::initialize(&target.protocol).as_bytes())?;
        let answer = connection.answer(0)?;
        let at_init = (connection.process.started.elapsed(), connection.process.cpu()?);
        about = message::check_initialize(&answer)?;

        let mut out = message::INITIALIZED.as_bytes().to_vec();
        target.tool.push_call(&mut out, 1, TEXT);
        connection.send(&out)?;
        let answer = connection.answer(1)?;
        let at_first = (connection.process.started.elapsed(), connection.process.cpu()?);
        message::check_echo(&answer, TEXT.as_bytes())?;

        let end = connection.close()?;
        killed += u32::from(end.killed);
        if start == 0 {
            continue; // it brings the program into the page cache
        }
        init.push(ms(at_init.0));
        init_cpu.push(ms(at_init.1));
        first.push(ms(at_first.0));
        first_cpu.push(ms(at_first.1));
        shutdown.push(ms(end.took));
    }
    Ok(json!({"init_ms": init.spread(), "init_cpu_ms": init_cpu.spread(), "first_call_ms": first.spread(),
        "first_call_cpu_ms": first_cpu.spread(), "shutdown_ms": shutdown.spread(), "killed": killed,
        "protocol": about.0, "server": about.1}))
}

/// Memory, threads and descriptors once the handshake is done and nothing happens any more.
pub fn idle(target: &Target, args: &Args) -> Result<Value> {
    let mut figures: [Samples; 5] = Default::default();
    for _ in 0..args.number("reps", 3)? {
        let connection = target.open()?;
        // Part of the definition of the figure: what a server still does right after the handshake has been done.
        thread::sleep(Duration::from_millis(400));
        let process = &connection.process;
        let now =
            [process.rss_mb(), process.pss_mb(), process.private_mb(), process.threads(), process.descriptors() as f64];
        figures.iter_mut().zip(now).for_each(|(samples, value)| samples.push(value));
        connection.close()?;
    }
    let [rss, pss, private, threads, descriptors] = figures;
    Ok(json!({"rss_mb": rss.spread(), "pss_mb": pss.spread(), "private_mb": private.spread(),
        "threads": threads.median(), "fds": descriptors.median()}))
}
