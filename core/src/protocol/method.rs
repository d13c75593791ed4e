//! The static method table: what may be sent by whom, from which revision to which, under which capability.

use std::fmt;

use super::Revision;

/// Whether a row is a request or a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodKind {
    /// Answered with a result or an error.
    Request,
    /// Never answered (JRPC-12).
    Notification,
}

/// Who sends a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The client sends, the server receives.
    ClientToServer,
    /// The server sends, the client receives.
    ServerToClient,
    /// Either side sends.
    Both,
}

/// A capability that must have been declared by the party that serves the request or emits the notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gate {
    /// The capability's name, such as `resources`.
    pub capability: &'static str,
    /// A flag inside the capability that must be `true`, such as `subscribe`.
    pub flag: Option<&'static str>,
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.capability)?;
        match self.flag {
            Some(flag) => write!(f, ".{flag}"),
            None => Ok(()),
        }
    }
}

/// One row of the method table.
#[derive(Debug)]
#[non_exhaustive]
pub struct MethodSpec {
    /// The method this row describes.
    pub method: Method,
    /// Its name on the wire.
    pub name: &'static str,
    /// Request or notification.
    pub kind: MethodKind,
    /// Who sends it.
    pub direction: Direction,
    /// The first revision that defines it.
    pub first: Revision,
    /// The last revision that defines it as a message of its own; `None` while there is no end in sight.
    pub last: Option<Revision>,
    /// The capability it needs, each from the given revision on; none at first if empty.
    pub gates: &'static [(Revision, Gate)],
    /// Whether the result comes in pages (PAGE-01).
    pub paged: bool,
    /// The name of the type of `params` in the schema.
    pub params: &'static str,
    /// The name of the type of `result`; empty for notifications.
    pub result: &'static str,
}

impl MethodSpec {
    /// Whether `revision` defines this method.
    pub fn exists_in(&self, revision: Revision) -> bool {
        self.first <= revision && self.last.is_none_or(|last| revision <= last)
    }

    /// The capability this method needs under `revision`.
    pub fn gate(&self, revision: Revision) -> Option<Gate> {
        self.gates.iter().rev().find(|(from, _)| *from <= revision).map(|(_, gate)| *gate)
    }
}

macro_rules! methods {
    ($(
        $(#[$doc:meta])*
        $variant:ident $name:literal $kind:ident $direction:ident $first:ident..$($last:ident)?
        [$($from:ident $gate:literal $(. $flag:literal)?),*] $paged:literal $params:literal $result:literal;
    )*) => {
        /// A method of the protocol, or one of the application's own.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$doc])* $variant,)*
            /// A method that the protocol does not define; applications may register their own.
            Other(Box<str>),
        }

        /// Every method of the protocol that this release knows, in the order of the requirements list, section 1.
        pub static METHODS: &[MethodSpec] = &[$(
            MethodSpec {
                method: Method::$variant,
                name: $name,
                kind: MethodKind::$kind,
                direction: Direction::$direction,
                first: Revision::$first,
                last: methods!(@last $($last)?),
                gates: &[$((Revision::$from, Gate { capability: $gate, flag: methods!(@flag $($flag)?) })),*],
                paged: $paged,
                params: $params,
                result: $result,
            },
        )*];

        impl Method {
            /// The method with this name and kind. A known name used for the other kind is an unknown method (JRPC-15).
            pub fn from_name(name: &str, kind: MethodKind) -> Method {
                match (name, kind) {
                    $(($name, MethodKind::$kind) => Method::$variant,)*
                    _ => Method::Other(name.into()),
                }
            }

            /// The name on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Method::$variant => $name,)*
                    Method::Other(name) => name,
                }
            }
        }
    };
    (@last) => { None };
    (@last $last:ident) => { Some(Revision::$last) };
    (@flag) => { None };
    (@flag $flag:literal) => { Some($flag) };
}

