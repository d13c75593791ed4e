//! `file://` URIs: to and from paths, and the question whether one lies inside a root (RFC 8089, FC-076).
//!
//! Everything here is lexical: no file is looked at. A symbolic link inside a root may still lead out of it, so whoever
//! opens files compares canonical paths as well.

#[cfg(test)]
mod tests;

use thiserror::Error;

use super::uri::{BadEscape, percent_decode, percent_encode};

/// How paths are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PathStyle {
    /// `/data/x`.
    Posix,
    /// `C:\x` and `\\server\share\x`; `/` is read as `\`.
    Windows,
}

impl PathStyle {
    /// The style of the system that this program was built for.
    pub const NATIVE: PathStyle = if cfg!(windows) { PathStyle::Windows } else { PathStyle::Posix };
}

impl Default for PathStyle {
    fn default() -> Self {
        PathStyle::NATIVE
    }
}

/// Why a path or a `file://` URI cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FileUriError {
    /// The URI has another scheme (ROOT-03).
    #[error("`{0}` is not a file URI; it must begin with `file://`")]
    NotFile(String),
    /// The path or the path of the URI does not begin at a root or drive.
    #[error("`{0}` is not an absolute path; write it from the root or the drive on")]
    NotAbsolute(String),
    /// A `..` segment, also when written with escapes (ROOT-06, RES-07).
    #[error("`{0}` has a `..` segment; resolve it first, a path that climbs is refused")]
    Traversal(String),
    /// NUL, or a separator hidden in an escape.
    #[error("`{0}` has a name with a NUL, `/` or `\\` in it, which no file name can hold")]
    BadName(String),
    /// A host that cannot be reached by a path of this style, or is no host name.
    #[error("`{0}` names a host that a path cannot name here; leave the host empty for a local file")]
    Host(String),
    /// `?` or `#`, which end the path of a URI.
    #[error("`{0}` has a query or a fragment, which files do not have; write `?` as `%3F` and `#` as `%23`")]
    NotOnlyPath(String),
    /// An escape that stands for nothing.
    #[error(transparent)]
    Escape(#[from] BadEscape),
}

/// A variant of [`FileUriError`] that still wants the text it is about.
type Kind = fn(String) -> FileUriError;

/// Characters that a segment of a path may hold as they are (RFC 3986 `pchar`), besides the unreserved ones.
const SEGMENT: &[u8] = b"!$&'()*+,;=:@";

/// The `file://` URI of an absolute path.
///
/// Windows paths may be of the forms `C:\x`, `\\server\share\x`, and these behind `\\?\`. Names keep their spelling;
/// everything that a URI cannot hold is escaped as UTF-8.
///
/// Errors: a relative path, a `..` segment, a NUL, a server name that is no host name (or `localhost`, which in a URI
/// means this machine and no server).
pub fn path_to_file_uri(path: &str, style: PathStyle) -> Result<String, FileUriError> {
    let (host, local) = match style {
        PathStyle::Posix => (None, path.to_owned()),
        PathStyle::Windows => windows_root(path)?,
    };
    if !local.starts_with('/') {
        return Err(FileUriError::NotAbsolute(path.to_owned()));
    }
    check_names(local.split('/').skip(1), host.is_some()).map_err(|kind| kind(path.to_owned()))?;
    let mut uri = String::from("file://");
    percent_encode(&mut uri, &host.unwrap_or_default(), b"");
    percent_encode(&mut uri, &local, &[SEGMENT, b"/"].concat());
    Ok(uri)
}

