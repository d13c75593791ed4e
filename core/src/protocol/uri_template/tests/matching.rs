use super::*;
use crate::protocol::uri::is_absolute_uri;

/// What `uri` gives with `template`: `None` for no match, else `name=value` of all variables, a list as `[a|b]`.
fn matched(template: &str, uri: &str) -> Option<String> {
    let variables = matcher(template).match_uri(uri).unwrap_or_else(|error| panic!("{template} {uri}: {error}"))?;
    let shown = variables.iter().map(|(name, value)| match value {
        Value::String(text) => format!("{name}={text}"),
        Value::List(items) => format!("{name}=[{}]", items.join("|")),
        Value::Map(_) => panic!("a match never gives a map"),
    });
    Some(shown.collect::<Vec<_>>().join(" "))
}

const ITEMS: &str = "test://items/{id}";
const FILES: &str = "test://files/{+path}";
const SEARCH: &str = "test://search{?q,limit}";

// proves: FC-064
#[test]
fn fc_064_values_are_found_and_decoded_once() {
    for (template, uri, values) in [
        (ITEMS, "test://items/a%20b", Some("id=a b")),
        (ITEMS, "test://items/a%2Fb", Some("id=a/b")),
        (ITEMS, "test://items/%25", Some("id=%")),
        (ITEMS, "test://items/%2541", Some("id=%41")),
        (ITEMS, "test://items/caf%C3%A9", Some("id=café")),
        (ITEMS, "test://items/café", Some("id=café")),
        (ITEMS, "test://items/a+b,c;d=e", Some("id=a+b,c;d=e")),
        (ITEMS, "test://items/a/b", None),
        (ITEMS, "test://items/a?x=1", None),
        (ITEMS, "test://items/a#x", None),
        (ITEMS, "test://items/", None),
        (ITEMS, "test://items", None),
        (ITEMS, "TEST://items/a", None),
        (ITEMS, "xtest://items/a", None),
        (FILES, "test://files/a/b%20c", Some("path=a/b c")),
        (FILES, "test://files/a?b#c", Some("path=a?b#c")),
        (FILES, "test://files/", None),
        (SEARCH, "test://search?limit=2&q=x%26y", Some("limit=2 q=x&y")),
        (SEARCH, "test://search", Some("")),
        (SEARCH, "test://search?", Some("")),
        (SEARCH, "test://search?q=&limit", Some("limit= q=")),
        (SEARCH, "test://search?q=1&other=2&&q=3", Some("q=1")),
        (SEARCH, "test://search?q=a=b?c/d", Some("q=a=b?c/d")),
        (SEARCH, "test://search?other=%zz", Some("")),
        (SEARCH, "test://search#q", None),
        (SEARCH, "test://search?q=1#f", None),
        (SEARCH, "test://searching", None),
    ] {
        assert_eq!(matched(template, uri).as_deref(), values, "{template} {uri}");
    }
}

// proves: FC-064
#[test]
fn fc_064_a_bad_escape_is_told_from_no_match() {
    for (template, uri) in [
        (ITEMS, "test://items/%zz"),
        (ITEMS, "test://items/%"),
        (ITEMS, "test://items/%4"),
        (ITEMS, "test://items/%ff"),
        (ITEMS, "test://items/%C3"),
        (FILES, "test://files/a/%zz"),
        (SEARCH, "test://search?q=%zz"),
        ("x:{/a*}", "x:/b/%zz"),
    ] {
        let error = matcher(template).match_uri(uri).expect_err(uri);
        assert!(error.text.contains('%'), "{error}");
    }
    assert_eq!(matched(ITEMS, "test://items/%zz/a"), None);
    assert_eq!(matched(ITEMS, "other://items/%zz"), None);
}

// proves: FC-064
#[test]
fn fc_064_expansion_escapes_what_a_segment_cannot_hold() {
    let uri = template(ITEMS).expand(&Variables::new().with("id", "foo/bar 1"));
    assert_eq!(uri, "test://items/foo%2Fbar%201");
    assert_eq!(matched(ITEMS, &uri).as_deref(), Some("id=foo/bar 1"));
}

