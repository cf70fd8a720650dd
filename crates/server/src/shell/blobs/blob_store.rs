//! Blobs on the disk: uploads that become blobs, reading with verification, removal of what nothing needs.
//!
//! A blob is on the medium, with its name, before its record is. So what has a record can be served after any crash, and a file without
//! a record is left over from a crash and can be removed. Bytes of an upload are on the medium before they are recorded as such.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::files::{Files, FolderFiles};
use super::tree::{GROUP_BYTES, GroupHasher, GroupWalk, PAIR_BYTES};
use crate::event::IoFailure;
use crate::fact::Fact;
use crate::shell::store::Store;
use crate::storage::{AddOutcome, BlobHash, Owner, UploadRecord};

/// Bytes of an upload after which they are made durable, so that a crash costs no more.
const CHECKPOINT_BYTES: u64 = 64 << 20;
/// Bytes that are read at once to hash a whole file.
const READ_BYTES: usize = 1 << 20;
/// Number of records that are changed in one transaction.
const BATCH: usize = 100;

/// Result for others.
pub(super) enum Notice {
    Fact(Fact),
    /// Changed counts of stored bytes.
    Counts(Vec<Owner>),
}

/// Blobs of a storage.
pub(super) struct BlobStore<F> {
    store: Arc<Store>,
    files: F,
    /// Maximum bytes of an identity.
    max_stored_bytes: Option<u64>,
    /// Shared by those who place files, so that a file is not removed between its placement and its record.
    placement: RwLock<()>,
    /// Blobs whose bytes did not match since the start. Putting one again repairs it.
    damaged: Mutex<BTreeSet<BlobHash>>,
    notify: Box<dyn Fn(Notice) + Send + Sync>,
}

/// What an upload is for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct UploadKey {
    /// Name of the identity.
    pub(super) name: String,
    pub(super) target: Target,
}

/// The blob that an upload becomes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Target {
    /// This one, or none. Such an upload can be continued.
    Blob(BlobHash),
    /// Any. The number tells uploads apart.
    Any(u64),
}

impl UploadKey {
    fn file_name(&self) -> String {
        let name = BlobHash(*hashmill_hash::blake3::hash(self.name.as_bytes()).as_bytes()).to_string();
        match self.target {
            Target::Blob(blob) => format!("{blob}-{}", &name[..32]),
            Target::Any(number) => format!("any-{number}-{}", &name[..32]),
        }
    }

    pub(super) fn blob(&self) -> Option<BlobHash> {
        match self.target {
            Target::Blob(blob) => Some(blob),
            Target::Any(_) => None,
        }
    }
}

/// An upload that is received now.
pub(super) struct Upload<T> {
    key: UploadKey,
    file: T,
    hasher: GroupHasher,
    recorded_bytes: u64,
}

impl<T> Upload<T> {
    /// Number of bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.hasher.len()
    }
}

/// An upload that was interrupted.
#[derive(Clone)]
pub(super) struct Unfinished {
    /// `None` after a start of the server: the bytes are hashed again.
    hasher: Option<GroupHasher>,
    durable_bytes: u64,
}

impl Unfinished {
    pub(super) fn len(&self) -> u64 {
        self.durable_bytes
    }
}

/// An upload that was interrupted, and the time of its latest bytes in seconds since 1970.
pub(super) type UnfinishedUpload = (UploadKey, Unfinished, u64);

/// Reason why an upload becomes no blob.
#[derive(Debug)]
pub(super) enum FinishError {
    /// The bytes have another hash. The upload is discarded.
    Mismatch(BlobHash),
    /// The identity has no room. The upload is discarded.
    OverQuota,
    /// The storage failed.
    Io(String),
}

/// Reason why a blob cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ReadError {
    /// The bytes on the disk are not those of the blob.
    Damaged,
    /// The storage failed.
    Io(String),
}

