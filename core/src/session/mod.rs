//! Joins the engine with transports and handlers: owns the lock around the engine, the threads, timers and wake-ups.
//!
//! A session is turned by whoever reads: a thread with blocking reads (`pump`) or a task over a
//! [`Transport`](crate::transport::Transport) (`relay`). Everybody else, such as a handler that
//! has finished or an application that makes a request, changes the engine under its lock and then
//! [kicks](Session::kick) the session, which delivers what came of it and flushes what is to be sent. No code of the
//! application runs under the lock.

mod call;
mod id;
mod lead;
mod outlet;
mod pump;
mod relay;
mod request;
pub(crate) mod runtime;

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Notify, oneshot};

use crate::engine::{
    CallId, CloseReason, Completion, Config, Diagnostic, Engine, Event, OutgoingRequest, Peer, RequestKey,
};
use crate::error::Error;
use crate::protocol::{Json, Method, RequestId, Revision};
use crate::transport::{Tap, TapDirection};

pub(crate) use call::{Call, Reply, panic_message};
pub(crate) use id::{hexadecimal, session_id};
pub(crate) use outlet::{FdOutlet, Outlet, ThreadOutlet};
pub(crate) use pump::Pump;
pub(crate) use relay::relay;
pub(crate) use request::{PendingRequest, ProgressHandler};

use call::Task;
use request::Waiter;
use runtime::{Clock, Executor, lock};

/// What a transport knows of how a message came: headers, addresses, identities.
pub(crate) type Origin = Arc<dyn Any + Send + Sync>;

/// A future that owns all it needs.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The text of a result object: valid JSON on one line.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Static(&'static str),
    Owned(String),
    Shared(Arc<str>),
    Json(Json),
}

impl Body {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Body::Static(text) => text,
            Body::Owned(text) => text,
            Body::Shared(text) => text,
            Body::Json(json) => json.get(),
        }
    }
}

/// What a handler comes to.
pub(crate) type Outcome = Result<Body, Error>;

/// What a side of the protocol does with what a session delivers. Calls may come from any thread, never under a lock of
/// the session.
pub(crate) trait Service: Send + Sync + 'static {
    /// Serves a request. Runs on the thread that reads unless the reply says otherwise.
    fn request(&self, call: &Arc<Call>) -> Reply;
    /// Takes a notification; in the order of arrival.
    fn notification(&self, session: &Arc<Session>, method: &Method, params: Option<&str>);
    /// The peer is known.
    fn negotiated(&self, _session: &Arc<Session>) {}
    /// The handshake is complete.
    fn ready(&self, _session: &Arc<Session>) {}
    /// A call of this session was cancelled by the peer, with a reason.
    fn call_cancelled(&self, _call: &Call, _reason: Option<&str>) {}
    /// Something odd happened.
    fn diagnostic(&self, session: &Session, diagnostic: &Diagnostic);
    /// The session has ended. Called once.
    fn closed(&self, session: &Arc<Session>, reason: &CloseReason);
}

/// One session of either role.
pub(crate) struct Session {
    pub(crate) id: Arc<str>,
    pub(crate) service: Arc<dyn Service>,
    executor: Executor,
    tap: Option<Tap>,
    core: Mutex<Core>,
    outlet: Box<dyn Outlet>,
    end: Mutex<Option<CloseReason>>,
    ended: Condvar,
    ended_async: Notify,
    ready_async: Notify,
}

/// What the lock guards.
struct Core {
    engine: Engine,
    waiters: HashMap<RequestKey, Waiter>,
    /// Calls that are served, by the slot of their id.
    calls: Vec<Option<Arc<Call>>>,
    /// How requests came that wait for their turn, where the transport tells.
    origins: HashMap<RequestId, Origin>,
    /// Somebody writes; who finds it set leaves the flushing to them.
    writing: bool,
    /// A buffer of a finished write, used again.
    spare: Vec<u8>,
    /// When the clock will call.
    armed: Option<Instant>,
}

