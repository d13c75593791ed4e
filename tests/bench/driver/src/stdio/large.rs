//! Large calls, one after another.

use super::Target;
use crate::Result;
use crate::args::Args;
use crate::message;
use crate::process::ms;
use crate::stats::{Samples, round};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub fn large(target: &Target, args: &Args) -> Result<Value> {
    const FIRST_ID: u64 = 500;
    const WARM_UP: u64 = 3;
    let (size, calls): (usize, u64) = (args.number("big-bytes", 1 << 20)?, args.number("big-calls", 20)?);
    let text: String = ('a'..='w').cycle().take(size).collect();
    let (mut latency, mut cpu) = (Samples::default(), Samples::default());
    let (mut peak, mut response_bytes) = (Samples::default(), 0);
    for _ in 0..args.number("reps", 3)? {
        let mut connection = target.open()?;
        let (mut out, mut cpu_before) = (Vec::with_capacity(size + 256), Duration::ZERO);
        for call in 0..WARM_UP + calls {
            if call == WARM_UP {
                cpu_before = connection.process.cpu()?;
            }
            out.clear();
            target.tool.push_call(&mut out, FIRST_ID + call, &text);
            let sent = Instant::now();
            connection.send(&out)?;
            let answer = connection.answer(FIRST_ID + call)?;
            if call >= WARM_UP {
                latency.push(ms(sent.elapsed()));
            }
            message::check_echo(&answer, text.as_bytes())?;
            response_bytes = answer.len();
        }
        cpu.push(ms(connection.process.cpu_since(cpu_before)?) / calls as f64);
        peak.push(connection.process.peak_rss_mb());
        connection.close()?;
    }
    let mb_per_s = size as f64 / 1e6 / (latency.median() / 1e3);
    Ok(json!({"ms_per_call": latency.spread(), "mb_per_s_each_way": round(mb_per_s), "cpu_ms_per_call": cpu.spread(),
        "peak_rss_mb": peak.spread(), "bytes": size, "response_bytes": response_bytes}))
}
