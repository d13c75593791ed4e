use super::PathStyle::{Posix, Windows};
use super::*;
use crate::protocol::uri::{arbitrary_texts, is_absolute_uri};

// proves: FC-076
#[test]
fn fc_076_paths_become_uris() {
    for (style, path, uri) in [
        (Posix, "/data/a b#c%.txt", "file:///data/a%20b%23c%25.txt"),
        (Posix, "/", "file:///"),
        (Posix, "/d/", "file:///d/"),
        (Posix, r"/a\b", "file:///a%5Cb"),
        (Posix, "/a?b", "file:///a%3Fb"),
        (Posix, "/.../..a", "file:///.../..a"),
        (Windows, r"C:\My Docs\ü", "file:///C:/My%20Docs/%C3%BC"),
        (Windows, r"\\srv\share\x", "file://srv/share/x"),
        (Windows, "c:/mixed\\x", "file:///c:/mixed/x"),
        (Windows, r"C:\", "file:///C:/"),
        (Windows, r"\\?\C:\x", "file:///C:/x"),
        (Windows, r"\\?\UNC\srv\share", "file://srv/share"),
    ] {
        assert_eq!(path_to_file_uri(path, style).as_deref(), Ok(uri), "{path}");
    }
}

// proves: FC-076
#[test]
fn fc_076_uris_become_paths() {
    for (style, uri, path) in [
        (Windows, "file:///c%3A/My%20Docs", r"c:\My Docs"),
        (Windows, "file:///C:/a", r"C:\a"),
        (Windows, "file://localhost/C:/a", r"C:\a"),
        (Windows, "file:///C:", r"C:\"),
        (Windows, "file:///C:/", r"C:\"),
        (Windows, "file://srv/share/x", r"\\srv\share\x"),
        (Posix, "file://localhost/data", "/data"),
        (Posix, "FILE://LocalHost/data", "/data"),
        (Posix, "file:///caf%C3%A9", "/café"),
        (Posix, "file:///My Docs", "/My Docs"),
        (Posix, "file:///", "/"),
        (Posix, "file:///d/", "/d/"),
    ] {
        assert_eq!(file_uri_to_path(uri, style).as_deref(), Ok(path), "{uri}");
    }
}

// proves: FC-076
#[test]
fn paths_that_have_no_uri_are_refused() {
    let cases: &[(PathStyle, &str, Kind)] = &[
        (Posix, "", FileUriError::NotAbsolute),
        (Posix, "data/x", FileUriError::NotAbsolute),
        (Posix, r"C:\x", FileUriError::NotAbsolute),
        (Posix, "/a\0b", FileUriError::BadName),
        (Posix, "/data/../etc", FileUriError::Traversal),
        (Windows, "", FileUriError::NotAbsolute),
        (Windows, r"x\y", FileUriError::NotAbsolute),
        (Windows, r"\x", FileUriError::NotAbsolute),
        (Windows, "C:", FileUriError::NotAbsolute),
        (Windows, "C:x", FileUriError::NotAbsolute),
        (Windows, "é:\\x", FileUriError::NotAbsolute),
        (Windows, r"\\srv", FileUriError::NotAbsolute),
        (Windows, r"\\srv\", FileUriError::NotAbsolute),
        (Windows, r"\\?\Volume{1}\x", FileUriError::NotAbsolute),
        (Windows, r"\\.\pipe\x", FileUriError::Host),
        (Windows, r"\\localhost\c$", FileUriError::Host),
        (Windows, r"C:\a\..\b", FileUriError::Traversal),
        (Windows, r"C:\a\.. \b", FileUriError::Traversal),
    ];
    for (style, path, kind) in cases {
        assert_eq!(path_to_file_uri(path, *style), Err(kind((*path).to_owned())), "{path:?}");
    }
}

// proves: RES-07, FC-076
#[test]
fn res_07_uris_that_name_no_file_are_refused() {
    let cases: &[(PathStyle, &str, Kind)] = &[
        (Posix, "http://x/", FileUriError::NotFile),
        (Posix, "file:/data", FileUriError::NotFile),
        (Posix, "", FileUriError::NotFile),
        (Posix, "/data", FileUriError::NotFile),
        (Posix, "file://", FileUriError::NotAbsolute),
        (Posix, "file://localhost", FileUriError::NotAbsolute),
        (Posix, "file://srv/x", FileUriError::Host),
        (Posix, "file://a%2Fb/x", FileUriError::Host),
        (Posix, "file://x:80/y", FileUriError::Host),
        (Windows, "file://../x", FileUriError::Host),
        (Windows, "file://%3F/x", FileUriError::Host),
        (Posix, "file:///a#b", FileUriError::NotOnlyPath),
        (Posix, "file:///a?b", FileUriError::NotOnlyPath),
        (Posix, "file:///a%00b", FileUriError::BadName),
        (Posix, "file:///a\0b", FileUriError::BadName),
        (Posix, "file:///a%2Fb", FileUriError::BadName),
        (Posix, "file:///a%2F..%2Fb", FileUriError::BadName),
        (Windows, "file:///C:/a%5Cb", FileUriError::BadName),
        (Windows, "file:///C:%5Ca", FileUriError::NotAbsolute),
        (Windows, "file:///data", FileUriError::NotAbsolute),
        (Posix, "file:///data/../etc/passwd", FileUriError::Traversal),
        (Posix, "file://x/%2e%2e/", FileUriError::Traversal),
        (Posix, "file:///data/.%2E", FileUriError::Traversal),
        (Posix, "file:///data/a%5C..%5Cb", FileUriError::Traversal),
        (Windows, "file:///C:/a/..%20/b", FileUriError::Traversal),
        (Windows, "file:///C:/a/.../b", FileUriError::Traversal),
    ];
    for (style, uri, kind) in cases {
        assert_eq!(file_uri_to_path(uri, *style), Err(kind((*uri).to_owned())), "{uri:?}");
    }
    assert!(matches!(file_uri_to_path("file:///a%zz", Posix), Err(FileUriError::Escape(_))));
    assert!(matches!(file_uri_to_path("file:///%ff", Posix), Err(FileUriError::Escape(_))));
}

// proves: ROOT-03, ROOT-06
#[test]
fn root_03_a_root_is_a_file_uri_and_does_not_climb() {
    for good in
        ["file:///", "file:///data", "file:///c%3A/My%20Docs", "file:///C:/", "file://srv/share", "file:///a/./b"]
    {
        assert_eq!(check_root_uri(good), Ok(()), "{good}");
    }
    for bad in [
        "",
        "/data",
        "http://x/",
        "https://x/y",
        "file:/data",
        "FILE:///data",
        "file://",
        "file:///a/../b",
        "file:///..",
        "file:///%2e%2E/x",
        "file:///a%00",
        "file:///a%2Fb",
        "file:///a%",
    ] {
        assert!(check_root_uri(bad).is_err(), "{bad}");
    }
}

// proves: ROOT-08, ROOT-06
#[test]
fn root_08_only_whole_names_below_a_root_are_inside() {
    let roots = ["file:///data/r", "file:///c%3A/My%20Docs/", "file://srv/share", "bad", "file:///x/../etc"];
    for inside in [
        "file:///data/r",
        "file:///data/r/",
        "file:///data/r/x",
        "file://localhost/data/r/x",
        "file:///data/./r//x",
        "file:///data/%72/x",
        "file:///data/r/..x",
        "file:///C:/My%20Docs/a",
        "file:///c:/My%20Docs",
        "file://SRV/share/a",
    ] {
        assert_eq!(is_within_roots(&roots, inside), Ok(true), "{inside}");
    }
    for outside in [
        "file:///",
        "file:///data",
        "file:///data/rx",
        "file:///data/r%20",
        "file:///data/R",
        "file:///etc",
        "file:///x/etc",
        "file:///D:/My%20Docs/a",
        "file://srv/shared",
        "file:///share",
        "file://other/data/r",
    ] {
        assert_eq!(is_within_roots(&roots, outside), Ok(false), "{outside}");
    }
    for refused in [
        "file:///data/r/../../etc",
        "file:///data/r/%2e%2e/x",
        "file:///data/r/a/../b",
        "file:///data/r/%2E./x",
        "file:///data/r/..%5Cx",
        "http://data/r",
        "file:///data/r/%zz",
        "file:///data/r%2Fx",
    ] {
        assert!(is_within_roots(&roots, refused).is_err(), "{refused}");
    }
    assert_eq!(is_within_roots(&["file:///"], "file:///etc"), Ok(true));
    assert_eq!(is_within_roots(&[] as &[&str], "file:///etc"), Ok(false));
}

// proves: FC-076
#[test]
fn every_uri_made_from_a_path_leads_back_to_it() {
    let mut made = 0;
    for text in arbitrary_texts(20_000) {
        for (style, path) in [
            (Posix, format!("/{text}")),
            (Windows, format!(r"C:\{text}").replace('/', r"\")),
            (Windows, format!(r"\\srv\{text}").replace('/', r"\")),
        ] {
            if let Ok(uri) = path_to_file_uri(&path, style) {
                assert!(is_absolute_uri(&uri), "{uri}");
                assert_eq!(check_root_uri(&uri), Ok(()), "{uri}");
                assert_eq!(file_uri_to_path(&uri, style), Ok(path));
                made += 1;
            }
        }
    }
    assert!(made > 10_000, "only {made} of the paths had a URI");
}

#[test]
fn no_input_panics_and_nothing_that_climbs_gets_through() {
    for text in arbitrary_texts(20_000) {
        for uri in [text.clone(), format!("file://{text}"), format!("file:///C:/{text}")] {
            for style in [Posix, Windows] {
                let _ = path_to_file_uri(&text, style);
                if let Ok(path) = file_uri_to_path(&uri, style) {
                    assert!(!path.split(['/', '\\']).any(|name| name == ".."), "{uri} → {path}");
                }
            }
            let inside = is_within_roots(&["file:///a"], &uri);
            assert!(inside != Ok(true) || check_root_uri(&uri.to_lowercase()).is_ok(), "{uri}");
        }
    }
}
