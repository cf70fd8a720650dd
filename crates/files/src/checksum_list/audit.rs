//! Audit of files against a checksum table: pure, on names, digests and times.

use super::scope::Scope;
use super::table::{ChecksumTable, TableEntry, TooMany};
use super::unreadable_dirs::UnreadableDirs;
use crate::stored::DigestVerdict;
use crate::stored::Time;
use std::path::PathBuf;

/// Result for one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuditEntry<'a> {
    /// The verdict.
    pub verdict: DigestVerdict,
    /// The name of the file: the new one, if it was moved.
    pub name: &'a [u8],
    /// The old name, if it was moved.
    pub from: Option<&'a [u8]>,
}

/// Audit in progress. Memory grows with the files that are not in the table.
#[derive(Debug)]
pub struct Audit<'a> {
    old: &'a ChecksumTable,
    /// A bit for each file of the table that still exists.
    found: Vec<u64>,
    /// Files that are not in the table.
    fresh: ChecksumTable,
    /// Unreadable entries that are not in the table: directories, among others.
    shut: UnreadableDirs,
}

impl<'a> Audit<'a> {
    /// Starts an audit against a table.
    pub fn new(old: &'a ChecksumTable) -> Audit<'a> {
        Audit {
            old,
            found: vec![0; old.len().div_ceil(64)],
            fresh: ChecksumTable::default(),
            shut: UnreadableDirs::default(),
        }
    }

    /// Adds a file, with its mtime while it was read, if known and to be compared. A new name has no verdict
    /// until all files are known.
    ///
    /// # Errors
    /// More new files than can be numbered.
    pub fn file(
        &mut self,
        name: &[u8],
        digest: &[u8],
        modified: Option<Time>,
    ) -> Result<Option<DigestVerdict>, TooMany> {
        let Some(number) = self.old.find(name) else {
            self.fresh.insert(TableEntry { name, digest, size: None, modified: None })?;
            return Ok(None);
        };
        self.see(number);
        Ok(Some(DigestVerdict::compare(Some(self.old.file(number).expected()), digest, modified)))
    }

    /// Adds a file or directory that could not be read: neither it nor anything below it counts as missing.
    pub fn unread(&mut self, name: &[u8]) {
        match self.old.find(name) {
            Some(number) => self.see(number),
            None => self.shut.add(name),
        }
    }

    /// Takes the files of the table that were not added but satisfy `exists` out of the audit: filters left them out, so that they
    /// are neither missing nor checked. Returns their rows.
    pub fn leave_out(&mut self, exists: impl Fn(&[u8]) -> bool) -> Vec<u32> {
        let is_left_out = |number: &u32| {
            let name = self.old.name(*number);
            !self.is_found(*number) && !self.shut.holds(name) && exists(name)
        };
        let left_out: Vec<u32> = (0..self.old.len() as u32).filter(is_left_out).collect();
        left_out.iter().for_each(|&number| self.see(number));
        left_out
    }

    fn see(&mut self, number: u32) {
        self.found[number as usize / 64] |= 1 << (number % 64);
    }

    fn is_found(&self, number: u32) -> bool {
        self.found[number as usize / 64] >> (number % 64) & 1 == 1
    }

    /// May a file of this name be in an unreadable directory?
    pub fn is_shut(&self, name: &[u8]) -> bool {
        self.shut.holds(name)
    }

    /// Calls `tell` for moved, new and missing files: first in the order of addition, then in that of the
    /// table. Only missing files that satisfy `counts` are reported.
    pub fn finish<E>(
        &self,
        counts: impl Fn(&[u8]) -> bool,
        tell: impl FnMut(AuditEntry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.tell(&self.rest(counts), tell)
    }

    /// The moved and missing files, once all files are known. Only missing files that satisfy `counts` are
    /// included.
    pub fn rest(&self, counts: impl Fn(&[u8]) -> bool) -> AuditOutcome {
        let mut gone: Vec<u32> = (0..self.old.len() as u32)
            .filter(|&number| {
                let name = self.old.name(number);
                !self.is_found(number) && counts(name) && !self.shut.holds(name)
            })
            .collect();
        let mut fresh: Vec<u32> = (0..self.fresh.len() as u32).collect();
        // The row of a file's old name, plus one.
        let mut from = vec![0_u32; fresh.len()];
        // Files that kept the last component of their name are paired first, then any with the same digest.
        for by_name in [true, false] {
            pair(self.old, &mut gone, &self.fresh, &mut fresh, by_name, &mut from);
        }
        gone.sort_unstable();
        AuditOutcome { from, gone }
    }

    /// Calls `tell` for moved, new and missing files: first in the order of addition, then in that of the
    /// table.
    pub fn tell<E>(
        &self,
        rest: &AuditOutcome,
        mut tell: impl FnMut(AuditEntry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for (number, from) in (0..self.fresh.len() as u32).zip(&rest.from) {
            let from = from.checked_sub(1).map(|old| self.old.name(old));
            let verdict = if from.is_some() { DigestVerdict::Moved } else { DigestVerdict::New };
            tell(AuditEntry { verdict, name: self.fresh.name(number), from })?;
        }
        rest.gone.iter().try_for_each(|&number| {
            tell(AuditEntry { verdict: DigestVerdict::Gone, name: self.old.name(number), from: None })
        })
    }

    /// The first directory of `scope` below which all files of the table are missing, and their number. An
    /// unmounted disk looks like that.
    pub fn emptied(&self, rest: &AuditOutcome, scope: &Scope) -> Option<(PathBuf, usize)> {
        scope.emptied(self.old, &rest.gone)
    }
}

/// Final part of an [`Audit`]: moved and missing files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AuditOutcome {
    /// For each new file the row of its old name plus one, or 0.
    from: Vec<u32>,
    /// Rows of missing files, in order.
    gone: Vec<u32>,
}

/// Removes files with the same digest from both lists, and records the pairs.
fn pair(
    old: &ChecksumTable,
    gone: &mut Vec<u32>,
    new: &ChecksumTable,
    fresh: &mut Vec<u32>,
    by_name: bool,
    from: &mut [u32],
) {
    fn key(table: &ChecksumTable, number: u32, by_name: bool) -> (&[u8], &[u8]) {
        let TableEntry { name, digest, .. } = table.file(number);
        let last = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
        (digest, if by_name { last } else { b"" })
    }
    let sort = |list: &mut Vec<u32>, table: &ChecksumTable| {
        list.sort_unstable_by(|&a, &b| {
            let keys = key(table, a, by_name).cmp(&key(table, b, by_name));
            keys.then_with(|| table.name(a).cmp(table.name(b)))
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
    use crate::checksum_list::Algorithm;
    use std::convert::Infallible;

    fn table(files: &[(&str, u8)]) -> ChecksumTable {
        let mut table = ChecksumTable::new(Algorithm::Blake3);
        for (name, digest) in files {
            let file =
                TableEntry { name: name.as_bytes(), digest: &[*digest; 32], size: None, modified: None };
            table.insert(file).expect("few");
        }
        table
    }

    /// One line for each result.
    fn audit(old: &[(&str, u8)], new: &[(&str, u8)], unread: &[&str]) -> Vec<String> {
        let old = table(old);
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
    fn files_in_unreadable_directories_are_not_missing() {
        assert_eq!(
            audit(&[("a/x", 1), ("b/y", 2), ("b/c/z", 3)], &[("n", 3)], &["b"]),
            ["New n", "Gone a/x"]
        );
    }

    #[test]
    fn files_of_equal_names_are_paired_first() {
        // Files with equal digests, such as empty files.
        assert_eq!(
            audit(&[("a/x", 0), ("a/y", 0), ("a/z", 0)], &[("b/y", 0), ("b/q", 0)], &[]),
            ["Moved b/y from a/y", "Moved b/q from a/x", "Gone a/z"]
        );
        // A copy of an existing file is new.
        assert_eq!(audit(&[("a", 1)], &[("a", 1), ("b", 1)], &[]), ["Same a", "New b"]);
    }

    #[test]
    fn files_that_exist_but_were_not_added_are_not_missing() {
        let old = table(&[("a", 1), ("b", 2), ("c", 3), ("d/e", 4), ("f", 5)]);
        let mut audit = Audit::new(&old);
        audit.unread(b"d");
        assert_eq!(audit.file(b"a", &[1; 32], None).expect("few"), Some(DigestVerdict::Same));
        // A copy of a file that was left out is new, not moved.
        audit.file(b"x", &[2; 32], None).expect("few");
        assert_eq!(audit.leave_out(|name| name != b"c" && name != b"f"), [1]);
        assert!(audit.leave_out(|_| false).is_empty());
        let mut rest = Vec::new();
        let Ok(()) = audit.finish(
            |_| true,
            |finding| -> Result<(), Infallible> {
                rest.push((finding.verdict, finding.name.to_vec()));
                Ok(())
            },
        );
        let [new, gone] = [DigestVerdict::New, DigestVerdict::Gone];
        assert_eq!(rest, [(new, b"x".to_vec()), (gone, b"c".to_vec()), (gone, b"f".to_vec())]);
    }

    #[test]
    fn uncounted_files_are_not_reported() {
        let old = table(&[("a/x", 1), ("b/y", 2)]);
        let audit = Audit::new(&old);
        let mut gone = Vec::new();
        let tell = |finding: AuditEntry<'_>| -> Result<(), Infallible> {
            gone.push(finding.name.to_vec());
            Ok(())
        };
        let Ok(()) = audit.finish(|name| name.starts_with(b"a/"), tell);
        assert_eq!(gone, [b"a/x"]);
    }
}