// proves: FC-064
#[test]
fn every_operator_has_its_way_back() {
    for (template, uri, values) in [
        // Literal text around and between variables.
        ("x:a", "x:a", Some("")),
        ("x:a", "x:ab", None),
        ("x:{a}-{b}", "x:1-2-3", Some("a=1 b=2-3")),
        ("x:{a}-{b}", "x:--3", Some("a=- b=3")),
        ("x:{a}-{b}", "x:-3", None),
        ("x:{a}aa{b}aa", "x:aaaaaa", Some("a=a b=a")),
        ("x:{a}/meta", "x:1/meta", Some("a=1")),
        ("x:{a}/meta", "x:1/meta/meta", None),
        ("x:aba{a}aba", "x:ababa", None),
        ("x:é{a}", "x:%c3%a9b", Some("a=b")),
        ("x:%c3%A9{a}", "x:éb", Some("a=b")),
        // Several values in one expression, lists, prefixes.
        ("x:{a,b}", "x:1,2", Some("a=1 b=2")),
        ("x:{a,b}", "x:1", None),
        ("x:{a,b}", "x:1,", None),
        ("x:{a,b}", "x:1,2,3", None),
        ("x:{a*}", "x:1,2%2C3", Some("a=[1|2,3]")),
        ("x:{a,b*}", "x:1,2,3", Some("a=1 b=[2|3]")),
        ("x:{a:3}", "x:%C3%A9bc", Some("a=ébc")),
        ("x:{a:3}", "x:abcd", None),
        // Variables that may hold slashes.
        ("x:{+dir}/{name}.md", "x:a/b/c.md", Some("dir=a/b name=c")),
        ("x:{+dir}/{name}.md", "x:c.md", None),
        ("x:{+p}/meta", "x:a/meta/b/meta", Some("p=a/meta/b")),
        ("x:{a}/{+p}/{b}-{c}", "x:1/2/3/4-5-6", Some("a=1 b=4-5 c=6 p=2/3")),
        ("{+url}", "https://h/p?q#f", Some("url=https://h/p?q#f")),
        ("x:{+p}{?q}", "x:a/b?q=1", Some("p=a/b q=1")),
        ("x:{+p}{#f}", "x:a/b?q=1#2", Some("f=2 p=a/b?q=1")),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://o/r/contents", Some("owner=o repo=r")),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://o/r/contents/a/b%2Fc", Some("owner=o path=[a|b/c] repo=r")),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://o/r/contents/", None),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://o/r/contents/a//b", None),
        ("repo://{owner}/{repo}/contents{/path*}", "repo://o/r/contentsa", None),
        ("x:{host}{/path*}", "x:h/a/b", Some("host=h path=[a|b]")),
        ("x:{host}{/path*}", "x:h", Some("host=h")),
        ("x:{host}{/path*}/end", "x:h/a/end", Some("host=h path=[a]")),
        ("x:{host}{/path*}", "x:/a", None),
        ("x{/a,b}", "x/1/2", Some("a=1 b=2")),
        ("x{/a}{/b}", "x/1", Some("a=1")),
        ("x{/a,b}", "x/1/2/3", None),
        // Labels and parameters.
        ("x:{name}{.ext}", "x:a.tar.gz", Some("ext=gz name=a.tar")),
        ("x:{name}{.ext*}", "x:a.tar.gz", Some("ext=[tar|gz] name=a")),
        ("x:{name}{.ext}", "x:.rc", Some("name=.rc")),
        ("x:{name}{.ext}", "x:a.", Some("name=a.")),
        ("x:www{.dom*}", "x:www.example.com", Some("dom=[example|com]")),
        ("x:www{.a,b}/c", "x:www.1/c", Some("a=1")),
        ("x:www{.a}", "x:wwwa", None),
        ("x:{p}{;v,w}", "x:a;w=2;v=1", Some("p=a v=1 w=2")),
        ("x:{p}{.e}{;v}/{q}", "x:a.b;v/c", Some("e=b p=a q=c v=")),
        ("x:{p}{;v*}", "x:a;v=1;u=3;v=2", Some("p=a v=[1|2]")),
        ("x:{p}{;v}", "x:a", Some("p=a")),
        ("x:a{;v}", "x:ab", None),
        // Queries and fragments.
        ("x{?q*}", "x?q=1&q=2", Some("q=[1|2]")),
        ("x{?a}{&b}", "x?b=2&a=1", Some("a=1 b=2")),
        ("x?fixed=1{&a,b}", "x?fixed=1&b=2", Some("b=2")),
        ("x?fixed=1{&a}", "x?fixed=1", Some("")),
        ("x?fixed=1{&a}", "x?fixed=12", None),
        ("x?fixed=1{&a}", "x", None),
        ("x?f=1&g={g}{&a}", "x?f=1&g=2&a=3&h", Some("a=3 g=2")),
        ("x?q={q}", "x?q=1", Some("q=1")),
        ("x?q={q}", "x?q=1&r=2", None),
        ("x{?q}{#f}", "x?q=1#a/b?c", Some("f=a/b?c q=1")),
        ("x{?q}{#f}", "x#", Some("f=")),
        ("x{?q}{#f}", "x", Some("")),
        ("x{#a,b}", "x#1,2", Some("a=1 b=2")),
        ("x{?q}#top", "x?q=1#top", Some("q=1")),
        ("x{?q}#top", "x?q=1", None),
        ("x#s{n}", "x#s4", Some("n=4")),
        ("{scheme}://{host}{/path*}{?v}{#f}", "h://a/b/c?v=1#g", Some("f=g host=a path=[b|c] scheme=h v=1")),
    ] {
        assert_eq!(matched(template, uri).as_deref(), values, "{template} {uri}");
    }
}

