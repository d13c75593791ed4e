//! JSON that passes through untouched: free-form values and open objects (SCH-01, SCH-13).

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::object::Name;
use super::project::Project;
use crate::protocol::ProgressToken;

/// Arrays and objects may be nested this deep, as in the parser underneath.
const MAX_DEPTH: usize = 128;

/// One JSON value kept as its text: `inputSchema`, `arguments`, log `data`, `metadata` and other free-form members.
///
/// The text is known to be valid JSON without a raw line break, so it can be spliced into a message as it is: integers
/// of 64 bits stay exact, `1.0` and `1e3` stay as written, empty objects and inner nulls stay (SCH-13). Cloning costs a
/// reference count. Two values are equal if their texts are.
#[derive(Clone)]
pub struct Json(Arc<Box<RawValue>>);

impl Json {
    /// Checks a JSON text and keeps it.
    ///
    /// Raw line breaks, which JSON allows between tokens only, become blanks, because a stdio frame is one line; blanks
    /// around the value go. Fails if the text is not exactly one JSON value, or is nested deeper than 128.
    pub fn parse(text: impl Into<String>) -> Result<Json, JsonError> {
        let text = text.into();
        check_depth(&text)?;
        Ok(Json::from_raw(RawValue::from_string(text)?))
    }

    /// The JSON text of any value that serde can serialise.
    ///
    /// Fails if JSON cannot hold it: map keys that are no strings, an error of the type's own, nesting beyond 128.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Json, JsonError> {
        let raw = serde_json::value::to_raw_value(value)?;
        check_depth(raw.get())?;
        Ok(Json::from_raw(raw))
    }

    /// The value `{}`.
    pub fn empty_object() -> Json {
        Json::from(Value::Object(Map::new()))
    }

    /// The value `null`.
    pub fn null() -> Json {
        Json::from(Value::Null)
    }

    /// The text: valid JSON on one line.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the value as a Rust type; the error names what did not fit.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, JsonError> {
        serde_json::from_str(self.get()).map_err(JsonError::from)
    }

    /// The value as a tree. Fails where a tree cannot hold what the text can: numbers beyond a double, half surrogates.
    pub fn to_value(&self) -> Result<Value, JsonError> {
        self.decode()
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.get().starts_with('{')
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.get() == "null"
    }

    /// Every way in ends here: the value on one line, without blanks around it.
    fn from_raw(raw: Box<RawValue>) -> Json {
        let text = raw.get();
        // Inside a JSON string a line break is always escaped, so a raw one stands between two tokens.
        if memchr::memchr2(b'\n', b'\r', text.as_bytes()).is_none() {
            return Json(Arc::new(raw));
        }
        let line = text.replace(['\n', '\r'], " ");
        // A blank for a line break keeps JSON valid; should that ever be wrong, the original is still better than nothing.
        Json(Arc::new(RawValue::from_string(line).unwrap_or(raw)))
    }
}

/// The parser underneath skips a raw value without recursion and hence without a limit, so the limit is ours.
fn check_depth(text: &str) -> Result<(), JsonError> {
    // Anything deeper needs as many brackets.
    if text.len() <= MAX_DEPTH {
        return Ok(());
    }
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(JsonError::new(format!("JSON is nested deeper than {MAX_DEPTH} levels")));
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        let raw = serde_json::value::to_raw_value(&value).expect("a JSON tree has a JSON text");
        Json::from_raw(raw)
    }
}

impl From<Map<String, Value>> for Json {
    fn from(map: Map<String, Value>) -> Json {
        Json::from(Value::Object(map))
    }
}

impl From<&ProgressToken> for Json {
    fn from(token: &ProgressToken) -> Json {
        Json::from_raw(serde_json::value::to_raw_value(token).expect("a string or an integer has a JSON text"))
    }
}

impl From<&Json> for Json {
    fn from(json: &Json) -> Json {
        json.clone()
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Json {}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    /// Takes the slice of the message as it is. Its depth is the business of whoever accepted the message.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Json::from_raw)
    }
}

