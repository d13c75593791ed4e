//! The JSON-RPC 2.0 envelope: one scan over a frame, classified by which members are present (JRPC-02).

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::RequestId;

/// A received message. `params` and `result` are slices of the frame: valid JSON, not looked at any further.
#[derive(Debug)]
#[non_exhaustive]
pub enum Message<'a> {
    /// `method` and a valid `id`.
    Request {
        /// The id to answer with.
        id: RequestId,
        /// The method's name.
        method: Cow<'a, str>,
        /// The text of the `params` object; `None` if absent or null.
        params: Option<&'a str>,
    },
    /// `method` without `id`.
    Notification {
        /// The method's name.
        method: Cow<'a, str>,
        /// The text of the `params` object; `None` if absent or null.
        params: Option<&'a str>,
    },
    /// `result` or `error` with an id.
    Response {
        /// The id of the request it answers.
        id: RequestId,
        /// What it says.
        outcome: Outcome<'a>,
    },
    /// An `error` with a null or missing id: about the connection, never about one call (JRPC-23).
    ConnectionError(RpcError<'a>),
}

/// What a response says.
#[derive(Debug)]
pub enum Outcome<'a> {
    /// The text of the `result` object.
    Result(&'a str),
    /// The `error` object.
    Error(RpcError<'a>),
    /// Both, neither, or of a wrong type: the call fails, the connection stays (JRPC-08, JRPC-11).
    Invalid(&'static str),
}

/// The members of an `error` object.
#[derive(Debug)]
pub struct RpcError<'a> {
    /// The integer code, as received.
    pub code: i64,
    /// The sentence for people.
    pub message: Cow<'a, str>,
    /// The text of `data`, if present.
    pub data: Option<&'a str>,
}

/// A frame that is no usable message.
#[derive(Debug)]
pub struct Malformed {
    /// What is wrong.
    pub fault: Fault,
    /// The id to answer with, if a valid one could be read.
    pub id: Option<RequestId>,
    /// Whether it was meant to be answered: notifications and responses never are (JRPC-12, JRPC-20).
    pub answer: Answer,
}

/// Whether somebody who serves requests answers a malformed frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It has a method and an id: a request, whoever receives it.
    Request,
    /// Nobody can tell what it was. Servers answer it (JRPC-18, JRPC-19), clients do not (JRPC-20).
    Unclear,
    /// A notification or a response.
    Never,
}

/// What can be wrong with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Not UTF-8 (JRPC-18).
    NotUtf8,
    /// Not JSON (JRPC-18).
    NotJson,
    /// JSON, but not an object (JRPC-19).
    NotAnObject,
    /// A batch, which this revision does not have (JRPC-22).
    Batch,
    /// Nested deeper than the limit (JRPC-29).
    TooDeep,
    /// `jsonrpc` is not `"2.0"` (JRPC-01).
    Version,
    /// The id is neither a string nor an integer (JRPC-03).
    Id,
    /// `method` is not a string.
    Method,
    /// A member of the envelope occurs twice.
    Repeated,
    /// Neither request, notification nor response (JRPC-19).
    Shapeless,
    /// `params` is not an object (JRPC-16).
    Params,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::NotUtf8 => "Parse error: the message is not UTF-8",
            Fault::NotJson => "Parse error: the message is not JSON",
            Fault::NotAnObject => "Invalid request: a message is a JSON object",
            Fault::Batch => "Invalid request: batches are not part of this protocol revision",
            Fault::TooDeep => "Invalid request: nested too deeply",
            Fault::Version => "Invalid request: `jsonrpc` must be \"2.0\"",
            Fault::Id => "Invalid request: `id` must be a string or an integer",
            Fault::Method => "Invalid request: `method` must be a string",
            Fault::Repeated => "Invalid request: a member of the envelope occurs twice",
            Fault::Shapeless => "Invalid request: neither request, notification nor response",
            Fault::Params => "Invalid params: `params` must be an object",
        })
    }
}

/// Reads one frame. `max_depth` is the number of arrays and objects that may be open at once.
pub fn parse(frame: &[u8], max_depth: usize) -> Result<Message<'_>, Malformed> {
    let Ok(text) = std::str::from_utf8(frame) else { return Err(unclear(Fault::NotUtf8)) };
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    if !text.starts_with('{') {
        return Err(unclear(match serde_json::from_str::<IgnoredAny>(text) {
            Err(_) => Fault::NotJson,
            Ok(_) if text.starts_with('[') => Fault::Batch,
            Ok(_) => Fault::NotAnObject,
        }));
    }
    let members: Members<'_> = serde_json::from_str(text).map_err(|_| unclear(Fault::NotJson))?;
    classify(&members, || deeper_than(text.as_bytes(), max_depth))
}

fn unclear(fault: Fault) -> Malformed {
    Malformed { fault, id: None, answer: Answer::Unclear }
}

