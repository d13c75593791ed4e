//! The protocol's data: wire types, the JSON-RPC envelope, the method table, revisions, URIs.
//!
//! Nothing here does I/O, keeps state or knows a session.

pub mod envelope;
pub mod file_uri;
mod id;
mod method;
mod revision;
mod types;
pub mod uri;
pub mod uri_template;

pub(crate) use id::write_integer;
pub use id::{InvalidId, ProgressToken, RequestId};
pub use method::{Direction, Gate, METHODS, Method, MethodKind, MethodSpec};
pub use revision::{Era, Revision};
pub use types::*;
