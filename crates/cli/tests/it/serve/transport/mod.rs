//! The server and its network: TLS, proxies before it, keys and rights from other servers.

mod certificates;
mod secure;

use crate::world::{World, hashmill};
use hashmill_testkit::skip;
use std::path::PathBuf;
use std::process::Command;

use super::Server;
pub(super) use secure::{SecureStream, connect, open, secure_get};

/// Is TLS available? Prints SKIPPED otherwise.
fn is_possible() -> bool {
    let possible = graviola::util::is_cpu_supported();
    if !possible {
        skip("hashmill serve with TLS", "this processor lacks the instructions");
    }
    possible
}

/// A file of the certificates of tests.
fn certificate_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../server/tests/tls").join(name)
}

/// Puts a certificate and its key into the files of the server's settings.
fn put_certificate(world: &World, certificate: &str, key: &str) {
    for (from, to) in [(key, "key.pem"), (certificate, "cert.pem")] {
        let bytes = std::fs::read(certificate_file(from)).expect("a file of the tests");
        world.write(to, bytes);
        set_private(world, to);
    }
}

#[cfg(unix)]
fn set_private(world: &World, name: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(world.path(name), mode).expect("its own file");
}

#[cfg(not(unix))]
fn set_private(_: &World, _: &str) {}

/// Starts a server with further settings.
fn start(world: &World, settings: &str) -> Server {
    world.write("settings.toml", settings);
    let arguments = ["--settings", "settings.toml"];
    Server::start_with(world, Command::new(hashmill()).arg("serve"), &arguments)
}

/// Starts a server with TLS.
fn start_secure(world: &World, settings: &str) -> Server {
    put_certificate(world, "server.pem", "server.key.pem");
    start(world, &format!("tls-cert = \"cert.pem\"\ntls-key = \"key.pem\"\n{settings}"))
}
