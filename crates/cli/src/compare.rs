//! `hashmill compare`: two trees, two manifests, or one of each.

use crate::findings::{Findings, Show};
use crate::flags::{CompareArgs, Misuse};
use crate::kept;
use crate::out::progress::{Bar, Survey, hash_many};
use crate::out::{Out, shown};
use crate::sum::audit::{Old, read};
use crate::sum::files_below;
use crate::{FAILED, OK};
use anyhow::{Result, bail};
use hashmill_files::checkfile::Algorithm;
use hashmill_files::manifest::{Audit, File, Finding, Manifest, Scope, tidy};
use hashmill_files::walk::{Rules, Visit, Walk};
use hashmill_files::{Error, FileId, Files, Filter, Function, Input, Item, Options};
use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Does what the flags say.
pub(crate) fn run(low: CompareArgs) -> Result<u8> {
    let CompareArgs { a, b, json, quiet, verbose, exclude, include, num_threads, no_progress } = low;
    let mut rules = Rules::default();
    rules.skip_pseudo = true;
    rules.filter = Filter::new(&exclude, &include).map_err(|error| Misuse(error.to_string()))?;
    let mut options = Options::default();
    options.threads = num_threads.and_then(NonZero::new);
    let plan = kept::blake3();
    let make = |algorithm| Files::new(Function::by(algorithm).with_plan(plan), options);
    let findings = Findings::new(Show { json, quiet, verbose });
    let out = |files: &Arc<Files>, roots: Vec<PathBuf>, rules: &Arc<Rules>| {
        let rules = Arc::clone(rules);
        let files = vec![Arc::clone(files)];
        let survey: Survey =
            Box::new(move || Box::new(roots.into_iter().flat_map(move |root| files_below(root, &rules))));
        Out::new(if no_progress { None } else { Bar::over("comparing", files, Some(survey)) })
    };
    let within = |root: &Path| Scope::Within(root.to_owned());
    // A list may lie in the tree that it is compared with.
    let besides = |ids: Vec<FileId>| {
        let mut rules = rules.clone();
        rules.except.extend(ids);
        Arc::new(rules)
    };
    let (out, failed) = match (a.is_dir(), b.is_dir()) {
        (true, true) => {
            let rules = besides(Vec::new());
            let files = Arc::new(make(Algorithm::Blake3));
            let mut out = out(&files, vec![a.clone(), b.clone()], &rules);
            let mut differ = Differ { findings, out: &mut out };
            let old = differ.manifest(&files, &a, &within(&a), &rules, Algorithm::Blake3);
            let failed = differ.tree(&files, &old, &b, &within(&b), &rules, Algorithm::Blake3);
            (out, failed)
        }
        (false, true) => {
            let Old { manifest, scope, algorithm, ids } = list_of_tree(&a, &b, make)?;
            let rules = besides(ids);
            let files = Arc::new(make(algorithm));
            let mut out = out(&files, vec![b.clone()], &rules);
            let differ = Differ { findings, out: &mut out };
            let failed = differ.tree(&files, &manifest, &b, &scope, &rules, algorithm);
            (out, failed)
        }
        (true, false) => {
            let Old { manifest, scope, algorithm, ids } = list_of_tree(&b, &a, make)?;
            let rules = besides(ids);
            let files = Arc::new(make(algorithm));
            let mut out = out(&files, vec![a.clone()], &rules);
            let mut differ = Differ { findings, out: &mut out };
            let old = differ.manifest(&files, &a, &scope, &rules, algorithm);
            let failed = differ.lists(&old, manifest.files().filter(|file| scope.counts(file.name)));
            (out, failed)
        }
        (false, false) => {
            let ((old, _), (new, _)) = (read(&a, false)?, read(&b, false)?);
            if let (Some(one), Some(other)) = (old.algorithm(), new.algorithm())
                && one != other
            {
                let (one, other) = (one.name(), other.name());
                bail!("{} has digests of {one}, {} those of {other}", shown(&a), shown(&b));
            }
            if !old.is_empty() && !new.is_empty() && old.digest_len() != new.digest_len() {
                bail!("{} and {} have digests of different functions", shown(&a), shown(&b));
            }
            let mut out = Out::new(None);
            let differ = Differ { findings, out: &mut out };
            let failed = match without_directory(&old, &new) {
                Some((old, new)) => differ.lists(&old, new.files()),
                None => differ.lists(&old, new.files()),
            };
            (out, failed)
        }
    };
    Ok(out.finish().answer(OK, failed))
}

struct Differ<'a> {
    findings: Findings,
    out: &'a mut Out,
}