impl<F: Files> BlobStore<F> {
    /// Opens the blobs of a storage. Uploads that can be continued are returned; others are removed.
    pub(super) fn open(
        store: Arc<Store>,
        files: F,
        max_stored_bytes: Option<u64>,
        notify: Box<dyn Fn(Notice) + Send + Sync>,
    ) -> Result<(BlobStore<F>, Vec<UnfinishedUpload>), String> {
        let records = store.uploads().map_err(|failure| reason(&failure))?;
        let uploads: Vec<UnfinishedUpload> = records
            .into_iter()
            .map(|UploadRecord { name, blob, durable_bytes, at }| {
                let key = UploadKey { name, target: Target::Blob(blob) };
                (key, Unfinished { hasher: None, durable_bytes }, at)
            })
            .collect();
        let known: BTreeSet<String> = uploads.iter().map(|(key, ..)| key.file_name()).collect();
        for name in files.upload_names().map_err(|error| text(&error))? {
            if !known.contains(&name) {
                files.remove_upload(&name).map_err(|error| text(&error))?;
            }
        }
        let (placement, damaged) = (RwLock::new(()), Mutex::default());
        Ok((BlobStore { store, files, max_stored_bytes, placement, damaged, notify }, uploads))
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn max_stored_bytes(&self) -> Option<u64> {
        self.max_stored_bytes
    }

    pub(super) fn is_damaged(&self, blob: BlobHash) -> bool {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner).contains(&blob)
    }

    /// Starts an upload from its first byte, in place of an unfinished one.
    pub(super) fn start_upload(&self, key: UploadKey) -> Result<Upload<F::File>, String> {
        if let Some(blob) = key.blob() {
            // First: a record is about the bytes that go.
            self.store.forget_upload(&key.name, blob).map_err(|failure| reason(&failure))?;
        }
        let mut file = self.files.open_upload(&key.file_name()).map_err(|error| text(&error))?;
        self.files.truncate(&mut file, 0).map_err(|error| text(&error))?;
        Ok(Upload { key, file, hasher: GroupHasher::default(), recorded_bytes: 0 })
    }

    /// Continues an upload. If its durable bytes have gone, it is at its first byte again.
    pub(super) fn resume_upload(
        &self,
        key: UploadKey,
        unfinished: &Unfinished,
    ) -> Result<Upload<F::File>, String> {
        let mut file = self.files.open_upload(&key.file_name()).map_err(|error| text(&error))?;
        if self.files.len(&file).map_err(|error| text(&error))? < unfinished.durable_bytes {
            return self.start_upload(key);
        }
        let hasher = match &unfinished.hasher {
            Some(hasher) => hasher.clone(),
            None => {
                hash_file(&self.files, &mut file, unfinished.durable_bytes).map_err(|error| text(&error))?
            }
        };
        let recorded_bytes = unfinished.durable_bytes;
        Ok(Upload { key, file, hasher, recorded_bytes })
    }

    /// Adds bytes to an upload, at a time in seconds since 1970.
    pub(super) fn write(&self, upload: &mut Upload<F::File>, bytes: &[u8], now: u64) -> Result<(), String> {
        let offset = upload.len();
        self.files.write(&mut upload.file, offset, bytes).map_err(|error| text(&error))?;
        upload.hasher.update(bytes);
        if upload.key.blob().is_some() && upload.len() - upload.recorded_bytes >= CHECKPOINT_BYTES {
            self.checkpoint(upload, now)?;
        }
        Ok(())
    }

    /// Makes the bytes of an upload durable.
    fn checkpoint(&self, upload: &mut Upload<F::File>, now: u64) -> Result<(), String> {
        let Some(blob) = upload.key.blob() else { return Ok(()) };
        self.files.sync(&mut upload.file).map_err(|error| text(&error))?;
        let (name, durable_bytes) = (upload.key.name.clone(), upload.len());
        self.store
            .record_upload(&UploadRecord { name, blob, durable_bytes, at: now })
            .map_err(|failure| reason(&failure))?;
        upload.recorded_bytes = durable_bytes;
        Ok(())
    }

