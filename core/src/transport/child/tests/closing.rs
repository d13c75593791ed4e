//! How children end.

use super::*;

const DEAF: &str = "trap '' TERM; echo ready; while :; do sleep 60; done";
/// Prints the id of a grandchild that does not heed SIGTERM, and goes on.
const DEAF_GRANDCHILD: &str = "(trap '' TERM; sh -c 'echo $$; exec sleep 60') & ";

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

// proves: DOWN-02, FC-012
#[test]
fn a_child_that_heeds_the_end_of_stdin_gets_no_signal() {
    let script = "trap 'echo signal' TERM; echo ready; cat >/dev/null; echo marker";
    let (child, stdout, _) = start(sh(script).exit_grace(SOON));
    let report = child.close();
    assert_eq!(report.how, ExitHow::Exited);
    assert!(report.status.success(), "{report}");
    assert_eq!(rest(stdout), "marker\n");
    assert!(!exists(child.pid()));
}

// proves: DOWN-02, FC-012
#[test]
fn a_child_that_heeds_only_sigterm_gets_it_after_the_grace() {
    let script = "trap 'echo marker; exit 7' TERM; echo ready; while :; do sleep 60; done";
    let (child, stdout, _) = start(sh(script).exit_grace(millis(200)).term_grace(SOON));
    let from = Instant::now();
    let report = child.close();
    assert!(from.elapsed() >= millis(200) && from.elapsed() < SOON, "{:?}", from.elapsed());
    assert_eq!(report, ExitReport { status: ExitStatus { code: Some(7), signal: None }, how: ExitHow::Terminated });
    assert_eq!(rest(stdout), "marker\n");
    assert!(!exists(child.pid()));
}

// proves: DOWN-02, DOWN-06, FC-012
#[test]
fn a_deaf_child_is_killed_when_both_graces_are_over() {
    let (child, stdout, _) = start(sh(DEAF).exit_grace(millis(300)).term_grace(millis(300)));
    let from = Instant::now();
    let report = child.close();
    let took = from.elapsed();
    assert!(took >= millis(600) && took < millis(1000), "{took:?}");
    assert_eq!(report, ExitReport { status: ExitStatus { code: None, signal: Some(9) }, how: ExitHow::Killed });
    assert_eq!(report.to_string(), "killed, signal 9 (SIGKILL)");
    assert!(!exists(child.pid()));
    let from = Instant::now();
    assert_eq!(child.close(), report, "a second close changes nothing");
    assert!(from.elapsed() < millis(100));
    assert_eq!(rest(stdout), "");
}

// proves: FC-012
#[test]
fn closes_from_several_threads_share_one_ladder() {
    let (child, _stdout, _) = start(sh(DEAF).exit_grace(millis(100)).term_grace(millis(100)));
    let reports: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| child.close())).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(reports.iter().all(|report| report.how == ExitHow::Killed && *report == reports[0]));
}

// proves: DOWN-07
#[test]
fn dropping_the_handle_returns_at_once_and_ends_the_child_within_a_second() {
    for script in ["echo ready; cat", "echo ready; exec sleep 60", DEAF] {
        let (child, _stdout, _) = start(sh(script));
        let (watch, pid) = (Arc::clone(&child.watch), child.pid());
        let from = Instant::now();
        drop(child);
        assert!(from.elapsed() < millis(100), "{:?}", from.elapsed());
        watch.wait_report();
        assert!(from.elapsed() < millis(1000), "{script}: {:?}", from.elapsed());
        assert!(!exists(pid), "{script}");
    }
}

// proves: DOWN-07
#[test]
fn many_children_dropped_at_once_are_all_reaped() {
    let children: Vec<_> = (0..20).map(|_| start(sh("echo ready; cat")).0).collect();
    let watches: Vec<_> = children.iter().map(|child| Arc::clone(&child.watch)).collect();
    drop(children);
    for watch in watches {
        watch.wait_report();
        assert!(!exists(watch.pid));
    }
}

// proves: DOWN-02
#[test]
fn grandchildren_end_with_the_child_that_heeds_the_end_of_stdin() {
    let script = format!("{DEAF_GRANDCHILD} cat >/dev/null");
    let (child, _stdout, grandchild) = start(sh(&script).exit_grace(SOON).term_grace(millis(200)));
    assert!(runs(pid(&grandchild)));
    let report = child.close();
    assert_eq!(report.how, ExitHow::Exited, "the child itself got no signal");
    assert!(!runs(pid(&grandchild)));
    assert!(!exists(child.pid()));
}

// proves: DOWN-02
#[test]
fn grandchildren_end_with_the_child_that_is_terminated_or_killed() {
    let heeds_sigterm = format!("{DEAF_GRANDCHILD} exec sleep 60");
    let all_deaf = "trap '' TERM; sh -c 'echo $$; exec sleep 60' & while :; do sleep 60; done";
    for (script, how) in [(heeds_sigterm.as_str(), ExitHow::Terminated), (all_deaf, ExitHow::Killed)] {
        let command = sh(script).exit_grace(millis(100)).term_grace(millis(300));
        let (child, _stdout, grandchild) = start(command);
        assert!(runs(pid(&grandchild)), "{script}");
        assert_eq!(child.close().how, how, "{script}");
        assert!(!runs(pid(&grandchild)), "{script}");
        assert!(!exists(child.pid()), "{script}");
    }
}

