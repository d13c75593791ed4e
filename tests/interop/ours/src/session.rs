//! The connected client, and its callbacks.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use mcp_native::protocol::{CallToolResult, CreateMessageRequest, CreateMessageResult, Root};
use mcp_native::transport::child::ChildCommand;
use mcp_native::transport::{JsonLines, Tap};
use mcp_native::{Client, ClientBuilder, Error, ErrorKind};
use serde_json::{Value, json};

use crate::checks::{Fault, equal};
use crate::inbox::Inbox;

/// The roots at first.
pub(crate) const ROOTS: [&str; 2] = ["file:///data/r", "file:///data/a%20b"];

/// How long the tool `sleep` gives the server, by its own clock, to send what it must not send.
const FENCE_MS: u64 = 200;

/// A connected client.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) inbox: Inbox,
}

impl Session {
    /// Starts the server and does the handshake.
    pub(crate) async fn connect(server: &[OsString], lenient: bool, inbox: Inbox) -> Result<Session, Fault> {
        let [program, arguments @ ..] = server else { return Err("no server command".into()) };
        let mut builder = builder(&inbox).lenient(lenient);
        if let Some(folder) = std::env::var_os("MCP_TEST_TAP") {
            let file = Path::new(&folder).join(format!("interop-client-{}.jsonl", std::process::id()));
            let file = File::create(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            builder = builder.tap(Tap::json_lines(JsonLines::new(file)));
        }
        let client = builder.stdio(ChildCommand::new(program).args(arguments)).await?;
        Ok(Session { client, inbox })
    }

    /// The text of the only block of a tool's result; the tool must not have failed.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<String, Fault> {
        only_text(&self.client.call_tool(tool, arguments).await?)
    }

    /// Waits, by the server's own clock.
    pub(crate) async fn fence(&self) -> Result<(), Fault> {
        equal("sleep", self.call("sleep", json!({"ms": FENCE_MS})).await?, "slept")
    }

    /// The session lives on.
    pub(crate) async fn still_serves(&self) -> Result<(), Fault> {
        equal("echo after that", self.call("echo", json!({"text": "still here"})).await?, "still here")
    }
}

pub(crate) fn only_text(result: &CallToolResult) -> Result<String, Fault> {
    let texts: Vec<&str> = result.texts().collect();
    if result.is_error {
        return Err(format!("the tool failed: {texts:?}").into());
    }
    equal("number of content blocks", result.content.len(), 1)?;
    let text = texts.first().ok_or("the block is no text")?;
    Ok((*text).to_owned())
}

fn builder(inbox: &Inbox) -> ClientBuilder {
    let file = |put: fn(&mut crate::inbox::Mail)| {
        let inbox = inbox.clone();
        move || inbox.file(put)
    };
    let (logs, updates, sampling, faults) = (inbox.clone(), inbox.clone(), inbox.clone(), inbox.clone());
    Client::builder("interop-ours", env!("CARGO_PKG_VERSION"))
        .roots(ROOTS.map(Root::new))
        .on_sampling(move |request, _| {
            let answer = sampled(&request);
            sampling.file(|mail| mail.sampling.push(request));
            std::future::ready(answer)
        })
        .on_log(move |message| logs.file(|mail| mail.logs.push(message.level)))
        .on_resource_updated(move |uri| updates.file(|mail| mail.updated.push(uri)))
        .on_tools_changed(file(|mail| mail.list_changes.push("tools")))
        .on_prompts_changed(file(|mail| mail.list_changes.push("prompts")))
        .on_resources_changed(file(|mail| mail.list_changes.push("resources")))
        .on_diagnostic(move |diagnostic| faults.file(|mail| mail.faults.push(diagnostic.to_string())))
}

/// Stands for the model, and for the person who refuses.
fn sampled(request: &CreateMessageRequest) -> Result<CreateMessageResult, Error> {
    let prompt = request.messages.first().and_then(|message| message.content.as_text()).unwrap_or_default();
    if prompt == "refuse" {
        return Err(Error::new(ErrorKind::UserRejected, "the user refused"));
    }
    Ok(CreateMessageResult::text("m", format!("sampled: {prompt}")))
}
