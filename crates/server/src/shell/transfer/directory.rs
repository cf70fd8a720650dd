//! The directory format of automerge-repo's file storage: `XX/REST/KIND/NAME`, where `XX` and `REST` are the id of a document.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Component, Path, PathBuf};

use hashmill_repo::DocumentId;

use super::TransferError;
use crate::shell::blobs::FOLDER as BLOB_FOLDER;
use crate::shell::store::{Entry, sync_folder};

/// Path of the file with the id of the storage.
const STORAGE_ID_PATH: &str = "st/orage-adapter-id";
/// Longest id of a storage. The usual one has 36 bytes.
const MAX_STORAGE_ID_BYTES: u64 = 200;
/// Largest chunk. It is in memory while it is stored. Documents of this size are far beyond what their clients can load.
const MAX_CHUNK_BYTES: u64 = 1 << 30;
/// Number of bytes of an id that name the outer directory.
const PREFIX_BYTES: usize = 2;

/// The directory of a document.
pub(super) struct DocumentFolder {
    pub(super) id: DocumentId,
    path: PathBuf,
}

/// The documents of a directory, and what is none, with the reason.
#[derive(Default)]
pub(super) struct Documents {
    pub(super) found: Vec<DocumentFolder>,
    pub(super) ignored: Vec<(PathBuf, &'static str)>,
}

impl Documents {
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }
}

/// An entry of a directory. Its type is that of the entry itself: links are not followed.
struct DirEntry {
    name: Option<String>,
    path: PathBuf,
    kind: EntryKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    Folder,
    File,
    Other,
}

/// The id of the storage, if the directory has one. What is no id, such as the empty file of a write that was interrupted, is an
/// error: clients would start anew without a word.
pub(super) fn read_storage_id(base: &Path) -> Result<Option<String>, TransferError> {
    let path = base.join(STORAGE_ID_PATH);
    match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= MAX_STORAGE_ID_BYTES => {}
        Ok(_) => return Err(TransferError::StorageId(path)),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(reason) => return Err(TransferError::File { path, reason }),
    }
    let bytes = fs::read(&path).map_err(at(&path))?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Some(text)),
        _ => Err(TransferError::StorageId(path)),
    }
}

/// The documents of a directory, in the order of their ids.
pub(super) fn documents(base: &Path) -> Result<Documents, TransferError> {
    let mut documents = Documents::default();
    for outer in list(base)? {
        if outer.name.as_deref() == Some(BLOB_FOLDER) {
            continue;
        }
        if outer.kind != EntryKind::Folder {
            documents.ignored.push((outer.path, "it is no directory of documents"));
            continue;
        }
        for inner in list(&outer.path)? {
            let text = outer.name.as_deref().zip(inner.name.as_deref()).map(|(a, b)| format!("{a}{b}"));
            let id = text.as_deref().and_then(|text| text.parse::<DocumentId>().ok());
            match id {
                _ if inner.path == base.join(STORAGE_ID_PATH) => {}
                // Another text of the same id would be exported elsewhere.
                Some(id) if inner.kind == EntryKind::Folder && Some(id.to_string()) == text => {
                    documents.found.push(DocumentFolder { id, path: inner.path });
                }
                _ => documents.ignored.push((inner.path, "its name is no id of a document")),
            }
        }
    }
    documents.found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(documents)
}

/// A file with a chunk of a document.
pub(super) struct ChunkFile {
    document: String,
    kind: String,
    name: String,
    path: PathBuf,
}

impl ChunkFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the chunk. `Err` has the reason why it is left out.
    pub(super) fn read(&self) -> Result<Result<Entry, String>, TransferError> {
        let failed = at(&self.path);
        let len = fs::symlink_metadata(&self.path).map_err(&failed)?.len();
        if len > MAX_CHUNK_BYTES {
            return Ok(Err(format!("it has {len} bytes, and {MAX_CHUNK_BYTES} is the maximum")));
        }
        let bytes = fs::read(&self.path).map_err(&failed)?;
        if bytes.is_empty() {
            // What a write leaves that was interrupted.
            return Ok(Err("it is empty".to_owned()));
        }
        let ChunkFile { document, kind, name, .. } = self;
        Ok(Ok(Entry { document: document.clone(), kind: kind.clone(), name: name.clone(), bytes }))
    }
}