// proves: DOWN-02
#[test]
fn grandchildren_of_a_child_that_ended_by_itself_are_ended_without_a_close() {
    let script = format!("{DEAF_GRANDCHILD} read line; exit 4");
    let (child, _stdout, grandchild) = start(sh(&script).term_grace(millis(200)));
    let mut stdin = child.take_stdin().expect("not taken yet");
    stdin.write_all(b"go\n").expect("the child reads");
    assert_eq!(child.wait_timeout(SOON).and_then(|status| status.code), Some(4));
    assert_eq!(child.watch.wait_report().status.code, Some(4));
    assert!(!runs(pid(&grandchild)));
    assert!(!exists(child.pid()));
}

// proves: DOWN-03
#[test]
fn a_child_that_leaves_by_itself_is_a_normal_end() {
    let (child, stdout, _) = start(sh("trap 'echo signal >&2' TERM; echo bye; exec >&-; exit 0"));
    assert_eq!(rest(stdout), "");
    assert!(child.wait_timeout(SOON).expect("it exits").success());
    let report = child.close();
    assert_eq!(report.to_string(), "exited by itself, exit status 0");
    assert_eq!(child.stderr_tail(), "");
}

// proves: STDIO-13, FC-014
#[test]
fn exit_callbacks_are_called_at_once_and_once() {
    let (child, _stdout, _) = start(sh("echo ready; read line; exit 3"));
    assert_eq!(child.try_exit_status(), None);
    assert_eq!(child.wait_timeout(Duration::ZERO), None);
    let (sender, receiver) = mpsc::channel();
    let late = sender.clone();
    child.on_exit(move |status| sender.send(status).expect("the test listens"));
    // A panic in one must harm neither the others nor the thread that calls them.
    child.on_exit(|_| panic!("on purpose"));
    let from = Instant::now();
    drop(child.take_stdin());
    let status = receiver.recv_timeout(SOON).expect("called");
    assert!(from.elapsed() < millis(500), "{:?}", from.elapsed());
    assert_eq!(status.to_string(), "exit status 3");
    child.on_exit(move |status| late.send(status).expect("the test listens"));
    assert_eq!(receiver.try_recv(), Ok(status), "at once when it has exited before");
    assert!(receiver.recv_timeout(SOON).is_err(), "no sender is left");
    assert_eq!(child.try_exit_status(), Some(status));
    child.close();
}

// proves: FC-014
#[test]
fn a_child_killed_from_outside_is_reported_as_such() {
    let (child, _stdout, own) = start(sh("echo $$; exec sleep 60"));
    assert_eq!(own, child.pid().to_string());
    kill_process(pid(&own), Signal::KILL).expect("it is ours");
    assert_eq!(child.wait_timeout(SOON).expect("it ended").to_string(), "signal 9 (SIGKILL)");
    assert_eq!(child.close().how, ExitHow::Exited, "not by us");
}

#[test]
fn without_a_pidfd_the_ladder_is_the_same() {
    let process = process::Command::new("/bin/sh")
        .args(["-c", "trap 'exit 5' TERM; echo ready; while :; do sleep 60; done"])
        .stdin(process::Stdio::null())
        .stdout(process::Stdio::piped())
        .stderr(process::Stdio::null())
        .process_group_of_its_own()
        .spawn();
    let mut process = process.expect("/bin/sh starts");
    let mut stdout = BufReader::new(process.stdout.take().expect("piped"));
    assert_eq!(next_line(&mut stdout), "ready");
    let (system, _bell) = keeper::PerChild::without_pidfd(process.id()).expect("a pipe");
    let watch = Arc::new(Watch::new(process, system, Ladder::new(millis(50), SOON)));
    keeper::adopt(&watch).expect("threads");
    watch.close();
    let report = watch.wait_report();
    assert_eq!((report.how, report.status.code), (ExitHow::Terminated, Some(5)));
    assert!(!exists(watch.pid));
}

#[test]
fn a_child_that_somebody_else_reaped_ends_with_an_unknown_status() {
    let process = process::Command::new("/bin/sh").args(["-c", "exit 0"]).process_group_of_its_own().spawn();
    let process = process.expect("/bin/sh starts");
    let (system, _bell) = keeper::PerChild::new(process.id()).expect("a pipe");
    let watch = Watch::new(process, system, Ladder::new(SOON, SOON));
    waitpid(Some(pid(&watch.pid.to_string())), WaitOptions::empty()).expect("it is ours");
    assert_eq!(watch.step(Instant::now()), None);
    assert_eq!(watch.wait_report().to_string(), "exited by itself, unknown exit status");
}

/// What [`ChildCommand::spawn`] does, for tests that stand below it.
trait OwnGroup {
    fn process_group_of_its_own(&mut self) -> &mut Self;
}

impl OwnGroup for process::Command {
    fn process_group_of_its_own(&mut self) -> &mut Self {
        std::os::unix::process::CommandExt::process_group(self, 0)
    }
}
