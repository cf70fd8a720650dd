//! `hashmill serve doctor`, as its users run it.

use crate::serve::{Server, client, put, wait_for};
use crate::world::{Done, World, hashmill};
use hashmill_repo::{DocumentId, SyncStatus};
use std::process::Command;

/// Names of findings.
fn names(done: &Done) -> Vec<String> {
    let report: serde_json::Value = serde_json::from_slice(&done.out).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    findings.iter().map(|finding| finding["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn findings_are_printed_for_people_and_programs() {
    let world = World::new();
    // Independent of the machine: the others depend on its disk, its memory and its limits.
    world.write("settings.toml", "undelete-days = 0\nmax-connections = 1000000000\nmemory-mib = 100000000\n");
    let args = ["doctor", "--settings", "settings.toml", "--data", "store"];
    let done = world.serve(&args);
    assert_eq!(done.code(), 1, "{done:?}");
    let text = done.text();
    for line in
        ["no-undelete: undelete-days = 0: ", "open-files: 1000000000 connections need 1000000064 open files"]
    {
        assert!(text.lines().any(|there| there.starts_with(line)), "{text}");
    }
    let done = world.serve(&[&args[..], &["--json"]].concat());
    let names = names(&done);
    assert!(
        ["no-undelete", "open-files"].iter().all(|name| names.iter().any(|found| found == name)),
        "{names:?}"
    );
    assert!(!world.path("store").exists(), "nothing was created");
    world.write("wrong.toml", "undelete-day = 0\n");
    let done = world.serve(&["doctor", "--settings", "wrong.toml"]);
    assert_eq!((done.code(), done.err.lines().count()), (2, 1), "{done:?}");
}

/// Documents are read while a server uses them, and what is set more openly than needed is found.
#[test]
#[cfg(unix)]
fn a_running_server_is_examined() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    world.write("settings.toml", "max-connections = 10\nmemory-mib = 1\n");
    std::fs::set_permissions(world.path("settings.toml"), std::fs::Permissions::from_mode(0o600))
        .expect("ours");
    let server =
        Server::start_with(&world, Command::new(hashmill()).arg("serve"), &["--settings", "settings.toml"]);
    let id = DocumentId::from_random_bytes([1; 16]);
    let mut ann = client("ann", &id);
    put(&mut ann, &id, vec![1]);
    wait_for(&mut server.connect(), &mut ann, &id, SyncStatus::InSync);
    let args = ["doctor", "--settings", "settings.toml", "--data", "store", "--json"];
    let found = |args: &[&str]| names(&world.serve(args));
    // The disk of a test may be anything.
    let of_disk = ["volatile-storage", "network-storage", "no-fsync", "free-space"];
    let rest = |names: Vec<String>| -> Vec<String> {
        names.into_iter().filter(|name| !of_disk.contains(&name.as_str())).collect()
    };
    assert_eq!(rest(found(&args)), Vec::<String>::new());
    std::fs::set_permissions(world.path("settings.toml"), std::fs::Permissions::from_mode(0o666))
        .expect("ours");
    assert_eq!(rest(found(&args)), ["readable-files"]);
    let open = [&args[..], &["--listen", "0.0.0.0:0", "--open-to-all"]].concat();
    assert_eq!(rest(found(&open)), ["open-to-all", "no-tls", "readable-files"]);
    server.kill();
    assert_eq!(rest(found(&args)), ["readable-files"]);
}
