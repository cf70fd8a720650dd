//! Import, export and check of a storage, and the directory format of automerge-repo.

use crate::serve::Server;
use crate::world::World;
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId, PeerId, SyncStatus};
use hashmill_testkit::{Rng, wait};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const STORAGE_ID: &str = "5638dcaa-8264-4cd2-a865-2a045e045ae2";
const STORAGE_ID_PATH: &str = "st/orage-adapter-id";

/// Files by their paths below a directory.
type Files = BTreeMap<String, Vec<u8>>;

fn folder_of(id: &DocumentId) -> String {
    let id = id.to_string();
    format!("{}/{}", &id[..2], &id[2..])
}

fn files(folder: &Path) -> Files {
    fn visit(base: &Path, folder: &Path, found: &mut Files) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                visit(base, &path, found);
            } else {
                let name = path.strip_prefix(base).expect("below it").to_str().expect("a text").to_owned();
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    let mut found = Files::new();
    visit(folder, folder, &mut found);
    found
}

/// Random documents as automerge-repo stores them: snapshots, changes after them, states of clients.
fn random_storage(rng: &mut Rng) -> (Files, Vec<(DocumentId, Document)>) {
    let mut found = Files::from([(STORAGE_ID_PATH.to_owned(), STORAGE_ID.into())]);
    let mut documents = Vec::new();
    for number in 0..1 + rng.below(6) {
        let mut bytes = [0; 16];
        rng.fill(&mut bytes);
        let id = DocumentId::from_random_bytes(bytes);
        let folder = folder_of(&id);
        let mut doc = Document::new();
        let mut saved = Vec::new();
        for chunk in 0..1 + rng.below(5) {
            for _ in 0..1 + rng.below(30) {
                let value = rng.below(1000) as i64;
                doc.transact(|tx| tx.put(ROOT, "key", value)).expect("there is room");
            }
            let (kind, bytes) = match rng.below(3) {
                0 => ("snapshot", doc.save()),
                _ => ("incremental", doc.save_after(&saved)),
            };
            found.insert(format!("{folder}/{kind}/{number}-{chunk}"), bytes);
            saved = doc.get_heads();
        }
        if rng.below(2) == 0 {
            found.insert(format!("{folder}/sync-state/{STORAGE_ID}"), vec![0x43, 0]);
        }
        documents.push((id, doc));
    }
    (found, documents)
}

fn write_all(world: &World, folder: &str, files: &Files) {
    for (name, bytes) in files {
        world.write(format!("{folder}/{name}"), bytes);
    }
}

/// The heads of a document as a client of a server gets it.
fn synced(server: &Server, id: &DocumentId) -> Document {
    let mut client = Client::new(PeerId::from("reader"), "session");
    client.add(id.clone(), Document::new());
    client.connect();
    let mut socket = server.connect();
    wait::until("a document", || {
        socket.exchange(&mut client).expect("an open socket");
        client.status(id) == Some(SyncStatus::InSync)
    });
    client.remove(id).expect("it was added")
}

/// What is imported is served, and exported as the same files. A repeated import changes nothing.
#[test]
fn imported_documents_are_served_and_exported() {
    for seed in 0..hashmill_testkit::size::of(4, 100) {
        let world = World::new();
        let (found, documents) = random_storage(&mut Rng::new(seed));
        write_all(&world, "official", &found);
        let counts = format!("{} documents, {} chunks, ", documents.len(), found.len() - 1);
        for _ in 0..2 {
            let done = world.serve(&["import", "official", "--data", "store"]);
            assert!(
                done.quiet_success().starts_with(&format!("imported into store: {counts}")),
                "{seed}: {done:?}"
            );
        }
        let done = world.serve(&["check", "--data", "store"]);
        assert!(done.quiet_success().starts_with(&format!("checked store: {counts}")), "{seed}: {done:?}");
        let done = world.serve(&["export", "copy", "--data", "store"]);
        assert!(done.quiet_success().starts_with(&format!("exported to copy: {counts}")), "{seed}: {done:?}");
        assert_eq!(files(&world.path("copy")), found, "{seed}");
        let server = Server::start(&world);
        assert_eq!(server.storage_id, STORAGE_ID, "{seed}");
        for (id, doc) in &documents {
            assert_eq!(synced(&server, id).get_heads(), doc.get_heads(), "{seed}: {id}");
        }
        server.kill();
        assert_eq!(files(&world.path("official")), found, "{seed}: the imported directory is unchanged");
    }
}

/// Documents that are in both are merged, also where a key has other bytes. The storage keeps its id.
#[test]
fn imports_into_one_storage_are_merged() {
    let world = World::new();
    let id = DocumentId::from_random_bytes([7; 16]);
    let mut one = Document::new();
    one.transact(|tx| tx.put(ROOT, "base", 1)).expect("there is room");
    let mut other = one.fork();
    one.transact(|tx| tx.put(ROOT, "one", 1)).expect("there is room");
    other.transact(|tx| tx.put(ROOT, "other", 1)).expect("there is room");
    for (folder, doc, storage_id) in [("first", &mut one, "first-id"), ("second", &mut other, "second-id")] {
        world.write(format!("{folder}/{}/snapshot/same", folder_of(&id)), doc.save());
        world.write(format!("{folder}/{STORAGE_ID_PATH}"), storage_id);
    }
    world.serve(&["import", "first", "--data", "store"]).quiet_success();
    let done = world.serve(&["import", "second", "--data", "store"]);
    assert!(done.err.contains("keeps its id first-id") && done.err.contains("second-id"), "{done:?}");
    assert_eq!(done.code(), 0, "{done:?}");
    let server = Server::start(&world);
    one.merge(&other).expect("one history");
    assert_eq!((synced(&server, &id).get_heads(), &*server.storage_id), (one.get_heads(), "first-id"));
}

