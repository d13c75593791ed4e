//! What the types promise, proven by requirement.

mod json;
mod params;
mod projection;
mod row;
mod rows;
mod rules;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads a `T` from JSON text, as it comes off the wire.
fn read<T: DeserializeOwned>(json: &Value) -> Result<T, String> {
    serde_json::from_str(&json.to_string()).map_err(|error| error.to_string())
}

/// Reads a `T` that must be readable.
fn must_read<T: DeserializeOwned>(json: &Value) -> T {
    read(json).unwrap_or_else(|error| panic!("{json} was refused: {error}"))
}

/// The text that goes out on the wire.
fn text_of<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("protocol types can be written")
}

/// The tree of what goes out on the wire.
fn written<T: Serialize>(value: &T) -> Value {
    serde_json::from_str(&text_of(value)).expect("what is written is JSON")
}

/// The error with which a `T` is refused.
fn refusal<T: DeserializeOwned + std::fmt::Debug>(json: &Value) -> String {
    match read::<T>(json) {
        Ok(value) => panic!("{json} was accepted as {value:?}"),
        Err(error) => error,
    }
}