/// The files with chunks of a document. Other entries are added to `ignored`.
pub(super) fn chunk_files(
    document: &DocumentFolder,
    ignored: &mut Vec<(PathBuf, &'static str)>,
) -> Result<Vec<ChunkFile>, TransferError> {
    let mut files = Vec::new();
    for kind in list(&document.path)? {
        let Some(kind_name) = kind.name.filter(|_| kind.kind == EntryKind::Folder) else {
            ignored.push((kind.path, "it is no directory of chunks"));
            continue;
        };
        for chunk in list(&kind.path)? {
            match chunk.name {
                Some(name) if chunk.kind == EntryKind::File => files.push(ChunkFile {
                    document: document.id.to_string(),
                    kind: kind_name.clone(),
                    name,
                    path: chunk.path,
                }),
                _ => ignored.push((chunk.path, "it is no file with a chunk")),
            }
        }
    }
    Ok(files)
}

/// The path of an entry.
fn path_of(base: &Path, entry: &Entry) -> PathBuf {
    folder_of(base, &entry.document).join(&entry.kind).join(&entry.name)
}

/// Creates a directory, or takes an empty one.
pub(super) fn create_empty(base: &Path) -> Result<(), TransferError> {
    match fs::create_dir(base) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if list(base)?.is_empty() {
                Ok(())
            } else {
                Err(TransferError::NotEmpty(base.to_owned()))
            }
        }
        created => created.map_err(at(base)),
    }
}

/// Writes the entries of a document durably.
pub(super) fn write_document(
    base: &Path,
    document: &DocumentId,
    entries: &[Entry],
) -> Result<(), TransferError> {
    let folder = folder_of(base, &document.to_string());
    let outer = folder.parent().unwrap_or(base);
    fs::create_dir_all(outer).map_err(at(outer))?;
    match fs::create_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(TransferError::IgnoresCase(folder));
        }
        created => created.map_err(at(&folder))?,
    }
    let mut kind_folder = PathBuf::new();
    for entry in entries {
        // A storage may come from elsewhere: no name leads out of the directory.
        if !is_file_name(&entry.kind) || !is_file_name(&entry.name) {
            return Err(TransferError::Name(format!("{document}/{}/{}", entry.kind, entry.name)));
        }
        let path = path_of(base, entry);
        if let Some(parent) = path.parent().filter(|parent| *parent != kind_folder) {
            sync(&kind_folder)?;
            fs::create_dir(parent).map_err(at(parent))?;
            kind_folder = parent.to_owned();
        }
        write_file(&path, &entry.bytes)?;
    }
    [&*kind_folder, &folder, outer, base].into_iter().try_for_each(sync)
}

/// Writes the id of a storage durably. Last: a directory without one is an export that was interrupted.
pub(super) fn write_storage_id(base: &Path, id: &str) -> Result<(), TransferError> {
    let path = base.join(STORAGE_ID_PATH);
    let folder = path.parent().unwrap_or(base);
    fs::create_dir_all(folder).map_err(at(folder))?;
    write_file(&path, id.as_bytes())?;
    [folder, base].into_iter().try_for_each(sync)
}

fn is_file_name(text: &str) -> bool {
    let mut parts = Path::new(text).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == text)
}

fn sync(folder: &Path) -> Result<(), TransferError> {
    // Before the first directory of chunks there is none.
    if folder.as_os_str().is_empty() { Ok(()) } else { sync_folder(folder).map_err(at(folder)) }
}

fn folder_of(base: &Path, id: &str) -> PathBuf {
    // Ids consist of ASCII characters.
    let (prefix, rest) = id.split_at_checked(PREFIX_BYTES).unwrap_or((id, ""));
    base.join(prefix).join(rest)
}

#[expect(clippy::disallowed_types, reason = "an export is made of files")]
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), TransferError> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path).map_err(at(path))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(at(path))
}

fn list(folder: &Path) -> Result<Vec<DirEntry>, TransferError> {
    let failed = at(folder);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        let kind = entry.file_type().map_err(&failed)?;
        let kind = match kind {
            kind if kind.is_dir() => EntryKind::Folder,
            kind if kind.is_file() => EntryKind::File,
            _ => EntryKind::Other,
        };
        // A name that is no text is none of automerge-repo's.
        entries.push(DirEntry { name: entry.file_name().into_string().ok(), path: entry.path(), kind });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

fn at(path: &Path) -> impl Fn(io::Error) -> TransferError + use<> {
    let path = path.to_owned();
    move |reason| TransferError::File { path: path.clone(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_directory() {
        for name in ["snapshot", "a.b", "..a", "4301ba13"] {
            assert!(is_file_name(name), "{name}");
        }
        for name in ["", ".", "..", "/", "/a", "a/b", "a/", "../a", "./a"] {
            assert!(!is_file_name(name), "{name}");
        }
    }
}
