//! Roots: the places a client opens to a server.

use super::json::Meta;
use super::object::object;

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
}

impl Root {
    /// Whether the URI starts with `file://`, as it must (ROOT-03). The scheme is compared without case.
    pub fn is_file(&self) -> bool {
        const PREFIX: &str = "file://";
        self.uri.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
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
