//! The Model Context Protocol, whole, from one Rust core.

#[cfg(feature = "io")]
pub mod client;
pub mod engine;
mod error;
#[cfg(feature = "io")]
pub mod middleware;
pub mod protocol;
#[cfg(feature = "io")]
pub mod server;
#[cfg(feature = "io")]
mod session;
#[cfg(feature = "io")]
pub mod transport;

#[cfg(feature = "io")]
pub use client::{Client, ClientBuilder};
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "io")]
pub use server::Server;
