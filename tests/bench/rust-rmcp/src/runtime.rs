//! The runtime that both programs run on.

use std::io;
use tokio::runtime::{Builder, Runtime};

/// What `#[tokio::main]` gives, as in rmcp's examples; with `BENCH_RT=current` the one-threaded kind.
pub fn runtime() -> io::Result<Runtime> {
    let one_thread = std::env::var("BENCH_RT").is_ok_and(|kind| kind == "current");
    let mut builder = if one_thread { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.enable_all().build()
}
