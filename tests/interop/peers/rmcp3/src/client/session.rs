//! The client's requests as the checks use them: results are JSON as it stood on the wire, as far as the SDK shows it.
#![allow(deprecated, reason = "logging and subscriptions are deprecated as of a later revision only")]

use std::future::Future;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, CustomRequest, PaginatedRequestParams, PingRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::inbox::Inbox;

const MAX_PAGES: usize = 50;

/// Why a request has no result.
#[derive(Debug)]
pub enum Failure {
    /// The server answered with this JSON-RPC error.
    Rpc { code: i32, message: String, data: Value },
    /// Anything else.
    Other(String),
}

impl From<Failure> for String {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Rpc { code, message, .. } => format!("error {code}: {message}"),
            Failure::Other(message) => message,
        }
    }
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::McpError(error) => Self::Rpc {
                code: error.code.0,
                message: error.message.into_owned(),
                data: error.data.unwrap_or_default(),
            },
            other => Self::Other(other.to_string()),
        }
    }
}

pub type Outcome = Result<Value, Failure>;

/// A connected client.
pub struct Session {
    pub peer: Peer<RoleClient>,
    pub inbox: Inbox,
    /// The result of `initialize`.
    pub initialized: Value,
}

/// Makes one of the SDK's types from its JSON.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value).map_err(|error| Failure::Other(format!("the SDK cannot express it: {error}")))
}

async fn wire<T: Serialize>(result: impl Future<Output = Result<T, ServiceError>>) -> Outcome {
    serde_json::to_value(result.await?).map_err(|error| Failure::Other(error.to_string()))
}

impl Session {
    pub async fn ping(&self) -> Outcome {
        wire(self.peer.send_request(ClientRequest::PingRequest(PingRequest::default()))).await
    }

    /// A request of a method that the SDK does not know.
    pub async fn request(&self, method: &str) -> Outcome {
        wire(self.peer.send_request(ClientRequest::CustomRequest(CustomRequest::new(method, None)))).await
    }

    pub async fn list_page(&self, what: &str, cursor: Option<String>) -> Outcome {
        let params: Option<PaginatedRequestParams> = match cursor {
            Some(cursor) => Some(typed(json!({"cursor": cursor}))?),
            None => None,
        };
        match what {
            "tools" => wire(self.peer.list_tools(params)).await,
            "resources" => wire(self.peer.list_resources(params)).await,
            "resourceTemplates" => wire(self.peer.list_resource_templates(params)).await,
            _ => wire(self.peer.list_prompts(params)).await,
        }
    }

    /// The items of all pages.
    pub async fn list_all(&self, what: &str) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let mut page = self.list_page(what, cursor).await?;
            items.extend(page[what].as_array_mut().map(std::mem::take).unwrap_or_default());
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return Ok(items),
            }
        }
        Err(Failure::Other(format!("{what}: no end after {MAX_PAGES} pages")))
    }

    pub async fn call(&self, name: &str, arguments: Value) -> Outcome {
        let params: CallToolRequestParams = typed(json!({"name": name, "arguments": arguments}))?;
        wire(self.peer.call_tool(params)).await
    }

    /// Sends a call without waiting for its result.
    pub async fn start_call(&self, name: &str, arguments: Value) -> Result<RequestHandle<RoleClient>, Failure> {
        let params: CallToolRequestParams = typed(json!({"name": name, "arguments": arguments}))?;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        Ok(self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?)
    }

    pub async fn read(&self, uri: &str) -> Outcome {
        wire(self.peer.read_resource(typed(json!({"uri": uri}))?)).await
    }

    pub async fn subscribe(&self, uri: &str) -> Outcome {
        wire(self.peer.subscribe(typed(json!({"uri": uri}))?)).await
    }

    pub async fn unsubscribe(&self, uri: &str) -> Outcome {
        wire(self.peer.unsubscribe(typed(json!({"uri": uri}))?)).await
    }

    /// `arguments`: an object, or null for none.
    pub async fn get_prompt(&self, name: &str, arguments: Value) -> Outcome {
        wire(self.peer.get_prompt(typed(json!({"name": name, "arguments": arguments}))?)).await
    }

    pub async fn complete(&self, prompt: &str, argument: &str) -> Outcome {
        let reference = json!({"type": "ref/prompt", "name": prompt});
        let params = json!({"ref": reference, "argument": {"name": argument, "value": ""}});
        wire(self.peer.complete(typed(params)?)).await
    }

    pub async fn set_level(&self, level: &str) -> Outcome {
        wire(self.peer.set_level(typed(json!({"level": level}))?)).await
    }

    pub async fn roots_changed(&self) -> Outcome {
        wire(self.peer.notify_roots_list_changed()).await
    }
}