/// Text that is not the JSON that was asked for: not JSON, too deep, or not of the wanted shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    message: String,
}

impl JsonError {
    pub(crate) fn new(message: impl Into<String>) -> JsonError {
        JsonError { message: message.into() }
    }
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> JsonError {
        JsonError::new(error.to_string())
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

/// The members of an open JSON object, in order, each value kept as its text.
///
/// Every object of the protocol is open (SCH-01); what a type does not know by name it keeps in a `Members`. `_meta`,
/// which may hold anything, is one as well.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Members(Vec<(String, Json)>);

impl Members {
    /// No members.
    pub const fn new() -> Members {
        Members(Vec::new())
    }

    /// The value of a member; `None` if there is no such member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Whether there is a member of this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a member, and returns the value it had before.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Json>) -> Option<Json> {
        let (name, value) = (name.into(), value.into());
        if let Some((_, old)) = self.0.iter_mut().rev().find(|(key, _)| *key == name) {
            return Some(std::mem::replace(old, value));
        }
        self.0.push((name, value));
        None
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let index = self.0.iter().rposition(|(key, _)| key == name)?;
        Some(self.0.remove(index).1)
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// Adds a member just read. No search for an older one of the same name: objects of thousands of unknown members
    /// would take quadratic time. Of two of the same name [`get`](Members::get) finds
    /// the last, as parsers commonly do.
    pub(crate) fn push(&mut self, name: String, value: Json) {
        self.0.push((name, value));
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<String>, V: Into<Json>> FromIterator<(K, V)> for Members {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Members {
        let mut out = Members::new();
        for (name, value) in members {
            out.insert(name, value);
        }
        out
    }
}

impl From<Map<String, Value>> for Members {
    fn from(map: Map<String, Value>) -> Members {
        Members(map.into_iter().map(|(name, value)| (name, Json::from(value))).collect())
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push(name.into_owned(), map.next_value()?);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// The `_meta` object of a request, a notification or a result (SCH-04): free-form, with a few reserved names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta(Members);

impl Meta {
    /// An empty `_meta`.
    pub const fn new() -> Meta {
        Meta(Members::new())
    }

    /// The token under which the sender of this request wants progress (PROG-01); `None` if it wants none.
    ///
    /// Fails if the member is there but is no string or integer, `null` included.
    pub fn progress_token(&self) -> Result<Option<ProgressToken>, JsonError> {
        let Some(token) = self.get("progressToken") else { return Ok(None) };
        ProgressToken::from_json(token.get())
            .map(Some)
            .map_err(|_| JsonError::new("`_meta.progressToken` must be a string or an integer"))
    }

    /// The same `_meta` with a progress token (PROG-01).
    #[must_use]
    pub fn with_progress_token(mut self, token: impl Into<ProgressToken>) -> Meta {
        self.0.insert("progressToken", Json::from(&token.into()));
        self
    }

    /// The same `_meta` with one more member.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Json>) -> Meta {
        self.0.insert(name, value);
        self
    }
}

impl std::ops::Deref for Meta {
    type Target = Members;

    fn deref(&self) -> &Members {
        &self.0
    }
}

impl std::ops::DerefMut for Meta {
    fn deref_mut(&mut self) -> &mut Members {
        &mut self.0
    }
}

impl From<Members> for Meta {
    fn from(members: Members) -> Meta {
        Meta(members)
    }
}

impl From<Map<String, Value>> for Meta {
    fn from(map: Map<String, Value>) -> Meta {
        Meta(map.into())
    }
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Meta, D::Error> {
        Members::deserialize(deserializer).map(Meta)
    }
}

// Free-form JSON is the same in every revision.
impl Project for Json {}
impl Project for Members {}
impl Project for Meta {}

/// For members whose value must be an object.
pub(crate) fn is_object(json: &Json) -> Result<(), &'static str> {
    if json.is_object() { Ok(()) } else { Err("must be an object") }
}
