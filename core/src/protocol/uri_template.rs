//! URI templates: RFC 6570, all four levels, and the way back from a URI to the variables (TMPL-01, FC-064).
//!
//! [`UriTemplate`] parses and expands. [`UriTemplate::matcher`] compiles it for matching, which RFC 6570 leaves open;
//! the rules are those of [`UriMatcher`].

mod expand;
mod matcher;
#[cfg(test)]
mod tests;
mod variables;

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

pub use matcher::UriMatcher;
pub use variables::{Value, Variables};

use super::uri::is_escape;

/// A parsed URI template. It keeps its text byte for byte.
#[derive(Clone)]
pub struct UriTemplate {
    text: Box<str>,
    parts: Vec<Part>,
}

/// Why a text is no URI template, or cannot be used for matching.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("URI template, byte {at} (`{excerpt}`): {reason}")]
#[non_exhaustive]
pub struct UriTemplateError {
    /// Where, in bytes from the beginning of the template.
    pub at: usize,
    /// The template from there on, at most 40 characters.
    pub excerpt: String,
    /// What is wrong and what to do.
    pub reason: String,
}

impl UriTemplateError {
    fn new(template: &str, at: usize, reason: impl Into<String>) -> UriTemplateError {
        let excerpt = template.get(at..).unwrap_or_default().chars().take(40).collect();
        UriTemplateError { at, excerpt, reason: reason.into() }
    }
}

#[derive(Debug, Clone)]
enum Part {
    Literal { at: usize, text: String },
    Expression(Expression),
}

#[derive(Debug, Clone)]
struct Expression {
    /// Where it begins, for errors.
    at: usize,
    operator: Operator,
    variables: Vec<Variable>,
}

#[derive(Debug, Clone)]
struct Variable {
    name: String,
    modifier: Modifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    None,
    /// `:n`, in characters.
    Prefix(usize),
    /// `*`
    Explode,
}

/// What stands behind the opening brace (RFC 6570 section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

impl UriTemplate {
    /// The longest template, in bytes.
    pub const MAX_BYTES: usize = 4096;
    /// The most variables in one template, repetitions counted.
    pub const MAX_VARIABLES: usize = 64;

    /// Parses `text` strictly by RFC 6570.
    ///
    /// Errors say at which byte the text breaks which rule: a character that a URI cannot hold, an open or empty
    /// expression, an unknown operator or modifier, or one of the limits [`MAX_BYTES`](Self::MAX_BYTES) and
    /// [`MAX_VARIABLES`](Self::MAX_VARIABLES).
    pub fn parse(text: &str) -> Result<UriTemplate, UriTemplateError> {
        if text.len() > Self::MAX_BYTES {
            let reason = format!("it is {} bytes long, at most {} are allowed", text.len(), Self::MAX_BYTES);
            return Err(UriTemplateError::new(text, 0, reason));
        }
        let fail = |at, reason: &str| Err(UriTemplateError::new(text, at, reason));
        let (mut parts, mut at, mut count) = (Vec::new(), 0, 0);
        while at < text.len() {
            let rest = &text[at..];
            if let Some(inside) = rest.strip_prefix('{') {
                let Some(length) = inside.find('}') else {
                    return fail(at, "the expression is not closed; add `}`, or write a literal `{` as `%7B`");
                };
                let expression = parse_expression(text, at, &inside[..length])?;
                count += expression.variables.len();
                if count > Self::MAX_VARIABLES {
                    return fail(at, &format!("more than {} variables", Self::MAX_VARIABLES));
                }
                parts.push(Part::Expression(expression));
                at += length + 2;
            } else {
                let literal = &rest[..rest.find('{').unwrap_or(rest.len())];
                check_literal(text, at, literal)?;
                let mut encoded = String::new();
                expand::encode(&mut encoded, literal, true);
                parts.push(Part::Literal { at, text: encoded });
                at += literal.len();
            }
        }
        Ok(UriTemplate { text: text.into(), parts })
    }

