//! Requests of the peer: who is served, who waits, who may still be answered, and what they may report.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{CallId, Completion, Diagnostic, Engine, Event};
use crate::error::{Error, ErrorKind};
use crate::protocol::{Method, ProgressToken, RequestId};

/// The table of calls. Slots are used again; the generation tells a stale id from a live one.
#[derive(Debug, Default)]
pub(super) struct Inbound {
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_id: HashMap<RequestId, CallId>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    running: usize,
    /// How many of the running ones had to wait.
    resumed: usize,
    /// What answers of late were at most, in bytes.
    answer_bytes: usize,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    call: Option<Call>,
}

#[derive(Debug)]
struct Call {
    id: RequestId,
    state: CallState,
    /// It had to wait before it ran.
    resumed: bool,
    progress: Option<Box<Reporting>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallState {
    Waiting,
    Running,
    /// The peer does not want the answer any more; the handler still has to end.
    Cancelled,
}

#[derive(Debug)]
struct Waiting {
    call: CallId,
    method: Method,
    params: Option<Bytes>,
    /// What it adds to `waiting_bytes`.
    bytes: usize,
}

/// What a call with a progress token has reported (PROG-05, PROG-10).
#[derive(Debug)]
struct Reporting {
    token: ProgressToken,
    highest: Option<f64>,
    second: Option<Instant>,
    sent_this_second: u32,
    /// The newest report above the rate, written at `flush_at` or before the answer.
    merged: Option<String>,
    flush_at: Option<Instant>,
}

impl Inbound {
    pub(super) fn in_flight(&self) -> usize {
        self.running + self.waiting.len()
    }

    pub(super) fn find(&self, id: &RequestId) -> Option<CallId> {
        self.by_id.get(id).copied()
    }

    /// The call that asked for progress with this token.
    pub(super) fn find_token(&self, token: &ProgressToken) -> Option<CallId> {
        let wanted = |call: &&CallId| {
            let entry = self.slots.get(call.index()).and_then(|slot| slot.call.as_ref());
            entry.and_then(|entry| entry.progress.as_ref()).is_some_and(|reporting| reporting.token == *token)
        };
        self.by_id.values().find(wanted).copied()
    }

    fn insert(&mut self, id: RequestId, state: CallState, token: Option<ProgressToken>) -> CallId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("calls are bounded far below 2^32")
        });
        let slot = &mut self.slots[index as usize];
        let progress = token.map(|token| {
            Box::new(Reporting {
                token,
                highest: None,
                second: None,
                sent_this_second: 0,
                merged: None,
                flush_at: None,
            })
        });
        slot.call = Some(Call { id: id.clone(), state, resumed: false, progress });
        let call = CallId { index, generation: slot.generation };
        self.by_id.insert(id, call);
        call
    }

    fn get(&mut self, call: CallId) -> Option<&mut Call> {
        let slot = self.slots.get_mut(call.index())?;
        if slot.generation != call.generation {
            return None;
        }
        slot.call.as_mut()
    }

    /// Takes a call out of the table for good.
    fn remove(&mut self, call: CallId) -> Option<Call> {
        self.get(call)?;
        let slot = &mut self.slots[call.index()];
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(call.index);
        let removed = slot.call.take()?;
        // A cancelled call's id may be in use again.
        if self.by_id.get(&removed.id) == Some(&call) {
            self.by_id.remove(&removed.id);
        }
        Some(removed)
    }

    /// Forgets everything; returns the calls whose handlers must be told.
    pub(super) fn close(&mut self) -> Vec<CallId> {
        let mut running = Vec::new();
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let Some(call) = slot.call.take() else { continue };
            if call.state == CallState::Running {
                let index = u32::try_from(index).expect("inserted as u32");
                running.push(CallId { index, generation: slot.generation });
            }
            slot.generation = slot.generation.wrapping_add(1);
        }
        self.free.clear();
        self.slots.clear();
        self.by_id.clear();
        self.waiting.clear();
        (self.waiting_bytes, self.running, self.resumed) = (0, 0, 0);
        running
    }

    /// The earliest moment at which a merged progress report is due.
    pub(super) fn next_flush(&self) -> Option<Instant> {
        self.slots.iter().filter_map(|slot| slot.call.as_ref()?.progress.as_ref()?.flush_at).min()
    }
}

