//! Simulation of blobs on a disk that crashes between any two effects, and loses what was not synced.
//!
//! After any crash: no bytes are read but those of the blob, a blob that was confirmed is whole while something needs it, and
//! what nothing needs goes, with all leftovers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard};

use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::blob_store::{BlobStore, FinishError, ReadError, Target, Unfinished, UploadKey};
use super::files::Files;
use super::tree::GROUP_BYTES;
use crate::access::Access;
use crate::identity::Identity;
use crate::shell::store::Store;
use crate::storage::{
    BlobHash, ChunkKey, ChunkKind, Command, ReferenceChange, ReferenceOutcome, StoredChunk,
};

/// Period of claims.
const PERIOD: u64 = 100;
const NAMES: [&str; 2] = ["ann", "ben"];
/// The first documents. A purged one is replaced by another.
const DOCUMENTS: [u8; 2] = [1, 2];

/// A file: what programs see, and what is on the medium.
#[derive(Clone, Default)]
struct Inode {
    current: Vec<u8>,
    durable: Vec<u8>,
}

/// A promise that a disk breaks, which the simulation has to notice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Defect {
    /// Bytes of files are lost.
    LosesBytes,
    /// New names are lost.
    LosesNames,
}

#[derive(Default)]
struct Disk {
    defect: Option<Defect>,
    inodes: Vec<Inode>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Renames that are not synced: old name, new name, file.
    renames: Vec<(String, String, usize)>,
    /// Number of effects before the crash. `None`: there is none.
    left_effects: Option<usize>,
    has_crashed: bool,
}

impl Disk {
    /// Counts an effect. `Err`: the machine crashed before it.
    fn begin_effect(&mut self) -> io::Result<()> {
        match &mut self.left_effects {
            Some(0) => self.has_crashed = true,
            Some(left) => *left -= 1,
            None => {}
        }
        if self.has_crashed { Err(io::Error::other("a crash")) } else { Ok(()) }
    }

    /// What is there after a power cut: of all that was not synced, anything.
    fn restart(&mut self, rng: &mut Rng) {
        (self.left_effects, self.has_crashed) = (None, false);
        for inode in self.inodes.iter_mut().filter(|inode| inode.current != inode.durable) {
            let Inode { current, durable } = &*inode;
            // Bytes that were synced stay, unless they were changed since.
            let first = if current.starts_with(durable) { durable.len() } else { 0 };
            let bytes = match rng.below(4) {
                0 => durable.clone(),
                1 => current.clone(),
                2 => current[..first + rng.below(current.len() - first + 1)].to_vec(),
                // The length is written before the bytes.
                _ => {
                    let mut bytes = durable.clone();
                    bytes.resize(current.len(), 0);
                    bytes
                }
            };
            *inode = Inode { current: bytes.clone(), durable: bytes };
        }
        // A rename is done or not.
        for (from, to, inode) in std::mem::take(&mut self.renames) {
            if rng.below(2) == 0 {
                self.names.insert(from, inode);
                match self.durable_names.get(&to) {
                    Some(before) => self.names.insert(to, *before),
                    None => self.names.remove(&to),
                };
            } else {
                self.durable_names.remove(&from);
                self.durable_names.insert(to, inode);
            }
        }
        let all: BTreeSet<String> = self.names.keys().chain(self.durable_names.keys()).cloned().collect();
        for name in all {
            let names = if rng.below(2) == 0 { &self.names } else { &self.durable_names };
            match names.get(&name).copied() {
                Some(inode) => self.durable_names.insert(name, inode),
                None => self.durable_names.remove(&name),
            };
        }
        self.names = self.durable_names.clone();
    }
}

#[derive(Clone, Default)]
struct SimulatedFiles(Arc<Mutex<Disk>>);

impl SimulatedFiles {
    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().expect("no panic")
    }

    /// Carries out an effect, with a crash before or after it.
    fn effect<R>(&self, act: impl FnOnce(&mut Disk) -> R) -> io::Result<R> {
        let mut disk = self.disk();
        disk.begin_effect()?;
        let result = act(&mut disk);
        disk.begin_effect()?;
        Ok(result)
    }

    fn open(&self, name: &str) -> io::Result<usize> {
        let disk = self.disk();
        if disk.has_crashed {
            return Err(io::Error::other("a crash"));
        }
        disk.names.get(name).copied().ok_or_else(|| ErrorKind::NotFound.into())
    }
}