#[cfg(feature = "sse-server")]
impl Core {
    /// Keeps `origin` until the request is handed out. Those of requests that were refused, or cancelled while they waited,
    /// are let go of in time.
    fn add_origin(&mut self, id: RequestId, origin: Origin) {
        if self.origins.len() > 16 + self.engine.calls_in_flight() {
            let engine = &self.engine;
            self.origins.retain(|id, _| engine.is_in_flight(id));
            self.origins.shrink_to_fit();
        }
        self.origins.insert(id, origin);
    }
}

/// What has come up, with what the lock guards already taken out.
#[derive(Default)]
struct Batch {
    news: VecDeque<News>,
    calls: Vec<Task>,
}

/// Something other than a request.
enum News {
    Cancel(Arc<Call>, Option<String>),
    Notification(Method, Option<Bytes>),
    Progress(ProgressHandler, Bytes),
    Settle(Waiter, Result<Bytes, Error>),
    Negotiated,
    Ready,
    Diagnostic(Diagnostic),
    Closed(CloseReason),
}

/// Everything a session needs besides its transport.
pub(crate) struct Setup {
    pub(crate) id: Arc<str>,
    pub(crate) config: Config,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) tap: Option<Tap>,
}

impl Session {
    pub(crate) fn new(setup: Setup, outlet: Box<dyn Outlet>) -> Arc<Session> {
        let engine = Engine::new(setup.config, Instant::now());
        Arc::new(Session {
            id: setup.id,
            service: setup.service,
            executor: Executor::current(),
            tap: setup.tap,
            core: Mutex::new(Core {
                engine,
                waiters: HashMap::new(),
                calls: Vec::new(),
                origins: HashMap::new(),
                writing: false,
                spare: Vec::new(),
                armed: None,
            }),
            outlet,
            end: Mutex::new(None),
            ended: Condvar::new(),
            ended_async: Notify::new(),
            ready_async: Notify::new(),
        })
    }

    /// Begins a client's handshake.
    pub(crate) fn start(self: &Arc<Self>, limit: Option<Duration>) {
        lock(&self.core).engine.start(limit, Instant::now());
        self.kick();
    }

    pub(crate) fn revision(&self) -> Revision {
        lock(&self.core).engine.revision()
    }

    pub(crate) fn peer(&self) -> Option<Arc<Peer>> {
        lock(&self.core).engine.peer().cloned()
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    /// One received frame; `inline` says whether handlers may run on this thread.
    fn receive(self: &Arc<Self>, frame: &Bytes, inline: bool) {
        if let Some(tap) = &self.tap {
            tap.record(TapDirection::In, &self.id, frame);
        }
        let mut batch = Batch::default();
        let mut core = lock(&self.core);
        core.engine.handle_frame(frame, Instant::now());
        self.collect(&mut core, &mut batch, usize::MAX);
        drop(core);
        self.deliver(batch, inline);
    }

    /// One received message with what is known of how it came, on a thread that may run handlers; for transports that
    /// have more to tell of a message than its bytes. `id` is the message's, if it is a request. Returns whether the
    /// session takes messages; this one is lost otherwise.
    #[cfg(feature = "sse-server")]
    pub(crate) fn receive_with(self: &Arc<Self>, frame: &Bytes, id: Option<RequestId>, origin: Origin) -> bool {
        if let Some(tap) = &self.tap {
            tap.record(TapDirection::In, &self.id, frame);
        }
        let mut batch = Batch::default();
        let mut core = lock(&self.core);
        if !core.engine.takes_input() {
            return false;
        }
        // A second request with an id that is in use is refused; it must not take the place of the first.
        if let Some(id) = id.filter(|id| !core.engine.is_in_flight(id)) {
            core.add_origin(id, origin);
        }
        core.engine.handle_frame(frame, Instant::now());
        self.collect(&mut core, &mut batch, usize::MAX);
        drop(core);
        self.deliver(batch, true);
        self.kick_inline();
        true
    }

    /// Whether something waits to be taken by [`take_output`](Self::take_output).
    #[cfg(feature = "sse-server")]
    pub(crate) fn has_output(&self) -> bool {
        lock(&self.core).engine.has_transmit()
    }

    /// Appends the next message for the peer to `buf`; returns what to tell [`transmitted`](Self::transmitted).
    #[cfg(feature = "sse-server")]
    pub(crate) fn take_output(&self, buf: &mut Vec<u8>) -> Option<usize> {
        let transmit = lock(&self.core).engine.poll_transmit(buf)?;
        if let Some(tap) = &self.tap {
            tap.record(TapDirection::Out, &self.id, buf);
        }
        Some(transmit.bytes)
    }

    /// The peer took this much.
    #[cfg(feature = "sse-server")]
    pub(crate) fn transmitted(self: &Arc<Self>, bytes: usize) {
        lock(&self.core).engine.transmitted(bytes, Instant::now());
        self.kick();
    }

    /// How deep a message may be nested.
    #[cfg(feature = "sse-server")]
    pub(crate) fn depth_limit(&self) -> usize {
        lock(&self.core).engine.limits().depth
    }

    /// Whether the session has ended before all calls were answered.
    #[cfg(feature = "sse-server")]
    pub(crate) fn was_cut_off(&self) -> bool {
        lock(&self.core).engine.was_cut_off()
    }

    /// Takes no new work, lets accepted calls finish within `grace`, then ends the session from this side.
    #[cfg(feature = "sse-server")]
    pub(crate) fn drain(self: &Arc<Self>, grace: Duration) {
        lock(&self.core).engine.drain(grace, Instant::now());
        self.kick();
    }

    /// A frame beyond the limit was skipped; `beginning` was kept.
    fn receive_oversized(self: &Arc<Self>, beginning: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.record(TapDirection::In, &self.id, beginning);
        }
        lock(&self.core).engine.handle_oversized(beginning);
        self.kick();
    }

