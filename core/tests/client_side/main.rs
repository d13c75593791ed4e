//! The client against servers that are played by the tests, and against small shell scripts.

mod calls;
mod completion;
mod handshake;
mod limits;
mod pages;
mod process;
mod reconnect;
mod roots;
mod sampling;
mod security;
mod support;
