//! File handling of `hashmill doc`: atomic replacement without leftovers.

use crate::world::{Done, World, finish, hashmill};
use std::fs;
use std::process::Command;

impl World {
    /// A document with one key.
    fn small(&self, name: &str) -> &World {
        self.in_doc(["new", name]).quiet_success();
        self.in_doc(["put", name, "/a", "1"]).quiet_success();
        self
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).expect("a directory");
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
        names.sort();
        names
    }

    fn shell(&self, script: &str) -> Done {
        let script = script.replace("hashmill", &hashmill().display().to_string());
        self.run("/bin/sh".as_ref(), ["-c", &script], b"")
    }
}

#[test]
fn special_files_are_not_replaced() {
    let world = World::new();
    fs::create_dir(world.path("folder")).expect("a directory");
    world.in_doc(["put", "folder", "/a", "1"]).failure(1, &["folder: it is a directory"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        assert_eq!(world.shell("mkfifo pipe").code(), 0);
        let reason = "pipe: not a regular file, so it cannot be replaced";
        world.in_doc(["put", "pipe", "/a", "1"]).failure(1, &[reason]);
        world.in_doc(["merge", "pipe", "folder"]).failure(1, &[reason]);
        world.in_doc(["sync", "pipe", "pipe"]).failure(1, &[reason]);
        world.in_doc(["new", "pipe"]).failure(1, &["pipe: it exists already"]);
        assert!(fs::metadata(world.path("pipe")).expect("a pipe").file_type().is_fifo());
        // Files that cannot be replaced can be read.
        world.small("a.amrg");
        let output = world.shell("cat a.amrg > pipe & hashmill doc get pipe /a").quiet_success();
        assert_eq!(output, "1\n");
    }
}

#[test]
fn standard_input_is_read_once() {
    let world = World::new();
    let bytes = fs::read(world.small("a.amrg").path("a.amrg")).expect("a file");
    let twice = "standard input can be read only once, but - is given twice";
    let done = world.run(&hashmill(), ["doc", "merge", "-", "-"], &bytes);
    done.failure(2, &[twice]);
    let done = world.run(&hashmill(), ["doc", "patch", "-", "-", "--merge"], b"{}");
    done.failure(2, &[twice]);
    let done = world.run(&hashmill(), ["doc", "diff", "-", "-"], &bytes);
    done.failure(2, &[twice]);
    world.run(&hashmill(), ["doc", "check", "-", "-"], &bytes).failure(1, &[twice]);
}

/// Input that does not start as a document may be endless.
#[cfg(target_os = "linux")]
#[test]
fn endless_input_is_refused() {
    let world = World::new();
    let reason = "chunk 0, byte 0: not an Automerge document: no chunk starts here, its first bytes must be 85 6f 4a 83";
    world.in_doc(["show", "/dev/zero"]).failure(1, &[&format!("/dev/zero: {reason}")]);
    let done = world.shell("yes | hashmill doc check -");
    done.failure(1, &[&format!("standard input: {reason}")]);
}

#[test]
fn accepts_names_of_maximum_length() {
    let world = World::new();
    let name = "n".repeat(255);
    world.small(&name);
    assert_eq!(world.in_doc(["get", &name, "/a"]).quiet_success(), "1\n");
    assert_eq!(world.names(), [name]);
}

#[cfg(target_os = "linux")]
#[test]
fn accepts_names_that_are_not_unicode() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let world = World::new();
    let name = OsStr::from_bytes(b"caf\xe9.amrg");
    let run =
        |args: &[&OsStr]| world.run(&hashmill(), [OsStr::new("doc")].iter().chain(args), b"").quiet_success();
    run(&["new".as_ref(), name]);
    run(&["put".as_ref(), name, "/a".as_ref(), "1".as_ref()]);
    let line = run(&["check".as_ref(), name, "--json".as_ref()]);
    let line: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(
        (&line["path"], &line["path_hex"]),
        (&"caf\u{fffd}.amrg".into(), &"636166e92e616d7267".into())
    );
    assert_eq!(run(&["get".as_ref(), name, "/a".as_ref()]), "1\n");
    assert!(run(&["show".as_ref(), name]).starts_with("file      caf\u{fffd}.amrg, "));
}

/// Documented memory bounds for values: eight times the file, ten times to merge two, besides the program and its threads.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_a_small_multiple_of_the_file() {
    use hashmill_doc::{Document, ObjType, ROOT, Transactable as _};
    use hashmill_testkit::Rng;
    let world = World::new();
    let mut rng = Rng::new(7);
    let mut doc = Document::new();
    let words = |bytes: Vec<u8>| bytes.into_iter().map(|byte| char::from((byte & 127).max(b' '))).collect();
    doc.transact(|tx| {
        let list = tx.put_object(ROOT, "list", ObjType::List)?;
        (0..30_000).try_for_each(|at| {
            let value: String = words(rng.bytes(1000));
            tx.insert(&list, at, value.as_str())
        })
    })
    .expect("sound edits");
    let bytes = doc.save_nocompress();
    assert!(bytes.len() > 30_000_000);
    world.write("large", &bytes).write("copy", &bytes);
    let beside = 260 << 10;
    // Each thread reserves address space for its own heap.
    let few = "export MALLOC_ARENA_MAX=2 RAYON_NUM_THREADS=2";
    let limit = |kib: usize| format!("{few}; ulimit -v {kib}; hashmill doc");
    let times = |times: usize| beside + times * bytes.len() / 1024;
    for verb in ["check large", "show large", "export large", "log large", "examine large", "get large ''"] {
        world.shell(&format!("{} {verb} >/dev/null", limit(times(8)))).quiet_success();
    }
    world.shell(&format!("{} merge large copy", limit(times(10)))).quiet_success();
    // The limit is effective: nothing works in a quarter of it.
    let done = world.shell(&format!("{} check large", limit(times(8) / 4)));
    assert_ne!(done.status.code(), Some(0));
}

