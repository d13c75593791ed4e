//! Many sessions, each making one call after another.

use super::session::Session;
use super::{MOST_ERRORS, PATIENCE, Target, echo};
use crate::Result;
use crate::args::Args;
use crate::process::us;
use crate::stats::Samples;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};

/// What all sessions of a run share.
#[derive(Default)]
struct Shared {
    latencies: RefCell<Samples>,
    errors: RefCell<Vec<String>>,
    measuring: Cell<bool>,
    stopping: Cell<bool>,
}

pub async fn calls(target: &mut Target, args: &Args, count: usize) -> Result<Value> {
    let warm = Duration::try_from_secs_f64(args.number("warm", 1.5)?)?;
    let secs = Duration::try_from_secs_f64(args.number("secs", 6.0)?)?;
    let (mut rate, mut cpu) = (Samples::default(), Samples::default());
    let (mut p50, mut p99, mut ready) = (Samples::default(), Samples::default(), Samples::default());
    let mut errors = Vec::new();
    for _ in 0..args.number("reps", 3)? {
        let (process, ready_ms) = target.start().await?;
        ready.push(ready_ms);
        let sessions = target.open(count, &mut errors).await;
        if sessions.len() < count {
            errors.push(format!("only {} of {count} sessions opened", sessions.len()));
        }
        let shared = Rc::new(Shared::default());
        let tasks: Vec<_> = sessions.into_iter().map(|s| spawn_local(keep_calling(s, shared.clone()))).collect();
        sleep(warm).await;
        let (cpu_before, begun) = (process.cpu()?, Instant::now());
        shared.measuring.set(true);
        sleep(secs).await;
        shared.measuring.set(false);
        let (took, cpu_used) = (begun.elapsed(), process.cpu_since(cpu_before)?);
        shared.stopping.set(true);
        for task in tasks {
            task.await?;
        }
        let latencies = shared.latencies.borrow();
        let calls = latencies.len() as f64;
        rate.push(calls / took.as_secs_f64());
        cpu.push(us(cpu_used) / calls);
        p50.push(latencies.percentile(50.0));
        p99.push(latencies.percentile(99.0));
        errors.append(&mut shared.errors.borrow_mut());
    }
    errors.truncate(MOST_ERRORS);
    Ok(json!({"sessions": count, "calls_per_s": rate.spread(), "cpu_us_per_call": cpu.spread(),
        "p50_us": p50.spread(), "p99_us": p99.spread(), "ready_ms": ready.spread(), "errors": errors}))
}

async fn keep_calling(mut session: Session, shared: Rc<Shared>) {
    let tool = echo();
    for id in 1.. {
        let sent = Instant::now();
        let fault = match timeout(PATIENCE, session.call(&tool, id)).await {
            Ok(Ok(())) => None,
            Ok(Err(e)) => Some(e.to_string()),
            Err(_) => Some(format!("a call had no answer in {} s", PATIENCE.as_secs())),
        };
        if let Some(fault) = fault {
            shared.errors.borrow_mut().push(fault);
            return;
        }
        if shared.measuring.get() {
            shared.latencies.borrow_mut().push(us(sent.elapsed()));
        }
        if shared.stopping.get() {
            return;
        }
    }
}
