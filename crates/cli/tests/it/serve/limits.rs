//! Limits of clients, metrics, and messages for programs.

use super::{Server, Socket, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_doc::Document;
use hashmill_repo::{DocumentId, SyncStatus};
use hashmill_testkit::{Rng, wait};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

fn start(world: &World, settings: &str, args: &[&str]) -> Server {
    world.write("settings.toml", settings);
    let args = [&["--settings", "settings.toml"], args].concat();
    Server::start_with(world, Command::new(hashmill()).arg("serve"), &args)
}

/// The samples of `/metrics` without labels.
fn metrics(server: &Server) -> BTreeMap<String, f64> {
    let answer = server.get("/metrics");
    assert!(answer.contains("content-type: text/plain; version=0.0.4"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    let samples = body.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| line.rsplit_once(' ').expect("a value"))
        .map(|(name, value)| (name.to_owned(), value.parse().expect("a number")))
        .collect()
}

#[test]
fn metrics_count_what_clients_do() {
    let world = World::new();
    let server = start(&world, "max-document-mib = 1\n", &[]);
    let ids = [1, 2].map(|number| DocumentId::from_random_bytes([number; 16]));
    let mut ann = client("ann", &ids[0]);
    ann.add(ids[1].clone(), Document::new());
    put(&mut ann, &ids[0], vec![1]);
    let mut socket = server.connect();
    wait_for(&mut socket, &mut ann, &ids[0], SyncStatus::InSync);
    put(&mut ann, &ids[1], Rng::new(1).bytes(2 << 20));
    wait_for(&mut socket, &mut ann, &ids[1], SyncStatus::ReadOnlyPeer);
    let samples = metrics(&server);
    for (name, value) in [
        ("connections", 1.0),
        ("documents_open", 2.0),
        ("documents_quarantined", 1.0),
        ("changes_total", 1.0),
        ("commits_total", 1.0),
        ("commit_duration_seconds_count", 1.0),
        ("quarantines_total", 1.0),
        ("refused_clients_total", 0.0),
        ("storage_failing", 0.0),
    ] {
        assert_eq!(samples[&format!("hashmill_{name}")], value, "{name}");
    }
    assert!(samples["hashmill_received_bytes_total"] > 2e6);
    assert!(samples["hashmill_document_memory_bytes"] > 0.0);
    drop(socket);
    wait::until("a closed connection", || metrics(&server)["hashmill_connections"] == 0.0);
}

#[test]
fn metrics_can_be_off() {
    let world = World::new();
    assert_eq!(start(&world, "metrics = false\n", &[]).status("/metrics"), 404);
}

#[test]
fn connections_of_one_address_are_limited() {
    let world = World::new();
    let server = start(&world, "max-connections-per-address = 2\n", &[]);
    let first = server.connect();
    let _second = server.connect();
    assert_eq!(server.status("/healthz"), 429);
    let (status, text) = Socket::try_open(&server.address, "/", &[]).err().expect("too many");
    assert_eq!((status, text.as_str()), (429, "too many connections from this address\n"));
    drop(first);
    wait::until("a free place", || Socket::try_open(&server.address, "/", &[]).is_ok());
}

#[test]
fn connections_of_one_identity_are_limited() {
    let world = World::new();
    let server = start(&world, "max-connections-per-identity = 1\n", &[]);
    let first = server.connect();
    server.connect().wait_for_close();
    drop(first);
    let id = DocumentId::from_random_bytes([1; 16]);
    let mut ann = client("ann", &id);
    put(&mut ann, &id, vec![1]);
    // The server may hear late that the first has gone.
    wait::until("a sync", || {
        ann.connect();
        let mut socket = server.connect();
        loop {
            match socket.exchange(&mut ann) {
                Ok(()) if ann.status(&id) == Some(SyncStatus::InSync) => return true,
                Ok(()) => {}
                Err(_) => return false,
            }
        }
    });
}

/// Every message arrives, although the client sends faster than it may.
#[test]
fn fast_clients_lose_nothing() {
    let world = World::new();
    let server = start(&world, "max-messages-per-second = 40\n", &[]);
    let id = DocumentId::from_random_bytes([1; 16]);
    let mut ann = client("ann", &id);
    let mut socket = server.connect();
    for value in 0..120 {
        put(&mut ann, &id, vec![value]);
        socket.exchange(&mut ann).expect("an open socket");
    }
    wait_for(&mut socket, &mut ann, &id, SyncStatus::InSync);
    let mut ben = client("ben", &id);
    wait_for(&mut server.connect(), &mut ben, &id, SyncStatus::InSync);
    assert_eq!(ben.document(&id).expect("it was added").stats().changes, 120);
}

#[test]
#[cfg(unix)]
fn messages_are_lines_for_people_or_objects_for_programs() {
    let world = World::new();
    let settings = "max-document-mib = 1\nanonymous = \"write\"\n";
    let server = start(&world, settings, &["--log", "json"]);
    assert!(Socket::try_open(&server.address, "/?token=wrong", &[]).is_err());
    let id = DocumentId::from_random_bytes([1; 16]);
    let mut ann = client("ann", &id);
    put(&mut ann, &id, Rng::new(1).bytes(2 << 20));
    wait_for(&mut server.connect(), &mut ann, &id, SyncStatus::ReadOnlyPeer);
    let done = server.stop();
    let lines: Vec<Value> = done
        .err
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().expect("a name")).collect();
    assert_eq!(events, ["client-refused", "quarantined", "stopping", "drained"], "{done:?}");
    assert_eq!(lines[1]["document"], id.to_string());
    for line in &lines {
        assert!(line["message"].as_str().is_some_and(|text| !text.is_empty()));
        assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z') && time.len() == 20));
        assert!(["info", "warning", "error"].contains(&line["level"].as_str().expect("a level")));
    }
    assert!(!done.err.contains("wrong\""), "no token in messages");
}

/// The bytes of all documents of an identity are counted in the storage, so a new start changes nothing.
#[test]
fn stored_bytes_of_one_identity_are_limited() {
    let world = World::new();
    let settings = "max-stored-mib-per-identity = 1\n";
    let server = start(&world, settings, &[]);
    let ids = [1, 2].map(|number| DocumentId::from_random_bytes([number; 16]));
    let mut ann = client("ann", &ids[0]);
    ann.add(ids[1].clone(), Document::new());
    let mut socket = server.connect();
    put(&mut ann, &ids[0], Rng::new(1).bytes(700 << 10));
    wait_for(&mut socket, &mut ann, &ids[0], SyncStatus::InSync);
    put(&mut ann, &ids[1], Rng::new(2).bytes(700 << 10));
    wait_for(&mut socket, &mut ann, &ids[1], SyncStatus::ReadOnlyPeer);
    server.kill();
    let server = start(&world, settings, &[]);
    ann.connect();
    let mut socket = server.connect();
    wait_for(&mut socket, &mut ann, &ids[1], SyncStatus::ReadOnlyPeer);
    // What is there is read, and small changes are taken.
    put(&mut ann, &ids[0], vec![1]);
    wait_for(&mut socket, &mut ann, &ids[0], SyncStatus::InSync);
    assert_eq!(metrics(&server)["hashmill_quarantines_total"], 1.0);
}
