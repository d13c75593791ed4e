//! The interop client, made with the Rust SDK `rmcp` 3.x: `interop-rmcp-client -- SERVER_COMMAND…`.
//!
//! Output: one line `ok N - name` or `not ok N - name: why` for each check, then the plan `1..N`;
//! the exit code is 0 only if all are ok.

mod checks;
mod inbox;
mod session;

use std::process::ExitCode;

use rmcp::ServiceExt;
use rmcp::transport::TokioChildProcess;

use inbox::{DEADLINE, Inbox};
use session::Session;

type Running = rmcp::service::RunningService<rmcp::RoleClient, Inbox>;

/// Prints a line for each check and counts them.
#[derive(Default)]
struct Report {
    done: usize,
    failed: usize,
}

impl Report {
    fn line(&mut self, name: &str, outcome: Result<(), String>) {
        self.done += 1;
        match outcome {
            Ok(()) => println!("ok {} - {name}", self.done),
            Err(why) => {
                self.failed += 1;
                let why: String = why.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(500).collect();
                println!("not ok {} - {name}: {why}", self.done);
            }
        }
    }

    fn skip(&mut self, name: &str, why: &str) {
        self.done += 1;
        println!("ok {} - {name} # SKIP {why}", self.done);
    }
}

async fn limited<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let limit = 2 * DEADLINE;
    tokio::time::timeout(limit, work).await.map_err(|_| format!("no end after {limit:?}"))
}

/// Starts the server and does the handshake.
async fn connect(argv: &[String]) -> Result<(Running, Session), String> {
    let [program, arguments @ ..] = argv else {
        return Err("no server command".to_owned());
    };
    let mut command = tokio::process::Command::new(program);
    command.args(arguments);
    let child = TokioChildProcess::new(command).map_err(|error| format!("{program}: {error}"))?;
    let inbox = Inbox::new();
    let running = limited(inbox.clone().serve(child)).await?.map_err(|error| error.to_string())?;
    let initialized = serde_json::to_value(running.peer().peer_info().as_deref()).map_err(|error| error.to_string())?;
    let session = Session { peer: running.peer().clone(), inbox, initialized };
    Ok((running, session))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut argv: Vec<String> = std::env::args().skip(1).collect();
    if argv.first().is_some_and(|first| first == "--") {
        argv.remove(0);
    }
    if argv.is_empty() {
        eprintln!("usage: interop-rmcp-client -- SERVER_COMMAND [ARGUMENT…]");
        return ExitCode::FAILURE;
    }
    let mut report = Report::default();
    let connected = connect(&argv).await;
    for name in checks::NAMES {
        if let Some((_, why)) = checks::SKIPPED.iter().find(|(skipped, _)| skipped == name) {
            report.skip(name, why);
            continue;
        }
        let outcome = match &connected {
            Ok((_, session)) => limited(Box::pin(checks::run(name, session))).await.and_then(std::convert::identity),
            Err(why) => Err(why.clone()),
        };
        report.line(name, outcome);
    }
    let closed = match connected {
        Ok((running, _)) => limited(running.cancel()).await.and_then(|quit| quit.map_err(|error| error.to_string())),
        Err(why) => Err(why),
    };
    report.line("session.close", closed.map(drop));
    println!("1..{}", report.done);
    if report.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