/// Simulates a full disk by a file size limit.
#[cfg(target_os = "linux")]
#[test]
fn full_disk_leaves_only_the_old_file() {
    let world = World::new();
    let before = fs::read(world.small("a.amrg").path("a.amrg")).expect("a file");
    // Random text, which does not compress.
    world.shell("head -c 65536 /dev/urandom | base64 -w 0 > words").quiet_success();
    world.shell("sed 's/.*/{\"a\":\"&\"}/' words > words.json").quiet_success();
    let done = world.shell(
        "trap '' XFSZ; ulimit -f 8; hashmill doc put a.amrg /long \"$(cat words)\" --string; \
         hashmill doc import words.json -o new.amrg; hashmill doc fork a.amrg b.amrg",
    );
    let reason = "not written: File too large (os error 27)";
    done.failure(0, &[&format!("a.amrg: {reason}"), &format!("new.amrg: {reason}")]);
    assert_eq!(fs::read(world.path("a.amrg")).expect("a file"), before);
    assert_eq!(world.names(), ["a.amrg", "b.amrg", "words", "words.json"]);
}

/// A signal at any moment leaves the old or the new document, complete, and no other file. Permissions are never wider meanwhile.
#[cfg(unix)]
#[test]
fn signal_leaves_old_or_new_file() {
    use rustix::process::{Pid, Signal, kill_process};
    use std::os::unix::fs::PermissionsExt as _;
    use std::os::unix::process::ExitStatusExt as _;
    // The test may have inherited ignored signals, as from `nohup` or `&`.
    hashmill_testkit::signal::heed();
    let world = World::new();
    // Many incompressible bytes, so that writing takes a while.
    world
        .shell("head -c 6000000 /dev/urandom | base64 -w 0 | sed 's/.*/{\"a\":\"&\"}/' > words")
        .quiet_success();
    world.in_doc(["import", "words", "-o", "a.amrg"]).quiet_success();
    let before = fs::read(world.path("a.amrg")).expect("a file");
    fs::set_permissions(world.path("a.amrg"), fs::Permissions::from_mode(0o600)).expect("permissions");
    let ended = std::cell::Cell::new(0);
    // Each round is a separate test: the signal may come at any moment. On a busy machine all signals of a round may come after the
    // write, so rounds repeat until one signal came in time.
    let rounds = [Signal::TERM, Signal::INT, Signal::HUP].into_iter().cycle().enumerate();
    for (_, signal) in rounds.take_while(|(round, _)| *round < 3 || (ended.get() == 0 && *round < 100)) {
        let mut command = Command::new(hashmill());
        let mut child = world.start(command.args(["doc", "put", "a.amrg", "/b", "1"]));
        // The unfinished file has a temporary name, or none: then Linux lists it among the descriptors.
        let descriptors = format!("/proc/{}/fd", child.id());
        let unfinished = || {
            let named = world.names().into_iter().find(|name| name.ends_with(".tmp"));
            let descriptors = fs::read_dir(&descriptors).into_iter().flatten().flatten();
            let mut paths = descriptors.map(|descriptor| descriptor.path());
            named.map(|name| world.path(name)).or_else(|| {
                paths.find(|path| {
                    let target = fs::read_link(path).unwrap_or_default();
                    let target = target.to_string_lossy();
                    target.contains("/#") && target.ends_with(" (deleted)")
                })
            })
        };
        while child.try_wait().expect("a child").is_none() {
            let Some(path) = unfinished() else { continue };
            if let Ok(metadata) = fs::metadata(path) {
                assert_eq!(metadata.permissions().mode() & 0o077, 0);
            }
            break;
        }
        // A finished process cannot be signalled.
        let _ = kill_process(Pid::from_child(&child), signal);
        let done = finish(child);
        assert_eq!(done.err, "");
        assert_eq!(world.names(), ["a.amrg", "words"]);
        let after = fs::read(world.path("a.amrg")).expect("a file");
        match done.status.signal() {
            Some(number) => {
                assert_eq!(number, signal.as_raw());
                ended.set(ended.get() + 1);
            }
            None => assert!(done.status.success(), "{done:?}"),
        }
        if after != before {
            assert_eq!(world.in_doc(["get", "a.amrg", "/b"]).quiet_success(), "1\n");
        }
        fs::write(world.path("a.amrg"), &before).expect("a file");
    }
    assert!(ended.get() > 0, "not one signal came in time");
}
