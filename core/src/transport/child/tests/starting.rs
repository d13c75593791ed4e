//! What children are started with, and what happens when they can't be.

use super::*;

fn refused(command: ChildCommand) -> SpawnError {
    let from = Instant::now();
    let error = command.spawn().expect_err("cannot be started");
    assert!(from.elapsed() < Duration::from_secs(1));
    error
}

// proves: STDIO-01
#[test]
fn arguments_variables_and_directory_arrive_exactly() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path().canonicalize().expect("it exists");
    let child = sh(r#"printf '<%s>' "$0" "$@" "$FOO"; pwd -P"#)
        .args(["zero", "a b", "\"q\"", "50%", "$HOME", "", "two\nlines", "é"])
        .env("FOO", "x=y\nz")
        .cwd(&directory)
        .spawn()
        .expect("/bin/sh starts");
    let expected = format!("<zero><a b><\"q\"><50%><$HOME><><two\nlines><é><x=y\nz>{}\n", directory.display());
    assert_eq!(rest(child.take_stdout().expect("not taken yet")), expected);
    assert!(child.take_stdout().is_none());
}

fn environment(command: ChildCommand) -> Vec<String> {
    let child = command.spawn().expect("env starts");
    rest(child.take_stdout().expect("not taken yet")).lines().map(str::to_owned).collect()
}

// proves: FC-015
#[test]
fn the_policy_decides_what_the_child_sees_of_our_environment() {
    let name = |line: &String| line.split('=').next().unwrap_or_default().to_owned();
    let (secret, _) = std::env::vars()
        .find(|(name, value)| name.starts_with("CARGO_PKG_") && !value.is_empty() && !value.contains('\n'))
        .expect("run by cargo, which sets variables that are not in the safe set");

    let seen = environment(ChildCommand::new("env").env("FOO", "1"));
    assert!(seen.contains(&"FOO=1".to_owned()));
    let names: Vec<_> = seen.iter().map(name).collect();
    assert!(names.contains(&"PATH".to_owned()), "{names:?}");
    assert!(!names.contains(&secret), "{names:?}");

    let all = environment(ChildCommand::new("env").env("FOO", "1").env_policy(EnvPolicy::InheritAll));
    let names: Vec<_> = all.iter().map(name).collect();
    assert!(names.contains(&secret) && all.contains(&"FOO=1".to_owned()), "{names:?}");

    let none = environment(ChildCommand::new("env").env("FOO", "1").env_policy(EnvPolicy::Empty));
    assert_eq!(none, ["FOO=1"]);
}

// proves: FC-015
#[test]
fn a_given_variable_wins_over_ours_and_path_finds_the_command() {
    let directory = tempfile::tempdir().expect("a directory");
    let tool = directory.path().join("only-here");
    std::os::unix::fs::symlink("/bin/sh", &tool).expect("a link");
    let command = ChildCommand::new("only-here").args(["-c", "echo $PATH $0"]).stderr(StderrMode::Null);
    assert!(matches!(refused(command.clone()), SpawnError::NotFound { .. }));
    let (_child, _stdout, line) = start(command.env("PATH", directory.path()));
    assert_eq!(line, format!("{} only-here", directory.path().display()), "the name stays as it was given");
}

