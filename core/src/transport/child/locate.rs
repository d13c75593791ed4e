//! Which file a command means.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The file to run for `program`: itself if it has a directory part, else the first match in the directories of `path`
/// (the value of `PATH`; without one, the places where every system has its programs).
///
/// The search is ours and not left to the system, which looks into the child's `PATH` on some and ours on others, and on
/// Windows finds `.exe` files only (FC-016).
pub(super) fn program(program: &OsStr, path: Option<&OsStr>, cwd: Option<&Path>) -> Option<PathBuf> {
    if has_separator(program) {
        let direct = PathBuf::from(program);
        if !cfg!(windows) {
            return Some(direct);
        }
        let base = cwd.map_or_else(|| direct.clone(), |cwd| cwd.join(&direct));
        return Some(endings(&base).into_iter().find(|file| file.is_file()).unwrap_or(direct));
    }
    let path = path.unwrap_or(OsStr::new(if cfg!(windows) { "" } else { "/usr/local/bin:/usr/bin:/bin" }));
    let files = std::env::split_paths(path)
        // An empty entry would mean the current directory: a trap, and nothing a server needs.
        .filter(|directory| !directory.as_os_str().is_empty())
        .flat_map(|directory| endings(&directory.join(program)));
    let mut not_executable = None;
    for file in files {
        match permission(&file) {
            Some(true) => return Some(file),
            Some(false) => not_executable = not_executable.or(Some(file)),
            None => {}
        }
    }
    // Let the system say what is wrong with it.
    not_executable
}

fn has_separator(program: &OsStr) -> bool {
    program.as_encoded_bytes().iter().any(|byte| std::path::is_separator(char::from(*byte)))
}

/// Whether the file may be executed; `None` if it is no file.
fn permission(file: &Path) -> Option<bool> {
    let found = std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file)?;
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o111 != 0);
    #[cfg(not(unix))]
    return Some(found.len() > 0);
}

#[cfg(not(windows))]
fn endings(file: &Path) -> [PathBuf; 1] {
    [file.to_owned()]
}

/// The file itself if it has an ending, then with each ending of `PATHEXT`.
#[cfg(windows)]
fn endings(file: &Path) -> Vec<PathBuf> {
    let known = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".into());
    let with_ending = known.split(';').filter(|ending| !ending.is_empty()).map(|ending| {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    });
    file.extension().map(|_| file.to_owned()).into_iter().chain(with_ending).collect()
}

/// The index of the first argument that a `.bat` or `.cmd` file cannot be given unchanged. The standard library quotes
/// the rest.
pub(super) fn unsafe_batch_argument(program: &Path, args: &[OsString]) -> Option<usize> {
    let ending = program.extension().filter(|_| cfg!(windows))?;
    if !(ending.eq_ignore_ascii_case("bat") || ending.eq_ignore_ascii_case("cmd")) {
        return None;
    }
    args.iter().position(|arg| arg.as_encoded_bytes().iter().any(|byte| matches!(byte, b'\r' | b'\n')))
}
