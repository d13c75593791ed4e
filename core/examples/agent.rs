//! A small agent: `cargo run --example agent -- npx -y @modelcontextprotocol/server-everything`
#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use mcp_native::client::HandlerContext;
use mcp_native::protocol::{CreateMessageRequest, CreateMessageResult, ResourceContents, Root};
use mcp_native::transport::child::ChildCommand;
use mcp_native::{Client, Error};

/// What a server sends is data: control characters in it are shown, not obeyed (SEC-08).
fn say(speaker: &str, text: &str) {
    let clean: String = text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect();
    println!("{speaker:>9} | {}", clean.replace('\n', "\n          | "));
}

/// Stands in for a model. A real agent asks the person first, and then its model.
async fn sample(request: CreateMessageRequest, _context: HandlerContext) -> Result<CreateMessageResult, Error> {
    let asked = request.messages.last().and_then(|message| message.content.as_text()).unwrap_or_default();
    say("sampling", asked);
    Ok(CreateMessageResult::text("echo", format!("You said: {asked}")))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut args = std::env::args_os().skip(1);
    let program = args.next().expect("the command of a server is to be given as arguments");
    let client = Client::builder("example-agent", "1.0")
        .roots([Root::new("file:///tmp").with_name("scratch")])
        .on_sampling(sample)
        .on_log(|message| say("log", message.data.get()))
        .stdio(ChildCommand::new(program).args(args))
        .await?;
    say("server", &client.server_info().map_or(String::new(), |info| format!("{} {}", info.name, info.version)));
    let can = client.capabilities();
    if can.tools.is_some() {
        let tools = client.list_all_tools().await?;
        say("tools", &tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(", "));
        if tools.iter().any(|tool| tool.name == "echo") {
            let arguments = serde_json::json!({ "message": "hello", "text": "hello" });
            let result = client.call_tool("echo", arguments).await?;
            say("echo", &result.texts().collect::<String>());
        }
    }
    let resources = if can.resources.is_some() { client.list_all_resources().await? } else { Vec::new() };
    if let Some(resource) = resources.first() {
        let read = client.read_resource(&resource.uri).await?;
        say("resource", read.contents.first().and_then(ResourceContents::as_text).unwrap_or("(bytes)"));
    }
    if can.prompts.is_some() {
        let prompts = client.list_all_prompts().await?;
        if let Some(prompt) = prompts.iter().find(|prompt| prompt.arguments.iter().all(|argument| !argument.required)) {
            let messages = client.get_prompt(&prompt.name, ()).await?.messages;
            say("prompt", messages.first().and_then(|message| message.content.as_text()).unwrap_or("(no text)"));
        }
    }
    client.close().await;
    Ok(())
}
