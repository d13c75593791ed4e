//! From a URI back to the variables.
//!
//! A template is cut at its `?` and `#` like a URI. In each part the variables stand between literal texts, and a
//! variable ends where the next literal begins. Nothing is ever tried twice, so the time is linear in the lengths of
//! both.

mod compile;

use std::borrow::Cow;

use super::{Expression, Modifier, Operator, Part, UriTemplate, UriTemplateError, Value, Variable, Variables};
use crate::protocol::uri::{BadEscape, is_escape, percent_decode, push_escape};

/// A template compiled for matching (FC-064).
///
/// The rules:
/// * Literal text must be the same, but for the case of hexadecimal digits in escapes and for characters outside ASCII,
///   which match their escapes.
/// * `{x}` holds one or more characters without `/`, `?` and `#` (in a query also without `&`). An empty one does not
///   match.
/// * `{+x}` holds one or more characters of any kind, but no `?` (`#`) where the template has a `?` or `{?…}` (`#` or
///   `{#…}`) itself. `{/x}` holds one segment and `{/x*}` any number, none of them empty.
/// * A variable ends at the first place where the literal text after it stands; behind a `{+x}` or `{/x}` the URI is
///   read from its end, so that this one takes what is left over. In `{name}{.ext}` the last dot divides.
/// * `{x,y}` needs both values; `{/x,y}` and `{.x,y}` are filled from the left. Expressions with the operators
///   `. / ; ? & #` may be absent, then their variables are undefined.
/// * Variables in `{?…}`, `{&…}` and `{;…}` stand in any order, and each may be absent or empty. Of a name that is
///   repeated the first counts; unknown names are ignored.
/// * Values are percent-decoded once; `+` is a plus. A variable with `*` becomes a list, any other a text; maps are not
///   told apart from lists. `{x:3}` matches at most three characters.
///
/// Values are what the URI says: one that is used as a path is still to be checked for `..` (RES-07).
///
/// Refused when compiling, because the end of a variable could not be told: two variables without text between them
/// (`{a}{b}`), a second `{+…}` or `{/…}` in the same part of a URI, a name used twice, `*` before the last variable of
/// an expression, text beside `{;name}` that might be part of a name, and text after `{?…}` or `{#…}` other than a fragment.
#[derive(Debug, Clone)]
pub struct UriMatcher {
    path: Sequence,
    query: Option<Query>,
    fragment: Option<Fragment>,
}

#[derive(Debug, Clone)]
enum Query {
    /// `{?…}`
    Optional(Vec<Variable>),
    /// `?` in literal text, then perhaps `{&…}` after as many `&` as the literal text has.
    Literal { sequence: Sequence, ampersands: usize, more: Option<Vec<Variable>> },
}

#[derive(Debug, Clone)]
enum Fragment {
    /// `{#…}`
    Optional(Expression),
    /// `#` in literal text.
    Literal(Sequence),
}

/// Literal texts and variables in turn.
#[derive(Debug, Clone, Default)]
struct Sequence {
    prefix: String,
    fields: Vec<Field>,
    /// `separators[i]` stands between `fields[i]` and `fields[i + 1]`.
    separators: Vec<Separator>,
    suffix: String,
    /// No variable but `{+x}` and `{/x}` holds one of these.
    excluded: &'static [char],
}

/// What varies between two literal texts: `{x}`, `{+x}`, `{x}{.y}{;z}` or `{/x}`.
#[derive(Debug, Clone)]
struct Field(Vec<Expression>);

#[derive(Debug, Clone)]
enum Separator {
    Text(String),
    /// Nothing, as in `{x}{/y}`: the field ends before the next slash.
    BeforeSlash,
}

