//! The Model Context Protocol, whole, from one Rust core.

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

pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "io")]
pub use server::Server;
