//! Checks: the handshake and what every session can do.

use mcp_native::protocol::Revision;

use super::{Checked, METHOD_NOT_FOUND, Session, equal, fixture, refused};

pub(super) async fn initialize_revision(session: &Session) -> Checked {
    equal("revision", session.client.revision(), Revision::V2024_11_05)
}

pub(super) async fn initialize_server_info(session: &Session) -> Checked {
    let info = session.client.server_info().ok_or("the server said nothing of itself")?;
    equal("serverInfo.name", fixture()["name"].as_str(), Some(info.name.as_str()))?;
    equal("serverInfo.version is empty", info.version.is_empty(), false)
}

pub(super) async fn initialize_capabilities(session: &Session) -> Checked {
    let capabilities = session.client.capabilities();
    equal("tools.listChanged", capabilities.tools_list_changed(), true)?;
    equal("prompts.listChanged", capabilities.prompts_list_changed(), true)?;
    equal("resources.listChanged", capabilities.resources_list_changed(), true)?;
    equal("has logging", capabilities.logging.is_some(), true)?;
    equal("resources.subscribe", capabilities.resources_subscribe(), true)
}

pub(super) async fn initialize_no_later_members(session: &Session) -> Checked {
    let capabilities = session.client.capabilities();
    let later: Vec<&str> = capabilities.extra.iter().map(|(name, _)| name).collect();
    equal("capabilities that this revision does not have", later, Vec::<&str>::new())
}

pub(super) async fn ping(session: &Session) -> Checked {
    Ok(session.client.ping().await?)
}

pub(super) async fn method_unknown(session: &Session) -> Checked {
    refused(METHOD_NOT_FOUND, session.client.request("no/such", None).await).map(drop)
}

pub(super) async fn session_quiet(session: &Session) -> Checked {
    session.fence().await?;
    let changes = session.inbox.mail().list_changes.clone();
    equal("lists said to have changed, though nothing has", changes, Vec::<&str>::new())
}
