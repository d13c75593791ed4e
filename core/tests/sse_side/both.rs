//! Our client and our server.

use mcp_native::protocol::{CreateMessageRequest, CreateMessageResult, SamplingMessage};
use mcp_native::server::{NoArguments, RequestContext, ToolError, tool};
use mcp_native::transport::sse::{Identity, SseClientOptions, SseOptions, bearer_tokens};
use mcp_native::{Client, ErrorKind};
use serde_json::json;

use crate::common::{builder, soon};
use crate::raw::{open, serve};

// proves: SSE-01, SSE-03, SSE-04, SSE-07, FC-036
#[tokio::test]
async fn calls_go_both_ways_and_closing_leaves_nothing() {
    let mcp = builder().build();
    let ask = tool("ask").handler(|_: NoArguments, context: RequestContext| async move {
        let question = CreateMessageRequest::new([SamplingMessage::user("2 + 2?")], 10);
        let answer = context.sample(question).await.map_err(|error| ToolError::new(error.to_string()))?;
        Ok(answer.model)
    });
    mcp.tool(ask).expect("new");
    let tokens = bearer_tokens(|token| async move { (token == "secret").then(|| Identity::new("me")) });
    let server = serve(&mcp, SseOptions::new().auth(tokens)).await;
    let url = format!("http://{}/sse", server.local_addr());
    let options = SseClientOptions::new().header("authorization", "Bearer secret").expect("a header");
    let mut clients = Vec::new();
    for number in 0..5 {
        let model = format!("model {number}");
        let client = Client::builder("test", "1")
            .on_sampling(move |_, _| {
                let model = model.clone();
                async move { Ok(CreateMessageResult::text(model, "4")) }
            })
            .sse(&url, options.clone());
        clients.push(soon(client).await.expect("connected"));
    }
    for (number, client) in clients.iter().enumerate() {
        let result = soon(client.call_tool("ask", json!({})).into_future()).await.expect("answered");
        assert_eq!(result.texts().collect::<String>(), format!("model {number}"));
    }
    assert_eq!(server.handle().sessions(), 5);
    for client in &clients {
        soon(client.close()).await;
    }
    open(&server, 0).await;
    let refused = Client::builder("test", "1").sse(&url, SseClientOptions::new());
    assert_eq!(soon(refused).await.expect_err("no token").kind(), ErrorKind::Http);
}
