//! Checks: what goes both ways (logging, sampling, roots), and the end.

use mcp_native::ErrorKind;
use mcp_native::protocol::{LoggingLevel, Role, Root};
use mcp_native::transport::child::ExitHow;
use serde_json::json;

use super::{Checked, Session, equal, fixture};
use crate::session::ROOTS;

pub(super) async fn logging_set_level(session: &Session) -> Checked {
    let known: Vec<&str> = LoggingLevel::ALL.iter().map(|level| level.as_str()).collect();
    equal("the levels of the fixture", &fixture()["levels"], &json!(known))?;
    for level in [LoggingLevel::Warning, LoggingLevel::Debug, LoggingLevel::Emergency] {
        session.client.set_log_level(level).await?;
        let start = session.inbox.mail().logs.len();
        let wanted: Vec<_> = LoggingLevel::ALL.iter().copied().filter(|known| *known >= level).collect();
        equal("log_all", session.call("log_all", json!({})).await?, "ok")?;
        session.inbox.until("the log messages", |mail| mail.logs.len() >= start + wanted.len()).await?;
        session.fence().await?;
        equal(&format!("levels logged at {level}"), session.inbox.mail().logs[start..].to_vec(), wanted)?;
    }
    Ok(())
}

pub(super) async fn sampling(session: &Session) -> Checked {
    let start = session.inbox.mail().sampling.len();
    equal("answer", session.call("ask_sampling", json!({"prompt": "why?"})).await?, "sampled: why?")?;
    let asked = session.inbox.mail().sampling[start..].to_vec();
    let [request] = asked.as_slice() else { return Err(format!("wanted one request, got {asked:?}").into()) };
    equal("maxTokens", request.max_tokens, 100)?;
    equal("roles", request.messages.iter().map(|message| message.role).collect::<Vec<_>>(), [Role::User])
}

pub(super) async fn sampling_refused(session: &Session) -> Checked {
    // What the tool makes of the refusal is its author's business, but it must be told, and the session lives on.
    let failed = match session.client.call_tool("ask_sampling", json!({"prompt": "refuse"})).await {
        Ok(result) => result.is_error,
        Err(error) if error.code().is_some() => true,
        Err(error) => return Err(error.into()),
    };
    equal("the tool failed", failed, true)?;
    session.still_serves().await
}

async fn asked_roots(session: &Session, wanted: &[&str]) -> Checked {
    equal("roots", session.call("ask_roots", json!({})).await?, json!(wanted).to_string())
}

pub(super) async fn roots_list(session: &Session) -> Checked {
    asked_roots(session, &ROOTS).await
}

pub(super) async fn roots_list_changed(session: &Session) -> Checked {
    session.client.set_roots([Root::new("file:///data/other")])?;
    asked_roots(session, &["file:///data/other"]).await
}

pub(super) async fn session_no_faults(session: &Session) -> Checked {
    equal("what was found wrong during the session", session.inbox.take_faults(0), Vec::<String>::new())
}

pub(super) async fn session_close(session: &Session) -> Checked {
    let client = &session.client;
    let pid = client.pid().ok_or("the server has no process id")?;
    let report = client.close().await.ok_or("how the server ended is not known")?;
    equal("how the server ended", report.how, ExitHow::Exited)?;
    equal("its exit code", report.status.code, Some(0))?;
    equal("the exit status that is told later", client.exit_status(), Some(report.status))?;
    equal("the process is gone", gone(pid)?, true)?;
    equal("the client is closed", client.is_closed(), true)?;
    let late = client.ping().await.map_err(|error| error.kind());
    equal("the outcome of a ping after the end", late, Err(ErrorKind::Closed))?;
    equal("what was found wrong at the end", session.inbox.take_faults(0), Vec::<String>::new())
}

/// Whether there is no such process: a zombie would be one.
#[cfg(unix)]
fn gone(pid: u32) -> Result<bool, super::Fault> {
    use rustix::process::{Pid, test_kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or("the process id is out of range")?;
    Ok(test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

/// Elsewhere there are no zombies: the process has ended, as its exit status tells.
#[cfg(not(unix))]
fn gone(_: u32) -> Result<bool, super::Fault> {
    Ok(true)
}