/// What was found for a variable, still encoded.
enum Found<'u> {
    Text(&'u str),
    List(Vec<&'u str>),
}

type Finds<'m, 'u> = Vec<(&'m Variable, Found<'u>)>;

impl UriMatcher {
    /// Whether the whole of `uri` matches: `None` if not, else the values found.
    ///
    /// Errors: the URI matches, but the value of a variable has an escape that stands for nothing.
    pub fn match_uri(&self, uri: &str) -> Result<Option<Variables>, BadEscape> {
        let uri = canonical(uri);
        match self.find(&uri) {
            Some(found) => decode(found),
            None => Ok(None),
        }
    }

    fn find<'u>(&self, uri: &'u str) -> Option<Finds<'_, 'u>> {
        let mut found = Vec::new();
        let (rest, fragment) = if self.fragment.is_some() { cut(uri, '#') } else { (uri, None) };
        let (path, query) = if self.query.is_some() { cut(rest, '?') } else { (rest, None) };
        self.path.find(path, &mut found)?;
        match (&self.query, query) {
            (None, _) | (Some(Query::Optional(_)), None) => {}
            (Some(Query::Optional(variables)), Some(query)) => find_pairs(query, '&', variables, &mut found)?,
            (Some(Query::Literal { sequence, more: None, .. }), Some(query)) => sequence.find(query, &mut found)?,
            (Some(Query::Literal { sequence, ampersands, more: Some(more) }), Some(query)) => {
                let end = query.match_indices('&').nth(*ampersands).map_or(query.len(), |(at, _)| at);
                sequence.find(&query[..end], &mut found)?;
                find_pairs(&query[end..], '&', more, &mut found)?;
            }
            (Some(Query::Literal { .. }), None) => return None,
        }
        match (&self.fragment, fragment) {
            (None, _) | (Some(Fragment::Optional(_)), None) => {}
            (Some(Fragment::Optional(expression)), Some(fragment)) => expression.find_listed(fragment, &mut found)?,
            (Some(Fragment::Literal(sequence)), Some(fragment)) => sequence.find(fragment, &mut found)?,
            (Some(Fragment::Literal(_)), None) => return None,
        }
        Some(found)
    }
}

impl Sequence {
    fn find<'m, 'u>(&'m self, text: &'u str, found: &mut Finds<'m, 'u>) -> Option<()> {
        let mut rest = text.strip_prefix(self.prefix.as_str())?;
        let Some(last) = self.fields.len().checked_sub(1) else { return rest.is_empty().then_some(()) };
        rest = rest.strip_suffix(self.suffix.as_str())?;
        // Everything before the wide field is found from the left, everything after it from the right.
        let middle = self.fields.iter().position(Field::is_wide).unwrap_or(last);
        let mut texts = vec![""; self.fields.len()];
        for (index, field) in self.fields.iter().enumerate().take(middle) {
            (texts[index], rest) = self.separators[index].split_first(rest, field.least())?;
        }
        for (index, field) in self.fields.iter().enumerate().skip(middle + 1).rev() {
            (rest, texts[index]) = self.separators[index - 1].split_last(rest, field.least())?;
        }
        texts[middle] = rest;
        for (field, text) in self.fields.iter().zip(texts) {
            if !field.is_wide() && text.contains(self.excluded) {
                return None;
            }
            field.find(text, found)?;
        }
        Some(())
    }
}

impl Separator {
    /// Splits at the first place that leaves at least `least` bytes before it.
    fn split_first<'u>(&self, text: &'u str, least: usize) -> Option<(&'u str, &'u str)> {
        let tail = text.get(least..)?;
        match self {
            Separator::Text(separator) => {
                let at = least + tail.find(separator.as_str())?;
                Some((&text[..at], &text[at + separator.len()..]))
            }
            Separator::BeforeSlash => Some(text.split_at(tail.find('/').map_or(text.len(), |at| least + at))),
        }
    }

    /// Splits at the last place that leaves at least `least` bytes after it.
    fn split_last<'u>(&self, text: &'u str, least: usize) -> Option<(&'u str, &'u str)> {
        let Separator::Text(separator) = self else { return None };
        let head = text.get(..text.len().checked_sub(least)?)?;
        let at = head.rfind(separator.as_str())?;
        Some((&text[..at], &text[at + separator.len()..]))
    }
}

impl Field {
    /// Whether it may hold slashes.
    fn is_wide(&self) -> bool {
        self.0.iter().any(|expression| matches!(expression.operator, Operator::Reserved | Operator::Path))
    }

    /// Whether it begins with a variable that must be there.
    fn has_base(&self) -> bool {
        matches!(self.0[0].operator, Operator::Simple | Operator::Reserved)
    }

    /// The fewest bytes it takes.
    fn least(&self) -> usize {
        usize::from(self.has_base())
    }

