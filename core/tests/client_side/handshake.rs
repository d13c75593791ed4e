//! The handshake, as a client makes it (LIFE, VER, CAP).

use std::time::Duration;

use mcp_native::client::ClientState;
use mcp_native::engine::{CloseReason, Limits};
use mcp_native::protocol::{CreateMessageResult, Json, Revision, Root};
use mcp_native::{Client, Error, ErrorKind};
use serde_json::{Value, json};

use super::support::{Fake, Seen, builder, connect_to, connected, connected_with, everything, initialize_result, soon};

/// The outcome of a handshake in which the server gives this answer, and what the client wrote besides `initialize`.
async fn refused(answer: Value) -> (Error, Vec<Value>) {
    let (client, rest) = connect_to(builder(), |fake| async move {
        let initialize = fake.expect("initialize").await;
        let mut answer = answer;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = initialize["id"].clone();
        fake.send(answer).await;
        fake.rest().await
    })
    .await;
    (client.expect_err("the handshake cannot succeed"), rest)
}

// proves: LIFE-01, LIFE-02, LIFE-04, VER-01, VER-02, JRPC-03
#[tokio::test]
async fn initialize_comes_first_and_initialized_follows_once() {
    let (near, far) = mcp_native::transport::memory::pair();
    let mut fake = Fake::new(far);
    let server = async {
        let initialize = fake.next().await.expect("a first message");
        assert_eq!(
            initialize,
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "test", "version": "1.0" },
            } })
        );
        fake.reply(&initialize, initialize_result(everything())).await;
        let initialized = fake.next().await.expect("a second message");
        assert_eq!(initialized, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    };
    let (client, ()) = soon(async { tokio::join!(builder().connect(near), server) }).await;
    let client = client.expect("connected");
    let (pong, ()) = soon(async {
        tokio::join!(client.ping(), async {
            let ping = fake.expect("ping").await;
            fake.reply(&ping, json!({})).await;
        })
    })
    .await;
    pong.expect("answered");
    fake.quiet().await;
}

// proves: LIFE-05, LIFE-15, LIFE-18, FC-050
#[tokio::test]
async fn before_the_answer_only_pings_are_exchanged_and_logs_are_delivered() {
    let logs = Seen::new();
    let seen = logs.clone();
    let builder = builder().on_log(move |message| seen.push(message.data.get().to_owned()));
    let (client, ()) = connect_to(builder, |mut fake| async move {
        let initialize = fake.expect("initialize").await;
        fake.notify("notifications/message", json!({ "level": "info", "data": "early" })).await;
        // Nothing but the answers to these comes before the handshake is done.
        fake.quiet().await;
        fake.quiet().await;
        fake.reply(&initialize, initialize_result(everything())).await;
        fake.expect("notifications/initialized").await;
    })
    .await;
    client.expect("connected");
    assert_eq!(logs.all(), ["\"early\""]);
}

// proves: LIFE-12, LIFE-17
#[tokio::test]
async fn a_refusal_closes_the_connection_without_another_word() {
    let (error, rest) = refused(json!({ "error": { "code": -32603, "message": "no room" } })).await;
    assert_eq!((error.kind(), error.code()), (ErrorKind::Handshake, Some(-32603)));
    assert!(error.message().contains("no room"), "{error}");
    assert_eq!(rest, [] as [Value; 0]);
}

// proves: VER-06, LIFE-17, FC-052
#[tokio::test]
async fn an_unknown_revision_ends_the_connection_and_names_both() {
    let mut result = initialize_result(json!({}));
    result["protocolVersion"] = json!("2099-01-01");
    let (error, rest) = refused(json!({ "result": result })).await;
    assert_eq!(error.kind(), ErrorKind::VersionMismatch);
    assert!(error.message().contains("2099-01-01") && error.message().contains("2024-11-05"), "{error}");
    let data = error.data().expect("tells what each side speaks").to_value().expect("JSON");
    assert_eq!(data, json!({ "supported": ["2099-01-01"], "requested": "2024-11-05" }));
    assert_eq!(rest, [] as [Value; 0]);
}

// proves: VER-07
#[tokio::test]
async fn a_refused_revision_is_understood() {
    let data = json!({ "supported": ["2024-11-05"], "requested": "x" });
    let (error, _) =
        refused(json!({ "error": { "code": -32602, "message": "Unsupported version", "data": data } })).await;
    assert_eq!(error.kind(), ErrorKind::VersionMismatch);
    assert_eq!(error.data().expect("kept").to_value().expect("JSON"), data);
}

// proves: VER-12
#[tokio::test]
async fn the_revision_answered_is_the_one_spoken() {
    let (client, _fake) = connected().await;
    assert_eq!(client.revision(), Revision::V2024_11_05);
}