methods! {
    /// `initialize`: first, once (LIFE-01).
    Initialize "initialize" Request ClientToServer V2024_11_05..V2025_11_25 [] false "InitializeRequest" "InitializeResult";
    /// `ping`: answered in every state (LIFE-15).
    Ping "ping" Request Both V2024_11_05..V2025_11_25 [] false "PingRequest" "EmptyResult";
    /// `resources/list`.
    ListResources "resources/list" Request ClientToServer V2024_11_05.. [V2024_11_05 "resources"] true "ListResourcesRequest" "ListResourcesResult";
    /// `resources/templates/list`.
    ListResourceTemplates "resources/templates/list" Request ClientToServer V2024_11_05.. [V2024_11_05 "resources"] true "ListResourceTemplatesRequest" "ListResourceTemplatesResult";
    /// `resources/read`.
    ReadResource "resources/read" Request ClientToServer V2024_11_05.. [V2024_11_05 "resources"] false "ReadResourceRequest" "ReadResourceResult";
    /// `resources/subscribe`.
    Subscribe "resources/subscribe" Request ClientToServer V2024_11_05..V2025_11_25 [V2024_11_05 "resources"."subscribe"] false "SubscribeRequest" "EmptyResult";
    /// `resources/unsubscribe`.
    Unsubscribe "resources/unsubscribe" Request ClientToServer V2024_11_05..V2025_11_25 [V2024_11_05 "resources"."subscribe"] false "UnsubscribeRequest" "EmptyResult";
    /// `prompts/list`.
    ListPrompts "prompts/list" Request ClientToServer V2024_11_05.. [V2024_11_05 "prompts"] true "ListPromptsRequest" "ListPromptsResult";
    /// `prompts/get`.
    GetPrompt "prompts/get" Request ClientToServer V2024_11_05.. [V2024_11_05 "prompts"] false "GetPromptRequest" "GetPromptResult";
    /// `tools/list`.
    ListTools "tools/list" Request ClientToServer V2024_11_05.. [V2024_11_05 "tools"] true "ListToolsRequest" "ListToolsResult";
    /// `tools/call`.
    CallTool "tools/call" Request ClientToServer V2024_11_05.. [V2024_11_05 "tools"] false "CallToolRequest" "CallToolResult";
    /// `logging/setLevel`.
    SetLogLevel "logging/setLevel" Request ClientToServer V2024_11_05..V2025_11_25 [V2024_11_05 "logging"] false "SetLevelRequest" "EmptyResult";
    /// `completion/complete`: without a capability in 2024-11-05 (COMP-09).
    Complete "completion/complete" Request ClientToServer V2024_11_05.. [V2025_03_26 "completions"] false "CompleteRequest" "CompleteResult";
    /// `sampling/createMessage`.
    CreateMessage "sampling/createMessage" Request ServerToClient V2024_11_05..V2025_11_25 [V2024_11_05 "sampling"] false "CreateMessageRequest" "CreateMessageResult";
    /// `roots/list`: whole, never paged (PAGE-01).
    ListRoots "roots/list" Request ServerToClient V2024_11_05..V2025_11_25 [V2024_11_05 "roots"] false "ListRootsRequest" "ListRootsResult";
    /// `notifications/initialized`.
    Initialized "notifications/initialized" Notification ClientToServer V2024_11_05..V2025_11_25 [] false "InitializedNotification" "";
    /// `notifications/cancelled`.
    Cancelled "notifications/cancelled" Notification Both V2024_11_05.. [] false "CancelledNotification" "";
    /// `notifications/progress`.
    Progress "notifications/progress" Notification Both V2024_11_05.. [] false "ProgressNotification" "";
    /// `notifications/message`.
    LogMessage "notifications/message" Notification ServerToClient V2024_11_05.. [V2024_11_05 "logging"] false "LoggingMessageNotification" "";
    /// `notifications/resources/updated`.
    ResourceUpdated "notifications/resources/updated" Notification ServerToClient V2024_11_05.. [V2024_11_05 "resources"."subscribe"] false "ResourceUpdatedNotification" "";
    /// `notifications/resources/list_changed`.
    ResourcesChanged "notifications/resources/list_changed" Notification ServerToClient V2024_11_05.. [V2024_11_05 "resources"."listChanged"] false "ResourceListChangedNotification" "";
    /// `notifications/prompts/list_changed`.
    PromptsChanged "notifications/prompts/list_changed" Notification ServerToClient V2024_11_05.. [V2024_11_05 "prompts"."listChanged"] false "PromptListChangedNotification" "";
    /// `notifications/tools/list_changed`.
    ToolsChanged "notifications/tools/list_changed" Notification ServerToClient V2024_11_05.. [V2024_11_05 "tools"."listChanged"] false "ToolListChangedNotification" "";
    /// `notifications/roots/list_changed`.
    RootsChanged "notifications/roots/list_changed" Notification ClientToServer V2024_11_05..V2025_11_25 [V2024_11_05 "roots"."listChanged"] false "RootsListChangedNotification" "";
}

impl Method {
    /// This method's row; `None` for a method of the application's own.
    pub fn spec(&self) -> Option<&'static MethodSpec> {
        METHODS.iter().find(|row| row.method == *self)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: PAGE-01
    #[test]
    fn page_01_exactly_four_methods_are_paged() {
        let paged: Vec<_> = METHODS.iter().filter(|row| row.paged).map(|row| row.name).collect();
        assert_eq!(paged, ["resources/list", "resources/templates/list", "prompts/list", "tools/list"]);
    }

    #[test]
    fn the_table_has_the_fifteen_requests_and_nine_notifications_of_2024_11_05() {
        let count =
            |kind| METHODS.iter().filter(|row| row.kind == kind && row.exists_in(Revision::V2024_11_05)).count();
        assert_eq!(count(MethodKind::Request), 15);
        assert_eq!(count(MethodKind::Notification), 9);
    }

    // proves: JRPC-15
    #[test]
    fn jrpc_15_a_name_of_the_other_kind_is_unknown() {
        assert_eq!(Method::from_name("tools/call", MethodKind::Request), Method::CallTool);
        assert_eq!(Method::from_name("tools/call", MethodKind::Notification), Method::Other("tools/call".into()));
        assert_eq!(
            Method::from_name("notifications/initialized", MethodKind::Request),
            Method::Other("notifications/initialized".into())
        );
    }

    // proves: COMP-09
    #[test]
    fn comp_09_completion_has_no_gate_before_2025_03_26() {
        let row = Method::Complete.spec().expect("in the table");
        assert_eq!(row.gate(Revision::V2024_11_05), None);
        assert_eq!(row.gate(Revision::V2025_06_18).map(|gate| gate.capability), Some("completions"));
    }
}
