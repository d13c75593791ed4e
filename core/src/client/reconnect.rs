//! Making a lost connection anew (FC-035).

use std::sync::Arc;
use std::time::Duration;

use super::inner::Inner;
use super::state::ClientState;
use super::time::{sleep, unless};
use crate::engine::CloseReason;
use crate::error::ErrorKind;
use crate::protocol::{Json, LoggingLevel, Method, SetLevelRequest, SubscribeRequest};
use crate::session::Session;

/// Whether and how a lost connection is made anew.
///
/// The new connection is a session of its own: it is initialised, what was subscribed is subscribed again and the log
/// level is set again (LIFE-16). Calls that were in flight have failed with [`ErrorKind::Closed`] and nothing is replayed:
/// only the application knows whether it is safe to call twice. Until the new session is ready, calls fail at once.
///
/// The first connection is not tried again: its failure is the outcome of connecting.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReconnectPolicy {
    /// The wait before the first attempt. Default 500 ms.
    pub initial: Duration,
    /// The longest wait. Default 30 s.
    pub longest: Duration,
    /// By how much the wait grows with each attempt. Default 2.
    pub factor: f64,
    /// How much of the wait is random, from 0 to 1, so that many clients do not come back at the same moment. Default
    /// 0.5: a wait of 4 s is 2 to 4 s long.
    pub jitter: f64,
    /// How many attempts in a row may fail; `None` for no end. Default 10.
    pub max_attempts: Option<u32>,
}

impl ReconnectPolicy {
    /// The defaults.
    pub fn new() -> ReconnectPolicy {
        ReconnectPolicy {
            initial: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            factor: 2.0,
            jitter: 0.5,
            max_attempts: Some(10),
        }
    }

    /// Sets the wait before the first attempt.
    #[must_use]
    pub fn initial(mut self, initial: Duration) -> ReconnectPolicy {
        self.initial = initial;
        self
    }

    /// Sets the longest wait.
    #[must_use]
    pub fn longest(mut self, longest: Duration) -> ReconnectPolicy {
        self.longest = longest;
        self
    }

    /// Sets by how much the wait grows with each attempt; values below 1 count as 1.
    #[must_use]
    pub fn factor(mut self, factor: f64) -> ReconnectPolicy {
        self.factor = factor;
        self
    }

    /// Sets how much of the wait is random; values outside 0 to 1 count as the nearest of the two.
    #[must_use]
    pub fn jitter(mut self, jitter: f64) -> ReconnectPolicy {
        self.jitter = jitter;
        self
    }

    /// Sets how many attempts in a row may fail; `None` for no end.
    #[must_use]
    pub fn max_attempts(mut self, attempts: Option<u32>) -> ReconnectPolicy {
        self.max_attempts = attempts;
        self
    }

    /// The wait before `attempt`, counted from 1. `random` is from 0 to 1.
    fn delay(&self, attempt: u32, random: f64) -> Duration {
        let factor = if self.factor >= 1.0 { self.factor } else { 1.0 };
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let longest = self.longest.as_secs_f64();
        let full = (self.initial.as_secs_f64() * factor.powi(exponent)).min(longest);
        let jitter = if self.jitter.is_nan() { 0.0 } else { self.jitter.clamp(0.0, 1.0) };
        Duration::try_from_secs_f64(full * (1.0 - jitter * random)).unwrap_or(self.longest)
    }
}

impl Default for ReconnectPolicy {
    fn default() -> Self {
        ReconnectPolicy::new()
    }
}

/// A number from 0 to 1.
fn random() -> f64 {
    let mut bytes = [0_u8; 4];
    // Without a source of randomness the waits are merely not spread.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX)
}

