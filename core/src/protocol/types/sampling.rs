//! Sampling: a server asks the client's model.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::blocks::Role;
use super::content::Content;
use super::invalid::{InvalidValue, check_priority};
use super::json::{Json, is_object};
use super::members::Meta;
use super::object::object;
use super::project::{Adapt, Project};
use super::words::words;
use crate::protocol::Revision;

words! {
    /// Whose context the client may add to the prompt (SAMP-10). Absent means none.
    pub enum IncludeContext {
        /// Nobody's.
        "none" => None,
        /// That of the server which asks.
        "thisServer" => ThisServer,
        /// That of all servers of the client.
        "allServers" => AllServers,
    }
}

object! {
    /// One message of the conversation to continue (SCH-T21).
    pub struct SamplingMessage {
        required {
            /// Who speaks.
            "role" => role: Role,
            /// What they say: one block of text or one image (SAMP-03).
            "content" => content: Content,
        }
        optional {}
    }
    adapt;
}

impl SamplingMessage {
    /// A message of the person.
    pub fn user(content: impl Into<Content>) -> SamplingMessage {
        SamplingMessage::new(Role::User, content)
    }

    /// A message of the model.
    pub fn assistant(content: impl Into<Content>) -> SamplingMessage {
        SamplingMessage::new(Role::Assistant, content)
    }
}

impl Adapt for SamplingMessage {
    fn adapt(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        self.content.check_in_sampling(revision)
    }
}

object! {
    /// A wish for a model by a part of its name (SCH-T24). Keys of others are kept and sent (SAMP-11).
    #[derive(Default)]
    pub struct ModelHint {
        required {}
        optional {
            /// A part of a model's name, such as `sonnet`.
            "name" => name, with_name: opt String;
        }
    }
    open;
}

impl ModelHint {
    /// A hint with a name.
    pub fn named(name: impl Into<String>) -> ModelHint {
        ModelHint::new().with_name(name)
    }
}

object! {
    /// What the server would like of the model (SCH-T23). The client decides (SAMP-09).
    #[derive(Default)]
    pub struct ModelPreferences {
        required {}
        optional {
            /// Wishes, the first that fits wins; they outrank the priorities (SAMP-08).
            "hints" => hints, with_hints: list Vec<ModelHint>;
            /// How much a low price matters, from 0 to 1.
            "costPriority" => cost_priority: opt f64;
            /// How much speed matters, from 0 to 1.
            "speedPriority" => speed_priority: opt f64;
            /// How much ability matters, from 0 to 1.
            "intelligencePriority" => intelligence_priority: opt f64;
        }
    }
    adapt;
}

impl ModelPreferences {
    /// Sets `costPriority`. Fails unless it is a number from 0 to 1 (SAMP-07).
    pub fn with_cost_priority(mut self, priority: f64) -> Result<ModelPreferences, InvalidValue> {
        check_priority("costPriority", priority)?;
        self.cost_priority = Some(priority);
        Ok(self)
    }

    /// Sets `speedPriority`. Fails unless it is a number from 0 to 1 (SAMP-07).
    pub fn with_speed_priority(mut self, priority: f64) -> Result<ModelPreferences, InvalidValue> {
        check_priority("speedPriority", priority)?;
        self.speed_priority = Some(priority);
        Ok(self)
    }

    /// Sets `intelligencePriority`. Fails unless it is a number from 0 to 1 (SAMP-07).
    pub fn with_intelligence_priority(mut self, priority: f64) -> Result<ModelPreferences, InvalidValue> {
        check_priority("intelligencePriority", priority)?;
        self.intelligence_priority = Some(priority);
        Ok(self)
    }

    /// The first of `models` whose name contains the first hint that fits any (SAMP-08); `None` if no hint fits.
    ///
    /// Hints outrank the priorities, which do not enter here: without a fitting hint the choice is the client's.
    pub fn pick<'a>(&self, models: &[&'a str]) -> Option<&'a str> {
        let names = self.hints.iter().filter_map(|hint| hint.name.as_deref()).filter(|name| !name.is_empty());
        names.into_iter().find_map(|name| models.iter().copied().find(|model| model.contains(name)))
    }

    /// Checks that all priorities are numbers from 0 to 1 (SAMP-07).
    pub fn validate(&self) -> Result<(), InvalidValue> {
        let priorities = [
            ("costPriority", self.cost_priority),
            ("speedPriority", self.speed_priority),
            ("intelligencePriority", self.intelligence_priority),
        ];
        for (member, priority) in priorities {
            priority.map_or(Ok(()), |priority| check_priority(member, priority))?;
        }
        Ok(())
    }
}

