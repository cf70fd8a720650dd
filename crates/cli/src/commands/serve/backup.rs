//! Backups of a server's storage, while the server runs or without one.

use super::admin::RunningServer;
use super::settings::{random_bytes, storage_folder};
use super::transfer::{finish, print_fact};
use crate::flags::{BackUpStorageArgs, RestoreStorageArgs, UsageError};
use crate::os::TempFileGuard;
use crate::output::display_path;
use anyhow::{Context as _, Result, bail};
use hashmill_atomic_file::{Expected, Replacement, open_regular};
use hashmill_machine::date;
use hashmill_server::shell::{self, BACKUP_MAGIC, OpenError, RestoreOptions, TransferError};
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// Buffer for writing.
const BUFFER_BYTES: usize = 1 << 20;

pub(super) fn back_up(flags: &BackUpStorageArgs) -> Result<()> {
    if flags.to.as_os_str() == "-" {
        let reason = "a backup is read again before it gets its name: name a file or a directory, not -";
        bail!(UsageError(reason.to_owned()));
    }
    let folder = storage_folder(&flags.storage);
    let now = date::now_seconds();
    let path = target_path(&flags.to, now);
    let name = display_path(&path).into_owned();
    check_target(&path).with_context(|| name.clone())?;
    let begin = || Replacement::begin_private(&path);
    let (mut replacement, _guard) =
        TempFileGuard::create(begin, Replacement::temporary_name).with_context(|| name.clone())?;
    write_backup(&mut replacement, &folder, now, &name)?;
    // As it is in the file.
    let mut file = replacement.try_clone().with_context(|| name.clone())?;
    file.rewind().with_context(|| name.clone())?;
    let summary = shell::read_backup(&mut file, false, &mut print_fact).with_context(|| name.clone())?;
    if summary.counts.damaged > 0 {
        bail!("{name}: what was written is not what was read: check the disk");
    }
    replacement.finish(Expected::Anything).with_context(|| name.clone())?;
    finish(&format!("backed up to {name}"), &summary.counts)
}

fn write_backup(replacement: &mut Replacement, folder: &Path, now: u64, name: &str) -> Result<()> {
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, &mut *replacement);
    match shell::back_up(folder, random_bytes()?, now, &mut file) {
        Err(TransferError::Open(OpenError::InUse(_))) => {
            let server = RunningServer::of_storage(folder)?;
            server.read_backup(|backup| copy(backup, &mut file, &server.name(), name))?;
        }
        Err(TransferError::BackupFile(error)) => return Err(error).context(name.to_owned()),
        written => written?,
    }
    file.flush().with_context(|| name.to_owned())
}

/// Copies a backup. Errors name the side that failed.
fn copy(from: &mut dyn io::Read, to: &mut dyn io::Write, from_name: &str, to_name: &str) -> Result<()> {
    let mut piece = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&piece[..count]).with_context(|| to_name.to_owned())?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error).context(from_name.to_owned()),
        }
    }
}

/// The file of a backup: in a directory, one that is named after the time.
fn target_path(to: &Path, now: u64) -> PathBuf {
    if to.is_dir() {
        // Names with colons are refused by some systems.
        return to.join(format!("hashmill-{}.backup", date::utc(now).replace(':', "")));
    }
    to.to_owned()
}

/// Refuses to replace a file that is not a backup.
fn check_target(path: &Path) -> Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    let mut start = Vec::new();
    open_regular(path)?.take(BACKUP_MAGIC.len() as u64).read_to_end(&mut start)?;
    if start == BACKUP_MAGIC {
        return Ok(());
    }
    bail!(UsageError("it exists, and is no backup that could be replaced: name another file".to_owned()))
}

pub(super) fn restore(flags: &RestoreStorageArgs) -> Result<()> {
    let folder = storage_folder(&flags.storage);
    let name = display_path(&flags.from);
    let file = open_regular(&flags.from).with_context(|| name.clone().into_owned())?;
    let options = RestoreOptions {
        replaces: flags.replace,
        salvages: flags.salvage,
        new_storage_id: if flags.new_storage_id { Some(random_bytes()?) } else { None },
    };
    let restored = shell::restore(&file, &folder, options, &mut print_fact);
    let summary = match restored {
        // These are about the directory, and name it.
        Err(
            error @ (TransferError::Open(_)
            | TransferError::Occupied(_)
            | TransferError::HasBlobs(_)
            | TransferError::File { .. }
            | TransferError::Storage { .. }),
        ) => return Err(error.into()),
        restored => restored.with_context(|| name.into_owned())?,
    };
    let done = format!(
        "restored the storage {} of {} to {}",
        summary.storage_id,
        summary.backup_started_at.map(date::utc).unwrap_or_default(),
        display_path(&folder)
    );
    finish(&done, &summary.counts)
}