    /// The longest frame this session accepts.
    pub(crate) fn message_limit(&self) -> usize {
        lock(&self.core).engine.limits().message_in
    }

    /// The peer sends nothing more.
    pub(crate) fn end_of_input(self: &Arc<Self>, detail: Option<String>) {
        lock(&self.core).engine.handle_eof(detail, Instant::now());
        self.kick();
    }

    /// Sends a request.
    pub(crate) fn request(
        self: &Arc<Self>,
        request: OutgoingRequest,
        progress: Option<ProgressHandler>,
    ) -> Result<PendingRequest, Error> {
        let (sender, receiver) = oneshot::channel();
        let mut core = lock(&self.core);
        let key = core.engine.request(request, Instant::now())?;
        core.waiters.insert(key, Waiter { outcome: sender, progress });
        drop(core);
        let pending = PendingRequest::new(Arc::clone(self), key, receiver);
        self.kick();
        Ok(pending)
    }

    /// Sends a notification.
    pub(crate) fn notify(
        self: &Arc<Self>,
        method: &Method,
        params: Option<&Json>,
        related: Option<CallId>,
    ) -> Result<(), Error> {
        self.enqueue(method, params, related)?;
        self.kick();
        Ok(())
    }

    /// Queues a notification; the caller kicks the session afterwards.
    pub(crate) fn enqueue(&self, method: &Method, params: Option<&Json>, related: Option<CallId>) -> Result<(), Error> {
        lock(&self.core).engine.notify(method, params, related)
    }

    /// Reports progress of a call; false if nobody will hear of it.
    pub(crate) fn progress(
        self: &Arc<Self>,
        call: CallId,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
    ) -> bool {
        let sent = lock(&self.core).engine.progress(call, progress, total, message, Instant::now());
        self.kick();
        sent
    }

    /// Ends the session from this side.
    pub(crate) fn close(self: &Arc<Self>, reason: CloseReason) {
        lock(&self.core).engine.close(reason);
        self.kick();
    }

