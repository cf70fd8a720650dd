//! Tests of backups: damage of all kinds, and what is restored.

use std::collections::BTreeMap;
use std::io::Cursor;

use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::DocumentId;
use hashmill_testkit::{Rng, size};
use tempfile::TempDir;

use super::*;
use crate::shell::store::{DocumentRecord, Entry, Store};
use crate::storage::{ChunkKey, ChunkKind, Command, StoredChunk, Tombstone};

const KEY: BackupKey = *b"a key of a test.";
const STORAGE_ID: &str = "5638dcaa-8264-4cd2-a865-2a045e045ae2";

fn id(number: u8) -> DocumentId {
    DocumentId::from_random_bytes([number; 16])
}

/// Records of a small storage: facts, documents with and without chunks, a deleted one, counts of owners.
fn records() -> Vec<StorageRecord> {
    let fact = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let facts = BTreeMap::from([fact("format", "2"), fact("storage-adapter-id", STORAGE_ID)]);
    let mut records = vec![StorageRecord::Facts(facts)];
    let tombstone = Some(Tombstone { deleted_at: 7, is_purged: false });
    for (number, chunks, owner, tombstone) in [
        (1, 2, Some("ann"), None),
        (2, 1, None, None),
        (3, 0, None, Some(Tombstone { deleted_at: 9, is_purged: true })),
        (4, 1, Some("ben"), tombstone),
        (5, 3, Some("ann"), None),
    ] {
        let document = id(number).to_string();
        let about = DocumentRecord {
            document: document.clone(),
            owner: owner.map(str::to_owned),
            tombstone,
            used_at: Some(3),
        };
        records.push(StorageRecord::Document(about.clone()));
        for chunk in 0..chunks {
            let bytes = Rng::new(u64::from(number) * 10 + chunk).bytes(20);
            let (kind, name) = ("incremental".to_owned(), chunk.to_string());
            records.push(StorageRecord::Chunk(Entry { document: document.clone(), kind, name, bytes }));
        }
        records.push(StorageRecord::DocumentEnd(about));
    }
    records.push(StorageRecord::OwnedBytes("ann".to_owned(), 100));
    records.push(StorageRecord::OwnedBytes("ben".to_owned(), 20));
    records
}

/// A backup, and where each record starts in it.
fn write(records: &[StorageRecord]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut writer = BackupWriter::start(&mut bytes, KEY, 5).expect("memory");
    for record in records {
        writer.add(record).expect("memory");
    }
    writer.finish().expect("memory");
    let mark = format::MARK;
    let starts = bytes.windows(mark.len()).enumerate().filter(|(_, part)| part == mark);
    let starts = starts.map(|(start, _)| start).collect();
    (bytes, starts)
}

/// All that can be read of a backup: records, and places of damage.
fn read(bytes: &[u8]) -> Result<(Vec<StorageRecord>, Vec<String>), BackupError> {
    let mut reader = BackupReader::start(bytes)?;
    let (mut records, mut places) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next()? {
        match item {
            Item::Record(record) => records.push(record),
            Item::Damage(damage) => places.push(damage.place),
        }
    }
    Ok((records, places))
}

fn document_of(record: &StorageRecord) -> Option<&str> {
    match record {
        StorageRecord::Document(about) | StorageRecord::DocumentEnd(about) => Some(&about.document),
        StorageRecord::Chunk(entry) => Some(&entry.document),
        StorageRecord::Facts(_) | StorageRecord::OwnedBytes(..) | StorageRecord::LeftOutBlobs(..) => None,
    }
}

#[test]
fn a_backup_has_all_records() {
    let mut records = records();
    let (bytes, starts) = write(&records);
    assert_eq!(starts.len(), records.len() + 2);
    records.push(records[0].clone());
    let (found, places) = read(&bytes).expect("a backup");
    assert_eq!((found, places), (records, Vec::<String>::new()));
}

