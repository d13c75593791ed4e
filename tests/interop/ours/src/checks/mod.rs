//! The checks of the interop client. A check's name is the same in every client of these tests.

mod exchanges;
mod handshake;
mod offers;
mod tools;

use std::collections::BTreeSet;
use std::fmt::{Debug, Display};

use mcp_native::Error;
use mcp_native::client::{Items, Walk};
use serde_json::Value;

use crate::session::Session;

const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const RESOURCE_NOT_FOUND: i64 = -32002;

/// What is wrong, for people.
#[derive(Debug, Clone)]
pub(crate) struct Fault(pub(crate) String);

impl<E: Display> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault(error.to_string())
    }
}

/// The outcome of a check.
pub(crate) type Checked = Result<(), Fault>;

/// The table of checks: their names in order, and the function behind each.
macro_rules! checks {
    ($($name:literal => $function:path,)*) => {
        pub(crate) const NAMES: &[&str] = &[$($name),*];

        /// Makes the check of that name.
        pub(crate) async fn run(name: &str, session: &Session) -> Checked {
            match name {
                $($name => $function(session).await,)*
                unknown => Err(format!("there is no check `{unknown}`").into()),
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
    "session.close" => exchanges::session_close,
}

#[allow(clippy::needless_pass_by_value, reason = "most callers have just made the values")]
pub(crate) fn equal<A: Debug + PartialEq<B>, B: Debug>(what: &str, seen: A, wanted: B) -> Checked {
    if seen == wanted { Ok(()) } else { Err(format!("{what} is {seen:?}, wanted {wanted:?}").into()) }
}

/// The server must have refused this request with this code; gives the error.
fn refused<T: Debug>(code: i64, outcome: Result<T, Error>) -> Result<Error, Fault> {
    match outcome {
        Ok(result) => Err(format!("wanted error {code}, got the result {result:?}").into()),
        Err(error) if error.code().is_none() => Err(error.into()),
        Err(error) => equal("the error's code", error.code(), Some(code)).map(|()| error),
    }
}

fn fixture() -> Value {
    serde_json::from_str(include_str!("../../../fixture.json")).unwrap_or_default()
}

/// All of a list. It must be the same at once and as a stream, no name may be in it twice, and those of the fixture,
/// which are the members `key` of its list `what`, must be there.
async fn whole<T: Debug + PartialEq + Send + Unpin + 'static>(
    (walk, mut stream): (Walk<T>, Items<T>),
    name: fn(&T) -> &str,
    (what, key): (&str, &str),
) -> Result<Vec<T>, Fault> {
    let all = walk.await?;
    let mut streamed = Vec::new();
    while let Some(item) = stream.next().await {
        streamed.push(item?);
    }
    equal(&format!("{what} as a stream"), &streamed, &all)?;
    let names: BTreeSet<&str> = all.iter().map(name).collect();
    equal(&format!("number of {what} named twice"), all.len() - names.len(), 0)?;
    let fixture = fixture();
    let wanted = fixture[what].as_array().map_or(&[][..], Vec::as_slice);
    equal(&format!("the fixture has {what}"), wanted.is_empty(), false)?;
    let missing = wanted.iter().filter_map(|item| item[key].as_str()).filter(|name| !names.contains(name));
    equal(&format!("{what} missing"), missing.collect::<Vec<_>>(), Vec::<&str>::new())?;
    Ok(all)
}
