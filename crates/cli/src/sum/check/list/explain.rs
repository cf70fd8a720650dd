//! Which files a directory differs in, as far as the lists at hand know them.

use super::Check;
use crate::out::progress::size;
use crate::out::shown;
use hashmill_files::checkfile::{Algorithm, Entry, List, Parsed};
use hashmill_files::manifest::{Audit, File as Row, Finding, Manifest, Scope, path, tidy};
use hashmill_files::walk::{Visit, Walk};
use hashmill_files::{Digest, Error, Input, Item, Verdict};
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// So many files are named; further ones are counted.
const NAMED: u64 = 20;

impl Check<'_> {
    /// Says which files below a directory are not as the lists say, if they say anything of them.
    pub(super) fn explain(&mut self, tree: &Entry) {
        // With --tree every line is one, and none a file.
        if self.how.status || self.how.tree {
            return;
        }
        let directory = shown(&tree.path).into_owned();
        let scope = Scope::Below(vec![tidy(tree.path.as_os_str().as_encoded_bytes()).into_owned()]);
        let known = self.files_below(&scope, &directory);
        if known.is_empty() {
            return;
        }
        let mut audit = Audit::new(&known);
        let mut lines = Lines::default();
        let job = self.out.job();
        let files = Walk::new(tree.path.clone(), false).filter_map(|visit| match visit {
            Visit::File(path) => {
                if let Some(job) = &job {
                    // Nothing but files is here, so it is known.
                    job.again(size(&path).unwrap_or(0));
                }
                Some(Item { path, input: Input::File, tag: () })
            }
            Visit::Failed(path, error) => Some(Item { path, input: Input::Failed(error), tag: () }),
            _ => None,
        });
        let _: ControlFlow<()> =
            self.hashers.tree.hash_many(files, |path: PathBuf, (), result: Result<Digest, Error>| {
                let name = scope.name(&path);
                let digest = match &result {
                    Ok(digest) => digest.output.bytes_at(0),
                    Err(error) => {
                        lines.unread(&path, error);
                        None
                    }
                };
                let Some(digest) = digest else {
                    audit.unread(&name);
                    return ControlFlow::Continue(());
                };
                // The error is that of too many files, as in `read_list`.
                if let Ok(Some(Verdict::Changed)) = audit.file(&name, &digest, None) {
                    lines.take(Verdict::Changed, &name, None);
                }
                ControlFlow::Continue(())
            });
        let _: Result<(), ()> = audit.finish(
            |_| true,
            |Finding { verdict, name, from }| {
                lines.take(verdict, name, from);
                Ok(())
            },
        );
        let more = lines.count.saturating_sub(NAMED);
        for line in lines.first {
            self.out.note(&format!("{directory}: {line}"));
        }
        if more > 0 {
            self.out.note(&format!("{directory}: and {more} more"));
        }
    }

    /// What all lists of this check say of files there. Of a list that cannot be read, that is said: what it has would look
    /// new.
    fn files_below(&mut self, scope: &Scope, directory: &str) -> Manifest {
        let mut known = Manifest::new(Algorithm::Blake3);
        for list in self.lists.iter().filter(|list| list.as_os_str() != "-") {
            let read = self.read_list(list, scope, &mut known);
            if let Err(error) = read {
                let list = shown(list);
                self.out.note(&format!(
                    "{directory}: {list} cannot be read, so what it says of files there is unknown: {error}"
                ));
            }
        }
        known
    }

    fn read_list(&self, list: &Path, scope: &Scope, known: &mut Manifest) -> io::Result<()> {
        let mut lines = List::new(BufReader::new(File::open(list)?), self.style);
        while let Some((_, parsed)) = lines.next_line()? {
            let Ok(Parsed::Entry(entry)) = parsed else { continue };
            let name = tidy(entry.path.as_os_str().as_encoded_bytes());
            let is_blake3 = entry.algorithm.is_none_or(|by| by == Algorithm::Blake3);
            if is_blake3 && !entry.is_tree() && entry.digest.len() == 32 && scope.counts(&name) {
                let row = Row { name: &name, digest: &entry.digest, size: None, modified: None };
                // Beyond four thousand million files nobody reads on.
                let _ = known.insert(row);
            }
        }
        Ok(())
    }
}

#[derive(Default)]
struct Lines {
    first: Vec<String>,
    count: u64,
}

impl Lines {
    fn unread(&mut self, path: &Path, error: &Error) {
        self.count += 1;
        if self.count <= NAMED {
            self.first.push(format!("{} cannot be read: {error}", shown(path)));
        }
    }

    fn take(&mut self, verdict: Verdict, name: &[u8], from: Option<&[u8]>) {
        self.count += 1;
        if self.count > NAMED {
            return;
        }
        let name = shown(&path(name)).into_owned();
        self.first.push(match verdict {
            Verdict::Changed => format!("{name} has changed"),
            Verdict::Gone => format!("{name} is gone"),
            Verdict::Moved => format!("{name} was {}", shown(&path(from.unwrap_or_default()))),
            _ => format!("{name} is new"),
        });
    }
}
