//! Request ids and progress tokens: strings or integers, kept exactly.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON-RPC request id: a string or an integer, echoed with the same type and value (JRPC-03, JRPC-06, SCH-T06).
///
/// `1` and `"1"` are different ids (JRPC-07). Integers are exact far beyond 64 bits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestId {
    /// An integer id. A number with a zero fraction (`1.0`) is an integer too.
    Integer(i128),
    /// A string id, the empty string included.
    String(Box<str>),
}

/// A progress token has the same form as a request id, but lives in a space of its own (PROG-01, PROG-14).
pub type ProgressToken = RequestId;

/// The JSON value is neither a string nor an integer (JRPC-03).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a string or an integer")
    }
}

impl std::error::Error for InvalidId {}

/// Doubles hold every integer up to here; beyond, a fraction written as `.0` could have been rounded away.
const EXACT_DOUBLE: f64 = 9_007_199_254_740_992.0;

impl RequestId {
    /// Reads an id from the text of one JSON value.
    pub fn from_json(text: &str) -> Result<RequestId, InvalidId> {
        let text = text.trim_ascii();
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str::<String>(text)
                .map(|s| RequestId::String(s.into_boxed_str()))
                .map_err(|_| InvalidId),
            Some(b'-' | b'0'..=b'9') => Self::integer_from_json(text),
            _ => Err(InvalidId),
        }
    }

    fn integer_from_json(text: &str) -> Result<RequestId, InvalidId> {
        if let Ok(integer) = text.parse::<i128>() {
            return Ok(RequestId::Integer(integer));
        }
        let real = text.parse::<f64>().map_err(|_| InvalidId)?;
        if real.fract() == 0.0 && real.abs() <= EXACT_DOUBLE {
            #[allow(clippy::cast_possible_truncation, reason = "checked: whole and within 2^53")]
            return Ok(RequestId::Integer(real as i128));
        }
        Err(InvalidId)
    }

    /// Appends the id as JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            RequestId::Integer(integer) => write_integer(out, *integer),
            RequestId::String(string) => {
                serde_json::to_writer(&mut *out, &**string).expect("writing a string to memory cannot fail");
            }
        }
    }
}

/// Appends an integer in decimal digits; ids are written for every message, so without the formatting machinery.
pub(crate) fn write_integer(out: &mut Vec<u8>, integer: i128) {
    match i64::try_from(integer) {
        Ok(small) => serde_json::to_writer(&mut *out, &small),
        Err(_) => serde_json::to_writer(&mut *out, &integer),
    }
    .expect("writing an integer to memory cannot fail");
}

impl From<i64> for RequestId {
    fn from(integer: i64) -> Self {
        RequestId::Integer(integer.into())
    }
}

impl From<u64> for RequestId {
    fn from(integer: u64) -> Self {
        RequestId::Integer(integer.into())
    }
}

impl From<&str> for RequestId {
    fn from(string: &str) -> Self {
        RequestId::String(string.into())
    }
}

impl From<String> for RequestId {
    fn from(string: String) -> Self {
        RequestId::String(string.into_boxed_str())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestId::Integer(integer) => integer.fmt(f),
            RequestId::String(string) => fmt::Debug::fmt(string, f),
        }
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            RequestId::Integer(integer) => match i64::try_from(*integer) {
                Ok(small) => serializer.serialize_i64(small),
                Err(_) => serializer.serialize_i128(*integer),
            },
            RequestId::String(string) => serializer.serialize_str(string),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        RequestId::from_json(raw.get()).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(text: &str) -> Result<String, InvalidId> {
        let mut out = Vec::new();
        RequestId::from_json(text)?.write_json(&mut out);
        Ok(String::from_utf8(out).expect("JSON is UTF-8"))
    }

    // proves: JRPC-06
    #[test]
    fn jrpc_06_ids_come_back_exactly() {
        for id in [
            "\"1\"",
            "1",
            "0",
            "-7",
            "9007199254740993",
            "9223372036854775807",
            "18446744073709551615",
            "\"\"",
            "\"ключ\"",
            "\"a b\"",
            "-9223372036854775808",
        ] {
            assert_eq!(echo(id).as_deref(), Ok(id));
        }
    }

    // proves: JRPC-03
    #[test]
    fn jrpc_03_whole_numbers_are_integers_and_the_rest_is_refused() {
        assert_eq!(RequestId::from_json("1.0"), Ok(RequestId::Integer(1)));
        assert_eq!(RequestId::from_json("1e2"), Ok(RequestId::Integer(100)));
        for bad in ["null", "true", "1.5", "[]", "{}", "1e300", "", "1e-1"] {
            assert_eq!(RequestId::from_json(bad), Err(InvalidId), "{bad}");
        }
    }

    // proves: JRPC-07
    #[test]
    fn jrpc_07_type_distinguishes_ids() {
        assert_ne!(RequestId::from(1_i64), RequestId::from("1"));
    }
}
