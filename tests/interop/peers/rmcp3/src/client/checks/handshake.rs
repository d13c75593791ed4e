//! Checks: the handshake and what every session can do.

use super::{CAPABILITIES, Checked, METHOD_NOT_FOUND, REVISION, Session, equal, fence, fixture, refused};

pub async fn initialize_revision(session: &Session) -> Checked {
    equal("protocolVersion", &session.initialized["protocolVersion"], REVISION)
}

pub async fn initialize_server_info(session: &Session) -> Checked {
    let info = &session.initialized["serverInfo"];
    equal("serverInfo.name", &info["name"], &fixture()["name"])?;
    equal("serverInfo.version is given", info["version"].as_str().is_some_and(|v| !v.is_empty()), true)
}

pub async fn initialize_capabilities(session: &Session) -> Checked {
    let capabilities = &session.initialized["capabilities"];
    for name in ["tools", "resources", "prompts"] {
        equal(&format!("{name}.listChanged"), &capabilities[name]["listChanged"], true)?;
    }
    equal("resources.subscribe", &capabilities["resources"]["subscribe"], true)?;
    equal("has logging", capabilities.get("logging").is_some(), true)
}

pub async fn initialize_no_later_members(session: &Session) -> Checked {
    let capabilities = session.initialized["capabilities"].as_object().cloned().unwrap_or_default();
    let later: Vec<_> = capabilities.keys().filter(|name| !CAPABILITIES.contains(&name.as_str())).collect();
    equal("capabilities that this revision does not have", later, Vec::<&String>::new())
}

pub async fn ping(session: &Session) -> Checked {
    session.ping().await?;
    Ok(())
}

pub async fn method_unknown(session: &Session) -> Checked {
    refused(METHOD_NOT_FOUND, session.request("no/such").await)?;
    Ok(())
}

pub async fn session_quiet(session: &Session) -> Checked {
    fence(session).await?;
    let changes = session.inbox.mail().list_changes.clone();
    equal("lists said to have changed, though nothing has", changes, Vec::<&str>::new())
}