impl Reporting {
    /// Whether a report may go out now; begins a new second where one is due.
    fn admit(&mut self, per_second: u32, now: Instant) -> bool {
        match self.second {
            Some(second) if now.saturating_duration_since(second) < Duration::from_secs(1) => {
                self.sent_this_second += 1;
            }
            _ => (self.second, self.sent_this_second) = (Some(now), 1),
        }
        self.sent_this_second <= per_second
    }
}

impl Engine {
    /// Takes a request that passed all gates: starts it, lets it wait, or refuses it.
    pub(super) fn accept(
        &mut self,
        id: RequestId,
        method: Method,
        params: Option<Bytes>,
        token: Option<ProgressToken>,
    ) {
        let limits = &self.config.limits;
        if self.inbound.waiting.is_empty() && self.inbound.running < limits.running && self.has_room() {
            let call = self.inbound.insert(id.clone(), CallState::Running, token);
            self.inbound.running += 1;
            self.events.push_back(Event::Request { call, id, method, params });
            return;
        }
        // Whatever the peer can make long counts, its id and token too.
        let bytes = params.as_ref().map_or(0, Bytes::len)
            + method.as_str().len()
            + length_of(&id)
            + token.as_ref().map_or(0, length_of);
        if self.inbound.waiting.len() >= limits.waiting || self.inbound.waiting_bytes + bytes > limits.waiting_bytes {
            let error = Error::new(ErrorKind::Overloaded, "Too many requests are waiting: try again later");
            self.refuse(Some(&id), &error);
            return;
        }
        // A slice would keep the whole batch of lines alive while it waits.
        let params = params.map(|params| Bytes::copy_from_slice(&params));
        let call = self.inbound.insert(id, CallState::Waiting, token);
        self.inbound.waiting_bytes += bytes;
        self.inbound.waiting.push_back(Waiting { call, method, params, bytes });
    }

    /// Whether the answers of further calls have room: a peer that is slow to read gets no more work done. Calls that had
    /// to wait already and now run count with what they may answer, or a crowd let go at once would answer more than the
    /// peer can be sent.
    fn has_room(&self) -> bool {
        let expected = self.inbound.resumed.saturating_mul(self.inbound.answer_bytes);
        self.outbox.unsent().saturating_add(expected) <= self.config.limits.outbound_bytes / 2
    }

    pub(super) fn release_waiting(&mut self, now: Instant) {
        while self.inbound.running < self.config.limits.running && self.has_room() {
            let Some(Waiting { call, method, params, bytes }) = self.inbound.waiting.pop_front() else { break };
            self.inbound.waiting_bytes -= bytes;
            let Some(entry) = self.inbound.get(call) else { continue };
            entry.state = CallState::Running;
            entry.resumed = true;
            let id = entry.id.clone();
            self.inbound.running += 1;
            self.inbound.resumed += 1;
            self.events.push_back(Event::Request { call, id, method, params });
        }
        if self.timers.draining() && self.inbound.in_flight() == 0 {
            self.finish_drain(now);
        }
    }

    /// Answers a call with the text of a JSON object, on one line, or with an error.
    ///
    /// `Stale` means that the call had ended before, and nothing was sent (CANC-03, JRPC-28).
    pub fn respond(&mut self, call: CallId, outcome: Result<&str, &Error>, now: Instant) -> Completion {
        // A call that waits was not handed out yet, so nobody knows its id.
        let Some(mut entry) = self.inbound.remove(call) else { return Completion::Stale };
        self.inbound.running -= 1;
        self.inbound.resumed -= usize::from(entry.resumed);
        if entry.state != CallState::Cancelled {
            self.write_merged_progress(&mut entry);
        }
        // That report may have been the last straw.
        let completion = if entry.state == CallState::Cancelled || self.is_closed() {
            Completion::Stale
        } else {
            self.write_outcome(&entry.id, outcome);
            self.check_overflow();
            Completion::Accepted
        };
        if !self.is_closed() {
            self.release_waiting(now);
        }
        completion
    }

    fn write_outcome(&mut self, id: &RequestId, outcome: Result<&str, &Error>) {
        let limit = self.config.limits.message_out;
        match outcome {
            Ok(result) => {
                let faded = self.inbound.answer_bytes - self.inbound.answer_bytes / 8;
                self.inbound.answer_bytes = faded.max(result.len());
                if let Err(length) = self.outbox.result(id, result, limit) {
                    let message = format!("The result has {length} bytes, more than the limit of {limit}");
                    self.outbox.error(Some(id), &Error::new(ErrorKind::TooLarge, message), self.revision, limit);
                }
            }
            Err(error) => self.outbox.error(Some(id), error, self.revision, limit),
        }
    }

