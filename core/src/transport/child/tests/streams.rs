//! What comes out of children.

use super::*;

const TEN_MIB: &str = "head -c 10485760 /dev/zero | tr '\\0' x >&2; echo >&2; echo last words >&2; echo done";

// proves: STDIO-05, STDIO-06
#[test]
fn ten_mebibytes_on_stderr_block_nobody_and_leave_a_bounded_tail() {
    let (child, _stdout, line) = start(sh(TEN_MIB).stderr_tail_bytes(100));
    assert_eq!(line, "done");
    child.close();
    let tail = child.stderr_tail();
    assert!(tail.len() <= 100 && tail.ends_with("x\nlast words"), "{tail}");
}

// proves: STDIO-06
#[test]
fn stderr_is_handed_on_line_by_line() {
    let (sender, receiver) = mpsc::channel();
    let mode = StderrMode::Lines(Arc::new(move |line| {
        sender.send(line.to_owned()).expect("the test listens");
    }));
    let (child, _stdout, line) = start(sh(TEN_MIB).stderr(mode));
    assert_eq!(line, "done");
    child.close();
    let lines: Vec<_> = receiver.iter().collect();
    assert_eq!(lines.iter().map(String::len).sum::<usize>(), 10_485_760 + "last words".len());
    assert!(lines.iter().all(|line| line.len() <= 64 * 1024));
    assert_eq!(lines.last().map(String::as_str), Some("last words"));
}

// proves: STDIO-06
#[test]
fn without_a_tail_stderr_does_not_pass_through_us() {
    let (child, _stdout, line) = start(sh(TEN_MIB).stderr_tail_bytes(0));
    assert_eq!(line, "done");
    assert!(child.stderr.is_none());
    assert_eq!(child.stderr_tail(), "");
}

// proves: STDIO-06
#[test]
fn inherited_stderr_is_copied_and_kept() {
    let (child, _stdout, _) = start(sh("echo copied >&2; echo ready").stderr(StderrMode::Inherit));
    child.close();
    assert_eq!(child.stderr_tail(), "copied");
}

// proves: STDIO-06
#[test]
fn text_on_stderr_is_no_failure() {
    let (child, _stdout, _) = start(sh("echo ERROR: fatal >&2; echo ready; cat"));
    assert_eq!(child.try_exit_status(), None);
    assert!(child.close().status.success());
}

#[test]
fn a_child_may_close_its_stdout_and_live_on() {
    let (child, stdout, _) = start(sh("echo ready; exec >&-; cat >/dev/null"));
    assert_eq!(rest(stdout), "");
    assert_eq!(child.try_exit_status(), None);
    assert!(child.close().status.success());
}

// proves: STDIO-13
#[test]
fn a_grandchild_that_holds_stdout_does_not_hold_the_reader() {
    // Deaf to SIGTERM, with a grace longer than the reader waits, so that it certainly lives when the reader is through.
    let script = "(trap '' TERM; sh -c 'echo $$; exec sleep 60') & read line; echo answer; exit 0";
    let (child, stdout, grandchild) = start(sh(script).term_grace(Duration::from_secs(60)));
    drop(child.take_stdin());
    let from = Instant::now();
    assert_eq!(rest(stdout), "answer\n", "nothing written before the exit is lost");
    assert!(from.elapsed() < SOON, "{:?}", from.elapsed());
    assert!(runs(pid(&grandchild)), "it still holds the pipe");
    assert!(child.try_exit_status().expect("it exited").success());
    kill_process(pid(&grandchild), Signal::KILL).expect("it is ours");
    assert!(child.close().status.success());
}

// proves: STDIO-13
#[test]
fn what_was_written_before_the_exit_is_read_however_late() {
    let child = sh("head -c 60000 /dev/zero | tr '\\0' y; exit 0").spawn().expect("/bin/sh starts");
    let stdout = child.take_stdout().expect("not taken yet");
    assert!(child.close().status.success());
    assert_eq!(rest(stdout).len(), 60_000);
}

#[test]
fn an_echo_goes_through_both_pipes() {
    let child = sh("cat").spawn().expect("/bin/sh starts");
    let mut stdin = child.take_stdin().expect("not taken yet");
    assert!(child.take_stdin().is_none());
    let mut stdout = BufReader::new(child.take_stdout().expect("not taken yet"));
    for text in ["one", "two"] {
        writeln!(stdin, "{text}").expect("the child reads");
        assert_eq!(next_line(&mut stdout), text);
    }
    drop(stdin);
    assert_eq!(child.close().how, ExitHow::Exited);
}
