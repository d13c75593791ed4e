//! What a revision defines, and nothing else, goes out (SCH-02).

use std::collections::BTreeMap;

use super::invalid::InvalidValue;
use crate::protocol::{RequestId, Revision};

/// Fits a value to a revision before it is written.
///
/// Every type holds the members of all revisions it knows. Projection takes out what `revision` does not define. Display
/// data (titles, tool annotations, unknown members) goes silently; meaning is put another way where there is one (a
/// structured result becomes JSON text, audio and resource links become a line of text), and is an error where there is
/// none.
pub trait Project {
    /// Fits `self` to `revision`. After an error `self` must not be sent.
    fn project(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        let _ = revision;
        Ok(())
    }
}

/// What has to happen to an object before members are taken out: fallbacks, and refusals of what has none.
pub(crate) trait Adapt {
    fn adapt(&mut self, revision: Revision) -> Result<(), InvalidValue>;
}

/// Whether members that no type knows may go to a peer of this revision.
///
/// 2024-11-05 is known to the last member, so what is unknown does not belong to it. Later revisions are not complete
/// here yet; for them the application knows best.
pub(crate) fn keeps_unknown(revision: Revision) -> bool {
    revision > Revision::V2024_11_05
}

impl<T: Project> Project for Option<T> {
    fn project(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        match self {
            Some(value) => value.project(revision),
            None => Ok(()),
        }
    }
}

impl<T: Project> Project for Box<T> {
    fn project(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        (**self).project(revision)
    }
}

impl<T: Project> Project for Vec<T> {
    fn project(&mut self, revision: Revision) -> Result<(), InvalidValue> {
        for (index, item) in self.iter_mut().enumerate() {
            item.project(revision).map_err(|error| error.within(format_args!("[{index}]")))?;
        }
        Ok(())
    }
}

impl Project for f64 {
    /// JSON has no NaN and no infinity (FC-071).
    fn project(&mut self, _revision: Revision) -> Result<(), InvalidValue> {
        if self.is_finite() {
            Ok(())
        } else {
            Err(InvalidValue::new(format!("{self} is no number that JSON can hold")))
        }
    }
}

impl Project for bool {}
impl Project for u64 {}
impl Project for String {}
impl Project for RequestId {}
impl Project for BTreeMap<String, String> {}
