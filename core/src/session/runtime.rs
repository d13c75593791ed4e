//! The process-wide machinery, each part started when it is first needed: a clock thread, and a tokio runtime for
//! handlers that suspend or block in programs that do not bring their own.

use std::collections::BinaryHeap;
use std::future::Future;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio::runtime::{Builder, Handle, Runtime};

/// A panic elsewhere does not make the data behind a lock unusable: nothing here unwinds half-way through a change.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a named thread that nobody joins.
pub(crate) fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).map(drop)
}

/// The runtime of programs without one. Never dropped: dropping would wait for handlers that block.
fn global() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(4);
        Builder::new_multi_thread()
            .worker_threads(workers)
            .thread_name("mcp-handler")
            .enable_all()
            .build()
            .expect("a process that cannot start a thread cannot serve")
    })
}

/// Where handlers go that suspend: the program's runtime if the session was begun inside one, else our own.
#[derive(Debug, Clone)]
pub(crate) struct Executor {
    own: Option<Handle>,
}

impl Executor {
    pub(crate) fn current() -> Executor {
        Executor { own: Handle::try_current().ok() }
    }

    /// The runtime; starts ours if it comes to that.
    pub(crate) fn handle(&self) -> &Handle {
        self.own.as_ref().unwrap_or_else(|| global().handle())
    }

    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.handle().spawn(future));
    }

    /// Runs `work` on a thread where blocking is allowed. Always one of ours: the program's runtime waits for its
    /// blocking tasks when it shuts down, and a handler that never ends would keep the process alive.
    pub(crate) fn spawn_blocking(work: impl FnOnce() + Send + 'static) {
        drop(global().spawn_blocking(work));
    }
}

/// A thread that runs small, never blocking tasks at given moments.
pub(crate) struct Clock {
    tasks: Mutex<Tasks>,
    changed: Condvar,
}

#[derive(Default)]
struct Tasks {
    heap: BinaryHeap<Task>,
    next_number: u64,
}

struct Task {
    due: Instant,
    number: u64,
    run: Box<dyn FnOnce() + Send>,
}

/// The heap's greatest task is the earliest, among equals the one given first.
impl Ord for Task {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for Task {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Task {}

impl Clock {
    /// Runs `task` at `due`, or as soon after it as the clock comes round. Tasks must not block.
    pub(crate) fn at(due: Instant, task: impl FnOnce() + Send + 'static) {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        static STARTED: OnceLock<bool> = OnceLock::new();
        let clock = CLOCK.get_or_init(|| Clock { tasks: Mutex::default(), changed: Condvar::new() });
        STARTED.get_or_init(|| thread("mcp-clock", move || clock.run()).is_ok());

        let mut tasks = lock(&clock.tasks);
        let earliest = tasks.heap.peek().is_none_or(|first| due < first.due);
        let number = tasks.next_number;
        tasks.next_number += 1;
        tasks.heap.push(Task { due, number, run: Box::new(task) });
        drop(tasks);
        if earliest {
            clock.changed.notify_one();
        }
    }

    fn run(&self) {
        let mut tasks = lock(&self.tasks);
        loop {
            let now = Instant::now();
            match tasks.heap.peek().map(|task| task.due) {
                None => tasks = self.changed.wait(tasks).unwrap_or_else(PoisonError::into_inner),
                Some(due) if due > now => {
                    let wait = self.changed.wait_timeout(tasks, due - now);
                    tasks = wait.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) => {
                    let task = tasks.heap.pop();
                    drop(tasks);
                    if let Some(task) = task {
                        // A panic must not stop everybody's time.
                        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(task.run));
                    }
                    tasks = lock(&self.tasks);
                }
            }
        }
    }
}
