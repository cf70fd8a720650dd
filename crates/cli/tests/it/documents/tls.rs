//! `hashmill doc sync wss://…`: servers with TLS, those that are trusted and those that are not.

use crate::documents::server::{ID, serve, server, with};
use crate::world::World;
use hashmill_testkit::skip;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

/// The certificate authority of the test servers.
pub(crate) fn ca() -> String {
    file("ca.pem").into_os_string().into_string().expect("a path")
}

/// Whether TLS is available; prints SKIPPED otherwise.
pub(crate) fn is_possible() -> bool {
    let possible = graviola::util::is_cpu_supported();
    if !possible {
        skip("hashmill doc sync wss://", "this processor lacks the instructions");
    }
    possible
}

/// Starts a server of a document with this certificate and returns its port.
pub(crate) fn secure(certificate: &str) -> String {
    let chain = vec![CertificateDer::from_pem_file(file(certificate)).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(file("server.key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("versions");
    let config = config.with_no_client_auth().with_single_cert(chain, key).expect("a pair");
    let url = server(move |stream| {
        let connection = ServerConnection::new(Arc::new(config)).expect("a connection");
        // The handshake fails for an untrusted server.
        if let Ok(mut socket) = tungstenite::accept(StreamOwned::new(connection, stream)) {
            serve(&mut socket, &Mutex::new(with("theirs")));
        }
    });
    url.rsplit_once(':').expect("a port").1.to_owned()
}

#[test]
fn syncs_with_a_trusted_server() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    for host in ["localhost", "127.0.0.1"] {
        world.write("mine.amrg", with("mine").save());
        let url = format!("wss://{host}:{}", secure("server.pem"));
        let output = world.in_doc(["sync", "mine.amrg", &url, "--id", ID, "--ca", &ca()]).quiet_success();
        assert_eq!(output, format!("mine.amrg: 1 change received, 1 sent, as automerge:{ID}\n"));
        assert_eq!(world.in_doc(["export", "mine.amrg"]).quiet_success(), "{\"mine\":1,\"theirs\":1}\n");
    }
}

#[test]
fn sends_nothing_to_untrusted_servers() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    world.write("mine.amrg", with("mine").save()).write("none.pem", "no certificate");
    let url = |host: &str, certificate| format!("wss://{host}:{}", secure(certificate));
    let ca = ca();
    let trusting = ["--ca", &ca];
    // The system does not trust its issuer.
    let reason = world
        .in_vain_with(&url("localhost", "server.pem"), &["--ca", &file("server.pem").display().to_string()]);
    assert_eq!(reason, "its certificate has no trusted issuer (see --ca)");
    let reason = world.in_vain_with(&url("localhost", "expired.pem"), &trusting);
    assert!(reason.starts_with("its certificate is refused: certificate expired"), "{reason}");
    let reason = world.in_vain_with(&url("localhost", "elsewhere.pem"), &trusting);
    assert!(reason.starts_with("its certificate is refused: certificate not valid for name"), "{reason}");
    // A server without TLS, one that disconnects, one that is silent.
    let plain = |serve: fn(TcpStream)| server(serve).replace("ws://127.0.0.1", "wss://localhost");
    let silence = |mut stream: TcpStream| drop(stream.read_to_end(&mut Vec::new()));
    let reason = world.in_vain_with(
        &plain(|mut stream| {
            drop(stream.read(&mut [0; 4096]));
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }),
        &trusting,
    );
    assert!(reason.starts_with("not a TLS server, or a faulty one: "), "{reason}");
    assert_eq!(world.in_vain_with(&plain(drop), &trusting), "closed the connection");
    world.in_silence(&plain(silence), &trusting);

    let wss = "wss://localhost:1";
    let none = ["sync", "mine.amrg", wss, "--id", ID, "--ca", "none.pem"];
    world.in_doc(none).failure(1, &["none.pem: it contains no certificate (PEM, BEGIN CERTIFICATE)"]);
    let missing = world.in_doc(["sync", "mine.amrg", wss, "--id", ID, "--ca", "missing.pem"]);
    assert!(missing.code() == 1 && missing.err.starts_with("hashmill: missing.pem: "), "{missing:?}");
}
