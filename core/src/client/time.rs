//! Waiting, without a runtime's timer: clients work on any executor.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::session::runtime::Clock;

/// Resolves after `duration`. A time that no clock can hold is as good as for ever.
pub(super) async fn sleep(duration: Duration) {
    let Some(due) = Instant::now().checked_add(duration) else { return std::future::pending().await };
    let (sender, receiver) = oneshot::channel();
    Clock::at(due, move || {
        let _ = sender.send(());
    });
    let _ = receiver.await;
}

/// The outcome of `future`, or `None` if it takes longer than `limit`.
pub(super) async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => unless(sleep(limit), future).await,
        None => Some(future.await),
    }
}

/// The outcome of `future`, or `None` if `stop` resolves before it.
pub(super) async fn unless<T>(stop: impl Future<Output = ()>, future: impl Future<Output = T>) -> Option<T> {
    let (mut stop, mut future) = (pin!(stop), pin!(future));
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending => stop.as_mut().poll(cx).map(|()| None),
    })
    .await
}
