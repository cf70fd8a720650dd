//! Files of blobs: `blobs/ab/cdef…` with the bytes, `….tree` beside it with the hash tree, and `blobs/uploads/…` that grow.
//!
//! Bytes are in files and not in the database, whatever their number: a value of redb is in memory as a whole when it is written and
//! read, its transaction holds up the commits of documents, and a file can be continued, read by range, and verified by other programs
//! (`hashmill sum`, `b3sum`). A tree is a cache: it is made again from the bytes where it is missing or wrong.
#![expect(clippy::disallowed_types, reason = "blobs are files")]

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use hashmill_atomic_file::{create_folder, open_own, open_unlinked, place};

use crate::storage::BlobHash;

/// The folder in the directory of the storage.
pub(in crate::shell) const FOLDER: &str = "blobs";
const UPLOADS: &str = "uploads";
const TREE_SUFFIX: &str = ".tree";
/// Digits of a name that name the folder of its file.
const PREFIX_DIGITS: usize = 2;

/// File system of blobs. Files are named by blob, and uploads by texts.
pub(in crate::shell) trait Files: Send + Sync + 'static {
    type File: Send + 'static;

    /// Opens an upload, and creates it if there is none.
    fn open_upload(&self, name: &str) -> io::Result<Self::File>;
    fn open_blob(&self, blob: BlobHash) -> io::Result<Self::File>;
    fn open_tree(&self, blob: BlobHash) -> io::Result<Self::File>;
    fn len(&self, file: &Self::File) -> io::Result<u64>;
    /// Reads this number of bytes.
    fn read(&self, file: &mut Self::File, offset: u64, len: usize) -> io::Result<Vec<u8>>;
    fn write(&self, file: &mut Self::File, offset: u64, bytes: &[u8]) -> io::Result<()>;
    fn truncate(&self, file: &mut Self::File, len: u64) -> io::Result<()>;
    /// Returns when the bytes are on the medium.
    fn sync(&self, file: &mut Self::File) -> io::Result<()>;
    /// Makes an upload the file of a blob. Returns when bytes and name are on the medium.
    fn place(&self, file: Self::File, name: &str, blob: BlobHash) -> io::Result<()>;
    /// Writes a tree. It may be lost or torn by a crash.
    fn write_tree(&self, blob: BlobHash, bytes: &[u8]) -> io::Result<()>;
    /// Removes an upload, if there is one.
    fn remove_upload(&self, name: &str) -> io::Result<()>;
    /// Removes the file of a blob and its tree, if they exist.
    fn remove_blob(&self, blob: BlobHash) -> io::Result<()>;
    fn upload_names(&self) -> io::Result<Vec<String>>;
    /// Blobs that have a file or a tree, and whose names start with a byte.
    fn blobs(&self, first: u8) -> io::Result<Vec<BlobHash>>;
}

/// Files in the directory of a storage.
pub(in crate::shell) struct FolderFiles {
    folder: PathBuf,
}

impl FolderFiles {
    /// The files below the directory of a storage.
    pub(in crate::shell) fn open(storage: &Path) -> io::Result<FolderFiles> {
        let folder = storage.join(FOLDER);
        create_folder(&folder).map_err(to_io)?;
        create_folder(&folder.join(UPLOADS)).map_err(to_io)?;
        Ok(FolderFiles { folder })
    }

