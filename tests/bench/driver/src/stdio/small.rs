//! Small calls: one after another, and many outstanding.

use super::Target;
use crate::Result;
use crate::args::Args;
use crate::message;
use crate::process::us;
use crate::stats::Samples;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub fn sequential(target: &Target, args: &Args) -> Result<Value> {
    const FIRST_ID: u64 = 10_000;
    let calls: u64 = args.number("calls", 5000)?;
    let (mut p50, mut p99) = (Samples::default(), Samples::default());
    let (mut cpu, mut rate, mut response_bytes) = (Samples::default(), Samples::default(), 0);
    for _ in 0..args.number("reps", 3)? {
        let mut connection = target.open()?;
        target.warm_up(&mut connection, 2000, 1)?;
        let (mut latencies, mut out) = (Samples::default(), Vec::new());
        let (cpu_before, begun) = (connection.process.cpu()?, Instant::now());
        for id in FIRST_ID..FIRST_ID + calls {
            let text = message::text_of(id);
            out.clear();
            target.tool.push_call(&mut out, id, &text);
            let sent = Instant::now();
            connection.send(&out)?;
            let answer = connection.answer(id)?;
            latencies.push(us(sent.elapsed()));
            message::check_echo(&answer, text.as_bytes())?;
            response_bytes = answer.len();
        }
        let (took, cpu_used) = (begun.elapsed(), connection.process.cpu_since(cpu_before)?);
        cpu.push(us(cpu_used) / calls as f64);
        rate.push(calls as f64 / took.as_secs_f64());
        p50.push(latencies.percentile(50.0));
        p99.push(latencies.percentile(99.0));
        connection.close()?;
    }
    Ok(json!({"p50_us": p50.spread(), "p99_us": p99.spread(), "cpu_us_per_call": cpu.spread(),
        "calls_per_s": rate.spread(), "calls": calls, "response_bytes": response_bytes}))
}

/// `--window` calls outstanding, in rounds of `--pipe` calls until `--min-secs` are over.
pub fn pipelined(target: &Target, args: &Args) -> Result<Value> {
    const FIRST_ID: u64 = 100_000;
    let (round, window) = (args.number("pipe", 20_000)?, args.number("window", 64)?);
    let least = Duration::from_secs_f64(args.number::<f64>("min-secs", 5.0)?.clamp(0.0, 30.0));
    let (mut rate, mut cpu) = (Samples::default(), Samples::default());
    let (mut system_share, mut secs) = (Samples::default(), Samples::default());
    for _ in 0..args.number("reps", 3)? {
        let mut connection = target.open()?;
        target.warm_up(&mut connection, 4000, window)?;
        let ticks_before = connection.process.user_and_system();
        let (cpu_before, begun, mut total) = (connection.process.cpu()?, Instant::now(), 0);
        while total == 0 || begun.elapsed() < least {
            target.pipeline(&mut connection, FIRST_ID + total, round, window)?;
            total += round;
        }
        let (took, cpu_used) = (begun.elapsed(), connection.process.cpu_since(cpu_before)?);
        let ticks = connection.process.user_and_system();
        let (user, system) = (ticks.0.saturating_sub(ticks_before.0), ticks.1.saturating_sub(ticks_before.1));
        rate.push(total as f64 / took.as_secs_f64());
        cpu.push(us(cpu_used) / total as f64);
        system_share.push(system.as_secs_f64() / (user + system).as_secs_f64());
        secs.push(took.as_secs_f64());
        connection.close()?;
    }
    Ok(json!({"calls_per_s": rate.spread(), "cpu_us_per_call": cpu.spread(), "sys_share": system_share.spread(),
        "secs": secs.spread(), "window": window}))
}
