//! Completion: suggestions for an argument while it is typed.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::de::{self, MapAccess};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::invalid::InvalidValue;
use super::members::Meta;
use super::object::object;
use super::project::{Adapt, Project};
use super::read::{Early, Tagged, TaggedVisitor, read_rest};
use crate::protocol::Revision;

/// A completion holds no more values than this (COMP-02).
pub const MAX_COMPLETION_VALUES: usize = 100;

object! {
    /// A prompt whose argument is typed (SCH-T25).
    pub struct PromptReference tag "ref/prompt" {
        required {
            /// The prompt's name.
            "name" => name: String,
        }
        optional {
            /// A name for people, from 2025-06-18 on.
            "title" => title, with_title: opt String since V2025_06_18;
        }
    }
}

object! {
    /// A resource template whose variable is typed (SCH-T25).
    pub struct ResourceReference tag "ref/resource" {
        required {
            /// The template, or a URI (COMP-04).
            "uri" => uri: String,
        }
        optional {}
    }
}

/// What is completed, told by the member `type`: `ref/prompt` or `ref/resource` (COMP-04). Others are refused (COMP-10).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum CompletionReference {
    /// An argument of a prompt.
    Prompt(PromptReference),
    /// A variable of a resource template.
    Resource(ResourceReference),
}

impl CompletionReference {
    /// An argument of the prompt of this name.
    pub fn prompt(name: impl Into<String>) -> CompletionReference {
        CompletionReference::Prompt(PromptReference::new(name))
    }

    /// A variable of this URI template.
    pub fn resource(uri: impl Into<String>) -> CompletionReference {
        CompletionReference::Resource(ResourceReference::new(uri))
    }
}

impl From<PromptReference> for CompletionReference {
    fn from(reference: PromptReference) -> CompletionReference {
        CompletionReference::Prompt(reference)
    }
}

impl From<ResourceReference> for CompletionReference {
    fn from(reference: ResourceReference) -> CompletionReference {
        CompletionReference::Resource(reference)
    }
}

impl Serialize for CompletionReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CompletionReference::Prompt(reference) => reference.serialize(serializer),
            CompletionReference::Resource(reference) => reference.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for CompletionReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<CompletionReference, D::Error> {
        deserializer.deserialize_map(TaggedVisitor(PhantomData))
    }
}

impl Tagged for CompletionReference {
    const EXPECTED: &'static str = "a reference to a prompt or a resource";

    fn assemble<'de, A: MapAccess<'de>>(tag: &str, early: Early, map: A) -> Result<CompletionReference, A::Error> {
        match tag {
            "ref/prompt" => read_rest(&early, map).map(CompletionReference::Prompt),
            "ref/resource" => read_rest(&early, map).map(CompletionReference::Resource),
            _ => Err(de::Error::custom("`type` must be \"ref/prompt\" or \"ref/resource\"")),
        }
    }
}

impl Project for CompletionReference {
    fn project(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        match self {
            CompletionReference::Prompt(reference) => reference.project(revision),
            CompletionReference::Resource(reference) => reference.project(revision),
        }
    }
}

object! {
    /// The argument being typed.
    pub struct CompletionArgument {
        required {
            /// Its name.
            "name" => name: String,
            /// What has been typed so far; may be empty (COMP-08).
            "value" => value: String,
        }
        optional {}
    }
}

object! {
    /// What else is known while an argument is typed, from 2025-06-18 on (COMP-11).
    #[derive(Default)]
    pub struct CompletionContext {
        required {}
        optional {
            /// Arguments filled in already.
            "arguments" => arguments, with_arguments: list BTreeMap<String, String>;
        }
    }
}

object! {
    /// The parameters of `completion/complete` (COMP-01).
    pub struct CompleteRequest {
        required {
            /// What is completed.
            "ref" => reference: CompletionReference,
            /// The argument being typed.
            "argument" => argument: CompletionArgument,
        }
        optional {
            /// What else is known, from 2025-06-18 on.
            "context" => context, with_context: opt CompletionContext since V2025_06_18;
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// Suggestions, best first (COMP-05).
    pub struct Completion {
        required {
            /// At most 100 (COMP-02). More are cut when sent; then `hasMore` is set.
            "values" => values: Vec<String>,
        }
        optional {
            /// How many there are in all; may exceed those sent (COMP-03).
            "total" => total, with_total: opt u64;
            /// Whether there are more; absent means no. Told even without `total` (COMP-03).
            "hasMore" => has_more, with_has_more: opt bool;
        }
    }
    adapt;
}

impl Adapt for Completion {
    fn adapt(&mut self, _revision: Revision) -> Result<(), InvalidValue> {
        if self.values.len() > MAX_COMPLETION_VALUES {
            self.values.truncate(MAX_COMPLETION_VALUES);
            self.has_more = Some(true);
        }
        Ok(())
    }
}

object! {
    /// The result of `completion/complete` (SCH-T26).
    pub struct CompleteResult {
        required {
            /// The suggestions.
            "completion" => completion: Completion,
        }
        optional {
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

impl CompleteResult {
    /// Suggestions, best first. Of more than 100 the first 100 are sent, with `hasMore` (COMP-02).
    pub fn values<V: Into<String>>(values: impl IntoIterator<Item = V>) -> CompleteResult {
        CompleteResult::new(Completion::new(values.into_iter().map(Into::into).collect::<Vec<String>>()))
    }
}