// proves: FC-013
#[test]
fn a_missing_command_is_named() {
    for program in ["/no/such/bin", "no-such-command-anywhere", "./no-such-file", "/etc/passwd/x"] {
        let error = refused(ChildCommand::new(program).arg("hidden"));
        assert!(matches!(&error, SpawnError::NotFound { .. }), "{error:?}");
        assert!(error.to_string().contains(program), "{error}");
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
}

// proves: FC-013
#[test]
fn a_file_that_cannot_be_run_is_told_from_a_missing_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let plain = directory.path().join("plain");
    std::fs::write(&plain, "text").expect("a file");
    let mode = std::fs::metadata(&plain).expect("a file").permissions().mode();
    assert_eq!(mode & 0o111, 0);
    let error = refused(ChildCommand::new(&plain));
    assert!(matches!(&error, SpawnError::NotExecutable { .. }), "{error:?}");
    let error = refused(ChildCommand::new("plain").env("PATH", directory.path()));
    assert!(matches!(&error, SpawnError::NotExecutable { .. }), "{error:?}");

    // Written by another process: an open file of ours could be inherited by a child of another test just now, and a
    // file open for writing cannot be run.
    let script = directory.path().join("script");
    let child = sh(r#"printf '#!/no/such/interpreter\n' > "$0"; chmod +x "$0""#).arg(&script).spawn();
    let status = child.expect("/bin/sh starts").wait_timeout(SOON);
    assert_eq!(status.and_then(|status| status.code), Some(0));
    let error = refused(ChildCommand::new(&script));
    assert!(matches!(&error, SpawnError::NotExecutable { .. }), "{error:?}");
    assert!(error.to_string().contains("interpreter"), "{error}");
}

// proves: FC-013
#[test]
fn a_bad_directory_is_named() {
    for cwd in ["/no/such/directory", "/etc/passwd"] {
        let error = refused(sh("exit 0").cwd(cwd));
        assert!(matches!(&error, SpawnError::BadCwd { .. }), "{error:?}");
        assert!(error.to_string().contains(cwd), "{error}");
    }
}

// proves: FC-015, SEC-09
#[test]
fn what_cannot_be_passed_on_is_refused_without_showing_values() {
    let cases: [(ChildCommand, &str); 7] = [
        (sh("").arg("ok").arg("s3cret\0"), "argument 4 "),
        (sh("").env("NAME\0X", "s3cret"), "the name of the environment variable"),
        (sh("").env("A=B", "s3cret"), "A=B"),
        (sh("").env("", "s3cret"), "empty name"),
        (sh("").env("TOKEN", "s3cret\0"), "TOKEN"),
        (ChildCommand::new(""), "empty"),
        (ChildCommand::new("a\0b"), "NUL"),
    ];
    for (command, expected) in cases {
        let error = refused(command);
        assert!(matches!(&error, SpawnError::BadArgument { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    }
}

// proves: SEC-09
#[test]
fn the_command_shows_neither_arguments_nor_values() {
    let command = ChildCommand::new("tool").arg("--token=s3cret").env("TOKEN", "s3cret");
    let shown = format!("{command:?}");
    assert!(shown.contains("tool") && shown.contains("TOKEN"), "{shown}");
    assert!(!shown.contains("s3cret"), "{shown}");
    let child = sh("cat").env("TOKEN", "s3cret").spawn().expect("/bin/sh starts");
    assert!(!format!("{child:?}").contains("s3cret"));
}

// proves: FC-013
#[test]
fn a_command_that_dies_at_once_leaves_status_and_last_words() {
    let child = sh("echo oops >&2; exit 3").spawn().expect("/bin/sh starts");
    let from = Instant::now();
    let status = child.wait_timeout(SOON).expect("it exits");
    assert_eq!((status.to_string().as_str(), child.stderr_tail().as_str()), ("exit status 3", "oops"));
    assert!(from.elapsed() < Duration::from_secs(1));

    let child = ChildCommand::new("false").spawn().expect("`false` starts");
    assert_eq!(child.wait_timeout(SOON).and_then(|status| status.code), Some(1));
    let mut stdin = child.take_stdin().expect("not taken yet");
    let error = stdin.write_all(b"{}\n").expect_err("nobody reads");
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn the_child_leads_a_process_group_of_its_own() {
    let (child, _stdout, _) = start(sh("echo ready; cat"));
    let own = pid(&child.pid().to_string());
    assert_eq!(rustix::process::getpgid(Some(own)).map(Pid::as_raw_pid), Ok(own.as_raw_pid()));
}

#[test]
fn an_empty_entry_in_path_does_not_mean_the_current_directory() {
    assert_eq!(locate::program(OsStr::new("Cargo.toml"), Some(OsStr::new(":")), None), None);
}
