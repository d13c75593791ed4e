//! JSON that passes through untouched (SCH-13).

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

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
        Json(Arc::new(RawValue::from_string(line).expect("JSON stays valid when white space replaces white space")))
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

impl std::str::FromStr for Json {
    type Err = JsonError;

    /// As [`Json::parse`].
    fn from_str(text: &str) -> Result<Json, JsonError> {
        Json::parse(text)
    }
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

/// Free-form JSON is the same in every revision.
impl Project for Json {}

/// For members whose value must be an object.
pub(crate) fn is_object(json: &Json) -> Result<(), &'static str> {
    if json.is_object() { Ok(()) } else { Err("must be an object") }
}