    /// Keeps an upload for its continuation. `None`: it cannot be continued, and is removed.
    pub(super) fn suspend(
        &self,
        mut upload: Upload<F::File>,
        now: u64,
    ) -> Result<Option<Unfinished>, String> {
        if upload.key.blob().is_none() || upload.len() == 0 {
            self.discard(&upload.key)?;
            return Ok(None);
        }
        self.checkpoint(&mut upload, now)?;
        Ok(Some(Unfinished { durable_bytes: upload.len(), hasher: Some(upload.hasher) }))
    }

    /// Removes an upload.
    pub(super) fn discard(&self, key: &UploadKey) -> Result<(), String> {
        if let Some(blob) = key.blob() {
            self.store.forget_upload(&key.name, blob).map_err(|failure| reason(&failure))?;
        }
        self.files.remove_upload(&key.file_name()).map_err(|error| text(&error))
    }

    /// Makes a complete upload a blob. It is durable when this returns.
    pub(super) fn finish(&self, upload: Upload<F::File>, now: u64) -> Result<(BlobHash, u64), FinishError> {
        let Upload { key, mut file, hasher, .. } = upload;
        let len = hasher.len();
        let (digest, tree) = hasher.finish();
        let blob = BlobHash(digest);
        if key.blob().is_some_and(|expected| expected != blob) {
            self.discard(&key).map_err(FinishError::Io)?;
            return Err(FinishError::Mismatch(blob));
        }
        // A write that failed may have left bytes behind the last ones.
        self.files.truncate(&mut file, len).map_err(|error| FinishError::Io(text(&error)))?;
        let outcome = {
            let _placement = self.placement.read().unwrap_or_else(PoisonError::into_inner);
            if !tree.is_empty() {
                self.files.write_tree(blob, &tree).map_err(|error| FinishError::Io(text(&error)))?;
            }
            self.files.place(file, &key.file_name(), blob).map_err(|error| FinishError::Io(text(&error)))?;
            self.store
                .add_blob(blob, len, &key.name, now, self.max_stored_bytes)
                .map_err(|failure| FinishError::Io(reason(&failure)))?
        };
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner).remove(&blob);
        match outcome {
            AddOutcome::Added(counts) => {
                (self.notify)(Notice::Counts(counts));
                Ok((blob, len))
            }
            AddOutcome::OverQuota => {
                self.discard(&key).map_err(FinishError::Io)?;
                self.remove_file_without_record(blob).map_err(FinishError::Io)?;
                Err(FinishError::OverQuota)
            }
        }
    }

    /// Opens a part of a blob of this length, to be read with verification.
    pub(super) fn read(self: &Arc<Self>, blob: BlobHash, len: u64, range: Range<u64>) -> BlobReader<F> {
        let walk = GroupWalk::new(blob.0, len, range.clone());
        let (blobs, is_over) = (Arc::clone(self), false);
        BlobReader { blobs, blob, len, range, file: None, tree: None, walk, is_over }
    }

    /// Hashes a whole blob. Makes its tree again if that is missing or wrong.
    pub(super) fn verify(&self, blob: BlobHash, len: u64) -> Result<(), ReadError> {
        let hashed = self.files.open_blob(blob).and_then(|mut file| {
            let is_whole = self.files.len(&file)? == len;
            Ok((is_whole, hash_file(&self.files, &mut file, len)?.finish()))
        });
        match hashed {
            Ok((true, (digest, tree))) if digest == blob.0 => {
                if !tree.is_empty() {
                    self.files.write_tree(blob, &tree).map_err(|error| ReadError::Io(text(&error)))?;
                }
                Ok(())
            }
            Ok((false, _)) => Err(self.note_damage(blob, "its file has another length")),
            Ok(_) => Err(self.note_damage(blob, "its bytes have another hash")),
            Err(error) => Err(self.note_unreadable(blob, &error)),
        }
    }

    /// Takes an error of reading for damage, unless the machine lacks something that it has at other times.
    fn note_unreadable(&self, blob: BlobHash, error: &io::Error) -> ReadError {
        let is_passing = matches!(error.kind(), ErrorKind::OutOfMemory | ErrorKind::Interrupted)
            || matches!(error.raw_os_error(), Some(TOO_MANY_FILES | TOO_MANY_FILES_OF_SYSTEM));
        if is_passing { ReadError::Io(error.to_string()) } else { self.note_damage(blob, &error.to_string()) }
    }

    fn note_damage(&self, blob: BlobHash, reason: &str) -> ReadError {
        let is_new = self.damaged.lock().unwrap_or_else(PoisonError::into_inner).insert(blob);
        if is_new {
            (self.notify)(Notice::Fact(Fact::BlobDamaged { blob, reason: reason.to_owned() }));
        }
        ReadError::Damaged
    }

    /// Ends claims whose period is over, and removes blobs that nothing needs.
    pub(super) fn remove_unneeded(&self, period: u64, now: u64) -> Result<(), String> {
        loop {
            let (counts, has_more) =
                self.store.end_claims(period, now, BATCH).map_err(|failure| reason(&failure))?;
            (self.notify)(Notice::Counts(counts));
            if !has_more {
                break;
            }
        }
        if !self.store.has_released_blobs().map_err(|failure| reason(&failure))? {
            return Ok(());
        }
        loop {
            let _removal = self.placement.write().unwrap_or_else(PoisonError::into_inner);
            let (removed, has_more) =
                self.store.remove_unneeded_blobs(BATCH).map_err(|failure| reason(&failure))?;
            for blob in &removed {
                self.files.remove_blob(*blob).map_err(|error| text(&error))?;
            }
            if !has_more {
                return Ok(());
            }
        }
    }

    /// Removes files of blobs that have no record: what a crash left.
    pub(super) fn remove_leftovers(&self) -> Result<(), String> {
        for first in 0..=u8::MAX {
            for blob in self.files.blobs(first).map_err(|error| text(&error))? {
                if self.store.blob_len(blob).map_err(|failure| reason(&failure))?.is_none() {
                    self.remove_file_without_record(blob)?;
                }
            }
        }
        Ok(())
    }

    fn remove_file_without_record(&self, blob: BlobHash) -> Result<(), String> {
        let _removal = self.placement.write().unwrap_or_else(PoisonError::into_inner);
        if self.store.blob_len(blob).map_err(|failure| reason(&failure))?.is_none() {
            self.files.remove_blob(blob).map_err(|error| text(&error))?;
        }
        Ok(())
    }
}

