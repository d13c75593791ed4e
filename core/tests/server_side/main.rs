//! The server and its sessions, talked to message by message.

#[path = "../common/mod.rs"]
mod common;

mod asking;
mod closing;
mod completion;
mod faults;
mod lifecycle;
mod lists;
mod logging;
mod messages;
mod middleware;
mod progress;
mod prompts;
mod reading;
mod resources;
mod streams;
mod subscriptions;
mod tap;
mod tools;
