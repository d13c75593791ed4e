//! Which environment variables a child sees (FC-015).

use std::ffi::{OsStr, OsString};

/// Where the environment of a child starts from. Variables given with
/// [`ChildCommand::env`](super::ChildCommand::env) are added, and win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EnvPolicy {
    /// The few variables of this process that programs need to find their way, and that hold no secrets.
    ///
    /// Unix: `PATH`, `HOME`, `USER`, `LOGNAME`, `SHELL`, `TERM`, `LANG`, `LC_*`, `TMPDIR`, `TZ`. Windows:
    /// `SYSTEMROOT`, `SYSTEMDRIVE`, `WINDIR`, `PATH`, `PATHEXT`, `COMSPEC`, `APPDATA`, `LOCALAPPDATA`, `PROGRAMDATA`,
    /// `PROGRAMFILES`, `PROGRAMFILES(X86)`, `USERPROFILE`, `USERNAME`, `HOMEDRIVE`, `HOMEPATH`, `TEMP`, `TMP`,
    /// `PROCESSOR_ARCHITECTURE`, `NUMBER_OF_PROCESSORS`. Values which start with `()` are left out: they are functions
    /// exported by a shell, that is code.
    #[default]
    SafeDefault,
    /// Everything that this process has, secrets included.
    InheritAll,
    /// Nothing. The command itself is still looked up in the `PATH` of this process.
    Empty,
}

#[cfg(not(windows))]
const SAFE: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR", "TZ"];

#[cfg(windows)]
const SAFE: [&str; 19] = [
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "PATH",
    "PATHEXT",
    "COMSPEC",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "USERPROFILE",
    "USERNAME",
    "HOMEDRIVE",
    "HOMEPATH",
    "TEMP",
    "TMP",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
];

impl EnvPolicy {
    /// The part of `parent` that passes on to a child.
    pub(super) fn select(
        self,
        parent: impl Iterator<Item = (OsString, OsString)>,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        parent.filter(move |(name, value)| match self {
            Self::SafeDefault => is_safe(name, value),
            Self::InheritAll => true,
            Self::Empty => false,
        })
    }
}

fn is_safe(name: &OsStr, value: &OsStr) -> bool {
    // Every name in the set is ASCII, so one that is no Unicode is not in it.
    let Some(name) = name.to_str() else {
        return false;
    };
    let known = if cfg!(windows) {
        SAFE.iter().any(|safe| safe.eq_ignore_ascii_case(name))
    } else {
        SAFE.contains(&name) || name.starts_with("LC_")
    };
    known && !value.as_encoded_bytes().starts_with(b"()")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(policy: EnvPolicy, parent: &[(&str, &str)]) -> Vec<String> {
        let parent = parent.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        policy.select(parent).map(|(name, _)| name.into_string().expect("ASCII")).collect()
    }

    // proves: FC-015
    #[test]
    fn only_the_safe_set_passes_by_default() {
        let parent = [("PATH", "/bin"), ("HOME", "/home/me"), ("SECRET", "s"), ("PATHS", "x"), ("TMP_TOKEN", "t")];
        assert_eq!(
            select(EnvPolicy::SafeDefault, &parent),
            if cfg!(windows) { vec!["PATH"] } else { vec!["PATH", "HOME"] }
        );
        assert_eq!(select(EnvPolicy::InheritAll, &parent), ["PATH", "HOME", "SECRET", "PATHS", "TMP_TOKEN"]);
        assert!(select(EnvPolicy::Empty, &parent).is_empty());
    }

    // proves: FC-015
    #[cfg(not(windows))]
    #[test]
    fn locale_passes_and_exported_functions_do_not() {
        let parent =
            [("LC_ALL", "C"), ("LC_TIME", "de_DE"), ("TERM", "() { :;}; echo gone"), ("TZ", "UTC"), ("path", "x")];
        assert_eq!(select(EnvPolicy::SafeDefault, &parent), ["LC_ALL", "LC_TIME", "TZ"]);
    }
}
