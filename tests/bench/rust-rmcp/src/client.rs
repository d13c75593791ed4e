//! Bench client on rmcp 3.x. It is started with `SEQ CONC TOTAL -- SERVER...`; the driver says what it prints.

mod runtime;

use nix::time::{ClockId, clock_gettime};
use rmcp::model::CallToolRequestParams;
use rmcp::service::{Peer, RoleClient, ServiceExt};
use rmcp::transport::TokioChildProcess;
use serde_json::json;
use std::error::Error;
use std::time::{Duration, Instant};
use tokio::process::Command;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

const TEXT: &str = "0123456789abcdef";

fn own_cpu() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

async fn call(peer: &Peer<RoleClient>, text: &str) -> Result<()> {
    let mut arguments = serde_json::Map::new();
    arguments.insert("text".into(), text.into());
    let result = peer.call_tool(CallToolRequestParams::new("echo").with_arguments(arguments)).await?;
    match result.content.first().and_then(|content| content.as_text()) {
        Some(answer) if answer.text == text => Ok(()),
        _ => Err(format!("echo of {text:?} was answered with {result:?}").into()),
    }
}

async fn measure(peer: &Peer<RoleClient>, seq: usize, conc: usize, total: usize) -> Result<serde_json::Value> {
    for _ in 0..1000 {
        call(peer, TEXT).await?;
    }
    let mut latencies = Vec::with_capacity(seq);
    let cpu_before = own_cpu()?;
    for n in 0..seq {
        let text = format!("{n:016x}");
        let sent = Instant::now();
        call(peer, &text).await?;
        latencies.push(us(sent.elapsed()));
    }
    let seq_cpu = own_cpu()?.saturating_sub(cpu_before);
    latencies.sort_by(f64::total_cmp);

    let each = total / conc;
    let (cpu_before, begun) = (own_cpu()?, Instant::now());
    let tasks: Vec<_> = (0..conc)
        .map(|_| {
            let peer = peer.clone();
            tokio::spawn(async move {
                for n in 0..each {
                    call(&peer, &format!("{n:016x}")).await?;
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
    Ok(json!({"seq_p50_us": latencies[seq / 2], "seq_p99_us": latencies[seq * 99 / 100],
        "seq_cpu_us": us(seq_cpu) / seq as f64, "conc_per_s": calls / took.as_secs_f64(),
        "conc_cpu_us": us(conc_cpu) / calls}))
}

async fn run(words: &[String]) -> Result<()> {
    let [seq, conc, total, dashes, server, server_args @ ..] = words else {
        return Err("needs: SEQ CONC TOTAL -- SERVER...".into());
    };
    if dashes != "--" {
        return Err("needs -- before the server's command".into());
    }
    let mut command = Command::new(server);
    command.args(server_args);
    let client = ().serve(TokioChildProcess::new(command)?).await?;
    call(client.peer(), TEXT).await?;
    println!("FIRST");
    let seq = seq.parse()?;
    if seq > 0 {
        println!("{}", measure(client.peer(), seq, conc.parse()?, total.parse()?).await?);
    }
    client.cancel().await?;
    Ok(())
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    runtime::runtime()?.block_on(run(&words))
}
