//! Faults of the application: panics everywhere, handlers that block or never end (JRPC-26, FC-062).

use mcp_native::Server;
use mcp_native::engine::Diagnostic;
use mcp_native::protocol::{LoggingLevel, Prompt, PromptArgument, Resource};
use mcp_native::server::{CompletionTarget, NoArguments, RequestContext, ServerBuilder, ToolError, tool};
use serde_json::{Value, json};

use crate::common::{Door, OnDrop, Peer, Seen, builder, error_of, soon};

fn watched() -> (ServerBuilder, Seen<String>) {
    let seen = Seen::default();
    let see = seen.clone();
    let builder = builder().on_diagnostic(move |diagnostic| {
        if let Diagnostic::Panic(message) = diagnostic {
            see.push(message.clone());
        }
    });
    (builder, seen)
}

/// Panics, but looks as if it returned.
fn boom() {
    panic!("secret-detail")
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "secret-detail: destructor");
    }
}

fn panicking(server: &Server) {
    let tools = [
        tool("sync").sync_handler(|_: NoArguments, _| -> Result<(), ToolError> { panic!("secret-detail") }),
        tool("making")
            .handler(|_: NoArguments, _| -> std::future::Ready<Result<(), ToolError>> { panic!("secret-detail") }),
        tool("first").handler(|_: NoArguments, _| async {
            boom();
            Ok(())
        }),
        tool("later").handler(|_: NoArguments, _| async {
            tokio::task::yield_now().await;
            boom();
            Ok(())
        }),
        tool("blocking").blocking_handler(|_: NoArguments, _| -> Result<(), ToolError> { panic!("secret-detail") }),
        tool("value").sync_handler(|_: NoArguments, _| -> Result<(), ToolError> { std::panic::panic_any(7) }),
        tool("dropped with the future").handler(|_: NoArguments, _| {
            let bomb = Bomb;
            async move {
                let _bomb = bomb;
                std::future::ready(()).await;
                Ok(())
            }
        }),
        tool("dropped later").handler(|_: NoArguments, _| {
            let bomb = Bomb;
            async move {
                tokio::task::yield_now().await;
                let _bomb = bomb;
                Ok(())
            }
        }),
    ];
    for tool in tools {
        server.tool(tool).expect("new");
    }
    server
        .prompt(Prompt::new("p").with_arguments(vec![PromptArgument::new("a")]), |_, _| async {
            boom();
            Ok(String::new())
        })
        .expect("new");
    server.completion(CompletionTarget::prompt("p", "a"), |_, _| async {
        boom();
        Ok(Vec::<String>::new())
    });
    server
        .resource(Resource::new("x:a", "a"), |_, _| async {
            boom();
            Ok("")
        })
        .expect("new");
}

// proves: JRPC-26, FC-062, TOOL-08
#[tokio::test]
async fn jrpc_26_a_handler_that_panics_fails_its_request_and_says_nothing() {
    let (builder, seen) = watched();
    let server = builder
        .method("acme/panic", |_, _| async {
            boom();
            Err(mcp_native::Error::denied(""))
        })
        .build();
    panicking(&server);
    let peer = Peer::ready(&server).await;
    let complete = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } });
    let mut requests = vec![
        ("prompts/get", json!({ "name": "p" })),
        ("completion/complete", complete),
        ("acme/panic", Value::Null),
        ("resources/read", json!({ "uri": "x:a" })),
    ];
    let tools = ["sync", "making", "first", "later", "blocking", "value", "dropped with the future", "dropped later"];
    requests.extend(tools.map(|name| ("tools/call", json!({ "name": name }))));
    for (at, (method, params)) in requests.into_iter().enumerate() {
        let answer = peer.ask(method, params.clone()).await;
        assert_eq!(error_of(&answer), (-32603, "Internal error".to_owned()), "{params}");
        assert_eq!(seen.wait(at + 1).await.len(), at + 1, "{params} is told to the diagnostics hook once");
        peer.quiet().await;
    }
}

