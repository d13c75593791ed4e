//! Names and values that a template is expanded with, or that a match found.

use std::collections::BTreeMap;

/// The value of a variable (RFC 6570 section 2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// A text.
    String(String),
    /// An ordered list. An empty one counts as undefined.
    List(Vec<String>),
    /// Names with values, in this order. An empty one counts as undefined.
    Map(Vec<(String, String)>),
}

/// Variables by name. A variable that is not in it is undefined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(BTreeMap<String, Value>);

impl Variables {
    /// None yet.
    pub fn new() -> Variables {
        Variables::default()
    }

    /// These and one more; a value of the same name is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Variables {
        self.insert(name, value);
        self
    }

    /// Sets one variable; a value of the same name is replaced.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.insert(name.into(), value.into());
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// The value of `name`, if it is a text. After a match every variable without `*` is one.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Variables(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::String(text)
    }
}

impl From<Vec<String>> for Value {
    fn from(items: Vec<String>) -> Self {
        Value::List(items)
    }
}

impl From<Vec<(String, String)>> for Value {
    fn from(pairs: Vec<(String, String)>) -> Self {
        Value::Map(pairs)
    }
}
