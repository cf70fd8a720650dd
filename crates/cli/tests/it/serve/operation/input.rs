//! Bad input at the start: one line with the remedy, and nothing is lost.

use crate::serve::{Server, client, put, wait_for};
use crate::world::{Done, World, finish, hashmill};
use hashmill_repo::{DocumentId, SyncStatus};
use std::fs;
use std::process::Command;

fn id() -> DocumentId {
    DocumentId::from_random_bytes([1; 16])
}

/// A storage with one document.
/// Bytes of a database that say how it was closed.
const HEADER_BYTES: usize = 64;

fn store_document(world: &World) {
    let server = Server::start(world);
    let mut ann = client("ann", &id());
    put(&mut ann, &id(), vec![1]);
    wait_for(&mut server.connect(), &mut ann, &id(), SyncStatus::InSync);
    server.kill();
}

#[track_caller]
fn check_refusal(done: &Done, parts: &[&str]) {
    assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
    assert!(parts.iter().all(|part| done.err.contains(part)), "{done:?}");
}

fn check_document(world: &World) {
    let text = world.serve(&["check", "--data", "store"]).quiet_success();
    assert!(text.starts_with("checked store: 1 documents, 1 chunks, "), "{text}");
}

#[test]
#[cfg(unix)]
fn links_and_further_names_of_the_storage_are_refused() {
    let world = World::new();
    store_document(&world);
    let start = |folder: &str| world.serve(&["--listen", "127.0.0.1:0", "--data", folder]);
    fs::create_dir(world.path("linked")).expect("room");
    let [file, link] = ["store", "linked"].map(|folder| world.path(folder).join("hashmill.redb"));
    std::os::unix::fs::symlink(&file, &link).expect("room");
    check_refusal(&start("linked"), &["linked/hashmill.redb: it is a symbolic link", "name the directory"]);
    // A link that leads nowhere is not a storage to create.
    fs::rename(&file, world.path("store/moved")).expect("a file");
    check_refusal(&start("linked"), &["it is a symbolic link"]);
    assert!(!file.exists());
    fs::rename(world.path("store/moved"), &file).expect("a file");
    fs::remove_file(&link).expect("a link");
    fs::hard_link(&file, &link).expect("room");
    check_refusal(&start("store"), &["it is a file with 2 names (hard links)", "copy the others"]);
    fs::remove_file(&link).expect("a link");
    // A directory may be reached by a link: its owner made it.
    std::os::unix::fs::symlink("store", world.path("by-link")).expect("room");
    let text = world.serve(&["check", "--data", "by-link"]).quiet_success();
    assert!(text.contains(": 1 documents, "), "{text}");
    check_document(&world);
}

/// Only an administrator can make files of other users.
#[test]
#[cfg(target_os = "linux")]
fn a_storage_of_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        hashmill_testkit::skip("a storage of another user", "only the administrator can make one");
        return;
    }
    let world = World::new();
    store_document(&world);
    let file = world.path("store/hashmill.redb");
    std::os::unix::fs::chown(&file, Some(1234), None).expect("an administrator");
    let done = world.serve(&["--listen", "127.0.0.1:0", "--data", "store"]);
    check_refusal(
        &done,
        &["it belongs to another user, number 1234", "run this command as that user", "chown"],
    );
    std::os::unix::fs::chown(&file, Some(0), None).expect("an administrator");
    check_document(&world);
}

/// As on a full disk: the file may not grow beyond a limit. The next start, with room, is as the first.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_at_the_first_start_leaves_nothing() {
    let world = World::new();
    for blocks in [0, 1, 50, 100] {
        let mut shell = Command::new("sh");
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" serve \"$@\"");
        let args = ["--listen", "127.0.0.1:0", "--data", "store"];
        let done = finish(world.start(shell.args(["-c", &limited]).arg(hashmill()).args(args)));
        check_refusal(&done, &["File too large", "make room"]);
        let entries = fs::read_dir(world.path("store")).expect("a folder").count();
        assert_eq!(entries, 0, "{blocks}");
    }
    store_document(&world);
    check_document(&world);
}

#[test]
fn directories_that_cannot_be_made_are_named() {
    let world = World::new();
    world.write("file", "no folder");
    let done = world.serve(&["--listen", "127.0.0.1:0", "--data", "file/store"]);
    check_refusal(&done, &["file/store: ", "name a directory"]);
    let done = world.serve(&["--listen", "127.0.0.1:0", "--data", "file"]);
    check_refusal(&done, &["file: "]);
    assert_eq!(fs::read(world.path("file")).expect("a file"), b"no folder");
    // Whatever the user may do: nothing can be created there.
    if cfg!(target_os = "linux") {
        let done = world.serve(&["--listen", "127.0.0.1:0", "--data", "/proc/hashmill"]);
        check_refusal(&done, &["/proc/hashmill: "]);
    }
}

/// Neither a damaged storage nor one of another program is changed.
#[test]
fn a_damaged_storage_is_named_and_stays() {
    let world = World::new();
    store_document(&world);
    let sound = fs::read(world.path("store/hashmill.redb")).expect("a file");
    for damaged in [b"no database".to_vec(), sound[..sound.len() / 2].to_vec(), vec![0; 100]] {
        world.write("store/hashmill.redb", &damaged);
        for args in [&["--listen", "127.0.0.1:0", "--data", "store"][..], &["check", "--data", "store"]] {
            let done = world.serve(args);
            check_refusal(&done, &["store/hashmill.redb: ", "restore a backup"]);
        }
        // In the header of a database that was not closed, redb may note that it needs a repair. The rest stays.
        let left = fs::read(world.path("store/hashmill.redb")).expect("a file");
        let header = HEADER_BYTES.min(damaged.len());
        assert_eq!(left.len(), damaged.len());
        assert!(left[header..] == damaged[header..], "changed beyond the header");
    }
    world.write("store/hashmill.redb", &sound);
    check_document(&world);
}