#[test]
fn templates_whose_variables_cannot_be_told_apart_have_no_matcher() {
    for (text, at) in [
        ("x:{a}{b}", 5),
        // Found by fuzzing: the text behind is part of the name before.
        ("x:{;nul}u{a}-{b}", 9),
        ("x:{a}{+b}", 5),
        ("x:{+a}{.b}", 6),
        ("x:{+a}{/b}", 6),
        ("x:{/a*}{/b}", 7),
        ("x:{/a}{b}", 6),
        ("x:{.a}{.b}", 6),
        ("x:{+a}/{+b}", 7),
        ("x:{+a}/c{/b*}", 8),
        ("x:{a}/{a}", 6),
        ("x:{/a:1,a}", 2),
        ("x:{a*,b}", 2),
        ("x{?a}{?b}", 5),
        ("x{?a}/b", 5),
        ("x{?a}{b}", 5),
        ("x{&a}", 1),
        ("x#{&a}", 2),
        ("x{#a}b", 5),
        ("x{#a}{#b}", 5),
        ("x#a{#b}", 3),
        ("x#a{?b}", 3),
        ("x?a{?b}", 3),
    ] {
        let error = template(text).matcher().expect_err(text);
        assert_eq!(error.at, at, "{text}: {error}");
        assert!(error.reason.starts_with("cannot match: "), "{error}");
    }
}

#[test]
fn expansions_of_a_template_match_it_again() {
    let templates = [
        "test://items/{a}",
        "test://{a}/x/{b}",
        "x:{a}/{b}{?c,d}",
        "x:{a}{/b}{?c}{#d}",
        "x:{a,b}/{c}",
        "x:a{;a,b,c}",
        "x:{?a}{&b}",
        "x:?f=1{&a}",
        "x:#{a}",
        "x:{a}{/b*}",
    ];
    let mut texts = arbitrary_texts(12_000).filter(|text| !text.is_empty());
    let mut rounds = 0;
    while let (Some(a), Some(b), Some(c)) = (texts.next(), texts.next(), texts.next()) {
        for text in templates {
            let parsed = template(text);
            let names = parsed.variables();
            let texts = [("a", &a), ("b", &b), ("c", &c)].map(|(name, value)| (name, Value::from(value.as_str())));
            let mut given: Variables = texts.into_iter().filter(|(name, _)| names.contains(name)).collect();
            if text.contains("{/b*}") {
                given.insert("b", vec![b.clone(), c.clone()]);
            }
            let uri = parsed.expand(&given);
            assert!(is_absolute_uri(&uri), "{uri}");
            assert_eq!(matcher(text).match_uri(&uri), Ok(Some(given)), "{text} {uri}");
            rounds += 1;
        }
    }
    assert!(rounds > 30_000, "only {rounds} rounds");
}

/// A mebibyte takes some hundredths of a second, with the slowest build a few tenths. A matcher that goes back over the
/// input for each piece would take minutes, so the limit can stand far from both and a busy machine does not matter.
#[test]
fn matching_takes_linear_time() {
    const LIMIT: std::time::Duration = std::time::Duration::from_secs(8);
    let separated = |separator: &str| {
        let fields: Vec<String> = (0..UriTemplate::MAX_VARIABLES).map(|n| format!("{{v{n}}}")).collect();
        format!("x:{}!", fields.join(separator))
    };
    // A template; a URI's start and what it repeats; an end with which it matches and one with which it nearly does.
    for (template, start, piece, hit, miss) in [
        (separated("a").as_str(), "x:", "a", "!", "/!"),
        (&separated("aaaaaaaab"), "x:", "aaaaaaaab", "c!", "/!"),
        ("x:{p}aaaaaaaaaaaaaaaaaaab{q}!", "x:", "a", "b!!", "!"),
        ("x:{+o}/{p}aaaaaaaaaaaaaaaaaaab{q}!", "x:", "a", "/aaaaaaaaaaaaaaaaaaaab!!", "!"),
        ("x:{name}{.ext*}!", "x:", "a.", "a!", "/!"),
        ("x:{h}{/p*}!", "x:", "a/", "a!", "/!"),
        ("x:{p}{;v*}!", "x:p", ";v", "!", "/!"),
        ("x:{?v,w*}", "x:?", "w&v&u&", "", "#"),
        ("x:?a={p}&b={q}{&v}", "x:?a=1&b=2", "&v&u", "", "#"),
    ] {
        let matcher = matcher(template);
        for (end, matches) in [(hit, true), (miss, false)] {
            let uri = format!("{start}{}{end}", piece.repeat((1 << 20) / piece.len()));
            let begin = std::time::Instant::now();
            let outcome = matcher.match_uri(&uri);
            let taken = begin.elapsed();
            assert_eq!(outcome.map(|found| found.is_some()), Ok(matches), "{template}");
            assert!(taken < LIMIT, "{template} with the end `{end}` took {taken:?}");
        }
    }
}
