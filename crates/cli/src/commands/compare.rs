//! `hashmill compare`: compares two directories, two checksum lists, or one of each.

use crate::commands::sum::audit::{AuditInput, may_exist, note_left_out, read_list};
use crate::commands::sum::files_below;
use crate::exit_code::{FAILED, OK};
use crate::flags::{CompareArgs, UsageError};
use crate::output::audit_output::{Findings, Show};
use crate::output::progress::{Bar, ExpectedFiles, hash_many};
use crate::output::{Out, display_path};
use crate::tune_file;
use anyhow::{Result, bail};
use hashmill_files::checksum_list::{
    Algorithm, Audit, AuditEntry, ChecksumTable, Scope, TableEntry, normalize_name,
};
use hashmill_files::walk::{Rules, Visit, Walk};
use hashmill_files::{Error, FileId, Files, Filter, Function, HashJob, Input, Options};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs the comparison.
pub(crate) fn run(flags: CompareArgs) -> Result<u8> {
    let CompareArgs { a, b, json, quiet, verbose, exclude, include, num_threads, no_progress } = flags;
    let mut rules = Rules::default();
    rules.skip_pseudo = true;
    rules.filter = Filter::new(&exclude, &include).map_err(|error| UsageError(error.to_string()))?;
    let mut options = Options::default();
    options.threads = num_threads.and_then(NonZero::new);
    let plan = tune_file::blake3();
    let make = |algorithm| Files::new(Function::by(algorithm).with_plan(plan), options);
    let findings = Findings::new(Show { json, quiet, verbose });
    let out = |files: &Arc<Files>, roots: Vec<PathBuf>, rules: &Arc<Rules>| {
        let rules = Arc::clone(rules);
        let files = vec![Arc::clone(files)];
        let expected: ExpectedFiles =
            Box::new(move || Box::new(roots.into_iter().flat_map(move |root| files_below(root, &rules))));
        Out::new(if no_progress { None } else { Bar::over("comparing", files, Some(expected)) })
    };
    let within = |root: &Path| Scope::Within(root.to_owned());
    // A list may be in the directory that it is compared with.
    let skipping = |ids: Vec<FileId>| {
        let mut rules = rules.clone();
        rules.except.extend(ids);
        Arc::new(rules)
    };
    let (out, failed) = match (a.is_dir(), b.is_dir()) {
        (true, true) => {
            let rules = skipping(Vec::new());
            let files = Arc::new(make(Algorithm::Blake3));
            let mut out = out(&files, vec![a.clone(), b.clone()], &rules);
            let mut comparison = Comparison { findings, out: &mut out };
            let old = comparison.hash_directory(&files, &a, &within(&a), &rules, Algorithm::Blake3);
            let failed = comparison.directory(&files, &old, &b, &within(&b), &rules, Algorithm::Blake3);
            (out, failed)
        }
        (false, true) => {
            let AuditInput { manifest, scope, algorithm, ids } = read_list_of_directory(&a, &b, make)?;
            let rules = skipping(ids);
            let files = Arc::new(make(algorithm));
            let mut out = out(&files, vec![b.clone()], &rules);
            let comparison = Comparison { findings, out: &mut out };
            let failed = comparison.directory(&files, &manifest, &b, &scope, &rules, algorithm);
            (out, failed)
        }
        (true, false) => {
            let AuditInput { manifest, scope, algorithm, ids } = read_list_of_directory(&b, &a, make)?;
            let rules = skipping(ids);
            let files = Arc::new(make(algorithm));
            let mut out = out(&files, vec![a.clone()], &rules);
            let mut comparison = Comparison { findings, out: &mut out };
            let old = comparison.hash_directory(&files, &a, &scope, &rules, algorithm);
            // Files that the filters leave out on one side are left out on the other.
            let is_left_out = |name: &[u8]| old.find(name).is_none() && may_exist(&scope.path(name));
            let listed = manifest.files().filter(|file| scope.counts(file.name));
            let (left_out, listed): (Vec<_>, Vec<_>) = listed.partition(|file| is_left_out(file.name));
            note_left_out(left_out.len(), comparison.out);
            let failed = comparison.list(&old, listed.into_iter());
            (out, failed)
        }
        (false, false) => {
            let ((old, _), (new, _)) = (read_list(&a, false)?, read_list(&b, false)?);
            if let (Some(one), Some(other)) = (old.algorithm(), new.algorithm())
                && one != other
            {
                let (one, other) = (one.name(), other.name());
                bail!("{} has {one} digests, {} has {other} digests", display_path(&a), display_path(&b));
            }
            if !old.is_empty() && !new.is_empty() && old.digest_len() != new.digest_len() {
                bail!(
                    "{} and {} have digests of different hash functions",
                    display_path(&a),
                    display_path(&b)
                );
            }
            let mut out = Out::new(None);
            let comparison = Comparison { findings, out: &mut out };
            let failed = match without_parents(&old, &new) {
                Some((old, new)) => comparison.list(&old, new.files()),
                None => comparison.list(&old, new.files()),
            };
            (out, failed)
        }
    };
    Ok(out.finish().answer_code(OK, failed))
}

