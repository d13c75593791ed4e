//! Command lines: `--name value` pairs, bare `--flag`s, and splitting a command given as one text.

use crate::Result;
use std::str::FromStr;

/// The options that were given, in order; of an option given twice the last counts.
pub struct Args(Vec<(String, String)>);

impl Args {
    /// Reads `words`; an option that is not in `known` is an error, so that a misspelt one cannot pass for its default.
    pub fn parse(words: &[String], known: &[&str]) -> Result<Self> {
        let mut given = Vec::new();
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.next() {
            let Some(name) = word.strip_prefix("--") else {
                return Err(format!("{word:?} is not an option; options start with --").into());
            };
            let (name, value) = match name.split_once('=') {
                Some((name, value)) => (name, value.to_owned()),
                None => match rest.next_if(|next| !next.starts_with("--")) {
                    Some(value) => (name, value.clone()),
                    None => (name, String::new()),
                },
            };
            if !known.contains(&name) {
                return Err(format!("unknown option --{name}; known: --{}", known.join(", --")).into());
            }
            given.push((name.to_owned(), value));
        }
        Ok(Self(given))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// Every value of an option that may be repeated.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn text<'a>(&'a self, name: &str, default: &'a str) -> &'a str {
        self.get(name).unwrap_or(default)
    }

    pub fn number<T: FromStr>(&self, name: &str, default: T) -> Result<T> {
        match self.get(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("--{name} {text:?} is not a number that fits").into()),
        }
    }

    pub fn required(&self, name: &str) -> Result<&str> {
        self.get(name).ok_or_else(|| format!("--{name} is needed").into())
    }
}

/// Splits a command line at blanks, with '...' and "..." keeping blanks together; nothing is expanded.
pub fn split_command(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut quoted) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (None, '\'' | '"') => (quote, quoted) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if quoted || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                    quoted = false;
                }
            }
            (_, c) => word.push(c),
        }
    }
    if quoted || !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        split_command(line)
    }

    #[test]
    fn a_command_is_split_at_blanks_outside_quotes() {
        assert_eq!(words("a  'b c' \"d 'e\" f''g ''"), ["a", "b c", "d 'e", "fg", ""]);
        assert!(words("  ").is_empty());
    }

    #[test]
    fn options_take_the_next_word_unless_it_is_an_option() {
        let args = Args::parse(&words("--a 1 --b --c=x=y --a 2"), &["a", "b", "c"]).expect("all known");
        assert_eq!((args.get("a"), args.get("b"), args.get("c")), (Some("2"), Some(""), Some("x=y")));
        assert_eq!(args.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(args.number("a", 0).expect("a number"), 2);
        assert!(args.number::<u8>("c", 0).is_err());
    }

    #[test]
    fn a_misspelt_option_is_refused() {
        assert!(Args::parse(&words("--cals 5"), &["calls"]).is_err());
        assert!(Args::parse(&words("calls 5"), &["calls"]).is_err());
    }
}
