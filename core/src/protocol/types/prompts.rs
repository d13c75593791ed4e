//! Prompts: their description, the request for one and its messages.

use std::collections::BTreeMap;

use super::blocks::Role;
use super::content::Content;
use super::members::Meta;
use super::object::object;

object! {
    /// A prompt that a person can pick (SCH-T13).
    pub struct Prompt {
        required {
            /// The name it is asked for by.
            "name" => name: String,
        }
        optional {
            /// A name for people, from 2025-06-18 on.
            "title" => title, with_title: opt String since V2025_06_18;
            /// What it is for.
            "description" => description, with_description: opt String;
            /// What can be filled in.
            "arguments" => arguments, with_arguments: list Vec<PromptArgument>;
        }
    }
}

object! {
    /// What can be filled into a prompt (SCH-T14).
    pub struct PromptArgument {
        required {
            /// Its name.
            "name" => name: String,
        }
        optional {
            /// A name for people, from 2025-06-18 on.
            "title" => title, with_title: opt String since V2025_06_18;
            /// What it is.
            "description" => description, with_description: opt String;
            /// Whether the prompt cannot do without.
            "required" => required, with_required: flag bool;
        }
    }
}

object! {
    /// The result of `prompts/list` (SCH-T29).
    pub struct ListPromptsResult {
        required {
            /// This page's prompts.
            "prompts" => prompts: Vec<Prompt>,
        }
        optional {
            /// Where the next page starts; the empty string is a cursor too (PAGE-06).
            "nextCursor" => next_cursor, with_next_cursor: opt String;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The parameters of `prompts/get` (PROM-03).
    pub struct GetPromptRequest {
        required {
            /// The prompt's name.
            "name" => name: String,
        }
        optional {
            /// What is filled in: strings, and nothing else (PROM-04).
            "arguments" => arguments, with_arguments: list BTreeMap<String, String>;
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// One message of a prompt (SCH-T15).
    pub struct PromptMessage {
        required {
            /// Who speaks.
            "role" => role: Role,
            /// What they say: one block, never an array (PROM-03).
            "content" => content: Content,
        }
        optional {}
    }
}

impl PromptMessage {
    /// A message of the person.
    pub fn user(content: impl Into<Content>) -> PromptMessage {
        PromptMessage::new(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Content>) -> PromptMessage {
        PromptMessage::new(Role::Assistant, content)
    }
}

object! {
    /// The result of `prompts/get` (SCH-T30).
    pub struct GetPromptResult {
        required {
            /// The conversation; may be empty (PROM-14).
            "messages" => messages: Vec<PromptMessage>,
        }
        optional {
            /// What the prompt is for.
            "description" => description, with_description: opt String;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}
