//! The checks of the interop client. A check's name is the same in every client of this folder.

mod exchanges;
mod handshake;
mod offers;
mod tools;

use std::collections::BTreeSet;
use std::fmt::Debug;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::{Value, json};

use crate::session::{Failure, Outcome, Session};

const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const RESOURCE_NOT_FOUND: i32 = -32002;
const REVISION: &str = "2024-11-05";
const CAPABILITIES: [&str; 5] = ["experimental", "logging", "prompts", "resources", "tools"];
const LONG_SLEEP_MS: u64 = 600_000;
const FENCE_MS: u64 = 200;
const TEXT_URI: &str = "test://static/text";
const TOOLS_CHANGED: &str = "notifications/tools/list_changed";

type Checked = Result<(), String>;

/// Why a check is not made with this SDK; printed with it.
pub const SKIPPED: [(&str, &str); 1] =
    [("tools.progress.unasked", "this SDK puts a progress token into every request")];

/// The table of checks: their names in order, and the function behind each.
macro_rules! checks {
    ($($name:literal => $function:path,)*) => {
        pub const NAMES: &[&str] = &[$($name),*];

        /// Makes the check of that name; the error says what is wrong.
        pub async fn run(name: &str, session: &Session) -> Checked {
            match name {
                $($name => $function(session).await,)*
                unknown => Err(format!("there is no check `{unknown}`")),
            }
        }
    };
}

checks! {
    "initialize.revision" => handshake::initialize_revision,
    "initialize.server_info" => handshake::initialize_server_info,
    "initialize.capabilities" => handshake::initialize_capabilities,
    "initialize.no_later_members" => handshake::initialize_no_later_members,
    "ping" => handshake::ping,
    "method.unknown" => handshake::method_unknown,
    "session.quiet" => handshake::session_quiet,
    "tools.list" => tools::list,
    "tools.list.bad_cursor" => tools::list_bad_cursor,
    "tools.call.echo" => tools::call_echo,
    "tools.call.unicode" => tools::call_unicode,
    "tools.call.large" => tools::call_large,
    "tools.call.concurrent" => tools::call_concurrent,
    "tools.call.add" => tools::call_add,
    "tools.call.fail" => tools::call_fail,
    "tools.call.empty" => tools::call_empty,
    "tools.call.image" => tools::call_image,
    "tools.call.unknown" => tools::call_unknown,
    "tools.call.bad_arguments" => tools::call_bad_arguments,
    "tools.progress" => tools::progress,
    "tools.progress.unasked" => tools::progress_unasked,
    "tools.cancel" => tools::cancel,
    "tools.list_changed" => tools::list_changed,
    "resources.list" => offers::resources_list,
    "resources.templates.list" => offers::resources_templates_list,
    "resources.read.text" => offers::resources_read_text,
    "resources.read.blob" => offers::resources_read_blob,
    "resources.read.template" => offers::resources_read_template,
    "resources.read.unknown" => offers::resources_read_unknown,
    "resources.subscribe" => offers::resources_subscribe,
    "resources.unsubscribe" => offers::resources_unsubscribe,
    "resources.subscribe.unknown" => offers::resources_subscribe_unknown,
    "prompts.list" => offers::prompts_list,
    "prompts.get.greet" => offers::prompts_get_greet,
    "prompts.get.noargs" => offers::prompts_get_noargs,
    "prompts.get.missing_argument" => offers::prompts_get_missing_argument,
    "prompts.get.unknown" => offers::prompts_get_unknown,
    "completion.complete" => offers::completion_complete,
    "completion.unknown_prompt" => offers::completion_unknown_prompt,
    "completion.unknown_argument" => offers::completion_unknown_argument,
    "logging.set_level" => exchanges::logging_set_level,
    "sampling" => exchanges::sampling,
    "sampling.refused" => exchanges::sampling_refused,
    "roots.list" => exchanges::roots_list,
    "roots.list_changed" => exchanges::roots_list_changed,
    "session.no_faults" => exchanges::session_no_faults,
}

#[allow(clippy::needless_pass_by_value, reason = "most callers have just made the values")]
fn equal<A: Debug + PartialEq<B>, B: Debug>(what: &str, seen: A, wanted: B) -> Checked {
    if seen == wanted { Ok(()) } else { Err(format!("{what} is {seen:?}, wanted {wanted:?}")) }
}

/// The server must have refused this request with this code; gives the error's `data`.
fn refused(code: i32, outcome: Outcome) -> Result<Value, String> {
    match outcome {
        Ok(result) => Err(format!("wanted error {code}, got the result {result}")),
        Err(Failure::Rpc { code: seen, data, .. }) => equal("the error's code", seen, code).map(|()| data),
        Err(other) => Err(other.into()),
    }
}

/// The text of a result's only content block; the tool must not have failed.
fn only_text(result: &Value) -> Result<String, String> {
    if result["isError"] == true {
        return Err(format!("the tool failed: {result}"));
    }
    equal("number of content blocks", result["content"].as_array().map(Vec::len), Some(1))?;
    equal("type of the block", &result["content"][0]["type"], "text")?;
    Ok(result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

async fn call_text(session: &Session, name: &str, arguments: Value) -> Result<String, String> {
    only_text(&session.call(name, arguments).await?)
}

/// Gives the server time, by its own clock, to send what it must not send.
async fn fence(session: &Session) -> Checked {
    equal("sleep", call_text(session, "sleep", json!({"ms": FENCE_MS})).await?, "slept")
}

fn fixture() -> Value {
    serde_json::from_str(include_str!("../../../../../fixture.json")).unwrap_or_default()
}

fn named(items: &[Value], key: &str) -> BTreeSet<String> {
    items.iter().filter_map(|item| item[key].as_str().map(str::to_owned)).collect()
}

/// Lists all; the fixture's own must be there, and none twice.
async fn has_all(session: &Session, what: &str, key: &str) -> Result<Vec<Value>, String> {
    let items = session.list_all(what).await?;
    let names = named(&items, key);
    equal(&format!("{what} named twice"), items.len() - names.len(), 0)?;
    let wanted = named(fixture()[what].as_array().map_or(&[], Vec::as_slice), key);
    equal(&format!("{what} missing"), wanted.difference(&names).count(), 0)?;
    Ok(items)
}

fn decoded(base64: &Value) -> Result<Vec<u8>, String> {
    BASE64.decode(base64.as_str().unwrap_or_default()).map_err(|error| format!("base64: {error}"))
}
