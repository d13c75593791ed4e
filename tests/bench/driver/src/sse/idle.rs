//! Many sessions that do nothing: what each costs, and whether it comes back when they close.

use super::{MOST_ERRORS, PATIENCE, Target, echo};
use crate::Result;
use crate::process::ms;
use crate::stats::round;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// Time to settle before memory is read, and after sessions were closed: part of the definition of the figures.
const SETTLE: Duration = Duration::from_secs(2);
const SETTLE_CLOSED: Duration = Duration::from_secs(4);
/// How long the CPU use of the idle sessions is watched.
const WATCH: Duration = Duration::from_secs(5);

pub async fn idle(target: &mut Target, count: usize) -> Result<Value> {
    let mut errors = Vec::new();
    let (process, _) = target.start().await?;
    // First use loads things that are no cost of a session.
    drop(target.open(5, &mut errors).await);
    sleep(SETTLE).await;
    let (rss_before, fds_before) = (process.rss_mb(), process.descriptors());

    let begun = Instant::now();
    let mut sessions = target.open(count, &mut errors).await;
    let (opening, held) = (ms(begun.elapsed()), sessions.len().max(1) as f64);
    for session in &mut sessions {
        session.close_post();
    }
    sleep(SETTLE).await;
    let (rss_with, cpu_before, threads) = (process.rss_mb(), process.cpu()?, process.threads());
    sleep(WATCH).await;
    let idle_cpu = ms(process.cpu_since(cpu_before)?) / WATCH.as_secs_f64();
    let still_answers = match sessions.last_mut() {
        Some(session) => timeout(PATIENCE, session.call(&echo(), 7)).await.is_ok_and(|outcome| outcome.is_ok()),
        None => false,
    };
    let opened = sessions.len();
    drop(sessions);
    sleep(SETTLE_CLOSED).await;
    let (rss_closed, fds_closed) = (process.rss_mb(), process.descriptors());

    // Does a second batch reuse what the first left?
    let again = target.open(count, &mut errors).await;
    sleep(SETTLE).await;
    let rss_again = process.rss_mb();
    drop(again);
    errors.truncate(MOST_ERRORS);
    Ok(json!({"sessions": opened, "rss_before_mb": round(rss_before), "rss_with_mb": round(rss_with),
        "kb_per_session": round((rss_with - rss_before) * 1024.0 / held), "open_ms_per_session": round(opening / held),
        "idle_cpu_ms_per_s": round(idle_cpu), "threads": threads, "still_answers": still_answers,
        "rss_4s_after_close_mb": round(rss_closed), "fds_before": fds_before, "fds_after_close": fds_closed,
        "rss_second_batch_mb": round(rss_again), "errors": errors}))
}
