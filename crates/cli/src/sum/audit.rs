//! `--audit`: verdicts on the files that a manifest has.

use super::operands::Operands;
use crate::findings::{Digests, Findings};
use crate::out::progress::hash_many;
use crate::out::{Closed, Out, shown};
use anyhow::{Context, Result, bail};
use hashmill_files::checkfile::{Algorithm, Style};
use hashmill_files::manifest::{Audit, Finding, Manifest, Scope, leftovers};
use hashmill_files::{Error, FileId, Files, Input, Item, Sink, Time, Verdict};
use std::fs::{self, File};
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// So many files are asked which function it is, where two have as many digits.
const ASKED: usize = 16;

/// A manifest, and what it is about.
pub(crate) struct Old {
    pub(crate) manifest: Manifest,
    pub(crate) scope: Scope,
    pub(crate) algorithm: Algorithm,
    /// Its own file, and those that an update of it may have left: no part of what is audited.
    pub(crate) ids: Vec<FileId>,
}

/// Reads a manifest.
pub(crate) fn read(path: &Path, zero: bool) -> Result<(Manifest, Vec<FileId>)> {
    let name = || shown(path).into_owned();
    let file = File::open(path).with_context(name)?;
    let mut ids = leftovers(path);
    ids.extend(FileId::of(&file.metadata().with_context(name)?));
    let style = Style { zero, ..Style::default() };
    Ok((Manifest::read(BufReader::new(file), style).with_context(name)?, ids))
}

impl Old {
    /// Reads a manifest that is about what is below `roots`.
    pub(crate) fn read(
        path: &Path,
        zero: bool,
        roots: &[PathBuf],
        said: Option<Algorithm>,
        make: impl Fn(Algorithm) -> Files,
    ) -> Result<Old> {
        let (manifest, ids) = read(path, zero)?;
        Old::of(path, manifest, ids, roots, said, make)
    }

    /// The same of a manifest that was read already.
    pub(crate) fn of(
        path: &Path,
        manifest: Manifest,
        ids: Vec<FileId>,
        roots: &[PathBuf],
        said: Option<Algorithm>,
        make: impl Fn(Algorithm) -> Files,
    ) -> Result<Old> {
        let Some(scope) = Scope::of(&manifest, roots) else {
            let roots: Vec<_> = roots.iter().map(|root| shown(root)).collect();
            bail!("{}: none of its names is below {}", shown(path), roots.join(", "));
        };
        let algorithm = function(&manifest, path, &scope, said, make)?;
        Ok(Old { manifest, scope, algorithm, ids })
    }
}

/// By which function the digests of a list are that is there already, if that is not sure and can be found out.
pub(super) fn function_of(
    path: &Path,
    roots: &[PathBuf],
    said: Option<Algorithm>,
    make: impl Fn(Algorithm) -> Files,
) -> Result<Option<Algorithm>> {
    // What is no file is refused later, and not read first: a pipe would have to be waited for.
    if said.is_some() || !path.is_file() {
        return Ok(said);
    }
    let (manifest, _) = read(path, false)?;
    if manifest.algorithm().is_some() || manifest.is_empty() {
        return Ok(None);
    }
    match Scope::of(&manifest, roots) {
        Some(scope) => function(&manifest, path, &scope, said, make).map(Some),
        None => Ok(None),
    }
}

/// By which function the digests are.
fn function(
    manifest: &Manifest,
    list: &Path,
    scope: &Scope,
    said: Option<Algorithm>,
    make: impl Fn(Algorithm) -> Files,
) -> Result<Algorithm> {
    match (manifest.algorithm(), said) {
        (Some(known), Some(said)) if known != said => {
            bail!("{}: its digests are {}; see --algorithm", shown(list), known.name())
        }
        (Some(known), _) => return Ok(known),
        (None, Some(said)) => return Ok(said),
        (None, None) => {}
    }
    let name = list.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut may_be: Vec<Algorithm> = Algorithm::by_digest_len(manifest.digest_len()).collect();
    if name.contains("sha256") {
        may_be.reverse();
    }
    let files: Vec<(Algorithm, Files)> = may_be.iter().map(|&known| (known, make(known))).collect();
    let there = manifest.files().map(|file| (scope.path(file.name), file.digest));
    for (path, expected) in there.filter(|(path, _)| path.is_file()).take(ASKED) {
        for (known, files) in &files {
            let Ok(digest) = files.hash_file(&path) else { break };
            let mut found = vec![0; expected.len()];
            if digest.output.fill(0, &mut found) && found == expected {
                return Ok(*known);
            }
        }
    }
    // An empty manifest can be by any.
    Ok(may_be.first().copied().unwrap_or_default())
}

/// A file with the time that it has before it is read.
fn question(item: Item<()>) -> Item<Option<Time>> {
    let Item { path, input, tag: () } = item;
    let tag = if matches!(input, Input::File) { modified(&path) } else { None };
    Item { path, input, tag }
}

/// When a file was last changed. What is no file has no such time that proves anything.
fn modified(path: &Path) -> Option<Time> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file).as_ref().and_then(Time::modified)
}

/// Gives the exit code for what failed.
pub(super) fn run(files: &Files, items: Operands, old: &Old, findings: Findings, out: &mut Out) -> u8 {
    let (job, items) = (out.job(), items.map(question));
    let mut auditor = Auditor { audit: Audit::new(&old.manifest), old, findings, out };
    // Why it stopped before the last file, if so, is known to `out`.
    if hash_many(files, job, items, &mut auditor).is_continue() {
        let Auditor { audit, findings, out, .. } = &mut auditor;
        let _ = audit.finish(
            |name| old.scope.counts(name),
            |finding| match findings.take(finding, out) {
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
    old: &'a Old,
    findings: Findings,
    out: &'a mut Out,
}

impl Sink<Option<Time>> for &mut Auditor<'_> {
    type Break = Closed;

    fn answer(
        &mut self,
        path: PathBuf,
        before: Option<Time>,
        result: Result<hashmill_files::Digest, Error>,
    ) -> ControlFlow<Closed> {
        let name = self.old.scope.name(&path);
        let digest = match result {
            Ok(digest) => digest,
            Err(error @ (Error::Special | Error::Pseudo(_))) => {
                self.out.note(&format!("{}: skipped: {error}", shown(&path)));
                return ControlFlow::Continue(());
            }
            Err(error) => {
                self.audit.unread(&name);
                return self.findings.unread(&name, &path, &error, self.out);
            }
        };
        let mut bytes = vec![0; self.old.algorithm.digest_len()];
        digest.output.fill(0, &mut bytes);
        let manifest = &self.old.manifest;
        let stored = manifest.find(&name).map(|number| manifest.file(number));
        // A time counts if it is that of the bytes that were read. Only where contents changed does that make a difference.
        let is_same = stored.is_none_or(|stored| stored.digest == bytes);
        let time = if is_same || before == modified(&path) { before } else { None };
        match (self.audit.file(&name, &bytes, time), stored) {
            (Ok(None), _) => ControlFlow::Continue(()),
            (Ok(Some(Verdict::Corrupt)), Some(stored)) => {
                let algorithm = self.old.algorithm;
                let digests = Digests { algorithm, stored: stored.digest, found: &bytes };
                self.findings.corrupt(&name, &path, digests, self.out)
            }
            (Ok(Some(verdict)), _) => {
                self.findings.take(Finding { verdict, name: &name, from: None }, self.out)
            }
            (Err(_), _) => self.findings.unread(&name, &path, &"more files than can be numbered", self.out),
        }
    }

    fn pause(&mut self) -> ControlFlow<Closed> {
        self.out.flush()
    }
}
