//! Deletion of documents, by a running server and in a storage that no server uses.

use super::{Server, Socket, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_repo::{Client, DocumentId, SyncStatus};
use hashmill_testkit::wait;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

fn id() -> DocumentId {
    DocumentId::from_random_bytes([1; 16])
}

fn wait_until_unavailable(socket: &mut Socket, client: &mut Client) {
    wait::until("an absent document", || {
        socket.exchange(client).expect("an open socket");
        client.conversation(&id()).expect("it was added").is_unavailable()
    });
}

fn run(world: &World, command: &str, document: &DocumentId) -> String {
    world.serve(&[command, &document.to_string(), "--data", "store"]).quiet_success()
}

#[test]
fn a_running_server_deletes_and_brings_back_at_once() {
    let world = World::new();
    let server = Server::start(&world);
    let (mut ann, mut ben) = (client("ann", &id()), client("ben", &id()));
    let (mut to_ann, mut to_ben) = (server.connect(), server.connect());
    put(&mut ann, &id(), vec![1]);
    wait_for(&mut to_ann, &mut ann, &id(), SyncStatus::InSync);
    wait_for(&mut to_ben, &mut ben, &id(), SyncStatus::InSync);
    assert_eq!(run(&world, "delete", &id()), format!("deleted {}\n", id()));
    wait_until_unavailable(&mut to_ann, &mut ann);
    wait_until_unavailable(&mut to_ben, &mut ben);
    // An edit of a client that still has it does not bring it back, also after a restart.
    put(&mut ann, &id(), vec![2]);
    to_ann.exchange(&mut ann).expect("an open socket");
    server.kill();
    let server = Server::start(&world);
    let (mut to_ann, mut to_ben) = (server.connect(), server.connect());
    ann.connect();
    ben.connect();
    wait_until_unavailable(&mut to_ann, &mut ann);
    wait_until_unavailable(&mut to_ben, &mut ben);
    assert_eq!(ben.document(&id()).expect("it was added").stats().changes, 1);
    assert_eq!(run(&world, "undelete", &id()), format!("brought {} back\n", id()));
    wait_for(&mut to_ann, &mut ann, &id(), SyncStatus::InSync);
    wait::until("both changes", || {
        to_ben.exchange(&mut ben).expect("an open socket");
        ben.document(&id()).expect("it was added").stats().changes == 2
    });
}

#[test]
fn a_storage_without_a_server_is_changed_directly() {
    let world = World::new();
    let server = Server::start(&world);
    let mut ann = client("ann", &id());
    put(&mut ann, &id(), vec![1]);
    wait_for(&mut server.connect(), &mut ann, &id(), SyncStatus::InSync);
    server.kill();
    assert_eq!(run(&world, "delete", &id()), format!("deleted {}\n", id()));
    // The formats of other programs have no tombstones.
    let done = world.serve(&["export", "copy", "--data", "store"]);
    assert_eq!(
        done.quiet_success(),
        "exported to copy: 0 documents, 0 chunks, 0 bytes, 1 deleted and left out\n"
    );
    let server = Server::start(&world);
    ann.connect();
    wait_until_unavailable(&mut server.connect(), &mut ann);
    server.kill();
    assert_eq!(run(&world, "undelete", &id()), format!("brought {} back\n", id()));
    world.serve(&["export", "whole", "--data", "store"]).quiet_success();
    run(&world, "delete", &id());
    let done = world.serve(&["import", "whole", "--data", "store"]);
    assert!(done.err.contains("is deleted here and was not imported"), "{done:?}");
    assert_eq!(done.code(), 0, "{done:?}");
}

#[test]
fn contents_are_removed_when_the_period_is_over() {
    let world = World::new();
    world.write("settings.toml", "undelete-days = 0\n");
    let server =
        Server::start_with(&world, Command::new(hashmill()).arg("serve"), &["--settings", "settings.toml"]);
    let mut ann = client("ann", &id());
    put(&mut ann, &id(), vec![1]);
    wait_for(&mut server.connect(), &mut ann, &id(), SyncStatus::InSync);
    run(&world, "delete", &id());
    let purged = format!("{}: it was deleted so long ago that its contents were removed", id());
    wait::until("a purge", || {
        let done = world.serve(&["undelete", &id().to_string(), "--data", "store"]);
        if done.code() == 0 {
            // It was brought back before.
            run(&world, "delete", &id());
            return false;
        }
        done.failure(1, &[&purged]);
        true
    });
    ann.connect();
    wait_until_unavailable(&mut server.connect(), &mut ann);
    server.kill();
    let done = world.serve(&["check", "--data", "store"]);
    assert_eq!(done.quiet_success(), "checked store: 0 documents, 0 chunks, 0 bytes\n");
}

#[test]
fn commands_that_cannot_be_carried_out_say_why() {
    let world = World::new();
    let absent = format!("{}: there is no such document", id());
    let text = id().to_string();
    world
        .serve(&["delete", &text, "--data", "none"])
        .failure(1, &["none: no storage of hashmill serve is there"]);
    world.serve(&["delete", "zzz", "--data", "none"]).failure(2, &["zzz: not the id or URL of a document"]);
    let server = Server::start(&world);
    world.serve(&["delete", &text, "--data", "store"]).failure(1, &[&absent]);
    world.serve(&["undelete", &text, "--data", "store"]).failure(1, &[&absent]);
    server.kill();
    world.serve(&["delete", &text, "--data", "store"]).failure(1, &[&absent]);
}

/// The token is in a file of the owner alone, and requests without it, of pages and of other paths are refused.
#[test]
#[cfg(unix)]
fn requests_of_others_are_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let server = Server::start(&world);
    let path = world.path("store/admin.json");
    assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    let access: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    assert_eq!(access["address"], server.address);
    let token = format!("authorization: Bearer {}\r\n", access["token"].as_str().expect("a token"));
    let status = |method: &str, host: &str, headers: &str| {
        let mut stream = TcpStream::connect(&server.address).expect("a server");
        let path = format!("/admin/documents/{}/delete", id());
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n")
            .expect("a server");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains("content-type: application/json"), "{answer}");
        answer.split(' ').nth(1).and_then(|code| code.parse::<u16>().ok()).expect("a status")
    };
    let host = server.address.as_str();
    assert_eq!(status("POST", host, &token), 404, "there is no such document");
    assert_eq!(status("GET", host, &token), 405);
    assert_eq!(status("POST", host, ""), 401);
    assert_eq!(status("POST", host, "authorization: Bearer hm_x\r\n"), 401);
    assert_eq!(status("POST", "example.org", &token), 403);
    assert_eq!(status("POST", host, &format!("{token}origin: http://example.org\r\n")), 403);
    // Each start has a token of its own.
    server.kill();
    let server = Server::start(&world);
    let next: serde_json::Value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
    assert_ne!(next["token"], access["token"]);
    server.kill();
}
