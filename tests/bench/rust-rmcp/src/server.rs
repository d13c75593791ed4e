//! Bench server on rmcp 3.x, over stdio, written the way its documentation shows.

mod runtime;

use rmcp::handler::server::router::prompt::PromptRouter;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::schema_for_type;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    Implementation, ListResourcesResult, PaginatedRequestParams, PromptMessage, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::stdio;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt, prompt, prompt_handler, prompt_router, schemars, tool,
    tool_handler, tool_router,
};
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

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct GreetArgs {
    who: String,
}

/// Of the tools that `BENCH_TOOLS` asks for; those are listed and never called.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct ExtraArgs {
    name: String,
    count: i64,
    #[serde(default)]
    #[expect(dead_code, reason = "it is there for the schema")]
    flag: bool,
}

#[derive(Clone)]
struct Bench {
    tool_router: ToolRouter<Self>,
    prompt_router: PromptRouter<Self>,
}

#[tool_router]
impl Bench {
    fn new() -> Self {
        let mut tool_router = Self::tool_router();
        let more: usize = std::env::var("BENCH_TOOLS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        for n in 0..more {
            let tool = Tool::new(
                format!("tool_{n:03}"),
                format!("Tool number {n}: joins a name and a count"),
                schema_for_type::<ExtraArgs>(),
            );
            tool_router.add_route(ToolRoute::new(tool, |Parameters(args): Parameters<ExtraArgs>| {
                format!("{} {}", args.name, args.count)
            }));
        }
        Self { tool_router, prompt_router: Self::prompt_router() }
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

#[prompt_router]
impl Bench {
    #[prompt(description = "Greet somebody")]
    async fn greet(&self, Parameters(args): Parameters<GreetArgs>) -> Result<Vec<PromptMessage>, ErrorData> {
        Ok(vec![PromptMessage::new_text(Role::User, format!("Greet {}", args.who))])
    }
}

#[tool_handler(router = self.tool_router)]
#[prompt_handler(router = self.prompt_router)]
impl ServerHandler for Bench {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_prompts().enable_resources().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::from_build_env())
            .with_protocol_version(ProtocolVersion::V_2024_11_05)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult { resources: vec![Resource::new("bench://static", "static")], ..Default::default() })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResult::new(vec![ResourceContents::text("static text", request.uri)]).into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    runtime::runtime()?.block_on(async {
        Bench::new().serve(stdio()).await?.waiting().await?;
        Ok(())
    })
}
