//! From a template to its matcher, and which templates have none.

use super::{
    Expression, Field, Fragment, Modifier, Operator, Part, Query, Separator, Sequence, UriMatcher, UriTemplate,
    UriTemplateError, Variable, canonical,
};

/// One step of a sequence; literals never follow each other.
enum Piece {
    Literal(String),
    Expression(Expression),
}

#[derive(Default)]
struct Compiler {
    path: Vec<Piece>,
    /// The literal query; `Some` from its `?` on.
    query: Option<Vec<Piece>>,
    /// The variables of `{?…}` and `{&…}`.
    pairs: Option<Vec<Variable>>,
    /// The literal fragment; `Some` from its `#` on.
    fragment: Option<Vec<Piece>>,
    optional_fragment: Option<Expression>,
}

impl UriMatcher {
    pub(in super::super) fn compile(template: &UriTemplate) -> Result<UriMatcher, UriTemplateError> {
        let mut compiler = Compiler::default();
        let mut names: Vec<&str> = Vec::new();
        for part in &template.parts {
            let (at, outcome) = match part {
                Part::Literal { at, text } => (*at, compiler.literal(&canonical(text))),
                Part::Expression(expression) => {
                    let outcome = check_variables(expression, &mut names);
                    (expression.at, outcome.and_then(|()| compiler.expression(expression)))
                }
            };
            outcome.map_err(|reason| UriTemplateError::new(template.as_str(), at, reason))?;
        }
        compiler.finish().map_err(|(at, reason)| UriTemplateError::new(template.as_str(), at, reason))
    }
}

fn check_variables<'t>(expression: &'t Expression, names: &mut Vec<&'t str>) -> Result<(), String> {
    let pairs = matches!(expression.operator, Operator::Query | Operator::Continuation | Operator::Parameter);
    for (index, variable) in expression.variables.iter().enumerate() {
        let name = variable.name.as_str();
        if names.contains(&name) {
            return Err(format!("cannot match: the variable `{name}` is used twice; give each its own name"));
        }
        names.push(name);
        if variable.modifier == Modifier::Explode && !pairs && index + 1 < expression.variables.len() {
            return Err(format!(
                "cannot match: `{name}*` takes all values that follow; move it to the end of its expression"
            ));
        }
    }
    Ok(())
}

impl Compiler {
    fn literal(&mut self, text: &str) -> Result<(), String> {
        let in_path = self.query.is_none() && self.pairs.is_none();
        let in_fragment = self.fragment.is_some() || self.optional_fragment.is_some();
        let end = text.find(|c| !in_fragment && (c == '#' || (c == '?' && in_path)));
        let (here, next) = text.split_at(end.unwrap_or(text.len()));
        if !here.is_empty() {
            self.push(Piece::Literal(here.to_owned()))?;
        }
        let mut next = next.chars();
        match next.next() {
            None => return Ok(()),
            Some('?') => self.query = Some(Vec::new()),
            Some(_) => self.fragment = Some(Vec::new()),
        }
        self.literal(next.as_str())
    }

    fn expression(&mut self, expression: &Expression) -> Result<(), String> {
        let in_fragment = self.fragment.is_some() || self.optional_fragment.is_some();
        let in_path = self.query.is_none() && self.pairs.is_none() && !in_fragment;
        match expression.operator {
            Operator::Query if !in_path => Err("cannot match: the query has begun already; use `{&…}` here".to_owned()),
            Operator::Continuation if in_path || in_fragment => {
                Err("cannot match: there is no query to continue here; use `{?…}`".to_owned())
            }
            Operator::Query | Operator::Continuation => {
                self.pairs.get_or_insert_default().extend_from_slice(&expression.variables);
                Ok(())
            }
            Operator::Fragment if in_fragment => Err("cannot match: the fragment has begun already".to_owned()),
            Operator::Fragment => {
                self.optional_fragment = Some(expression.clone());
                Ok(())
            }
            _ => self.push(Piece::Expression(expression.clone())),
        }
    }

    fn push(&mut self, piece: Piece) -> Result<(), String> {
        let pieces = match self {
            Compiler { optional_fragment: Some(_), .. } => {
                return Err("cannot match: nothing may follow `{#…}`; move it to the end".to_owned());
            }
            Compiler { fragment: Some(pieces), .. } => pieces,
            Compiler { pairs: Some(_), .. } => {
                return Err(
                    "cannot match: only a fragment may follow `{?…}` and `{&…}`; move them to the end".to_owned()
                );
            }
            Compiler { query: Some(pieces), .. } => pieces,
            Compiler { path, .. } => path,
        };
        pieces.push(piece);
        Ok(())
    }