/// Hooks that panic harm nobody.
// proves: FC-062
#[tokio::test]
async fn hooks_that_panic_are_caught() {
    let (builder, seen) = watched();
    let server = builder
        .offer_tools(true)
        .logging(LoggingLevel::Info)
        .on_session_ready(|_| panic!("ready"))
        .on_session_closed(|_, _| panic!("closed"))
        .on_roots_changed(|_| panic!("roots"))
        .on_notification("acme/told", |_, _| panic!("told"))
        .visibility(|_, _| panic!("visibility"))
        .build();
    server.tool(tool("t").handler(|_: NoArguments, _| async { Ok("") })).expect("new");
    let peer = Peer::ready(&server).await;
    seen.wait(1).await;
    peer.notify("notifications/roots/list_changed", Value::Null).await;
    peer.notify("acme/told", Value::Null).await;
    assert_eq!(peer.error("tools/list", json!({})).await.0, -32603);
    assert_eq!(peer.error("tools/call", json!({ "name": "t" })).await.0, -32603);
    peer.quiet().await;
    assert_eq!(seen.all(), ["ready", "roots", "told", "visibility", "visibility"]);
    peer.close().await;
    soon(peer.session.closed()).await;
    assert_eq!(seen.wait(6).await[5], "closed");
}

/// A diagnostics hook that panics itself is left alone.
// proves: FC-062
#[tokio::test]
async fn the_diagnostics_hook_may_panic_too() {
    let server = builder().on_diagnostic(|_| panic!("diagnostic")).build();
    panicking(&server);
    let peer = Peer::ready(&server).await;
    assert_eq!(peer.error("tools/call", json!({ "name": "sync" })).await.0, -32603);
    peer.send_text("{").await;
    assert_eq!(error_of(&peer.response(Value::Null).await).0, -32700);
    peer.quiet().await;
}

/// The runtime that serves a call goes away: the call is answered all the same.
// proves: JRPC-26
#[test]
fn a_call_that_is_lost_with_its_runtime_is_answered() {
    let theirs = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let runs = Door::default();
    let server = builder().build();
    let (began, held) = (runs.clone(), Door::default());
    let gone = held.clone();
    let lost = tool("lost").handler(move |_: NoArguments, _| {
        let held = OnDrop(gone.clone());
        began.open();
        async move {
            let _held = held;
            std::future::pending::<Result<(), ToolError>>().await
        }
    });
    server.tool(lost).expect("new");
    let (input, their_input) = std::io::pipe().map(|(reader, writer)| (writer, reader)).expect("a pipe");
    let (output, their_output) = std::io::pipe().expect("a pipe");
    let entered = theirs.enter();
    let session = server.serve_io(their_input, their_output).expect("threads");
    drop(entered);
    let mut peer = crate::common::streams::PipePeer { input: Some(input), output: std::io::BufReader::new(output) };
    peer.handshake();
    peer.begin(1, "lost", json!({}));
    runs.wait();
    theirs.shutdown_background();
    assert_eq!(error_of(&peer.response(1)).0, -32603);
    held.wait();
    peer.request(2, "ping", Value::Null);
    assert_eq!(peer.response(2)["result"], json!({}));
    session.close();
}

/// A session's own task is stopped with its runtime: the session ends instead of lingering.
// proves: JRPC-28
#[test]
fn a_session_ends_with_the_runtime_that_turns_it() {
    let theirs = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let closed = Door::default();
    let told = closed.clone();
    let server = builder().on_session_closed(move |_, _| told.open()).build();
    let peer = theirs.block_on(Peer::ready(&server));
    theirs.shutdown_background();
    closed.wait();
    assert!(peer.session.is_closed() && server.sessions().is_empty());
}

/// Context handed on may outlive the call.
#[tokio::test]
async fn a_handler_may_go_on_in_the_background() {
    let (done, failed) = (Door::default(), Seen::default());
    let server = builder().logging(LoggingLevel::Info).build();
    let (go, fail) = (done.clone(), failed.clone());
    let spawns = tool("spawns").handler(move |_: NoArguments, context: RequestContext| {
        let (go, fail) = (go.clone(), fail.clone());
        tokio::spawn(async move {
            go.opened().await;
            context.log(LoggingLevel::Info, "afterwards");
            fail.push(context.list_roots().await.map(|roots| roots.roots.len()));
        });
        async { Ok("answered") }
    });
    server.tool(spawns).expect("new");
    let peer = Peer::ready(&server).await;
    assert_eq!(peer.call("spawns", json!({})).await, "answered");
    done.open();
    assert_eq!(peer.expect("notifications/message").await["params"]["data"], "afterwards");
    let asked = peer.expect("roots/list").await;
    peer.reply(&asked, json!({ "roots": [] })).await;
    assert!(matches!(failed.wait(1).await[..], [Ok(0)]));
}
