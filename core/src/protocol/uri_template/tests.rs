mod expansion;
mod matching;

use super::*;
use crate::protocol::uri::arbitrary_texts;

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn matcher(text: &str) -> UriMatcher {
    template(text).matcher().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn list(items: &[&str]) -> Value {
    Value::List(items.iter().map(|&item| item.to_owned()).collect())
}

/// The variables of RFC 6570 section 3.2.
fn rfc_variables() -> Variables {
    let texts = [
        ("dub", "me/too"),
        ("hello", "Hello World!"),
        ("half", "50%"),
        ("var", "value"),
        ("who", "fred"),
        ("base", "http://example.com/home/"),
        ("path", "/foo/bar"),
        ("v", "6"),
        ("x", "1024"),
        ("y", "768"),
        ("empty", ""),
    ];
    let keys = [("semi", ";"), ("dot", "."), ("comma", ",")];
    let mut variables: Variables = texts.into_iter().collect();
    variables.insert("count", list(&["one", "two", "three"]));
    variables.insert("dom", list(&["example", "com"]));
    variables.insert("list", list(&["red", "green", "blue"]));
    variables.insert("keys", keys.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec());
    variables.insert("empty_keys", Vec::<(String, String)>::new());
    variables
}

// proves: TMPL-01
#[test]
fn tmpl_01_the_text_is_kept_byte_for_byte_and_the_variables_are_listed_once() {
    let text = "test://é/{a,b:3}{/a*}%7e{?c_1.d%20,b}";
    let parsed = template(text);
    assert_eq!(parsed.as_str(), text);
    assert_eq!(parsed.to_string(), text);
    assert_eq!(parsed.variables(), ["a", "b", "c_1.d%20"]);
    assert!(template("").variables().is_empty());
}

// proves: TMPL-01
#[test]
fn tmpl_01_what_is_no_template_is_refused_with_its_place() {
    for (text, at) in [
        ("a{", 1),
        ("a{b", 1),
        ("a}", 1),
        ("{a}}", 3),
        ("{}", 0),
        ("{+}", 2),
        ("{=a}", 1),
        ("{!a}", 1),
        ("{|a}", 1),
        ("{,a}", 1),
        ("{@a}", 1),
        ("{a,}", 3),
        ("{a,,b}", 3),
        ("{a b}", 2),
        ("{ a}", 1),
        ("{a-b}", 2),
        ("{a.}", 2),
        ("{.a..b}", 4),
        ("{..a}", 2),
        ("{a%2}", 2),
        ("{é}", 1),
        ("{??a}", 2),
        ("{a*b}", 2),
        ("{a**}", 2),
        ("{a:}", 2),
        ("{a:0}", 2),
        ("{a:01}", 2),
        ("{a:10000}", 2),
        ("{a:x}", 2),
        ("{a:-1}", 2),
        ("{a:+1}", 2),
        ("{a:1*}", 2),
        ("{{a}}", 1),
        ("x y", 1),
        ("x\"", 1),
        ("x\\", 1),
        ("x<", 1),
        ("x%", 1),
        ("x%2", 1),
        ("x%zz", 1),
        ("é^", 2),
        ("x\0", 1),
    ] {
        let error = UriTemplate::parse(text).expect_err(text);
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(!error.reason.is_empty());
    }
    let error = UriTemplate::parse("test://{a-b}/c").expect_err("a dash in a name");
    let shown = "URI template, byte 9 (`-b}/c`): '-' cannot stand here in a variable's name; \
                 use letters, digits, `_`, single `.` inside";
    assert_eq!(error.to_string(), shown);
}

#[test]
fn length_and_number_of_variables_are_bounded() {
    let longest = "a".repeat(UriTemplate::MAX_BYTES);
    assert!(UriTemplate::parse(&longest).is_ok());
    assert!(UriTemplate::parse(&(longest + "a")).is_err());
    let most = "{a}/".repeat(UriTemplate::MAX_VARIABLES);
    assert!(UriTemplate::parse(&most).is_ok());
    assert!(UriTemplate::parse(&(most + "{b}")).is_err());
}

#[test]
fn no_input_panics() {
    let (mut parsed, mut compiled, mut hits) = (0, 0, 0);
    let uris: Vec<String> = arbitrary_texts(400).collect();
    let variables = rfc_variables().with("a", "é%2").with("b", "").with("c", list(&["", "/"])).with("d", "%zz");
    for text in arbitrary_texts(20_000) {
        let Ok(template) = UriTemplate::parse(&text) else { continue };
        assert_eq!(template.as_str(), text);
        let expansion = template.expand(&variables);
        parsed += 1;
        let Ok(matcher) = template.matcher() else { continue };
        compiled += 1;
        for uri in uris.iter().skip(compiled % 50).step_by(50).chain([&expansion, &text]) {
            hits += usize::from(matches!(matcher.match_uri(uri), Ok(Some(_))));
        }
    }
    assert!(parsed > 1_000 && compiled > 500 && hits > 200, "{parsed} parsed, {compiled} compiled, {hits} matched");
}
