//! A server for the tests of whole processes: `probe run` serves on the main thread, `probe tokio` from a tokio runtime.
//!
//! It logs everything to stderr, and has tools that take their time in every way there is.

use std::fmt::Write as _;
use std::time::Duration;

use mcp_native::engine::Limits;
use mcp_native::protocol::LoggingLevel;
use mcp_native::server::{NoArguments, RequestContext, Server, ToolError, tool};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Wait {
    ms: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Big {
    bytes: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing::subscriber::set_global_default(Stderr)?;
    let server = server()?;
    let reason = match std::env::args().nth(1).as_deref() {
        Some("run") => server.run_stdio()?,
        Some("tokio") => {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
            runtime.block_on(server.serve_stdio())?
        }
        _ => return Err("usage: probe run|tokio".into()),
    };
    eprintln!("served: {reason}");
    Ok(())
}

fn server() -> Result<Server, mcp_native::Error> {
    let mut limits = Limits::default();
    if let Some(bytes) = std::env::var("PROBE_OUTBOUND").ok().and_then(|bytes| bytes.parse().ok()) {
        limits.outbound_bytes = bytes;
    }
    let server = Server::builder("probe", "1.0").logging(LoggingLevel::Debug).limits(limits).build();
    let pause = |args: Wait| std::thread::sleep(Duration::from_millis(args.ms));
    server.tool(tool("sleep").handler(|args: Wait, _| async move {
        tokio::time::sleep(Duration::from_millis(args.ms)).await;
        Ok("slept")
    }))?;
    server.tool(tool("block").sync_handler(move |args: Wait, _| {
        pause(args);
        Ok("blocked")
    }))?;
    server.tool(tool("pool").blocking_handler(move |args: Wait, _| {
        pause(args);
        Ok("blocked")
    }))?;
    server.tool(tool("big").handler(|args: Big, _| async move { Ok("x".repeat(args.bytes)) }))?;
    server.tool(tool("print").handler(|_: NoArguments, context: RequestContext| async move {
        print_everywhere();
        context.log(LoggingLevel::Info, "logged");
        // What else reads the process's stdin must not take messages away.
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).map_err(ToolError::from)?;
        Ok(format!("read {}", line.len()))
    }))?;
    let handle = server.clone();
    server.tool(tool("close").handler(move |_: NoArguments, _| {
        handle.close();
        async { Ok("never heard") }
    }))?;
    Ok(server)
}

#[allow(clippy::print_stdout, reason = "to show that it does no harm")]
fn print_everywhere() {
    println!("a stray print");
    eprintln!("to stderr");
}

/// Writes every event and span of every level to stderr.
struct Stderr;

impl tracing::Subscriber for Stderr {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        let mut line = attributes.metadata().name().to_owned();
        attributes.record(&mut Fields(&mut line));
        eprintln!("{line}");
        tracing::span::Id::from_u64(1)
    }

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = event.metadata().level().to_string();
        event.record(&mut Fields(&mut line));
        eprintln!("{line}");
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

struct Fields<'a>(&'a mut String);

impl tracing::field::Visit for Fields<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, " {}={value:?}", field.name());
    }
}
