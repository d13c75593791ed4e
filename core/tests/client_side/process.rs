//! Servers as child processes (STDIO, DOWN).
#![cfg(unix)]

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_native::engine::CloseReason;
use mcp_native::transport::child::{ChildCommand, EnvPolicy, ExitHow, StderrMode};
use mcp_native::{Client, Error, ErrorKind};
use serde_json::{Value, json};

use super::support::{Seen, builder, soon};

const SECOND: Duration = Duration::from_secs(1);

/// Shell code that does a server's part of the handshake.
const HANDSHAKE: &str = r#"
    read -r line
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}'
    read -r line
"#;

fn sh(script: &str) -> ChildCommand {
    ChildCommand::new("sh").args(["-c", script]).stderr(StderrMode::Null)
}

async fn start(command: ChildCommand) -> Client {
    soon(builder().stdio(command)).await.expect("the script speaks the handshake")
}

async fn fails(command: ChildCommand) -> Error {
    soon(builder().stdio(command)).await.expect_err("this cannot be connected to")
}

/// Whether a process is there, be it as a zombie.
fn exists(pid: u32) -> bool {
    let out = std::process::Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output();
    out.is_ok_and(|out| !out.stdout.trim_ascii().is_empty())
}

// proves: FC-013, STDIO-13, LIFE-17
#[tokio::test]
async fn a_bad_command_or_one_that_dies_fails_within_a_second_and_says_why() {
    let begun = Instant::now();
    let missing = fails(ChildCommand::new("/no/such/bin")).await;
    assert_eq!(missing.kind(), ErrorKind::Spawn);
    assert!(missing.message().contains("/no/such/bin"), "{missing}");
    let dead = fails(ChildCommand::new("false")).await;
    assert_eq!(dead.kind(), ErrorKind::Closed);
    assert!(dead.message().contains("exited with code 1"), "{dead}");
    let oops = fails(sh("echo oops >&2; exit 3")).await;
    assert_eq!(oops.kind(), ErrorKind::Closed);
    assert!(oops.message().contains("server exited with code 3; stderr: oops"), "{oops}");
    assert!(begun.elapsed() < 3 * SECOND, "each within a second");
}

// proves: STDIO-13, JRPC-28
#[tokio::test]
async fn a_child_that_exits_fails_pending_calls_with_its_status() {
    let client = start(sh(&format!("{HANDSHAKE} read -r line; exit 3"))).await;
    let begun = Instant::now();
    let error = soon(client.call_tool("t", json!({})).into_future()).await.expect_err("gone");
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.message().contains("exited with code 3"), "{error}");
    assert!(begun.elapsed() < SECOND);
    assert_eq!(client.exit_status().and_then(|status| status.code), Some(3));
}

// proves: STDIO-13
#[tokio::test]
async fn a_child_that_is_killed_is_told_apart() {
    let client = start(sh(&format!("{HANDSHAKE} read -r line; kill -9 $$"))).await;
    let error = soon(client.call_tool("t", json!({})).into_future()).await.expect_err("gone");
    assert!(error.message().contains("signal 9 (SIGKILL)"), "{error}");
}

// proves: DOWN-03
#[tokio::test]
async fn a_server_may_end_the_session_itself() {
    let client = start(sh(&format!("{HANDSHAKE} exit 0"))).await;
    let reason = soon(client.closed()).await;
    assert!(
        matches!(&reason, CloseReason::Peer { detail: Some(detail) } if detail.contains("exited with code 0")),
        "{reason}"
    );
    let report = soon(client.close()).await.expect("a child");
    assert_eq!((report.how, report.status.code), (ExitHow::Exited, Some(0)));
}

// proves: DOWN-02, DOWN-06, DOWN-07
#[tokio::test]
async fn closing_escalates_as_far_as_it_must() {
    let grace = Duration::from_millis(300);
    let idle = "while :; do sleep 1; done";
    for (script, how) in [
        ("while read -r line; do :; done".to_owned(), ExitHow::Exited),
        (idle.to_owned(), ExitHow::Terminated),
        (format!("trap '' TERM; {idle}"), ExitHow::Killed),
    ] {
        // The trap is set before the handshake, so that no signal comes too early for it.
        let (trap, rest) = script.split_once("; while").map_or(("", script.as_str()), |(trap, _)| (trap, idle));
        let command = sh(&format!("{trap}\n{HANDSHAKE}\n{rest}")).exit_grace(grace).term_grace(grace);
        let client = start(command).await;
        let pid = client.pid().expect("a child");
        let begun = Instant::now();
        let report = soon(client.close()).await.expect("a child");
        assert_eq!(report.how, how, "{script}");
        let least = match how {
            ExitHow::Killed => 2 * grace,
            ExitHow::Terminated => grace,
            _ => Duration::ZERO,
        };
        assert!(begun.elapsed() >= least && begun.elapsed() < least + 2 * SECOND, "{script}: {:?}", begun.elapsed());
        assert!(!exists(pid), "{script}");
        assert_eq!(soon(client.close()).await, Some(report), "a second call reports the same");
    }
}

