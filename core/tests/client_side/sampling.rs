//! Sampling (SAMP): the server asks the client's model.

use std::sync::Arc;

use mcp_native::client::HandlerContext;
use mcp_native::middleware::{BoxFuture, Message, Middleware, Next};
use mcp_native::protocol::{Content, CreateMessageRequest, CreateMessageResult, Json, StopReason};
use mcp_native::{ClientBuilder, Error, ErrorKind};
use serde_json::{Value, json};

use super::support::{Seen, builder, connected, connected_with, everything, soon};

fn minimal() -> Value {
    json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }], "maxTokens": 10 })
}

/// The minimal request with one member replaced.
fn with(member: &str, value: Value) -> Value {
    let mut params = minimal();
    params[member] = value;
    params
}

/// A client whose model answers with the number of messages, and what it was asked.
fn sampling() -> (ClientBuilder, Seen<CreateMessageRequest>) {
    let asked = Seen::new();
    let seen = asked.clone();
    let builder = builder().on_sampling(move |request, _context| {
        let text = format!("{} messages", request.messages.len());
        seen.push(request);
        async move { Ok(CreateMessageResult::text("m", text)) }
    });
    (builder, asked)
}

// proves: SAMP-01, CAP-07, FC-060
#[tokio::test]
async fn without_a_handler_there_is_no_sampling() {
    let (_client, fake) = connected().await;
    assert_eq!(fake.ask("sampling/createMessage", minimal()).await["error"]["code"], -32601);
}

// proves: SAMP-01, SAMP-02, SAMP-03, SAMP-07, SAMP-10
#[tokio::test]
async fn requests_are_checked_before_the_handler_sees_them() {
    let (builder, asked) = sampling();
    let (_client, fake) = connected_with(builder, everything()).await;
    let content = |content: Value| with("messages", json!([{ "role": "user", "content": content }]));
    let mut without_max = minimal();
    without_max.as_object_mut().expect("an object").remove("maxTokens");
    let mut without_messages = minimal();
    without_messages.as_object_mut().expect("an object").remove("messages");
    for bad in [
        without_max,
        without_messages,
        with("maxTokens", json!(1.5)),
        content(json!({ "type": "resource", "resource": { "uri": "x:1", "text": "x" } })),
        content(json!([{ "type": "text", "text": "x" }])),
        with("messages", json!([{ "role": "system", "content": { "type": "text", "text": "x" } }])),
        with("modelPreferences", json!({ "costPriority": -0.1 })),
        with("modelPreferences", json!({ "speedPriority": 1.1 })),
        with("includeContext", json!("all")),
        with("metadata", json!(5)),
    ] {
        let error = fake.ask("sampling/createMessage", bad.clone()).await["error"].clone();
        assert_eq!(error["code"], -32602, "{bad}");
    }
    assert!(asked.all().is_empty());
    for good in [
        minimal(),
        with("messages", json!([])),
        content(json!({ "type": "image", "data": "AA==", "mimeType": "image/png" })),
        with("modelPreferences", json!({ "costPriority": 0, "speedPriority": 1 })),
        with("includeContext", json!("none")),
        with("includeContext", json!("thisServer")),
        with("includeContext", json!("allServers")),
        with("includeContext", Value::Null),
    ] {
        let answer = fake.ask("sampling/createMessage", good.clone()).await;
        assert_eq!(answer["result"]["role"], "assistant", "{good}: {answer}");
    }
    assert_eq!(asked.all().len(), 8);
}

// proves: SAMP-08, SAMP-11
#[tokio::test]
async fn metadata_and_hints_reach_the_handler_unchanged() {
    let (builder, asked) = sampling();
    let (_client, fake) = connected_with(builder, everything()).await;
    let mut params = with("metadata", json!({ "a": [1] }));
    params["modelPreferences"] =
        json!({ "hints": [{ "name": "zzz" }, { "name": "sonnet", "vendor": "x" }, { "name": "haiku" }] });
    fake.ask("sampling/createMessage", params).await;
    let request = asked.all().remove(0);
    assert_eq!(request.metadata.as_ref().map(Json::get), Some("{\"a\":[1]}"));
    let preferences = request.model_preferences.expect("given");
    assert_eq!(preferences.hints[1].extra.get("vendor").map(Json::get), Some("\"x\""));
    assert_eq!(preferences.pick(&["x-haiku", "y-sonnet-1"]), Some("y-sonnet-1"));
}

// proves: SAMP-04, SAMP-09
#[tokio::test]
async fn the_stop_reason_is_open_and_optional() {
    for reason in [None, Some("weird"), Some("endTurn")] {
        let builder = builder().on_sampling(move |_request, _context| async move {
            let mut result = CreateMessageResult::text("m", "x");
            result.stop_reason = reason.map(StopReason::from);
            Ok(result)
        });
        let (_client, fake) = connected_with(builder, everything()).await;
        let mut expected = json!({ "role": "assistant", "content": { "type": "text", "text": "x" }, "model": "m" });
        if let Some(reason) = reason {
            expected["stopReason"] = json!(reason);
        }
        assert_eq!(fake.ask("sampling/createMessage", minimal()).await["result"], expected);
    }
}

// proves: SAMP-06, JRPC-26, FC-062
#[tokio::test]
async fn refusals_and_failures_have_their_codes() {
    async fn panicking(_request: CreateMessageRequest, _context: HandlerContext) -> Result<CreateMessageResult, Error> {
        panic!("secret detail")
    }
    let refusing =
        |_request, _context| async { Err(Error::new(ErrorKind::UserRejected, "User rejected sampling request")) };
    let failing = |_request, _context| async { Err(Error::new(ErrorKind::Timeout, "The model is asleep")) };
    for (builder, code) in [
        (builder().on_sampling(refusing), -1),
        (builder().on_sampling(failing), -32603),
        (builder().on_sampling(panicking), -32603),
    ] {
        let (_client, mut fake) = connected_with(builder, everything()).await;
        let error = fake.ask("sampling/createMessage", minimal()).await["error"].clone();
        assert_eq!(error["code"], code);
        assert!(!error.to_string().contains("secret"), "{error}");
        fake.quiet().await;
    }
}

