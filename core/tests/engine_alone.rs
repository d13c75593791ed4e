//! The protocol's data and the engine's rules need no I/O: no runtime, no threads, no clock.

use std::path::Path;
use std::process::Command;

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--no-default-features", "--offline", "--locked", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        // A folder of its own: the one of this run is locked by the cargo that runs this test.
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("engine-alone"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo {arguments:?}:\n{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn protocol_and_engine_build_without_io() {
    cargo(&["check", "--quiet", "--lib"]);
}

#[test]
fn without_io_there_is_no_runtime_among_the_dependencies() {
    let tree = cargo(&["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let packages: Vec<_> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(packages.contains(&"serde_json"), "the list is read: {tree}");
    for runtime in ["tokio", "futures-core", "tracing", "rustix", "getrandom", "jsonschema", "schemars", "hyper"] {
        assert!(!packages.contains(&runtime), "{runtime} is needed without I/O:\n{tree}");
    }
}

/// The sources say so themselves: the engine asks nobody for the time and starts nothing.
#[test]
fn the_engine_has_no_clock_and_no_threads() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engine")];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                folders.extend((!entry.ends_with("tests")).then_some(entry));
                continue;
            }
            // A replay needs some moment to begin with; tests may do what they like.
            if entry.ends_with("tests.rs") || entry.ends_with("replay.rs") {
                continue;
            }
            let source = std::fs::read_to_string(&entry).expect("a source file");
            for word in
                ["Instant::now", "SystemTime", "std::thread", "std::sync::Mutex", "std::io", "async ", "tokio::"]
            {
                assert!(!source.contains(word), "{} has `{word}`", entry.display());
            }
            read += 1;
        }
    }
    assert!(read >= 8, "the sources were found");
}
