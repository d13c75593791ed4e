//! The fixture server, made with the Rust SDK `rmcp` 3.x (handler trait; it checks no arguments, so this file does).
#![allow(deprecated, reason = "logging, sampling, roots and subscriptions are deprecated as of a later revision only")]

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CreateMessageRequestParams, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceUpdatedNotificationParam, SetLevelRequestParams,
    SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

const RESOURCE_NOT_FOUND: i32 = -32002;
const COMPLETIONS: u32 = 150;
const MAX_COMPLETIONS: u32 = 100;

type Context = RequestContext<RoleServer>;

/// What the session can change.
#[derive(Default)]
struct State {
    level: usize,
    subscriptions: BTreeSet<String>,
    extra_tools: usize,
}

struct Fixture {
    data: Value,
    state: Mutex<State>,
}

/// Makes one of the SDK's types from its JSON. They are read from the fixture's own data: a failure is a bug here.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn invalid(message: String) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

/// An argument of a tool; the SDK does not check them against the tool's schema.
fn argument<T: DeserializeOwned>(arguments: &Map<String, Value>, name: &str) -> Result<T, ErrorData> {
    let value = arguments.get(name).ok_or_else(|| invalid(format!("argument `{name}` is missing")))?;
    T::deserialize(value).map_err(|error| invalid(format!("argument `{name}`: {error}")))
}

/// No list here has a second page, so the fixture never gave a cursor out.
fn check_cursor(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|params| params.cursor) {
        Some(cursor) => Err(invalid(format!("cursor `{cursor}` did not come from this server"))),
        None => Ok(()),
    }
}

fn text(value: impl Into<String>) -> Value {
    json!([{"type": "text", "text": value.into()}])
}