    /// The template as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of the variables, each once, in the order of their first appearance.
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for part in &self.parts {
            let Part::Expression(expression) = part else { continue };
            for variable in &expression.variables {
                if !names.contains(&variable.name.as_str()) {
                    names.push(&variable.name);
                }
            }
        }
        names
    }

    /// Compiles the template for matching.
    ///
    /// Errors: a template in which the end of a variable cannot be told, see [`UriMatcher`].
    pub fn matcher(&self) -> Result<UriMatcher, UriTemplateError> {
        UriMatcher::compile(self)
    }
}

fn check_literal(template: &str, start: usize, literal: &str) -> Result<(), UriTemplateError> {
    for (at, c) in literal.char_indices() {
        let reason = match c {
            '}' => "`}` without `{`; write a literal `}` as `%7D`".to_owned(),
            '%' if !is_escape(&literal.as_bytes()[at..]) => {
                "`%` is not followed by two hexadecimal digits; write a literal `%` as `%25`".to_owned()
            }
            c if c.is_control() || r#" "<>\^`|"#.contains(c) => {
                format!("{c:?} cannot stand in a URI; write it percent-encoded")
            }
            _ => continue,
        };
        return Err(UriTemplateError::new(template, start + at, reason));
    }
    Ok(())
}

/// Parses what is between the braces; the opening one is at `start`.
fn parse_expression(template: &str, start: usize, inside: &str) -> Result<Expression, UriTemplateError> {
    let fail = |at: usize, reason: String| Err(UriTemplateError::new(template, at, reason));
    let operator = match inside.chars().next() {
        None => return fail(start, "the expression is empty; name a variable between the braces".to_owned()),
        Some(c @ ('=' | ',' | '!' | '@' | '|')) => {
            return fail(
                start + 1,
                format!("the operator `{c}` is reserved by RFC 6570 and has no meaning yet; remove it"),
            );
        }
        Some(c) => Operator::from_char(c),
    };
    let mut at = start + 1 + usize::from(operator != Operator::Simple);
    let mut variables = Vec::new();
    for spec in template[at..=start + inside.len()].split(',') {
        let (name, modifier) = if let Some(name) = spec.strip_suffix('*') {
            (name, Modifier::Explode)
        } else if let Some((name, length)) = spec.split_once(':') {
            let digits = length.bytes().all(|b| b.is_ascii_digit()) && !length.starts_with('0') && length.len() <= 4;
            let Some(length) = length.parse().ok().filter(|_| digits) else {
                return fail(at + name.len(), "the length after `:` must be a number from 1 to 9999".to_owned());
            };
            (name, Modifier::Prefix(length))
        } else {
            (spec, Modifier::None)
        };
        check_name(name).map_err(|(offset, reason)| UriTemplateError::new(template, at + offset, reason))?;
        variables.push(Variable { name: name.to_owned(), modifier });
        at += spec.len() + 1;
    }
    Ok(Expression { at: start, operator, variables })
}

/// `varname` of RFC 6570 section 2.3. The error is an offset in `name` and a reason.
fn check_name(name: &str) -> Result<(), (usize, String)> {
    if name.is_empty() {
        return Err((0, "a variable's name is missing; write `{name}`, several with one `,` between two".to_owned()));
    }
    let bytes = name.as_bytes();
    for (at, c) in name.char_indices() {
        let good = match c {
            '.' => at > 0 && bytes[at - 1] != b'.' && at + 1 < bytes.len(),
            '%' => is_escape(&bytes[at..]),
            _ => c == '_' || c.is_ascii_alphanumeric(),
        };
        if !good {
            return Err((
                at,
                format!("{c:?} cannot stand here in a variable's name; use letters, digits, `_`, single `.` inside"),
            ));
        }
    }
    Ok(())
}

impl Operator {
    fn from_char(c: char) -> Operator {
        match c {
            '+' => Operator::Reserved,
            '#' => Operator::Fragment,
            '.' => Operator::Label,
            '/' => Operator::Path,
            ';' => Operator::Parameter,
            '?' => Operator::Query,
            '&' => Operator::Continuation,
            _ => Operator::Simple,
        }
    }
}

impl FromStr for UriTemplate {
    type Err = UriTemplateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        UriTemplate::parse(text)
    }
}

impl fmt::Display for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for UriTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UriTemplate({:?})", self.text)
    }
}
