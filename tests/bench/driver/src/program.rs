//! A program to be measured: its command line, environment and where its stderr goes.

use crate::Result;
use crate::args::{Args, split_command};
use crate::process::Process;
use std::fs::File;
use std::process::{Command, Stdio};

/// The options that say what to start and how.
pub const OPTIONS: &[&str] = &["cmd", "env", "stderr"];

/// Variables that a build container may set and a host of MCP servers does not. Each of them changes start-up or
/// output a lot, so nothing that is measured gets them.
const REMOVED: [&str; 5] =
    ["PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "RUST_BACKTRACE"];

#[derive(Clone)]
pub struct Program {
    words: Vec<String>,
    env: Vec<(String, String)>,
    stderr: Option<String>,
}

impl Program {
    pub fn from_args(args: &Args) -> Result<Self> {
        let env = args
            .all("env")
            .map(|pair| {
                let (name, value) =
                    pair.split_once('=').ok_or_else(|| format!("--env {pair}: NAME=VALUE is needed"))?;
                Ok((name.to_owned(), value.to_owned()))
            })
            .collect::<Result<_>>()?;
        Ok(Self { words: split_command(args.required("cmd")?), env, stderr: args.get("stderr").map(str::to_owned) })
    }

    #[must_use]
    pub fn with_env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn with_args<I: IntoIterator<Item = String>>(mut self, words: I) -> Self {
        self.words.extend(words);
        self
    }

    /// With each `{port}` of the command line replaced.
    #[must_use]
    pub fn on_port(mut self, port: u16) -> Self {
        for word in &mut self.words {
            *word = word.replace("{port}", &port.to_string());
        }
        self
    }

    pub fn spawn(&self, stdin: Stdio, stdout: Stdio) -> Result<Process> {
        let (name, words) = self.words.split_first().ok_or("--cmd is empty")?;
        let mut command = Command::new(name);
        command.args(words).stdin(stdin).stdout(stdout).stderr(self.stderr()?);
        for variable in REMOVED {
            command.env_remove(variable);
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        Process::start(&mut command).map_err(|e| format!("{name:?} does not start: {e}").into())
    }

    fn stderr(&self) -> Result<Stdio> {
        match self.stderr.as_deref() {
            None => Ok(Stdio::null()),
            Some("inherit") => Ok(Stdio::inherit()),
            Some(path) => {
                let file = File::options().create(true).append(true).open(path);
                file.map(Stdio::from).map_err(|e| format!("--stderr {path}: {e}").into())
            }
        }
    }
}
