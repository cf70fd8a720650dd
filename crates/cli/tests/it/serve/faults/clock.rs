//! A clock that is set while the server runs, by libfaketime. Tokens and deletions go by it, and nothing else does.

use crate::serve::rights::{SECRET, claims, now, open, signed, write_private};
use crate::serve::{Server, client, put, wait_for};
use crate::world::{World, hashmill};
use hashmill_doc::Document;
use hashmill_repo::{DocumentId, SyncStatus};
use hashmill_testkit::skip;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library that gives a program another clock.
fn library() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path().join("faketime"));
    folders.map(|folder| folder.join("libfaketime.so.1")).find(|path| path.exists())
}

/// Sets the clock of the server.
fn set_clock(world: &World, offset: &str) {
    // The server reads the file at any moment, so it is replaced whole.
    world.write("new-offset", format!("{offset}\n"));
    fs::rename(world.path("new-offset"), world.path("offset")).expect("a file");
}

fn start(world: &World, library: &Path) -> Server {
    let mut command = Command::new(hashmill());
    command.arg("serve").env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", world.path("offset"));
    command.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    Server::start_with(world, &mut command, &["--settings", "settings.toml"])
}

#[test]
fn clients_go_on_while_the_clock_is_set() {
    let Some(library) = library() else {
        return skip("a clock that is set", "no libfaketime here; Debian: apt-get install faketime");
    };
    let world = World::new();
    write_private(&world, "secret", SECRET);
    world.write("settings.toml", "jwt-secret = \"secret\"\nundelete-days = 1\n");
    set_clock(&world, "+0");
    let server = start(&world, &library);
    let rights = r#","documents":{"*":"write"}"#;
    let lasting = signed(&claims(100 * 24 * 3600, rights));
    let short = signed(&claims(3600, rights));
    let ids = [1, 2].map(|number| DocumentId::from_random_bytes([number; 16]));
    let mut ann = client("ann", &ids[0]);
    ann.add(ids[1].clone(), Document::new());
    let mut socket = open(&server, &lasting).expect("a sound token");
    let mut edit = |socket: &mut _, number: u8| {
        for id in &ids {
            put(&mut ann, id, vec![number]);
            wait_for(socket, &mut ann, id, SyncStatus::InSync);
        }
    };
    edit(&mut socket, 1);

    let short_lived = open(&server, &short).expect("a sound token");
    set_clock(&world, "+2h");
    short_lived.wait_for_close();
    let (status, reason) = open(&server, &short).err().expect("it has expired");
    assert!(status == 401 && reason.contains("correct the clock of the server"), "{status} {reason}");
    edit(&mut socket, 2);

    set_clock(&world, "-2d");
    let from_now = format!(r#","nbf":{}{rights}"#, now());
    let (status, reason) = open(&server, &signed(&claims(3600, &from_now))).err().expect("not yet");
    assert!(status == 401 && reason.contains("compare the clocks"), "{status} {reason}");
    edit(&mut socket, 3);

    // A document that was deleted before the clock went back is not purged, and can be brought back.
    set_clock(&world, "+1d");
    world.serve(&["delete", &ids[1].to_string(), "--data", "store"]).quiet_success();
    set_clock(&world, "-2d");
    world.serve(&["undelete", &ids[1].to_string(), "--data", "store"]).quiet_success();
    edit(&mut socket, 4);

    // It starts with a clock of the past, and has everything.
    server.kill();
    set_clock(&world, "-20y");
    let server = start(&world, &library);
    let mut late = client("late", &ids[0]);
    late.add(ids[1].clone(), Document::new());
    let mut to_late = open(&server, &lasting).expect("a token that is not expired");
    for id in &ids {
        wait_for(&mut to_late, &mut late, id, SyncStatus::InSync);
        assert_eq!(late.document(id).expect("it was added").stats().changes, 4);
    }
}