impl Adapt for ModelPreferences {
    fn adapt(&mut self, _revision: Revision) -> Result<(), InvalidValue> {
        self.validate()
    }
}

object! {
    /// The parameters of `sampling/createMessage` (SAMP-02).
    pub struct CreateMessageRequest {
        required {
            /// The conversation so far.
            "messages" => messages: Vec<SamplingMessage>,
            /// How many tokens to sample at most.
            "maxTokens" => max_tokens: u64,
        }
        optional {
            /// What the server would like of the model.
            "modelPreferences" => model_preferences, with_model_preferences: opt ModelPreferences;
            /// The system prompt it would like.
            "systemPrompt" => system_prompt, with_system_prompt: opt String;
            /// Whose context it would like added.
            "includeContext" => include_context, with_include_context: opt IncludeContext;
            /// The sampling temperature.
            "temperature" => temperature, with_temperature: opt f64;
            /// Texts at which to stop.
            "stopSequences" => stop_sequences, with_stop_sequences: list Vec<String>;
            /// An object for the provider of the model, passed through untouched (SAMP-11).
            "metadata" => metadata, with_metadata: opt Json check is_object;
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
    adapt;
}

impl CreateMessageRequest {
    /// Checks a received request beyond what reading it has checked (roles, `includeContext`, an integer `maxTokens`):
    /// text or image only in each message (SAMP-03), priorities from 0 to 1 (SAMP-07). An error stands for -32602.
    pub fn validate(&self, revision: Revision) -> Result<(), InvalidValue> {
        for (index, message) in self.messages.iter().enumerate() {
            let checked = message.content.check_in_sampling(revision);
            checked.map_err(|error| error.within(format_args!("messages[{index}]")))?;
        }
        match &self.model_preferences {
            Some(preferences) => preferences.validate().map_err(|error| error.within("modelPreferences")),
            None => Ok(()),
        }
    }
}

impl Adapt for CreateMessageRequest {
    /// A model without its tools would answer something else (SAMP-14).
    fn adapt(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        if revision >= Revision::V2025_11_25 {
            return Ok(());
        }
        for member in ["tools", "toolChoice"] {
            if self.extra.remove(member).is_some_and(|value| !value.is_null()) {
                return Err(InvalidValue::new(format!("does not exist in {revision}")).within(member));
            }
        }
        Ok(())
    }
}

/// Why the model stopped: an open set of words (SAMP-04). One that is not known here passes through unchanged.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct StopReason(Cow<'static, str>);

impl StopReason {
    /// The model was done.
    pub const END_TURN: StopReason = StopReason(Cow::Borrowed("endTurn"));
    /// One of the stop sequences came up.
    pub const STOP_SEQUENCE: StopReason = StopReason(Cow::Borrowed("stopSequence"));
    /// `maxTokens` were sampled.
    pub const MAX_TOKENS: StopReason = StopReason(Cow::Borrowed("maxTokens"));

    /// The word on the wire.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for StopReason {
    fn from(word: &str) -> StopReason {
        StopReason(Cow::Owned(word.to_owned()))
    }
}

impl From<String> for StopReason {
    fn from(word: String) -> StopReason {
        StopReason(Cow::Owned(word))
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for StopReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for StopReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StopReason, D::Error> {
        String::deserialize(deserializer).map(StopReason::from)
    }
}

impl Project for StopReason {}

object! {
    /// The result of `sampling/createMessage` (SCH-T22).
    pub struct CreateMessageResult {
        required {
            /// Who speaks: the model, as a rule.
            "role" => role: Role,
            /// What was sampled: one block of text or one image.
            "content" => content: Content,
            /// The name of the model.
            "model" => model: String,
        }
        optional {
            /// Why it stopped, if known.
            "stopReason" => stop_reason, with_stop_reason: opt StopReason;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
    adapt;
}

impl CreateMessageResult {
    /// The model's answer as text.
    pub fn text(model: impl Into<String>, text: impl Into<String>) -> CreateMessageResult {
        CreateMessageResult::new(Role::Assistant, Content::text(text), model)
    }
}

impl Adapt for CreateMessageResult {
    fn adapt(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        self.content.check_in_sampling(revision)
    }
}