fn upload_path(name: &str) -> String {
    format!("upload {name}")
}

fn blob_path(blob: BlobHash) -> String {
    format!("blob {blob}")
}

fn tree_path(blob: BlobHash) -> String {
    format!("tree {blob}")
}

impl Files for SimulatedFiles {
    type File = usize;

    fn open_upload(&self, name: &str) -> io::Result<usize> {
        match self.open(&upload_path(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => self.effect(|disk| {
                disk.inodes.push(Inode::default());
                let inode = disk.inodes.len() - 1;
                disk.names.insert(upload_path(name), inode);
                inode
            }),
            opened => opened,
        }
    }

    fn open_blob(&self, blob: BlobHash) -> io::Result<usize> {
        self.open(&blob_path(blob))
    }

    fn open_tree(&self, blob: BlobHash) -> io::Result<usize> {
        self.open(&tree_path(blob))
    }

    fn len(&self, file: &usize) -> io::Result<u64> {
        Ok(self.disk().inodes[*file].current.len() as u64)
    }

    fn read(&self, file: &mut usize, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let disk = self.disk();
        let bytes = disk.inodes[*file].current.get(offset as usize..offset as usize + len);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    fn write(&self, file: &mut usize, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.effect(|disk| {
            let current = &mut disk.inodes[*file].current;
            current.truncate(offset as usize);
            current.resize(offset as usize, 0);
            current.extend_from_slice(bytes);
        })
    }

    fn truncate(&self, file: &mut usize, len: u64) -> io::Result<()> {
        self.effect(|disk| disk.inodes[*file].current.resize(len as usize, 0))
    }

    fn sync(&self, file: &mut usize) -> io::Result<()> {
        self.effect(|disk| {
            if disk.defect != Some(Defect::LosesBytes) {
                let current = disk.inodes[*file].current.clone();
                disk.inodes[*file].durable = current;
            }
            // As file systems do: the name of a new file is written with its bytes.
            let names: Vec<String> = disk
                .names
                .iter()
                .filter(|(_, inode)| **inode == *file)
                .map(|(name, _)| name.clone())
                .collect();
            for name in names {
                disk.durable_names.insert(name, *file);
            }
        })
    }

    fn place(&self, mut file: usize, name: &str, blob: BlobHash) -> io::Result<()> {
        self.sync(&mut file)?;
        let (from, to) = (upload_path(name), blob_path(blob));
        self.effect(|disk| {
            disk.names.remove(&from);
            disk.names.insert(to.clone(), file);
            disk.renames.push((from.clone(), to.clone(), file));
        })?;
        self.effect(|disk| {
            if disk.defect == Some(Defect::LosesNames) {
                return;
            }
            disk.durable_names.remove(&from);
            disk.durable_names.insert(to, file);
            disk.renames.clear();
        })
    }

    fn write_tree(&self, blob: BlobHash, bytes: &[u8]) -> io::Result<()> {
        self.effect(|disk| {
            disk.inodes.push(Inode { current: bytes.to_vec(), durable: Vec::new() });
            let inode = disk.inodes.len() - 1;
            disk.names.insert(tree_path(blob), inode);
        })
    }

    fn remove_upload(&self, name: &str) -> io::Result<()> {
        self.effect(|disk| disk.names.remove(&upload_path(name))).map(|_| ())
    }

    fn remove_blob(&self, blob: BlobHash) -> io::Result<()> {
        self.effect(|disk| disk.names.remove(&tree_path(blob)))?;
        self.effect(|disk| disk.names.remove(&blob_path(blob))).map(|_| ())
    }

    fn upload_names(&self) -> io::Result<Vec<String>> {
        let disk = self.disk();
        Ok(disk.names.keys().filter_map(|name| name.strip_prefix("upload ").map(str::to_owned)).collect())
    }

    fn blobs(&self, first: u8) -> io::Result<Vec<BlobHash>> {
        let disk = self.disk();
        let parse = |name: &String| -> Option<BlobHash> {
            name.strip_prefix("blob ").or_else(|| name.strip_prefix("tree "))?.parse().ok()
        };
        let all: BTreeSet<BlobHash> = disk.names.keys().filter_map(parse).collect();
        Ok(all.into_iter().filter(|blob| blob.0[0] == first).collect())
    }
}

/// What was confirmed, and needs a blob.
#[derive(Default)]
struct Confirmed {
    claims: BTreeMap<(BlobHash, &'static str), u64>,
    references: BTreeSet<(u8, BlobHash)>,
}

struct World {
    rng: Rng,
    files: SimulatedFiles,
    store: Arc<Store>,
    blobs: Arc<BlobStore<SimulatedFiles>>,
    contents: BTreeMap<BlobHash, Vec<u8>>,
    unfinished: BTreeMap<UploadKey, Unfinished>,
    confirmed: Confirmed,
    documents: [u8; 2],
    deleted: BTreeSet<u8>,
    rotten: BTreeSet<BlobHash>,
    now: u64,
    /// Counts of what happened: a simulation in which nothing happens proves nothing.
    events: BTreeMap<&'static str, u64>,
}

fn document(number: u8) -> DocumentId {
    DocumentId::from_random_bytes([number; 16])
}

fn open(
    store: &Arc<Store>,
    files: &SimulatedFiles,
) -> (Arc<BlobStore<SimulatedFiles>>, BTreeMap<UploadKey, Unfinished>) {
    let opened = BlobStore::open(Arc::clone(store), files.clone(), None, Box::new(|_| {}));
    let (blobs, unfinished) = opened.expect("no crash");
    (Arc::new(blobs), unfinished.into_iter().map(|(key, unfinished, _)| (key, unfinished)).collect())
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let (files, store) = (SimulatedFiles::default(), Arc::new(Store::in_memory()));
        let lens = [0, 5, GROUP_BYTES, 2 * GROUP_BYTES + 77];
        let contents = lens.map(|len| rng.bytes(len));
        let contents =
            contents.map(|bytes| (BlobHash(*hashmill_hash::blake3::hash(&bytes).as_bytes()), bytes));
        let (blobs, unfinished) = open(&store, &files);
        let world = World {
            rng,
            files,
            store,
            blobs,
            contents: contents.into(),
            unfinished,
            confirmed: Confirmed::default(),
            documents: DOCUMENTS,
            deleted: BTreeSet::new(),
            rotten: BTreeSet::new(),
            now: 1000,
            events: BTreeMap::new(),
        };
        DOCUMENTS.into_iter().for_each(|number| world.create_document(number));
        world
    }

    fn create_document(&self, number: u8) {
        let key = ChunkKey { document: document(number), kind: ChunkKind::Snapshot, name: "0".to_owned() };
        let chunk = StoredChunk { key, bytes: vec![1] };
        self.store.put(&[chunk], &BTreeMap::new()).expect("a storage");
    }

    fn count(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }

    fn any_blob(&mut self) -> BlobHash {
        let at = self.rng.below(self.contents.len());
        *self.contents.keys().nth(at).expect("a blob")
    }

    /// Sends a part of a blob, from the start or continued, perhaps with wrong bytes. Ends with a blob, or unfinished.
    fn upload(&mut self) {
        let (name, blob) = (NAMES[self.rng.below(2)], self.any_blob());
        let bytes = self.contents[&blob].clone();
        let is_named = self.rng.below(4) > 0;
        let target = if is_named { Target::Blob(blob) } else { Target::Any(self.now) };
        let key = UploadKey { name: name.to_owned(), target };
        let unfinished = self.unfinished.remove(&key);
        let opened = match &unfinished {
            Some(unfinished) if self.rng.below(3) > 0 => self.blobs.resume_upload(key.clone(), unfinished),
            _ => self.blobs.start_upload(key.clone()),
        };
        let Ok(mut upload) = opened else { return };
        let mut offset = upload.len() as usize;
        assert!(offset <= bytes.len());
        let is_last = !is_named || self.rng.below(2) == 0;
        let is_wrong = self.rng.below(8) == 0 && is_last && is_named;
        let end = if is_last { bytes.len() } else { offset + self.rng.below(bytes.len() - offset + 1) };
        while offset < end {
            let next = end.min(offset + 1 + self.rng.below(GROUP_BYTES));
            if self.blobs.write(&mut upload, &bytes[offset..next], self.now).is_err() {
                return;
            }
            offset = next;
        }
        if is_wrong && self.blobs.write(&mut upload, b"?", self.now).is_err() {
            return;
        }
        if !is_last {
            if let Ok(Some(unfinished)) = self.blobs.suspend(upload, self.now) {
                self.unfinished.insert(key, unfinished);
                self.count("suspended");
            }
            return;
        }
        match self.blobs.finish(upload, self.now) {
            Ok((found, len)) => {
                assert!(!is_wrong && found == blob && len == bytes.len() as u64);
                self.confirmed.claims.insert((blob, name), self.now);
                if self.rotten.remove(&blob) {
                    self.count("repaired");
                }
                self.count("stored");
            }
            Err(FinishError::Mismatch(_)) => {
                assert!(is_wrong, "bytes that were recorded as durable are those of the client");
                self.count("refused");
            }
            Err(FinishError::OverQuota) => panic!("there is no quota"),
            Err(FinishError::Io(_)) => {}
        }
    }

    fn change_reference(&mut self) {
        let (name, blob) = (NAMES[self.rng.below(2)], self.any_blob());
        let number = self.documents[self.rng.below(DOCUMENTS.len())];
        let identity = Identity::new(name, Access::Write);
        let change = if self.rng.below(3) > 0 { ReferenceChange::Add } else { ReferenceChange::Remove };
        let changed = self.store.change_reference(change, &document(number), blob, &identity, self.now, None);
        if changed.expect("a storage").0 != ReferenceOutcome::Done {
            return;
        }
        assert!(!self.deleted.contains(&number));
        if change == ReferenceChange::Add {
            self.confirmed.references.insert((number, blob));
            self.confirmed.claims.remove(&(blob, name));
            self.count("referred");
        } else {
            assert!(self.confirmed.references.remove(&(number, blob)));
            self.confirmed.claims.insert((blob, name), self.now);
            self.count("released");
        }
    }

    fn change_document(&mut self) {
        let slot = self.rng.below(DOCUMENTS.len());
        let number = self.documents[slot];
        let execute = |command| self.store.execute(&document(number), command).expect("a storage");
        if self.deleted.insert(number) {
            execute(Command::Delete { at: self.now });
        } else if self.rng.below(2) == 0 {
            execute(Command::Undelete);
            self.deleted.remove(&number);
        } else {
            execute(Command::Purge { deleted_until: self.now });
            self.confirmed.references.retain(|(there, _)| *there != number);
            self.documents[slot] = number + DOCUMENTS.len() as u8;
            self.create_document(self.documents[slot]);
            self.count("purged");
        }
    }

    fn sweep(&mut self) {
        self.now += self.rng.below(PERIOD as usize / 3) as u64;
        if self.blobs.remove_unneeded(PERIOD, self.now).is_ok() {
            self.count("swept");
        }
        let now = self.now;
        self.confirmed.claims.retain(|_, at| *at + PERIOD > now);
    }

    fn rot(&mut self) {
        let blob = self.any_blob();
        let mut disk = self.files.disk();
        let path = if self.rng.below(2) == 0 { blob_path(blob) } else { tree_path(blob) };
        let Some(inode) = disk.names.get(&path).copied() else { return };
        let inode = &mut disk.inodes[inode];
        if !inode.current.is_empty() {
            let place = self.rng.below(inode.current.len());
            inode.current[place] ^= 1;
            inode.durable = inode.current.clone();
            drop(disk);
            if path == blob_path(blob) {
                self.rotten.insert(blob);
            }
            self.count("rotted");
        }
    }

    fn read(&self, blob: BlobHash, len: u64, start: u64, end: u64) -> Result<Vec<u8>, ReadError> {
        let mut reader = self.blobs.read(blob, len, start..end);
        let mut bytes = Vec::new();
        while let Some(part) = reader.read_next()? {
            bytes.extend_from_slice(&part);
        }
        Ok(bytes)
    }

    fn check(&mut self) {
        let reader = Identity::new("reader", Access::Read);
        for (blob, bytes) in self.contents.clone() {
            let needed_by_document = self
                .confirmed
                .references
                .iter()
                .any(|(number, there)| *there == blob && !self.deleted.contains(number));
            let seen = self.store.readable_blob(blob, &reader).expect("a storage");
            assert!(seen.is_some() || !needed_by_document, "a blob of a document is there");
            let claimant = NAMES.iter().find(|name| self.confirmed.claims.contains_key(&(blob, **name)));
            if let Some(name) = claimant {
                let seen = self.store.readable_blob(blob, &Identity::new(name, Access::Denied));
                assert!(seen.expect("a storage").is_some(), "a confirmed blob is there for its client");
            }
            let is_needed = needed_by_document || claimant.is_some();
            let Some(len) = self.store.blob_len(blob).expect("a storage") else {
                assert!(!is_needed && self.confirmed.references.iter().all(|(_, there)| *there != blob));
                continue;
            };
            assert_eq!(len, bytes.len() as u64);
            let start = self.rng.below(bytes.len() + 1);
            let end = start + self.rng.below(bytes.len() - start + 1);
            for (start, end) in [(0, bytes.len()), (start, end)] {
                match self.read(blob, len, start as u64, end as u64) {
                    Ok(read) => assert_eq!(read, bytes[start..end], "only bytes of the blob are read"),
                    Err(error) => {
                        assert!(error == ReadError::Damaged && self.rotten.contains(&blob), "{error:?}");
                        assert!(self.blobs.is_damaged(blob));
                        self.count("found");
                    }
                }
            }
        }
    }

    /// When nothing needs them, blobs go, and with them all that crashes left.
    fn finish(&mut self) {
        self.restart();
        self.blobs.remove_leftovers().expect("no crash");
        self.now += 2 * PERIOD;
        self.blobs.remove_unneeded(PERIOD, self.now).expect("no crash");
        let needed: BTreeSet<BlobHash> = self.confirmed.references.iter().map(|(_, blob)| *blob).collect();
        let recorded: BTreeSet<BlobHash> =
            self.store.blobs_after(None, 100).expect("a storage").into_iter().map(|(blob, _)| blob).collect();
        assert_eq!(recorded, needed);
        let files: BTreeSet<BlobHash> =
            (0..=u8::MAX).flat_map(|first| self.files.blobs(first).expect("no crash")).collect();
        assert_eq!(files, needed);
        let counted: u64 = NAMES
            .iter()
            .map(|name| self.store.load_owner((*name).to_owned()).expect("a storage").stored_bytes)
            .sum();
        let expected: usize =
            self.confirmed.references.iter().map(|(_, blob)| self.contents[blob].len()).sum();
        assert_eq!(counted, expected as u64, "bytes of all references");
        for key in std::mem::take(&mut self.unfinished).into_keys() {
            self.blobs.discard(&key).expect("no crash");
        }
        assert_eq!(self.files.upload_names().expect("no crash"), [""; 0]);
    }

    fn restart(&mut self) {
        self.files.disk().restart(&mut self.rng);
        (self.blobs, self.unfinished) = open(&self.store, &self.files);
    }

    fn step(&mut self) {
        self.now += 1;
        if self.rng.below(3) == 0 {
            self.files.disk().left_effects = Some(self.rng.below(14));
        }
        match self.rng.below(16) {
            0..7 => self.upload(),
            7..12 => self.change_reference(),
            12 => self.change_document(),
            13 => self.sweep(),
            // A crash may end it.
            14 => drop(self.blobs.remove_leftovers()),
            _ => self.rot(),
        }
        if self.files.disk().has_crashed {
            self.count("crashed");
            self.restart();
        }
        self.files.disk().left_effects = None;
        self.check();
    }
}

/// Runs a world. Returns counts of what happened.
fn run(seed: u64, defect: Option<Defect>) -> BTreeMap<&'static str, u64> {
    let mut world = World::new(seed);
    world.files.disk().defect = defect;
    let steps = 20 + world.rng.below(40);
    for _ in 0..steps {
        world.step();
    }
    world.finish();
    world.events
}

#[test]
fn blobs_survive_crashes_and_go_when_nothing_needs_them() {
    let mut events: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in 0..hashmill_testkit::size::of(40, 5_000) {
        for (event, count) in run(seed, None) {
            *events.entry(event).or_default() += count;
        }
    }
    for event in [
        "crashed",
        "found",
        "purged",
        "referred",
        "refused",
        "released",
        "repaired",
        "rotted",
        "stored",
        "suspended",
        "swept",
    ] {
        assert!(events.get(event).is_some_and(|count| *count >= 5), "{event}: {events:?}");
    }
}

#[test]
fn a_disk_that_breaks_its_promises_is_noticed() {
    for defect in [Defect::LosesBytes, Defect::LosesNames] {
        let is_noticed = |seed| std::panic::catch_unwind(|| run(seed, Some(defect))).is_err();
        assert!((0..40).any(is_noticed), "{defect:?}");
    }
}
