//! Audit of the files of a manifest: pure, of names, digests and times alone.

use super::{File, Manifest, Scope, Shut, TooMany};
use crate::time::Time;
use crate::verdict::Verdict;
use std::path::PathBuf;

/// The verdict on one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finding<'a> {
    /// What happened to it.
    pub verdict: Verdict,
    /// The name of the file: the new one, if there are two.
    pub name: &'a [u8],
    /// Where it was, if it was moved.
    pub from: Option<&'a [u8]>,
}

/// An audit under way. Memory grows with the files that are not in the manifest.
#[derive(Debug)]
pub struct Audit<'a> {
    old: &'a Manifest,
    /// A bit for each file of the manifest that is still there.
    seen: Vec<u64>,
    /// Those that are not in the manifest.
    fresh: Manifest,
    /// What could not be read, and is not in the manifest: directories, among others.
    shut: Shut,
}

impl<'a> Audit<'a> {
    /// Begins with what was.
    pub fn new(old: &'a Manifest) -> Audit<'a> {
        Audit {
            old,
            seen: vec![0; old.len().div_ceil(64)],
            fresh: Manifest::default(),
            shut: Shut::default(),
        }
    }

    /// A file as it is, with the time that it had while it was read, if that is known and to be compared. There is no verdict
    /// on a file that was not there before until all are known.
    ///
    /// # Errors
    /// That there are more new files than can be numbered.
    pub fn file(
        &mut self,
        name: &[u8],
        digest: &[u8],
        modified: Option<Time>,
    ) -> Result<Option<Verdict>, TooMany> {
        let Some(number) = self.old.find(name) else {
            self.fresh.insert(File { name, digest, size: None, modified: None })?;
            return Ok(None);
        };
        self.see(number);
        Ok(Some(Verdict::of(Some(self.old.file(number).stored()), digest, modified)))
    }

    /// A file or directory that could not be read: it is not gone, and neither is what is below it.
    pub fn unread(&mut self, name: &[u8]) {
        match self.old.find(name) {
            Some(number) => self.see(number),
            None => self.shut.add(name),
        }
    }

    fn see(&mut self, number: u32) {
        self.seen[number as usize / 64] |= 1 << (number % 64);
    }

    fn is_seen(&self, number: u32) -> bool {
        self.seen[number as usize / 64] >> (number % 64) & 1 == 1
    }

    /// Whether a file of this name may be in a directory that could not be read.
    pub fn is_shut(&self, name: &[u8]) -> bool {
        self.shut.holds(name)
    }

    /// Calls `tell` with what is moved, new and gone, in the order in which files came, then in that of the manifest.
    /// What `counts` does not hold of is not missed.
    pub fn finish<E>(
        &self,
        counts: impl Fn(&[u8]) -> bool,
        tell: impl FnMut(Finding<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.tell(&self.rest(counts), tell)
    }

    /// What is moved and gone, now that all files are known. What `counts` does not hold of is not missed.
    pub fn rest(&self, counts: impl Fn(&[u8]) -> bool) -> Rest {
        let mut gone: Vec<u32> = (0..self.old.len() as u32)
            .filter(|&number| {
                let name = self.old.name(number);
                !self.is_seen(number) && counts(name) && !self.shut.holds(name)
            })
            .collect();
        let mut fresh: Vec<u32> = (0..self.fresh.len() as u32).collect();
        // Where a file was, plus one.
        let mut from = vec![0_u32; fresh.len()];
        // A file that kept the last part of its name first, then whatever has the digest.
        for by_name in [true, false] {
            pair(self.old, &mut gone, &self.fresh, &mut fresh, by_name, &mut from);
        }
        gone.sort_unstable();
        Rest { from, gone }
    }

    /// Calls `tell` with what is moved, new and gone, in the order in which files came, then in that of the manifest.
    pub fn tell<E>(&self, rest: &Rest, mut tell: impl FnMut(Finding<'_>) -> Result<(), E>) -> Result<(), E> {
        for (number, from) in (0..self.fresh.len() as u32).zip(&rest.from) {
            let from = from.checked_sub(1).map(|old| self.old.name(old));
            let verdict = if from.is_some() { Verdict::Moved } else { Verdict::New };
            tell(Finding { verdict, name: self.fresh.name(number), from })?;
        }
        rest.gone.iter().try_for_each(|&number| {
            tell(Finding { verdict: Verdict::Gone, name: self.old.name(number), from: None })
        })
    }

    /// The first directory of `scope` below which the manifest has files, all of which are gone; and how many. That is what a
    /// disk looks like that is not mounted.
    pub fn emptied(&self, rest: &Rest, scope: &Scope) -> Option<(PathBuf, usize)> {
        scope.emptied(self.old, &rest.gone)
    }
}

/// What an [`Audit`] knows only at its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rest {
    /// For each new file the row that it was, plus one; or 0.
    from: Vec<u32>,
    /// Rows whose files are gone, in order.
    gone: Vec<u32>,
}

/// Takes files with the same digest out of both lists, and notes which belongs to which.
fn pair(
    old: &Manifest,
    gone: &mut Vec<u32>,
    new: &Manifest,
    fresh: &mut Vec<u32>,
    by_name: bool,
    from: &mut [u32],
) {
    fn key(manifest: &Manifest, number: u32, by_name: bool) -> (&[u8], &[u8]) {
        let File { name, digest, .. } = manifest.file(number);
        let last = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
        (digest, if by_name { last } else { b"" })
    }
    let sort = |list: &mut Vec<u32>, manifest: &Manifest| {
        list.sort_unstable_by(|&a, &b| {
            let keys = key(manifest, a, by_name).cmp(&key(manifest, b, by_name));
            keys.then_with(|| manifest.name(a).cmp(manifest.name(b)))
        });
    };
    sort(gone, old);
    sort(fresh, new);
    let mut left = (Vec::new(), Vec::new());
    let (mut g, mut f) = (0, 0);
    while g < gone.len() && f < fresh.len() {
        match key(old, gone[g], by_name).cmp(&key(new, fresh[f], by_name)) {
            std::cmp::Ordering::Less => {
                left.0.push(gone[g]);
                g += 1;
            }
            std::cmp::Ordering::Greater => {
                left.1.push(fresh[f]);
                f += 1;
            }
            std::cmp::Ordering::Equal => {
                from[fresh[f] as usize] = gone[g] + 1;
                (g, f) = (g + 1, f + 1);
            }
        }
    }
    left.0.extend(&gone[g..]);
    left.1.extend(&fresh[f..]);
    (*gone, *fresh) = left;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkfile::Algorithm;
    use std::convert::Infallible;

    fn manifest(files: &[(&str, u8)]) -> Manifest {
        let mut manifest = Manifest::new(Algorithm::Blake3);
        for (name, digest) in files {
            let file = File { name: name.as_bytes(), digest: &[*digest; 32], size: None, modified: None };
            manifest.insert(file).expect("few");
        }
        manifest
    }

    /// One line for each finding.
    fn audit(old: &[(&str, u8)], new: &[(&str, u8)], unread: &[&str]) -> Vec<String> {
        let old = manifest(old);
        let mut audit = Audit::new(&old);
        let mut lines = Vec::new();
        for (name, digest) in new {
            if let Some(verdict) = audit.file(name.as_bytes(), &[*digest; 32], None).expect("few") {
                lines.push(format!("{verdict:?} {name}"));
            }
        }
        unread.iter().for_each(|name| audit.unread(name.as_bytes()));
        let Ok(()) = audit.finish(
            |_| true,
            |finding| -> Result<(), Infallible> {
                let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
                let from = finding.from.map_or(String::new(), |from| format!(" from {}", text(from)));
                lines.push(format!("{:?} {}{from}", finding.verdict, text(finding.name)));
                Ok(())
            },
        );
        lines
    }

    #[test]
    fn every_file_has_one_answer() {
        assert_eq!(
            audit(
                &[("a", 1), ("b", 2), ("c", 3), ("d", 4), ("u", 9)],
                &[("a", 1), ("b", 7), ("x/c", 3), ("n", 5)],
                &["u"],
            ),
            ["Same a", "Changed b", "Moved x/c from c", "New n", "Gone d"]
        );
        assert!(audit(&[], &[], &[]).is_empty());
    }

    #[test]
    fn what_is_below_a_directory_that_cannot_be_read_is_not_gone() {
        assert_eq!(
            audit(&[("a/x", 1), ("b/y", 2), ("b/c/z", 3)], &[("n", 3)], &["b"]),
            ["New n", "Gone a/x"]
        );
    }

    #[test]
    fn files_that_kept_their_name_are_paired_first() {
        // All have one digest, as empty files do.
        assert_eq!(
            audit(&[("a/x", 0), ("a/y", 0), ("a/z", 0)], &[("b/y", 0), ("b/q", 0)], &[]),
            ["Moved b/y from a/y", "Moved b/q from a/x", "Gone a/z"]
        );
        // A copy of what is still there is new.
        assert_eq!(audit(&[("a", 1)], &[("a", 1), ("b", 1)], &[]), ["Same a", "New b"]);
    }

    #[test]
    fn what_does_not_count_is_not_missed() {
        let old = manifest(&[("a/x", 1), ("b/y", 2)]);
        let audit = Audit::new(&old);
        let mut gone = Vec::new();
        let tell = |finding: Finding<'_>| -> Result<(), Infallible> {
            gone.push(finding.name.to_vec());
            Ok(())
        };
        let Ok(()) = audit.finish(|name| name.starts_with(b"a/"), tell);
        assert_eq!(gone, [b"a/x"]);
    }
}
