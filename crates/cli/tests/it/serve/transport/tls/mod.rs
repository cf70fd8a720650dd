//! Servers with TLS.

mod certificates;
mod secure;
mod services;

use super::start;
use crate::serve::Server;
use crate::world::World;
use hashmill_testkit::skip;
use std::fs;
use std::path::PathBuf;

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
        let bytes = fs::read(certificate_file(from)).expect("a file of the tests");
        world.write(to, bytes);
        #[cfg(unix)]
        set_mode(world, to, 0o600);
    }
}

#[cfg(unix)]
fn set_mode(world: &World, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::Permissions::from_mode(mode);
    fs::set_permissions(world.path(name), mode).expect("its own file");
}

/// Starts a server with TLS.
fn start_secure(world: &World, settings: &str) -> Server {
    put_certificate(world, "server.pem", "server.key.pem");
    start(world, &format!("tls-cert = \"cert.pem\"\ntls-key = \"key.pem\"\n{settings}"))
}
