//! Consent, separation and secrecy (SEC, TOOL-13).

use std::sync::Arc;

use mcp_native::middleware::{BoxFuture, Flow, Message, Middleware, Next};
use mcp_native::protocol::{CreateMessageResult, Json, LoggingLevel, Meta, Method, Root};
use mcp_native::{Error, ErrorKind};
use serde_json::{Value, json};

use super::support::{Seen, builder, connected, connected_with, everything, soon};

/// Asks before each tool call, and keeps an audit log of inputs and outcomes.
struct Approval {
    approve: fn(&Json) -> bool,
    audit: Seen<String>,
}

impl Middleware for Approval {
    fn outgoing_request(self: Arc<Self>, request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        if request.method != Method::CallTool {
            return next(request);
        }
        Box::pin(async move {
            let params = request.params.clone().unwrap_or_else(Json::empty_object);
            let approved = (self.approve)(&params);
            let outcome = if approved { next(request).await } else { Err(Error::denied("the person said no")) };
            let shown = outcome.as_ref().map_or_else(ToString::to_string, |result| result.get().to_owned());
            self.audit.push(format!("{params} -> {shown}"));
            outcome
        })
    }
}

// proves: TOOL-13, SEC-01, SEC-03
#[tokio::test]
async fn nothing_is_called_before_it_was_approved() {
    let audit = Seen::new();
    let approve = |params: &Json| !params.get().contains("rm -rf");
    let approval = Approval { approve, audit: audit.clone() };
    let (client, mut fake) = connected_with(builder().middleware(approval), everything()).await;
    let error = client.call_tool("sh", json!({ "c": "rm -rf /" })).await.expect_err("denied");
    assert_eq!((error.kind(), error.message()), (ErrorKind::Denied, "the person said no"));
    fake.quiet().await;
    let (result, ()) = soon(async {
        tokio::join!(client.call_tool("sh", json!({ "c": "ls" })), async {
            let request = fake.expect("tools/call").await;
            fake.reply(&request, json!({ "content": [] })).await;
        })
    })
    .await;
    result.expect("approved");
    assert_eq!(
        audit.all(),
        [
            "{\"name\":\"sh\",\"arguments\":{\"c\":\"rm -rf /\"}} -> the person said no",
            "{\"name\":\"sh\",\"arguments\":{\"c\":\"ls\"}} -> {\"content\":[]}",
        ]
    );
}

/// Lets nothing through in either direction.
struct DenyAll;

impl Middleware for DenyAll {
    fn incoming_request(self: Arc<Self>, _request: Message, _next: Next) -> BoxFuture<Result<Json, Error>> {
        Box::pin(std::future::ready(Err(Error::denied("no"))))
    }

    fn outgoing_request(self: Arc<Self>, _request: Message, _next: Next) -> BoxFuture<Result<Json, Error>> {
        Box::pin(std::future::ready(Err(Error::denied("no"))))
    }

    fn incoming_notification(&self, _notification: &mut Message) -> Flow {
        Flow::Drop
    }

    fn outgoing_notification(&self, _notification: &mut Message) -> Flow {
        Flow::Drop
    }
}

// proves: SEC-01
#[tokio::test]
async fn a_policy_can_refuse_everything() {
    let notes = Seen::new();
    let seen = notes.clone();
    let builder = builder()
        .middleware(DenyAll)
        .roots([Root::new("file:///a")])
        .on_sampling(|_request, _context| async { Ok(CreateMessageResult::text("m", "x")) })
        .on_notification(move |method, _params| seen.push(method.to_owned()));
    let (client, mut fake) = connected_with(builder, everything()).await;
    assert_eq!(client.call_tool("t", json!({})).await.expect_err("denied").kind(), ErrorKind::Denied);
    client.set_roots([Root::new("file:///b")]).expect("the list is set");
    let sampling = json!({ "messages": [], "maxTokens": 1 });
    for (method, params) in [("sampling/createMessage", sampling), ("roots/list", json!({}))] {
        assert_eq!(fake.ask(method, params).await["error"]["code"], -32603, "{method}");
    }
    fake.notify("notifications/tools/list_changed", json!({})).await;
    fake.quiet().await;
    assert_eq!(notes.all(), [] as [String; 0]);
}