/// A changed byte costs the record that it is in, and names its document. All other records are read.
#[test]
fn each_changed_byte_is_found_and_costs_one_record() {
    let mut records = records();
    let (bytes, mut starts) = write(&records);
    records.push(records[0].clone());
    starts.push(bytes.len());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let (found, places) = read(&damaged).expect("one of the headers is sound");
        assert_eq!(places.len(), 1, "{at}");
        let Some(number) = starts.iter().rposition(|start| *start <= at) else {
            assert_eq!(found, records, "{at}: the header");
            continue;
        };
        let expected: Vec<_> = records
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != number)
            .map(|(_, record)| record)
            .collect();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{at}");
        if let Some(document) = records.get(number).and_then(document_of) {
            assert!(places[0].contains(document), "{at}: {document}: {places:?}");
            assert!(!places[0].contains(" to "), "{at}: {places:?}");
        }
    }
}

/// A part of a backup is never taken for a whole one, and what it has is read.
#[test]
fn each_cut_is_found() {
    let records = records();
    let (bytes, starts) = write(&records);
    for len in 0..bytes.len() {
        let whole = starts.iter().skip(1).filter(|start| **start <= len).count();
        match read(&bytes[..len]) {
            Ok((found, places)) => {
                assert!(!places.is_empty(), "{len}");
                assert_eq!(found[..whole.min(records.len())], records[..whole.min(records.len())], "{len}");
            }
            Err(BackupError::Foreign | BackupError::Header) => assert!(len < format::HEADER_BYTES, "{len}"),
            Err(error) => panic!("{len}: {error:?}"),
        }
    }
}

/// Random damage of several bytes, also inserted and removed ones: no panic, and never an unnoticed change.
#[test]
fn no_damage_passes_unnoticed() {
    let records = records();
    let (bytes, _) = write(&records);
    let mut rng = Rng::new(1);
    for round in 0..size::of(2000, 200_000) {
        let mut damaged = bytes.clone();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(damaged.len());
            match rng.below(4) {
                0 => damaged[at] ^= 1 << rng.below(8),
                1 => drop(damaged.drain(at..(at + rng.below(200)).min(damaged.len()))),
                2 => {
                    let len = rng.below(100);
                    let noise = rng.bytes(len);
                    drop(damaged.splice(at..at, noise));
                }
                _ => {
                    // A part comes twice.
                    let part = damaged[at..(at + rng.below(300)).min(damaged.len())].to_vec();
                    drop(damaged.splice(at..at, part));
                }
            }
            if damaged.is_empty() {
                break;
            }
        }
        if damaged == bytes {
            continue;
        }
        if let Ok((found, places)) = read(&damaged) {
            assert!(!places.is_empty(), "{round}");
            assert!(found.iter().all(|record| records.contains(record)), "{round}");
        }
    }
}

/// A document that contains a backup with a sound record is not read as one.
#[test]
fn contents_are_not_taken_for_records() {
    let mut records = records();
    let mut inner = Vec::new();
    let mut writer = BackupWriter::start(&mut inner, *b"a key of another", 5).expect("memory");
    let forged = Entry {
        document: id(9).to_string(),
        kind: "snapshot".to_owned(),
        name: "forged".to_owned(),
        bytes: vec![1],
    };
    writer.add(&StorageRecord::Chunk(forged)).expect("memory");
    let StorageRecord::Chunk(entry) = &mut records[2] else { panic!("a chunk") };
    entry.bytes = inner;
    let (bytes, starts) = write(&records);
    let mut damaged = bytes;
    // The head of the record with the contents.
    damaged[starts[2] + 10] ^= 1;
    let (found, places) = read(&damaged).expect("a backup");
    assert_eq!(places.len(), 1);
    assert!(found.iter().all(|record| document_of(record) != Some(&id(9).to_string())));
    assert!(found.iter().filter(|record| records.contains(record)).count() >= records.len() - 1);
}

#[test]
fn other_files_are_refused() {
    assert!(matches!(read(b""), Err(BackupError::Foreign)));
    assert!(matches!(read(&[7; 500]), Err(BackupError::Foreign)));
    let (bytes, _) = write(&records());
    let mut later = bytes.clone();
    for start in [0, format::HEADER_BYTES] {
        later[start + 16] = 2;
        let digest = format::digest(&KEY, format::HEADER_DOMAIN, &[&later[start..start + 44]]);
        later[start + 44..start + 60].copy_from_slice(&digest);
    }
    assert!(matches!(read(&later), Err(BackupError::Version)));
    let mut damaged = bytes;
    (damaged[20], damaged[format::HEADER_BYTES + 20]) = (7, 7);
    assert!(matches!(read(&damaged), Err(BackupError::Header)));
    let mut failed = Vec::new();
    let writer = BackupWriter::start(&mut failed, KEY, 5).expect("memory");
    writer.fail("the disk broke").expect("memory");
    assert!(matches!(read(&failed), Err(BackupError::Failed(reason)) if reason == "the disk broke"));
}

