//! The handshake: who may speak when, and what the two sides agree on (LIFE, VER, CAP).

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::outbound::TimeLimit;
use super::{CloseReason, Engine, Event, Peer, Role};
use crate::error::{Error, ErrorKind, Excerpt};
use crate::protocol::{Implementation, Json, Method, Project, RequestId, Revision};

/// Where the session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing has happened.
    New,
    /// A client waits for the answer to `initialize`.
    Initializing,
    /// A server has answered `initialize` and waits for `notifications/initialized`. Requests are served (LIFE-08).
    Negotiated,
    /// The handshake is done.
    Ready,
    /// The session has ended.
    Closed,
}

/// The members that both messages of the handshake share in all but name.
struct Hello {
    version: String,
    capabilities: Map<String, Value>,
    info: Implementation,
    instructions: Option<String>,
}

impl Hello {
    /// Reads the parameters or the result of `initialize`; the error names the member that is wrong.
    fn read(text: &str, info_member: &str) -> Result<Hello, String> {
        let mut members: Map<String, Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let version = match members.remove("protocolVersion") {
            Some(Value::String(version)) => version,
            Some(_) => return Err("`protocolVersion` must be a string".into()),
            None => return Err("`protocolVersion` is missing".into()),
        };
        let capabilities = match members.remove("capabilities") {
            Some(Value::Object(capabilities)) => check_capabilities(capabilities)?,
            Some(_) => return Err("`capabilities` must be an object".into()),
            None => return Err("`capabilities` is missing".into()),
        };
        let info = match members.remove(info_member) {
            Some(value @ Value::Object(_)) => {
                serde_json::from_value(value).map_err(|error| format!("`{info_member}`: {error}"))?
            }
            Some(_) => return Err(format!("`{info_member}` must be an object")),
            None => return Err(format!("`{info_member}` is missing")),
        };
        let instructions = match members.remove("instructions") {
            Some(Value::String(instructions)) => Some(instructions),
            None | Some(Value::Null) => None,
            Some(_) => return Err("`instructions` must be a string".into()),
        };
        Ok(Hello { version, capabilities, info, instructions })
    }

    fn into_peer(self, revision: Revision, text: &str) -> Peer {
        // The text was parsed a moment ago.
        let raw = Json::parse(text).unwrap_or_else(|_| Json::empty_object());
        Peer { info: self.info, capabilities: self.capabilities, revision, instructions: self.instructions, raw }
    }
}

/// CAP-11: null counts as absent, any other non-object is an error.
fn check_capabilities(capabilities: Map<String, Value>) -> Result<Map<String, Value>, String> {
    const OBJECTS: [&str; 7] = ["experimental", "logging", "prompts", "resources", "tools", "roots", "sampling"];
    let mut checked = Map::new();
    for (name, value) in capabilities {
        match value {
            Value::Null => {}
            Value::Object(_) => {
                checked.insert(name, value);
            }
            _ if OBJECTS.contains(&name.as_str()) => return Err(format!("capability `{name}` must be an object")),
            _ => {
                // Of a later revision or an extension: not ours to judge (CAP-12).
                checked.insert(name, value);
            }
        }
    }
    Ok(checked)
}

impl Engine {
    /// Begins a client's session: sends `initialize` with the newest revision on offer (LIFE-01, VER-02).
    ///
    /// It must be answered within `limit`, else the session closes (LIFE-12). On a server, or a second time, this does
    /// nothing.
    pub fn start(&mut self, limit: Option<std::time::Duration>, now: Instant) {
        if self.config.role != Role::Client || self.state != State::New {
            return;
        }
        self.state = State::Initializing;
        let params = self.hello("clientInfo", self.revision);
        let id = self.next_id();
        let sent = self.outbox.request(id, Method::Initialize.as_str(), Some(&params), None, usize::MAX);
        debug_assert!(sent.is_ok(), "no limit was given");
        let time = TimeLimit { limit, reset_by_progress: false, maximum: None };
        self.track(id, Method::Initialize, false, time, false, now);
    }

    /// The text of the parameters or the result of `initialize`.
    fn hello(&self, info_member: &str, revision: Revision) -> String {
        let local = &self.config.local;
        let mut info = local.info.clone();
        // Dropping display data of later revisions cannot fail.
        let _ = info.project(revision);
        let mut members = Map::new();
        members.insert("protocolVersion".into(), revision.as_str().into());
        members.insert("capabilities".into(), Value::Object(self.capabilities_for(revision)));
        members.insert(info_member.into(), serde_json::to_value(&info).unwrap_or_default());
        if let Some(instructions) = local.instructions.as_ref().filter(|_| self.config.role == Role::Server) {
            members.insert("instructions".into(), instructions.as_str().into());
        }
        Value::Object(members).to_string()
    }

