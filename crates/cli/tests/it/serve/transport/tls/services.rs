//! Other servers with TLS, which the server trusts or not.

use super::{certificate_file, is_possible};
use crate::serve::transport::service::Service;
use crate::serve::transport::start;
use crate::world::World;
use hashmill_testkit::wait;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

const KEYS: &str = include_str!("../../../../../../server/tests/tokens/keys.json");

/// A service with a certificate for `localhost`.
fn service(certificate: &str) -> Service {
    let chain = vec![CertificateDer::from_pem_file(certificate_file(certificate)).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(certificate_file("server.key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("versions");
    let config = config.with_no_client_auth().with_single_cert(chain, key).expect("a pair");
    let config = Arc::new(config);
    let wrap = move |mut stream: TcpStream| {
        let mut connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
        while connection.is_handshaking() {
            connection.complete_io(&mut stream).ok()?;
        }
        Some(StreamOwned::new(connection, stream))
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    Service::serve(listener, wrap, |_| Some((200, KEYS.to_owned())))
}

#[test]
fn keys_come_from_a_trusted_server_alone() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    let ca = certificate_file("ca.pem").into_os_string().into_string().expect("a path");
    let trusted = service("server.pem");
    let url = |service: &Service| format!("jwt-keys = \"https://localhost:{}/keys\"\n", service.port());
    let with_ca = |service: &Service| format!("{}ca-file = \"{ca}\"\n", url(service));
    let server = start(&world, &with_ca(&trusted));
    wait::until("keys", || server.status("/readyz") == 200);
    server.kill();
    #[cfg(unix)]
    for (settings, expected) in [
        (url(&trusted), "invalid peer certificate: UnknownIssuer; clients"),
        (with_ca(&service("expired.pem")), "invalid peer certificate: certificate expired: "),
    ] {
        let mut server = start(&world, &settings);
        let mut line = String::new();
        let mut messages = std::io::BufReader::new(server.child.stderr.take().expect("a pipe"));
        std::io::BufRead::read_line(&mut messages, &mut line).expect("a line");
        assert!(line.contains(expected), "{expected}: {line}");
        assert_eq!(server.status("/readyz"), 503);
    }
}

#[test]
fn files_of_authorities_have_certificates() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    world.write("empty.pem", "");
    for (file, expected) in [
        ("empty.pem", "empty.pem: it contains no certificate that can be used (PEM, BEGIN CERTIFICATE)"),
        ("missing.pem", "missing.pem: "),
    ] {
        let settings = format!("jwt-keys = \"https://localhost:1/keys\"\nca-file = \"{file}\"\n");
        world.write("settings.toml", settings);
        let done = world.serve(&["--settings", "settings.toml", "--listen", "127.0.0.1:0"]);
        assert!(done.code() != 0 && done.err.lines().count() == 1, "{done:?}");
        assert!(done.err.starts_with(&format!("hashmill: {expected}")), "{done:?}");
    }
}