/// A comparison and its output.
struct Comparison<'a> {
    findings: Findings,
    out: &'a mut Out,
}

impl Comparison<'_> {
    /// Hashes a directory. The scope gives the names.
    fn hash_directory(
        &mut self,
        files: &Files,
        root: &Path,
        scope: &Scope,
        rules: &Arc<Rules>,
        algorithm: Algorithm,
    ) -> ChecksumTable {
        let mut manifest = ChecksumTable::new(algorithm);
        self.hash(files, root, rules, algorithm, |findings, out, path, digest| {
            let name = scope.name(path);
            match digest {
                Ok(digest) => {
                    let file = TableEntry { name: &name, digest, size: None, modified: None };
                    if manifest.insert(file).is_err() {
                        let _ = findings.report_unread(&name, path, &"too many files", out);
                    }
                }
                Err(error) => {
                    let _ = findings.report_unread(&name, path, error, out);
                }
            }
        });
        manifest
    }

    /// Compares with a directory. Returns the exit code to use if something failed.
    fn directory(
        mut self,
        files: &Files,
        old: &ChecksumTable,
        root: &Path,
        scope: &Scope,
        rules: &Arc<Rules>,
        algorithm: Algorithm,
    ) -> u8 {
        let mut audit = Audit::new(old);
        self.hash(files, root, rules, algorithm, |findings, out, path, digest| {
            let name = scope.name(path);
            // A write failure is part of the outcome of `out`.
            let _ = match digest.map(|digest| audit.file(&name, digest, None)) {
                Ok(Ok(Some(verdict))) => {
                    findings.report(AuditEntry { verdict, name: &name, from: None }, out)
                }
                Ok(Ok(None)) => ControlFlow::Continue(()),
                Ok(Err(_)) => findings.report_unread(&name, path, &"too many files", out),
                Err(error) => {
                    audit.unread(&name);
                    findings.report_unread(&name, path, error, out)
                }
            };
        });
        let left_out = audit.leave_out(|name| scope.counts(name) && may_exist(&scope.path(name)));
        note_left_out(left_out.len(), self.out);
        self.finish(&audit, |name| scope.counts(name))
    }

    /// Compares with the entries of a list. Returns the exit code to use if something failed.
    fn list<'b>(mut self, old: &ChecksumTable, new: impl Iterator<Item = TableEntry<'b>>) -> u8 {
        let mut audit = Audit::new(old);
        for file in new {
            if let Ok(Some(verdict)) = audit.file(file.name, file.digest, None)
                && self
                    .findings
                    .report(AuditEntry { verdict, name: file.name, from: None }, self.out)
                    .is_break()
            {
                return FAILED;
            }
        }
        self.finish(&audit, |_| true)
    }

    fn finish(mut self, audit: &Audit<'_>, counts: impl Fn(&[u8]) -> bool) -> u8 {
        let (findings, out) = (&mut self.findings, &mut *self.out);
        let _ = audit.finish(counts, |finding| match findings.report(finding, out) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(closed) => Err(closed),
        });
        self.findings.finish(self.out)
    }

    /// Hashes all files below a directory.
    fn hash(
        &mut self,
        files: &Files,
        root: &Path,
        rules: &Arc<Rules>,
        algorithm: Algorithm,
        mut take: impl FnMut(&mut Findings, &mut Out, &Path, Result<&[u8], &Error>),
    ) {
        let items = Walk::by(root.to_owned(), Arc::clone(rules)).filter_map(|visit| match visit {
            Visit::File(path) => Some(HashJob { path, input: Input::File, tag: () }),
            Visit::Special(path) => Some(HashJob { path, input: Input::Failed(Error::Special), tag: () }),
            Visit::Pseudo(path, kind) => {
                Some(HashJob { path, input: Input::Failed(Error::Pseudo(kind)), tag: () })
            }
            Visit::Failed(path, error) => Some(HashJob { path, input: Input::Failed(error), tag: () }),
            _ => None,
        });
        let (findings, out) = (&mut self.findings, &mut *self.out);
        let _: ControlFlow<()> =
            hash_many(files, out.progress(), items, |path: PathBuf, (), result: Result<_, Error>| {
                match result {
                    Err(error @ (Error::Special | Error::Pseudo(_))) => {
                        out.note(&format!("{}: skipped: {error}", display_path(&path)));
                    }
                    Err(error) => take(findings, out, &path, Err(&error)),
                    Ok(hashmill_files::Digest { output, .. }) => {
                        let mut bytes = vec![0; algorithm.digest_len()];
                        output.fill(0, &mut bytes);
                        take(findings, out, &path, Ok(&bytes));
                    }
                }
                ControlFlow::Continue(())
            });
    }
}

