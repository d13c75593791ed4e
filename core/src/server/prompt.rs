//! Prompts and completions: their definition, and how handlers are attached to them.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use super::context::RequestContext;
use super::registry::Listed;
use super::result::encode;
use super::tool::listed;
use crate::error::{Error, ErrorKind, Excerpt};
use crate::protocol::{
    CompleteResult, Completion, GetPromptResult, MAX_COMPLETION_VALUES, Prompt, PromptMessage, Revision,
};
use crate::session::{Body, Reply};

/// The arguments of a prompt by name; values are strings (PROM-04).
pub type PromptArguments = BTreeMap<String, String>;

/// What a prompt handler may return.
pub trait IntoPrompt {
    /// The result for the peer.
    fn into_prompt(self) -> GetPromptResult;
}

impl IntoPrompt for GetPromptResult {
    fn into_prompt(self) -> GetPromptResult {
        self
    }
}

impl IntoPrompt for Vec<PromptMessage> {
    fn into_prompt(self) -> GetPromptResult {
        GetPromptResult::new(self)
    }
}

impl IntoPrompt for PromptMessage {
    fn into_prompt(self) -> GetPromptResult {
        GetPromptResult::new(vec![self])
    }
}

impl IntoPrompt for String {
    /// One message of the user.
    fn into_prompt(self) -> GetPromptResult {
        PromptMessage::user(self).into_prompt()
    }
}

type PromptHandler = Arc<dyn Fn(RequestContext, PromptArguments) -> Reply + Send + Sync>;

/// A registered prompt.
pub(crate) struct PromptEntry {
    pub(crate) prompt: Prompt,
    handler: PromptHandler,
}

impl PromptEntry {
    pub(crate) fn new<R, F, Fut>(prompt: Prompt, handler: F) -> Result<PromptEntry, Error>
    where
        R: IntoPrompt + 'static,
        F: Fn(PromptArguments, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        if prompt.name.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "a prompt needs a name"));
        }
        let handler: PromptHandler = Arc::new(move |context, arguments| {
            let revision = context.revision();
            let future = handler(arguments, context);
            Reply::Future(Box::pin(async move { encode(future.await?.into_prompt(), revision) }))
        });
        Ok(PromptEntry { prompt, handler })
    }

    /// Checks that what is required is there (PROM-05) and calls the handler.
    pub(crate) fn get(&self, context: RequestContext, arguments: PromptArguments) -> Reply {
        let declared = self.prompt.arguments.iter();
        let missing =
            declared.filter(|declared| declared.required).find(|declared| !arguments.contains_key(&declared.name));
        if let Some(missing) = missing {
            let message = format!(
                "Invalid params: prompt {} needs the argument {}",
                Excerpt(&self.prompt.name),
                Excerpt(&missing.name)
            );
            return Reply::Done(Err(Error::invalid_params(message)));
        }
        (self.handler)(context, arguments)
    }

    pub(crate) fn has_argument(&self, name: &str) -> bool {
        self.prompt.arguments.iter().any(|declared| declared.name == name)
    }
}

impl Listed for PromptEntry {
    const KEY: &'static str = "prompts";
    const NOUN: &'static str = "prompt";

    fn key(&self) -> &str {
        &self.prompt.name
    }

    fn json(&self, revision: Revision) -> Result<String, Error> {
        listed(&self.prompt, revision)
    }
}

/// What a completion handler may return: values, best first, or a ready [`Completion`].
pub trait IntoCompletion {
    /// The completion for the peer.
    fn into_completion(self) -> Completion;
}

impl IntoCompletion for Completion {
    fn into_completion(self) -> Completion {
        self
    }
}

impl<S: Into<String>> IntoCompletion for Vec<S> {
    fn into_completion(self) -> Completion {
        Completion::new(self.into_iter().map(Into::into).collect::<Vec<_>>())
    }
}

/// One argument of a prompt, or one variable of a resource template, whose values can be completed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CompletionTarget {
    pub(crate) of: TargetKind,
    pub(crate) argument: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum TargetKind {
    Prompt(String),
    Template(String),
}

impl CompletionTarget {
    /// An argument of the prompt of this name.
    pub fn prompt(name: impl Into<String>, argument: impl Into<String>) -> CompletionTarget {
        CompletionTarget { of: TargetKind::Prompt(name.into()), argument: argument.into() }
    }

    /// A variable of the resource template with this text.
    pub fn resource_template(uri_template: impl Into<String>, variable: impl Into<String>) -> CompletionTarget {
        CompletionTarget { of: TargetKind::Template(uri_template.into()), argument: variable.into() }
    }
}

/// Completes the value that was typed so far.
pub(crate) type Completer = Arc<dyn Fn(RequestContext, String) -> Reply + Send + Sync>;

pub(crate) fn completer<R, F, Fut>(handler: F) -> Completer
where
    R: IntoCompletion + 'static,
    F: Fn(String, RequestContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, Error>> + Send + 'static,
{
    Arc::new(move |context, value| {
        let revision = context.revision();
        let future = handler(value, context);
        Reply::Future(Box::pin(async move { encode_completion(future.await?.into_completion(), revision) }))
    })
}

/// At most 100 values are sent; whoever has more says so (COMP-02).
pub(crate) fn encode_completion(mut completion: Completion, revision: Revision) -> Result<Body, Error> {
    if completion.values.len() > MAX_COMPLETION_VALUES {
        let all = u64::try_from(completion.values.len()).unwrap_or(u64::MAX);
        completion.total = completion.total.or(Some(all));
        completion.values.truncate(MAX_COMPLETION_VALUES);
        completion.has_more = Some(true);
    }
    encode(CompleteResult::new(completion), revision)
}