    fn find<'m, 'u>(&'m self, text: &'u str, found: &mut Finds<'m, 'u>) -> Option<()> {
        let mut rest = text;
        for expression in self.0.iter().rev() {
            match expression.operator {
                Operator::Parameter => {
                    let at = rest.find(';').unwrap_or(rest.len());
                    find_pairs(&rest[at..], ';', &expression.variables, found)?;
                    rest = &rest[..at];
                }
                Operator::Label => {
                    let mut labels = Vec::new();
                    while let Some((head, label)) = rest.rsplit_once('.') {
                        if label.is_empty() || head.len() < self.least() || labels.len() == expression.most() {
                            break;
                        }
                        labels.push(label);
                        rest = head;
                    }
                    labels.reverse();
                    expression.assign(labels, found)?;
                }
                Operator::Path => {
                    let mut segments = rest.split('/');
                    if segments.next() != Some("") {
                        return None;
                    }
                    let segments: Vec<_> = segments.collect();
                    if segments.contains(&"") {
                        return None;
                    }
                    expression.assign(segments, found)?;
                    rest = "";
                }
                _ => {
                    let before = found.len();
                    expression.find_listed(rest, found)?;
                    let empty = |(_, found): &(_, Found<'_>)| match found {
                        Found::Text(text) => text.is_empty(),
                        Found::List(items) => items.contains(&""),
                    };
                    if found.len() - before < expression.variables.len() || found[before..].iter().any(empty) {
                        return None;
                    }
                    rest = "";
                }
            }
        }
        rest.is_empty().then_some(())
    }
}

impl Expression {
    /// The most values it holds.
    fn most(&self) -> usize {
        if self.explodes() { usize::MAX } else { self.variables.len() }
    }

    fn explodes(&self) -> bool {
        self.variables.last().is_some_and(|variable| variable.modifier == Modifier::Explode)
    }

    /// Values with commas between them. A single variable without `*` keeps its commas.
    fn find_listed<'m, 'u>(&'m self, text: &'u str, found: &mut Finds<'m, 'u>) -> Option<()> {
        let values = if self.most() == 1 { vec![text] } else { text.split(',').collect() };
        self.assign(values, found)
    }

    /// Gives the values to the variables from the left; an exploded last one takes all that remain.
    fn assign<'m, 'u>(&'m self, mut values: Vec<&'u str>, found: &mut Finds<'m, 'u>) -> Option<()> {
        if values.len() > self.most() {
            return None;
        }
        let single = self.variables.len() - usize::from(self.explodes());
        let remaining = values.split_off(values.len().min(single));
        for (variable, value) in self.variables.iter().zip(values) {
            found.push((variable, Found::Text(value)));
        }
        if let (Some(variable), false) = (self.variables.last(), remaining.is_empty()) {
            found.push((variable, Found::List(remaining)));
        }
        Some(())
    }
}

/// `name=value` pairs in any order; unknown names are ignored, of repeated ones the first counts.
fn find_pairs<'m, 'u>(
    text: &'u str,
    separator: char,
    variables: &'m [Variable],
    found: &mut Finds<'m, 'u>,
) -> Option<()> {
    if text.contains('#') {
        return None;
    }
    let mut values: Vec<Vec<&str>> = vec![Vec::new(); variables.len()];
    for pair in text.split(separator) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if let Some(index) = variables.iter().position(|variable| variable.name == name) {
            values[index].push(value);
        }
    }
    for (variable, values) in variables.iter().zip(values) {
        match values.first() {
            None => {}
            Some(_) if variable.modifier == Modifier::Explode => found.push((variable, Found::List(values))),
            Some(value) => found.push((variable, Found::Text(value))),
        }
    }
    Some(())
}

fn decode(found: Finds<'_, '_>) -> Result<Option<Variables>, BadEscape> {
    let mut variables = Variables::new();
    for (variable, found) in found {
        let value = match found {
            Found::Text(text) => Value::String(percent_decode(text)?),
            Found::List(items) => Value::List(items.into_iter().map(percent_decode).collect::<Result<_, _>>()?),
        };
        if let (Modifier::Prefix(most), Value::String(text)) = (variable.modifier, &value)
            && text.chars().nth(most).is_some()
        {
            return Ok(None);
        }
        variables.insert(variable.name.as_str(), value);
    }
    Ok(Some(variables))
}

fn cut(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(head, tail)| (head, Some(tail)))
}

/// The one spelling in which literal texts are compared: everything outside ASCII escaped, escapes in upper case.
fn canonical(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let lower = |at: usize| bytes[at..].iter().take(3).any(u8::is_ascii_lowercase) && is_escape(&bytes[at..]);
    if text.is_ascii() && !text.match_indices('%').any(|(at, _)| lower(at)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if is_escape(&bytes[at..]) {
            out.push_str(&text[at..at + 3].to_ascii_uppercase());
            at += 3;
        } else {
            if byte.is_ascii() {
                out.push(char::from(byte));
            } else {
                push_escape(&mut out, byte);
            }
            at += 1;
        }
    }
    Cow::Owned(out)
}
