//! The JavaScript implementation and its sync servers, driven by Node: `cargo xtask javascript` installs them and builds the
//! program that talks to them, and our engine for JavaScript.

mod browser;
mod engine;
mod files;
#[cfg(target_os = "linux")]
mod load;
mod node;
mod say;
mod servers;
mod suites;
