//! Checks: resources, prompts and completion.

use mcp_native::ErrorKind;
use mcp_native::protocol::{
    CompleteRequest, CompleteResult, CompletionArgument, CompletionReference, ResourceContents, Role,
};
use serde::Serialize;
use serde_json::json;

use super::{Checked, Fault, INVALID_PARAMS, RESOURCE_NOT_FOUND, Session, equal, refused, whole};

const TEXT_URI: &str = "test://static/text";
const UNKNOWN_URI: &str = "test://none";

pub(super) async fn resources_list(session: &Session) -> Checked {
    let lists = (session.client.list_all_resources(), session.client.resources());
    whole(lists, |resource| &resource.uri, ("resources", "uri")).await.map(drop)
}

pub(super) async fn resources_templates_list(session: &Session) -> Checked {
    let lists = (session.client.list_all_resource_templates(), session.client.resource_templates());
    whole(lists, |template| &template.uri_template, ("resourceTemplates", "uriTemplate")).await.map(drop)
}

async fn read_one(session: &Session, uri: &str) -> Result<ResourceContents, Fault> {
    let mut contents = session.client.read_resource(uri).await?.contents;
    equal("number of contents", contents.len(), 1)?;
    let only = contents.pop().ok_or("nothing was read")?;
    equal("uri", only.uri(), uri)?;
    Ok(only)
}

async fn reads_text(session: &Session, uri: &str, text: &str) -> Checked {
    equal("text", read_one(session, uri).await?.as_text(), Some(text))
}

pub(super) async fn resources_read_text(session: &Session) -> Checked {
    reads_text(session, TEXT_URI, "hello").await
}

pub(super) async fn resources_read_blob(session: &Session) -> Checked {
    let contents = read_one(session, "test://static/bin").await?;
    equal("is text", contents.as_text(), None::<&str>)?;
    equal("bytes", contents.bytes()?, [0xFB, 0xFF, 0xFE, 0xFF])?;
    equal("mimeType", contents.mime_type(), Some("application/octet-stream"))
}

pub(super) async fn resources_read_template(session: &Session) -> Checked {
    reads_text(session, "test://items/7", "item:7").await?;
    reads_text(session, "test://items/a%20b", "item:a b").await
}

pub(super) async fn resources_read_unknown(session: &Session) -> Checked {
    let error = refused(RESOURCE_NOT_FOUND, session.client.read_resource(UNKNOWN_URI).await)?;
    equal("the error's kind", error.kind(), ErrorKind::ResourceNotFound)?;
    let data = error.data().ok_or("the error has no data")?;
    equal("data", data.to_value()?, json!({"uri": UNKNOWN_URI}))
}

pub(super) async fn resources_subscribe(session: &Session) -> Checked {
    let start = session.inbox.mail().updated.len();
    session.client.subscribe(TEXT_URI).await?;
    equal("touch", session.call("touch", json!({"uri": TEXT_URI})).await?, "ok")?;
    session.inbox.until("the update", |mail| mail.updated.len() > start).await?;
    session.fence().await?;
    equal("updates", session.inbox.mail().updated[start..].to_vec(), [TEXT_URI])
}

pub(super) async fn resources_unsubscribe(session: &Session) -> Checked {
    session.client.subscribe(TEXT_URI).await?;
    session.client.unsubscribe(TEXT_URI).await?;
    let start = session.inbox.mail().updated.len();
    equal("touch", session.call("touch", json!({"uri": TEXT_URI})).await?, "ok")?;
    session.fence().await?;
    equal("number of updates", session.inbox.mail().updated.len() - start, 0)
}

pub(super) async fn resources_subscribe_unknown(session: &Session) -> Checked {
    refused(RESOURCE_NOT_FOUND, session.client.subscribe(UNKNOWN_URI).await).map(drop)
}

pub(super) async fn prompts_list(session: &Session) -> Checked {
    let lists = (session.client.list_all_prompts(), session.client.prompts());
    let prompts = whole(lists, |prompt| &prompt.name, ("prompts", "name")).await?;
    let greet = prompts.iter().find(|prompt| prompt.name == "greet").ok_or("there is no greet")?;
    let arguments: Vec<_> =
        greet.arguments.iter().map(|argument| (argument.name.as_str(), argument.required)).collect();
    equal("arguments of greet", arguments, [("name", true), ("style", false)])
}

async fn prompt_says(session: &Session, name: &str, arguments: impl Serialize, text: &str) -> Checked {
    let messages = session.client.get_prompt(name, arguments).await?.messages;
    let [message] = messages.as_slice() else { return Err(format!("wanted one message, got {messages:?}").into()) };
    equal("role", message.role, Role::User)?;
    equal("text", message.content.as_text(), Some(text))
}

pub(super) async fn prompts_get_greet(session: &Session) -> Checked {
    prompt_says(session, "greet", json!({"name": "Ada", "style": "formal"}), "hello Ada").await?;
    prompt_says(session, "greet", json!({"name": "Ada"}), "hello Ada").await
}

pub(super) async fn prompts_get_noargs(session: &Session) -> Checked {
    prompt_says(session, "noargs", (), "hi").await
}

pub(super) async fn prompts_get_missing_argument(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.client.get_prompt("greet", json!({"style": "formal"})).await).map(drop)
}

pub(super) async fn prompts_get_unknown(session: &Session) -> Checked {
    refused(INVALID_PARAMS, session.client.get_prompt("nope", ()).await).map(drop)
}

async fn completed(
    session: &Session,
    prompt: &str,
    argument: &str,
) -> Result<Option<CompleteResult>, mcp_native::Error> {
    let argument = CompletionArgument::new(argument, "");
    session.client.complete(CompleteRequest::new(CompletionReference::prompt(prompt), argument)).await
}

pub(super) async fn completion_complete(session: &Session) -> Checked {
    let result = completed(session, "greet", "name").await?;
    let completion = &result.as_ref().ok_or("the server does not know completion")?.completion;
    equal("number of values", completion.values.len(), 100)?;
    equal("hasMore", completion.has_more, Some(true))?;
    equal("total", completion.total.unwrap_or(150), 150)?;
    let completer = session.client.completer(CompletionReference::prompt("greet"));
    equal("what is suggested to someone who types", completer.suggest("name", "").await?, result)
}

pub(super) async fn completion_unknown_prompt(session: &Session) -> Checked {
    refused(INVALID_PARAMS, completed(session, "nope", "name").await).map(drop)
}

pub(super) async fn completion_unknown_argument(session: &Session) -> Checked {
    refused(INVALID_PARAMS, completed(session, "greet", "nope").await).map(drop)
}
