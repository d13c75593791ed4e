//! Arguments of a tool against its schema (TOOL-06, TOOL-18).

use std::sync::OnceLock;

use jsonschema::{Draft, Validator};
use serde_json::Value;

use crate::error::{Error, ErrorKind, Excerpt};
use crate::protocol::Json;

/// A schema, compiled when the first arguments come.
pub(crate) struct ArgumentCheck {
    schema: Json,
    compiled: OnceLock<Result<Validator, String>>,
}

/// Refuses every reference to another document: nothing is ever fetched because a schema says so.
struct NoRetrieval;

impl jsonschema::Retrieve for NoRetrieval {
    fn retrieve(&self, uri: &jsonschema::Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("the schema refers to another document ({uri}), and those are not fetched").into())
    }
}

impl ArgumentCheck {
    pub(crate) fn new(schema: Json) -> ArgumentCheck {
        ArgumentCheck { schema, compiled: OnceLock::new() }
    }

    /// Checks the text of an arguments object. The error names the argument at fault, never its value.
    pub(crate) fn check(&self, tool: &str, arguments: &str) -> Result<(), Error> {
        let validator = match self.compiled.get_or_init(|| compile(&self.schema)) {
            Ok(validator) => validator,
            Err(fault) => {
                tracing::error!(tool, fault, "the input schema of this tool cannot be used; its calls are refused");
                return Err(Error::internal("The tool's input schema cannot be used"));
            }
        };
        let value: Value = serde_json::from_str(arguments)
            .map_err(|error| invalid(format!("Invalid arguments for tool {}: {error}", Excerpt(tool))))?;
        if validator.is_valid(&value) {
            return Ok(());
        }
        let faults = validator.iter_errors(&value);
        let faults: Vec<String> = faults.take(3).map(|fault| describe(&fault)).collect();
        Err(invalid(format!("Invalid arguments for tool {}: {}", Excerpt(tool), faults.join("; "))))
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidToolArguments, message)
}

fn describe(fault: &jsonschema::ValidationError<'_>) -> String {
    let place = fault.instance_path().to_string();
    let place = place.trim_start_matches('/');
    let what = fault.masked_with("value").to_string();
    if place.is_empty() { what } else { format!("`{place}`: {what}") }
}

/// `$schema` picks the dialect; without it, 2020-12.
fn compile(schema: &Json) -> Result<Validator, String> {
    let schema: Value = schema.to_value().map_err(|error| error.to_string())?;
    let mut options = jsonschema::options().with_retriever(NoRetrieval);
    if schema.get("$schema").is_none() {
        options = options.with_draft(Draft::Draft202012);
    }
    options.build(&schema).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, arguments: &str) -> Result<(), String> {
        let schema = Json::parse(schema).expect("JSON");
        ArgumentCheck::new(schema).check("t", arguments).map_err(|error| error.message().to_owned())
    }

    // proves: TOOL-06, FC-067
    #[test]
    fn tool_06_the_error_names_the_argument() {
        let schema =
            r#"{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}"#;
        assert_eq!(check(schema, r#"{"a":1,"b":2,"c":3}"#), Ok(()));
        assert!(check(schema, r#"{"a":1}"#).expect_err("b is missing").contains("\"b\""));
        let wrong = check(schema, r#"{"a":"secret","b":2}"#).expect_err("a is no number");
        assert!(wrong.contains("`a`") && !wrong.contains("secret"), "{wrong}");
    }

    // proves: TOOL-18, FC-069
    #[test]
    fn tool_18_dialects_and_local_references_work_and_remote_ones_are_not_fetched() {
        let local = r##"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"p":{"$ref":"#/$defs/P"}},"required":["p"],"$defs":{"P":{"type":"integer","minimum":1}},"x-order":["p"]}"##;
        assert_eq!(check(local, r#"{"p":1}"#), Ok(()));
        assert!(check(local, r#"{"p":0}"#).expect_err("too small").contains("`p`"));
        let draft7 = r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"p":{"type":"array","items":[{"type":"string"}]}}}"#;
        assert!(check(draft7, r#"{"p":[1]}"#).is_err());
        let remote = r#"{"type":"object","properties":{"p":{"$ref":"http://127.0.0.1:1/schema.json"}}}"#;
        assert!(check(remote, r#"{"p":1}"#).expect_err("not fetched").contains("cannot be used"));
    }
}