/// `EMFILE` and `ENFILE`, which have these numbers on all systems of ours.
const TOO_MANY_FILES: i32 = 24;
const TOO_MANY_FILES_OF_SYSTEM: i32 = 23;

/// Reader of a part of a blob.
pub(super) struct BlobReader<F: Files> {
    blobs: Arc<BlobStore<F>>,
    blob: BlobHash,
    len: u64,
    /// Bytes that are not read yet.
    range: Range<u64>,
    file: Option<F::File>,
    tree: Option<F::File>,
    walk: GroupWalk,
    /// At the end, or after an error: nothing is read behind bytes that are missing.
    is_over: bool,
}

impl<F: Files> BlobReader<F> {
    /// The next bytes, which are those of the blob. `None` at the end.
    pub(super) fn read_next(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        if self.is_over {
            return if self.range.is_empty() { Ok(None) } else { Err(ReadError::Damaged) };
        }
        let read = self.read_group();
        self.is_over = self.range.is_empty() || !matches!(read, Ok(Some(_)));
        read
    }

    fn read_group(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        let (blobs, blob) = (Arc::clone(&self.blobs), self.blob);
        let group = match self.next_group() {
            Ok(Some(Ok(group))) => group,
            Ok(None) => return Ok(None),
            // The tree is missing, short or wrong.
            Ok(Some(Err(_))) | Err(_) => {
                if blobs.is_damaged(blob) {
                    return Err(ReadError::Damaged);
                }
                blobs.verify(blob, self.len)?;
                self.tree = None;
                self.walk = GroupWalk::new(blob.0, self.len, self.range.clone());
                match self.next_group() {
                    Ok(Some(Ok(group))) => group,
                    Ok(None) => return Ok(None),
                    Ok(Some(Err(_))) => return Err(ReadError::Io("the tree cannot be made".to_owned())),
                    Err(error) => return Err(ReadError::Io(error.to_string())),
                }
            }
        };
        let whole = group.range();
        let bytes = self.read_file(whole.start, (whole.end - whole.start) as usize);
        let mut bytes = bytes.map_err(|error| blobs.note_unreadable(blob, &error))?;
        if !group.has_bytes(&bytes) {
            return Err(blobs.note_damage(blob, "its bytes have another hash"));
        }
        let end = self.range.end.min(whole.end);
        bytes.truncate((end - whole.start) as usize);
        bytes.drain(..(self.range.start.max(whole.start) - whole.start) as usize);
        self.range.start = end;
        Ok(Some(bytes))
    }

