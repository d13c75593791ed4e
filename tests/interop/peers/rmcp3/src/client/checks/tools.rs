//! Checks: tools.

use super::{
    Checked, INVALID_PARAMS, LONG_SLEEP_MS, Session, TOOLS_CHANGED, Value, call_text, decoded, equal, fence, has_all,
    json, named, only_text, refused,
};

pub async fn list(session: &Session) -> Checked {
    for tool in has_all(session, "tools", "name").await? {
        equal(&format!("type of the inputSchema of {}", tool["name"]), &tool["inputSchema"]["type"], "object")?;
    }
    Ok(())
}

pub async fn list_bad_cursor(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.list_page("tools", Some("garbage".to_owned())).await)?;
    Ok(())
}

pub async fn call_echo(session: &Session) -> Checked {
    equal("echo", call_text(session, "echo", json!({"text": "hi"})).await?, "hi")
}

pub async fn call_unicode(session: &Session) -> Checked {
    let text = "line\nfeed\r\n\ttab \\ \"quote\" é 日本語 \u{1f600} \u{2028}\u{2029} \u{7f} \0";
    equal("echo", call_text(session, "echo", json!({"text": text})).await?, text)
}

pub async fn call_large(session: &Session) -> Checked {
    let text = "ü".repeat(524_288);
    let same = call_text(session, "echo", json!({"text": &text})).await? == text;
    equal("1 MiB of text came back unchanged", same, true)
}

pub async fn call_concurrent(session: &Session) -> Checked {
    // All 50 are sent before the first answer is awaited.
    let mut calls = Vec::new();
    for number in 0..50 {
        let text = format!("call {number}");
        calls.push((session.start_call("echo", json!({"text": &text})).await?, text));
    }
    for (call, text) in calls {
        let result = call.await_response().await.map_err(|error| error.to_string())?;
        let result = serde_json::to_value(result).map_err(|error| error.to_string())?;
        equal("the answer", only_text(&result)?, text)?;
    }
    Ok(())
}

pub async fn call_add(session: &Session) -> Checked {
    equal("2 + 3", call_text(session, "add", json!({"a": 2, "b": 3})).await?, "5")?;
    equal("1.5 + 0.25", call_text(session, "add", json!({"a": 1.5, "b": 0.25})).await?, "1.75")
}

pub async fn call_fail(session: &Session) -> Checked {
    let result = session.call("fail", json!({})).await?;
    equal("isError", &result["isError"], true)?;
    let said = result["content"][0]["text"].as_str().unwrap_or_default();
    equal("the text has the author's message", said.contains("disk full"), true)
}

pub async fn call_empty(session: &Session) -> Checked {
    let result = session.call("empty", json!({})).await?;
    equal("content", &result["content"], &json!([]))?;
    equal("isError", result["isError"] == true, false)
}

pub async fn call_image(session: &Session) -> Checked {
    let result = session.call("image", json!({})).await?;
    let block = &result["content"][0];
    equal("type", &block["type"], "image")?;
    equal("mimeType", &block["mimeType"], "image/png")?;
    equal("bytes", decoded(&block["data"])?, [0x89, 0x50, 0x4E, 0x47])
}

pub async fn call_unknown(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.call("nope", json!({})).await)?;
    Ok(())
}

pub async fn call_bad_arguments(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.call("add", json!({"a": "two", "b": 3})).await)?;
    refused(INVALID_PARAMS, session.call("echo", json!({})).await)?;
    Ok(())
}

pub async fn progress(session: &Session) -> Checked {
    let call = session.start_call("progress", json!({"steps": 5})).await?;
    let token = json!(call.progress_token);
    let result = call.await_response().await.map_err(|error| error.to_string())?;
    let result = serde_json::to_value(result).map_err(|error| error.to_string())?;
    equal("progress", only_text(&result)?, "done")?;
    let mine = |all: &[Value]| -> Vec<_> {
        let of_call = all.iter().filter(|progress| progress["progressToken"] == token);
        of_call.map(|progress| (progress["progress"].as_f64(), progress["total"].as_f64())).collect()
    };
    session.inbox.until("5 progress notifications", |mail| mine(&mail.progress).len() >= 5).await?;
    let mut seen = mine(&session.inbox.mail().progress);
    // This SDK runs each notification's handler in a task of its own, so the order here is not that of the wire.
    seen.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
    let wanted: Vec<_> = (1..=5).map(|step| (Some(f64::from(step)), Some(5.0))).collect();
    equal("progress", seen, wanted)
}

pub async fn progress_unasked(_: &Session) -> Checked {
    Err("cannot be made with this SDK".to_owned())
}

pub async fn cancel(session: &Session) -> Checked {
    let call = session.start_call("sleep", json!({"ms": LONG_SLEEP_MS})).await?;
    // Sent after the call on the same pipe: once this is answered, the server has the call.
    session.ping().await?;
    call.cancel(Some("no longer wanted".to_owned())).await.map_err(|error| error.to_string())?;
    fence(session).await?;
    equal("echo after that", call_text(session, "echo", json!({"text": "still here"})).await?, "still here")
}

pub async fn list_changed(session: &Session) -> Checked {
    let count = |all: &[&str]| all.iter().filter(|method| **method == TOOLS_CHANGED).count();
    let before = named(&session.list_all("tools").await?, "name");
    let start = count(&session.inbox.mail().list_changes);
    equal("add_tools", call_text(session, "add_tools", json!({"n": 3})).await?, "ok")?;
    session.inbox.until(TOOLS_CHANGED, |mail| count(&mail.list_changes) > start).await?;
    let after = named(&session.list_all("tools").await?, "name");
    equal("new tools", after.difference(&before).count(), 3)?;
    fence(session).await?;
    let told = count(&session.inbox.mail().list_changes) - start;
    equal("at most one notification for each tool", told <= 3, true)
}
