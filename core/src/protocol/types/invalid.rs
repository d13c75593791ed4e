//! The error for values that the protocol, or the revision spoken, does not allow.

use std::fmt;

/// A value that the protocol does not allow, or that the revision spoken has no way to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidValue {
    member: String,
    reason: String,
}

impl InvalidValue {
    pub(crate) fn new(reason: impl Into<String>) -> InvalidValue {
        InvalidValue { member: String::new(), reason: reason.into() }
    }

    /// The same error, seen from one object or array further out.
    pub(crate) fn within(mut self, member: impl fmt::Display) -> InvalidValue {
        let dot = if self.member.is_empty() || self.member.starts_with('[') { "" } else { "." };
        self.member = format!("{member}{dot}{}", self.member);
        self
    }

    /// The path of the member at fault, such as `messages[0].content`; empty if it is the value itself.
    pub fn member(&self) -> &str {
        &self.member
    }

    /// What is wrong with it.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.member.is_empty() { f.write_str(&self.reason) } else { write!(f, "`{}`: {}", self.member, self.reason) }
    }
}

impl std::error::Error for InvalidValue {}

/// Priorities are numbers from 0 to 1 (SCH-05, SAMP-07).
pub(crate) fn check_priority(member: &str, priority: f64) -> Result<(), InvalidValue> {
    if (0.0..=1.0).contains(&priority) {
        return Ok(());
    }
    Err(InvalidValue::new(format!("a priority is a number from 0 to 1, not {priority}")).within(member))
}
