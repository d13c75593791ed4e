//! HTTP with SSE: an event stream from the server, a POST for each message of the client.
//!
//! The event stream's format is in [`codec`], without I/O; the two sides are behind the features `sse-server` and
//! `sse-client`.

#[cfg(feature = "sse-client")]
mod client;
pub mod codec;
#[cfg(feature = "sse-server")]
mod server;

#[cfg(feature = "sse-client")]
pub use client::{SseClientOptions, SseTransport};
#[cfg(feature = "sse-server")]
pub use server::{
    AuthRequest, Authenticate, BearerTokens, HttpRequest, Identity, Refusal, ShutdownReport, SseCounters, SseHandle,
    SseOptions, SseServer, SseSnapshot, bearer_tokens,
};
