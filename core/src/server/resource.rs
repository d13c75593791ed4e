//! Resources and resource templates: their definition, and how handlers are attached to them.

use std::future::Future;
use std::sync::Arc;

use super::context::RequestContext;
use super::registry::Listed;
use super::result::encode;
use super::tool::listed;
use crate::error::{Error, ErrorKind, Excerpt};
use crate::protocol::uri::is_absolute_uri;
use crate::protocol::uri_template::{UriMatcher, UriTemplate, Variables};
use crate::protocol::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Revision};
use crate::session::{Outcome, Reply};

/// What reading a resource may return: text, bytes, or ready contents.
///
/// Text and bytes get the URI that was asked for and the MIME type of the resource.
pub trait IntoContents {
    /// The contents for `uri`; `mime_type` is that of the resource's description.
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents>;
}

fn with_type(contents: ResourceContents, mime_type: Option<&str>) -> Vec<ResourceContents> {
    vec![match mime_type {
        Some(mime_type) => contents.with_mime_type(mime_type),
        None => contents,
    }]
}

impl IntoContents for String {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        with_type(ResourceContents::text(uri, self), mime_type)
    }
}

impl IntoContents for &str {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        with_type(ResourceContents::text(uri, self), mime_type)
    }
}

impl IntoContents for Vec<u8> {
    fn into_contents(self, uri: &str, mime_type: Option<&str>) -> Vec<ResourceContents> {
        with_type(ResourceContents::blob(uri, self), mime_type)
    }
}

impl IntoContents for ResourceContents {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> Vec<ResourceContents> {
        vec![self]
    }
}

impl IntoContents for Vec<ResourceContents> {
    fn into_contents(self, _uri: &str, _mime_type: Option<&str>) -> Vec<ResourceContents> {
        self
    }
}

fn read_outcome<R: IntoContents>(
    read: Result<R, Error>,
    uri: &str,
    mime_type: Option<&str>,
    revision: Revision,
) -> Outcome {
    let contents = read?.into_contents(uri, mime_type);
    encode(ReadResourceResult::new(contents), revision)
}

type ResourceHandler = Arc<dyn Fn(RequestContext, &str) -> Reply + Send + Sync>;
type TemplateHandler = Arc<dyn Fn(RequestContext, &str, Variables) -> Reply + Send + Sync>;

/// A registered resource.
pub(crate) struct ResourceEntry {
    pub(crate) resource: Resource,
    handler: ResourceHandler,
}

impl ResourceEntry {
    pub(crate) fn new<R, F, Fut>(resource: Resource, handler: F) -> Result<ResourceEntry, Error>
    where
        R: IntoContents + 'static,
        F: Fn(String, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        if !is_absolute_uri(&resource.uri) {
            let message = format!("{} is not an absolute URI", Excerpt(&resource.uri));
            return Err(Error::new(ErrorKind::InvalidArgument, message));
        }
        let mime_type = resource.mime_type.clone();
        let handler: ResourceHandler = Arc::new(move |context, uri| {
            let revision = context.revision();
            let mime_type = mime_type.clone();
            let uri = uri.to_owned();
            let future = handler(uri.clone(), context);
            Reply::Future(Box::pin(async move { read_outcome(future.await, &uri, mime_type.as_deref(), revision) }))
        });
        Ok(ResourceEntry { resource, handler })
    }

    pub(crate) fn read(&self, context: RequestContext, uri: &str) -> Reply {
        (self.handler)(context, uri)
    }
}

impl Listed for ResourceEntry {
    const KEY: &'static str = "resources";
    const NOUN: &'static str = "resource";

    fn key(&self) -> &str {
        &self.resource.uri
    }

    fn json(&self, revision: Revision) -> Result<String, Error> {
        listed(&self.resource, revision)
    }
}

/// A registered template.
pub(crate) struct TemplateEntry {
    pub(crate) template: ResourceTemplate,
    uri_template: UriTemplate,
    matcher: UriMatcher,
    handler: TemplateHandler,
}

impl TemplateEntry {
    pub(crate) fn new<R, F, Fut>(template: ResourceTemplate, handler: F) -> Result<TemplateEntry, Error>
    where
        R: IntoContents + 'static,
        F: Fn(String, Variables, RequestContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<R, Error>> + Send + 'static,
    {
        let refused = |error: &dyn std::fmt::Display| Error::new(ErrorKind::InvalidArgument, error.to_string());
        let uri_template = UriTemplate::parse(&template.uri_template).map_err(|error| refused(&error))?;
        let matcher = uri_template.matcher().map_err(|error| refused(&error))?;
        let mime_type = template.mime_type.clone();
        let handler: TemplateHandler = Arc::new(move |context, uri, variables| {
            let revision = context.revision();
            let mime_type = mime_type.clone();
            let uri = uri.to_owned();
            let future = handler(uri.clone(), variables, context);
            Reply::Future(Box::pin(async move { read_outcome(future.await, &uri, mime_type.as_deref(), revision) }))
        });
        Ok(TemplateEntry { template, uri_template, matcher, handler })
    }

    /// The variables of `uri` if it is an expansion of this template; an error if its escapes are bad (FC-064).
    pub(crate) fn matches(&self, uri: &str) -> Option<Result<Variables, Error>> {
        let matched = self.matcher.match_uri(uri).transpose()?;
        Some(matched.map_err(|bad| Error::invalid_params(format!("Invalid params: {bad}"))))
    }

    pub(crate) fn read(&self, context: RequestContext, uri: &str, variables: Variables) -> Reply {
        (self.handler)(context, uri, variables)
    }

    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.uri_template.variables().contains(&name)
    }
}

impl Listed for TemplateEntry {
    const KEY: &'static str = "resourceTemplates";
    const NOUN: &'static str = "resource template";

    fn key(&self) -> &str {
        &self.template.uri_template
    }

    fn json(&self, revision: Revision) -> Result<String, Error> {
        listed(&self.template, revision)
    }
}
