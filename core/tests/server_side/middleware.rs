//! The application's code around requests and notifications (TOOL-12).

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use mcp_native::middleware::{BoxFuture, Flow, Message, Middleware, Next};
use mcp_native::protocol::{Json, Method};
use mcp_native::server::{NoArguments, RequestContext, ServerBuilder, tool};
use mcp_native::{Error, Server};
use serde_json::{Value, json};

use crate::common::{Peer, Seen, builder};

fn server(builder: ServerBuilder) -> (Server, Arc<AtomicU32>) {
    let server = builder.build();
    let runs = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&runs);
    let counted = tool("t").handler(move |_: NoArguments, _| {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok("the key is sk-123") }
    });
    server.tool(counted).expect("new");
    let count = Arc::clone(&runs);
    let blocking = tool("blocking").blocking_handler(move |_: NoArguments, _| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok("blocked")
    });
    server.tool(blocking).expect("new");
    (server, runs)
}

/// At most three calls a session.
#[derive(Default)]
struct Limiter(Mutex<std::collections::HashMap<Arc<str>, u32>>);

impl Middleware for Limiter {
    fn incoming_request(self: Arc<Self>, request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        if request.method == Method::CallTool {
            let mut calls = self.0.lock().expect("no panic");
            let calls = calls.entry(Arc::clone(&request.session_id)).or_default();
            *calls += 1;
            if *calls > 3 {
                return Box::pin(async { Err(Error::denied("Too many calls")) });
            }
        }
        next(request)
    }
}

// proves: TOOL-12, COMP-06
#[tokio::test]
async fn tool_12_a_limiter_refuses_calls() {
    let (server, runs) = server(builder().middleware(Limiter::default()));
    for _ in 0..2 {
        let peer = Peer::ready(&server).await;
        let mut refused = 0;
        for _ in 0..10 {
            refused += u32::from(peer.ask("tools/call", json!({ "name": "t" })).await.get("error").is_some());
        }
        assert_eq!(refused, 7);
    }
    assert_eq!(runs.load(Ordering::Relaxed), 6);
}

/// Lets in whom it knows, and takes secrets out of results.
struct Guard;

impl Middleware for Guard {
    fn incoming_request(self: Arc<Self>, request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        if request.peer.as_ref().is_none_or(|peer| !peer.capabilities.contains_key("sampling")) {
            return Box::pin(async { Err(Error::denied("Not for you")) });
        }
        Box::pin(async {
            let result = next(request).await?;
            Ok(Json::parse(result.get().replace("sk-123", "[secret]"))?)
        })
    }
}

// proves: TOOL-12, RES-09
#[tokio::test]
async fn tool_12_access_is_controlled_and_output_filtered() {
    let (server, runs) = server(builder().middleware(Guard));
    let stranger = Peer::ready_with(&server, json!({})).await;
    assert_eq!(stranger.error("tools/call", json!({ "name": "t" })).await, (-32603, "Not for you".to_owned()));
    stranger.quiet().await;
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    let friend = Peer::ready(&server).await;
    assert_eq!(friend.call("t", json!({})).await, "the key is [secret]");
    assert_eq!(friend.call("blocking", json!({})).await, "blocked");
}

