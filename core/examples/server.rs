//! A small server over stdio: `cargo run --example server`. `demo/official_client.py` talks to it.

use std::time::Duration;

use mcp_native::Error;
use mcp_native::protocol::{LoggingLevel, Prompt, PromptArgument, PromptMessage, Resource, ResourceTemplate};
use mcp_native::server::{CompletionTarget, RequestContext, Server, ToolError, tool};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    a: i64,
    b: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Countdown {
    from: u32,
}

const LANGUAGES: [&str; 4] = ["Python", "Kotlin", "Rust", "Swift"];

/// Tells how far it is, stops when it is told to, and writes to the client's log.
async fn count_down(args: Countdown, context: RequestContext) -> Result<&'static str, ToolError> {
    for step in 1..=args.from {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(20)) => {}
            () = context.cancelled() => return Err(ToolError::new("aborted")),
        }
        context.progress(step.into(), Some(args.from.into()));
    }
    context.log(LoggingLevel::Info, format!("counted down from {}", args.from));
    Ok("lift-off")
}

fn main() -> Result<(), Error> {
    let server = Server::builder("example-server", env!("CARGO_PKG_VERSION"))
        .instructions("Shows each feature once.")
        .logging(LoggingLevel::Info)
        .build();
    let add = tool("add").description("Adds two integers");
    server.tool(add.handler(|args: Sum, _| async move { Ok(args.a + args.b) }))?;
    server.tool(tool("count_down").description("Counts down, with progress").handler(count_down))?;
    let about = Resource::new("example://about", "about").with_mime_type("text/plain");
    server.resource(about, |_, _| async { Ok("A server of a few lines.") })?;
    let squares = ResourceTemplate::new("example://squares/{n}", "squares");
    server.resource_template(squares, |uri, variables, _| async move {
        let n: Option<u64> = variables.text("n").and_then(|n| n.parse().ok());
        let square = n.and_then(|n| n.checked_mul(n)).ok_or_else(|| Error::resource_not_found(&uri))?;
        Ok(square.to_string())
    })?;
    let review = Prompt::new("review").with_arguments([PromptArgument::new("language").with_required(true)]);
    server.prompt(review, |arguments, _| async move {
        Ok(PromptMessage::user(format!("Review this {} code.", arguments["language"])))
    })?;
    server.completion(CompletionTarget::prompt("review", "language"), |typed, _| async move {
        Ok(LANGUAGES.iter().filter(|language| language.starts_with(&typed)).copied().collect::<Vec<_>>())
    });
    server.run_stdio().map(drop)
}
