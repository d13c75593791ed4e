//! The places that a client opens to its server (ROOT).

use super::context::HandlerContext;
use super::handlers::RootsSource;
use super::inner::Inner;
use crate::error::{Error, ErrorKind};
use crate::protocol::file_uri::check_root_uri;
use crate::protocol::{ListRootsResult, Root};
use crate::session::runtime::lock;

/// Refuses roots that may not be told to a server: only `file://`, and nothing that climbs (ROOT-03, ROOT-06).
pub(super) fn check(roots: &[Root]) -> Result<(), Error> {
    for root in roots {
        check_root_uri(&root.uri).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, format!("{:?} cannot be a root: {error}", root.uri))
        })?;
    }
    Ok(())
}

/// The answer to `roots/list`: the whole list, less what the application does not allow (ROOT-02, ROOT-07).
pub(super) async fn list(source: RootsSource, context: HandlerContext) -> Result<ListRootsResult, Error> {
    let inner = std::sync::Arc::clone(&context.inner);
    let mut roots = match source {
        RootsSource::List => lock(&inner.roots).clone(),
        RootsSource::Callback(callback) => {
            let roots = callback((), context).await?;
            check(&roots).map_err(|error| {
                tracing::warn!(%error, "the roots callback returned what may not be told");
                Error::internal("The client's list of roots cannot be told")
            })?;
            roots
        }
    };
    if let Some(allow) = &inner.options.handlers.allow_root {
        roots.retain(|root| allow(root));
    }
    Ok(ListRootsResult::new(roots))
}

impl Inner {
    /// Replaces the fixed list.
    pub(super) fn set_roots(&self, roots: Vec<Root>) -> Result<(), Error> {
        match &self.options.handlers.roots {
            Some(RootsSource::List) => {}
            Some(RootsSource::Callback(_)) => {
                let message = "this client's roots come from a callback, so there is no list to set";
                return Err(Error::new(ErrorKind::InvalidArgument, message));
            }
            None => {
                let message = "this client was built without roots, so the server does not ask for them; see `ClientBuilder::roots`";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
        }
        check(&roots)?;
        *lock(&self.roots) = roots;
        Ok(())
    }
}