/// A storage with documents of owners, a deleted and a purged one, and uses.
fn open(folder: &Path) -> Store {
    let mut store = Store::open(folder, STORAGE_ID).expect("a new storage");
    store.record_uses_from_now_on(true).expect("a working storage");
    for number in 1..=4 {
        let mut doc = Document::new();
        doc.transact(|tx| tx.put(ROOT, "number", i64::from(number))).expect("there is room");
        let bytes = doc.save();
        let key = ChunkKey { document: id(number), kind: ChunkKind::Snapshot, name: "a".to_owned() };
        let owners = [(id(number), ["ann", "ben"][usize::from(number % 2)].to_owned())];
        let owners = if number == 4 { BTreeMap::new() } else { owners.into() };
        store.put(&[StoredChunk { key, bytes }], &owners).expect("a working storage");
    }
    store.execute(&id(2), Command::Delete { at: 5 }).expect("a working storage");
    store.execute(&id(3), Command::Delete { at: 6 }).expect("a working storage");
    store.execute(&id(3), Command::Purge { deleted_until: 6 }).expect("a working storage");
    store.record_uses(8).expect("a working storage");
    store
}

/// All records of a storage.
fn contents(store: &Store) -> Vec<StorageRecord> {
    let mut records = Vec::new();
    let snapshot = store.snapshot().expect("a working storage");
    let visited = snapshot.visit(&mut |record| {
        records.push(record);
        Ok::<(), std::convert::Infallible>(())
    });
    assert!(visited.is_ok());
    records
}

fn no_report(fact: &TransferFact) {
    panic!("{fact:?}");
}

#[test]
fn a_restored_storage_has_everything() {
    let [from, to] = [(); 2].map(|()| TempDir::new().expect("a folder"));
    let store = open(from.path());
    let expected = contents(&store);
    assert!(expected.len() > 10);
    drop(store);
    let mut backup = Vec::new();
    back_up(from.path(), KEY, 5, &mut backup).expect("a backup");
    let summary = restore(Cursor::new(&backup), to.path(), RestoreOptions::default(), &mut no_report);
    let summary = summary.expect("a sound backup");
    assert_eq!((summary.backup_started_at, &*summary.storage_id), (Some(5), STORAGE_ID));
    assert_eq!((summary.counts.documents, summary.wrong_counts), (3, vec![]));
    let store = Store::open(to.path(), "").expect("a storage");
    assert_eq!(store.storage_id(), STORAGE_ID);
    assert_eq!(contents(&store), expected);
    assert!(store.count_differences().expect("a working storage").is_empty());
    drop(store);
    // Not over it, unless told.
    let again = restore(Cursor::new(&backup), to.path(), RestoreOptions::default(), &mut no_report);
    assert!(matches!(again, Err(TransferError::Occupied(_))), "{again:?}");
    let options = RestoreOptions { replaces: true, new_storage_id: Some([7; 16]), ..Default::default() };
    restore(Cursor::new(&backup), to.path(), options, &mut no_report).expect("a sound backup");
    let store = Store::open(to.path(), "").expect("a storage");
    assert_ne!(store.storage_id(), STORAGE_ID);
    assert_eq!(contents(&store)[1..], expected[1..]);
    let used = restore(Cursor::new(&backup), to.path(), options, &mut no_report);
    assert!(matches!(used, Err(TransferError::Open(OpenError::InUse(_)))), "{used:?}");
}