    fn finish(self) -> Result<UriMatcher, (usize, String)> {
        let query = match (self.query, self.pairs) {
            (None, None) => None,
            (None, Some(variables)) => Some(Query::Optional(variables)),
            (Some(pieces), more) => {
                let literals = pieces.iter().map(|piece| match piece {
                    Piece::Literal(text) => text.matches('&').count(),
                    Piece::Expression(_) => 0,
                });
                let ampersands = literals.sum();
                Some(Query::Literal { sequence: sequence(pieces, &['/', '?', '#', '&'])?, ampersands, more })
            }
        };
        let fragment = match (self.optional_fragment, self.fragment) {
            (Some(expression), _) => Some(Fragment::Optional(expression)),
            (None, Some(pieces)) => Some(Fragment::Literal(sequence(pieces, &['/', '?', '#'])?)),
            (None, None) => None,
        };
        Ok(UriMatcher { path: sequence(self.path, &['/', '?', '#'])?, query, fragment })
    }
}

fn sequence(pieces: Vec<Piece>, excluded: &'static [char]) -> Result<Sequence, (usize, String)> {
    let mut built = Sequence { excluded, ..Sequence::default() };
    // Whether the piece before was an expression, which then is the last field.
    let mut open = false;
    let mut wide = false;
    let mut separator = None;
    for piece in pieces {
        let expression = match piece {
            Piece::Literal(text) if built.fields.is_empty() => {
                built.prefix = text;
                continue;
            }
            Piece::Literal(text) => {
                separator = Some(Separator::Text(text));
                open = false;
                continue;
            }
            Piece::Expression(expression) => expression,
        };
        let at = expression.at;
        let before = built.fields.last_mut().filter(|_| open);
        match (before, expression.operator) {
            (Some(field), Operator::Label | Operator::Parameter) if field.takes(expression.operator) => {
                field.0.push(expression);
                continue;
            }
            (Some(field), Operator::Path) if field.is_open_path() => {
                field.0[0].variables.extend(expression.variables);
                continue;
            }
            (Some(field), Operator::Path) if !field.is_wide() => separator = Some(Separator::BeforeSlash),
            (Some(_), _) => {
                let reason =
                    "cannot match: where this expression begins cannot be told; put text between it and the one before";
                return Err((at, reason.to_owned()));
            }
            (None, _) => {}
        }
        let field = Field(vec![expression]);
        if field.is_wide() && std::mem::replace(&mut wide, true) {
            let reason = "cannot match: a second expression that may hold slashes; keep one `{+…}` or `{/…}`";
            return Err((at, reason.to_owned()));
        }
        let named = built.fields.last().is_some_and(Field::has_names) || field.has_names();
        if named && matches!(&separator, Some(Separator::Text(text)) if could_be_in_a_name(text)) {
            let reason =
                "cannot match: the text next to `{;…}` may be part of a name; put a delimiter such as `/` into it";
            return Err((at, reason.to_owned()));
        }
        built.separators.extend(separator.take());
        built.fields.push(field);
        open = true;
    }
    if let Some(Separator::Text(text)) = separator {
        built.suffix = text;
    }
    Ok(built)
}

/// Whether nothing in this text tells it from the names and signs that `{;name}` writes.
fn could_be_in_a_name(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "_.%;=".contains(c))
}

impl Field {
    /// Whether it writes names of its own.
    fn has_names(&self) -> bool {
        self.0.iter().any(|expression| expression.operator == Operator::Parameter)
    }

    /// Whether `{.…}` or `{;…}` may be put directly behind: labels come before parameters, each once.
    fn takes(&self, operator: Operator) -> bool {
        match self.0.last().map(|expression| expression.operator) {
            Some(Operator::Simple) => true,
            Some(Operator::Label) => operator == Operator::Parameter,
            _ => false,
        }
    }

    /// Whether it is a `{/…}` to which further segments can be added.
    fn is_open_path(&self) -> bool {
        self.0[0].operator == Operator::Path && !self.0[0].explodes()
    }
}
