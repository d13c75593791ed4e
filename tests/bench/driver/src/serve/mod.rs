//! The minimal servers.

pub mod floor;
pub mod instant;
pub mod sse_floor;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

/// Standard output without the lock and the line buffer of `std::io::Stdout`.
fn raw_stdout() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}