impl Differ<'_> {
    /// What is in a tree, with the names that a scope gives.
    fn manifest(
        &mut self,
        files: &Files,
        root: &Path,
        scope: &Scope,
        rules: &Arc<Rules>,
        algorithm: Algorithm,
    ) -> Manifest {
        let mut manifest = Manifest::new(algorithm);
        self.hash(files, root, rules, algorithm, |findings, out, path, digest| {
            let name = scope.name(path);
            match digest {
                Ok(digest) => {
                    let file = File { name: &name, digest, size: None, modified: None };
                    if manifest.insert(file).is_err() {
                        let _ = findings.unread(&name, path, &"more files than can be numbered", out);
                    }
                }
                Err(error) => {
                    let _ = findings.unread(&name, path, error, out);
                }
            }
        });
        manifest
    }

    /// Compares with what is in a tree. Gives the exit code for what failed.
    fn tree(
        mut self,
        files: &Files,
        old: &Manifest,
        root: &Path,
        scope: &Scope,
        rules: &Arc<Rules>,
        algorithm: Algorithm,
    ) -> u8 {
        let mut audit = Audit::new(old);
        self.hash(files, root, rules, algorithm, |findings, out, path, digest| {
            let name = scope.name(path);
            // If the output takes no more, the end of the command tells.
            let _ = match digest.map(|digest| audit.file(&name, digest, None)) {
                Ok(Ok(Some(verdict))) => findings.take(Finding { verdict, name: &name, from: None }, out),
                Ok(Ok(None)) => ControlFlow::Continue(()),
                Ok(Err(_)) => findings.unread(&name, path, &"more files than can be numbered", out),
                Err(error) => {
                    audit.unread(&name);
                    findings.unread(&name, path, error, out)
                }
            };
        });
        self.conclude(&audit, |name| scope.counts(name))
    }

    /// Compares with other lines. Gives the exit code for what failed.
    fn lists<'b>(mut self, old: &Manifest, new: impl Iterator<Item = File<'b>>) -> u8 {
        let mut audit = Audit::new(old);
        for file in new {
            if let Ok(Some(verdict)) = audit.file(file.name, file.digest, None)
                && self.findings.take(Finding { verdict, name: file.name, from: None }, self.out).is_break()
            {
                return FAILED;
            }
        }
        self.conclude(&audit, |_| true)
    }

    fn conclude(mut self, audit: &Audit<'_>, counts: impl Fn(&[u8]) -> bool) -> u8 {
        let (findings, out) = (&mut self.findings, &mut *self.out);
        let _ = audit.finish(counts, |finding| match findings.take(finding, out) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(closed) => Err(closed),
        });
        self.findings.finish(self.out)
    }

    /// Hashes everything below a directory.
    fn hash(
        &mut self,
        files: &Files,
        root: &Path,
        rules: &Arc<Rules>,
        algorithm: Algorithm,
        mut take: impl FnMut(&mut Findings, &mut Out, &Path, Result<&[u8], &Error>),
    ) {
        let items = Walk::by(root.to_owned(), Arc::clone(rules)).filter_map(|visit| match visit {
            Visit::File(path) => Some(Item { path, input: Input::File, tag: () }),
            Visit::Special(path) => Some(Item { path, input: Input::Failed(Error::Special), tag: () }),
            Visit::Pseudo(path, kind) => {
                Some(Item { path, input: Input::Failed(Error::Pseudo(kind)), tag: () })
            }
            Visit::Failed(path, error) => Some(Item { path, input: Input::Failed(error), tag: () }),
            _ => None,
        });
        let (findings, out) = (&mut self.findings, &mut *self.out);
        let _: ControlFlow<()> =
            hash_many(files, out.job(), items, |path: PathBuf, (), result: Result<_, Error>| {
                match result {
                    Err(error @ (Error::Special | Error::Pseudo(_))) => {
                        out.note(&format!("{}: skipped: {error}", shown(&path)));
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

/// A list that is compared with a tree. Of a tree that was copied or moved it has other names: then they count from the last
/// directory on that all of them have in common.
fn list_of_tree(list: &Path, root: &Path, make: impl Fn(Algorithm) -> Files) -> Result<Old> {
    let (manifest, ids) = read(list, false)?;
    let roots = [root.to_owned()];
    let is_there = |manifest: &Manifest| {
        Scope::of(manifest, &roots).is_some_and(|scope| {
            let mut names = manifest.files().map(|file| file.name).filter(|name| scope.counts(name));
            names.any(|name| scope.path(name).is_file())
        })
    };
    let other = if is_there(&manifest) { None } else { stripped(&manifest).filter(is_there) };
    Old::of(list, other.unwrap_or(manifest), ids, &roots, None, make)
}

/// Both manifests with names from the last directory on that all of each have in common, if no name is in both.
fn without_directory(old: &Manifest, new: &Manifest) -> Option<(Manifest, Manifest)> {
    if new.files().any(|file| old.find(file.name).is_some()) {
        return None;
    }
    Some((stripped(old)?, stripped(new)?))
}

/// The manifest with names from the last directory on that all of them have in common.
fn stripped(manifest: &Manifest) -> Option<Manifest> {
    let mut names = manifest.files().map(|file| file.name);
    let first = names.next()?;
    let mut len = first.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    for name in names {
        let same = name.iter().zip(&first[..len]).take_while(|(a, b)| a == b).count();
        len = first[..same].iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1);
    }
    let mut stripped = Manifest::new(manifest.algorithm().unwrap_or_default());
    for file in manifest.files() {
        stripped.insert(File { name: &tidy(&file.name[len..]), ..file }).ok()?;
    }
    Some(stripped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_directory_is_left_out_where_no_name_is_in_both() {
        let manifest = |names: &[&str]| {
            let mut manifest = Manifest::new(Algorithm::Md5);
            for name in names {
                let file = File { name: name.as_bytes(), digest: &[0; 16], size: None, modified: None };
                manifest.insert(file).expect("few");
            }
            manifest
        };
        let names = |manifest: &Manifest| -> Vec<String> {
            manifest.files().map(|file| String::from_utf8_lossy(file.name).into_owned()).collect()
        };
        let (a, b) = (manifest(&["x/y/a", "x/y/b/c"]), manifest(&["/z/a", "/z/b/c"]));
        let (a, b) = without_directory(&a, &b).expect("nothing in common");
        assert_eq!((names(&a), names(&b)), (vec!["a".into(), "b/c".into()], vec!["a".into(), "b/c".into()]));
        let (c, d) = (manifest(&["x/a", "x/ab"]), manifest(&["y/a"]));
        let (c, _) = without_directory(&c, &d).expect("nothing in common");
        assert_eq!(names(&c), ["a", "ab"]);
        assert!(without_directory(&manifest(&["a"]), &manifest(&["a", "b"])).is_none());
    }
}