/// Reads a list to compare with a directory. If the directory was copied or moved, names are compared without their common
/// parent directory.
fn read_list_of_directory(list: &Path, root: &Path, make: impl Fn(Algorithm) -> Files) -> Result<AuditInput> {
    let (manifest, ids) = read_list(list, false)?;
    let roots = [root.to_owned()];
    let has_files = |manifest: &ChecksumTable| {
        Scope::detect(manifest, &roots).is_some_and(|scope| {
            let mut names = manifest.files().map(|file| file.name).filter(|name| scope.counts(name));
            names.any(|name| scope.path(name).is_file())
        })
    };
    let other = if has_files(&manifest) { None } else { without_parent(&manifest).filter(has_files) };
    AuditInput::from_manifest(list, other.unwrap_or(manifest), ids, &roots, None, make)
}

/// Both lists without the common parent directories of their names, if no name is in both.
fn without_parents(old: &ChecksumTable, new: &ChecksumTable) -> Option<(ChecksumTable, ChecksumTable)> {
    if new.files().any(|file| old.find(file.name).is_some()) {
        return None;
    }
    Some((without_parent(old)?, without_parent(new)?))
}

/// The list without the common parent directory of its names.
fn without_parent(manifest: &ChecksumTable) -> Option<ChecksumTable> {
    let mut names = manifest.files().map(|file| file.name);
    let first = names.next()?;
    let mut len = first.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    for name in names {
        let same = name.iter().zip(&first[..len]).take_while(|(a, b)| a == b).count();
        len = first[..same].iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    }
    let mut result = ChecksumTable::new(manifest.algorithm().unwrap_or_default());
    for file in manifest.files() {
        result.insert(TableEntry { name: &normalize_name(&file.name[len..]), ..file }).ok()?;
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_parents_if_no_name_is_in_both() {
        let manifest = |names: &[&str]| {
            let mut manifest = ChecksumTable::new(Algorithm::Md5);
            for name in names {
                let file = TableEntry { name: name.as_bytes(), digest: &[0; 16], size: None, modified: None };
                manifest.insert(file).expect("few");
            }
            manifest
        };
        let names = |manifest: &ChecksumTable| -> Vec<String> {
            manifest.files().map(|file| String::from_utf8_lossy(file.name).into_owned()).collect()
        };
        let (a, b) = (manifest(&["x/y/a", "x/y/b/c"]), manifest(&["/z/a", "/z/b/c"]));
        let (a, b) = without_parents(&a, &b).expect("no name in both");
        assert_eq!((names(&a), names(&b)), (vec!["a".into(), "b/c".into()], vec!["a".into(), "b/c".into()]));
        let (c, d) = (manifest(&["x/a", "x/ab"]), manifest(&["y/a"]));
        let (c, _) = without_parents(&c, &d).expect("no name in both");
        assert_eq!(names(&c), ["a", "ab"]);
        assert!(without_parents(&manifest(&["a"]), &manifest(&["a", "b"])).is_none());
    }
}
