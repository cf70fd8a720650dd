//! Advice about errors of files of a storage.

use std::io::{self, ErrorKind};

/// What to do about an error of the system, for the end of a line.
pub(super) fn io_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::PermissionDenied => ": let this user write there, or name another directory",
        ErrorKind::ReadOnlyFilesystem => ": name a directory that can be written to",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            ": make room, or name a directory on another disk"
        }
        ErrorKind::NotADirectory => ": name a directory",
        ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
            ": it is no storage, or is damaged: restore a backup with hashmill serve restore --replace"
        }
        _ => "",
    }
}