    pub(crate) fn close_reason(&self) -> Option<CloseReason> {
        lock(&self.end).clone()
    }

    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.core).engine.is_closed()
    }

    pub(crate) fn is_ready(&self) -> bool {
        lock(&self.core).engine.is_ready()
    }

    /// Bytes that the peer has not taken.
    pub(crate) fn unsent_bytes(&self) -> usize {
        lock(&self.core).engine.unsent_bytes()
    }

    /// Waits for the end of the session.
    pub(crate) async fn closed(&self) -> CloseReason {
        loop {
            let mut ended = pin!(self.ended_async.notified());
            ended.as_mut().enable();
            if let Some(reason) = self.close_reason() {
                return reason;
            }
            ended.await;
        }
    }

    /// Waits for the end of the session on this thread.
    pub(crate) fn wait_closed(&self) -> CloseReason {
        let mut end = lock(&self.end);
        loop {
            if let Some(reason) = &*end {
                return reason.clone();
            }
            end = self.ended.wait(end).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// After the end of the session: waits until the peer took what was sent to it, at most for `limit`.
    pub(crate) fn wait_sent(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let mut end = lock(&self.end);
        while self.unsent_bytes() > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            end = self.ended.wait_timeout(end, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the handshake is complete, or the session has ended.
    pub(crate) async fn ready(&self) -> Result<(), CloseReason> {
        loop {
            let mut ready = pin!(self.ready_async.notified());
            ready.as_mut().enable();
            if let Some(reason) = self.close_reason() {
                return Err(reason);
            }
            if self.is_ready() {
                return Ok(());
            }
            ready.await;
        }
    }

    /// Delivers what has come up and flushes what is to be sent. Never blocks and never runs handlers on this thread.
    pub(crate) fn kick(self: &Arc<Self>) {
        loop {
            let mut batch = Batch::default();
            self.collect(&mut lock(&self.core), &mut batch, usize::MAX);
            self.deliver(batch, false);
            // What was written made room, perhaps for calls that waited for it.
            if !self.outlet.flush(self) {
                return;
            }
        }
    }

    /// A kick from a place that must not run anything, such as a destructor.
    pub(crate) fn kick_later(self: &Arc<Self>) {
        let session = Arc::clone(self);
        Clock::at(Instant::now(), move || session.kick());
    }

    /// Delivers what has come up on a thread that may run handlers, and flushes. Takes one call at a time: if its handler
    /// blocks, the others are free for whoever takes the lead.
    fn kick_inline(self: &Arc<Self>) {
        loop {
            let mut batch = Batch::default();
            let some = self.collect(&mut lock(&self.core), &mut batch, 1);
            self.deliver(batch, true);
            if !some && !self.outlet.flush(self) {
                return;
            }
        }
    }

    fn respond(&self, call: CallId, outcome: &Outcome) -> Completion {
        let mut core = lock(&self.core);
        let entry = core.calls.get_mut(call.index()).and_then(|slot| slot.take_if(|entry| entry.id == call));
        let outcome = outcome.as_ref().map(Body::as_str);
        let completion = core.engine.respond(call, outcome, Instant::now());
        drop(core);
        drop(entry);
        completion
    }

    /// Gives up an own request; nothing happens if it has ended.
    pub(crate) fn cancel(self: &Arc<Self>, request: RequestKey, reason: Option<&str>) {
        if self.withdraw(request, reason) {
            self.kick();
        }
    }

    /// The same from a destructor.
    fn cancel_later(self: &Arc<Self>, request: RequestKey) {
        if self.withdraw(request, None) {
            self.kick_later();
        }
    }

    /// Whether the peer must be told.
    fn withdraw(&self, request: RequestKey, reason: Option<&str>) -> bool {
        let mut core = lock(&self.core);
        let sent = core.engine.cancel(request, reason);
        let waiter = core.waiters.remove(&request);
        drop(core);
        drop(waiter);
        sent
    }

    fn timeout(self: &Arc<Self>) {
        let mut core = lock(&self.core);
        core.armed = None;
        core.engine.handle_timeout(Instant::now());
        drop(core);
        self.kick();
    }

    /// Takes the engine's events up to this many calls, with what belongs to them, and arms the clock. Returns whether
    /// there were any.
    fn collect(self: &Arc<Self>, core: &mut Core, batch: &mut Batch, calls: usize) -> bool {
        let mut some = false;
        while batch.calls.len() < calls
            && let Some(event) = core.engine.poll_event()
        {
            some = true;
            self.prepare(core, event, batch);
        }
        let due = core.engine.poll_timeout();
        if let Some(due) = due.filter(|due| core.armed.is_none_or(|armed| *due < armed)) {
            core.armed = Some(due);
            let session: Weak<Session> = Arc::downgrade(self);
            Clock::at(due, move || {
                if let Some(session) = session.upgrade() {
                    session.timeout();
                }
            });
        }
        some
    }

    fn prepare(self: &Arc<Self>, core: &mut Core, event: Event, batch: &mut Batch) {
        let news = match event {
            Event::Request { call, id, method, params } => {
                let origin = if core.origins.is_empty() { None } else { core.origins.remove(&id) };
                let entry = Arc::new(Call::new(Arc::clone(self), call, id, method, params, origin));
                if core.calls.len() <= call.index() {
                    core.calls.resize_with(call.index() + 1, || None);
                }
                core.calls[call.index()] = Some(Arc::clone(&entry));
                batch.calls.push(entry.begin());
                return;
            }
            Event::Cancelled { call, reason } => {
                let entry = core.calls.get(call.index()).and_then(Option::as_ref).filter(|entry| entry.id == call);
                entry.map(|entry| News::Cancel(Arc::clone(entry), reason))
            }
            // Nobody waits for a request that was cancelled in the meantime.
            Event::Settled { request, outcome } => {
                core.waiters.remove(&request).map(|waiter| News::Settle(waiter, outcome))
            }
            Event::Progress { request, params } => {
                let handler = core.waiters.get(&request).and_then(|waiter| waiter.progress.clone());
                handler.map(|handler| News::Progress(handler, params))
            }
            Event::Notification { method, params } => Some(News::Notification(method, params)),
            Event::Negotiated => Some(News::Negotiated),
            Event::Ready => Some(News::Ready),
            Event::Diagnostic(diagnostic) => Some(News::Diagnostic(diagnostic)),
            Event::Closed(reason) => Some(News::Closed(reason)),
        };
        batch.news.extend(news);
    }

    /// News first: they do not block, and calls may.
    fn deliver(self: &Arc<Self>, batch: Batch, inline: bool) {
        let Batch { news, mut calls } = batch;
        for news in news {
            match news {
                News::Cancel(call, reason) => {
                    tracing::debug!(session = %self.id, id = %call.request_id, reason, "request cancelled");
                    call.cancel();
                    self.guarded(|| self.service.call_cancelled(&call, reason.as_deref()));
                }
                News::Settle(waiter, outcome) => waiter.settle(outcome),
                News::Progress(handler, params) => self.guarded(|| handler(text(&params))),
                News::Notification(method, params) => {
                    let params = params.as_ref().map(text);
                    self.guarded(|| self.service.notification(self, &method, params));
                }
                News::Negotiated => self.service.negotiated(self),
                News::Ready => {
                    self.service.ready(self);
                    self.ready_async.notify_waiters();
                }
                News::Diagnostic(diagnostic) => self.diagnostic(&diagnostic),
                News::Closed(reason) => self.finish(reason),
            }
        }
        // Only the last one may keep this thread.
        let last = if inline { calls.pop() } else { None };
        for task in calls {
            task.serve_elsewhere();
        }
        if let Some(task) = last {
            task.serve_inline();
        }
    }

    fn finish(self: &Arc<Self>, reason: CloseReason) {
        tracing::debug!(session = %self.id, %reason, "session closed");
        self.outlet.flush(self);
        self.outlet.close(self);
        self.guarded(|| self.service.closed(self, &reason));
        // Dropped without the lock: progress handlers are the application's.
        drop(std::mem::take(&mut lock(&self.core).waiters));
        *lock(&self.end) = Some(reason);
        self.ended.notify_all();
        self.ended_async.notify_waiters();
        self.ready_async.notify_waiters();
    }

    pub(crate) fn diagnostic(&self, diagnostic: &Diagnostic) {
        if catch_unwind(AssertUnwindSafe(|| self.service.diagnostic(self, diagnostic))).is_err() {
            tracing::error!(session = %self.id, "the diagnostics hook panicked");
        }
    }

    /// Runs a callback of the application; a panic is reported and goes no further.
    pub(crate) fn guarded(&self, code: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(code)) {
            self.diagnostic(&Diagnostic::Panic(panic_message(&*panic)));
        }
    }

    /// Shows what is sent to the tap: each line of `lines`.
    fn tap_lines(&self, lines: &[u8]) {
        let Some(tap) = &self.tap else { return };
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            tap.record(TapDirection::Out, &self.id, line);
        }
    }
}

/// A slice of a frame, which was checked to be UTF-8 before it was cut.
fn text(bytes: &Bytes) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}