// proves: VER-01
#[tokio::test]
async fn a_revision_that_is_not_implemented_is_never_offered() {
    for revisions in [vec![Revision::V2025_06_18], vec![]] {
        let (near, _far) = mcp_native::transport::memory::pair();
        let error = builder().revisions(revisions).connect(near).await.expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
}

// proves: LIFE-12, LIFE-17, CANC-02, TIME-03, FC-055
#[tokio::test]
async fn a_mute_server_is_given_up_in_time_and_nothing_is_cancelled() {
    let limit = Duration::from_millis(100);
    let (client, rest) = connect_to(builder().connect_timeout(limit), |fake| async move {
        fake.expect("initialize").await;
        fake.rest().await
    })
    .await;
    assert_eq!(client.expect_err("given up").kind(), ErrorKind::Timeout);
    assert_eq!(rest, [] as [Value; 0]);
}

// proves: CANC-02, FC-055
#[tokio::test]
async fn dropping_the_connecting_future_cancels_nothing_on_the_wire() {
    let (near, far) = mcp_native::transport::memory::pair();
    let fake = Fake::new(far);
    let connecting = tokio::spawn(builder().connect_timeout(None).connect(near));
    fake.expect("initialize").await;
    connecting.abort();
    assert_eq!(fake.rest().await, [] as [Value; 0]);
}

// proves: LIFE-17, JRPC-28
#[tokio::test]
async fn a_server_that_hangs_up_is_not_waited_for() {
    let (client, ()) = connect_to(builder(), |fake| async move {
        fake.expect("initialize").await;
        fake.close().await;
    })
    .await;
    assert_eq!(client.expect_err("gone").kind(), ErrorKind::Closed);
}

// proves: LIFE-14
#[tokio::test]
async fn instructions_are_exposed_verbatim_or_not_at_all() {
    let text = " abc\n\u{1b}[31m é";
    for (given, expected) in [(json!(text), Some(text)), (Value::Null, None)] {
        let (client, ()) = connect_to(builder(), |fake| async move {
            let initialize = fake.expect("initialize").await;
            let mut result = initialize_result(json!({}));
            if !given.is_null() {
                result["instructions"] = given;
            }
            fake.reply(&initialize, result).await;
            fake.expect("notifications/initialized").await;
        })
        .await;
        assert_eq!(client.expect("connected").instructions().as_deref(), expected);
    }
}

// proves: CAP-02, CAP-05, LIFE-17
#[tokio::test]
async fn what_was_not_declared_is_not_asked_for() {
    let (client, mut fake) = connected_with(builder(), json!({ "tools": {} })).await;
    for error in [
        client.list_prompts(None).await.expect_err("no prompts"),
        client.list_resources(None).await.expect_err("no resources"),
        client.read_resource("x:1").await.expect_err("no resources"),
        client.set_log_level(mcp_native::protocol::LoggingLevel::Info).await.expect_err("no logging"),
        client.request("prompts/get", None).await.expect_err("no prompts, raw or not"),
    ] {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
    fake.quiet().await;
    let listing = client.list_tools(None).send().expect("tools are declared");
    fake.expect("tools/list").await;
    drop(listing);
}

// proves: CAP-05
#[tokio::test]
async fn a_lenient_client_asks_all_the_same() {
    let (client, fake) = connected_with(builder().lenient(true), json!({})).await;
    let listing = client.list_tools(None).send().expect("sent");
    let request = fake.expect("tools/list").await;
    fake.reply(&request, json!({ "tools": [] })).await;
    soon(listing).await.expect("answered");
}

// proves: CAP-03
#[tokio::test]
async fn the_two_flags_of_resources_are_independent() {
    for (resources, allowed) in [
        (json!({}), false),
        (json!({ "subscribe": true }), true),
        (json!({ "listChanged": true }), false),
        (json!({ "subscribe": true, "listChanged": true }), true),
    ] {
        let (client, mut fake) = connected_with(builder(), json!({ "resources": resources })).await;
        match client.subscribe("x:1").send() {
            Ok(pending) => {
                assert!(allowed, "{resources}");
                fake.expect("resources/subscribe").await;
                drop(pending);
            }
            Err(error) => {
                assert!(!allowed, "{resources}");
                assert_eq!(error.kind(), ErrorKind::Unsupported);
                fake.quiet().await;
            }
        }
    }
}

// proves: CAP-04, CAP-12
#[tokio::test]
async fn unknown_capabilities_are_kept_visible() {
    let declared = json!({ "x-foo": { "a": 1 }, "experimental": { "y": {} }, "future": null });
    let (client, _fake) = connected_with(builder(), declared).await;
    let capabilities = client.capabilities();
    assert_eq!(capabilities.extra.get("x-foo").map(Json::get), Some("{\"a\":1}"));
    assert!(capabilities.experimental.expect("kept").contains_key("y"));
    let peer = client.peer().expect("known");
    assert_eq!(peer.capabilities["x-foo"], json!({ "a": 1 }));
    assert!(peer.raw.get().contains("\"future\":null"), "the message itself is there as it came");
}

// proves: CAP-11
#[tokio::test]
async fn a_capability_is_an_object_or_absent() {
    let (error, rest) = refused(json!({ "result": initialize_result(json!({ "tools": true })) })).await;
    assert_eq!(error.kind(), ErrorKind::Handshake);
    assert!(error.message().contains("tools"), "{error}");
    assert_eq!(rest, [] as [Value; 0]);
    let (client, mut fake) = connected_with(builder(), json!({ "tools": null })).await;
    assert_eq!(client.list_tools(None).await.expect_err("absent").kind(), ErrorKind::Unsupported);
    fake.quiet().await;
}

// proves: CAP-01, CAP-08, CAP-09, SAMP-01, ROOT-01, SEC-04
#[tokio::test]
async fn declared_is_what_there_are_handlers_for() {
    let sampling = |_request, _context| async { Ok(CreateMessageResult::text("m", "x")) };
    let callback = |_context| async { Ok(Vec::<Root>::new()) };
    for (builder, declared) in [
        (builder(), json!({})),
        (builder().on_sampling(sampling), json!({ "sampling": {} })),
        (builder().roots([]), json!({ "roots": { "listChanged": true } })),
        (builder().roots([]).announce_roots(false), json!({ "roots": {} })),
        (builder().on_roots(callback), json!({ "roots": {} })),
        (builder().on_roots(callback).announce_roots(true), json!({ "roots": { "listChanged": true } })),
        (builder().experimental("e", json!({ "v": 1 })), json!({ "experimental": { "e": { "v": 1 } } })),
    ] {
        let (client, initialize) = connect_to(builder, |fake| async move { fake.handshake(json!({})).await }).await;
        client.expect("connected");
        assert_eq!(initialize["params"]["capabilities"], declared);
    }
}

// proves: CAP-04
#[tokio::test]
async fn an_experimental_capability_is_an_object() {
    let (near, _far) = mcp_native::transport::memory::pair();
    let error = builder().experimental("e", Value::Null).connect(near).await.expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

// proves: JRPC-28, DOWN-01
#[tokio::test]
async fn closing_says_nothing_to_the_server_and_is_final() {
    let states = Seen::new();
    let seen = states.clone();
    let (client, fake) =
        connected_with(builder().on_state(move |state| seen.push(state.to_string())), everything()).await;
    let pending = client.call_tool("slow", ()).send().expect("sent");
    fake.expect("tools/call").await;
    assert!(!client.is_closed());
    soon(client.close()).await;
    assert_eq!(soon(pending).await.expect_err("closed").kind(), ErrorKind::Closed);
    assert_eq!(fake.rest().await, [] as [Value; 0]);
    assert!(client.is_closed());
    assert!(matches!(soon(client.closed()).await, CloseReason::Local));
    assert_eq!(client.ping().await.expect_err("closed").kind(), ErrorKind::Closed);
    soon(client.close()).await;
    assert_eq!(states.all(), ["connecting", "ready", "closed: closed by this side"]);
    assert!(client.server_info().is_some_and(|info| info.name == "fake"), "what was learned stays known");
}

#[tokio::test]
async fn the_state_can_be_watched() {
    let (client, fake) = connected().await;
    let mut states = client.state();
    assert!(matches!(soon(states.next()).await, Some(ClientState::Ready)));
    fake.close().await;
    assert!(matches!(soon(states.next()).await, Some(ClientState::Closed(CloseReason::Peer { .. }))));
    assert!(soon(states.next()).await.is_none());
}

// proves: DOWN-07
#[tokio::test]
async fn dropping_the_last_handle_ends_the_connection() {
    let (client, fake) = connected().await;
    let other = client.clone();
    drop(client);
    let (pong, ()) = soon(async {
        tokio::join!(other.ping(), async {
            let ping = fake.expect("ping").await;
            fake.reply(&ping, json!({})).await;
        })
    })
    .await;
    pong.expect("a clone keeps the connection open");
    drop(other);
    assert_eq!(fake.rest().await, [] as [Value; 0]);
}

// proves: JRPC-29
#[tokio::test]
async fn a_message_beyond_the_limit_is_not_sent() {
    let mut limits = Limits::default();
    limits.message_out = 1000;
    let (client, mut fake) = connected_with(builder().limits(limits), everything()).await;
    let error = client.call_tool("t", json!({ "x": "y".repeat(2000) })).await.expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    fake.quiet().await;
}

#[tokio::test]
async fn no_runtime_is_needed() {
    // The whole exchange on a thread that is not inside any runtime.
    let (near, far) = mcp_native::transport::memory::pair();
    let fake = Fake::new(far);
    let server = tokio::spawn(async move {
        fake.handshake(everything()).await;
        let ping = fake.expect("ping").await;
        fake.reply(&ping, json!({})).await;
        fake.rest().await
    });
    std::thread::spawn(move || {
        block_on(async move {
            let client = Client::builder("test", "1").connect(near).await.expect("connected");
            client.ping().timeout(Duration::from_secs(10)).await.expect("answered");
            client.close().await;
        });
    });
    soon(server).await.expect("the server saw all of it");
}

/// The simplest executor there is.
fn block_on(future: impl Future<Output = ()>) {
    struct Unpark(std::thread::Thread);
    impl std::task::Wake for Unpark {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = std::pin::pin!(future);
    let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
    let mut context = std::task::Context::from_waker(&waker);
    while future.as_mut().poll(&mut context).is_pending() {
        std::thread::park();
    }
}
