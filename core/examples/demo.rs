//! What `make demo` runs: a client that shows, line by line, what it and a server of somebody else say to each other.
//! `demo files FOLDER SERVER…` works on the files of a folder, `demo everything FOLDER SERVER…` uses each feature once.
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use mcp_native::Client;
use mcp_native::client::HandlerContext;
use mcp_native::protocol::{
    CallToolResult, CompleteRequest, CompletionArgument, CompletionReference, Content, CreateMessageRequest,
    CreateMessageResult, LoggingLevel, ResourceContents, Root,
};
use mcp_native::transport::child::{ChildCommand, StderrMode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// Lines of one message that are shown, and characters of a line.
const SHOWN: (usize, usize) = (4, 110);

/// Shows who says what. Text of a server is data: control characters are shown, not obeyed (SEC-08).
fn say(who: &str, text: &str) {
    let mut lines = text.trim_end().lines();
    let mut margin = who;
    for line in lines.by_ref().take(SHOWN.0) {
        let clean = line.replace('\t', "    ");
        let clean = clean.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
        let mut shown: String = clean.clone().take(SHOWN.1).collect();
        if clean.count() > SHOWN.1 {
            shown.push('…');
        }
        println!("{margin:>10} │ {shown}");
        margin = "";
    }
    match lines.count() {
        0 => {}
        more => println!("{margin:>10} │ … and {more} more lines"),
    }
}

fn client_says(text: &str) {
    say("client >", text);
}

fn server_says(text: &str) {
    say("< server", text);
}

/// Fails the demonstration if something is not as it must be.
fn must(holds: bool, what: &str) -> Outcome {
    if holds { Ok(()) } else { Err(format!("not as expected: {what}").into()) }
}

/// Stands in for a model. A real client asks the person first (SEC-04), and then its model.
async fn sample(
    request: CreateMessageRequest,
    _context: HandlerContext,
) -> Result<CreateMessageResult, mcp_native::Error> {
    let asked = request.messages.last().and_then(|message| message.content.as_text()).unwrap_or_default().to_owned();
    server_says(&format!("sampling/createMessage: {asked}"));
    client_says("a completion: Forty-two.");
    Ok(CreateMessageResult::text("a-pretended-model", "Forty-two."))
}

#[tokio::main]
async fn main() -> Outcome {
    let mut args = std::env::args_os().skip(1);
    let (Some(scene), Some(folder), Some(program)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: demo files|everything FOLDER SERVER…".into());
    };
    let folder = std::fs::canonicalize(folder)?;
    let root = Root::new(format!("file://{}", folder.display())).with_name("scratch");
    let (updated, updates) = mpsc::unbounded_channel();
    let client = Client::builder("mcp-native-demo", env!("CARGO_PKG_VERSION"))
        .on_roots(move |_| {
            server_says("roots/list");
            client_says(&format!("roots: {}", root.uri));
            std::future::ready(Ok(vec![root.clone()]))
        })
        .on_sampling(sample)
        .on_log(|message| server_says(&format!("log, {}: {}", message.level, message.data.get())))
        .on_resource_updated(move |uri| drop(updated.send(uri)))
        .stdio(ChildCommand::new(program).args(args).stderr(StderrMode::Null))
        .await?;
    let info = client.server_info().ok_or("the server did not say who it is")?;
    server_says(&format!("I am {} {}, speaking {}", info.name, info.version, client.revision()));
    if scene == "files" {
        files(&client, &folder).await?;
    } else {
        everything(&client, updates).await?;
    }
    let end = client.close().await.ok_or("the server was no child process")?;
    say("", &format!("the session is closed, the server {end}"));
    must(end.status.success(), "the server ends by itself, with status 0")
}

/// Lists the tools and checks that these are among them.
async fn tools(client: &Client, wanted: &[&str]) -> Outcome {
    client_says("tools/list");
    let tools = client.list_all_tools().await?;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    server_says(&format!("{} tools: {}", names.len(), names.join(", ")));
    must(wanted.iter().all(|name| names.contains(name)), "the tools that the demonstration needs are there")
}

fn show(result: &CallToolResult) {
    for content in &result.content {
        match content {
            Content::Text(text) => server_says(&text.text),
            other => server_says(&format!("({})", other.kind())),
        }
    }
}

/// Calls a tool and shows the exchange; the text of the result.
async fn call(client: &Client, name: &str, arguments: Value) -> Outcome<String> {
    client_says(&format!("tools/call {name} {arguments}"));
    let progress = |report: mcp_native::protocol::ProgressNotification| {
        server_says(&format!("progress {} of {}", report.progress, report.total.unwrap_or_default()));
    };
    let result = client.call_tool(name, arguments).on_progress(progress).timeout(Duration::from_secs(30)).await?;
    show(&result);
    must(!result.is_error, "the tool succeeds")?;
    Ok(result.texts().collect())
}

/// Works on the files of a folder.
async fn files(client: &Client, folder: &Path) -> Outcome {
    tools(client, &["write_file", "read_text_file", "list_directory", "edit_file"]).await?;
    let haiku = folder.join("haiku.txt");
    let text = "An old silent pond\nA frog jumps into the pond\nSplash! Silence again.\n";
    call(client, "write_file", json!({ "path": haiku, "content": text })).await?;
    let listed = call(client, "list_directory", json!({ "path": folder })).await?;
    must(listed.contains("haiku.txt"), "the folder has the file")?;
    let read = call(client, "read_text_file", json!({ "path": haiku })).await?;
    must(read.contains("A frog jumps"), "what was written can be read")?;
    let edit = json!({ "path": haiku, "edits": [{ "oldText": "silent", "newText": "quiet" }] });
    call(client, "edit_file", edit).await?;
    must(std::fs::read_to_string(&haiku)?.starts_with("An old quiet pond"), "the file was really changed")?;

    client_says("tools/call read_text_file {\"path\":\"/etc/hostname\"}, which is outside of the roots");
    let refused = client.call_tool("read_text_file", json!({ "path": "/etc/hostname" })).await?;
    show(&refused);
    must(refused.is_error, "the server keeps to the roots")
}

/// Uses each feature of the protocol once.
async fn everything(client: &Client, mut updates: mpsc::UnboundedReceiver<String>) -> Outcome {
    client.ping().await?;
    client.set_log_level(LoggingLevel::Info).await?;
    tools(client, &["echo", "get-sum", "get-tiny-image", "trigger-sampling-request"]).await?;
    must(call(client, "echo", json!({ "message": "Grüße, 世界 🌍" })).await? == "Echo: Grüße, 世界 🌍", "an echo")?;
    must(call(client, "get-sum", json!({ "a": 19, "b": 23 })).await?.contains("42"), "a sum")?;
    call(client, "get-tiny-image", json!({})).await?;
    call(client, "trigger-long-running-operation", json!({ "duration": 1, "steps": 4 })).await?;
    let sampling = json!({ "prompt": "What is six times seven?", "maxTokens": 20 });
    let answered = call(client, "trigger-sampling-request", sampling).await?;
    must(answered.contains("Forty-two."), "the server got the completion")?;
    let roots = call(client, "get-roots-list", json!({})).await?;
    must(roots.contains("file://"), "the server got the roots")?;

    client_says("resources/list");
    let resources = client.list_all_resources().await?;
    server_says(&format!("{} resources, the first is {}", resources.len(), resources[0].uri));
    read(client, &resources[0].uri).await?;
    client_says("resources/templates/list");
    let templates = client.list_all_resource_templates().await?;
    server_says(&templates.iter().map(|template| template.uri_template.as_str()).collect::<Vec<_>>().join("\n"));
    let watched = "demo://resource/dynamic/text/7";
    read(client, watched).await?;
    client_says(&format!("resources/subscribe {watched}"));
    client.subscribe(watched).await?;
    call(client, "toggle-subscriber-updates", json!({})).await?;
    let uri = tokio::time::timeout(Duration::from_secs(20), updates.recv()).await?.ok_or("no update came")?;
    server_says(&format!("resources/updated: {uri}"));
    client_says(&format!("resources/unsubscribe {watched}"));
    client.unsubscribe(watched).await?;
    // A server that goes on sending updates would have to be told to stop by a signal in the end.
    call(client, "toggle-subscriber-updates", json!({})).await?;

    client_says("prompts/list");
    let prompts = client.list_all_prompts().await?;
    server_says(&prompts.iter().map(|prompt| prompt.name.as_str()).collect::<Vec<_>>().join(", "));
    client_says("completion/complete: department of completable-prompt, \"S…\"");
    let typed = CompletionArgument::new("department", "S");
    let request = CompleteRequest::new(CompletionReference::prompt("completable-prompt"), typed);
    let completed = client.complete(request).await?.ok_or("the server completes nothing")?;
    server_says(&completed.completion.values.join(", "));
    must(completed.completion.values == ["Sales", "Support"], "the values that fit")?;
    client_says("prompts/get args-prompt {\"city\":\"Kyoto\"}");
    let prompt = client.get_prompt("args-prompt", json!({ "city": "Kyoto" })).await?;
    for message in &prompt.messages {
        server_says(&format!("{}: {}", message.role, message.content.as_text().unwrap_or_default()));
    }

    client_says("tools/call no-such-tool");
    match client.call_tool("no-such-tool", ()).await {
        Ok(result) if result.is_error => show(&result),
        Ok(_) => return Err("a tool that does not exist was called".into()),
        Err(error) => server_says(&format!("error {}: {error}", error.code().unwrap_or_default())),
    }
    Ok(())
}

async fn read(client: &Client, uri: &str) -> Outcome {
    client_says(&format!("resources/read {uri}"));
    let contents = client.read_resource(uri).await?.contents;
    let text = contents.first().and_then(ResourceContents::as_text).unwrap_or("(bytes)");
    server_says(text);
    must(!text.is_empty(), "the resource has contents")
}
