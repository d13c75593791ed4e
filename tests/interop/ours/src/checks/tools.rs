//! Checks: tools.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_native::ErrorKind;
use mcp_native::client::{CancelToken, Pending};
use mcp_native::protocol::{CallToolResult, Content, Tool};
use serde_json::{Value, json};

use super::{Checked, Fault, INVALID_PARAMS, Session, equal, fixture, refused, whole};
use crate::session::only_text;

const LONG_SLEEP_MS: u64 = 600_000;

async fn all_tools(session: &Session) -> Result<Vec<Tool>, Fault> {
    let client = &session.client;
    whole((client.list_all_tools(), client.tools()), |tool| &tool.name, ("tools", "name")).await
}

pub(super) async fn list(session: &Session) -> Checked {
    let tools = all_tools(session).await?;
    let first_page = session.client.list_tools(None).await?.tools;
    equal("the first page begins the list", tools.starts_with(&first_page), true)?;
    let fixture = fixture();
    let wanted = fixture["tools"].as_array().map_or(&[][..], Vec::as_slice);
    for tool in &tools {
        tool.validate()?;
        let schema = wanted.iter().find(|wanted| wanted["name"] == *tool.name).map(|wanted| &wanted["inputSchema"]);
        if let Some(schema) = schema {
            let seen = tool.input_schema.to_value()?;
            equal(
                &format!("{} takes what the fixture's does, by its schema {seen}", tool.name),
                holds(&seen, schema),
                true,
            )?;
        }
    }
    Ok(())
}

/// Whether all that `wanted` says is in `seen`, which may say more: some servers make their schemas out of types.
fn holds(seen: &Value, wanted: &Value) -> bool {
    match (seen, wanted) {
        (Value::Object(seen), Value::Object(wanted)) => {
            wanted.iter().all(|(name, wanted)| seen.get(name).is_some_and(|seen| holds(seen, wanted)))
        }
        _ => seen == wanted,
    }
}

pub(super) async fn list_bad_cursor(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.client.list_tools(Some("garbage")).await).map(drop)
}

pub(super) async fn call_echo(session: &Session) -> Checked {
    equal("echo", session.call("echo", json!({"text": "hi"})).await?, "hi")
}

pub(super) async fn call_unicode(session: &Session) -> Checked {
    let text = "line\nfeed\r\n\ttab \\ \"quote\" é 日本語 \u{1f600} \u{2028}\u{2029} \u{7f} \0";
    equal("echo", session.call("echo", json!({"text": text})).await?, text)
}

pub(super) async fn call_large(session: &Session) -> Checked {
    let text = "ü".repeat(524_288);
    let same = session.call("echo", json!({"text": &text})).await? == text;
    equal("1 MiB of text came back unchanged", same, true)
}

pub(super) async fn call_concurrent(session: &Session) -> Checked {
    // All 50 are sent before the first answer is awaited.
    let mut calls = Vec::new();
    for number in 0..50 {
        let text = format!("call {number}");
        calls.push((session.client.call_tool("echo", json!({"text": &text})).send()?, text));
    }
    for (call, text) in calls {
        equal("the answer", only_text(&call.await?)?, text)?;
    }
    Ok(())
}

pub(super) async fn call_add(session: &Session) -> Checked {
    equal("2 + 3", session.call("add", json!({"a": 2, "b": 3})).await?, "5")?;
    equal("1.5 + 0.25", session.call("add", json!({"a": 1.5, "b": 0.25})).await?, "1.75")
}

pub(super) async fn call_fail(session: &Session) -> Checked {
    let result = session.client.call_tool("fail", ()).await?;
    equal("isError", result.is_error, true)?;
    let told = result.texts().any(|text| text.contains("disk full"));
    equal("the text has the author's message", told, true)
}

pub(super) async fn call_empty(session: &Session) -> Checked {
    let result = session.client.call_tool("empty", json!({})).await?;
    equal("content", result.content, Vec::<Content>::new())?;
    equal("content was left out", result.content_missing, false)?;
    equal("isError", result.is_error, false)
}