// proves: CANC-10, CANC-12
#[tokio::test]
async fn a_call_through_middleware_is_cancelled_like_any_other() {
    let approval = Approval { approve: |_| true, audit: Seen::new() };
    let (client, mut fake) = connected_with(builder().middleware(approval), everything()).await;
    let mut pending = client.call_tool("t", json!({})).send().expect("on its way");
    assert_eq!(pending.id(), None);
    let request = soon(async {
        tokio::select! {
            outcome = &mut pending => panic!("no answer was given: {outcome:?}"),
            request = fake.expect("tools/call") => request,
        }
    })
    .await;
    assert_eq!(pending.id().map(|id| id.to_string()), Some(request["id"].to_string()));
    pending.cancel(Some("why"));
    assert_eq!(
        fake.expect("notifications/cancelled").await["params"],
        json!({ "requestId": request["id"], "reason": "why" })
    );
    assert_eq!(soon(pending).await.expect_err("cancelled").kind(), ErrorKind::Cancelled);
    fake.quiet().await;
}

// proves: SEC-02, SEC-05, LIFE-16
#[tokio::test]
async fn two_clients_in_one_process_know_nothing_of_each_other() {
    let (a, fake_a) = connected().await;
    let (b, mut fake_b) = connected().await;
    assert_ne!(a.session_id(), b.session_id());
    let pending = b.call_tool("t", json!({})).send().expect("sent");
    let request = fake_b.expect("tools/call").await;
    // The same id on the other connection, cancelled there.
    let same = a.call_tool("t", json!({})).send().expect("sent");
    assert_eq!(fake_a.expect("tools/call").await["id"], request["id"]);
    drop(same);
    fake_a.expect("notifications/cancelled").await;
    // What is read from one server is told to no other.
    let reading = a.read_resource("x:1").send().expect("sent");
    let read = fake_a.expect("resources/read").await;
    fake_a.reply(&read, json!({ "contents": [{ "uri": "x:1", "text": "private" }] })).await;
    soon(reading).await.expect("read");
    let level = a.set_log_level(LoggingLevel::Error).send().expect("sent");
    let set = fake_a.expect("logging/setLevel").await;
    fake_a.reply(&set, json!({})).await;
    soon(level).await.expect("set");
    soon(a.close()).await;
    fake_b.quiet().await;
    fake_b.reply(&request, json!({ "content": [] })).await;
    soon(pending).await.expect("unharmed");
}

#[tokio::test]
async fn trace_context_goes_out_with_the_request() {
    let (client, fake) = connected().await;
    let meta = Meta::new()
        .with("traceparent", json!("00-a"))
        .with("tracestate", json!("x=1"))
        .with("progressToken", json!("mine"));
    let pending = client.call_tool("t", json!({})).meta(meta).send().expect("sent");
    let request = fake.expect("tools/call").await;
    let sent: &Value = &request["params"]["_meta"];
    assert_eq!(
        sent,
        &json!({ "traceparent": "00-a", "tracestate": "x=1" }),
        "the progress token is not the application's"
    );
    drop(pending);
}

// proves: SEC-07
#[test]
fn the_documentation_names_every_place_of_consent() {
    let documentation = include_str!("../../src/client/mod.rs");
    let section = documentation.split("# Consent and trust").nth(1).and_then(|rest| rest.split("//! # ").next());
    let section = section.expect("a section on security");
    for hook in
        ["Middleware", "outgoing_request", "incoming_request", "on_sampling", "on_roots", "allow_root", "redact"]
    {
        assert!(section.contains(hook), "the section does not name `{hook}`");
    }
    for id in ["SEC-01", "SEC-02", "SEC-03", "SEC-04"] {
        assert!(section.contains(id), "nothing is said of {id}");
    }
}
