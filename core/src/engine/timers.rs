//! Time: deadlines of own requests, merged progress, keep-alive pings, the grace after the end of input.

use std::time::{Duration, Instant};

use super::{CloseReason, Diagnostic, Engine, Event, KeepAlive, RequestKey, later};
use crate::error::{Error, ErrorKind};
use crate::protocol::Method;

/// One "not later than" for everything. Deadlines that were settled leave it too early, which costs one look around; no
/// structure has to be kept in order on every call.
#[derive(Debug)]
pub(super) struct Timers {
    next: Option<Instant>,
    keep_alive: Option<Pinging>,
    drain: Option<Drain>,
}

#[derive(Debug)]
struct Pinging {
    settings: KeepAlive,
    due: Instant,
    unanswered: Option<u64>,
    failures: u32,
}

impl Timers {
    pub(super) fn new(keep_alive: Option<KeepAlive>, now: Instant) -> Timers {
        let pinging = keep_alive.map(|settings| Pinging {
            settings,
            due: later(now, settings.interval),
            unanswered: None,
            failures: 0,
        });
        Timers { next: None, keep_alive: pinging, drain: None }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(super) fn arm(&mut self, at: Instant) {
        if self.next.is_none_or(|next| at < next) {
            self.next = Some(at);
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Timers { next: None, keep_alive: None, drain: None };
    }

    pub(super) fn drain(&mut self, drain: Drain) {
        self.arm(drain.until);
        self.drain = Some(drain);
    }

    pub(super) fn draining(&self) -> bool {
        self.drain.is_some()
    }
}

/// Calls that were accepted may still go on, and nothing new is taken.
#[derive(Debug)]
pub(super) struct Drain {
    pub(super) until: Instant,
    /// Why the session ends then.
    pub(super) reason: CloseReason,
}

impl Engine {
    /// Time has passed. Call it at [`poll_timeout`](Engine::poll_timeout), or at any other moment.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.is_closed() {
            return;
        }
        if self.timers.drain.as_ref().is_some_and(|drain| drain.until <= now) {
            self.finish_drain(now);
            return;
        }
        for id in self.outbound.expired(now) {
            self.expire(id);
            if self.is_closed() {
                return;
            }
        }
        self.flush_progress(now);
        self.ping_if_due(now);
        self.rearm();
    }

    fn rearm(&mut self) {
        let ping = self.timers.keep_alive.as_ref().filter(|ping| ping.unanswered.is_none()).map(|ping| ping.due);
        let all = [
            self.outbound.next_deadline(),
            self.inbound.next_flush(),
            ping.filter(|_| self.is_ready() && !self.timers.draining()),
            self.timers.drain.as_ref().map(|drain| drain.until),
        ];
        self.timers.next = all.into_iter().flatten().min();
    }

    fn expire(&mut self, id: u64) {
        let Some(pending) = self.outbound.take(id) else { return };
        let error = Error::new(ErrorKind::Timeout, format!("`{}` was not answered in time", pending.method));
        if pending.method == Method::Initialize {
            self.close(CloseReason::Handshake(error));
            return;
        }
        if self.is_keep_alive(id) {
            self.ping_failed();
        } else {
            self.events.push_back(Event::Settled { request: RequestKey(id), outcome: Err(error) });
        }
        // TIME-03: the peer need not go on.
        self.withdraw(id, &pending, Some("timed out"));
    }

    /// Begins the keep-alive when the handshake is done.
    pub(super) fn begin_keep_alive(&mut self, now: Instant) {
        if let Some(ping) = &mut self.timers.keep_alive {
            ping.due = later(now, ping.settings.interval);
            let due = ping.due;
            self.timers.arm(due);
        }
    }

    fn ping_if_due(&mut self, now: Instant) {
        if !self.is_ready() || self.timers.draining() {
            return;
        }
        let Some(ping) = self.timers.keep_alive.as_mut().filter(|ping| ping.unanswered.is_none() && ping.due <= now)
        else {
            return;
        };
        ping.due = later(now, ping.settings.interval);
        let limit = ping.settings.timeout;
        let id = self.next_id();
        if let Some(ping) = &mut self.timers.keep_alive {
            ping.unanswered = Some(id);
        }
        let sent = self.outbox.request(id, Method::Ping.as_str(), None, None, usize::MAX);
        debug_assert!(sent.is_ok(), "no limit was given");
        self.track(id, Method::Ping, false, super::TimeLimit::of(limit), false, now);
        self.check_overflow();
    }

    pub(super) fn is_keep_alive(&self, id: u64) -> bool {
        self.timers.keep_alive.as_ref().is_some_and(|ping| ping.unanswered == Some(id))
    }

    /// Any answer to the ping, even an error, shows that the peer lives.
    pub(super) fn ping_answered(&mut self) {
        if let Some(ping) = &mut self.timers.keep_alive {
            ping.unanswered = None;
            ping.failures = 0;
            let due = ping.due;
            self.timers.arm(due);
        }
    }

    fn ping_failed(&mut self) {
        let Some(ping) = &mut self.timers.keep_alive else { return };
        ping.unanswered = None;
        ping.failures += 1;
        let (failures, close_after) = (ping.failures, ping.settings.close_after);
        self.diagnose(Diagnostic::PingFailed { failures });
        if close_after.is_some_and(|limit| failures >= limit) {
            self.close(CloseReason::Unresponsive);
        }
    }

    /// The grace after the end of input is over, or nothing is left to wait for.
    pub(super) fn finish_drain(&mut self, _now: Instant) {
        if let Some(drain) = self.timers.drain.take() {
            self.close(drain.reason);
        }
    }

    /// How long accepted calls may still go on, if the input has ended.
    pub fn draining_for(&self, now: Instant) -> Option<Duration> {
        self.timers.drain.as_ref().map(|drain| drain.until.saturating_duration_since(now))
    }
}
