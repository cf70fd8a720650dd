//! `--duplicates`: files with the same contents. Only files that are as long as another one are hashed.

use super::operands::Operands;
use crate::out::json::{self, Name};
use crate::out::progress::hash_many;
use crate::out::{Closed, Out, hex, quoted, shown};
use hashmill_files::{Digest, Error, FileId, Files, Input, Item};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// How to show them.
pub(super) struct How {
    pub(super) json: bool,
    pub(super) quiet: bool,
    /// Names as they are, each ended by NUL, and each group by another.
    pub(super) zero: bool,
    pub(super) digest_len: usize,
    pub(super) algorithm: &'static str,
}

pub(super) fn run(files: &Files, items: Operands, how: &How, out: &mut Out) {
    let (candidates, bytes) = candidates(items, out);
    let job = out.job();
    if let Some(job) = &job {
        job.phase("hashing");
        job.expect(candidates.len() as u64, u64::try_from(bytes).ok());
    }
    let mut groups: BTreeMap<(u64, Vec<u8>), Vec<PathBuf>> = BTreeMap::new();
    let items = candidates.into_iter().map(|path| Item { path, input: Input::File, tag: () });
    let ControlFlow::<std::convert::Infallible>::Continue(()) =
        hash_many(files, job, items, |path: PathBuf, (), result: Result<Digest, Error>| {
            match result {
                Ok(digest) => {
                    let mut bytes = vec![0; how.digest_len];
                    digest.output.fill(0, &mut bytes);
                    groups.entry((digest.len, bytes)).or_default().push(path);
                }
                Err(error) => out.fail(&format!("{}: {error}", shown(&path))),
            }
            ControlFlow::Continue(())
        });
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, paths)| paths.len() > 1).collect();
    // What takes most room to no use comes first.
    let waste = |(size, _): &(u64, Vec<u8>), paths: &[PathBuf]| all(*size, paths.len() - 1);
    groups.sort_by(|(a, x), (b, y)| waste(b, y).cmp(&waste(a, x)).then_with(|| x[0].cmp(&y[0])));
    for ((size, digest), paths) in &groups {
        if show(*size, digest, paths, how, out).is_break() {
            return;
        }
    }
    if how.quiet || how.json || how.zero {
        return;
    }
    let count: usize = groups.iter().map(|(_, paths)| paths.len() - 1).sum();
    let bytes: u128 = groups.iter().map(|(key, paths)| waste(key, paths)).sum();
    let duplicates = if count == 1 { "duplicate" } else { "duplicates" };
    let _ = out.print(|out| writeln!(out, "{count} {duplicates}, {bytes} bytes"));
}

/// How many bytes so many files of this size have. Files with holes may claim more than 64 bits hold.
fn all(size: u64, files: usize) -> u128 {
    u128::from(size) * files as u128
}

/// The files that are as long as another one, and how long all of them are together. Other names of the same file, and empty
/// files, are none.
fn candidates(items: Operands, out: &mut Out) -> (Vec<PathBuf>, u128) {
    let mut by_size: HashMap<u64, Vec<(usize, PathBuf)>> = HashMap::new();
    let mut links: HashSet<FileId> = HashSet::new();
    for (order, Item { path, input, .. }) in items.enumerate() {
        match input {
            Input::File => match fs::metadata(&path) {
                Ok(metadata) => {
                    let first = FileId::of_linked(&metadata).is_none_or(|id| links.insert(id));
                    if metadata.is_file() && metadata.len() > 0 && first {
                        by_size.entry(metadata.len()).or_default().push((order, path));
                    }
                }
                Err(error) => out.fail(&format!("{}: {error}", shown(&path))),
            },
            Input::Failed(error @ (Error::Special | Error::Pseudo(_))) => {
                out.note(&format!("{}: skipped: {error}", shown(&path)));
            }
            Input::Failed(error) => out.fail(&format!("{}: {error}", shown(&path))),
            _ => {}
        }
    }
    by_size.retain(|_, paths| paths.len() > 1);
    let bytes = by_size.iter().map(|(size, paths)| all(*size, paths.len())).sum();
    let mut found: Vec<_> = by_size.into_values().flatten().collect();
    found.sort_unstable();
    (found.into_iter().map(|(_, path)| path).collect(), bytes)
}

fn show(size: u64, digest: &[u8], paths: &[PathBuf], how: &How, out: &mut Out) -> ControlFlow<Closed> {
    if how.json {
        let paths = paths.iter().map(|path| Name::of(path)).collect();
        let line = json::Group { size, algorithm: how.algorithm, digest: hex(digest), files: paths };
        return out.print(|out| json::line(out, &line));
    }
    if how.zero {
        let names: Vec<Cow<'_, [u8]>> =
            paths.iter().map(|path| out.named(path.as_os_str().as_encoded_bytes())).collect();
        return out.print(|out| {
            for name in names {
                out.write_all(&name)?;
                out.write_all(b"\0")?;
            }
            out.write_all(b"\0")
        });
    }
    out.print(|out| {
        writeln!(out, "{size} bytes, {} files", paths.len())?;
        paths.iter().try_for_each(|path| writeln!(out, "  {}", quoted(path)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_may_claim_more_than_64_bits_hold() {
        let most = u64::MAX >> 1;
        assert_eq!(all(most, 3), 3 * u128::from(most));
        assert_eq!(u64::try_from(all(most, 3)).ok(), None);
    }
}
