//! One typed call for each method of the protocol.

use serde::Serialize;

use super::Client;
use super::completer::Completer;
use super::pages::{Items, PageOf, Walk};
use super::reconnect::Change;
use super::request::{self, Request, check_object, decoded, nothing, raw};
use crate::engine::Diagnostic;
use crate::error::{Error, ErrorKind};
use crate::protocol::{
    CallToolRequest, CallToolResult, CompleteRequest, CompleteResult, CompletionReference, GetPromptRequest,
    GetPromptResult, Json, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    LoggingLevel, Method, MethodKind, PaginatedRequest, Project, Prompt, ReadResourceRequest, ReadResourceResult,
    Resource, ResourceTemplate, SetLevelRequest, SubscribeRequest, Tool, UnsubscribeRequest,
};

/// How a call may fail, besides what its own words say: [`Unsupported`](ErrorKind::Unsupported) if the server did not
/// declare the capability, with nothing written (CAP-05); the server's own error, with its code, message and data
/// (JRPC-27); [`InvalidResponse`](ErrorKind::InvalidResponse) if the result cannot be read (SCH-09);
/// [`Timeout`](ErrorKind::Timeout), [`Cancelled`](ErrorKind::Cancelled), [`Closed`](ErrorKind::Closed).
impl Client {
    /// Asks whether the server is there (PING-02).
    pub fn ping(&self) -> Request<()> {
        Request::new(self, Method::Ping, Ok(None), nothing)
    }

    /// Calls a tool. `arguments` is anything that serialises to an object; `()` and `None` stand for no arguments.
    ///
    /// A failure of the tool itself is a result with `is_error` set (TOOL-09).
    pub fn call_tool(&self, name: impl Into<String>, arguments: impl Serialize) -> Request<CallToolResult> {
        let params = arguments_of(&arguments).and_then(|arguments| {
            let mut request = CallToolRequest::new(name);
            request.arguments = arguments;
            self.params(request)
        });
        Request::new(self, Method::CallTool, params, tool_result)
    }

    /// One page of the list of tools: the first, or the one at `cursor` (PAGE-02).
    pub fn list_tools(&self, cursor: Option<&str>) -> Request<ListToolsResult> {
        Request::new(self, Method::ListTools, self.page(cursor), decoded)
    }

    /// All tools, page by page.
    pub fn list_all_tools(&self) -> Walk<Tool> {
        Walk::new(self, Method::ListTools, |method, outcome| {
            decoded(method, outcome)
                .map(|(page, odd): (ListToolsResult, _)| (PageOf(page.tools, page.next_cursor), odd))
        })
    }

    /// All tools as a stream; a page is asked for when it is needed.
    pub fn tools(&self) -> Items<Tool> {
        self.list_all_tools().items()
    }

    /// One page of the list of resources.
    pub fn list_resources(&self, cursor: Option<&str>) -> Request<ListResourcesResult> {
        Request::new(self, Method::ListResources, self.page(cursor), decoded)
    }

    /// All resources, page by page.
    pub fn list_all_resources(&self) -> Walk<Resource> {
        Walk::new(self, Method::ListResources, |method, outcome| {
            let read = decoded(method, outcome);
            read.map(|(page, odd): (ListResourcesResult, _)| (PageOf(page.resources, page.next_cursor), odd))
        })
    }

    /// All resources as a stream.
    pub fn resources(&self) -> Items<Resource> {
        self.list_all_resources().items()
    }

    /// One page of the list of resource templates.
    pub fn list_resource_templates(&self, cursor: Option<&str>) -> Request<ListResourceTemplatesResult> {
        Request::new(self, Method::ListResourceTemplates, self.page(cursor), decoded)
    }

    /// All resource templates, page by page.
    pub fn list_all_resource_templates(&self) -> Walk<ResourceTemplate> {
        Walk::new(self, Method::ListResourceTemplates, |method, outcome| {
            let read = decoded(method, outcome);
            read.map(|(page, odd): (ListResourceTemplatesResult, _)| {
                (PageOf(page.resource_templates, page.next_cursor), odd)
            })
        })
    }

    /// All resource templates as a stream.
    pub fn resource_templates(&self) -> Items<ResourceTemplate> {
        self.list_all_resource_templates().items()
    }

    /// Reads a resource. The URI, of whatever scheme, goes to the server byte for byte (RES-10, RES-14); nothing is
    /// fetched on this side. Contents may have URIs of their own (RES-15).
    pub fn read_resource(&self, uri: impl Into<String>) -> Request<ReadResourceResult> {
        Request::new(self, Method::ReadResource, self.params(ReadResourceRequest::new(uri)), decoded)
    }

    /// Asks to be told when a resource changes, see
    /// [`on_resource_updated`](super::ClientBuilder::on_resource_updated). Needs the flag `subscribe` of the server's
    /// capability `resources` (CAP-03).
    pub fn subscribe(&self, uri: impl Into<String>) -> Request<()> {
        let uri = uri.into();
        let params = self.params(SubscribeRequest::new(uri.as_str()));
        Request::new(self, Method::Subscribe, params, nothing).changing(Change::Subscribed(uri))
    }

