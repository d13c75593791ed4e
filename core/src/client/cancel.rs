//! A token that gives up requests from elsewhere.

use std::pin::pin;
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;

/// Cancels the requests it was given to, from any thread, once and for all. Clones are the same token.
///
/// ```
/// # use mcp_native::client::CancelToken;
/// let token = CancelToken::new();
/// let other = token.clone();
/// other.cancel_with("the person pressed stop");
/// assert!(token.is_cancelled());
/// assert_eq!(token.reason(), Some("the person pressed stop"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct CancelToken(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Set once; holds the reason, if one was given.
    cancelled: OnceLock<Option<String>>,
    wake: Notify,
}

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels. A second time changes nothing.
    pub fn cancel(&self) {
        self.set(None);
    }

    /// Cancels with a reason, which the peer is told for its log (CANC-08).
    pub fn cancel_with(&self, reason: impl Into<String>) {
        self.set(Some(reason.into()));
    }

    fn set(&self, reason: Option<String>) {
        if self.0.cancelled.set(reason).is_ok() {
            self.0.wake.notify_waiters();
        }
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.get().is_some()
    }

    /// The reason that was given.
    pub fn reason(&self) -> Option<&str> {
        self.0.cancelled.get()?.as_deref()
    }

    /// Resolves when it is cancelled.
    pub async fn cancelled(&self) {
        let mut wake = pin!(self.0.wake.notified());
        wake.as_mut().enable();
        if !self.is_cancelled() {
            wake.await;
        }
    }
}