/// A document that may be deleted does not come back because its records are damaged.
#[test]
fn a_damaged_backup_is_refused_or_salvaged() {
    let [from, to] = [(); 2].map(|()| TempDir::new().expect("a folder"));
    drop(open(from.path()));
    let mut backup = Vec::new();
    back_up(from.path(), KEY, 5, &mut backup).expect("a backup");
    let deleted = id(2).to_string();
    let is_about = |record: &[u8]| matches!(record[8], 2 | 4);
    let mark = format::MARK;
    let starts: Vec<usize> = backup
        .windows(mark.len())
        .enumerate()
        .filter(|(_, part)| part == mark)
        .map(|(start, _)| start)
        .collect();
    let mut count = 0;
    for start in starts {
        let name = start + format::HEAD_BYTES + 4;
        if is_about(&backup[start..]) && backup[name..].starts_with(deleted.as_bytes()) {
            backup[name] ^= 1;
            count += 1;
        }
    }
    assert_eq!(count, 2, "before and after the chunks");
    let mut damaged = Vec::new();
    let refused = restore(Cursor::new(&backup), to.path(), RestoreOptions::default(), &mut |fact| {
        damaged.push(fact.clone());
    });
    assert!(matches!(refused, Err(TransferError::DamagedBackup(2))), "{refused:?}");
    assert_eq!(damaged.len(), 2);
    assert_eq!(fs::read_dir(to.path()).expect("a folder").count(), 0);
    let options = RestoreOptions { salvages: true, ..RestoreOptions::default() };
    restore(Cursor::new(&backup), to.path(), options, &mut |_| {}).expect("the rest is sound");
    let store = Store::open(to.path(), "").expect("a storage");
    let documents: Vec<String> = contents(&store).iter().filter_map(document_of).map(str::to_owned).collect();
    assert!(!documents.contains(&deleted), "{documents:?}");
    assert!([1, 3, 4].iter().all(|number| documents.contains(&id(*number).to_string())), "{documents:?}");
}

/// Writes go on while a snapshot is read, and are not in it.
#[test]
fn a_snapshot_is_of_one_moment() {
    let folder = TempDir::new().expect("a folder");
    let store = open(folder.path());
    let expected = contents(&store);
    let snapshot = store.snapshot().expect("a working storage");
    let mut found = Vec::new();
    let visited = snapshot.visit(&mut |record| {
        let key = ChunkKey { document: id(1), kind: ChunkKind::Incremental, name: found.len().to_string() };
        store.put(&[StoredChunk { key, bytes: vec![1] }], &BTreeMap::new()).map(drop)?;
        store.execute(&id(4), Command::Delete { at: 9 }).map(drop)?;
        found.push(record);
        Ok::<(), IoFailure>(())
    });
    assert!(visited.is_ok());
    assert_eq!(found, expected);
    assert_ne!(contents(&store), expected);
}

/// A wrong count keeps its difference during writes, is never taken as 0, and is corrected by a check.
#[test]
fn wrong_counts_are_named_and_corrected() {
    let folder = TempDir::new().expect("a folder");
    let store = open(folder.path());
    let bytes = |store: &Store| store.load_owner("ben".to_owned()).expect("a working storage").stored_bytes;
    let right = bytes(&store);
    assert!(right > 0);
    let wrong =
        store.adjust_counts(&BTreeMap::from([("ben".to_owned(), -10_000)])).expect("a working storage");
    assert_eq!((wrong.changed.len(), wrong.negative), (0, vec!["ben".to_owned()]));
    assert_eq!(bytes(&store), right, "summed up");
    let mut doc = Document::new();
    doc.transact(|tx| tx.put(ROOT, "more", 1)).expect("there is room");
    let chunk = StoredChunk {
        key: ChunkKey { document: id(1), kind: ChunkKind::Incremental, name: "b".to_owned() },
        bytes: doc.save(),
    };
    let stored = right + chunk.bytes.len() as u64;
    let written = store.put(&[chunk], &BTreeMap::new()).expect("a working storage");
    assert_eq!(written.negative, ["ben".to_owned()]);
    drop(store);
    let check =
        || crate::shell::transfer::check(folder.path(), &mut no_report).expect("a storage").wrong_counts;
    let stored = stored.cast_signed();
    let expected =
        crate::shell::transfer::WrongCount { owner: "ben".to_owned(), counted: stored - 10_000, stored };
    assert_eq!(check(), [expected]);
    assert_eq!(check(), []);
    assert_eq!(bytes(&Store::open(folder.path(), "").expect("a storage")), stored.cast_unsigned());
}
