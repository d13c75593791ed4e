//! Bench server on rmcp 0.10, over HTTP+SSE. Usage: rmcp-sse-server PORT

use rmcp::handler::server::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{ProtocolVersion, ServerCapabilities, ServerInfo};
use rmcp::transport::sse_server::{SseServer, SseServerConfig};
use rmcp::{ServerHandler, schemars, tool, tool_handler, tool_router};
use std::error::Error;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoArgs {
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct AddArgs {
    a: i64,
    b: i64,
}

#[derive(Clone)]
struct Bench {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Bench {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    #[tool(description = "Echo the text")]
    fn echo(&self, Parameters(EchoArgs { text }): Parameters<EchoArgs>) -> String {
        text
    }

    #[tool(description = "Add two integers")]
    fn add(&self, Parameters(AddArgs { a, b }): Parameters<AddArgs>) -> String {
        (a + b).to_string()
    }
}

#[tool_handler]
impl ServerHandler for Bench {
    fn get_info(&self) -> ServerInfo {
        ServerInfo {
            protocol_version: ProtocolVersion::V_2024_11_05,
            capabilities: ServerCapabilities::builder().enable_tools().build(),
            ..Default::default()
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("needs: PORT")?.parse()?;
    let (server, router) = SseServer::new(SseServerConfig {
        bind: ([127, 0, 0, 1], port).into(),
        sse_path: "/sse".into(),
        post_path: "/message".into(),
        ct: tokio_util::sync::CancellationToken::new(),
        sse_keep_alive: None,
    });
    let listener = tokio::net::TcpListener::bind(server.config.bind).await?;
    let _stop = server.with_service(Bench::new);
    axum::serve(listener, router).await?;
    Ok(())
}