/// Tries until a connection stands, the attempts are used up, or nobody wants it any more.
pub(super) async fn reconnect(inner: Arc<Inner>, policy: ReconnectPolicy, lost: CloseReason) {
    let mut reason = lost;
    for attempt in 1.. {
        if policy.max_attempts.is_some_and(|most| attempt > most) {
            break;
        }
        let delay = policy.delay(attempt, random());
        inner.set_state(ClientState::Reconnecting { attempt, delay, reason: reason.clone() });
        let attempt_made = async {
            sleep(delay).await;
            inner.open_again().await
        };
        match unless(inner.closing.cancelled(), attempt_made).await {
            Some(Ok(())) => return,
            None => {
                reason = CloseReason::Local;
                break;
            }
            Some(Err(error)) => {
                tracing::debug!(attempt, %error, "reconnecting failed");
                let hopeless = error.kind() == ErrorKind::VersionMismatch;
                reason = inner.failure(error);
                if hopeless {
                    break;
                }
            }
        }
    }
    inner.set_state(ClientState::Closed(reason));
}

/// What a new session must be told to be like the one before.
#[derive(Debug, Clone, Default)]
pub(super) struct Restore {
    /// In the order of subscribing.
    subscriptions: Vec<String>,
    level: Option<LoggingLevel>,
}

/// A successful call that changed what a session knows.
#[derive(Debug, Clone)]
pub(super) enum Change {
    Subscribed(String),
    Unsubscribed(String),
    Level(LoggingLevel),
}

impl Restore {
    pub(super) fn note(&mut self, change: Change) {
        match change {
            Change::Subscribed(uri) => {
                if !self.subscriptions.contains(&uri) {
                    self.subscriptions.push(uri);
                }
            }
            Change::Unsubscribed(uri) => self.subscriptions.retain(|subscribed| *subscribed != uri),
            Change::Level(level) => self.level = Some(level),
        }
    }

    /// Tells the session all of it, at once. What the server refuses now is reported and left out: the connection is
    /// worth more than one subscription.
    pub(super) async fn apply(self, inner: &Inner, session: &Arc<Session>) {
        let level = self.level.map(|level| (Method::SetLogLevel, Json::from_serialize(&SetLevelRequest::new(level))));
        let subscribe = |uri| (Method::Subscribe, Json::from_serialize(&SubscribeRequest::new(uri)));
        let requests = level.into_iter().chain(self.subscriptions.into_iter().map(subscribe));
        let mut pending = Vec::new();
        for (method, params) in requests {
            let params = params.map_err(crate::error::Error::from);
            let sent = params.and_then(|params| session.request(inner.outgoing(method.clone(), Some(params)), None));
            pending.push((method, sent));
        }
        for (method, sent) in pending {
            let outcome = match sent {
                Ok(pending) => pending.await.map(drop),
                Err(error) => Err(error),
            };
            if let Err(error) = outcome {
                tracing::warn!(session = %session.id, %method, %error, "a reconnected session is not quite as before");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: FC-035
    #[test]
    fn waits_grow_up_to_the_longest_and_jitter_only_shortens_them() {
        let policy = ReconnectPolicy::new().initial(Duration::from_millis(100)).longest(Duration::from_secs(1));
        let waits: Vec<_> = [1, 2, 3, 4, 5, 60, u32::MAX].iter().map(|attempt| policy.delay(*attempt, 0.0)).collect();
        assert_eq!(waits.iter().map(Duration::as_millis).collect::<Vec<_>>(), [100, 200, 400, 800, 1000, 1000, 1000]);
        assert_eq!(policy.delay(2, 1.0), Duration::from_millis(100));
        let odd = policy.factor(f64::NAN).jitter(7.0);
        assert_eq!(odd.delay(9, 0.0), Duration::from_millis(100));
        assert_eq!(odd.delay(9, 1.0), Duration::ZERO);
    }

    #[test]
    fn what_is_restored_follows_the_calls() {
        let mut restore = Restore::default();
        for change in [
            Change::Subscribed("x:a".into()),
            Change::Subscribed("x:b".into()),
            Change::Subscribed("x:a".into()),
            Change::Unsubscribed("x:b".into()),
            Change::Level(LoggingLevel::Error),
            Change::Level(LoggingLevel::Debug),
        ] {
            restore.note(change);
        }
        assert_eq!(restore.subscriptions, ["x:a"]);
        assert_eq!(restore.level, Some(LoggingLevel::Debug));
    }
}