pub(super) async fn call_image(session: &Session) -> Checked {
    let result = session.client.call_tool("image", json!({})).await?;
    let [Content::Image(image)] = result.content.as_slice() else {
        return Err(format!("wanted one image, got {:?}", result.content).into());
    };
    equal("mimeType", &image.mime_type, "image/png")?;
    equal("bytes", image.bytes()?, [0x89, 0x50, 0x4E, 0x47])
}

pub(super) async fn call_unknown(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.client.call_tool("nope", json!({})).await).map(drop)
}

pub(super) async fn call_bad_arguments(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.client.call_tool("add", json!({"a": "two", "b": 3})).await)?;
    refused(INVALID_PARAMS, session.client.call_tool("echo", json!({})).await).map(drop)
}

pub(super) async fn progress(session: &Session) -> Checked {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let call = session.client.call_tool("progress", json!({"steps": 5})).on_progress(move |progress| {
        let step = (progress.progress, progress.total);
        noted.lock().unwrap_or_else(PoisonError::into_inner).push(step);
    });
    equal("progress", only_text(&call.await?)?, "done")?;
    // All reports come before the outcome, in order.
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let wanted: Vec<_> = (1..=5).map(|step| (f64::from(step), Some(5.0))).collect();
    equal("progress", seen, wanted)
}

pub(super) async fn progress_unasked(session: &Session) -> Checked {
    let start = session.inbox.mail().faults.len();
    equal("progress", session.call("progress", json!({"steps": 5})).await?, "done")?;
    session.fence().await?;
    let said = session.inbox.take_faults(start);
    equal("what came besides the answer", said, Vec::<String>::new())
}

/// Sends a call that takes long. When this returns, the server has it: it answers a request sent after it.
async fn long_call(session: &Session, token: CancelToken) -> Result<Pending<CallToolResult>, Fault> {
    let arguments: Value = json!({"ms": LONG_SLEEP_MS});
    let call = session.client.call_tool("sleep", arguments).cancel_token(token).send()?;
    session.client.ping().await?;
    Ok(call)
}

pub(super) async fn cancel(session: &Session) -> Checked {
    let start = session.inbox.mail().faults.len();
    // By dropping the future.
    drop(long_call(session, CancelToken::new()).await?);
    // By a token.
    let token = CancelToken::new();
    let call = long_call(session, token.clone()).await?;
    token.cancel_with("no longer wanted");
    given_up(call.await)?;
    // By the call itself.
    let mut call = long_call(session, CancelToken::new()).await?;
    call.cancel(Some("no longer wanted"));
    given_up(call.await)?;

    session.fence().await?;
    let said = session.inbox.take_faults(start);
    session.still_serves().await?;
    equal("what the server said about the cancelled calls", said, Vec::<String>::new())
}

fn given_up(outcome: Result<CallToolResult, mcp_native::Error>) -> Checked {
    equal("the outcome of a cancelled call", outcome.map_err(|error| error.kind()), Err(ErrorKind::Cancelled))
}

pub(super) async fn list_changed(session: &Session) -> Checked {
    let count = |lists: &[&str]| lists.iter().filter(|list| **list == "tools").count();
    let told = || count(&session.inbox.mail().list_changes);
    let names = |tools: Vec<Tool>| tools.into_iter().map(|tool| tool.name).collect::<BTreeSet<_>>();
    let before = names(all_tools(session).await?);
    let start = told();
    equal("add_tools", session.call("add_tools", json!({"n": 3})).await?, "ok")?;
    session.inbox.until("notifications/tools/list_changed", |mail| count(&mail.list_changes) > start).await?;
    let after = names(all_tools(session).await?);
    equal("new tools", after.difference(&before).count(), 3)?;
    session.fence().await?;
    equal("told at least once and at most once for each tool", (1..=3).contains(&(told() - start)), true)
}
