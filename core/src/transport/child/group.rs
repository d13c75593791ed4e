//! Who is left in the process group of a child that has ended (Unix).
//!
//! To be asked only while the child is a zombie, which holds the number of the group.

use std::os::fd::OwnedFd;

use rustix::process::Pid;

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use super::{OwnedFd, Pid};
    use rustix::process::{PidfdFlags, pidfd_open};

    pub(in super::super) fn pidfd(pid: Pid) -> Option<OwnedFd> {
        pidfd_open(pid, PidfdFlags::empty()).ok()
    }

    /// Linux lets a signal to a group of zombies succeed, so that only the process table can tell. `None`: no such
    /// table here.
    fn leftovers(group: Pid) -> Option<Vec<Pid>> {
        let entries = fs::read_dir("/proc").ok()?;
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut readable = false;
        let found = pids
            .filter(|pid| {
                let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
                    return false;
                };
                readable = true;
                lives_in_group(&stat, group)
            })
            .filter_map(Pid::from_raw)
            .collect();
        readable.then_some(found)
    }

    /// `pid (name) state parent group …`, where the name may hold anything, blanks and brackets included.
    pub(super) fn lives_in_group(stat: &str, group: Pid) -> bool {
        let Some((_, rest)) = stat.rsplit_once(')') else {
            return false;
        };
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next();
        let in_group = fields.nth(1).and_then(|field| field.parse().ok()) == Some(group.as_raw_pid());
        in_group && !matches!(state, Some("Z" | "X"))
    }

    pub(in super::super) fn has_leftovers(group: Pid) -> bool {
        leftovers(group).is_none_or(|found| !found.is_empty())
    }

    pub(in super::super) fn leftover_fds(group: Pid) -> Option<Vec<OwnedFd>> {
        // A pid may have been given away since the table was read. That is harmless: the descriptor is waited for, never
        // signalled, and the keeper reads the table anew after every wait, which has a deadline.
        leftovers(group)?.into_iter().map(pidfd).collect()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{OwnedFd, Pid};
    use rustix::process::test_kill_process_group;

    pub(in super::super) fn pidfd(_pid: Pid) -> Option<OwnedFd> {
        None
    }

    /// The BSDs, macOS among them, do not count zombies here.
    pub(in super::super) fn has_leftovers(group: Pid) -> bool {
        test_kill_process_group(group).is_ok()
    }

    pub(in super::super) fn leftover_fds(_group: Pid) -> Option<Vec<OwnedFd>> {
        None
    }
}

pub(super) use system::{has_leftovers, leftover_fds, pidfd};

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_process_table_is_read_past_any_name() {
        let group = Pid::from_raw(42).expect("not zero");
        assert!(system::lives_in_group("77 (sh) S 1 42 40 0 -1", group));
        assert!(system::lives_in_group("77 (a) Z 9 (b) R 1 42 40 0 -1", group));
        assert!(!system::lives_in_group("77 (sh) Z 1 42 40 0 -1", group));
        assert!(!system::lives_in_group("42 (sh) S 1 43 42 0 -1", group));
        assert!(!system::lives_in_group("", group));
    }
}
