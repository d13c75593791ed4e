//! How many sessions there may be, and what a reader that stalls costs.

use mcp_native::engine::{CloseReason, Limits};
use mcp_native::protocol::LoggingLevel;
use mcp_native::server::{NoArguments, RequestContext, ToolError, tool};
use mcp_native::transport::sse::{Identity, SseOptions, bearer_tokens};

use crate::common::{Seen, builder, measure, unrecorded};
use crate::raw::{Peer, open, serve};

#[tokio::test]
async fn sessions_are_limited_and_those_that_end_make_room() {
    let server = serve(&builder().build(), SseOptions::new().max_sessions(2)).await;
    let mut first = Peer::ready(&server).await;
    let second = Peer::of(&server).await;
    for _ in 0..3 {
        assert_eq!(Peer::open(server.local_addr(), "/sse", &[]).await.err().expect("refused").status(), 503);
    }
    drop(second);
    open(&server, 1).await;
    Peer::ready(&server).await.quiet().await;
    first.quiet().await;
}

#[tokio::test]
async fn sessions_of_one_identity_are_limited() {
    let tokens = bearer_tokens(|token| async move { Some(Identity::new(token)) });
    let server = serve(&builder().build(), SseOptions::new().max_sessions_per_identity(1).auth(tokens)).await;
    let (one, other) = ([("authorization", "Bearer one")], [("authorization", "Bearer other")]);
    let first = Peer::open(server.local_addr(), "/sse", &one).await.expect("let in");
    assert_eq!(Peer::open(server.local_addr(), "/sse", &one).await.err().expect("refused").status(), 429);
    let _other = Peer::open(server.local_addr(), "/sse", &other).await.expect("let in");
    drop(first);
    open(&server, 1).await;
    Peer::open(server.local_addr(), "/sse", &one).await.expect("let in again");
}

/// A reader that stalls loses its session with a reason, and its connection; memory stays bounded and others notice
/// nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_is_cut_off() {
    const MIB: usize = 1024 * 1024;
    let reasons = Seen::default();
    let told = reasons.clone();
    let mut limits = Limits::default();
    limits.outbound_bytes = MIB;
    let mcp = unrecorded()
        .limits(limits)
        .logging(LoggingLevel::Debug)
        .log_messages_per_second(u32::MAX)
        .on_session_closed(move |_, reason| told.push(matches!(reason, CloseReason::Overflow)))
        .build();
    let flood = tool("flood").blocking_handler(|_: NoArguments, context: RequestContext| {
        let text = "x".repeat(16 * 1024);
        while !context.is_cancelled() {
            context.log(LoggingLevel::Info, &text);
        }
        Err::<(), _>(ToolError::new("stopped"))
    });
    mcp.tool(flood).expect("new");
    let server = serve(&mcp, SseOptions::new()).await;
    let mut bystander = Peer::ready(&server).await;
    let mut stalled = Peer::ready(&server).await;
    let before = measure::held();
    stalled.begin("flood").await;
    assert_eq!(reasons.wait(1).await, [true], "closed because of what was not read");
    bystander.quiet().await;
    // Its connection is ended too, although nothing of it was read.
    open(&server, 1).await;
    match (before, measure::held()) {
        (Some(before), Some(after)) => {
            let grown = after.resident - before.resident;
            assert!(grown < 32 * 1024, "{grown} KiB");
        }
        _ => measure::not_measured(),
    }
    bystander.quiet().await;
    drop(stalled);
}
