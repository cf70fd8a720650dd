//! `--audit`: verdicts on files against a checksum list.

use super::operands::Operands;
use crate::output::audit_output::{Digests, Findings};
use crate::output::progress::hash_many;
use crate::output::{Out, StdoutClosed, display_path};
use anyhow::{Context, Result, bail};
use hashmill_files::checksum_list::{Algorithm, ListFormat};
use hashmill_files::checksum_list::{Audit, AuditEntry, ChecksumTable, Scope, leftover_files};
use hashmill_files::{DigestVerdict, Error, FileId, Files, HashJob, Input, ResultSink, Time};
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Number of files hashed to tell apart functions with equal digest lengths.
const MAX_PROBES: usize = 16;

/// A checksum list, and the files that it covers.
pub(crate) struct AuditInput {
    pub(crate) manifest: ChecksumTable,
    pub(crate) scope: Scope,
    pub(crate) algorithm: Algorithm,
    /// The list itself and files that an interrupted update left; they are not audited.
    pub(crate) ids: Vec<FileId>,
}

/// Reads a checksum list.
pub(crate) fn read_list(path: &Path, zero: bool) -> Result<(ChecksumTable, Vec<FileId>)> {
    let name = || display_path(path).into_owned();
    let file = File::open(path).with_context(name)?;
    let mut ids = leftover_files(path);
    ids.extend(FileId::from_metadata(&file.metadata().with_context(name)?));
    let style = ListFormat { zero, ..ListFormat::default() };
    Ok((ChecksumTable::read(BufReader::new(file), style).with_context(name)?, ids))
}

impl AuditInput {
    /// Reads a list of files below `roots`.
    pub(crate) fn read(
        path: &Path,
        zero: bool,
        roots: &[PathBuf],
        requested: Option<Algorithm>,
        make: impl Fn(Algorithm) -> Files,
    ) -> Result<AuditInput> {
        let (manifest, ids) = read_list(path, zero)?;
        AuditInput::from_manifest(path, manifest, ids, roots, requested, make)
    }

    /// As [`read`](Self::read), for a list that was already read.
    pub(crate) fn from_manifest(
        path: &Path,
        manifest: ChecksumTable,
        ids: Vec<FileId>,
        roots: &[PathBuf],
        requested: Option<Algorithm>,
        make: impl Fn(Algorithm) -> Files,
    ) -> Result<AuditInput> {
        let Some(scope) = Scope::detect(&manifest, roots) else {
            let roots: Vec<_> = roots.iter().map(|root| display_path(root)).collect();
            bail!("{}: none of its names is below {}", display_path(path), roots.join(", "));
        };
        let algorithm = find_algorithm(&manifest, path, &scope, requested, make)?;
        Ok(AuditInput { manifest, scope, algorithm, ids })
    }
}

/// The hash function of an existing list, if it is ambiguous and hashing files can tell.
pub(super) fn algorithm_of(
    path: &Path,
    roots: &[PathBuf],
    requested: Option<Algorithm>,
    make: impl Fn(Algorithm) -> Files,
) -> Result<Option<Algorithm>> {
    // Other kinds of files are refused later; reading a pipe would block.
    if requested.is_some() || !path.is_file() {
        return Ok(requested);
    }
    let (manifest, _) = read_list(path, false)?;
    if manifest.algorithm().is_some() || manifest.is_empty() {
        return Ok(None);
    }
    match Scope::detect(&manifest, roots) {
        Some(scope) => find_algorithm(&manifest, path, &scope, requested, make).map(Some),
        None => Ok(None),
    }
}

/// Finds the hash function of a list: the tagged one, the requested one, or one that a file matches.
fn find_algorithm(
    manifest: &ChecksumTable,
    list: &Path,
    scope: &Scope,
    requested: Option<Algorithm>,
    make: impl Fn(Algorithm) -> Files,
) -> Result<Algorithm> {
    match (manifest.algorithm(), requested) {
        (Some(known), Some(requested)) if known != requested => {
            bail!("{}: its digests are {}; see --algorithm", display_path(list), known.name())
        }
        (Some(known), _) => return Ok(known),
        (None, Some(requested)) => return Ok(requested),
        (None, None) => {}
    }
    let name = list.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut candidates: Vec<Algorithm> = Algorithm::by_digest_len(manifest.digest_len()).collect();
    if name.contains("sha256") {
        candidates.reverse();
    }
    let files: Vec<(Algorithm, Files)> = candidates.iter().map(|&known| (known, make(known))).collect();
    let files_on_disk = manifest.files().map(|file| (scope.path(file.name), file.digest));
    for (path, expected) in files_on_disk.filter(|(path, _)| path.is_file()).take(MAX_PROBES) {
        for (known, files) in &files {
            let Ok(digest) = files.hash_file(&path) else { break };
            let mut found = vec![0; expected.len()];
            if digest.output.fill(0, &mut found) && found == expected {
                return Ok(*known);
            }
        }
    }
    // An empty list fits any function.
    Ok(candidates.first().copied().unwrap_or_default())
}

