//! Facts about a server, its machine and its storage.

use crate::commands::serve::admin::RunningServer;
use crate::commands::serve::settings::Resolved;
use crate::os;
use crate::output::display_path;
use anyhow::{Context as _, Result};
use hashmill_machine::date;
use hashmill_server::shell::{self, Certificate, OpenError, Settings, TransferError};
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::Path;
use zeroize::Zeroizing;

/// The file of the storage in its directory.
const STORAGE_FILE: &str = "hashmill.redb";
const DAY_SECONDS: u64 = 86_400;

/// What the rules judge.
#[derive(Debug)]
pub(super) struct DoctorFacts {
    /// The address, as it was given.
    pub(super) listen: String,
    /// Only this machine reaches it.
    pub(super) is_local: bool,
    pub(super) has_tokens: bool,
    pub(super) has_tls: bool,
    /// The certificate of the settings is valid until this time.
    pub(super) certificate_ends_at: Option<u64>,
    pub(super) has_metrics: bool,
    /// The directory of the storage, or of the snapshots of one that servers share.
    pub(super) folder: String,
    /// Servers share the storage.
    pub(super) is_shared: bool,
    pub(super) mount: Option<MountFacts>,
    /// `LD_PRELOAD` of this process.
    pub(super) preload: String,
    pub(super) free_bytes: Option<u64>,
    pub(super) storage_bytes: Option<u64>,
    pub(super) max_open_files: Option<u64>,
    pub(super) max_connections: u64,
    pub(super) memory_limit_bytes: Option<u64>,
    /// The budget for documents.
    pub(super) memory_bytes: u64,
    pub(super) unix_time: u64,
    /// When a server recorded the clock of the machine last.
    pub(super) recorded_at: Option<u64>,
    pub(super) secrets: Vec<SecretFacts>,
    pub(super) files: Vec<FileFacts>,
    pub(super) damaged: Option<u64>,
    /// Number of owners whose stored bytes are counted wrong.
    pub(super) wrong_counts: usize,
    pub(super) quarantined: Option<u64>,
    pub(super) undelete_days: u64,
    /// Facts that could not be learned, with the reasons.
    pub(super) unknown: Vec<String>,
}

/// A file system.
#[derive(Debug)]
pub(super) struct MountFacts {
    pub(super) kind: String,
    pub(super) options: Vec<String>,
}

/// A secret, without itself.
#[derive(Debug)]
pub(super) struct SecretFacts {
    pub(super) name: String,
    pub(super) len: usize,
    pub(super) distinct_bytes: usize,
}

/// A file or directory that others must not read or change.
#[derive(Debug)]
pub(super) struct FileFacts {
    pub(super) name: String,
    pub(super) mode: u32,
    pub(super) is_folder: bool,
}

/// Collects facts. What cannot be learned is noted.
pub(super) fn collect(
    resolved: &Resolved,
    settings_file: Option<&Path>,
    reads_documents: bool,
) -> Result<DoctorFacts> {
    let Resolved { settings, rights, certificate, .. } = resolved;
    let folder = settings.folder.as_path();
    let shared = shared_files(settings);
    let is_local = settings.listen.iter().all(|address| address.ip().is_loopback());
    let listen = settings.listen.first().map(ToString::to_string).unwrap_or_default();
    let mut facts = DoctorFacts {
        listen,
        is_local,
        has_tokens: rights.has_tokens(),
        has_tls: certificate.is_some(),
        certificate_ends_at: settings.certificate.as_ref().map(Certificate::expires_at),
        has_metrics: settings.has_metrics,
        folder: display_path(shared.snapshots.unwrap_or(folder)).into_owned(),
        is_shared: shared.snapshots.is_some(),
        mount: None,
        preload: env::var("LD_PRELOAD").unwrap_or_default(),
        free_bytes: None,
        storage_bytes: None,
        max_open_files: os::max_open_files(),
        max_connections: settings.max_sockets as u64,
        memory_limit_bytes: hashmill_machine::limit_kib().map(|kib| kib.saturating_mul(1024)),
        memory_bytes: settings.memory_bytes as u64,
        unix_time: date::now_seconds(),
        recorded_at: None,
        secrets: Vec::new(),
        files: Vec::new(),
        damaged: None,
        wrong_counts: 0,
        quarantined: None,
        undelete_days: settings.undelete_time.as_secs() / DAY_SECONDS,
        unknown: Vec::new(),
    };
    add_disk(&mut facts, shared.snapshots.unwrap_or(folder));
    let secret_files = [&rights.jwt_secret, &rights.tokens, &rights.jwt_keys].map(Option::as_deref);
    for path in secret_files.into_iter().chain([shared.credentials]).flatten() {
        add_file(&mut facts, path);
    }
    if let Some(certificate) = certificate {
        add_file(&mut facts, certificate.key_path());
    }
    if let Some(path) = &rights.jwt_secret {
        add_secret(&mut facts, path)?;
    }
    if let Some(path) = settings_file {
        add_file(&mut facts, path);
    }
    for path in [folder.to_owned(), folder.join(STORAGE_FILE)] {
        add_file(&mut facts, &path);
    }
    match shared.snapshots {
        Some(snapshots) => {
            add_file(&mut facts, snapshots);
            let unknown = "damaged documents, the journal: a storage that servers share is not examined";
            facts.unknown.push(unknown.to_owned());
        }
        None => add_storage(&mut facts, folder, reads_documents)?,
    }
    Ok(facts)
}

