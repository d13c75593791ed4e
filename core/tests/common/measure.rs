//! What a process holds: memory, threads, descriptors. Linux only; elsewhere it is not measured, and tests say so.

/// What this process holds now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    /// Resident memory in KiB.
    pub(crate) resident: i64,
    pub(crate) threads: i64,
    pub(crate) descriptors: i64,
}

impl Held {
    /// What has come on top since, printed for whoever wants to know.
    pub(crate) fn growth(self, what: &str) -> Held {
        let now = held().expect("measured before");
        let more = Held {
            resident: now.resident - self.resident,
            threads: now.threads - self.threads,
            descriptors: now.descriptors - self.descriptors,
        };
        eprintln!(
            "{what}: {} KiB resident, {} threads, {} descriptors more",
            more.resident, more.threads, more.descriptors
        );
        more
    }
}

/// `None` where the system does not tell.
pub(crate) fn held() -> Option<Held> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let descriptors = i64::try_from(std::fs::read_dir("/proc/self/fd").ok()?.count()).ok()?;
    Some(Held { resident: field("VmRSS:")?, threads: field("Threads:")?, descriptors })
}

/// Says on the test's output that something was not measured, and why.
pub(crate) fn not_measured() {
    eprintln!("not measured: this system has no /proc/self/status");
}
