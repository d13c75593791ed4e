//! How a child process ended.

use std::fmt;

/// The exit status of a child process.
///
/// One of `code` and `signal` is set. Both are `None` when the status could not be learned: the process that started
/// the child ignores `SIGCHLD`, or other code in it waited for the child first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExitStatus {
    /// What the child gave to `exit`.
    pub code: Option<i32>,
    /// The number of the signal that ended the child. Always `None` on Windows.
    pub signal: Option<i32>,
}

impl ExitStatus {
    pub(super) const UNKNOWN: Self = Self { code: None, signal: None };

    /// Whether the child ended by itself with code 0.
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit status {code}"),
            (None, Some(signal)) => match signal_name(signal) {
                Some(name) => write!(f, "signal {signal} ({name})"),
                None => write!(f, "signal {signal}"),
            },
            (None, None) => f.write_str("unknown exit status"),
        }
    }
}

/// The signals that have the same number on every Unix.
fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}

/// Which step of the ladder ended the child (DOWN-02).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitHow {
    /// By itself; no signal was sent to it.
    Exited,
    /// After `SIGTERM` (on Windows: after `taskkill`).
    Terminated,
    /// After `SIGKILL` (on Windows: after `taskkill /F`).
    Killed,
}

/// What [`Child::close`](super::Child::close) found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExitReport {
    /// The exit status, unknown if the child did not even end within a second after `SIGKILL`.
    pub status: ExitStatus,
    /// The step that ended it.
    pub how: ExitHow,
}

impl fmt::Display for ExitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            ExitHow::Exited => "exited by itself",
            ExitHow::Terminated => "ended after SIGTERM",
            ExitHow::Killed => "killed",
        };
        write!(f, "{how}, {}", self.status)
    }
}