    fn next_group(&mut self) -> io::Result<Option<Result<super::tree::Group, super::tree::DamagedTree>>> {
        let (files, blob, tree) = (&self.blobs.files, self.blob, &mut self.tree);
        self.walk.next_group(|pair| {
            let file = match tree {
                Some(file) => file,
                None => tree.insert(files.open_tree(blob)?),
            };
            let bytes = files.read(file, pair * PAIR_BYTES as u64, PAIR_BYTES)?;
            bytes.try_into().map_err(|_| ErrorKind::UnexpectedEof.into())
        })
    }

    fn read_file(&mut self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        debug_assert!(len <= GROUP_BYTES);
        let files = &self.blobs.files;
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file = files.open_blob(self.blob)?;
                // More bytes than those of the blob are damage, too.
                if files.len(&file)? != self.len {
                    return Err(io::Error::new(ErrorKind::InvalidData, "its file has another length"));
                }
                self.file.insert(file)
            }
        };
        files.read(file, offset, len)
    }
}

/// Copies a blob durably from one folder to another, if its bytes are those of the blob. Returns its length. `None`: they are not.
pub(in crate::shell) fn copy_blob(
    from: &FolderFiles,
    to: &FolderFiles,
    blob: BlobHash,
) -> io::Result<Option<u64>> {
    let name = format!("copy-{blob}");
    let mut source = from.open_blob(blob)?;
    let len = from.len(&source)?;
    let mut target = to.open_upload(&name)?;
    to.truncate(&mut target, 0)?;
    let mut hasher = GroupHasher::default();
    while hasher.len() < len {
        let count = (len - hasher.len()).min(READ_BYTES as u64) as usize;
        let bytes = from.read(&mut source, hasher.len(), count)?;
        to.write(&mut target, hasher.len(), &bytes)?;
        hasher.update(&bytes);
    }
    let (digest, tree) = hasher.finish();
    if digest != blob.0 {
        to.remove_upload(&name)?;
        return Ok(None);
    }
    if !tree.is_empty() {
        to.write_tree(blob, &tree)?;
    }
    to.place(target, &name, blob)?;
    Ok(Some(len))
}

/// Are the bytes of a blob on the disk those of the blob, which has this length?
pub(in crate::shell) fn has_sound_bytes(files: &FolderFiles, blob: BlobHash, len: u64) -> io::Result<bool> {
    let mut file = files.open_blob(blob)?;
    if files.len(&file)? != len {
        return Ok(false);
    }
    Ok(hash_file(files, &mut file, len)?.finish().0 == blob.0)
}

fn hash_file<F: Files>(files: &F, file: &mut F::File, len: u64) -> io::Result<GroupHasher> {
    let mut hasher = GroupHasher::default();
    while hasher.len() < len {
        let count = (len - hasher.len()).min(READ_BYTES as u64) as usize;
        hasher.update(&files.read(file, hasher.len(), count)?);
    }
    Ok(hasher)
}

fn text(error: &io::Error) -> String {
    error.to_string()
}

fn reason(failure: &IoFailure) -> String {
    failure.reason().to_owned()
}