/// Files of a storage that servers share.
#[derive(Default)]
struct SharedFiles<'s> {
    snapshots: Option<&'s Path>,
    credentials: Option<&'s Path>,
}

#[cfg(not(feature = "cluster"))]
fn shared_files(_: &Settings) -> SharedFiles<'_> {
    SharedFiles::default()
}

#[cfg(feature = "cluster")]
fn shared_files(settings: &Settings) -> SharedFiles<'_> {
    use hashmill_server::shell::SnapshotPlace;

    let Some(shared) = &settings.shared else { return SharedFiles::default() };
    let snapshots = match &shared.snapshots {
        SnapshotPlace::Folder(folder) => Some(folder.as_path()),
        _ => None,
    };
    SharedFiles { snapshots, credentials: shared.credentials.as_deref() }
}

fn add_disk(facts: &mut DoctorFacts, folder: &Path) {
    match fs::metadata(folder.join(STORAGE_FILE)) {
        Ok(metadata) => facts.storage_bytes = Some(metadata.len()),
        // It is created by the first start.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => facts.unknown.push(format!("the size of the storage: {error}")),
    }
    let nearest = folder.ancestors().find(|there| there.exists() && !there.as_os_str().is_empty());
    let nearest = nearest.unwrap_or(Path::new("."));
    match os::mount_of(nearest) {
        Ok(Some((kind, options))) => facts.mount = Some(MountFacts { kind, options }),
        Ok(None) => facts.unknown.push("the file system: this system does not tell".to_owned()),
        Err(error) => facts.unknown.push(format!("the file system: {error}")),
    }
    match os::free_bytes(nearest) {
        Ok(Some(bytes)) => facts.free_bytes = Some(bytes),
        Ok(None) => facts.unknown.push("the free space: this system does not tell".to_owned()),
        Err(error) => facts.unknown.push(format!("the free space: {error}")),
    }
    if facts.memory_limit_bytes.is_none() {
        facts.unknown.push("the memory: this system does not tell".to_owned());
    }
}

fn add_file(facts: &mut DoctorFacts, path: &Path) {
    let name = display_path(path).into_owned();
    match fs::metadata(path) {
        Ok(metadata) => {
            let is_folder = metadata.is_dir();
            let mode = os::mode_of(&metadata);
            facts.files.extend(mode.map(|mode| FileFacts { name, mode, is_folder }));
        }
        // A storage that the first start creates.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => facts.unknown.push(format!("the rights of {name}: {error}")),
    }
}

fn add_secret(facts: &mut DoctorFacts, path: &Path) -> Result<()> {
    let name = display_path(path).into_owned();
    let text = Zeroizing::new(fs::read(path).with_context(|| name.clone())?);
    let secret = text.trim_ascii_end();
    let distinct_bytes = secret.iter().collect::<BTreeSet<_>>().len();
    facts.secrets.push(SecretFacts { name, len: secret.len(), distinct_bytes });
    Ok(())
}

/// What the storage says, and the server that uses it.
fn add_storage(facts: &mut DoctorFacts, folder: &Path, reads_documents: bool) -> Result<()> {
    let summary = match shell::inspect(folder, reads_documents, &mut |_| {}) {
        Err(TransferError::NoStorage(_)) => return Ok(()),
        Err(TransferError::Open(OpenError::InUse(_))) => {
            let server = RunningServer::of_storage(folder)?;
            facts.quarantined = server.count_quarantined()?;
            if facts.quarantined.is_none() {
                facts.unknown.push("quarantined documents: the server has no metrics".to_owned());
            }
            server.read_backup(|backup| {
                shell::read_backup(backup, reads_documents, &mut |_| {}).with_context(|| server.name())
            })?
        }
        inspected => inspected?,
    };
    facts.recorded_at = summary.recorded_at;
    facts.wrong_counts = summary.wrong_counts.len();
    if reads_documents {
        facts.damaged = Some(summary.counts.damaged);
    } else {
        facts.unknown.push("damaged documents: they were not read".to_owned());
    }
    Ok(())
}
