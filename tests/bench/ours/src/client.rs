//! The client of the benchmarks. It is started with `SEQ CONC TOTAL -- SERVER...`; the benchmarks' README says what it
//! prints.
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "figures on stdout are its purpose")]

use std::error::Error;
use std::time::{Duration, Instant};

use mcp_native::Client;
use mcp_native::transport::child::ChildCommand;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const TEXT: &str = "0123456789abcdef";

fn own_cpu() -> Result<Duration> {
    Ok(clock_gettime(ClockId::ProcessCPUTime).try_into()?)
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

async fn call(client: &Client, text: &str) -> Result<()> {
    let result = client.call_tool("echo", json!({ "text": text })).await?;
    match result.content.first().and_then(|content| content.as_text()) {
        Some(answer) if answer == text => Ok(()),
        _ => Err(format!("echo of {text:?} was answered with {result:?}").into()),
    }
}

async fn measure(client: &Client, seq: usize, conc: usize, total: usize) -> Result<serde_json::Value> {
    for _ in 0..1000 {
        call(client, TEXT).await?;
    }
    let mut latencies = Vec::with_capacity(seq);
    let cpu_before = own_cpu()?;
    for n in 0..seq {
        let text = format!("{n:016x}");
        let sent = Instant::now();
        call(client, &text).await?;
        latencies.push(us(sent.elapsed()));
    }
    let seq_cpu = own_cpu()?.saturating_sub(cpu_before);
    latencies.sort_by(f64::total_cmp);

    let each = total / conc;
    let (cpu_before, begun) = (own_cpu()?, Instant::now());
    let tasks: Vec<_> = (0..conc)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move {
                for n in 0..each {
                    call(&client, &format!("{n:016x}")).await?;
                }
                Result::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let (took, conc_cpu) = (begun.elapsed(), own_cpu()?.saturating_sub(cpu_before));
    let calls = (each * conc) as f64;
    Ok(json!({
        "seq_p50_us": latencies[seq / 2],
        "seq_p99_us": latencies[seq * 99 / 100],
        "seq_cpu_us": us(seq_cpu) / seq as f64,
        "conc_per_s": calls / took.as_secs_f64(),
        "conc_cpu_us": us(conc_cpu) / calls,
    }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [seq, conc, total, dashes, server, arguments @ ..] = &words[..] else {
        return Err("needs: SEQ CONC TOTAL -- SERVER...".into());
    };
    if dashes != "--" {
        return Err("needs -- before the server's command".into());
    }
    let command = ChildCommand::new(server).args(arguments);
    let client = Client::builder("bench", "1.0").stdio(command).await?;
    call(&client, TEXT).await?;
    println!("FIRST");
    let seq = seq.parse()?;
    if seq > 0 {
        println!("{}", measure(&client, seq, conc.parse()?, total.parse()?).await?);
    }
    client.close().await;
    Ok(())
}
