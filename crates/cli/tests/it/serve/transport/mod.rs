//! The server and its network: TLS, proxies before it, keys and rights from other servers.

mod callback;
mod keys;
mod proxies;
mod service;
#[cfg(all(feature = "tls", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tls;

use super::Server;
use crate::world::{World, hashmill};
use std::process::Command;

/// Starts a server with settings.
fn start(world: &World, settings: &str) -> Server {
    world.write("settings.toml", settings);
    let arguments = ["--settings", "settings.toml"];
    Server::start_with(world, Command::new(hashmill()).arg("serve"), &arguments)
}
