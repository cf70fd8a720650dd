//! Differences of a directory whose tree digest differs, by the files in the checked lists.

use super::Check;
use crate::output::display_path;
use crate::output::progress::size;
use hashmill_files::checksum_list::{Algorithm, Entry, ListReader, ParsedLine};
use hashmill_files::checksum_list::{
    Audit, AuditEntry, ChecksumTable, Scope, TableEntry, name_to_path, normalize_name,
};
use hashmill_files::walk::{Visit, Walk};
use hashmill_files::{Digest, DigestVerdict, Error, HashJob, Input};
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Maximum number of files printed; further ones are counted.
const MAX_PRINTED: u64 = 20;

impl Check<'_> {
    /// Prints which files below a directory differ from the lists, if the lists contain any.
    pub(super) fn print_tree_diff(&mut self, tree: &Entry) {
        // With --tree every line is a tree, and none a file.
        if self.options.status || self.options.tree {
            return;
        }
        let directory = display_path(&tree.path).into_owned();
        let scope = Scope::Below(vec![normalize_name(tree.path.as_os_str().as_encoded_bytes()).into_owned()]);
        let known = self.files_below(&scope, &directory);
        if known.is_empty() {
            return;
        }
        let mut audit = Audit::new(&known);
        let mut differences = Differences::default();
        let progress = self.out.progress();
        let files = Walk::new(tree.path.clone(), false).filter_map(|visit| match visit {
            Visit::File(path) => {
                if let Some(progress) = &progress {
                    // The size of a regular file is known.
                    progress.add_repeated(size(&path).unwrap_or(0));
                }
                Some(HashJob { path, input: Input::File, tag: () })
            }
            Visit::Failed(path, error) => Some(HashJob { path, input: Input::Failed(error), tag: () }),
            _ => None,
        });
        let _: ControlFlow<()> =
            self.hashers.tree.hash_many(files, |path: PathBuf, (), result: Result<Digest, Error>| {
                let name = scope.name(&path);
                let digest = match &result {
                    Ok(digest) => digest.output.bytes_at(0),
                    Err(error) => {
                        differences.add_unread(&path, error);
                        None
                    }
                };
                let Some(digest) = digest else {
                    audit.unread(&name);
                    return ControlFlow::Continue(());
                };
                // The only error is too many files, as in `read_list`.
                if let Ok(Some(DigestVerdict::Changed)) = audit.file(&name, &digest, None) {
                    differences.add(DigestVerdict::Changed, &name, None);
                }
                ControlFlow::Continue(())
            });
        let _: Result<(), ()> = audit.finish(
            |_| true,
            |AuditEntry { verdict, name, from }| {
                differences.add(verdict, name, from);
                Ok(())
            },
        );
        let more = differences.count.saturating_sub(MAX_PRINTED);
        for line in differences.first {
            self.out.note(&format!("{directory}: {line}"));
        }
        if more > 0 {
            self.out.note(&format!("{directory}: and {more} more"));
        }
    }

    /// The entries of all lists of this check below the directory. Reports unreadable lists, whose files would look new.
    fn files_below(&mut self, scope: &Scope, directory: &str) -> ChecksumTable {
        let mut known = ChecksumTable::new(Algorithm::Blake3);
        for list in self.lists.iter().filter(|list| list.as_os_str() != "-") {
            let read = self.read_list(list, scope, &mut known);
            if let Err(error) = read {
                let list = display_path(list);
                self.out.note(&format!(
                    "{directory}: {list} cannot be read, so its entries for files there are unknown: {error}"
                ));
            }
        }
        known
    }

    fn read_list(&self, list: &Path, scope: &Scope, known: &mut ChecksumTable) -> io::Result<()> {
        let mut lines = ListReader::new(BufReader::new(File::open(list)?), self.style);
        while let Some((_, parsed)) = lines.next_line()? {
            let Ok(ParsedLine::Entry(entry)) = parsed else { continue };
            let name = normalize_name(entry.path.as_os_str().as_encoded_bytes());
            let is_blake3 = entry.algorithm.is_none_or(|by| by == Algorithm::Blake3);
            if is_blake3 && !entry.is_tree() && entry.digest.len() == 32 && scope.counts(&name) {
                let row = TableEntry { name: &name, digest: &entry.digest, size: None, modified: None };
                // Entries beyond 2^32 are ignored.
                let _ = known.insert(row);
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Differences {
    first: Vec<String>,
    count: u64,
}

impl Differences {
    fn add_unread(&mut self, path: &Path, error: &Error) {
        self.count += 1;
        if self.count <= MAX_PRINTED {
            self.first.push(format!("{} cannot be read: {error}", display_path(path)));
        }
    }

    fn add(&mut self, verdict: DigestVerdict, name: &[u8], from: Option<&[u8]>) {
        self.count += 1;
        if self.count > MAX_PRINTED {
            return;
        }
        let name = display_path(&name_to_path(name)).into_owned();
        self.first.push(match verdict {
            DigestVerdict::Changed => format!("{name} has changed"),
            DigestVerdict::Gone => format!("{name} is gone"),
            DigestVerdict::Moved => {
                format!("{name} was {}", display_path(&name_to_path(from.unwrap_or_default())))
            }
            _ => format!("{name} is new"),
        });
    }
}
