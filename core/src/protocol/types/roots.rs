//! Roots: the places a client opens to a server.

use super::invalid::InvalidValue;
use super::members::Meta;
use super::object::object;
use super::project::Adapt;
use crate::protocol::Revision;

object! {
    /// A place the server may work in (SCH-T27).
    pub struct Root {
        required {
            /// Its URI, which starts with `file://` (ROOT-03); see [`is_file`](Root::is_file).
            "uri" => uri: String,
        }
        optional {
            /// A name for people.
            "name" => name, with_name: opt String;
        }
    }
    adapt;
}

impl Root {
    /// Whether the URI starts with `file://`, as it must (ROOT-03). The scheme is compared without case.
    pub fn is_file(&self) -> bool {
        const PREFIX: &str = "file://";
        self.uri.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
    }
}

impl Adapt for Root {
    /// No other place is ever told (ROOT-03).
    fn adapt(&mut self, _revision: Revision) -> Result<(), InvalidValue> {
        if self.is_file() {
            return Ok(());
        }
        Err(InvalidValue::new(format!("a root's URI starts with file://, unlike {:?}", self.uri)).within("uri"))
    }
}

object! {
    /// The result of `roots/list`: always the whole list, possibly empty (SCH-T29, ROOT-02).
    pub struct ListRootsResult {
        required {
            /// The roots.
            "roots" => roots: Vec<Root>,
        }
        optional {
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}
