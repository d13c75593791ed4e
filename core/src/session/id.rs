//! Names of sessions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An id that cannot be guessed: 128 random bits in hexadecimal.
pub(crate) fn session_id() -> Arc<str> {
    static FALLBACK: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0_u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Without a source of randomness ids are at least unique; they protect nothing on one's own pipes.
        bytes[..8].copy_from_slice(&FALLBACK.fetch_add(1, Ordering::Relaxed).to_be_bytes());
    }
    hexadecimal(&bytes).into()
}

/// Two digits a byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let digit = |nibble: u8| char::from_digit(nibble.into(), 16).expect("a nibble is one hexadecimal digit");
        text.extend([digit(byte >> 4), digit(byte & 15)]);
    }
    text
}