/// Lets a person look at what is asked and answered: may change or refuse either.
struct Review;

impl Middleware for Review {
    fn incoming_request(self: Arc<Self>, mut request: Message, next: Next) -> BoxFuture<Result<Json, Error>> {
        Box::pin(async move {
            let mut asked: CreateMessageRequest = request.params.as_ref().expect("checked by the test").decode()?;
            let text = asked.messages[0].content.as_text().unwrap_or_default().to_owned();
            if text == "forbidden" {
                return Err(Error::new(ErrorKind::UserRejected, "User rejected sampling request"));
            }
            asked.messages[0].content = Content::text(text.replace("password", "***"));
            request.params = Some(Json::from_serialize(&asked)?);
            let mut answer: CreateMessageResult = next(request).await?.decode()?;
            let text = answer.content.as_text().unwrap_or_default().to_owned();
            if text.contains("unspeakable") {
                return Err(Error::new(ErrorKind::UserRejected, "User rejected the answer"));
            }
            answer.content = Content::text(format!("{text} (reviewed)"));
            Ok(Json::from_serialize(&answer)?)
        })
    }
}

// proves: SAMP-05, SAMP-12, SEC-04
#[tokio::test]
async fn a_person_can_see_change_and_refuse_both_ways() {
    let echo = |request: CreateMessageRequest, _context| async move {
        Ok(CreateMessageResult::text("m", request.messages[0].content.as_text().unwrap_or_default()))
    };
    let (_client, fake) = connected_with(builder().middleware(Review).on_sampling(echo), everything()).await;
    let say = |text: &str| with("messages", json!([{ "role": "user", "content": { "type": "text", "text": text } }]));
    let answer = fake.ask("sampling/createMessage", say("my password")).await;
    assert_eq!(answer["result"]["content"]["text"], "my *** (reviewed)");
    for refused in ["forbidden", "unspeakable"] {
        assert_eq!(fake.ask("sampling/createMessage", say(refused)).await["error"]["code"], -1);
    }
}

// proves: FC-061, JRPC-25, SAMP-13
#[tokio::test]
async fn a_handler_may_call_the_server_on_the_same_session() {
    let builder = builder().on_sampling(|_request, context: HandlerContext| async move {
        let result = context.client().call_tool("lookup", json!({})).await?;
        Ok(CreateMessageResult::text("m", result.texts().collect::<String>()))
    });
    let (_client, fake) = connected_with(builder, everything()).await;
    fake.send(json!({ "jsonrpc": "2.0", "id": "s", "method": "sampling/createMessage", "params": minimal() })).await;
    let call = fake.expect("tools/call").await;
    // Pings are answered while the handler waits.
    assert_eq!(fake.ask("ping", json!({})).await["result"], json!({}));
    fake.reply(&call, json!({ "content": [{ "type": "text", "text": "found" }] })).await;
    assert_eq!(fake.response("s").await["result"]["content"]["text"], "found");
}

// proves: SAMP-13, CANC-03, CANC-04, CANC-07, CANC-11, PROG-03, PROG-08
#[tokio::test]
async fn sampling_reports_progress_and_can_be_cancelled() {
    let events = Seen::new();
    let seen = events.clone();
    let builder = builder().on_sampling(move |_request, context: HandlerContext| {
        let seen = seen.clone();
        async move {
            seen.push(format!("reported: {}", context.progress(0.5, Some(1.0))));
            context.cancelled().await;
            seen.push(format!("cancelled: {}", context.is_cancelled()));
            seen.push(format!("reported: {}", context.progress(0.9, Some(1.0))));
            Ok(CreateMessageResult::text("m", "late"))
        }
    });
    let (_client, mut fake) = connected_with(builder, everything()).await;
    let params = with("_meta", json!({ "progressToken": "tok" }));
    fake.send(json!({ "jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": params })).await;
    let progress = fake.expect("notifications/progress").await;
    assert_eq!(progress["params"], json!({ "progressToken": "tok", "progress": 0.5, "total": 1.0 }));
    // Another type is another id (CANC-11), and an id that nobody knows is ignored (CANC-07).
    for other in [json!("7"), json!(8), Value::Null] {
        fake.notify("notifications/cancelled", json!({ "requestId": other })).await;
    }
    fake.quiet().await;
    assert_eq!(events.all().len(), 1);
    fake.notify("notifications/cancelled", json!({ "requestId": 7, "reason": "no more" })).await;
    assert_eq!(events.wait_for(3).await, ["reported: true", "cancelled: true", "reported: false"]);
    // No answer for it ever.
    fake.quiet().await;
}

// proves: JRPC-28
#[tokio::test]
async fn the_end_of_the_connection_tells_handlers_to_stop() {
    let events = Seen::new();
    let seen = events.clone();
    let builder = builder().on_sampling(move |_request, context: HandlerContext| {
        let seen = seen.clone();
        async move {
            seen.push("asked");
            context.cancelled().await;
            seen.push("stopped");
            Err(Error::internal("stopped"))
        }
    });
    let (client, fake) = connected_with(builder, everything()).await;
    fake.send(json!({ "jsonrpc": "2.0", "id": 7, "method": "sampling/createMessage", "params": minimal() })).await;
    events.wait_for(1).await;
    soon(client.close()).await;
    assert_eq!(events.wait_for(2).await, ["asked", "stopped"]);
}
