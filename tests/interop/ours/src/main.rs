//! The interop client, made with this project: `interop-client [--lenient] -- SERVER_COMMAND…`.
//!
//! Makes the same checks in the same order as the clients of the peers. Output: one line `ok N - name` or
//! `not ok N - name: why` for each check, then the plan `1..N`; the exit code is 0 only if all are ok.
//!
//! `--lenient` is for servers that do not declare all they can do, see `ClientBuilder::lenient`. `MCP_TEST_TAP` names a
//! folder where the session is recorded, for the check of all traffic against the schema.

mod checks;
mod inbox;
mod session;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use tracing_subscriber::layer::SubscriberExt;

use checks::Checked;
use inbox::{DEADLINE, Inbox, LibraryLog};
use session::Session;

/// What the command line asks for.
struct Order {
    lenient: bool,
    server: Vec<OsString>,
}

impl Order {
    fn read(arguments: impl Iterator<Item = OsString>) -> Option<Order> {
        let mut arguments = arguments.peekable();
        let lenient = arguments.next_if(|argument| argument == "--lenient").is_some();
        let _ = arguments.next_if(|argument| argument == "--");
        let server: Vec<OsString> = arguments.collect();
        (!server.is_empty()).then_some(Order { lenient, server })
    }
}

/// Prints a line for each check and counts them.
#[derive(Default)]
struct Report {
    done: usize,
    failed: usize,
}

impl Report {
    fn line(&mut self, name: &str, outcome: Checked) {
        self.done += 1;
        match outcome {
            Ok(()) => say(&format!("ok {} - {name}", self.done)),
            Err(fault) => {
                self.failed += 1;
                let why: String = fault.0.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(500).collect();
                say(&format!("not ok {} - {name}: {why}", self.done));
            }
        }
    }
}

/// Writes a line. Nobody is there to be told if it cannot be written.
fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
}

async fn limited(work: impl Future<Output = Checked>) -> Checked {
    const LIMIT: Duration = DEADLINE.saturating_mul(2);
    tokio::time::timeout(LIMIT, work).await.unwrap_or_else(|_| Err(format!("no end after {LIMIT:?}").into()))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(order) = Order::read(std::env::args_os().skip(1)) else {
        eprintln!("usage: interop-client [--lenient] -- SERVER_COMMAND [ARGUMENT…]");
        return ExitCode::FAILURE;
    };
    let inbox = Inbox::default();
    let log = tracing_subscriber::registry().with(LibraryLog::new(inbox.clone()));
    if let Err(error) = tracing::subscriber::set_global_default(log) {
        eprintln!("the library's log cannot be watched: {error}");
        return ExitCode::FAILURE;
    }
    let connected = Session::connect(&order.server, order.lenient, inbox).await;
    let mut report = Report::default();
    for name in checks::NAMES {
        let outcome = match &connected {
            Ok(session) => limited(Box::pin(checks::run(name, session))).await,
            Err(fault) => Err(fault.clone()),
        };
        report.line(name, outcome);
    }
    say(&format!("1..{}", report.done));
    if report.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
