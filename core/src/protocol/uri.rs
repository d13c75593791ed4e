//! URIs as text: what counts as an absolute URI, and percent-encoding.
//!
//! URIs are compared and passed on byte for byte everywhere (RES-14), so nothing here rewrites one.

use thiserror::Error;

/// Whether `text` is an absolute URI as RFC 3986 writes it: a scheme, a colon, and no character that a URI never holds
/// (RES-17).
///
/// Refused are blanks, controls, ``"<>\^`{|}`` and a `%` without two hexadecimal digits after it. Characters outside
/// ASCII are accepted, as in the IRIs of RFC 3987, except control characters. Nothing is asked of the part after the
/// colon beyond that, so `urn:isbn:123` and `x:` are absolute URIs.
pub fn is_absolute_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && rest.char_indices().all(|(at, c)| match c {
            '%' => is_escape(&rest.as_bytes()[at..]),
            _ => !c.is_control() && !r#" "<>\^`{|}"#.contains(c),
        })
}

/// A percent-escape that stands for nothing: not followed by two hexadecimal digits, or bytes that are no UTF-8.
///
/// In a URI that a peer sent it means invalid params (-32602, FC-064).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` has a bad percent-escape: {why}; write `%` as `%25` and other characters as escaped UTF-8")]
#[non_exhaustive]
pub struct BadEscape {
    /// The beginning of the text that cannot be decoded, at most 40 characters.
    pub text: String,
    /// Which rule it breaks.
    pub why: &'static str,
}

/// Decodes every `%XX` in `text`, exactly once. The bytes must come out as UTF-8; `+` stays `+` (FC-064).
pub fn percent_decode(text: &str) -> Result<String, BadEscape> {
    let bad = |why| BadEscape { text: text.chars().take(40).collect(), why };
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte == b'%' {
            let (high, low) = (hex_digit(bytes.get(at + 1)), hex_digit(bytes.get(at + 2)));
            let (Some(high), Some(low)) = (high, low) else {
                return Err(bad("`%` is not followed by two hexadecimal digits"));
            };
            decoded.push(high << 4 | low);
            at += 3;
        } else {
            decoded.push(byte);
            at += 1;
        }
    }
    String::from_utf8(decoded).map_err(|_| bad("the decoded bytes are no UTF-8"))
}

/// Appends `text` to `out`, with every byte escaped that is neither unreserved (RFC 3986 section 2.3) nor in `also`.
pub(crate) fn percent_encode(out: &mut String, text: &str, also: &[u8]) {
    for &byte in text.as_bytes() {
        if is_unreserved(byte) || also.contains(&byte) {
            out.push(char::from(byte));
        } else {
            push_escape(out, byte);
        }
    }
}

/// Whether `bytes` begin with a whole escape, `%XX`.
pub(crate) fn is_escape(bytes: &[u8]) -> bool {
    bytes.first() == Some(&b'%') && hex_digit(bytes.get(1)).is_some() && hex_digit(bytes.get(2)).is_some()
}

/// Appends `%XX`, in upper case as RFC 3986 section 2.1 asks.
pub(crate) fn push_escape(out: &mut String, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.push('%');
    out.push(char::from(DIGITS[usize::from(byte >> 4)]));
    out.push(char::from(DIGITS[usize::from(byte & 15)]));
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn hex_digit(byte: Option<&u8>) -> Option<u8> {
    char::from(*byte?).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Texts for tests that feed arbitrary input: a fixed sequence, made of the pieces that URIs and templates care about.
#[cfg(test)]
pub(crate) fn arbitrary_texts(count: usize) -> impl Iterator<Item = String> {
    const PIECES: &[&str] = &[
        "%", "%2", "%2F", "%ff", "%00", "%2e", "/", "//", "\\", ":", "?", "#", "&", "=", ";", ".", "..", ",", "{", "}",
        "{a}", "{+b}", "{/c*}", "{?d,e}", "{&f}", "{#g}", "{.h}", "{;i}", "{j:3}", "*", "+", "a", "Z", "-", "é", "𝄞",
        " ", "\0", "\u{7f}", "file://", "C:", "test://",
    ];
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move |below: usize| {
        // xorshift64: the same sequence on every run and every machine.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("smaller than a usize")
    };
    std::iter::repeat_with(move || {
        let length = next(12);
        (0..length).map(|_| PIECES[next(PIECES.len())]).collect()
    })
    .take(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: RES-17
    #[test]
    fn res_17_tells_absolute_uris_from_other_text() {
        for good in [
            "test://static/text",
            "MyApp://Doc",
            "urn:isbn:123",
            "x-my+y.z:thing",
            "HTTP://A/%7Eb/",
            "file:///d",
            "x:",
            "test://caf%C3%A9",
            "test://café",
            "git://h/r?a=[b]#c",
        ] {
            assert!(is_absolute_uri(good), "{good}");
        }
        for bad in [
            "",
            "no scheme",
            "not a uri",
            ":",
            "//host/x",
            "/path",
            "1x:y",
            "+x:y",
            "sch eme:x",
            "schéma:x",
            "x:a b",
            "x:a\tb",
            "x:a\0b",
            "x:<y>",
            "x:\"y\"",
            "x:a\\b",
            "x:a^b",
            "x:a`b",
            "x:{y}",
            "x:a|b",
            "x:%",
            "x:%4",
            "x:%zz",
            "x:\u{85}",
        ] {
            assert!(!is_absolute_uri(bad), "{bad}");
        }
    }

    // proves: FC-064
    #[test]
    fn escapes_are_decoded_exactly_once_as_utf_8() {
        for (text, decoded) in [
            ("", ""),
            ("a%20b", "a b"),
            ("a%2Fb", "a/b"),
            ("%25", "%"),
            ("%2541", "%41"),
            ("caf%C3%A9", "café"),
            ("caf%c3%a9", "café"),
            ("café", "café"),
            ("a+b", "a+b"),
            ("%00", "\0"),
        ] {
            assert_eq!(percent_decode(text).as_deref(), Ok(decoded), "{text}");
        }
        for bad in ["%", "%4", "%zz", "a%+1", "%é", "%C3", "%ff", "%ED%A0%80", "%C0%AF"] {
            assert!(percent_decode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn encoding_is_undone_by_decoding() {
        for text in arbitrary_texts(5_000) {
            let mut encoded = String::new();
            percent_encode(&mut encoded, &text, b"");
            assert!(is_absolute_uri(&format!("x:{encoded}")), "{encoded}");
            assert_eq!(percent_decode(&encoded), Ok(text));
        }
    }

    #[test]
    fn no_input_panics() {
        for text in arbitrary_texts(20_000) {
            let absolute = is_absolute_uri(&text);
            assert!(!absolute || text.contains(':'), "{text}");
            if let Ok(decoded) = percent_decode(&text) {
                assert!(decoded.len() <= text.len(), "{text}");
            }
        }
    }
}
