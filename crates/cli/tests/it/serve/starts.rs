//! Starting and stopping a server, and why it cannot start.

use super::Server;
use crate::world::{World, hashmill};
use std::fs;
use std::process::Command;

impl World {
    pub(super) fn serve(&self, args: &[&str]) -> crate::world::Done {
        let mut command = Command::new(hashmill());
        command.arg("serve").args(args).env_remove("PORT").env_remove("DATA_DIR");
        crate::world::finish(self.start(&mut command))
    }
}

#[test]
fn a_second_server_on_one_directory_is_refused() {
    let world = World::new();
    let server = Server::start(&world);
    let done = world.serve(&["--listen", "127.0.0.1:0", "--data", "store"]);
    done.failure(1, &["store: another server uses this directory: stop it, or choose another one"]);
    assert_eq!(server.status("/readyz"), 200);
}

#[test]
fn a_port_in_use_is_refused() {
    let world = World::new();
    let server = Server::start(&world);
    let done = world.serve(&["--listen", &server.address, "--data", "other"]);
    let reason = "the port is in use: stop the other program, or choose another port";
    done.failure(1, &[&format!("{}: {reason}", server.address)]);
}

#[test]
fn directories_of_other_programs_and_versions_are_refused() {
    let world = World::new();
    world.write("official/st/orage-adapter-id", "5638dcaa-8264-4cd2-a865-2a045e045ae2");
    let done = world.serve(&["--listen", "127.0.0.1:0", "--data", "official"]);
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
    assert!(done.err.contains("automerge-repo") && done.err.contains("serve import"), "{done:?}");
    assert_eq!(fs::read_dir(world.path("official")).expect("a folder").count(), 1);
    world.write("damaged/hashmill.redb", "no database");
    let done = world.serve(&["--listen", "127.0.0.1:0", "--data", "damaged"]);
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
    assert_eq!(fs::read(world.path("damaged/hashmill.redb")).expect("a file"), b"no database");
    world.write("file", "no folder");
    let done = world.serve(&["--listen", "127.0.0.1:0", "--data", "file"]);
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
}

/// Directories of servers that share a storage, and of their snapshots, look empty or like one of another program.
#[test]
fn directories_of_a_shared_storage_are_refused() {
    let world = World::new();
    world.write("node/hashmill-shared", "");
    Server::start(&world).kill();
    world.serve(&["backup", "backup", "--data", "store"]).quiet_success();
    world.serve(&["export", "whole", "--data", "store"]).quiet_success();
    for args in [
        &["--listen", "127.0.0.1:0", "--data", "node"][..],
        &["import", "node", "--data", "other"],
        &["import", "whole", "--data", "node"],
        &["export", "copy", "--data", "node"],
        &["check", "--data", "node"],
        &["backup", "copy", "--data", "node"],
        &["restore", "backup", "--data", "node", "--replace"],
        &["doctor", "--data", "node"],
    ] {
        let done = world.serve(args);
        assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{args:?} {done:?}");
        assert!(done.err.contains("node: servers share the storage of this directory"), "{args:?} {done:?}");
    }
    assert!(!world.path("other").exists() && !world.path("copy").exists(), "nothing was created");
    assert_eq!(fs::read_dir(world.path("node")).expect("a folder").count(), 1);
}

#[test]
fn other_machines_need_plain_words() {
    let world = World::new();
    let done = world.serve(&["--listen", "0.0.0.0:0"]);
    assert_eq!((done.code(), done.err.lines().count()), (2, 1), "{done:?}");
    assert!(done.err.contains("--open-to-all"), "{done:?}");
    assert_eq!(fs::read_dir(world.path("")).expect("a folder").count(), 0, "nothing was created");
}

#[test]
fn the_environment_of_the_official_server_is_understood() {
    let world = World::new();
    let mut command = Command::new(hashmill());
    command.arg("serve").env("PORT", "not a port").env("DATA_DIR", "there");
    let done = crate::world::finish(world.start(&mut command));
    done.failure(2, &["PORT=not a port: not a port"]);
    // Flags go before it, so the test needs no fixed port.
    let mut command = Command::new(hashmill());
    command.args(["serve", "--listen", "0.0.0.0:0"]).env("DATA_DIR", "there").env("PORT", "3030");
    assert_eq!(crate::world::finish(world.start(&mut command)).code(), 2);
}

#[test]
fn init_writes_settings_that_serve_reads() {
    let world = World::new();
    assert_eq!(world.serve(&["init", "settings.toml"]).quiet_success(), "");
    let done = world.serve(&["init", "settings.toml"]);
    done.failure(2, &["settings.toml: it exists already: name another file"]);
    let server =
        Server::start_with(&world, Command::new(hashmill()).arg("serve"), &["--settings", "settings.toml"]);
    assert_eq!(server.status("/healthz"), 200);
    world.write("wrong.toml", "lisen = \"127.0.0.1:1\"\n");
    let done = world.serve(&["--settings", "wrong.toml"]);
    assert_eq!((done.code(), done.err.lines().count()), (2, 1), "{done:?}");
    assert!(done.err.contains("wrong.toml: line 1: unknown field `lisen`"), "{done:?}");
}

#[test]
fn health_and_other_paths_are_answered() {
    let world = World::new();
    let server = Server::start(&world);
    for (path, status) in [("/healthz", 200), ("/readyz", 200), ("/", 200), ("/other", 404)] {
        assert_eq!(server.status(path), status, "{path}");
    }
}

#[test]
#[cfg(unix)]
fn a_signal_stops_it_in_order_and_the_storage_keeps_its_id() {
    let world = World::new();
    let server = Server::start(&world);
    let storage_id = server.storage_id.clone();
    let mut socket = server.connect();
    let done = server.stop();
    let notes = "storing what was received, then stopping\nhashmill: all received changes are stored\n";
    assert_eq!((done.code(), done.err), (0, format!("hashmill: {notes}")));
    hashmill_testkit::wait::until("a closed socket", || socket.next().is_err());
    let again = Server::start(&world);
    assert_eq!(again.storage_id, storage_id);
    again.kill();
    assert_eq!(Server::start(&world).storage_id, storage_id);
}
