//! One error type and one table of its kinds, for the core and every binding.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use crate::protocol::{Json, Revision};

macro_rules! error_kinds {
    ($($(#[$doc:meta])* $variant:ident $name:literal $number:literal $code:expr;)*) => {
        /// What went wrong, independent of revision, transport and language.
        ///
        /// Inside, errors are semantic; they get their JSON-RPC code only when they are written to a peer, because the
        /// code for one and the same fault differs between revisions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])* $variant,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of their numbers. Bindings are compared with this table in their tests.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant,)*];

            /// The stable name, in upper case, the same in every language.
            pub const fn name(self) -> &'static str {
                match self { $(ErrorKind::$variant => $name,)* }
            }

            /// The stable number. Numbers are never reused.
            pub const fn number(self) -> u16 {
                match self { $(ErrorKind::$variant => $number,)* }
            }

            /// The JSON-RPC code under 2024-11-05; `None` for kinds that only arise locally or carry their own code.
            const fn base_code(self) -> Option<i64> {
                match self { $(ErrorKind::$variant => $code,)* }
            }
        }
    };
}

error_kinds! {
    /// Text that is not JSON, or not UTF-8 (JRPC-18).
    Parse "PARSE" 1 Some(-32700);
    /// JSON that is no valid request (JRPC-19).
    InvalidRequest "INVALID_REQUEST" 2 Some(-32600);
    /// Nobody serves this method here (JRPC-14, CAP-06, CAP-07).
    MethodNotFound "METHOD_NOT_FOUND" 3 Some(-32601);
    /// Missing or mistyped parameters; unknown tool or prompt; a bad cursor (JRPC-17, TOOL-05, PROM-05, PAGE-05).
    InvalidParams "INVALID_PARAMS" 4 Some(-32602);
    /// An unexpected failure on the side that serves the request (JRPC-26).
    Internal "INTERNAL" 5 Some(-32603);
    /// No resource has this URI (RES-05).
    ResourceNotFound "RESOURCE_NOT_FOUND" 6 Some(-32002);
    /// The arguments of a tool break its schema (TOOL-06).
    InvalidToolArguments "INVALID_TOOL_ARGUMENTS" 7 Some(-32602);
    /// The person refused the sampling request (SAMP-06).
    UserRejected "USER_REJECTED" 8 Some(-1);
    /// More work than the limits allow is already accepted (architecture: defaults).
    Overloaded "OVERLOADED" 9 Some(-32603);
    /// A policy of this side forbids the request: access, rate, consent (TOOL-12, TOOL-13).
    Denied "DENIED" 10 Some(-32603);
    /// The peer answered with an error of a code that this table does not name; see [`Error::code`] (JRPC-27).
    Rpc "RPC" 20 None;
    /// The peer's answer cannot be used (JRPC-08, SCH-09).
    InvalidResponse "INVALID_RESPONSE" 21 None;
    /// A time limit ran out (TIME-01).
    Timeout "TIMEOUT" 22 None;
    /// The caller cancelled the request (CANC-10).
    Cancelled "CANCELLED" 23 None;
    /// The connection has ended (JRPC-28).
    Closed "CLOSED" 24 None;
    /// The peer did not declare the capability, or the revision does not have the method (CAP-05).
    Unsupported "UNSUPPORTED" 25 None;
    /// The two sides have no revision in common (VER-06, VER-07).
    VersionMismatch "VERSION_MISMATCH" 26 None;
    /// The handshake failed in another way (LIFE-12).
    Handshake "HANDSHAKE" 27 None;
    /// The bytes could not be moved.
    Transport "TRANSPORT" 28 None;
    /// The child process could not be started (FC-013).
    Spawn "SPAWN" 29 None;
    /// A message is longer than the limit (JRPC-29).
    TooLarge "TOO_LARGE" 30 None;
    /// An argument given by the application cannot be used.
    InvalidArgument "INVALID_ARGUMENT" 31 None;
    /// Something of this name is registered already (TOOL-11, RES-13).
    Duplicate "DUPLICATE" 32 None;
    /// A walk over pages did not come to an end (PAGE-08).
    EndlessPages "ENDLESS_PAGES" 33 None;
    /// The HTTP server answered with a status that is no success; `data.status` has it.
    Http "HTTP" 34 None;
}

