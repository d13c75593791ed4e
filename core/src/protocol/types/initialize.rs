//! The handshake: who speaks, and what each side can do.

use super::json::Json;
use super::members::{Members, Meta};
use super::object::object;

object! {
    /// A program that speaks the protocol (SCH-T07).
    pub struct Implementation {
        required {
            /// Its name.
            "name" => name: String,
            /// Its version, in its own scheme.
            "version" => version: String,
        }
        optional {
            /// A name for people, from 2025-06-18 on.
            "title" => title, with_title: opt String since V2025_06_18;
        }
    }
}

object! {
    /// The parameters of `initialize` (LIFE-02).
    pub struct InitializeRequest {
        required {
            /// The revision the client wants; any string (VER-09).
            "protocolVersion" => protocol_version: String,
            /// What the client can do.
            "capabilities" => capabilities: ClientCapabilities,
            /// The client.
            "clientInfo" => client_info: Implementation,
        }
        optional {
            /// Progress token and free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// The result of `initialize` (SCH-T31).
    pub struct InitializeResult {
        required {
            /// The revision the server speaks in this session; any string (VER-09).
            "protocolVersion" => protocol_version: String,
            /// What the server can do.
            "capabilities" => capabilities: ServerCapabilities,
            /// The server.
            "serverInfo" => server_info: Implementation,
        }
        optional {
            /// How to use the server, for the model.
            "instructions" => instructions, with_instructions: opt String;
            /// Free-form metadata (SCH-04).
            "_meta" => meta, with_meta: opt Meta;
        }
    }
}

object! {
    /// What a client can do (SCH-T08).
    ///
    /// A capability is there if its object is, `{}` included; null counts as absent, anything else is refused (CAP-02,
    /// CAP-11). Names of later revisions and of nobody are kept in `extra` and not sent in 2024-11-05 (CAP-04, CAP-08).
    #[derive(Default)]
    pub struct ClientCapabilities {
        required {}
        optional {
            /// Capabilities outside the protocol; each is an object (CAP-04).
            "experimental" => experimental, with_experimental: opt Members check all_objects;
            /// It has roots.
            "roots" => roots, with_roots: opt RootsCapability;
            /// It lets servers ask its model.
            "sampling" => sampling, with_sampling: opt SamplingCapability;
        }
    }
}

impl ClientCapabilities {
    /// Whether the client tells when its roots change (ROOT-04).
    pub fn roots_list_changed(&self) -> bool {
        self.roots.as_ref().is_some_and(|roots| roots.list_changed == Some(true))
    }
}

object! {
    /// What a server can do (SCH-T09).
    ///
    /// A capability is there if its object is, `{}` included; null counts as absent, anything else is refused (CAP-02,
    /// CAP-11). Names of later revisions and of nobody are kept in `extra` and not sent in 2024-11-05 (CAP-04, CAP-08).
    #[derive(Default)]
    pub struct ServerCapabilities {
        required {}
        optional {
            /// Capabilities outside the protocol; each is an object (CAP-04).
            "experimental" => experimental, with_experimental: opt Members check all_objects;
            /// It sends log messages.
            "logging" => logging, with_logging: opt LoggingCapability;
            /// It has prompts.
            "prompts" => prompts, with_prompts: opt PromptsCapability;
            /// It has resources.
            "resources" => resources, with_resources: opt ResourcesCapability;
            /// It has tools.
            "tools" => tools, with_tools: opt ToolsCapability;
        }
    }
}

impl ServerCapabilities {
    /// Whether the server tells when its prompts change.
    pub fn prompts_list_changed(&self) -> bool {
        self.prompts.as_ref().is_some_and(|prompts| prompts.list_changed == Some(true))
    }

    /// Whether the server tells when its list of resources changes.
    pub fn resources_list_changed(&self) -> bool {
        self.resources.as_ref().is_some_and(|resources| resources.list_changed == Some(true))
    }

    /// Whether the server takes subscriptions to resources (SUB-01).
    pub fn resources_subscribe(&self) -> bool {
        self.resources.as_ref().is_some_and(|resources| resources.subscribe == Some(true))
    }

    /// Whether the server tells when its tools change.
    pub fn tools_list_changed(&self) -> bool {
        self.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true))
    }
}

object! {
    /// The client capability `roots`.
    #[derive(Default)]
    pub struct RootsCapability {
        required {}
        optional {
            /// Whether changes are told; absent means no (CAP-03).
            "listChanged" => list_changed, with_list_changed: opt bool;
        }
    }
}

object! {
    /// The client capability `sampling`.
    #[derive(Default)]
    pub struct SamplingCapability {
        required {}
        optional {}
    }
}

object! {
    /// The server capability `logging`.
    #[derive(Default)]
    pub struct LoggingCapability {
        required {}
        optional {}
    }
}

object! {
    /// The server capability `prompts`.
    #[derive(Default)]
    pub struct PromptsCapability {
        required {}
        optional {
            /// Whether changes of the list are told; absent means no (CAP-03).
            "listChanged" => list_changed, with_list_changed: opt bool;
        }
    }
}

object! {
    /// The server capability `resources`. Its two flags are independent (CAP-03).
    #[derive(Default)]
    pub struct ResourcesCapability {
        required {}
        optional {
            /// Whether a client can subscribe to a resource; absent means no.
            "subscribe" => subscribe, with_subscribe: opt bool;
            /// Whether changes of the list are told; absent means no.
            "listChanged" => list_changed, with_list_changed: opt bool;
        }
    }
}

object! {
    /// The server capability `tools`.
    #[derive(Default)]
    pub struct ToolsCapability {
        required {}
        optional {
            /// Whether changes of the list are told; absent means no (CAP-03).
            "listChanged" => list_changed, with_list_changed: opt bool;
        }
    }
}

/// Each experimental capability is an object; as everywhere, null counts as absent (CAP-04, CAP-11).
fn all_objects(experimental: &Members) -> Result<(), String> {
    let is_fine = |json: &Json| json.is_object() || json.is_null();
    match experimental.iter().find(|(_, value)| !is_fine(value)) {
        Some((name, _)) => Err(format!("must hold objects, but {name:?} is none")),
        None => Ok(()),
    }
}