    /// The peer's `notifications/cancelled` (CANC-03…CANC-11).
    pub(super) fn cancel_inbound(&mut self, id: &RequestId, reason: Option<String>, now: Instant) {
        let Some(call) = self.inbound.by_id.remove(id) else { return };
        let Some(entry) = self.inbound.get(call) else { return };
        if entry.state == CallState::Waiting {
            self.inbound.remove(call);
            let at = self.inbound.waiting.iter().position(|waiting| waiting.call == call);
            if let Some(waiting) = at.and_then(|at| self.inbound.waiting.remove(at)) {
                self.inbound.waiting_bytes -= waiting.bytes;
            }
            self.release_waiting(now);
            return;
        }
        entry.state = CallState::Cancelled;
        entry.progress = None;
        self.events.push_back(Event::Cancelled { call, reason });
    }

    /// Reports progress of a call, if the peer asked for it (PROG-12), the call still runs (PROG-07, PROG-08), and the
    /// value is a rising number (PROG-05). Returns whether the report will reach the peer, at once or merged with later
    /// ones (PROG-10).
    pub fn progress(
        &mut self,
        call: CallId,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
        now: Instant,
    ) -> bool {
        let per_second = self.config.limits.progress_per_second;
        let revision = self.revision;
        let Some(entry) = self.inbound.get(call) else { return false };
        let Some(reporting) = entry.progress.as_mut() else { return false };
        let rising = reporting.highest.is_none_or(|highest| progress > highest);
        if !progress.is_finite() || !rising {
            return false;
        }
        reporting.highest = Some(progress);
        let params = progress_params(&reporting.token, progress, total, message.filter(|_| allows_message(revision)));
        if reporting.admit(per_second, now) {
            reporting.merged = None;
            reporting.flush_at = None;
            let id = entry.id.clone();
            self.write_progress(&params, id);
        } else {
            reporting.merged = Some(params);
            if reporting.flush_at.is_none() {
                let due = reporting.second.unwrap_or(now) + Duration::from_secs(1);
                reporting.flush_at = Some(due);
                self.timers.arm(due);
            }
        }
        true
    }

    fn write_merged_progress(&mut self, call: &mut Call) {
        if let Some(params) = call.progress.as_mut().and_then(|reporting| reporting.merged.take()) {
            self.write_progress(&params, call.id.clone());
        }
    }

    fn write_progress(&mut self, params: &str, related: RequestId) {
        let limit = self.config.limits.message_out;
        if self.outbox.notification(Method::Progress.as_str(), Some(params), Some(related), limit).is_err() {
            self.diagnose(Diagnostic::Dropped { method: Method::Progress, why: "longer than the limit" });
        }
        self.check_overflow();
    }

    /// Writes the merged reports that are due.
    pub(super) fn flush_progress(&mut self, now: Instant) {
        let mut due = Vec::new();
        for slot in &mut self.inbound.slots {
            let Some(call) = slot.call.as_mut() else { continue };
            let Some(reporting) = call.progress.as_mut() else { continue };
            if reporting.flush_at.is_some_and(|at| at <= now) {
                reporting.flush_at = None;
                reporting.admit(u32::MAX, now);
                due.extend(reporting.merged.take().map(|params| (params, call.id.clone())));
            }
        }
        for (params, id) in due {
            self.write_progress(&params, id);
            if self.is_closed() {
                return;
            }
        }
    }

    /// The id of a call that still wants its answer, for messages that arise while it is served.
    pub(super) fn related(&mut self, call: Option<CallId>) -> Option<RequestId> {
        self.inbound.get(call?).filter(|entry| entry.state == CallState::Running).map(|entry| entry.id.clone())
    }
}

fn length_of(id: &RequestId) -> usize {
    match id {
        RequestId::Integer(_) => 0,
        RequestId::String(string) => string.len(),
    }
}

/// `message` came with 2025-03-26 (PROG-13).
fn allows_message(revision: crate::protocol::Revision) -> bool {
    revision >= crate::protocol::Revision::V2025_03_26
}

fn progress_params(token: &ProgressToken, progress: f64, total: Option<f64>, message: Option<&str>) -> String {
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        progress_token: &'a ProgressToken,
        progress: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    }
    let params = Params { progress_token: token, progress, total: total.filter(|total| total.is_finite()), message };
    serde_json::to_string(&params).expect("finite numbers and strings are JSON")
}