// proves: DOWN-07, FC-012
#[tokio::test]
async fn dropping_the_client_ends_and_reaps_the_child() {
    let client = start(sh(&format!("trap '' TERM\n{HANDSHAKE}\nwhile :; do sleep 1; done"))).await;
    let pid = client.pid().expect("a child");
    assert!(exists(pid));
    let begun = Instant::now();
    drop(client);
    assert!(begun.elapsed() < Duration::from_millis(100), "dropping does not wait");
    soon(gone(pid)).await;
    assert!(begun.elapsed() < 2 * SECOND);
}

/// Waits until no process has this id. There is nothing to be told by, so this looks again and again.
async fn gone(pid: u32) {
    while exists(pid) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

// proves: FC-055, LIFE-12
#[tokio::test]
async fn giving_up_while_connecting_ends_the_child() {
    let folder = tempfile::tempdir().expect("a folder");
    let (pid_file, seen) = (folder.path().join("pid"), folder.path().join("seen"));
    let script = format!("echo $$ > {0}.new; mv {0}.new {0}; exec cat > {1}", pid_file.display(), seen.display());
    let connecting = tokio::spawn(builder().stdio(sh(&script)));
    let pid: u32 = soon(async {
        loop {
            match std::fs::read_to_string(&pid_file) {
                Ok(text) => break text.trim().parse().expect("a number"),
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await;
    connecting.abort();
    soon(gone(pid)).await;
    let written = std::fs::read_to_string(&seen).expect("a file");
    assert!(written.lines().all(|line| line.contains("\"initialize\"")), "{written}");
    let limit = Duration::from_millis(100);
    let timed_out = soon(builder().connect_timeout(limit).stdio(sh("exec cat > /dev/null"))).await;
    assert_eq!(timed_out.expect_err("mute").kind(), ErrorKind::Timeout);
}

// proves: STDIO-01
#[tokio::test]
async fn the_child_gets_its_arguments_environment_and_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().canonicalize().expect("a path");
    let script = format!(
        "{HANDSHAKE} read -r line\n\
         printf '{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"%s|%s|%s|%s\"}}]}}}}\\n' \
         \"$1\" \"$GIVEN\" \"$(pwd)\" \"${{INHERITED:-none}}\"; read -r line"
    );
    let command = sh(&script).args(["argv0", "a b"]).env("GIVEN", "v").env_policy(EnvPolicy::Empty);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let client = start(command.env("PATH", path).cwd(&folder)).await;
    let result = soon(client.call_tool("t", json!({})).into_future()).await.expect("answered");
    let expected = format!("a b|v|{}|none", folder.display());
    assert_eq!(result.texts().collect::<Vec<_>>(), [expected]);
    soon(client.close()).await;
}

// proves: STDIO-04, STDIO-02, JRPC-21
#[tokio::test]
async fn nothing_but_messages_is_written_to_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("stdin");
    let script = format!(
        "exec 3> {}\n\
         read -r line; echo \"$line\" >&3\n\
         echo '{}'\n\
         cat >&3",
        copy.display(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}}"#
    );
    let client = start(sh(&script)).await;
    let texts = ["plain", "a\nb\r\nc", "\u{2028}", "héllo 😀"];
    let pending: Vec<_> =
        texts.iter().map(|text| client.call_tool("t", json!({ "text": text })).send().expect("sent")).collect();
    drop(pending);
    soon(client.close()).await;
    let mut written = String::new();
    std::fs::File::open(&copy).and_then(|mut file| file.read_to_string(&mut written)).expect("UTF-8 text");
    assert!(written.ends_with('\n') && !written.contains('\r'));
    let messages: Vec<Value> =
        written.lines().map(|line| serde_json::from_str(line).expect("a line is a message")).collect();
    assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0" && message["method"].is_string()));
    let sent: Vec<_> = messages.iter().filter_map(|message| message["params"]["arguments"]["text"].as_str()).collect();
    assert_eq!(sent, texts);
}

// proves: STDIO-06
#[tokio::test]
async fn a_flood_on_stderr_is_drained_and_lines_can_be_had() {
    let lines = Seen::new();
    let seen = lines.clone();
    let mode = StderrMode::Lines(Arc::new(move |line: &str| {
        if line.starts_with("note") {
            seen.push(line.to_owned());
        }
    }));
    let script = format!(
        "echo 'note: starting' >&2\n{HANDSHAKE} read -r line\n\
         head -c 10485760 /dev/zero | tr '\\0' x >&2; echo >&2\n\
         echo '{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{}}}}'; read -r line"
    );
    let client = start(sh(&script).stderr(mode)).await;
    soon(client.ping().into_future()).await.expect("the child was not blocked, and stderr is no failure");
    assert_eq!(lines.all(), ["note: starting"]);
    soon(client.close()).await;
}

// proves: SEC-09
#[tokio::test]
async fn secrets_of_the_environment_are_in_no_error() {
    let command = sh("exit 3").env("TOKEN", "s3cret").arg("--key=s3cret");
    assert!(!format!("{command:?}").contains("s3cret"));
    let error = fails(command).await;
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
    let error = fails(ChildCommand::new("/no/such/bin").env("TOKEN", "s3cret")).await;
    assert!(!format!("{error} {error:?}").contains("s3cret"), "{error:?}");
}

// proves: SEC-08, FC-013
#[tokio::test]
async fn control_characters_on_stderr_are_not_passed_on_in_errors() {
    let error = fails(sh("printf 'a\\033[2Jb\\007c' >&2; exit 3")).await;
    assert!(error.message().ends_with("stderr: a [2Jb c"), "{error:?}");
}

#[tokio::test]
async fn blocking_streams_carry_a_session_too() {
    let (their_in, our_out) = std::io::pipe().expect("a pipe");
    let (our_in, their_out) = std::io::pipe().expect("a pipe");
    let server = std::thread::spawn(move || {
        use std::io::{BufRead, BufReader, Write};
        let mut out = their_out;
        let mut seen = Vec::new();
        for line in BufReader::new(their_in).lines().map_while(Result::ok) {
            let message: Value = serde_json::from_str(&line).expect("a message");
            seen.push(message["method"].as_str().unwrap_or_default().to_owned());
            let result = match message["method"].as_str() {
                Some("initialize") => super::support::initialize_result(json!({})),
                Some("ping") => json!({}),
                _ => continue,
            };
            writeln!(out, "{}", json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })).expect("written");
        }
        seen
    });
    let client = soon(builder().connect_io(our_in, our_out)).await.expect("connected");
    soon(client.ping().into_future()).await.expect("answered");
    assert_eq!((client.pid(), client.exit_status()), (None, None));
    assert_eq!(soon(client.close()).await, None);
    assert_eq!(server.join().expect("no panic"), ["initialize", "notifications/initialized", "ping"]);
}

// proves: SEC-08
#[test]
fn the_example_agent_prints_no_control_characters_of_the_server() {
    let target = std::env::current_exe().expect("this program has a path");
    let target = target.ancestors().nth(3).expect("<target>/<profile>/deps/<program>");
    let script = format!(
        "read -r line\n\
         printf '%s\\n' '{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{{\"level\":\"info\",\"data\":\"bell \\u0007\"}}}}'\n\
         printf '%s\\n' '{}'\n\
         read -r line; read -r line\n\
         printf '%s\\n' '{}'\n\
         read -r line",
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"e\u001b[31mvil","version":"1"}}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"clear \u001b[2J","inputSchema":{"type":"object"}}]}}"#
    );
    let agent = ["run", "--quiet", "--package", "mcp-native", "--example", "agent", "--", "sh", "-c", &script];
    let output = std::process::Command::new(env!("CARGO"))
        .args(agent)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    for shown in ["bell", "e\u{fffd}[31mvil", "clear \u{fffd}[2J"] {
        assert!(printed.contains(shown), "{printed}");
    }
    assert!(!printed.contains(|c: char| c.is_control() && c != '\n'), "{printed:?}");
}
