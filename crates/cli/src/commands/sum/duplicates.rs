//! `--duplicates`: files with equal content. Only files whose size equals that of another are hashed.

use super::operands::Operands;
use crate::output::json::{self, Name};
use crate::output::progress::hash_many;
use crate::output::{Out, StdoutClosed, display_path, hex, quoted_path};
use hashmill_files::{Digest, Error, FileId, Files, HashJob, Input};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

/// Options of `--duplicates`.
pub(super) struct DuplicatesOptions {
    pub(super) json: bool,
    pub(super) quiet: bool,
    /// Unescaped names, each ended by NUL, and each group by another NUL.
    pub(super) zero: bool,
    pub(super) digest_len: usize,
    pub(super) algorithm: &'static str,
}

pub(super) fn run(files: &Files, items: Operands, options: &DuplicatesOptions, out: &mut Out) {
    let (candidates, bytes) = candidates(items, out);
    let progress = out.progress();
    if let Some(progress) = &progress {
        progress.set_phase("hashing");
        progress.set_total(candidates.len() as u64, u64::try_from(bytes).ok());
    }
    let mut groups: BTreeMap<(u64, Vec<u8>), Vec<PathBuf>> = BTreeMap::new();
    let items = candidates.into_iter().map(|path| HashJob { path, input: Input::File, tag: () });
    let ControlFlow::<std::convert::Infallible>::Continue(()) =
        hash_many(files, progress, items, |path: PathBuf, (), result: Result<Digest, Error>| {
            match result {
                Ok(digest) => {
                    let mut bytes = vec![0; options.digest_len];
                    digest.output.fill(0, &mut bytes);
                    groups.entry((digest.len, bytes)).or_default().push(path);
                }
                Err(error) => out.fail(&format!("{}: {error}", display_path(&path))),
            }
            ControlFlow::Continue(())
        });
    let mut groups: Vec<_> = groups.into_iter().filter(|(_, paths)| paths.len() > 1).collect();
    // Groups that waste most bytes come first.
    let waste = |(size, _): &(u64, Vec<u8>), paths: &[PathBuf]| total_bytes(*size, paths.len() - 1);
    groups.sort_by(|(a, x), (b, y)| waste(b, y).cmp(&waste(a, x)).then_with(|| x[0].cmp(&y[0])));
    for ((size, digest), paths) in &groups {
        if print_group(*size, digest, paths, options, out).is_break() {
            return;
        }
    }
    if options.quiet || options.json || options.zero {
        return;
    }
    let count: usize = groups.iter().map(|(_, paths)| paths.len() - 1).sum();
    let bytes: u128 = groups.iter().map(|(key, paths)| waste(key, paths)).sum();
    let duplicates = if count == 1 { "duplicate" } else { "duplicates" };
    let _ = out.print(|out| writeln!(out, "{count} {duplicates}, {bytes} bytes"));
}

/// Bytes in this number of files of equal size. Sparse files may exceed 64 bits.
fn total_bytes(size: u64, files: usize) -> u128 {
    u128::from(size) * files as u128
}

/// The files whose size equals that of another, and their total length. Leaves out hard links to the same file and empty
/// files.
fn candidates(items: Operands, out: &mut Out) -> (Vec<PathBuf>, u128) {
    let mut by_size: HashMap<u64, Vec<(usize, PathBuf)>> = HashMap::new();
    let mut links: HashSet<FileId> = HashSet::new();
    for (order, HashJob { path, input, .. }) in items.enumerate() {
        match input {
            Input::File => match fs::metadata(&path) {
                Ok(metadata) => {
                    let first = FileId::from_linked(&metadata).is_none_or(|id| links.insert(id));
                    if metadata.is_file() && metadata.len() > 0 && first {
                        by_size.entry(metadata.len()).or_default().push((order, path));
                    }
                }
                Err(error) => out.fail(&format!("{}: {error}", display_path(&path))),
            },
            Input::Failed(error @ (Error::Special | Error::Pseudo(_))) => {
                out.note(&format!("{}: skipped: {error}", display_path(&path)));
            }
            Input::Failed(error) => out.fail(&format!("{}: {error}", display_path(&path))),
            _ => {}
        }
    }
    by_size.retain(|_, paths| paths.len() > 1);
    let bytes = by_size.iter().map(|(size, paths)| total_bytes(*size, paths.len())).sum();
    let mut found: Vec<_> = by_size.into_values().flatten().collect();
    found.sort_unstable();
    (found.into_iter().map(|(_, path)| path).collect(), bytes)
}

fn print_group(
    size: u64,
    digest: &[u8],
    paths: &[PathBuf],
    options: &DuplicatesOptions,
    out: &mut Out,
) -> ControlFlow<StdoutClosed> {
    if options.json {
        let paths = paths.iter().map(|path| Name::from_path(path)).collect();
        let line = json::Group { size, algorithm: options.algorithm, digest: hex(digest), files: paths };
        return out.print(|out| json::line(out, &line));
    }
    if options.zero {
        let names: Vec<Cow<'_, [u8]>> =
            paths.iter().map(|path| out.escape_name(path.as_os_str().as_encoded_bytes())).collect();
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
        paths.iter().try_for_each(|path| writeln!(out, "  {}", quoted_path(path)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_may_exceed_64_bits() {
        let max = u64::MAX >> 1;
        assert_eq!(total_bytes(max, 3), 3 * u128::from(max));
        assert_eq!(u64::try_from(total_bytes(max, 3)).ok(), None);
    }
}
