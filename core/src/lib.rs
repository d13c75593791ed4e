//! The Model Context Protocol, whole, from one Rust core: servers and clients of revision 2024-11-05 over stdio, child
//! processes, byte streams, in-memory pairs and transports of the application's own.
//!
//! * [`Server`] offers tools, resources, prompts and completions; begin at [`server`].
//! * [`Client`] uses them, and answers sampling and roots requests; begin at [`client`].
//! * [`middleware`] wraps every request and notification of either side.
//! * [`transport`] says how messages travel, and how to record them.
//! * [`protocol`] has the wire types, the method table and the revisions; [`engine`] the rules of a session as a state
//!   machine without I/O. Both work with the feature `io` off, which leaves out everything else.
//!
//! # A server and a client in one process
//!
//! ```
//! use mcp_native::server::tool;
//! use mcp_native::transport::memory;
//! use mcp_native::{Client, Server};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add {
//!     a: i64,
//!     b: i64,
//! }
//!
//! # fn main() -> Result<(), mcp_native::Error> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
//! # runtime.block_on(async {
//! let server = Server::new("adder", "1.0");
//! server.tool(tool("add").description("Adds two integers").handler(|args: Add, _| async move { Ok(args.a + args.b) }))?;
//!
//! let (theirs, ours) = memory::pair();
//! server.serve(theirs);
//! let client = Client::builder("example", "1.0").connect(ours).await?;
//! let result = client.call_tool("add", serde_json::json!({ "a": 2, "b": 3 })).await?;
//! assert_eq!(result.content[0].as_text(), Some("5"));
//! client.close().await;
//! # Ok(())
//! # })
//! # }
//! ```
//!
//! # Threads and runtimes
//!
//! A session over stdio or blocking streams is read on a thread of its own, and short handlers run right there. What
//! suspends moves to the tokio runtime that was current when the session began, or to one that this library starts when
//! it first needs it. Handlers declared blocking run on threads of a pool. A handler that blocks the reading thread all
//! the same is noticed, and another thread goes on reading. Callbacks are never called with a lock of this library held.
//!
//! # Errors
//!
//! There is one [`Error`] type with an [`ErrorKind`] for programs and a sentence for people. Errors of a peer keep their
//! JSON-RPC code. A failing tool is a result with `isError`, not an error.

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

/// The README's code is compiled with the documentation's.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../../README.md")]
struct Readme;

#[cfg(feature = "io")]
pub use client::{Client, ClientBuilder};
pub use error::{Error, ErrorKind, Result};
#[cfg(feature = "io")]
pub use server::Server;
