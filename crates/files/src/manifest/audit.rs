//! What became of the files of a manifest: pure, of names and digests alone.

use super::{File, Manifest, Shut, TooMany};

/// What became of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// It is as it was.
    Same,
    /// It has another digest.
    Changed,
    /// It was not there before.
    New,
    /// It has the digest of a file that is no longer where it was.
    Moved,
    /// It is no longer there.
    Gone,
    /// It is there, and could not be read.
    Unread,
}

/// One answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Finding<'a> {
    /// What became of it.
    pub found: Found,
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

    /// A file as it is. Of one that was not there before, nothing can be said until all are known.
    ///
    /// # Errors
    /// That there are more new files than can be numbered.
    pub fn file(&mut self, name: &[u8], digest: &[u8]) -> Result<Option<Found>, TooMany> {
        let Some(number) = self.old.find(name) else {
            self.fresh.insert(File { name, digest, size: None, modified: None })?;
            return Ok(None);
        };
        self.see(number);
        let same = self.old.file(number).digest == digest;
        Ok(Some(if same { Found::Same } else { Found::Changed }))
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

    /// Calls `tell` with what is moved, new and gone, in the order in which files came, then in that of the manifest.
    /// What `counts` does not hold of is not missed.
    pub fn finish<E>(
        &self,
        counts: impl Fn(&[u8]) -> bool,
        mut tell: impl FnMut(Finding<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
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
        for number in 0..self.fresh.len() as u32 {
            let name = self.fresh.name(number);
            let from = from[number as usize].checked_sub(1).map(|old| self.old.name(old));
            let found = if from.is_some() { Found::Moved } else { Found::New };
            tell(Finding { found, name, from })?;
        }
        gone.sort_unstable();
        gone.iter().try_for_each(|&number| {
            tell(Finding { found: Found::Gone, name: self.old.name(number), from: None })
        })
    }
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
            if let Some(found) = audit.file(name.as_bytes(), &[*digest; 32]).expect("few") {
                lines.push(format!("{found:?} {name}"));
            }
        }
        unread.iter().for_each(|name| audit.unread(name.as_bytes()));
        let Ok(()) = audit.finish(
            |_| true,
            |finding| -> Result<(), Infallible> {
                let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
                let from = finding.from.map_or(String::new(), |from| format!(" from {}", text(from)));
                lines.push(format!("{:?} {}{from}", finding.found, text(finding.name)));
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
