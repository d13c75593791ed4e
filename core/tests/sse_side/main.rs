//! HTTP with SSE over loopback: the server talked to byte by byte, the client with a server that is played by the test, and
//! both with each other.

#[path = "../common/mod.rs"]
mod common;

mod raw;
mod site;

mod auth;
mod both;
mod bounds;
mod client_calls;
mod client_connects;
mod ending;
mod gate;
mod mount;
mod statuses;
mod streams;
