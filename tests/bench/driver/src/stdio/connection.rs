//! A server process with both ends of its pipes.

use crate::Result;
use crate::lines::Lines;
use crate::message::response_id;
use crate::process::{End, Process};
use crate::program::Program;
use std::io::Write;
use std::process::{ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

pub struct Connection {
    pub process: Process,
    to_server: ChildStdin,
    from_server: Lines<ChildStdout>,
}

impl Connection {
    pub fn open(program: &Program) -> Result<Self> {
        let mut process = program.spawn(Stdio::piped(), Stdio::piped())?;
        let to_server = process.child.stdin.take().ok_or("no pipe to the server")?;
        let from_server = Lines::new(process.child.stdout.take().ok_or("no pipe from the server")?);
        Ok(Self { process, to_server, from_server })
    }

    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.to_server.write_all(bytes).map_err(|e| format!("the server no longer reads its stdin: {e}").into())
    }

    /// Waits for more bytes.
    pub fn receive(&mut self) -> Result<()> {
        self.from_server.fill().map_err(|e| format!("the server closed its stdout: {e}").into())
    }

    /// A line that has arrived.
    pub fn buffered(&mut self) -> Option<&[u8]> {
        self.from_server.buffered()
    }

    /// The response with this id; notifications and requests of the server before it are skipped.
    pub fn answer(&mut self, id: u64) -> Result<Vec<u8>> {
        loop {
            while let Some(line) = self.from_server.buffered() {
                if response_id(line) == Some(id) {
                    return Ok(line.to_vec());
                }
            }
            self.receive()?;
        }
    }

    /// Closes the server's stdin and waits for its end.
    pub fn close(self) -> Result<End> {
        let Self { mut process, to_server, from_server } = self;
        drop(to_server);
        let end = process.finish(Duration::from_secs(3))?;
        drop(from_server);
        Ok(end)
    }
}
