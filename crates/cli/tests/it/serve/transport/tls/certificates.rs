//! Certificates of a server: clients with TLS, new files, damaged ones, hostile handshakes.

use super::secure::{connect, open, secure_get, shown_certificate};
use super::{certificate_file, is_possible, put_certificate, start, start_secure};
use crate::serve::{client, put, wait_for};
use crate::world::World;
use hashmill_repo::{DocumentId, SyncStatus};
use hashmill_testkit::wait;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

/// More than the server has in flight.
const HALF_HANDSHAKES: usize = 600;

fn id() -> DocumentId {
    DocumentId::from_random_bytes([1; 16])
}

/// The start of a handshake: a record of 500 bytes, of which the first are there.
const HALF_HANDSHAKE: &[u8] = &[22, 3, 1, 1, 244, 1, 0, 1, 240, 3, 3];

#[test]
fn clients_and_commands_reach_a_server_with_tls() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    let server = start_secure(&world, "");
    let port = server.address.rsplit_once(':').expect("a port").1;
    let ca = certificate_file("ca.pem").into_os_string().into_string().expect("a path");
    let url = format!("wss://localhost:{port}");
    world.in_doc(["new", "mine.amrg"]).quiet_success();
    world.in_doc(["put", "mine.amrg", "/title", "\"Hi\""]).quiet_success();
    let output = world.in_doc(["sync", "mine.amrg", &url, "--new", "--ca", &ca]).quiet_success();
    let id = output.trim_end().rsplit_once("automerge:").expect("an id").1.to_owned();
    world.in_doc(["sync", "theirs.amrg", &url, "--id", &id, "--ca", &ca]).quiet_success();
    assert_eq!(world.in_doc(["export", "theirs.amrg"]).quiet_success(), "{\"title\":\"Hi\"}\n");
    for path in ["/healthz", "/readyz"] {
        assert!(secure_get(&server, path).starts_with("HTTP/1.1 200 "), "{path}");
    }
    let expiry = "\nhashmill_certificate_expiry_timestamp_seconds 4906457717\n";
    assert!(secure_get(&server, "/metrics").contains(expiry));
    // A client without TLS gets an answer that says so.
    let plain = server.get("/healthz");
    assert!(plain.starts_with("HTTP/1.1 400 "), "{plain}");
    assert!(plain.ends_with("this port speaks TLS: connect with https:// or wss://\n"), "{plain}");
    // Commands of the operator need no certificate.
    let deleted = world.serve(&["delete", &id, "--data", "store"]).quiet_success();
    assert_eq!(deleted, format!("deleted {id}\n"));
    // A client that does not trust the authority is told so, and the operator.
    let done = world.in_doc(["sync", "other.amrg", &url, "--id", &id]);
    assert_eq!(done.code(), 1, "{done:?}");
    #[cfg(unix)]
    {
        let err = server.stop().err;
        assert!(err.contains("refuses the server's certificate: UnknownCA\n"), "{err}");
    }
}

#[test]
fn new_files_act_on_new_connections_and_open_ones_go_on() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    let server = start_secure(&world, "");
    let mut ann = client("ann", &id());
    let mut socket = open(&server);
    put(&mut ann, &id(), vec![1]);
    wait_for(&mut socket, &mut ann, &id(), SyncStatus::InSync);
    let file = |name| CertificateDer::from_pem_file(certificate_file(name)).expect("one").to_vec();
    let [first, second] = ["server.pem", "other.pem"].map(file);
    assert_eq!(shown_certificate(&connect(&server.address)), first);
    put_certificate(&world, "other.pem", "other.key.pem");
    wait::until("the new certificate", || shown_certificate(&connect(&server.address)) == second);
    put(&mut ann, &id(), vec![2]);
    wait_for(&mut socket, &mut ann, &id(), SyncStatus::InSync);
    put_certificate(&world, "server.pem", "server.key.pem");
    wait::until("the first certificate", || shown_certificate(&connect(&server.address)) == first);
    put(&mut ann, &id(), vec![3]);
    wait_for(&mut socket, &mut ann, &id(), SyncStatus::InSync);
    #[cfg(unix)]
    {
        let err = server.stop().err;
        let used = err.lines().filter(|line| line.contains("a new certificate is used, until 2125-06-24T"));
        assert_eq!(used.count(), 2, "{err}");
    }
}

#[test]
#[cfg(unix)]
fn files_that_stay_damaged_are_reported_once() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    let mut server = start_secure(&world, "");
    let mut messages = std::io::BufReader::new(server.child.stderr.take().expect("a pipe"));
    let mut next_message = || {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut messages, &mut line).expect("a line");
        line
    };
    let stays = "the earlier certificate stays until it is repaired\n";
    // The key of another certificate.
    world.write("cert.pem", fs::read(certificate_file("other.pem")).expect("a file"));
    let line = next_message();
    let expected = "hashmill: key.pem: it is not the key of the certificate in cert.pem: name the two files";
    assert!(line.starts_with(expected) && line.ends_with(stays), "{line}");
    // The next message is about the next contents: the first ones are not told again.
    fs::remove_file(world.path("cert.pem")).expect("a file");
    let line = next_message();
    assert!(line.starts_with("hashmill: cert.pem: ") && line.ends_with(stays), "{line}");
    put_certificate(&world, "other.pem", "other.key.pem");
    assert!(next_message().starts_with("hashmill: a new certificate is used, until 2125-"));
    drop(connect(&server.address));
}