impl ErrorKind {
    /// The JSON-RPC code of this kind under `revision`. Kinds that only arise locally are internal errors to a peer.
    pub fn code(self, revision: Revision) -> i64 {
        match self {
            // From 2026-07-28 a missing resource is an invalid parameter, and -32002 is never sent.
            ErrorKind::ResourceNotFound if revision >= Revision::V2026_07_28 => -32602,
            _ => self.base_code().unwrap_or(-32603),
        }
    }

    /// The kind that a received code stands for. -32603 and -32602 have several senders' meanings and one here.
    pub fn from_code(code: i64) -> ErrorKind {
        match code {
            -32700 => ErrorKind::Parse,
            -32600 => ErrorKind::InvalidRequest,
            -32601 => ErrorKind::MethodNotFound,
            -32602 => ErrorKind::InvalidParams,
            -32603 => ErrorKind::Internal,
            -32002 => ErrorKind::ResourceNotFound,
            -1 => ErrorKind::UserRejected,
            _ => ErrorKind::Rpc,
        }
    }
}

/// The result of everything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this library, or one that a peer answered.
///
/// It carries a [kind](ErrorKind) for programs, a message for people, and optionally `data` for programs. An error that
/// came from a peer also has the JSON-RPC code exactly as received (JRPC-27).
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    code: Option<i64>,
    message: Cow<'static, str>,
    data: Option<Json>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A JSON-RPC message should be one short sentence (JRPC-10); longer ones are cut here.
const MESSAGE_CHARS: usize = 199;

impl Error {
    /// An error of `kind` with a message for people: what was wrong, where, and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Error {
        Error(Box::new(Inner { kind, code: None, message: message.into(), data: None, source: None }))
    }

    /// Missing or mistyped parameters. Written as -32602.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::InvalidParams, message)
    }

    /// An unexpected failure. Written as -32603; the message goes to the peer, so it must not tell internals (JRPC-26).
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Internal, message)
    }

    /// No resource has this URI. Written as -32002 with `data.uri` (RES-05).
    pub fn resource_not_found(uri: &str) -> Error {
        #[derive(Serialize)]
        struct Data<'a> {
            uri: &'a str,
        }
        let error = Error::new(ErrorKind::ResourceNotFound, "Resource not found");
        match Json::from_serialize(&Data { uri }) {
            Ok(data) => error.with_data(data),
            Err(_) => error,
        }
    }

    /// Nobody serves this method. Written as -32601.
    pub fn method_not_found(method: &str) -> Error {
        Error::new(ErrorKind::MethodNotFound, format!("Method not found: {}", Excerpt(method)))
    }

    /// A policy of this side forbids it (TOOL-12, TOOL-13).
    pub fn denied(reason: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Denied, reason)
    }

    /// The connection has ended.
    pub fn closed(reason: impl Into<Cow<'static, str>>) -> Error {
        Error::new(ErrorKind::Closed, reason)
    }

    /// An error with a JSON-RPC code of the application's own. The code is written exactly as given.
    ///
    /// Codes outside -32768…-32000 are free for applications.
    pub fn with_code(code: i64, message: impl Into<Cow<'static, str>>) -> Error {
        let mut error = Error::new(ErrorKind::from_code(code), message);
        error.0.code = Some(code);
        error
    }

    /// A received code under a kind that says more than the code does.
    pub(crate) fn with_code_of_kind(kind: ErrorKind, code: i64, message: impl Into<Cow<'static, str>>) -> Error {
        let mut error = Error::new(kind, message);
        error.0.code = Some(code);
        error
    }

    /// The same error with machine-readable detail.
    #[must_use]
    pub fn with_data(mut self, data: Json) -> Error {
        self.0.data = Some(data);
        self
    }

    /// The same error with the fault that caused it, for local diagnostics only: it is never sent to a peer.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        self.0.source = Some(source.into());
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The JSON-RPC code, if a peer sent this error or the application chose one.
    pub fn code(&self) -> Option<i64> {
        self.0.code
    }

    /// The sentence for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Machine-readable detail, if there is any.
    pub fn data(&self) -> Option<&Json> {
        self.0.data.as_ref()
    }

    /// The JSON-RPC code to write under `revision`.
    pub fn wire_code(&self, revision: Revision) -> i64 {
        self.0.code.unwrap_or_else(|| self.0.kind.code(revision))
    }

    /// The message to write: one line, below 200 characters (JRPC-10).
    pub fn wire_message(&self) -> Cow<'_, str> {
        let message = &self.0.message;
        if message.len() <= MESSAGE_CHARS && !message.chars().any(char::is_control) {
            return Cow::Borrowed(message);
        }
        Cow::Owned(one_line(message, MESSAGE_CHARS))
    }
}