    /// CAP-08: no names that the revision does not have.
    fn capabilities_for(&self, revision: Revision) -> Map<String, Value> {
        let known: &[&str] = match (self.config.role, revision) {
            (Role::Client, Revision::V2024_11_05) => &["experimental", "roots", "sampling"],
            (Role::Server, Revision::V2024_11_05) => &["experimental", "logging", "prompts", "resources", "tools"],
            _ => return self.config.local.capabilities.clone(),
        };
        let all = self.config.local.capabilities.iter();
        all.filter(|(name, _)| known.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// A server receives `initialize` (LIFE-03, LIFE-09, LIFE-10).
    pub(super) fn initialize_received(&mut self, id: &RequestId, params: Option<&str>) {
        if self.state != State::New {
            self.refuse_kind(id, ErrorKind::InvalidRequest, "Invalid request: this session is initialized already");
            return;
        }
        let hello = match Hello::read(params.unwrap_or("{}"), "clientInfo") {
            Ok(hello) => hello,
            Err(fault) => {
                self.refuse(Some(id), &Error::invalid_params(format!("Invalid params: {fault}")));
                return;
            }
        };
        // VER-03, VER-04: the same if it is known, else our newest; never an error (VER-08).
        self.revision = self.config.offered(&hello.version).unwrap_or_else(|| self.config.newest_revision());
        let result = self.hello("serverInfo", self.revision);
        if let Err(length) = self.outbox.result(id, &result, self.config.limits.message_out) {
            let error = Error::new(ErrorKind::TooLarge, format!("The description of the server has {length} bytes"));
            self.refuse(Some(id), &error);
            return;
        }
        self.config.local.capabilities = self.capabilities_for(self.revision);
        self.peer = Some(Arc::new(hello.into_peer(self.revision, params.unwrap_or("{}"))));
        self.state = State::Negotiated;
        self.events.push_back(Event::Negotiated);
        self.check_overflow();
    }

    /// A server receives `notifications/initialized`; out of place it is ignored (LIFE-11).
    pub(super) fn initialized_received(&mut self, now: Instant) {
        if self.state == State::Negotiated {
            self.become_ready(now);
        }
    }

    fn become_ready(&mut self, now: Instant) {
        self.state = State::Ready;
        self.begin_keep_alive(now);
        self.events.push_back(Event::Ready);
        self.release_held();
    }

    /// A client receives the answer to `initialize`.
    pub(super) fn initialize_settled(&mut self, outcome: Result<Bytes, Error>, now: Instant) {
        match outcome.and_then(|result| self.agree(&result)) {
            Ok(peer) => {
                self.revision = peer.revision;
                self.peer = Some(Arc::new(peer));
                self.config.local.capabilities = self.capabilities_for(self.revision);
                let sent = self.outbox.notification(Method::Initialized.as_str(), None, None, usize::MAX);
                debug_assert!(sent.is_ok(), "no limit was given");
                self.events.push_back(Event::Negotiated);
                self.become_ready(now);
            }
            Err(error) => self.close(CloseReason::Handshake(handshake_error(error))),
        }
    }

    fn agree(&self, result: &Bytes) -> Result<Peer, Error> {
        let text = std::str::from_utf8(result).unwrap_or_default();
        let hello = Hello::read(text, "serverInfo").map_err(|fault| {
            Error::new(ErrorKind::Handshake, format!("the server's answer to `initialize` cannot be used: {fault}"))
        })?;
        match self.config.offered(&hello.version) {
            Some(revision) => Ok(hello.into_peer(revision, text)),
            None => Err(Error::new(
                ErrorKind::VersionMismatch,
                format!(
                    "the server speaks protocol revision {}, this client {}",
                    Excerpt(&hello.version),
                    self.offers()
                ),
            )
            .with_data(version_data(&[&hello.version], self.revision.as_str()))),
        }
    }

    fn offers(&self) -> String {
        self.config.offers().map(Revision::as_str).collect::<Vec<_>>().join(", ")
    }
}

fn version_data(supported: &[&str], requested: &str) -> Json {
    Json::from_serialize(&serde_json::json!({ "supported": supported, "requested": requested }))
        .unwrap_or_else(|_| Json::empty_object())
}

/// VER-07: some servers answer a version mismatch with an error that lists what they support.
pub(super) fn handshake_error(error: Error) -> Error {
    #[derive(serde::Deserialize)]
    struct Versions {
        #[serde(rename = "supported")]
        _supported: Vec<String>,
    }
    match error.kind() {
        ErrorKind::Handshake | ErrorKind::VersionMismatch | ErrorKind::Timeout | ErrorKind::Http => error,
        ErrorKind::InvalidParams if error.data().is_some_and(|data| data.decode::<Versions>().is_ok()) => {
            let mut mismatch = Error::new(
                ErrorKind::VersionMismatch,
                format!("the server refused the protocol revision: {}", error.message()),
            );
            if let Some(data) = error.data() {
                mismatch = mismatch.with_data(data.clone());
            }
            mismatch
        }
        _ => {
            let mut failed = match error.code() {
                Some(code) => {
                    let message = format!("the server refused `initialize`: {}", error.message());
                    Error::with_code_of_kind(ErrorKind::Handshake, code, message)
                }
                // Not what the server said, but what is wrong with how it said it.
                None => Error::new(ErrorKind::Handshake, format!("`initialize` failed: {}", error.message())),
            };
            if let Some(data) = error.data() {
                failed = failed.with_data(data.clone());
            }
            failed
        }
    }
}
