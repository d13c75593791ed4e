//! Real children: scripts for `/bin/sh`. They say on stdout when they are ready, so that nothing here waits for a time.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::mpsc;
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitOptions, kill_process, test_kill_process, waitpid};

use super::*;

mod closing;
mod starting;
mod streams;

/// For what should take no time at all, on a busy machine.
const SOON: Duration = Duration::from_secs(5);

fn sh(script: &str) -> ChildCommand {
    ChildCommand::new("/bin/sh").arg("-c").arg(script).stderr(StderrMode::Null)
}

/// Starts the script and waits for its first line.
fn start(command: ChildCommand) -> (Child, BufReader<ChildStdout>, String) {
    let child = command.spawn().expect("/bin/sh starts");
    let mut stdout = BufReader::new(child.take_stdout().expect("not taken yet"));
    let line = next_line(&mut stdout);
    (child, stdout, line)
}

fn next_line(stdout: &mut impl BufRead) -> String {
    let mut line = String::new();
    stdout.read_line(&mut line).expect("stdout is readable");
    line.trim_end_matches('\n').to_owned()
}

fn rest(mut stdout: impl Read) -> String {
    let mut text = String::new();
    stdout.read_to_string(&mut text).expect("stdout is text");
    text
}

fn pid(number: &str) -> Pid {
    Pid::from_raw(number.parse().expect("a process id")).expect("not zero")
}

/// Whether there is a process with this id, be it a zombie.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    test_kill_process(pid) != Err(rustix::io::Errno::SRCH)
}

/// Whether the process runs. A grandchild is reaped by the system's first process, whenever that comes to it.
fn runs(pid: Pid) -> bool {
    match std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())) {
        Ok(stat) => !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(_) if cfg!(target_os = "linux") => false,
        Err(_) => test_kill_process(pid).is_ok(),
    }
}