/// Decodes `%XX`; an escape that is broken or not UTF-8 gives `None`.
fn percent_decode(value: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

/// The contents of a resource as JSON.
fn read(uri: &str) -> Result<Value, ErrorData> {
    let unknown = || {
        let data = json!({"uri": uri});
        ErrorData::new(ErrorCode(RESOURCE_NOT_FOUND), format!("resource {uri} not found"), Some(data))
    };
    match uri {
        "test://static/text" => Ok(json!({"uri": uri, "mimeType": "text/plain", "text": "hello"})),
        "test://static/bin" => {
            let blob = BASE64.encode([0xFB, 0xFF, 0xFE, 0xFF]);
            Ok(json!({"uri": uri, "mimeType": "application/octet-stream", "blob": blob}))
        }
        _ => {
            let item = uri.strip_prefix("test://items/").ok_or_else(unknown)?;
            if item.is_empty() || item.contains(['/', '?', '#']) {
                return Err(unknown());
            }
            let id = percent_decode(item).ok_or_else(|| invalid(format!("{uri} has a broken escape")))?;
            Ok(json!({"uri": uri, "mimeType": "text/plain", "text": format!("item:{id}")}))
        }
    }
}

impl Fixture {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn levels(&self) -> &[Value] {
        self.data["levels"].as_array().map_or(&[], Vec::as_slice)
    }

    fn tools(&self) -> Vec<Value> {
        let mut tools = self.data["tools"].as_array().cloned().unwrap_or_default();
        let extra = 1..=self.state().extra_tools;
        tools.extend(extra.map(|n| json!({"name": format!("extra{n}"), "inputSchema": {"type": "object"}})));
        tools
    }

    /// Runs a tool. A fault that the tool's author foresaw is the text of the inner error.
    async fn run(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        context: &Context,
    ) -> Result<Result<Value, String>, ErrorData> {
        let peer = &context.peer;
        let sent = |result: Result<(), rmcp::ServiceError>| result.map_err(|error| error.to_string());
        Ok(match name {
            "echo" => Ok(text(argument::<String>(arguments, "text")?)),
            "add" => {
                let sum = argument::<f64>(arguments, "a")? + argument::<f64>(arguments, "b")?;
                Ok(text(sum.to_string()))
            }
            "sleep" => {
                let pause = Duration::from_millis(argument(arguments, "ms")?);
                tokio::select! {
                    () = tokio::time::sleep(pause) => Ok(text("slept")),
                    () = context.ct.cancelled() => Err("cancelled".to_owned()),
                }
            }
            "progress" => {
                let steps: u32 = argument(arguments, "steps")?;
                if let Some(token) = context.meta.get_progress_token() {
                    for step in 1..=steps {
                        let progress = ProgressNotificationParam::new(token.clone(), f64::from(step));
                        let told = sent(peer.notify_progress(progress.with_total(f64::from(steps))).await);
                        if let Err(error) = told {
                            return Ok(Err(error));
                        }
                    }
                }
                Ok(text("done"))
            }
            "fail" => Err("disk full".to_owned()),
            "empty" => Ok(json!([])),
            "image" => {
                let data = BASE64.encode([0x89, 0x50, 0x4E, 0x47]);
                Ok(json!([{"type": "image", "data": data, "mimeType": "image/png"}]))
            }
            "log_all" => {
                let lowest = self.state().level;
                for level in &self.levels()[lowest..] {
                    let message: LoggingMessageNotificationParam = typed(json!({"level": level, "data": level}))?;
                    if let Err(error) = sent(peer.notify_logging_message(message).await) {
                        return Ok(Err(error));
                    }
                }
                Ok(text("ok"))
            }
            "touch" => {
                let uri: String = argument(arguments, "uri")?;
                let subscribed = self.state().subscriptions.contains(&uri);
                let told = if subscribed {
                    let update = ResourceUpdatedNotificationParam::new(uri);
                    sent(peer.notify_resource_updated(update).await)
                } else {
                    Ok(())
                };
                told.map(|()| text("ok"))
            }
            "ask_sampling" => {
                let prompt: String = argument(arguments, "prompt")?;
                let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
                let request: CreateMessageRequestParams = typed(json!({"messages": [message], "maxTokens": 100}))?;
                match peer.create_message(request).await {
                    Ok(answer) => {
                        let answer = serde_json::to_value(answer).unwrap_or_default();
                        Ok(text(answer["content"]["text"].as_str().unwrap_or("no text came back")))
                    }
                    Err(error) => Err(error.to_string()),
                }
            }
            "ask_roots" => match peer.list_roots().await {
                Ok(result) => {
                    let uris: Vec<_> = result.roots.iter().map(|root| &root.uri).collect();
                    Ok(text(json!(uris).to_string()))
                }
                Err(error) => Err(error.to_string()),
            },
            "add_tools" => {
                for _ in 0..argument::<u32>(arguments, "n")? {
                    self.state().extra_tools += 1;
                    if let Err(error) = sent(peer.notify_tool_list_changed().await) {
                        return Ok(Err(error));
                    }
                }
                Ok(text("ok"))
            }
            _ if self.tools().iter().any(|tool| tool["name"] == name) => Ok(text(name)),
            _ => return Err(invalid(format!("unknown tool `{name}`"))),
        })
    }
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> InitializeResult {
        let info = json!({
            "protocolVersion": "2025-11-25",
            "serverInfo": {"name": self.data["name"], "version": self.data["version"]},
            "capabilities": {
                "tools": {"listChanged": true},
                "resources": {"listChanged": true, "subscribe": true},
                "prompts": {"listChanged": true},
                "logging": {},
                "completions": {},
            },
        });
        serde_json::from_value(info).unwrap_or_default()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        check_cursor(request)?;
        typed(json!({"tools": self.tools()}))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        check_cursor(request)?;
        typed(json!({"resources": self.data["resources"]}))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        check_cursor(request)?;
        typed(json!({"resourceTemplates": self.data["resourceTemplates"]}))
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        check_cursor(request)?;
        typed(json!({"prompts": self.data["prompts"]}))
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let (blocks, failed) = match self.run(&request.name, &arguments, &context).await? {
            Ok(blocks) => (blocks, false),
            Err(message) => (text(message), true),
        };
        Ok(typed::<CallToolResult>(json!({"content": blocks, "isError": failed}))?.into())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(typed::<ReadResourceResult>(json!({"contents": [read(&request.uri)?]}))?.into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        read(&request.uri)?;
        self.state().subscriptions.insert(request.uri);
        Ok(())
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.state().subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: Context) -> Result<GetPromptResponse, ErrorData> {
        let said = match request.name.as_str() {
            "noargs" => "hi".to_owned(),
            "greet" => {
                let arguments = request.arguments.unwrap_or_default();
                format!("hello {}", argument::<String>(&arguments, "name")?)
            }
            unknown => return Err(invalid(format!("unknown prompt `{unknown}`"))),
        };
        let message = json!({"role": "user", "content": {"type": "text", "text": said}});
        Ok(typed::<GetPromptResult>(json!({"messages": [message]}))?.into())
    }

    async fn complete(&self, request: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        let reference = serde_json::to_value(&request.r#ref).unwrap_or_default();
        if reference["type"] != "ref/prompt" || reference["name"] != "greet" {
            return Err(invalid(format!("nothing to complete for {reference}")));
        }
        let (values, total) = match request.argument.name.as_str() {
            "name" => ((0..MAX_COMPLETIONS).map(|n| format!("name{n}")).collect(), COMPLETIONS),
            "style" => (Vec::new(), 0),
            unknown => {
                return Err(invalid(format!("prompt `greet` has no argument `{unknown}`")));
            }
        };
        typed(json!({"completion": {"values": values, "total": total, "hasMore": total > MAX_COMPLETIONS}}))
    }

    async fn set_level(&self, request: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        let level = json!(request.level);
        self.state().level = self.levels().iter().position(|known| *known == level).unwrap_or(0);
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let data = serde_json::from_str(include_str!("../../../fixture.json"))?;
    let fixture = Fixture { data, state: Mutex::default() };
    fixture.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