/// Writes down what passes.
struct Layer(&'static str, Seen<String>);

impl Middleware for Layer {
    fn incoming_request(self: Arc<Self>, request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        Box::pin(async move {
            self.1.push(format!("{} > {}", self.0, request.method));
            let result = next(request).await;
            self.1.push(format!("{} < {}", self.0, result.is_ok()));
            result
        })
    }

    fn outgoing_request(self: Arc<Self>, request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        self.1.push(format!("{} asks {}", self.0, request.method));
        next(request)
    }

    fn incoming_notification(&self, notification: &mut Message) -> Flow {
        self.1.push(format!("{} hears {}", self.0, notification.method));
        if notification.method.as_str() == "acme/drop" { Flow::Drop } else { Flow::Continue }
    }

    fn outgoing_notification(&self, notification: &mut Message) -> Flow {
        self.1.push(format!("{} tells {}", self.0, notification.method));
        notification.params = Some(Json::from(json!({ "by": self.0 })));
        Flow::Continue
    }
}

/// The first layer is the outermost for what comes in and what goes out.
#[tokio::test]
async fn layers_lie_around_each_other_in_order() {
    let (seen, heard) = (Seen::default(), Seen::default());
    let hear = heard.clone();
    let server = builder()
        .middleware(Layer("outer", seen.clone()))
        .middleware(Layer("inner", seen.clone()))
        .on_notification("acme/told", move |_, _| hear.push("told"))
        .on_notification("acme/drop", |_, _| unreachable!("it was dropped"))
        .build();
    let ask = tool("ask").handler(|_: NoArguments, context: RequestContext| async move {
        context.list_roots().await?;
        Ok("")
    });
    server.tool(ask).expect("new");
    let peer = Peer::ready(&server).await;
    let id = peer.begin("ask", json!({})).await;
    let asked = peer.expect("roots/list").await;
    peer.reply(&asked, json!({ "roots": [] })).await;
    peer.response(id).await;
    peer.session.notify("acme/news", None).expect("connected");
    assert_eq!(peer.expect("acme/news").await["params"], json!({ "by": "inner" }));
    peer.notify("acme/drop", Value::Null).await;
    peer.notify("acme/told", Value::Null).await;
    peer.quiet().await;
    assert_eq!(heard.all(), ["told"]);
    let expected = [
        "outer > tools/call",
        "inner > tools/call",
        "outer asks roots/list",
        "inner asks roots/list",
        "inner < true",
        "outer < true",
        "outer tells acme/news",
        "inner tells acme/news",
        "outer hears acme/drop",
        "outer hears acme/told",
        "inner hears acme/told",
    ];
    assert_eq!(seen.all(), expected, "the handshake and pings are not the application's affair");
}

/// May answer by itself, change what is asked, and refuse what this side asks; what it makes must be an object.
struct Meddler;

impl Middleware for Meddler {
    fn incoming_request(self: Arc<Self>, mut request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        let params: Value = request.params.as_ref().map_or(Value::Null, |params| params.to_value().expect("JSON"));
        match params["name"].as_str() {
            Some("cached") => Box::pin(async { Ok(Json::from(json!({ "content": [] }))) }),
            Some("alias") => {
                request.params = Some(Json::from(json!({ "name": "t" })));
                next(request)
            }
            Some("list") => Box::pin(async { Ok(Json::from(json!([]))) }),
            Some("panics") => panic!("secret-detail"),
            Some("panics later") => Box::pin(async {
                tokio::task::yield_now().await;
                panic!("secret-detail")
            }),
            _ => next(request),
        }
    }

    fn outgoing_request(self: Arc<Self>, _request: Message, _next: Next) -> BoxFuture<Result<Json, Error>> {
        Box::pin(async { Err(Error::denied("Nothing is asked here")) })
    }
}

// proves: FC-062, JRPC-26
#[tokio::test]
async fn middleware_may_answer_change_and_refuse_and_its_panics_are_caught() {
    let (server, runs) = server(builder().middleware(Meddler));
    let peer = Peer::ready(&server).await;
    let call = |name: &'static str| peer.ask("tools/call", json!({ "name": name }));
    assert_eq!(call("cached").await["result"], json!({ "content": [] }));
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert_eq!(call("alias").await["result"]["content"][0]["text"], "the key is sk-123");
    for broken in ["list", "panics", "panics later"] {
        let answer = call(broken).await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert!(!answer.to_string().contains("secret-detail"), "{answer}");
    }
    let refused = crate::common::soon(peer.session.list_roots().into_future()).await;
    assert_eq!(refused.expect_err("refused").message(), "Nothing is asked here");
    peer.quiet().await;
}