/// Damaged and empty chunks and other files are named; they hide nothing, and an export has the damaged ones as they were.
#[test]
fn damaged_chunks_are_named_and_hide_nothing() {
    let world = World::new();
    let (mut found, mut documents) = random_storage(&mut Rng::new(3));
    let folder = folder_of(&documents[0].0);
    let snapshot = documents[0].1.save();
    found.insert(format!("{folder}/snapshot/a-cut"), snapshot[..snapshot.len() - 3].to_vec());
    found.insert(format!("{folder}/incremental/a-noise"), b"noise".to_vec());
    write_all(&world, "official", &found);
    world.write(format!("official/{folder}/incremental/empty"), "");
    world.write("official/su/bduction/commits/x", "of another protocol").write("official/README", "a note");
    #[cfg(unix)]
    {
        world.write("secret", "secret");
        let link = world.path(format!("official/{folder}/snapshot/link"));
        std::os::unix::fs::symlink(world.path("secret"), link).expect("room");
    }
    let done = world.serve(&["import", "official", "--data", "store"]);
    assert_eq!(done.code(), 1, "{done:?}");
    assert!(done.text().contains(", 3 damaged, "), "{done:?}");
    for named in [
        "snapshot/a-cut cannot be read",
        "incremental/a-noise cannot be read",
        "incremental/empty cannot be read: it is empty",
    ] {
        assert_eq!(done.err.lines().filter(|line| line.contains(named)).count(), 1, "{named}: {done:?}");
    }
    for ignored in ["su/bduction: ignored", "README: ignored"] {
        assert_eq!(done.err.lines().filter(|line| line.contains(ignored)).count(), 1, "{ignored}: {done:?}");
    }
    assert_eq!(cfg!(unix), done.err.contains("link: ignored"), "{done:?}");
    let done = world.serve(&["check", "--data", "store"]);
    assert_eq!((done.code(), done.err.lines().count()), (1, 2), "{done:?}");
    let server = Server::start(&world);
    for (id, doc) in &documents {
        assert_eq!(synced(&server, id).get_heads(), doc.get_heads(), "{id}");
    }
    // The server stores a snapshot of what it read, and deletes no damaged chunk.
    server.stop();
    world.serve(&["export", "copy", "--data", "store"]).quiet_success();
    let copy = files(&world.path("copy"));
    for name in ["snapshot/a-cut", "incremental/a-noise"] {
        let name = format!("{folder}/{name}");
        assert_eq!(copy.get(&name), found.get(&name));
    }
}

#[test]
fn directories_that_cannot_be_used_are_refused() {
    let world = World::new();
    world.write("none/notes", "a note").write("full/notes", "a note");
    world
        .serve(&["import", "none", "--data", "store"])
        .failure(1, &["none: no storage of automerge-repo is there"]);
    world
        .serve(&["import", "absent", "--data", "store"])
        .failure(1, &["absent: No such file or directory (os error 2)"]);
    assert!(!world.path("store").exists(), "nothing was created");
    world.write("damaged/st/orage-adapter-id", "");
    let reason = "it has no id of a storage: move it away to import without it, clients then start anew";
    let path = world.path("damaged/st/orage-adapter-id");
    let path = path.strip_prefix(world.path("")).expect("below it").display().to_string();
    world.serve(&["import", "damaged", "--data", "store"]).failure(1, &[&format!("{path}: {reason}")]);
    assert!(!world.path("store").exists(), "nothing was created");
    world
        .serve(&["export", "copy", "--data", "none"])
        .failure(1, &["none: no storage of hashmill serve is there"]);
    world.serve(&["check", "--data", "none"]).failure(1, &["none: no storage of hashmill serve is there"]);
    let (found, _) = random_storage(&mut Rng::new(1));
    write_all(&world, "official", &found);
    world.serve(&["import", "official", "--data", "store"]).quiet_success();
    world
        .serve(&["export", "full", "--data", "store"])
        .failure(1, &["full: it is not empty: name a new directory"]);
    let server = Server::start(&world);
    world
        .serve(&["import", "official", "--data", "store"])
        .failure(1, &["store: another server uses this directory: stop it, or choose another one"]);
    world.serve(&["check", "--data", "store"]).quiet_success();
    server.kill();
}

/// A chunk is in memory while it is stored, so one of any size is not.
#[test]
fn too_large_chunks_are_named_and_left_out() {
    let world = World::new();
    let (found, documents) = random_storage(&mut Rng::new(1));
    write_all(&world, "official", &found);
    let name = format!("{}/snapshot/large", folder_of(&documents[0].0));
    world.write(format!("official/{name}"), "");
    let file =
        fs::OpenOptions::new().write(true).open(world.path(format!("official/{name}"))).expect("a file");
    // Without contents: the file takes no room.
    file.set_len((1 << 30) + 1).expect("a file with holes");
    let done = world.serve(&["import", "official", "--data", "store"]);
    assert_eq!(done.code(), 1, "{done:?}");
    let reason = "snapshot/large cannot be read: it has 1073741825 bytes, and 1073741824 is the maximum";
    assert!(done.err.contains(reason), "{done:?}");
    world.serve(&["check", "--data", "store"]).quiet_success();
}
