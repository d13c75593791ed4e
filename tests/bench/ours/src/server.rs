//! The server of the benchmarks, written as the documentation shows. `BENCH_TOOLS` adds that many tools.

use mcp_native::protocol::{Prompt, PromptArgument, Resource};
use mcp_native::server::{Server, tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Extra {
    name: String,
    count: i64,
    #[serde(default)]
    #[allow(dead_code, reason = "part of the schema")]
    flag: bool,
}

fn main() -> Result<(), mcp_native::Error> {
    let server = Server::new("bench", "1.0");
    server.tool(tool("echo").description("Echo the text").handler(|args: Echo, _| async move { Ok(args.text) }))?;
    server
        .tool(tool("add").description("Add two integers").handler(|args: Add, _| async move { Ok(args.a + args.b) }))?;
    let extra = std::env::var("BENCH_TOOLS").ok().and_then(|tools| tools.parse().ok()).unwrap_or(0);
    for i in 0..extra {
        let description = format!("Tool number {i}: joins a name and a count");
        let join = tool(format!("tool_{i:03}")).description(description);
        server.tool(join.handler(|args: Extra, _| async move { Ok(format!("{} {}", args.name, args.count)) }))?;
    }
    server.resource(Resource::new("bench://static", "static"), |_, _| async { Ok("static text") })?;
    let mut greet = Prompt::new("greet");
    let mut who = PromptArgument::new("who");
    who.required = true;
    greet.arguments = vec![who];
    server.prompt(greet, |arguments, _| async move {
        Ok(format!("Greet {}", arguments.get("who").map_or("", String::as_str)))
    })?;
    server.run_stdio()?;
    Ok(())
}
