//! From variables to a URI (RFC 6570 section 3).

use super::{Expression, Modifier, Operator, Part, UriTemplate, Value, Variable, Variables};
use crate::protocol::uri::{is_escape, percent_encode};

/// `reserved` of RFC 3986 section 2.2.
const RESERVED: &[u8] = b":/?#[]@!$&'()*+,;=";

impl UriTemplate {
    /// The URI for these variables. Undefined variables, empty lists and empty maps leave nothing behind.
    ///
    /// A prefix (`:n`) counts in characters of a text; on lists and maps, where RFC 6570 gives it no meaning, it has no
    /// effect.
    pub fn expand(&self, variables: &Variables) -> String {
        let mut uri = String::with_capacity(self.text.len());
        for part in &self.parts {
            match part {
                Part::Literal { text, .. } => uri.push_str(text),
                Part::Expression(expression) => expression.expand(&mut uri, variables),
            }
        }
        uri
    }
}

impl Expression {
    fn expand(&self, out: &mut String, variables: &Variables) {
        let mut before = self.operator.first();
        for variable in &self.variables {
            let value = match variables.get(&variable.name) {
                None => continue,
                Some(Value::List(items)) if items.is_empty() => continue,
                Some(Value::Map(pairs)) if pairs.is_empty() => continue,
                Some(value) => value,
            };
            out.push_str(before);
            before = self.operator.separator();
            if variable.modifier == Modifier::Explode {
                self.exploded(out, variable, value);
            } else {
                self.joined(out, variable, value);
            }
        }
    }

    /// One value as one text, the members of a list or map with commas between them.
    fn joined(&self, out: &mut String, variable: &Variable, value: &Value) {
        let reserved = self.operator.keeps_reserved();
        let mut text = String::new();
        match value {
            Value::String(value) => encode(&mut text, prefix(value, variable.modifier, reserved), reserved),
            Value::List(items) => join(&mut text, items.iter().map(String::as_str), reserved),
            Value::Map(pairs) => {
                join(&mut text, pairs.iter().flat_map(|(name, value)| [name.as_str(), value]), reserved);
            }
        }
        if self.operator.is_named() {
            self.named(out, &variable.name, &text);
        } else {
            out.push_str(&text);
        }
    }

    /// Each member of a list or map for itself.
    fn exploded(&self, out: &mut String, variable: &Variable, value: &Value) {
        let reserved = self.operator.keeps_reserved();
        let encoded = |text: &str| {
            let mut out = String::new();
            encode(&mut out, text, reserved);
            out
        };
        let named = self.operator.is_named();
        let mut before = "";
        let mut member = |name: Option<&str>, value: &str| {
            out.push_str(before);
            before = self.operator.separator();
            match name {
                Some(name) if named => self.named(out, name, &encoded(value)),
                Some(name) => {
                    out.push_str(name);
                    out.push('=');
                    out.push_str(&encoded(value));
                }
                None => out.push_str(&encoded(value)),
            }
        };
        let own = named.then_some(variable.name.as_str());
        match value {
            Value::String(value) => member(own, value),
            Value::List(items) => items.iter().for_each(|item| member(own, item)),
            Value::Map(pairs) => pairs.iter().for_each(|(name, value)| member(Some(&encoded(name)), value)),
        }
    }

    /// `name=value`; the operator `;` leaves the `=` out when there is no value.
    fn named(&self, out: &mut String, name: &str, value: &str) {
        out.push_str(name);
        if !value.is_empty() || self.operator != Operator::Parameter {
            out.push('=');
        }
        out.push_str(value);
    }
}

impl Operator {
    fn first(self) -> &'static str {
        match self {
            Operator::Simple | Operator::Reserved => "",
            Operator::Fragment => "#",
            Operator::Label => ".",
            Operator::Path => "/",
            Operator::Parameter => ";",
            Operator::Query => "?",
            Operator::Continuation => "&",
        }
    }

    fn separator(self) -> &'static str {
        match self {
            Operator::Simple | Operator::Reserved | Operator::Fragment => ",",
            Operator::Label => ".",
            Operator::Path => "/",
            Operator::Parameter => ";",
            Operator::Query | Operator::Continuation => "&",
        }
    }

    fn is_named(self) -> bool {
        matches!(self, Operator::Parameter | Operator::Query | Operator::Continuation)
    }

    fn keeps_reserved(self) -> bool {
        matches!(self, Operator::Reserved | Operator::Fragment)
    }
}

fn join<'a>(out: &mut String, items: impl Iterator<Item = &'a str>, reserved: bool) {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(',');
        }
        encode(out, item, reserved);
    }
}

/// Appends `text` escaped; with `reserved` the reserved characters and whole escapes stay as they are.
pub(super) fn encode(out: &mut String, text: &str, reserved: bool) {
    if !reserved {
        return percent_encode(out, text, b"");
    }
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        percent_encode(out, &rest[..at], RESERVED);
        let length = if is_escape(&rest.as_bytes()[at..]) { 3 } else { 1 };
        let (escape, tail) = rest[at..].split_at(length);
        out.push_str(if length == 3 { escape } else { "%25" });
        rest = tail;
    }
    percent_encode(out, rest, RESERVED);
}

/// The first characters of `text`. Where escapes stay as they are, one counts as a character and is not cut.
fn prefix(text: &str, modifier: Modifier, escapes: bool) -> &str {
    let Modifier::Prefix(mut left) = modifier else { return text };
    let mut end = 0;
    while let Some(c) = text[end..].chars().next().filter(|_| left > 0) {
        end += if escapes && is_escape(&text.as_bytes()[end..]) { 3 } else { c.len_utf8() };
        left -= 1;
    }
    &text[..end]
}