#[test]
fn hostile_handshakes_cost_their_own_connections_alone() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    let server = start_secure(&world, "metrics = true\n");
    let mut ann = client("ann", &id());
    let mut socket = open(&server);
    put(&mut ann, &id(), vec![1]);
    wait_for(&mut socket, &mut ann, &id(), SyncStatus::InSync);
    let connect_raw = || TcpStream::connect(&server.address).expect("a server");
    // Garbage, a whole record of garbage, and a connection that ends in its handshake.
    for garbage in [&[0; 100][..], &[22, 3, 1, 0, 4, 1, 0, 0, 0], &[22, 3, 1, 0xff, 0xff, 1], HALF_HANDSHAKE]
    {
        let mut stream = connect_raw();
        stream.write_all(garbage).expect("a server");
        stream.shutdown(std::net::Shutdown::Write).expect("a socket");
        // An alert, or nothing: the server may reset a connection that it has not read to its end.
        drop(stream.read_to_end(&mut Vec::new()));
    }
    drop(connect_raw());
    // The oldest handshakes make room, and the others delay no client.
    let mut streams: Vec<TcpStream> = (0..HALF_HANDSHAKES).map(|_| connect_raw()).collect();
    for stream in &mut streams {
        // The server may have given it up.
        drop(stream.write_all(HALF_HANDSHAKE));
    }
    let mut ben = client("ben", &id());
    let mut other = open(&server);
    wait_for(&mut other, &mut ben, &id(), SyncStatus::InSync);
    put(&mut ann, &id(), vec![2]);
    wait_for(&mut socket, &mut ann, &id(), SyncStatus::InSync);
    wait::until("handshakes that were given up", || {
        let metrics = secure_get(&server, "/metrics");
        let failed = metrics.lines().find_map(|line| line.strip_prefix("hashmill_failed_handshakes_total "));
        failed.expect("a metric").parse::<usize>().expect("a number") >= 5 + HALF_HANDSHAKES - 512
    });
    drop(streams);
    drop(connect(&server.address));
}

#[test]
fn unusable_files_are_refused_in_one_line() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    for name in ["server.pem", "server.key.pem", "other.key.pem"] {
        world.write(name, fs::read(certificate_file(name)).expect("a file of the tests"));
    }
    world.write("empty", "");
    world.write("folder/file", "");
    for (certificate, key, expected) in [
        ("server.pem", "", "tls-cert needs tls-key: name the file of the certificate's private key"),
        ("", "server.key.pem", "tls-key needs tls-cert: name the file of the certificate"),
        ("missing.pem", "server.key.pem", "missing.pem: "),
        ("folder", "server.key.pem", "folder: "),
        ("empty", "server.key.pem", "empty: it contains no certificate (PEM, BEGIN CERTIFICATE)"),
        ("server.pem", "empty", "empty: it contains no private key (PEM, BEGIN PRIVATE KEY)"),
        (
            "server.pem",
            "other.key.pem",
            "other.key.pem: it is not the key of the certificate in server.pem: name the two files",
        ),
    ] {
        world.write("settings.toml", format!("tls-cert = \"{certificate}\"\ntls-key = \"{key}\"\n"));
        let done = world.serve(&["--settings", "settings.toml", "--listen", "127.0.0.1:0"]);
        assert!(done.code() != 0 && done.err.lines().count() == 1, "{expected}: {done:?}");
        assert!(done.err.starts_with(&format!("hashmill: {expected}")), "{expected}: {done:?}");
    }
    assert!(!world.path("hashmill-data").exists(), "nothing was created");
}

#[test]
#[cfg(unix)]
fn readable_keys_and_ended_certificates_are_reported() {
    if !is_possible() {
        return;
    }
    let world = World::new();
    put_certificate(&world, "expired.pem", "server.key.pem");
    super::set_mode(&world, "key.pem", 0o644);
    let mut server = start(&world, "tls-cert = \"cert.pem\"\ntls-key = \"key.pem\"\n");
    let mut messages = std::io::BufReader::new(server.child.stderr.take().expect("a pipe"));
    for expected in [
        "hashmill: key.pem: every user of this machine may read the private key: chmod 600 it\n",
        "hashmill: the certificate (tls-cert) has ended: clients refuse it; replace the files\n",
    ] {
        let mut line = String::new();
        std::io::BufRead::read_line(&mut messages, &mut line).expect("a line");
        assert_eq!(line, expected);
    }
}
