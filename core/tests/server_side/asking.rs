//! Requests of the server to its client (SAMP, ROOT), and what the application says and hears beyond the protocol.

use std::sync::Arc;
use std::time::Duration;

use mcp_native::engine::TimeLimit;
use mcp_native::protocol::{AudioContent, Content, CreateMessageRequest, Json, Meta, SamplingMessage};
use mcp_native::server::{NoArguments, RequestContext, ToolError, tool};
use mcp_native::{ErrorKind, Server};
use serde_json::{Value, json};

use crate::common::{Peer, Seen, builder, everything, soon};

fn question() -> CreateMessageRequest {
    CreateMessageRequest::new(vec![SamplingMessage::user("q")], 10_u64)
}

fn asking() -> (Server, Seen<f64>, Seen<ErrorKind>) {
    let (progress, failures) = (Seen::default(), Seen::default());
    let server = builder().build();
    let (reports, failed) = (progress.clone(), failures.clone());
    let ask = tool("ask").handler(move |_: NoArguments, context: RequestContext| {
        let (reports, failed) = (reports.clone(), failed.clone());
        async move {
            let asked = context.sample(question()).on_progress(move |progress| reports.push(progress.progress)).await;
            let answer = asked.inspect_err(|error| failed.push(error.kind()))?;
            Ok(answer.content.as_text().unwrap_or_default().to_owned())
        }
    });
    server.tool(ask).expect("new");
    (server, progress, failures)
}

// proves: SAMP-13, JRPC-25, JRPC-07, FC-061, FC-048
#[tokio::test]
async fn samp_13_a_tool_samples_while_it_is_called() {
    let (server, progress, _) = asking();
    let peer = Peer::ready(&server).await;
    let call = peer.begin("ask", json!({})).await;
    let asked = peer.expect("sampling/createMessage").await;
    // The same number in both directions.
    assert_eq!(asked["id"], call);
    let params = &asked["params"];
    assert_eq!((&params["maxTokens"], &params["messages"][0]["content"]["text"]), (&json!(10), &json!("q")));
    let token = params["_meta"]["progressToken"].clone();
    peer.notify("notifications/progress", json!({ "progressToken": token, "progress": 0.5 })).await;
    peer.quiet().await;
    let answer = json!({ "role": "assistant", "content": { "type": "text", "text": "a" }, "model": "m" });
    peer.reply(&asked, answer).await;
    assert_eq!(peer.response(call).await["result"]["content"][0]["text"], "a");
    assert_eq!(progress.all(), [0.5]);
}

// proves: SAMP-13, CANC-10, CANC-12
#[tokio::test]
async fn samp_13_cancelling_the_call_cancels_what_it_asked() {
    let (server, _, failures) = asking();
    let peer = Peer::ready(&server).await;
    let call = peer.begin("ask", json!({})).await;
    let asked = peer.expect("sampling/createMessage").await;
    peer.cancel(call).await;
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert_eq!(failures.wait(1).await, [ErrorKind::Cancelled]);
    peer.reply(&asked, json!({ "role": "assistant", "content": { "type": "text", "text": "late" }, "model": "m" }))
        .await;
    peer.quiet().await;
}

// proves: SAMP-14, SAMP-03, SAMP-07, CAP-05
#[tokio::test]
async fn samp_14_what_this_revision_cannot_ask_is_refused_before_it_is_sent() {
    let peer = Peer::ready(&builder().build()).await;
    let with = |content: Content| CreateMessageRequest::new(vec![SamplingMessage::user(content)], 10_u64);
    let audio = with(AudioContent::from_bytes([1], "audio/wav").expect("a type").into());
    let resource = with(Content::resource(mcp_native::protocol::ResourceContents::text("x:a", "a")));
    let mut tools = question();
    tools.extra.insert("tools".to_owned(), Json::parse("[]").expect("JSON"));
    let mut choice = question();
    choice.extra.insert("toolChoice".to_owned(), Json::parse("{}").expect("JSON"));
    for request in [audio, resource, tools, choice] {
        let error = soon(peer.session.sample(request.clone()).into_future()).await.expect_err("cannot be asked");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error} {request:?}");
    }
    peer.quiet().await;
    let bare = Peer::ready_with(&builder().build(), json!({ "roots": null })).await;
    for kind in [
        soon(bare.session.sample(question()).into_future()).await.expect_err("not offered").kind(),
        soon(bare.session.list_roots().into_future()).await.expect_err("not offered").kind(),
    ] {
        assert_eq!(kind, ErrorKind::Unsupported);
    }
    bare.quiet().await;
}

// proves: ROOT-08, FC-076
#[tokio::test]
async fn root_08_roots_are_kept_and_asked_anew_when_they_change() {
    let peer = Peer::ready(&builder().build()).await;
    let roots = |peer: &Peer| {
        let session = peer.session.clone();
        tokio::spawn(async move {
            session.roots().await.map(|roots| roots.roots.iter().map(|root| root.uri.clone()).collect::<Vec<_>>())
        })
    };
    // Nobody wanted them so far.
    peer.notify("notifications/roots/list_changed", Value::Null).await;
    peer.quiet().await;
    let first = roots(&peer);
    let asked = peer.expect("roots/list").await;
    peer.reply(&asked, json!({ "roots": [{ "uri": "file:///a" }] })).await;
    assert_eq!(first.await.expect("no panic").expect("told"), ["file:///a"]);
    assert_eq!(roots(&peer).await.expect("no panic").expect("kept"), ["file:///a"]);
    peer.quiet().await;
    // However often they change, there is one question at a time, and the last answer counts.
    for _ in 0..100 {
        peer.notify("notifications/roots/list_changed", Value::Null).await;
    }
    let asked = peer.expect("roots/list").await;
    peer.notify("notifications/roots/list_changed", Value::Null).await;
    peer.quiet().await;
    peer.reply(&asked, json!({ "roots": [{ "uri": "file:///old" }] })).await;
    let asked = peer.expect("roots/list").await;
    peer.reply(&asked, json!({ "roots": [{ "uri": "file:///b" }] })).await;
    peer.quiet().await;
    assert_eq!(soon(roots(&peer)).await.expect("no panic").expect("kept"), ["file:///b"]);
    peer.quiet().await;
}