    /// The files below a directory, which is not changed. `None`: there are none.
    pub(in crate::shell) fn find(storage: &Path) -> io::Result<Option<FolderFiles>> {
        let folder = storage.join(FOLDER);
        match fs::symlink_metadata(&folder) {
            Ok(metadata) if metadata.is_dir() => Ok(Some(FolderFiles { folder })),
            Ok(_) => Err(ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The folder of all files.
    pub(in crate::shell) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Removes the folder of uploads, if it is empty.
    pub(in crate::shell) fn remove_upload_folder(&self) -> io::Result<()> {
        fs::remove_dir(self.folder.join(UPLOADS))
    }

    /// Path of the file of a blob.
    pub(in crate::shell) fn path(&self, blob: BlobHash) -> PathBuf {
        let name = blob.to_string();
        let (prefix, rest) = name.split_at(PREFIX_DIGITS);
        self.folder.join(prefix).join(rest)
    }

    fn tree_path(&self, blob: BlobHash) -> PathBuf {
        let mut path = self.path(blob).into_os_string();
        path.push(TREE_SUFFIX);
        path.into()
    }

    fn upload_path(&self, name: &str) -> PathBuf {
        self.folder.join(UPLOADS).join(name)
    }
}

impl Files for FolderFiles {
    type File = File;

    fn open_upload(&self, name: &str) -> io::Result<File> {
        open_own(&self.upload_path(name)).map_err(to_io)
    }

    fn open_blob(&self, blob: BlobHash) -> io::Result<File> {
        open_unlinked(&self.path(blob)).map_err(to_io)
    }

    fn open_tree(&self, blob: BlobHash) -> io::Result<File> {
        open_unlinked(&self.tree_path(blob)).map_err(to_io)
    }

    fn len(&self, file: &File) -> io::Result<u64> {
        Ok(file.metadata()?.len())
    }

    fn read(&self, file: &mut File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn write(&self, file: &mut File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    fn truncate(&self, file: &mut File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    fn sync(&self, file: &mut File) -> io::Result<()> {
        file.sync_all()
    }

    fn place(&self, file: File, name: &str, blob: BlobHash) -> io::Result<()> {
        let to = self.path(blob);
        create_folder(to.parent().unwrap_or(&self.folder)).map_err(to_io)?;
        place(&file, &self.upload_path(name), &to).map_err(to_io)
    }

    fn write_tree(&self, blob: BlobHash, bytes: &[u8]) -> io::Result<()> {
        let path = self.tree_path(blob);
        create_folder(path.parent().unwrap_or(&self.folder)).map_err(to_io)?;
        let mut file = open_own(&path).map_err(to_io)?;
        // Another request may read the same tree.
        if file.metadata()?.len() == bytes.len() as u64 && self.read(&mut file, 0, bytes.len())? == bytes {
            return Ok(());
        }
        file.set_len(0)?;
        self.write(&mut file, 0, bytes)
    }

    fn remove_upload(&self, name: &str) -> io::Result<()> {
        remove(&self.upload_path(name))
    }

    fn remove_blob(&self, blob: BlobHash) -> io::Result<()> {
        remove(&self.tree_path(blob))?;
        remove(&self.path(blob))
    }

    fn upload_names(&self) -> io::Result<Vec<String>> {
        // A name that is no text is not of an upload.
        let names = list(&self.folder.join(UPLOADS))?;
        Ok(names.into_iter().filter_map(|name| name.into_string().ok()).collect())
    }

    fn blobs(&self, first: u8) -> io::Result<Vec<BlobHash>> {
        let prefix = format!("{first:02x}");
        let names = match list(&self.folder.join(&prefix)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let parse = |name: std::ffi::OsString| {
            let name = name.into_string().ok()?;
            let rest = name.strip_suffix(TREE_SUFFIX).unwrap_or(&name);
            format!("{prefix}{rest}").parse::<BlobHash>().ok()
        };
        let mut blobs: Vec<BlobHash> = names.into_iter().filter_map(parse).collect();
        blobs.sort_unstable();
        blobs.dedup();
        Ok(blobs)
    }
}

fn list(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn to_io(error: hashmill_atomic_file::Error) -> io::Error {
    match error {
        hashmill_atomic_file::Error::Io(error) => error,
        error => io::Error::other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> (tempfile::TempDir, FolderFiles) {
        let folder = tempfile::tempdir().expect("a directory");
        let files = FolderFiles::open(folder.path()).expect("folders");
        (folder, files)
    }

    #[test]
    fn an_upload_becomes_the_file_of_a_blob() {
        let (folder, files) = open();
        let blob = BlobHash([0xab; 32]);
        let mut file = files.open_upload("one").expect("a new file");
        files.write(&mut file, 0, b"some bytes").expect("a file");
        assert_eq!(files.upload_names().expect("a folder"), ["one"]);
        files.write_tree(blob, b"tree").expect("a file");
        files.place(file, "one", blob).expect("a place");
        assert_eq!(files.upload_names().expect("a folder"), [""; 0]);
        assert_eq!(files.blobs(0xab).expect("a folder"), [blob]);
        assert_eq!(files.blobs(0xac).expect("no folder"), []);
        let path = folder.path().join("blobs/ab").join("ab".repeat(31));
        assert_eq!(fs::read(path).expect("a file"), b"some bytes");
        let mut file = files.open_blob(blob).expect("a file");
        assert_eq!(files.read(&mut file, 5, 5).expect("its bytes"), b"bytes");
        assert!(files.read(&mut file, 5, 6).is_err());
        files.remove_blob(blob).expect("a file");
        files.remove_blob(blob).expect("an absent one is no error");
        assert_eq!(files.blobs(0xab).expect("a folder"), []);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let (folder, files) = open();
        let blob = BlobHash([1; 32]);
        fs::write(folder.path().join("secret"), "secret").expect("a file");
        fs::create_dir(folder.path().join("blobs/01")).expect("a folder");
        symlink(folder.path().join("secret"), files.path(blob)).expect("a link");
        symlink(folder.path().join("secret"), files.tree_path(blob)).expect("a link");
        symlink(folder.path().join("secret"), folder.path().join("blobs/uploads/one")).expect("a link");
        assert!(files.open_blob(blob).is_err() && files.open_tree(blob).is_err());
        assert!(files.open_upload("one").is_err() && files.write_tree(blob, b"tree").is_err());
        let file = files.open_upload("two").expect("a new file");
        assert!(files.place(file, "two", blob).is_err());
        assert_eq!(fs::read(folder.path().join("secret")).expect("a file"), b"secret");
        let other = tempfile::tempdir().expect("a directory");
        symlink(folder.path(), other.path().join("blobs")).expect("a link");
        assert!(FolderFiles::open(other.path()).is_err());
    }
}
