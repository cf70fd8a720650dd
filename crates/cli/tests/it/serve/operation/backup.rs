//! Backups of a storage that a server uses or not, and what a restored server is to its clients.

use crate::serve::{Server, client, put, wait_for};
use crate::world::{Done, World, finish, hashmill};
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, PeerId, SyncStatus};
use hashmill_testkit::{Rng, size, wait};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

fn id(number: u8) -> DocumentId {
    DocumentId::from_random_bytes([number; 16])
}

/// A server with a document of a client.
fn server_with_edit(world: &World) -> (Server, Client) {
    let server = Server::start(world);
    let mut ann = client("ann", &id(1));
    put(&mut ann, &id(1), vec![1]);
    wait_for(&mut server.connect(), &mut ann, &id(1), SyncStatus::InSync);
    (server, ann)
}

fn names(world: &World, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(world.path(folder)).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Number of changes that a new client gets.
fn changes(server: &Server, id: &DocumentId) -> u64 {
    let mut reader = client("reader", id);
    wait_for(&mut server.connect(), &mut reader, id, SyncStatus::InSync);
    reader.document(id).expect("it was added").stats().changes
}

/// What was confirmed before is in the backup. A client that has more sends it to the restored server, and others get it.
#[test]
fn a_running_server_is_backed_up_and_clients_of_the_restored_one_converge() {
    let world = World::new();
    let (server, mut ann) = server_with_edit(&world);
    let done = world.serve(&["backup", "one.backup", "--data", "store"]);
    let text = done.quiet_success();
    assert!(text.starts_with("backed up to one.backup: 1 documents, 1 chunks, "), "{text}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(world.path("one.backup")).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // Two further clients, one of which has the later change.
    let mut ben = client("ben", &id(1));
    put(&mut ann, &id(1), vec![2]);
    ann.connect();
    wait_for(&mut server.connect(), &mut ann, &id(1), SyncStatus::InSync);
    wait_for(&mut server.connect(), &mut ben, &id(1), SyncStatus::InSync);
    let storage_id = server.storage_id.clone();
    server.kill();
    let done = world.serve(&["restore", "one.backup", "--data", "restored"]);
    let text = done.quiet_success();
    assert!(text.starts_with(&format!("restored the storage {storage_id} of 20")), "{text}");
    fs::rename(world.path("store"), world.path("lost")).expect("a folder");
    fs::rename(world.path("restored"), world.path("store")).expect("a folder");
    let server = Server::start(&world);
    assert_eq!(server.storage_id, storage_id);
    assert_eq!(changes(&server, &id(1)), 1, "the backup is older");
    // A client with a new edit that depends on what the server lacks.
    put(&mut ben, &id(1), vec![3]);
    ben.connect();
    wait_for(&mut server.connect(), &mut ben, &id(1), SyncStatus::InSync);
    assert_eq!(changes(&server, &id(1)), 3);
    ann.connect();
    wait_for(&mut server.connect(), &mut ann, &id(1), SyncStatus::InSync);
    assert_eq!(ann.document(&id(1)).expect("it was added").stats().changes, 3);
    server.kill();
    assert_eq!(changes(&Server::start(&world), &id(1)), 3);
}

/// Blobs are no part of a backup, which each command about one says, and are counted right.
#[test]
fn a_backup_says_that_it_has_no_blobs() {
    let world = World::new();
    let (server, _ann) = server_with_edit(&world);
    let mut stream = TcpStream::connect(&server.address).expect("a server");
    let request = "POST /blobs HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 5\r\n\r\nphoto";
    stream.write_all(request.as_bytes()).expect("a server");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    let check_note = |args: &[&str]| {
        let done = world.serve(args);
        let text = done.text();
        assert_eq!(done.code(), 0, "{args:?}: {}", done.err);
        assert!(text.ends_with(", without the 1 blobs of the storage, 5 bytes\n"), "{args:?}: {text}");
        assert!(done.err.contains("only `hashmill serve export` copies blobs"), "{args:?}: {}", done.err);
    };
    check_note(&["backup", "running.backup", "--data", "store"]);
    check_note(&["check", "--data", "store"]);
    server.kill();
    check_note(&["backup", "stopped.backup", "--data", "store"]);
    check_note(&["check", "running.backup"]);
    check_note(&["restore", "stopped.backup", "--data", "restored"]);
    // A stopped server's blobs are read.
    let text = world.serve(&["check", "--data", "store"]).quiet_success();
    assert!(text.ends_with(", 1 blobs, 5 bytes\n"), "{text}");
    // The restored storage has no records of them.
    world.serve(&["check", "--data", "restored"]).quiet_success();
    let done = world.serve(&["restore", "stopped.backup", "--data", "store", "--replace"]);
    let reason = "a backup has no blobs, and these would be removed: export the storage if they are needed, and move this \
                  directory away";
    done.failure(1, &[&format!("{}: {reason}", std::path::Path::new("store").join("blobs").display())]);
}

/// Deleted documents stay deleted, and can be brought back. A copy beside the original has an id of its own.
#[test]
fn a_restored_storage_has_deleted_documents_and_perhaps_a_new_id() {
    let world = World::new();
    let (server, mut ann) = server_with_edit(&world);
    world.serve(&["delete", &id(1).to_string(), "--data", "store"]).quiet_success();
    let storage_id = server.kill_for_id();
    world.serve(&["backup", "one.backup", "--data", "store"]).quiet_success();
    let done = world.serve(&["restore", "one.backup", "--data", "store"]);
    done.failure(
        1,
        &["store: it is not empty: name a new directory, or add --replace to replace the storage that is there"],
    );
    world
        .serve(&["restore", "one.backup", "--data", "store", "--replace", "--new-storage-id"])
        .quiet_success();
    let server = Server::start(&world);
    assert_ne!(server.storage_id, storage_id);
    ann.connect();
    let mut to_ann = server.connect();
    wait::until("an absent document", || {
        to_ann.exchange(&mut ann).expect("an open socket");
        ann.conversation(&id(1)).expect("it was added").is_unavailable()
    });
    world.serve(&["undelete", &id(1).to_string(), "--data", "store"]).quiet_success();
    assert_eq!(changes(&server, &id(1)), 1);
    world
        .serve(&["restore", "one.backup", "--data", "store", "--replace"])
        .failure(1, &["store: another server uses this directory: stop it, or choose another one"]);
    assert_eq!(changes(&server, &id(1)), 1);
}

/// A program that reads a backup slowly does not hold up the server.
#[test]
fn a_backup_under_way_delays_no_change() {
    let world = World::new();
    let (server, mut ann) = server_with_edit(&world);
    // More than fits into the buffers of a connection.
    let mut rng = Rng::new(1);
    let mut large = client("large", &id(2));
    put(&mut large, &id(2), rng.bytes(24 << 20));
    wait_for(&mut server.connect(), &mut large, &id(2), SyncStatus::InSync);
    let access = fs::read(world.path("store/admin.json")).expect("a file");
    let access: serde_json::Value = serde_json::from_slice(&access).expect("JSON");
    let token = access["token"].as_str().expect("a token");
    let address = access["address"].as_str().expect("an address");
    let mut slow = TcpStream::connect(address).expect("a server");
    write!(slow, "GET /admin/backup HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\r\n")
        .expect("a server");
    let mut start = [0; 12];
    slow.read_exact(&mut start).expect("an answer");
    assert_eq!(&start, b"HTTP/1.0 200");
    ann.connect();
    let mut to_ann = server.connect();
    for value in 2..6 {
        put(&mut ann, &id(1), vec![value]);
        wait_for(&mut to_ann, &mut ann, &id(1), SyncStatus::InSync);
    }
    let mut rest = Vec::new();
    slow.read_to_end(&mut rest).expect("a backup");
    let body = rest.windows(4).position(|part| part == b"\r\n\r\n").expect("a head") + 4;
    world.write("slow.backup", &rest[body..]);
    // It is of the moment when it began.
    let text = world.serve(&["check", "slow.backup"]).quiet_success();
    assert!(text.starts_with("checked slow.backup: 2 documents, 2 chunks, "), "{text}");
    assert_eq!(changes(&server, &id(1)), 5);
    let text = world.serve(&["check", "--data", "store"]).quiet_success();
    assert!(text.starts_with("checked store: 2 documents, 6 chunks, "), "{text}");
}

#[test]
fn files_that_cannot_be_used_are_refused() {
    let world = World::new();
    world.write("notes", "a note").write("short", b"hashmill backup\n");
    let absent = "none: no storage of hashmill serve is there";
    world.serve(&["backup", "x.backup", "--data", "none"]).failure(1, &[absent]);
    assert!(!world.path("x.backup").exists());
    let dash = "a backup is read again before it gets its name: name a file or a directory, not -";
    world.serve(&["backup", "-", "--data", "store"]).failure(2, &[dash]);
    let (server, _) = server_with_edit(&world);
    world
        .serve(&["backup", "notes", "--data", "store"])
        .failure(2, &["notes: it exists, and is no backup that could be replaced: name another file"]);
    assert_eq!(fs::read(world.path("notes")).expect("a file"), b"a note");
    // An earlier backup is replaced.
    for _ in 0..2 {
        world.serve(&["backup", "a.backup", "--data", "store"]).quiet_success();
    }
    fs::create_dir(world.path("all")).expect("room");
    world.serve(&["backup", "all", "--data", "store"]).quiet_success();
    let [name] = &names(&world, "all")[..] else { panic!("one file") };
    assert!(name.starts_with("hashmill-20") && name.ends_with("Z.backup"), "{name}");
    server.kill();
    world
        .serve(&["backup", "none/x", "--data", "store"])
        .failure(1, &["none/x: No such file or directory (os error 2)"]);
    world
        .serve(&["restore", "notes", "--data", "new"])
        .failure(1, &["notes: it is no backup of hashmill serve"]);
    world.serve(&["restore", "short", "--data", "new"]).failure(
        1,
        &["short: its start is damaged, without which nothing in it can be checked: use another backup"],
    );
    assert!(!world.path("new").exists(), "nothing was created");
}

#[test]
fn damage_is_named_and_the_rest_is_restored_on_demand() {
    let world = World::new();
    let (server, _) = server_with_edit(&world);
    let mut ben = client("ben", &id(2));
    put(&mut ben, &id(2), vec![2]);
    wait_for(&mut server.connect(), &mut ben, &id(2), SyncStatus::InSync);
    world.serve(&["backup", "a.backup", "--data", "store"]).quiet_success();
    server.kill();
    let mut bytes = fs::read(world.path("a.backup")).expect("a file");
    // The first chunk's magic bytes.
    let at = bytes.windows(4).position(|part| part == [0x85, 0x6f, 0x4a, 0x83]).expect("a chunk");
    bytes[at + 8] ^= 1;
    world.write("a.backup", &bytes);
    let first = [id(1), id(2)].map(|id| id.to_string()).into_iter().min().expect("two");
    let is_named = |done: &Done| done.err.lines().next().is_some_and(|line| line.contains(&first));
    let done = world.serve(&["check", "a.backup"]);
    assert!(done.code() == 1 && is_named(&done) && done.err.lines().count() == 1, "{done:?}");
    let done = world.serve(&["restore", "a.backup", "--data", "new"]);
    assert!(done.code() == 1 && is_named(&done) && done.err.contains("--salvage"), "{done:?}");
    assert!(!world.path("new").exists());
    let done = world.serve(&["restore", "a.backup", "--data", "new", "--salvage"]);
    assert!(done.code() == 1 && is_named(&done) && done.text().contains("1 damaged"), "{done:?}");
    let text = world.serve(&["check", "--data", "new"]).quiet_success();
    assert!(text.starts_with("checked new: 1 documents, 1 chunks, "), "{text}");
    // The end is missing.
    world.write("a.backup", &bytes[..bytes.len() - 1]);
    let done = world.serve(&["restore", "a.backup", "--data", "cut"]);
    assert!(done.code() == 1 && done.err.contains("the backup is cut off"), "{done:?}");
}

/// A storage with some megabytes.
fn store_documents(world: &World) -> u64 {
    let mut rng = Rng::new(1);
    let count = 20;
    for number in 1..=count {
        let mut doc = Document::new();
        doc.transact(|tx| tx.put(ROOT, "a", rng.bytes(200 << 10))).expect("there is room");
        let text = id(number).to_string();
        world.write(format!("official/{}/{}/snapshot/a", &text[..2], &text[2..]), doc.save());
    }
    world.write("official/st/orage-adapter-id", "5638dcaa-8264-4cd2-a865-2a045e045ae2");
    world.serve(&["import", "official", "--data", "store"]).quiet_success();
    u64::from(count)
}

/// The file may not grow beyond a limit, as on a full disk.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_no_part_of_a_backup() {
    let world = World::new();
    store_documents(&world);
    // The server writes to its storage without a limit.
    let server = Server::start(&world);
    fs::create_dir(world.path("backups")).expect("room");
    world.serve(&["backup", "backups/a.backup", "--data", "store"]).quiet_success();
    let before = fs::read(world.path("backups/a.backup")).expect("a file");
    for (args, name) in [
        (["backup", "backups/a.backup", "--data", "store"], "backups/a.backup"),
        (["restore", "backups/a.backup", "--data", "new"], "new"),
    ] {
        let mut shell = Command::new("sh");
        // The signal of the limit is ignored, so that writes fail instead. Blocks of 512 or 1024 bytes: less than the documents.
        let limited = "trap '' XFSZ; ulimit -f 2000; exec \"$0\" serve \"$@\"";
        let done = finish(world.start(shell.args(["-c", limited]).arg(hashmill()).args(args)));
        assert_eq!((done.code(), done.err.lines().count()), (1, 1), "{done:?}");
        assert!(done.err.contains(name) && done.err.contains("File too large"), "{done:?}");
    }
    assert_eq!(names(&world, "backups"), ["a.backup"]);
    assert_eq!(fs::read(world.path("backups/a.backup")).expect("a file"), before);
    assert_eq!(names(&world, "new"), Vec::<String>::new());
    world.serve(&["restore", "backups/a.backup", "--data", "new"]).quiet_success();
    server.kill();
}

/// Killed at any moment, a backup and a restoration leave what was there, or are complete, and can be repeated.
#[test]
#[cfg(unix)]
fn kills_harm_nothing() {
    let world = World::new();
    let documents = store_documents(&world);
    fs::create_dir(world.path("backups")).expect("room");
    let backup = ["backup", "backups/a.backup", "--data", "store"];
    let restore = ["restore", "backups/a.backup", "--data", "new", "--replace"];
    let start = Instant::now();
    world.serve(&backup).quiet_success();
    world.serve(&restore).quiet_success();
    let both = start.elapsed();
    let mut rng = Rng::new(1);
    for round in 0..size::of(10, 200) {
        for args in [&backup[..], &restore[..]] {
            let mut command = Command::new(hashmill());
            let mut child = world.start(command.arg("serve").args(args));
            std::thread::sleep(both.mul_f64(rng.below(1000) as f64 / 1000.0).min(Duration::from_secs(2)));
            // It may have ended before.
            let _ = child.kill();
            finish(child);
            for checked in [&["check", "backups/a.backup"][..], &["check", "--data", "new"]] {
                let text = world.serve(checked).quiet_success();
                assert!(text.contains(&format!(": {documents} documents, ")), "{round}: {args:?}: {text}");
            }
        }
    }
    world.serve(&backup).quiet_success();
    world.serve(&restore).quiet_success();
    assert_eq!(names(&world, "backups"), ["a.backup"]);
    assert_eq!(names(&world, "new"), ["hashmill.redb"]);
}

/// A client that was in step with the lost server, has no edits of its own, and knows the storage by its id.
#[test]
fn a_client_without_new_edits_gives_back_what_the_backup_lacks() {
    let world = World::new();
    let (server, mut ann) = server_with_edit(&world);
    world.serve(&["backup", "a.backup", "--data", "store"]).quiet_success();
    for value in 2..5 {
        put(&mut ann, &id(1), vec![value]);
    }
    ann.connect();
    wait_for(&mut server.connect(), &mut ann, &id(1), SyncStatus::InSync);
    server.kill();
    world.serve(&["restore", "a.backup", "--data", "store", "--replace"]).quiet_success();
    let server = Server::start(&world);
    // Its state of the sync says that the server has everything.
    let doc = ann.document(&id(1)).expect("it was added").clone();
    let conversation = ann.conversation(&id(1)).expect("it was added").encode_state();
    let mut again = Client::new(PeerId::from("ann"), "session 2");
    let conversation = hashmill_repo::Conversation::from_state(&conversation).expect("it was saved");
    again.add_with(id(1), doc, conversation);
    again.connect();
    wait_for(&mut server.connect(), &mut again, &id(1), SyncStatus::InSync);
    assert_eq!(changes(&server, &id(1)), 4);
}
