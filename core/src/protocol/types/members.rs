//! Open objects: the members a type does not know, and `_meta` (SCH-01, SCH-04).

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::json::{Json, JsonError};
use super::project::Project;
use super::read::Name;
use crate::protocol::ProgressToken;

/// The members of an open JSON object, in order, each value kept as its text.
///
/// Every object of the protocol is open (SCH-01); what a type does not know by name it keeps in a `Members`. `_meta`,
/// which may hold anything, is one as well.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Members(Vec<(String, Json)>);

impl Members {
    /// No members.
    pub const fn new() -> Members {
        Members(Vec::new())
    }

    /// The value of a member; `None` if there is no such member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Whether there is a member of this name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets a member, and returns the value it had before.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Json>) -> Option<Json> {
        let (name, value) = (name.into(), value.into());
        if let Some((_, old)) = self.0.iter_mut().rev().find(|(key, _)| *key == name) {
            return Some(std::mem::replace(old, value));
        }
        self.0.push((name, value));
        None
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let index = self.0.iter().rposition(|(key, _)| key == name)?;
        Some(self.0.remove(index).1)
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.0.iter().map(|(key, value)| (&**key, value))
    }

    /// Adds a member just read. No search for an older one of the same name: objects of thousands of unknown members
    /// would take quadratic time. Of two of the same name [`get`](Members::get) finds
    /// the last, as parsers commonly do.
    pub(crate) fn push(&mut self, name: String, value: Json) {
        self.0.push((name, value));
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Into<String>, V: Into<Json>> FromIterator<(K, V)> for Members {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Members {
        let mut out = Members::new();
        for (name, value) in members {
            out.insert(name, value);
        }
        out
    }
}

impl From<Map<String, Value>> for Members {
    fn from(map: Map<String, Value>) -> Members {
        Members(map.into_iter().map(|(name, value)| (name, Json::from(value))).collect())
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Members::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push(name.into_owned(), map.next_value()?);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}

/// The `_meta` object of a request, a notification or a result (SCH-04): free-form, with a few reserved names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta(Members);

impl Meta {
    /// An empty `_meta`.
    pub const fn new() -> Meta {
        Meta(Members::new())
    }

    /// The token under which the sender of this request wants progress (PROG-01); `None` if it wants none.
    ///
    /// Fails if the member is there but is no string or integer, `null` included.
    pub fn progress_token(&self) -> Result<Option<ProgressToken>, JsonError> {
        let Some(token) = self.get("progressToken") else { return Ok(None) };
        ProgressToken::from_json(token.get())
            .map(Some)
            .map_err(|_| JsonError::new("`_meta.progressToken` must be a string or an integer"))
    }

    /// The same `_meta` with a progress token (PROG-01).
    #[must_use]
    pub fn with_progress_token(mut self, token: impl Into<ProgressToken>) -> Meta {
        self.0.insert("progressToken", Json::from(&token.into()));
        self
    }

    /// The same `_meta` with one more member.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Json>) -> Meta {
        self.0.insert(name, value);
        self
    }
}

impl std::ops::Deref for Meta {
    type Target = Members;

    fn deref(&self) -> &Members {
        &self.0
    }
}

impl std::ops::DerefMut for Meta {
    fn deref_mut(&mut self) -> &mut Members {
        &mut self.0
    }
}

impl From<Members> for Meta {
    fn from(members: Members) -> Meta {
        Meta(members)
    }
}

impl From<Map<String, Value>> for Meta {
    fn from(map: Map<String, Value>) -> Meta {
        Meta(map.into())
    }
}

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Meta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Meta, D::Error> {
        Members::deserialize(deserializer).map(Meta)
    }
}

// Free-form in every revision.
impl Project for Members {}
impl Project for Meta {}