    /// Asks not to be told any more.
    pub fn unsubscribe(&self, uri: impl Into<String>) -> Request<()> {
        let uri = uri.into();
        let params = self.params(UnsubscribeRequest::new(uri.as_str()));
        Request::new(self, Method::Unsubscribe, params, nothing).changing(Change::Unsubscribed(uri))
    }

    /// One page of the list of prompts.
    pub fn list_prompts(&self, cursor: Option<&str>) -> Request<ListPromptsResult> {
        Request::new(self, Method::ListPrompts, self.page(cursor), decoded)
    }

    /// All prompts, page by page (PROM-11).
    pub fn list_all_prompts(&self) -> Walk<Prompt> {
        Walk::new(self, Method::ListPrompts, |method, outcome| {
            let read = decoded(method, outcome);
            read.map(|(page, odd): (ListPromptsResult, _)| (PageOf(page.prompts, page.next_cursor), odd))
        })
    }

    /// All prompts as a stream.
    pub fn prompts(&self) -> Items<Prompt> {
        self.list_all_prompts().items()
    }

    /// Gets a prompt. `arguments` is anything that serialises to an object of strings (PROM-04); `()` and `None` stand
    /// for no arguments.
    pub fn get_prompt(&self, name: impl Into<String>, arguments: impl Serialize) -> Request<GetPromptResult> {
        let params = arguments_of(&arguments).and_then(|arguments| {
            let mut request = GetPromptRequest::new(name);
            if let Some(arguments) = arguments {
                request.arguments = arguments.decode().map_err(|error| {
                    Error::new(ErrorKind::InvalidArgument, format!("the arguments of a prompt are strings: {error}"))
                })?;
            }
            self.params(request)
        });
        Request::new(self, Method::GetPrompt, params, decoded)
    }

    /// Asks for suggestions for an argument that is being typed. `None` means that this server has none to give: there is
    /// no capability to tell before (COMP-09). The request's `context` is not sent before 2025-06-18 (COMP-11).
    pub fn complete(&self, request: CompleteRequest) -> Request<Option<CompleteResult>> {
        Request::new(self, Method::Complete, self.params(request), |method, outcome| match outcome {
            Err(error) if error.kind() == ErrorKind::MethodNotFound => Ok((None, None)),
            outcome => decoded(method, outcome).map(|(result, odd)| (Some(result), odd)),
        })
    }

    /// Asks for suggestions while a person types: waits for a pause in the typing, and remembers answers (COMP-07).
    pub fn completer(&self, reference: CompletionReference) -> Completer {
        Completer::new(self.clone(), reference)
    }

    /// Asks the server to send log messages of `level` and above, and none below (LOG-02, LOG-03).
    pub fn set_log_level(&self, level: LoggingLevel) -> Request<()> {
        let params = self.params(SetLevelRequest::new(level));
        Request::new(self, Method::SetLogLevel, params, nothing).changing(Change::Level(level))
    }

    /// Sends a request of the application's own, or any other, and returns the result object as it comes. `params` must
    /// be an object. `initialize` is the library's to send.
    pub fn request(&self, method: &str, params: Option<Json>) -> Request<Json> {
        let method = Method::from_name(method, MethodKind::Request);
        let checked = match method {
            Method::Initialize => Err(request::reserved(&method)),
            _ => check_object(&method, params.as_ref()),
        };
        Request::new(self, method, checked.map(|()| params), raw)
    }

    fn page(&self, cursor: Option<&str>) -> Result<Option<Json>, Error> {
        match cursor {
            None => Ok(None),
            Some(cursor) => self.params(PaginatedRequest::new().with_cursor(cursor)),
        }
    }

    /// Parameters as the revision that is spoken knows them.
    fn params<P: Project + Serialize>(&self, mut params: P) -> Result<Option<Json>, Error> {
        params.project(self.inner.revision())?;
        Ok(Some(Json::from_serialize(&params)?))
    }
}

/// Arguments as an object; null and none are left out.
fn arguments_of(arguments: &impl Serialize) -> Result<Option<Json>, Error> {
    let arguments = Json::from_serialize(arguments)?;
    match &arguments {
        none if none.is_null() => Ok(None),
        object if object.is_object() => Ok(Some(arguments)),
        _ => {
            Err(Error::new(ErrorKind::InvalidArgument, "arguments must be an object, with a member for each argument"))
        }
    }
}

/// A tool's result; that `content` is missing is reported and forgiven (SCH-T20).
fn tool_result(method: &Method, outcome: Result<&str, Error>) -> request::Finished<CallToolResult> {
    let (result, _): (CallToolResult, _) = decoded(method, outcome)?;
    let odd = result.content_missing.then_some(Diagnostic::MissingContent);
    Ok((result, odd))
}
