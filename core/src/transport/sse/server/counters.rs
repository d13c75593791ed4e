//! What has happened so far, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a server over HTTP since it began. Read them one by one, or all at once with
/// [`snapshot`](SseCounters::snapshot), and export them to any system of metrics.
#[derive(Debug, Default)]
pub struct SseCounters {
    opened: AtomicU64,
    closed: AtomicU64,
    messages_in: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    refused: AtomicU64,
}

/// All counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SseSnapshot {
    /// Sessions opened.
    pub sessions_opened: u64,
    /// Sessions that have ended.
    pub sessions_closed: u64,
    /// Messages accepted.
    pub messages_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Bytes of event streams.
    pub bytes_out: u64,
    /// Requests refused, for any reason.
    pub refused: u64,
}

impl SseCounters {
    /// All counts at one moment.
    pub fn snapshot(&self) -> SseSnapshot {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SseSnapshot {
            sessions_opened: read(&self.opened),
            sessions_closed: read(&self.closed),
            messages_in: read(&self.messages_in),
            bytes_in: read(&self.bytes_in),
            bytes_out: read(&self.bytes_out),
            refused: read(&self.refused),
        }
    }

    pub(super) fn opened(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn closed(&self) {
        self.closed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.messages_in.fetch_add(1, Ordering::Relaxed);
        self.bytes_in.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn sent(&self, bytes: usize) {
        self.bytes_out.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }
}
