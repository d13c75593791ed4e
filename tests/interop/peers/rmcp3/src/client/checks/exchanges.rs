//! Checks: what goes both ways: logging, sampling, roots.

use super::{BTreeSet, Checked, Failure, Session, call_text, equal, fence, fixture, json};

pub async fn logging_set_level(session: &Session) -> Checked {
    let levels: Vec<String> = serde_json::from_value(fixture()["levels"].clone()).map_err(|error| error.to_string())?;
    for level in ["warning", "debug", "emergency"] {
        session.set_level(level).await?;
        let start = session.inbox.mail().logs.len();
        let wanted: BTreeSet<_> =
            levels.iter().skip_while(|known| *known != level).map(|known| json!(known).to_string()).collect();
        equal("log_all", call_text(session, "log_all", json!({})).await?, "ok")?;
        session.inbox.until("the log messages", |mail| mail.logs.len() >= start + wanted.len()).await?;
        fence(session).await?;
        // A set, since this SDK's handlers run in tasks of their own and may end in another order.
        let logs = session.inbox.mail().logs[start..].to_vec();
        equal("number of messages", logs.len(), wanted.len())?;
        let seen: BTreeSet<_> = logs.iter().map(|message| message["level"].to_string()).collect();
        equal(&format!("levels logged at {level}"), seen, wanted)?;
    }
    Ok(())
}

pub async fn sampling(session: &Session) -> Checked {
    let start = session.inbox.mail().sampling.len();
    equal("answer", call_text(session, "ask_sampling", json!({"prompt": "why?"})).await?, "sampled: why?")?;
    let asked = session.inbox.mail().sampling[start..].to_vec();
    equal("number of requests", asked.len(), 1)?;
    equal("maxTokens is a whole number above 0", asked[0]["maxTokens"].as_u64().is_some_and(|n| n > 0), true)?;
    equal("role", &asked[0]["messages"][0]["role"], "user")
}

pub async fn sampling_refused(session: &Session) -> Checked {
    // What the tool makes of the refusal is its author's business, but it must be told, and the session lives on.
    let failed = match session.call("ask_sampling", json!({"prompt": "refuse"})).await {
        Ok(result) => result["isError"] == true,
        Err(failure) => matches!(failure, Failure::Rpc { .. }),
    };
    equal("isError", failed, true)?;
    equal("echo after that", call_text(session, "echo", json!({"text": "still here"})).await?, "still here")
}

async fn asked_roots(session: &Session) -> Checked {
    let wanted = json!(session.inbox.mail().roots).to_string();
    equal("roots", call_text(session, "ask_roots", json!({})).await?, wanted)
}

pub async fn roots_list(session: &Session) -> Checked {
    asked_roots(session).await
}

pub async fn roots_list_changed(session: &Session) -> Checked {
    session.inbox.mail().roots = vec!["file:///data/other"];
    session.roots_changed().await?;
    asked_roots(session).await
}

pub async fn session_no_faults(session: &Session) -> Checked {
    equal("what the SDK found wrong during the session", session.inbox.mail().faults.clone(), Vec::<String>::new())
}