impl Clone for Error {
    /// The source stays with the original: it is a diagnostic of the place where the error arose.
    fn clone(&self) -> Self {
        Error(Box::new(Inner {
            kind: self.0.kind,
            code: self.0.code,
            message: self.0.message.clone(),
            data: self.0.data.clone(),
            source: None,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match self.0.code {
            Some(code) => write!(f, " (code {code})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.0.kind).field("message", &self.0.message);
        if let Some(code) = self.0.code {
            out.field("code", &code);
        }
        if let Some(data) = &self.0.data {
            out.field("data", &data.get());
        }
        if let Some(source) = &self.0.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<crate::protocol::JsonError> for Error {
    /// JSON that the application gave cannot be used.
    fn from(error: crate::protocol::JsonError) -> Error {
        Error::new(ErrorKind::InvalidArgument, error.to_string()).with_source(error)
    }
}

impl From<crate::protocol::InvalidValue> for Error {
    /// A value that the application gave cannot be sent under the revision spoken.
    fn from(error: crate::protocol::InvalidValue) -> Error {
        Error::new(ErrorKind::InvalidArgument, error.to_string()).with_source(error)
    }
}

/// Peer-supplied text inside a message of ours: bounded and free of control characters (SEC-08).
pub(crate) struct Excerpt<'a>(pub(crate) &'a str);

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", one_line(self.0, 80))
    }
}

/// `text` without control characters, cut to `chars` characters.
fn one_line(text: &str, chars: usize) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().nth(chars).is_none() {
        return text.chars().map(clean).collect();
    }
    let mut out: String = text.chars().take(chars - 1).map(clean).collect();
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_unique() {
        for (i, kind) in ErrorKind::ALL.iter().enumerate() {
            for other in &ErrorKind::ALL[i + 1..] {
                assert_ne!(kind.name(), other.name());
                assert!(kind.number() < other.number(), "{kind:?} and {other:?} are out of order");
            }
        }
    }

    // proves: JRPC-10
    #[test]
    fn jrpc_10_messages_are_one_short_line() {
        let error = Error::internal(format!("first\nsecond\t{}", "ä".repeat(500)));
        let message = error.wire_message();
        assert!(message.chars().count() < 200);
        assert!(!message.chars().any(char::is_control));
    }

    #[test]
    fn a_missing_resource_changes_its_code_with_the_revision() {
        let error = Error::resource_not_found("x:none");
        assert_eq!(error.wire_code(Revision::V2024_11_05), -32002);
        assert_eq!(error.wire_code(Revision::V2026_07_28), -32602);
        assert_eq!(error.data().map(Json::get), Some(r#"{"uri":"x:none"}"#));
    }
}
