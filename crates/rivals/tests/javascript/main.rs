//! The JavaScript implementation and its sync servers, driven by Node: `cargo xtask javascript` installs them and builds the
//! program that talks to them.

mod files;
mod node;
mod say;
mod servers;