/// The path that a `file://` URI names, in the given style. The host may be empty or `localhost`; in the Windows style
/// another host becomes a server name. `file:///C:` is the root of the drive.
///
/// Errors: another scheme, another host, a query or fragment, a bad escape, a `..` segment, a NUL or separator hidden
/// in an escape, and in the Windows style a local path without a drive.
pub fn file_uri_to_path(uri: &str, style: PathStyle) -> Result<String, FileUriError> {
    let file = FileUri::parse(uri)?;
    if style == PathStyle::Posix {
        return match file.host {
            Some(_) => Err(FileUriError::Host(uri.to_owned())),
            None => Ok(format!("/{}", file.names.join("/"))),
        };
    }
    let path = file.names.join("\\");
    match file.host {
        Some(host) => Ok(format!(r"\\{host}\{path}")),
        None if !is_drive(&file.names[0]) => Err(FileUriError::NotAbsolute(uri.to_owned())),
        None if file.names.len() == 1 => Ok(format!(r"{path}\")),
        None => Ok(path),
    }
}

/// Whether `uri` may be a root: `file://`, in lower case, with an absolute path and nothing that climbs (ROOT-03,
/// ROOT-06). The same holds for any other `file://` URI that a peer may name (RES-07).
pub fn check_root_uri(uri: &str) -> Result<(), FileUriError> {
    if !uri.starts_with("file://") {
        return Err(FileUriError::NotFile(uri.to_owned()));
    }
    FileUri::parse(uri).map(drop)
}

/// Whether the file URI `uri` is one of `roots` or lies below one (ROOT-08).
///
/// Escapes are decoded and `.` and empty segments dropped before comparing, and only whole names count: `/data/r` does
/// not contain `/data/rx`. Hosts and drive letters are compared without case, names with it, so that a doubtful case
/// is outside. A root that is itself unusable contains nothing.
///
/// Errors: `uri` is not a file URI, has a bad escape, or climbs with `..`, even if it would end inside again.
pub fn is_within_roots(roots: &[impl AsRef<str>], uri: &str) -> Result<bool, FileUriError> {
    let file = FileUri::parse(uri)?.normalised();
    Ok(roots.iter().filter_map(|root| FileUri::parse(root.as_ref()).ok()).any(|root| {
        let root = root.normalised();
        root.host == file.host && file.names.starts_with(&root.names)
    }))
}

/// A file URI taken apart and decoded; nothing in it climbs.
struct FileUri {
    /// In lower case; `None` for this machine.
    host: Option<String>,
    /// What stands between the slashes of the path; the first name follows the first slash. Never empty.
    names: Vec<String>,
}

impl FileUri {
    fn parse(uri: &str) -> Result<FileUri, FileUriError> {
        let refuse = |kind: Kind| Err(kind(uri.to_owned()));
        let rest = match uri.split_at_checked("file://".len()) {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file://") => rest,
            _ => return refuse(FileUriError::NotFile),
        };
        if rest.contains(['?', '#']) {
            return refuse(FileUriError::NotOnlyPath);
        }
        let Some((host, path)) = rest.split_once('/') else { return refuse(FileUriError::NotAbsolute) };
        let host = percent_decode(host)?.to_lowercase();
        if !host.is_empty() && !is_host(&host) {
            return refuse(FileUriError::Host);
        }
        let host = Some(host).filter(|host| !host.is_empty() && host != "localhost");
        let names = path.split('/').map(percent_decode).collect::<Result<Vec<_>, _>>()?;
        check_names(names.iter().map(String::as_str), host.is_some()).map_err(|kind| kind(uri.to_owned()))?;
        Ok(FileUri { host, names })
    }

    /// Only for comparing: without the parts of the spelling that do not matter.
    fn normalised(mut self) -> FileUri {
        self.names.retain(|name| !name.is_empty() && name != ".");
        if let Some(drive) = self.names.first_mut().filter(|name| is_drive(name)) {
            drive.make_ascii_uppercase();
        }
        self
    }
}

/// Takes a Windows path apart: the server, if any, and the rest in the form of a URI's path.
fn windows_root(path: &str) -> Result<(Option<String>, String), FileUriError> {
    let slashed = path.replace('\\', "/");
    let (verbatim, plain) = match slashed.strip_prefix("//?/") {
        Some(rest) => (true, rest),
        None => (false, slashed.as_str()),
    };
    let server = match plain.split_at_checked(4) {
        Some((unc, rest)) if verbatim && unc.eq_ignore_ascii_case("UNC/") => Some(rest),
        _ if verbatim => None,
        _ => plain.strip_prefix("//"),
    };
    let Some(server) = server else {
        return match plain.split_once('/') {
            Some((drive, rest)) if is_drive(drive) => Ok((None, format!("/{drive}/{rest}"))),
            _ => Err(FileUriError::NotAbsolute(path.to_owned())),
        };
    };
    match server.split_once('/') {
        Some((_, share)) if share.is_empty() || share.starts_with('/') => {
            Err(FileUriError::NotAbsolute(path.to_owned()))
        }
        Some((host, _)) if !is_host(host) || host.eq_ignore_ascii_case("localhost") => {
            Err(FileUriError::Host(path.to_owned()))
        }
        Some((host, share)) => Ok((Some(host.to_owned()), format!("/{share}"))),
        None => Err(FileUriError::NotAbsolute(path.to_owned())),
    }
}

/// Looks at the names between the slashes of an absolute path, each decoded. With a server or a drive it is a path of
/// Windows, where a backslash separates as well; elsewhere nobody needs one beside dots.
fn check_names<'a>(names: impl Iterator<Item = &'a str>, server: bool) -> Result<(), Kind> {
    let mut names = names.peekable();
    let windows = server || names.peek().copied().is_some_and(is_drive);
    for name in names {
        if name.split('\\').any(|part| climbs(part, windows)) {
            return Err(FileUriError::Traversal);
        }
        if name.contains(['\0', '/']) || (windows && name.contains('\\')) {
            return Err(FileUriError::BadName);
        }
    }
    Ok(())
}

/// Whether `name` leads to the folder above. Windows ignores dots and blanks at the end of a name.
fn climbs(name: &str, windows: bool) -> bool {
    name == ".." || (windows && name.starts_with("..") && name.trim_end_matches(['.', ' ']).is_empty())
}

fn is_drive(name: &str) -> bool {
    matches!(name.as_bytes(), [letter, b':'] if letter.is_ascii_alphabetic())
}

fn is_host(name: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    name.starts_with(char::is_alphanumeric) && name.chars().all(inside)
}
