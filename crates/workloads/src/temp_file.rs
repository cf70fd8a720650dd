//! Temporary file of a workload, deleted at the end of its session.

use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A file in the system's folder for temporary files. Dropping it deletes the file.
pub(crate) struct TempFile {
    path: PathBuf,
    file: File,
}

impl TempFile {
    /// Creates a file with this content.
    #[expect(clippy::disallowed_methods, reason = "the folder is part of the measured machine")]
    pub(crate) fn with_content(content: &[u8]) -> io::Result<TempFile> {
        loop {
            // The name need not be secret: a name that exists is an error, a link included.
            let number = RandomState::new().hash_one(std::process::id());
            let path = std::env::temp_dir().join(format!("hashmill-{number:016x}"));
            match File::create_new(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => {
                    let mut file = TempFile { path, file: created? };
                    file.file.write_all(content)?;
                    return Ok(file);
                }
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the content is on the medium.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // A file that stays is the system's to clean up.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_their_content_and_go_when_dropped() {
        let [one, two] = [b"one", b"two"].map(|content| TempFile::with_content(content).expect("a file"));
        two.sync().expect("a medium");
        assert_eq!(fs::read(one.path()).expect("a file"), b"one");
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists() && two.path().exists());
    }
}
