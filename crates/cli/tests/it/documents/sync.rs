//! `hashmill doc sync` with files and directories, as a user runs it.

use crate::world::{Done, World, hashmill};
use std::fs;

impl World {
    pub(crate) fn in_doc<const N: usize>(&self, args: [&str; N]) -> Done {
        self.run(&hashmill(), ["doc"].into_iter().chain(args), b"")
    }

    /// A document, and a copy of it under another name.
    fn two_copies(&self, one: &str, other: &str) -> &World {
        self.in_doc(["new", one]).quiet_success();
        self.in_doc(["put", one, "/title", "\"Hi\""]).quiet_success();
        fs::copy(self.path(one), self.path(other)).expect("a copy");
        self
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("a file")
    }
}

#[test]
fn syncs_two_files() {
    let world = World::new();
    world.two_copies("a.amrg", "b.amrg");
    world.in_doc(["put", "a.amrg", "/a", "1"]).quiet_success();
    world.in_doc(["put", "a.amrg", "/b", "1"]).quiet_success();
    world.in_doc(["put", "b.amrg", "/c", "1"]).quiet_success();
    let output = world.in_doc(["sync", "a.amrg", "b.amrg"]).quiet_success();
    assert_eq!(output, "a.amrg: 1 change received, 2 sent\n");
    let all = "{\"a\":1,\"b\":1,\"c\":1,\"title\":\"Hi\"}\n";
    for file in ["a.amrg", "b.amrg"] {
        assert_eq!(world.in_doc(["export", file]).quiet_success(), all);
    }
    let line = world.in_doc(["sync", "b.amrg", "a.amrg", "--json"]).quiet_success();
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&line["path"], &line["with"]), (&"b.amrg".into(), &"a.amrg".into()));
    assert_eq!((&line["received"], &line["sent"]), (&0.into(), &0.into()));
    assert_eq!(line["heads"].as_array().map(Vec::len), Some(2));
}

#[test]
fn complete_files_are_not_rewritten() {
    let world = World::new();
    world.two_copies("a.amrg", "b.amrg");
    // Saving a file of two concatenated documents would change its bytes.
    let twice = [world.bytes("a.amrg"), world.bytes("a.amrg")].concat();
    world.write("a.amrg", &twice);
    world.in_doc(["sync", "a.amrg", "b.amrg"]).quiet_success();
    assert_eq!(world.bytes("a.amrg"), twice);
    world.in_doc(["put", "b.amrg", "/c", "1"]).quiet_success();
    let newer = world.bytes("b.amrg");
    world.in_doc(["sync", "a.amrg", "b.amrg"]).quiet_success();
    assert_ne!(world.bytes("a.amrg"), twice);
    assert_eq!(world.bytes("b.amrg"), newer);
}

#[test]
fn empty_merge_keeps_the_bytes() {
    let world = World::new();
    world.two_copies("a.amrg", "b.amrg");
    let twice = [world.bytes("a.amrg"), world.bytes("a.amrg")].concat();
    world.write("a.amrg", &twice);
    world.in_doc(["merge", "a.amrg", "b.amrg"]).quiet_success();
    assert_eq!(world.bytes("a.amrg"), twice);
}

#[test]
fn syncs_with_the_file_in_a_directory() {
    let world = World::new();
    world.two_copies("a.amrg", "other.amrg");
    fs::create_dir(world.path("backup")).expect("a directory");
    let output = world.in_doc(["sync", "a.amrg", "backup"]).quiet_success();
    assert_eq!(output, "a.amrg: 0 changes received, 1 sent\n");
    world.in_doc(["put", "backup/a.amrg", "/c", "1"]).quiet_success();
    fs::remove_file(world.path("a.amrg")).expect("a file");
    assert_eq!(
        world.in_doc(["sync", "a.amrg", "backup/"]).quiet_success(),
        "a.amrg: 2 changes received, 0 sent\n"
    );
    assert_eq!(world.in_doc(["get", "a.amrg", "/c"]).quiet_success(), "1\n");
}

#[test]
fn syncs_directories() {
    let world = World::new();
    world.write("one/readme.txt", "no document").write("two/bad.automerge", "no document");
    world.two_copies("one/a.automerge", "one/b.amrg");
    world.two_copies("two/c.amrg", "two/b.amrg");
    let done = world.in_doc(["sync", "one", "two"]);
    assert_eq!(done.code(), 1);
    assert!(done.err.starts_with("hashmill: ") && done.err.contains("bad.automerge"), "{done:?}");
    assert_eq!(done.err.lines().count(), 1);
    for name in ["a.automerge", "b.amrg", "c.amrg"] {
        let [one, two] = ["one", "two"].map(|folder| format!("{folder}/{name}"));
        assert_eq!(
            world.in_doc(["export", &one]).quiet_success(),
            world.in_doc(["export", &two]).quiet_success()
        );
    }
    assert_eq!(world.bytes("two/bad.automerge"), b"no document");
    assert!(!world.path("one/bad.automerge").exists() && !world.path("two/readme.txt").exists());
    fs::remove_file(world.path("two/bad.automerge")).expect("a file");
    assert_eq!(world.in_doc(["sync", "two", "one"]).code(), 0);
}

#[test]
fn failed_sync_writes_nothing() {
    let world = World::new();
    world.two_copies("a.amrg", "b.amrg");
    // Two changes with the same actor and sequence number: such copies cannot be merged.
    for (file, value) in [("a.amrg", "1"), ("b.amrg", "2")] {
        world.in_doc(["put", file, "/x", value, "--actor", "ab"]).quiet_success();
    }
    world.in_doc(["put", "b.amrg", "/y", "2"]).quiet_success();
    let before = [world.bytes("a.amrg"), world.bytes("b.amrg")];
    let done = world.in_doc(["sync", "a.amrg", "b.amrg"]);
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
    assert_eq!([world.bytes("a.amrg"), world.bytes("b.amrg")], before);
    for (args, code) in [
        (["sync", "a.amrg", "none.amrg"], 1),
        (["sync", "none.amrg", "b.amrg"], 1),
        (["sync", "-", "b.amrg"], 2),
        (["sync", "a.amrg", "-"], 2),
        (["sync", ".", "a.amrg"], 2),
    ] {
        let done = world.in_doc(args);
        assert_eq!((done.code(), done.err.lines().count()), (code, 1), "{done:?}");
    }
    assert!(!world.path("none.amrg").exists());
}
