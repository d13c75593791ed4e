//! A started process: its CPU clock, its memory, its end.

use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use std::io;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// Killed and reaped when dropped.
pub struct Process {
    pub child: Child,
    pub started: Instant,
    cpu_clock: ClockId,
}

/// How a process ended once it was asked to.
pub struct End {
    pub took: Duration,
    pub killed: bool,
}

impl Process {
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let started = Instant::now();
        let child = command.spawn()?;
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        Ok(Self { child, started, cpu_clock: clock_getcpuclockid(pid)? })
    }

    /// User and system time of all its threads, ended ones included, but not of its children.
    pub fn cpu(&self) -> io::Result<Duration> {
        Ok(self.cpu_clock.now()?.into())
    }

    /// What it has used since [`cpu`](Self::cpu) gave `before`.
    pub fn cpu_since(&self, before: Duration) -> io::Result<Duration> {
        Ok(self.cpu()?.saturating_sub(before))
    }

    /// User and system time from the kernel's tick counters, which are coarse (10 ms) but tell the two apart.
    pub fn user_and_system(&self) -> (Duration, Duration) {
        let stat = self.read("stat");
        // The name of the program stands in brackets and may hold blanks and brackets.
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |i: usize| fields.get(i).and_then(|t| t.parse::<u64>().ok()).unwrap_or(0);
        (Duration::from_millis(ticks(11) * 10), Duration::from_millis(ticks(12) * 10))
    }

    pub fn rss_mb(&self) -> f64 {
        self.field("status", "VmRSS") / 1024.0
    }

    /// The highest RSS so far.
    pub fn peak_rss_mb(&self) -> f64 {
        self.field("status", "VmHWM") / 1024.0
    }

    /// RSS with each shared page divided by the number of processes that share it.
    pub fn pss_mb(&self) -> f64 {
        self.field("smaps_rollup", "Pss") / 1024.0
    }

    /// Pages that no other process shares.
    pub fn private_mb(&self) -> f64 {
        (self.field("smaps_rollup", "Private_Dirty") + self.field("smaps_rollup", "Private_Clean")) / 1024.0
    }

    pub fn threads(&self) -> f64 {
        self.field("status", "Threads")
    }

    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).map_or(0, Iterator::count)
    }

    /// A number from one of its `Key: value` files; NaN if it is not to be had.
    fn field(&self, file: &str, key: &str) -> f64 {
        self.read(file)
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| *name == key)
            .and_then(|(_, value)| value.split_whitespace().next()?.parse().ok())
            .unwrap_or(f64::NAN)
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.child.id())).unwrap_or_default()
    }

    /// Waits for it to end by itself, and kills it after `limit`.
    pub fn finish(&mut self, limit: Duration) -> io::Result<End> {
        // Short against what is measured (a few hundred microseconds at least), long against a try.
        const TRY_EVERY: Duration = Duration::from_micros(100);
        let asked = Instant::now();
        loop {
            if self.child.try_wait()?.is_some() {
                return Ok(End { took: asked.elapsed(), killed: false });
            }
            if asked.elapsed() > limit {
                self.child.kill()?;
                self.child.wait()?;
                return Ok(End { took: asked.elapsed(), killed: true });
            }
            thread::sleep(TRY_EVERY);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails only for one that has ended and been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Milliseconds, as the figures are given.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Microseconds, as the figures per call are given.
pub fn us(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
