//! Checks: resources, prompts and completion.

use super::{
    Checked, INVALID_PARAMS, RESOURCE_NOT_FOUND, Session, TEXT_URI, Value, call_text, decoded, equal, fence, has_all,
    json, refused,
};

pub async fn resources_list(session: &Session) -> Checked {
    has_all(session, "resources", "uri").await.map(drop)
}

pub async fn resources_templates_list(session: &Session) -> Checked {
    has_all(session, "resourceTemplates", "uriTemplate").await.map(drop)
}

async fn read_one(session: &Session, uri: &str) -> Result<Value, String> {
    let result = session.read(uri).await?;
    equal("number of contents", result["contents"].as_array().map(Vec::len), Some(1))?;
    equal("uri", &result["contents"][0]["uri"], uri)?;
    Ok(result["contents"][0].clone())
}

pub async fn resources_read_text(session: &Session) -> Checked {
    equal("text", &read_one(session, TEXT_URI).await?["text"], "hello")
}

pub async fn resources_read_blob(session: &Session) -> Checked {
    let part = read_one(session, "test://static/bin").await?;
    equal("bytes", decoded(&part["blob"])?, [0xFB, 0xFF, 0xFE, 0xFF])?;
    equal("mimeType", &part["mimeType"], "application/octet-stream")
}

pub async fn resources_read_template(session: &Session) -> Checked {
    equal("text", &read_one(session, "test://items/7").await?["text"], "item:7")?;
    equal("text", &read_one(session, "test://items/a%20b").await?["text"], "item:a b")
}

pub async fn resources_read_unknown(session: &Session) -> Checked {
    let data = refused(RESOURCE_NOT_FOUND, session.read("test://none").await)?;
    equal("data", data, json!({"uri": "test://none"}))
}

pub async fn resources_subscribe(session: &Session) -> Checked {
    let start = session.inbox.mail().updated.len();
    session.subscribe(TEXT_URI).await?;
    equal("touch", call_text(session, "touch", json!({"uri": TEXT_URI})).await?, "ok")?;
    session.inbox.until("the update", |mail| mail.updated.len() > start).await?;
    fence(session).await?;
    equal("updates", session.inbox.mail().updated[start..].to_vec(), [TEXT_URI])
}

pub async fn resources_unsubscribe(session: &Session) -> Checked {
    session.subscribe(TEXT_URI).await?;
    session.unsubscribe(TEXT_URI).await?;
    let start = session.inbox.mail().updated.len();
    equal("touch", call_text(session, "touch", json!({"uri": TEXT_URI})).await?, "ok")?;
    fence(session).await?;
    equal("number of updates", session.inbox.mail().updated.len() - start, 0)
}

pub async fn resources_subscribe_unknown(session: &Session) -> Checked {
    refused(RESOURCE_NOT_FOUND, session.subscribe("test://none").await)?;
    Ok(())
}

pub async fn prompts_list(session: &Session) -> Checked {
    let prompts = has_all(session, "prompts", "name").await?;
    let greet = prompts.iter().find(|prompt| prompt["name"] == "greet").cloned().unwrap_or_default();
    let arguments = greet["arguments"].as_array().cloned().unwrap_or_default();
    let seen: Vec<_> = arguments.iter().map(|a| (a["name"].as_str(), a["required"] == true)).collect();
    equal("arguments of greet", seen, vec![(Some("name"), true), (Some("style"), false)])
}

async fn prompt_text(session: &Session, name: &str, arguments: Value) -> Result<Value, String> {
    let result = session.get_prompt(name, arguments).await?;
    equal("number of messages", result["messages"].as_array().map(Vec::len), Some(1))?;
    equal("role", &result["messages"][0]["role"], "user")?;
    Ok(result["messages"][0]["content"]["text"].clone())
}

pub async fn prompts_get_greet(session: &Session) -> Checked {
    let both = json!({"name": "Ada", "style": "formal"});
    equal("text", prompt_text(session, "greet", both).await?, "hello Ada")?;
    equal("text", prompt_text(session, "greet", json!({"name": "Ada"})).await?, "hello Ada")
}

pub async fn prompts_get_noargs(session: &Session) -> Checked {
    equal("text", prompt_text(session, "noargs", Value::Null).await?, "hi")
}

pub async fn prompts_get_missing_argument(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.get_prompt("greet", json!({"style": "formal"})).await)?;
    Ok(())
}

pub async fn prompts_get_unknown(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.get_prompt("nope", Value::Null).await)?;
    Ok(())
}

pub async fn completion_complete(session: &Session) -> Checked {
    let result = session.complete("greet", "name").await?;
    let completion = &result["completion"];
    equal("number of values", completion["values"].as_array().map(Vec::len), Some(100))?;
    equal("hasMore", &completion["hasMore"], true)?;
    equal("total", completion["total"].as_u64().unwrap_or(150), 150)
}

pub async fn completion_unknown_prompt(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.complete("nope", "name").await)?;
    Ok(())
}

pub async fn completion_unknown_argument(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.complete("greet", "nope").await)?;
    Ok(())
}
