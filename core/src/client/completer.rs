//! Suggestions while a person types (COMP-07).

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::Client;
use super::time::sleep;
use crate::error::{Error, ErrorKind};
use crate::protocol::{CompleteRequest, CompleteResult, CompletionArgument, CompletionContext, CompletionReference};
use crate::session::runtime::lock;

/// How long typing must pause before the server is asked.
const DELAY: Duration = Duration::from_millis(150);

/// How many answers are remembered.
const REMEMBERED: usize = 256;

/// Asks for suggestions for the arguments of one prompt or resource template. Made by [`Client::completer`].
#[derive(Debug)]
pub struct Completer {
    client: Client,
    reference: CompletionReference,
    delay: Duration,
    /// Counts the questions, so that an older one knows that it is outdated.
    newest: AtomicU64,
    answers: Mutex<HashMap<(String, String), Option<CompleteResult>>>,
}

impl Completer {
    pub(super) fn new(client: Client, reference: CompletionReference) -> Completer {
        Completer { client, reference, delay: DELAY, newest: AtomicU64::new(0), answers: Mutex::default() }
    }

    /// How long typing must pause before the server is asked. Default 150 ms.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Completer {
        self.delay = delay;
        self
    }

    /// What the server suggests for `argument` when `value` has been typed; `None` if it has no suggestions to give at
    /// all (COMP-09). What was asked before is answered at once.
    ///
    /// Fails with [`ErrorKind::Cancelled`], without asking, if it is called again before the pause is over.
    pub async fn suggest(&self, argument: &str, value: &str) -> Result<Option<CompleteResult>, Error> {
        let question = self.newest.fetch_add(1, Ordering::AcqRel) + 1;
        let key = (argument.to_owned(), value.to_owned());
        if let Some(answer) = lock(&self.answers).get(&key) {
            return Ok(answer.clone());
        }
        sleep(self.delay).await;
        if self.newest.load(Ordering::Acquire) != question {
            return Err(Error::new(ErrorKind::Cancelled, "more was typed in the meantime"));
        }
        let request = CompleteRequest::new(self.reference.clone(), CompletionArgument::new(argument, value));
        let answer = self.client.complete(request).await?;
        let mut answers = lock(&self.answers);
        if answers.len() >= REMEMBERED {
            answers.clear();
        }
        answers.insert(key, answer.clone());
        Ok(answer)
    }

    /// As [`suggest`](Completer::suggest), with arguments that are filled in already; servers before 2025-06-18 are not
    /// told (COMP-11), and nothing is remembered.
    pub async fn suggest_with(
        &self,
        argument: &str,
        value: &str,
        filled_in: BTreeMap<String, String>,
    ) -> Result<Option<CompleteResult>, Error> {
        let question = self.newest.fetch_add(1, Ordering::AcqRel) + 1;
        sleep(self.delay).await;
        if self.newest.load(Ordering::Acquire) != question {
            return Err(Error::new(ErrorKind::Cancelled, "more was typed in the meantime"));
        }
        let argument = CompletionArgument::new(argument, value);
        let context = CompletionContext::new().with_arguments(filled_in);
        self.client.complete(CompleteRequest::new(self.reference.clone(), argument).with_context(context)).await
    }
}
