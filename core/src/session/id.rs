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
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}
