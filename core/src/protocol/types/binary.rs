//! Bytes inside JSON: base64 and the media type that says what they are.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_PAD_INDIFFERENT, URL_SAFE_PAD_INDIFFERENT};

use super::invalid::InvalidValue;

/// Bytes as base64: standard alphabet, padded (RFC 4648 §4; RES-04, RES-08).
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a base64 text. Padding may be missing (RES-04), and the URL-safe alphabet is read too (FC-070).
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, Base64Error> {
    let url_safe = text.bytes().any(|byte| byte == b'-' || byte == b'_');
    let bytes = if url_safe { URL_SAFE_PAD_INDIFFERENT.decode(text) } else { STANDARD_PAD_INDIFFERENT.decode(text) };
    bytes.map_err(|error| Base64Error(error.to_string()))
}

/// How many bytes a base64 text holds, without decoding it.
pub(crate) fn decoded_len(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

/// A `data` or `blob` member is not valid base64. It surfaces when the bytes are asked for; the message it came in is
/// not lost (SCH-08).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base64Error(String);

impl fmt::Display for Base64Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid base64: {}", self.0)
    }
}

impl std::error::Error for Base64Error {}

/// Checks the form of a media type: `type/subtype`, with optional parameters after `;` (RFC 9110 §8.3.1; PROM-08).
pub(crate) fn check_mime_type(mime_type: &str) -> Result<(), InvalidValue> {
    let essence = mime_type.split_once(';').map_or(mime_type, |(essence, _parameters)| essence.trim_end());
    let well_formed = essence.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
        && !mime_type.chars().any(char::is_control);
    if well_formed {
        return Ok(());
    }
    Err(InvalidValue::new(format!("{mime_type:?} is no media type; write one such as image/png")).within("mimeType"))
}

/// A token as in RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
