//! Memory over very many calls.

use super::Target;
use crate::Result;
use crate::args::Args;
use crate::process::us;
use crate::stats::round;
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

/// RSS when idle, and after a tenth, half and all of `--grow` pipelined calls of one process.
pub fn growth(target: &Target, args: &Args) -> Result<Value> {
    let (calls, window): (u64, u64) = (args.number("grow", 1_000_000)?, args.number("window", 64)?);
    let mut connection = target.open()?;
    // As in the idle test, part of the definition of the figure.
    thread::sleep(Duration::from_millis(400));
    let mut rss = vec![connection.process.rss_mb()];
    let (cpu_before, begun, mut done) = (connection.process.cpu()?, Instant::now(), 0);
    for upto in [calls / 10, calls / 2, calls] {
        target.pipeline(&mut connection, 1 + done, upto - done, window)?;
        done = upto;
        rss.push(connection.process.rss_mb());
    }
    let (took, cpu) = (begun.elapsed(), connection.process.cpu_since(cpu_before)?);
    let threads = connection.process.threads();
    connection.close()?;
    Ok(json!({"rss_idle_mb": round(rss[0]), "rss_tenth_mb": round(rss[1]), "rss_half_mb": round(rss[2]),
        "rss_end_mb": round(rss[3]), "calls": calls, "secs": round(took.as_secs_f64()),
        "cpu_us_per_call": round(us(cpu) / calls as f64), "threads": threads}))
}