fn classify<'a>(members: &Members<'a>, too_deep: impl FnOnce() -> bool) -> Result<Message<'a>, Malformed> {
    let id = members.id.map(RequestId::from_json);
    let shape = match (members.method, id.is_some(), members.result.or(members.error)) {
        (Some(_), true, _) => Answer::Request,
        (Some(_), false, _) | (None, _, Some(_)) => Answer::Never,
        (None, _, None) => Answer::Unclear,
    };
    let valid_id = id.as_ref().and_then(|id| id.as_ref().ok()).cloned();
    let malformed = |fault| Malformed { fault, id: valid_id.clone(), answer: shape };

    if members.repeated {
        return Err(malformed(Fault::Repeated));
    }
    if !members.jsonrpc.is_some_and(is_two) {
        return Err(malformed(Fault::Version));
    }
    if shape == Answer::Unclear {
        return Err(malformed(Fault::Shapeless));
    }
    if too_deep() {
        return Err(malformed(Fault::TooDeep));
    }
    let Some(method) = members.method else {
        return response(members, id).ok_or_else(|| malformed(Fault::Id));
    };
    let id = match id {
        Some(Err(_)) => return Err(malformed(Fault::Id)),
        Some(Ok(id)) => Some(id),
        None => None,
    };
    let Some(method) = string(method) else { return Err(malformed(Fault::Method)) };
    let params = members.params.filter(|params| *params != "null");
    if params.is_some_and(|params| !params.starts_with('{')) {
        return Err(malformed(Fault::Params));
    }
    Ok(match id {
        Some(id) => Message::Request { id, method, params },
        None => Message::Notification { method, params },
    })
}

/// The string `2.0`, which somebody may have written with escapes.
fn is_two(text: &str) -> bool {
    text == "\"2.0\"" || string(text).is_some_and(|version| version == "2.0")
}

fn response<'a>(members: &Members<'a>, id: Option<Result<RequestId, super::InvalidId>>) -> Option<Message<'a>> {
    let outcome = outcome(members);
    match (id, outcome) {
        (Some(Ok(id)), outcome) => Some(Message::Response { id, outcome }),
        // `null` is what JSON-RPC prescribes where the id of a faulty request could not be read.
        (None, Outcome::Error(error)) => Some(Message::ConnectionError(error)),
        (Some(Err(_)), Outcome::Error(error)) if members.id == Some("null") => Some(Message::ConnectionError(error)),
        _ => None,
    }
}

fn outcome<'a>(members: &Members<'a>) -> Outcome<'a> {
    // `"error": null` beside a result is a habit of some JSON libraries, not a second outcome.
    let error = members.error.filter(|error| *error != "null");
    match (members.result, error) {
        (Some(_), Some(_)) => Outcome::Invalid("the response has both a result and an error"),
        (None, None) => Outcome::Invalid("the response has neither a result nor an error"),
        (Some(result), None) if result.starts_with('{') => Outcome::Result(result),
        (Some(_), None) => Outcome::Invalid("the result of the response is not an object"),
        (None, Some(error)) => match rpc_error(error) {
            Some(error) => Outcome::Error(error),
            None => Outcome::Invalid("the error of the response lacks an integer code or a message"),
        },
    }
}

fn rpc_error(text: &str) -> Option<RpcError<'_>> {
    #[derive(serde::Deserialize)]
    struct Fields<'a> {
        #[serde(borrow)]
        code: &'a RawValue,
        #[serde(borrow)]
        message: &'a RawValue,
        // Null is data here (SCH-03).
        #[serde(borrow, default, deserialize_with = "present")]
        data: Option<&'a RawValue>,
    }
    if !text.starts_with('{') {
        return None;
    }
    let fields: Fields<'_> = serde_json::from_str(text).ok()?;
    let RequestId::Integer(code) = RequestId::from_json(fields.code.get()).ok()? else { return None };
    Some(RpcError {
        code: i64::try_from(code).ok()?,
        message: string(fields.message.get())?,
        data: fields.data.map(RawValue::get),
    })
}

/// A member that is present, null included.
pub(crate) fn present<'de: 'a, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// The value of a JSON string, borrowed when nothing in it is escaped.
fn string(text: &str) -> Option<Cow<'_, str>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    serde_json::from_str::<String>(text).ok().map(Cow::Owned)
}

/// The members of the envelope as raw text: presence and null stay apart.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a str>,
    result: Option<&'a str>,
    error: Option<&'a str>,
    repeated: bool,
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some(key) = map.next_key::<Key>()? {
                    let slot = match key {
                        Key::Jsonrpc => &mut members.jsonrpc,
                        Key::Id => &mut members.id,
                        Key::Method => &mut members.method,
                        Key::Params => &mut members.params,
                        Key::Result => &mut members.result,
                        Key::Error => &mut members.error,
                        Key::Other => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    members.repeated |= slot.replace(map.next_value::<&RawValue>()?.get()).is_some();
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

enum Key {
    Jsonrpc,
    Id,
    Method,
    Params,
    Result,
    Error,
    Other,
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl Visitor<'_> for Name {
            type Value = Key;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a member name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Key, E> {
                Ok(match name {
                    "jsonrpc" => Key::Jsonrpc,
                    "id" => Key::Id,
                    "method" => Key::Method,
                    "params" => Key::Params,
                    "result" => Key::Result,
                    "error" => Key::Error,
                    _ => Key::Other,
                })
            }
        }

        deserializer.deserialize_str(Name)
    }
}

/// Whether more than `max` arrays and objects are open at once anywhere in this valid JSON text.
///
/// Few messages have more than `max` opening brackets in all, and those are let through by a mere count.
pub(crate) fn deeper_than(text: &[u8], max: usize) -> bool {
    if memchr::memchr2_iter(b'{', b'[', text).nth(max).is_none() {
        return false;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > max {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at = end_of_string(text, at),
            _ => {}
        }
    }
    false
}

/// The index behind the closing quote of a string whose content begins at `at`.
fn end_of_string(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        if text[at + found] == b'"' {
            return at + found + 1;
        }
        at += found + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests;
