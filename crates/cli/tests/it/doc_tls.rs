//! `hashmill doc sync wss://…`: servers with TLS, those that are trusted and those that are not.

use crate::doc_server::{ID, serve, server, with};
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

/// The authority that the servers here are known by.
pub(crate) fn ca() -> String {
    file("ca.pem").into_os_string().into_string().expect("a path")
}

/// Whether TLS can be had here; otherwise that is said.
pub(crate) fn is_possible() -> bool {
    let possible = graviola::util::is_cpu_supported();
    if !possible {
        skip("hashmill doc sync wss://", "this processor lacks the instructions");
    }
    possible
}

/// A server of a document, who shows this certificate. Its port.
pub(crate) fn secure(certificate: &str) -> String {
    let chain = vec![CertificateDer::from_pem_file(file(certificate)).expect("a certificate")];
    let key = PrivateKeyDer::from_pem_file(file("server.key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(rustls_graviola::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("versions");
    let config = config.with_no_client_auth().with_single_cert(chain, key).expect("a pair");
    let url = server(move |stream| {
        let connection = ServerConnection::new(Arc::new(config)).expect("a connection");
        // Who is not trusted hears so in the first exchange.
        if let Ok(mut socket) = tungstenite::accept(StreamOwned::new(connection, stream)) {
            serve(&mut socket, &Mutex::new(with("theirs")));
        }
    });
    url.rsplit_once(':').expect("a port").1.to_owned()
}

#[test]
fn a_server_that_is_trusted_and_a_file_learn_from_each_other() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    for host in ["localhost", "127.0.0.1"] {
        world.write("mine.amrg", with("mine").save());
        let url = format!("wss://{host}:{}", secure("server.pem"));
        let said = world.in_doc(["sync", "mine.amrg", &url, "--id", ID, "--ca", &ca()]).quiet_success();
        assert_eq!(said, format!("mine.amrg: 1 change received, 1 sent, as automerge:{ID}\n"));
        assert_eq!(world.in_doc(["export", "mine.amrg"]).quiet_success(), "{\"mine\":1,\"theirs\":1}\n");
    }
}

#[test]
fn a_server_that_is_not_trusted_gets_nothing() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    world.write("mine.amrg", with("mine").save()).write("none.pem", "no certificate");
    let url = |host: &str, certificate| format!("wss://{host}:{}", secure(certificate));
    let ca = ca();
    let trusting = ["--ca", &ca];
    // Nobody whom the system trusts has signed it.
    let why = world
        .in_vain_with(&url("localhost", "server.pem"), &["--ca", &file("server.pem").display().to_string()]);
    assert_eq!(why, "its certificate is signed by nobody who is trusted here (see --ca)");
    let why = world.in_vain_with(&url("localhost", "expired.pem"), &trusting);
    assert!(why.starts_with("its certificate is refused: certificate expired"), "{why}");
    let why = world.in_vain_with(&url("localhost", "elsewhere.pem"), &trusting);
    assert!(why.starts_with("its certificate is refused: certificate not valid for name"), "{why}");
    // A server without TLS, one that goes, one that says nothing.
    let plain = |serve: fn(TcpStream)| server(serve).replace("ws://127.0.0.1", "wss://localhost");
    let silence = |mut stream: TcpStream| drop(stream.read_to_end(&mut Vec::new()));
    let why = world.in_vain_with(
        &plain(|mut stream| {
            drop(stream.read(&mut [0; 4096]));
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }),
        &trusting,
    );
    assert!(why.starts_with("is no server with TLS, or a broken one: "), "{why}");
    assert_eq!(world.in_vain_with(&plain(drop), &trusting), "closed the connection");
    assert_eq!(world.in_vain_with(&plain(silence), &trusting), "did not answer for 1 s (see --timeout)");

    let wss = "wss://localhost:1";
    let none = ["sync", "mine.amrg", wss, "--id", ID, "--ca", "none.pem"];
    world.in_doc(none).failure(1, &["none.pem: there is no certificate in it (PEM, BEGIN CERTIFICATE)"]);
    let missing = world.in_doc(["sync", "mine.amrg", wss, "--id", ID, "--ca", "missing.pem"]);
    assert!(missing.code() == 1 && missing.err.starts_with("hashmill: missing.pem: "), "{missing:?}");
}