/// Of what traces a request across processes, a handler's own requests carry what its request carried.
#[tokio::test]
async fn a_trace_goes_on_into_what_a_handler_asks() {
    let server = builder().build();
    let ask = tool("ask").handler(|_: NoArguments, context: RequestContext| async move {
        context.list_roots().await?;
        context.list_roots().meta(Meta::default().with("own", json!(1))).await?;
        Ok("")
    });
    server.tool(ask).expect("new");
    let peer = Peer::ready(&server).await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let meta = json!({ "traceparent": trace, "tracestate": "a=b", "other": 1 });
    let id = peer.request("tools/call", json!({ "name": "ask", "_meta": meta })).await;
    let asked = peer.expect("roots/list").await;
    assert_eq!(asked["params"]["_meta"], json!({ "traceparent": trace, "tracestate": "a=b" }));
    peer.reply(&asked, json!({ "roots": [] })).await;
    let asked = peer.expect("roots/list").await;
    assert_eq!(asked["params"]["_meta"], json!({ "own": 1 }));
    peer.reply(&asked, json!({ "roots": [] })).await;
    peer.response(id).await;
    // Without a trace there is nothing to carry.
    peer.begin("ask", json!({})).await;
    assert_eq!(peer.expect("roots/list").await.get("params"), None);
}

// proves: TIME-01, TIME-03, JRPC-27
#[tokio::test]
async fn time_01_a_question_has_a_time_limit_and_errors_arrive_as_they_are() {
    let peer = Peer::ready(&builder().build()).await;
    let ask = peer.session.list_roots().time_limit(TimeLimit::of(Duration::from_millis(50)));
    let pending = tokio::spawn(ask.into_future());
    let asked = peer.expect("roots/list").await;
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    assert_eq!(pending.await.expect("no panic").expect_err("too late").kind(), ErrorKind::Timeout);
    let pending = tokio::spawn(peer.session.list_roots().into_future());
    let asked = peer.expect("roots/list").await;
    peer.send(
        json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -31999, "message": "m", "data": { "k": 1 } } }),
    )
    .await;
    let error = pending.await.expect("no panic").expect_err("refused");
    assert_eq!((error.code(), error.message()), (Some(-31999), "m"));
    assert_eq!(error.data().map(Json::get), Some(r#"{"k":1}"#));
}

/// Methods and notifications of the application's own, in both directions.
#[tokio::test]
async fn the_application_has_words_of_its_own() {
    let heard = Seen::default();
    let hear = heard.clone();
    let server = builder()
        .on_notification("acme/told", move |session, params| {
            hear.push(params.map(|params| params.get().to_owned()));
            session.notify("acme/news", None).expect("connected");
        })
        .build();
    let ask = tool("ask").handler(|_: NoArguments, context: RequestContext| async move {
        context.notify("acme/news", Some(Json::from(json!({ "n": 1 })))).map_err(ToolError::protocol)?;
        Ok(context.request("acme/question", Some(Json::from(json!({ "q": 1 })))).await?)
    });
    server.tool(ask).expect("new");
    let peer = Peer::ready(&server).await;
    peer.notify("acme/told", json!({ "x": 1 })).await;
    peer.expect("acme/news").await;
    peer.notify("acme/told", Value::Null).await;
    peer.expect("acme/news").await;
    assert_eq!(heard.all(), [Some(r#"{"x":1}"#.to_owned()), None]);
    let id = peer.begin("ask", json!({})).await;
    assert_eq!(peer.expect("acme/news").await["params"], json!({ "n": 1 }));
    let asked = peer.expect("acme/question").await;
    assert_eq!(asked["params"], json!({ "q": 1 }));
    peer.reply(&asked, json!({ "a": [1] })).await;
    assert_eq!(peer.response(id).await["result"]["content"][0]["text"], r#"{"a":[1]}"#);
    // What is not an object is refused before it is sent, and so is what belongs to the session itself.
    let bad = soon(peer.session.request("acme/question", Some(Json::from(json!([1])))).into_future()).await;
    assert_eq!(bad.expect_err("no object").kind(), ErrorKind::InvalidArgument);
    assert!(peer.session.notify("notifications/initialized", None).is_err());
    peer.quiet().await;
}

/// A question that nobody waits for any more is taken back.
// proves: CANC-12
#[tokio::test]
async fn canc_12_dropping_a_question_cancels_it() {
    let peer = Peer::ready_with(&builder().build(), everything()).await;
    let session = Arc::new(peer.session.clone());
    let pending = tokio::spawn(async move { session.list_roots().await });
    let asked = peer.expect("roots/list").await;
    pending.abort();
    let cancelled = peer.expect("notifications/cancelled").await;
    assert_eq!(cancelled["params"], json!({ "requestId": asked["id"] }));
    peer.quiet().await;
}
