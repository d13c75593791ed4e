//! Walks over lists that come in pages (PAGE).

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use super::Client;
use super::cancel::CancelToken;
use super::pending::Pending;
use super::request::{Finish, Request};
use crate::engine::TimeLimit;
use crate::error::{Error, ErrorKind};
use crate::protocol::{Json, Method, PaginatedRequest};

/// A walk that finds more pages than this does not end.
const MAX_PAGES: usize = 10_000;

/// The items of one page, and where the next one starts.
pub(super) struct PageOf<T>(pub(super) Vec<T>, pub(super) Option<String>);

/// A walk over all pages of a list: options, then `.await` for all items at once, or [`items`](Walk::items) for a stream.
///
/// Pages may be of any size, empty ones included (PAGE-03, PAGE-07), and a cursor is one by being there, even the empty
/// string (PAGE-06). A walk that comes to a cursor for the second time, or to too many pages, fails with
/// [`ErrorKind::EndlessPages`] (PAGE-08).
#[must_use = "nothing is asked for before it is awaited"]
pub struct Walk<T> {
    client: Client,
    method: Method,
    time: TimeLimit,
    token: Option<CancelToken>,
    max_pages: usize,
    finish: Finish<PageOf<T>>,
}

impl<T> Walk<T> {
    pub(super) fn new(client: &Client, method: Method, finish: Finish<PageOf<T>>) -> Walk<T> {
        let time = client.inner.options.time_limit;
        Walk { client: client.clone(), method, time, token: None, max_pages: MAX_PAGES, finish }
    }

    /// How long each page may take.
    pub fn time_limit(mut self, time: TimeLimit) -> Self {
        self.time = time;
        self
    }

    /// Gives the walk up when `token` is cancelled.
    pub fn cancel_token(mut self, token: CancelToken) -> Self {
        self.token = Some(token);
        self
    }

    /// How many pages are too many. Default 10 000.
    pub fn max_pages(mut self, pages: usize) -> Self {
        self.max_pages = pages;
        self
    }

    /// The items one by one; a page is asked for when it is needed.
    pub fn items(self) -> Items<T> {
        Items { walk: self, ready: VecDeque::new(), next: Next::First, seen: HashSet::new(), pages: 0 }
    }

    fn request(&self, cursor: Option<&str>) -> Request<PageOf<T>> {
        let params = cursor.map(|cursor| Json::from_serialize(&PaginatedRequest::new().with_cursor(cursor)));
        let params = params.transpose().map_err(Error::from);
        let request = Request::new(&self.client, self.method.clone(), params, self.finish).time_limit(self.time);
        match &self.token {
            Some(token) => request.cancel_token(token.clone()),
            None => request,
        }
    }
}

impl<T: Send + Unpin + 'static> IntoFuture for Walk<T> {
    type Output = Result<Vec<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        let mut items = self.items();
        Box::pin(async move {
            let mut all = Vec::new();
            while let Some(item) = items.next().await {
                all.push(item?);
            }
            Ok(all)
        })
    }
}

impl<T> fmt::Debug for Walk<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").field("method", &self.method).finish_non_exhaustive()
    }
}

/// The items of a list, page after page, as a [`Stream`]. It ends after the first error.
#[must_use = "nothing is asked for before it is polled"]
pub struct Items<T> {
    walk: Walk<T>,
    ready: VecDeque<T>,
    next: Next<T>,
    seen: HashSet<String>,
    pages: usize,
}

/// Where the next page comes from.
enum Next<T> {
    First,
    At(String),
    Asked(Pending<PageOf<T>>),
    Nothing,
}

impl<T: Unpin> Items<T> {
    /// The next item; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Takes in a page.
    fn turn(&mut self, page: PageOf<T>) -> Result<(), Error> {
        let PageOf(items, cursor) = page;
        self.ready = items.into();
        self.pages += 1;
        let Some(cursor) = cursor else {
            self.next = Next::Nothing;
            return Ok(());
        };
        let method = &self.walk.method;
        if !self.seen.insert(cursor.clone()) {
            let message = format!("the server's pages of `{method}` do not end: a cursor came a second time");
            return Err(Error::new(ErrorKind::EndlessPages, message));
        }
        if self.pages >= self.walk.max_pages {
            let message = format!("the server's pages of `{method}` do not end: there are more than {}", self.pages);
            return Err(Error::new(ErrorKind::EndlessPages, message));
        }
        self.next = Next::At(cursor);
        Ok(())
    }
}

impl<T: Unpin> Stream for Items<T> {
    type Item = Result<T, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(item) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(item)));
            }
            let outcome = match &mut this.next {
                Next::Asked(pending) => ready!(Pin::new(pending).poll(cx)),
                Next::First => {
                    this.next = Next::Asked(this.walk.request(None).into_future());
                    continue;
                }
                Next::At(cursor) => {
                    let request = this.walk.request(Some(cursor));
                    this.next = Next::Asked(request.into_future());
                    continue;
                }
                Next::Nothing => return Poll::Ready(None),
            };
            this.next = Next::Nothing;
            if let Err(error) = outcome.and_then(|page| this.turn(page)) {
                this.ready.clear();
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl<T> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").field("method", &self.walk.method).field("pages", &self.pages).finish_non_exhaustive()
    }
}
