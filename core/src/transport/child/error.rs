//! Why a child process could not be started.

use std::path::PathBuf;
use std::{fmt, io};

/// A child process could not be started (FC-013).
///
/// The texts name the command; they never hold arguments or values of environment variables (SEC-09).
#[derive(Debug)]
#[non_exhaustive]
pub enum SpawnError {
    /// No file of this name exists, or none in the directories of `PATH`.
    NotFound {
        /// The command as given.
        program: String,
    },
    /// The file exists, but the system cannot or may not run it.
    NotExecutable {
        /// The command as given.
        program: String,
        /// What is in the way.
        reason: String,
    },
    /// An argument or an environment variable cannot be handed to a process.
    BadArgument {
        /// The command as given.
        program: String,
        /// Which one and what is wrong with it, without its value.
        which: String,
    },
    /// The working directory does not exist or is no directory.
    BadCwd {
        /// The command as given.
        program: String,
        /// The working directory asked for.
        cwd: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The system refused for another reason, such as too many processes or open files.
    Io {
        /// The command as given.
        program: String,
        /// The reason given by the system.
        source: io::Error,
    },
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { program } => write!(
                f,
                "cannot start `{program}`: command not found; check its spelling, and that it is installed in a \
                 directory of PATH or given with its full path"
            ),
            Self::NotExecutable { program, reason } => {
                write!(f, "cannot start `{program}`: {reason}")
            }
            Self::BadArgument { program, which } => write!(f, "cannot start `{program}`: {which}"),
            Self::BadCwd { program, cwd, source } => {
                write!(f, "cannot start `{program}` in the directory `{}`: {source}", cwd.display())
            }
            Self::Io { program, source } => write!(f, "cannot start `{program}`: {source}"),
        }
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::BadCwd { source, .. } | Self::Io { source, .. } => Some(source),
            Self::NotFound { .. } | Self::NotExecutable { .. } | Self::BadArgument { .. } => None,
        }
    }
}