/// Attaches the modification time before the file is read.
fn with_mtime(item: HashJob<()>) -> HashJob<Option<Time>> {
    let HashJob { path, input, tag: () } = item;
    let tag = if matches!(input, Input::File) { modified(&path) } else { None };
    HashJob { path, input, tag }
}

/// The modification time of a regular file.
fn modified(path: &Path) -> Option<Time> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).as_ref().and_then(Time::modified)
}

/// Prints how many files of a list exist but were not selected: they are neither checked nor missing.
pub(crate) fn note_left_out(count: usize, out: &mut Out) {
    if count > 0 {
        out.note(&format!("{} of the list left out and not checked", file_count(count)));
    }
}

/// Whether a regular file may be at this path. An error is no proof that there is none.
pub(crate) fn may_exist(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.is_file(),
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// A number of files in words.
pub(super) fn file_count(count: usize) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}

/// Audits the files. Returns the exit code to use if something failed.
pub(super) fn run(
    files: &Files,
    items: Operands,
    input: &AuditInput,
    findings: Findings,
    out: &mut Out,
) -> u8 {
    let (progress, items) = (out.progress(), items.map(with_mtime));
    let mut auditor = Auditor { audit: Audit::new(&input.manifest), input, findings, out };
    // If it stopped early, `out` keeps the reason.
    if hash_many(files, progress, items, &mut auditor).is_continue() {
        let Auditor { audit, findings, out, .. } = &mut auditor;
        let left_out = audit.leave_out(|name| input.scope.counts(name) && may_exist(&input.scope.path(name)));
        note_left_out(left_out.len(), out);
        let _ = audit.finish(
            |name| input.scope.counts(name),
            |finding| match findings.report(finding, out) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(closed) => Err(closed),
            },
        );
    }
    let Auditor { findings, out, .. } = auditor;
    findings.finish(out)
}

struct Auditor<'a> {
    audit: Audit<'a>,
    input: &'a AuditInput,
    findings: Findings,
    out: &'a mut Out,
}

impl ResultSink<Option<Time>> for &mut Auditor<'_> {
    type Break = StdoutClosed;

    fn answer(
        &mut self,
        path: PathBuf,
        before: Option<Time>,
        result: Result<hashmill_files::Digest, Error>,
    ) -> ControlFlow<StdoutClosed> {
        let name = self.input.scope.name(&path);
        let digest = match result {
            Ok(digest) => digest,
            Err(error @ (Error::Special | Error::Pseudo(_))) => {
                self.out.note(&format!("{}: skipped: {error}", display_path(&path)));
                return ControlFlow::Continue(());
            }
            Err(error) => {
                self.audit.unread(&name);
                return self.findings.report_unread(&name, &path, &error, self.out);
            }
        };
        let mut bytes = vec![0; self.input.algorithm.digest_len()];
        digest.output.fill(0, &mut bytes);
        let manifest = &self.input.manifest;
        let stored = manifest.find(&name).map(|number| manifest.file(number));
        // The time is valid only if it did not change while the file was read. That matters only if the content changed.
        let is_same = stored.is_none_or(|stored| stored.digest == bytes);
        let time = if is_same || before == modified(&path) { before } else { None };
        match (self.audit.file(&name, &bytes, time), stored) {
            (Ok(None), _) => ControlFlow::Continue(()),
            (Ok(Some(DigestVerdict::Corrupt)), Some(stored)) => {
                let algorithm = self.input.algorithm;
                let digests = Digests { algorithm, stored: stored.digest, found: &bytes };
                self.findings.report_corrupt(&name, &path, digests, self.out)
            }
            (Ok(Some(verdict)), _) => {
                self.findings.report(AuditEntry { verdict, name: &name, from: None }, self.out)
            }
            (Err(_), _) => self.findings.report_unread(&name, &path, &"too many files", self.out),
        }
    }

    fn pause(&mut self) -> ControlFlow<StdoutClosed> {
        self.out.flush()
    }
}
