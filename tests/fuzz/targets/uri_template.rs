//! URI templates: what is before the line feed is a template, what is behind it a URI and the value of every variable.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_native::protocol::uri_template::{UriTemplate, Variables};

fuzz_target!(|input: &str| {
    let (text, uri) = input.split_once('\n').unwrap_or((input, "x:y"));
    let Ok(template) = UriTemplate::parse(text) else { return };
    assert_eq!(template.as_str(), text);
    let all = |value: &str| {
        template.variables().into_iter().fold(Variables::new(), |variables, name| variables.with(name, value))
    };
    let expanded = template.expand(&all(uri));
    assert!(!expanded.contains(char::is_control), "values are escaped: {expanded:?}");
    let Ok(matcher) = template.matcher() else { return };
    let _ = matcher.match_uri(uri);
    let _ = matcher.match_uri(&expanded);
    // What a template makes of a value that is unlike its literal texts, it knows again. Expressions that write signs of
    // their own are left out: where literal texts beside them hold the same signs, the last one divides, as documented.
    if ["{.", "{/", "{;"].iter().any(|signs| text.contains(signs)) {
        return;
    }
    let Some(value) = ('0'..='z').filter(char::is_ascii_alphanumeric).find(|c| !text.contains(*c)) else { return };
    let expanded = template.expand(&all(&value.to_string()));
    match matcher.match_uri(&expanded) {
        Ok(found) => assert!(found.is_some(), "{text:?} does not know its own {expanded:?}"),
        Err(error) => panic!("{text:?} wrote {expanded:?}: {error}"),
    }
});
