//! Every measuring mode, in miniature, on the driver's own minimal programs: that all figures are there, and that a
//! wrong program is refused. No test looks at how large a time is.

use serde_json::Value;
use std::process::{Command, Output};

const DRIVER: &str = env!("CARGO_BIN_EXE_driver");

fn run(args: &[&str]) -> Output {
    Command::new(DRIVER).args(args).output().expect("the driver starts")
}

/// The lines that the driver printed, by test.
fn results(args: &[&str]) -> Vec<Value> {
    let output = run(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {stderr}");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Each of the figures is a number above zero, as such or as a median.
fn has_figures(result: &Value, keys: &[&str]) {
    for key in keys {
        let figure = result[key]["median"].as_f64().or(result[key].as_f64());
        assert!(figure.is_some_and(|f| f > 0.0), "{key} in {result}");
    }
}

fn has_all(results: &[Value], expected: &[(&str, &[&str])]) {
    let tests: Vec<_> = results.iter().map(|result| result["test"].as_str()).collect();
    assert_eq!(tests, expected.iter().map(|(test, _)| Some(*test)).collect::<Vec<_>>());
    for (result, (_, keys)) in results.iter().zip(expected) {
        has_figures(result, keys);
    }
}

#[test]
fn stdio_measures_both_floors() {
    for flag in ["", " --batch"] {
        let command = format!("'{DRIVER}' serve-floor{flag}");
        let results = results(&[
            "stdio",
            "--cmd",
            &command,
            "--name",
            "floor",
            "--reps",
            "1",
            "--startups",
            "1",
            "--calls",
            "50",
            "--pipe",
            "500",
            "--min-secs",
            "0",
            "--big-bytes",
            "70000",
            "--big-calls",
            "2",
            "--list-calls",
            "2",
            "--list-tools",
            "30",
            "--grow",
            "1000",
        ]);
        has_all(
            &results,
            &[
                ("startup", &["init_ms", "init_cpu_ms", "first_call_ms", "first_call_cpu_ms", "shutdown_ms"]),
                ("idle", &["rss_mb", "pss_mb", "private_mb", "threads", "fds"]),
                ("seq", &["p50_us", "p99_us", "cpu_us_per_call", "calls_per_s"]),
                ("pipe", &["cpu_us_per_call", "calls_per_s"]),
                ("big", &["ms_per_call", "cpu_ms_per_call", "peak_rss_mb"]),
                ("list", &["ms_per_list", "cpu_ms_per_list"]),
                ("grow", &["rss_idle_mb", "rss_tenth_mb", "rss_half_mb", "rss_end_mb"]),
            ],
        );
        assert_eq!(results[0]["killed"], 0);
        assert_eq!(results[0]["protocol"], "2024-11-05");
        assert_eq!(results[5]["tools"], 32);
    }
}

#[test]
fn client_measures_the_minimal_client_on_both_servers() {
    for server in ["serve-instant", "serve-floor"] {
        let results = results(&[
            "client",
            "--cmd",
            &format!("'{DRIVER}' client-floor"),
            "--server",
            &format!("'{DRIVER}' {server}"),
            "--tests",
            "first,calls,grow",
            "--startups",
            "1",
            "--reps",
            "1",
            "--calls",
            "50",
            "--conc",
            "7",
            "--total",
            "1000",
            "--grow",
            "1000",
        ]);
        has_all(
            &results,
            &[
                ("first", &["first_ms", "first_cpu_ms"]),
                ("calls", &["seq_p50_us", "seq_p99_us", "seq_cpu_us", "conc_per_s", "conc_cpu_us"]),
                ("grow", &["rss_idle_mb", "rss_end_mb"]),
            ],
        );
    }
}

#[test]
fn sse_measures_the_minimal_server() {
    // A range of its own for each test process, so that two of them do not meet.
    let port = 20_000 + std::process::id() % 10_000;
    let results = results(&[
        "sse",
        "--cmd",
        &format!("'{DRIVER}' serve-sse-floor --port {{port}}"),
        "--port",
        &port.to_string(),
        "--sessions",
        "1,5",
        "--secs",
        "0.2",
        "--warm",
        "0.05",
        "--reps",
        "1",
        "--idle",
        "0",
    ]);
    let keys: &[&str] = &["calls_per_s", "cpu_us_per_call", "p50_us", "p99_us", "ready_ms"];
    has_all(&results, &[("sse", keys), ("sse", keys)]);
    for (result, sessions) in results.iter().zip([1, 5]) {
        assert_eq!(result["sessions"], sessions);
        assert_eq!(result["errors"], Value::Array(vec![]));
    }
}

/// A server that answers a call with another call's text must stop the run, not be measured.
#[test]
fn a_wrong_answer_is_refused() {
    let reply = r#"{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"2024-11-05","serverInfo":{}}}\n"#;
    let server = format!("read a; printf '{reply}' 0; read b; read c; printf '{reply}' 1; cat");
    let script = std::env::temp_dir().join(format!("mcp-bench-wrong-{}.sh", std::process::id()));
    std::fs::write(&script, format!("{server}\n")).expect("a script");
    let output = run(&["stdio", "--cmd", &format!("sh '{}'", script.display()), "--tests", "startup"]);
    std::fs::remove_file(&script).expect("the script is there");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("another text"), "{stderr}");
}

#[test]
fn faults_say_what_is_wrong() {
    for (args, expected) in [
        (&["stdio", "--cmd", "/no/such/program"][..], "does not start"),
        (&["stdio", "--cmd", "true"], "the server"),
        (&["client", "--cmd", "true"], "before its first result"),
        (&["stdio", "--cmd", "cat", "--cals", "5"], "unknown option --cals"),
        (&["stdio", "--cmd", "cat", "--pin", "100000"], "--pin"),
        (&["stdio", "--tests", "seq"], "--cmd is needed"),
        (&["no-such-mode"], "no such mode"),
    ] {
        let output = run(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && stderr.contains(expected), "{args:?}: {stderr}");
    }
}
