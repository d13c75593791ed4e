//! What to start and how.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::sync::Arc;
use std::time::Duration;

use super::env::EnvPolicy;
use super::error::SpawnError;
use super::stderr::StderrMode;
use super::{Child, locate};

/// A command to be started as a child process, in the manner of [`std::process::Command`] (STDIO-01).
///
/// ```no_run
/// # use mcp_native::transport::child::{ChildCommand, SpawnError};
/// # fn main() -> Result<(), SpawnError> {
/// let child = ChildCommand::new("npx").args(["-y", "some-server"]).env("TOKEN", "…").spawn()?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct ChildCommand {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) env_policy: EnvPolicy,
    pub(super) cwd: Option<PathBuf>,
    pub(super) stderr: StderrMode,
    pub(super) stderr_tail_bytes: usize,
    pub(super) exit_grace: Duration,
    pub(super) term_grace: Duration,
}

impl ChildCommand {
    /// A command without arguments. A bare name is looked up in the `PATH` that the child gets, or in the one of this
    /// process if the child gets none; on Windows with the endings of `PATHEXT` (FC-016). Anything with a path separator
    /// is a path, relative to the working directory of the child.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            env_policy: EnvPolicy::default(),
            cwd: None,
            stderr: StderrMode::default(),
            stderr_tail_bytes: 4096,
            exit_grace: Duration::from_secs(2),
            term_grace: Duration::from_secs(2),
        }
    }

    /// Adds an argument. It reaches the child as it is; no shell is involved.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Gives the child an environment variable on top of what the [policy](Self::env_policy) passes on (FC-015).
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Where the environment starts from. Default: [`EnvPolicy::SafeDefault`].
    #[must_use]
    pub fn env_policy(mut self, policy: EnvPolicy) -> Self {
        self.env_policy = policy;
        self
    }

    /// The working directory. Default: the one of this process.
    #[must_use]
    pub fn cwd(mut self, cwd: impl AsRef<Path>) -> Self {
        self.cwd = Some(cwd.as_ref().to_owned());
        self
    }

    /// What becomes of the child's standard error. Default: [`StderrMode::Inherit`].
    #[must_use]
    pub fn stderr(mut self, mode: StderrMode) -> Self {
        self.stderr = mode;
        self
    }

    /// How many of the last bytes of standard error to keep for error texts. Default: 4096. With 0 none are kept, and
    /// with `Inherit` or `Null` standard error then does not pass through this process at all.
    #[must_use]
    pub fn stderr_tail_bytes(mut self, bytes: usize) -> Self {
        self.stderr_tail_bytes = bytes;
        self
    }

    /// How long the child may take to exit after its stdin was closed, before `SIGTERM`. Default: 2 s; at most a day
    /// (DOWN-02, DOWN-06).
    #[must_use]
    pub fn exit_grace(mut self, grace: Duration) -> Self {
        self.exit_grace = grace;
        self
    }

    /// How long the child may take to exit after `SIGTERM`, before `SIGKILL`. Default: 2 s; at most a day (DOWN-02,
    /// DOWN-06).
    #[must_use]
    pub fn term_grace(mut self, grace: Duration) -> Self {
        self.term_grace = grace;
        self
    }

    /// Starts the child: in a process group of its own, with pipes for stdin and stdout.
    ///
    /// Blocks until the system has loaded the program, or failed to, which takes milliseconds.
    ///
    /// # Errors
    /// [`SpawnError`], at once, if there is no such command or directory, or the arguments or variables are impossible
    /// (FC-013). A program that starts and then exits is not an error here: see [`Child::on_exit`].
    pub fn spawn(self) -> Result<Child, SpawnError> {
        self.check()?;
        let program = self.locate()?;
        let mut command = process::Command::new(&program);
        command.args(&self.args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.stderr_stdio());
        if self.env_policy != EnvPolicy::InheritAll {
            command.env_clear().envs(self.env_policy.select(std::env::vars_os()));
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            command.arg0(&self.program).process_group(0);
        }
        #[cfg(windows)]
        {
            use std::os::windows::process::CommandExt as _;
            const CREATE_NO_WINDOW: u32 = 0x0800_0000;
            command.creation_flags(CREATE_NO_WINDOW);
        }
        let process = command.spawn().map_err(|error| self.explain(&program, error))?;
        // The command holds copies of nothing, but what it was told holds secrets.
        drop(command);
        Child::adopt(process, &self).map_err(|source| SpawnError::Io { program: self.name(), source })
    }

    /// The command as it may be shown.
    fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    fn stderr_stdio(&self) -> Stdio {
        match (&self.stderr, self.stderr_tail_bytes) {
            (StderrMode::Inherit, 0) => Stdio::inherit(),
            (StderrMode::Null, 0) => Stdio::null(),
            _ => Stdio::piped(),
        }
    }

    /// Refuses what no system can pass to a process, with a word on where it is.
    fn check(&self) -> Result<(), SpawnError> {
        let bad = |which: String| Err(SpawnError::BadArgument { program: self.name(), which });
        let has = |text: &OsStr, byte: u8| text.as_encoded_bytes().contains(&byte);
        if self.program.is_empty() {
            return bad("the command is empty".into());
        }
        if has(&self.program, 0) {
            return bad("the command contains a NUL character".into());
        }
        if let Some(index) = self.args.iter().position(|arg| has(arg, 0)) {
            return bad(format!("argument {} contains a NUL character", index + 1));
        }
        for (name, value) in &self.env {
            let shown = name.to_string_lossy();
            if name.is_empty() {
                return bad("an environment variable has an empty name".into());
            }
            if has(name, 0) || has(name, b'=') {
                return bad(format!("the name of the environment variable {shown:?} contains a NUL character or `=`"));
            }
            if has(value, 0) {
                return bad(format!("the value of the environment variable {shown:?} contains a NUL character"));
            }
        }
        if let Some(cwd) = &self.cwd {
            if has(cwd.as_os_str(), 0) {
                return bad("the working directory contains a NUL character".into());
            }
            let checked = std::fs::metadata(cwd)
                .and_then(|found| if found.is_dir() { Ok(()) } else { Err(std::io::ErrorKind::NotADirectory.into()) });
            checked.map_err(|source| SpawnError::BadCwd { program: self.name(), cwd: cwd.clone(), source })?;
        }
        Ok(())
    }

    fn locate(&self) -> Result<PathBuf, SpawnError> {
        let given = self.env.iter().rev().find(|(name, _)| is_path_variable(name)).map(|(_, value)| value.clone());
        let path = given.or_else(|| std::env::var_os("PATH"));
        let program = locate::program(&self.program, path.as_deref(), self.cwd.as_deref())
            .ok_or_else(|| SpawnError::NotFound { program: self.name() })?;
        if let Some(index) = locate::unsafe_batch_argument(&program, &self.args) {
            let which = format!("argument {} contains a line break, which a batch file cannot be given", index + 1);
            return Err(SpawnError::BadArgument { program: self.name(), which });
        }
        Ok(program)
    }

    fn explain(&self, path: &Path, error: std::io::Error) -> SpawnError {
        use std::io::ErrorKind;
        let program = self.name();
        let exists = self.cwd.as_ref().map_or_else(|| path.to_owned(), |cwd| cwd.join(path)).exists();
        let not_executable =
            |reason: &str| SpawnError::NotExecutable { program: program.clone(), reason: reason.into() };
        match error.kind() {
            ErrorKind::NotFound if exists => not_executable(
                "the file exists, but the interpreter or loader it asks for does not; check its first line",
            ),
            ErrorKind::NotFound | ErrorKind::NotADirectory => SpawnError::NotFound { program },
            ErrorKind::PermissionDenied => {
                not_executable("permission denied; check that it is a file, and that you may execute it (`chmod +x`)")
            }
            ErrorKind::InvalidInput => {
                SpawnError::BadArgument { program, which: format!("the system cannot pass its arguments: {error}") }
            }
            ErrorKind::ArgumentListTooLong => SpawnError::BadArgument {
                program,
                which: "arguments and environment together are longer than the system allows".into(),
            },
            _ if is_exec_format_error(&error) => {
                not_executable("the file is no program for this system; a script needs `#!` and its interpreter first")
            }
            _ => SpawnError::Io { program, source: error },
        }
    }

    /// What the draining thread needs.
    pub(super) fn sink(&self) -> super::stderr::Sink {
        use super::stderr::{Lines, Sink};
        match &self.stderr {
            StderrMode::Inherit => Sink::Copy(Box::new(std::io::stderr())),
            StderrMode::Null => Sink::Discard,
            StderrMode::Lines(callback) => Sink::Lines(Lines::new(Arc::clone(callback))),
        }
    }
}

fn is_path_variable(name: &OsStr) -> bool {
    if cfg!(windows) { name.eq_ignore_ascii_case("PATH") } else { name == "PATH" }
}

/// `ENOEXEC` and `ERROR_BAD_EXE_FORMAT` have no [`std::io::ErrorKind`].
fn is_exec_format_error(error: &std::io::Error) -> bool {
    #[cfg(unix)]
    return error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error());
    #[cfg(not(unix))]
    return error.raw_os_error() == Some(193);
}

/// Shows names only: arguments and values may be secrets (SEC-09).
impl fmt::Debug for ChildCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("ChildCommand")
            .field("program", &self.program)
            .field("args", &format_args!("({} hidden)", self.args.len()))
            .field("env", &names)
            .field("env_policy", &self.env_policy)
            .field("cwd", &self.cwd)
            .field("stderr", &self.stderr)
            .field("stderr_tail_bytes", &self.stderr_tail_bytes)
            .field("exit_grace", &self.exit_grace)
            .field("term_grace", &self.term_grace)
            .finish()
    }
}
