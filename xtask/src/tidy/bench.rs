//! Size limit of the reports in the repository, since every clone has them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Fault;

const FOLDER: &str = "bench";

/// Maximum bytes of all reports together.
const MAX_BYTES: u64 = 1_000_000;

pub(super) fn check(root: &Path) -> anyhow::Result<Option<Fault>> {
    let mut sizes = Vec::new();
    collect_sizes(&root.join(FOLDER), &mut sizes).context("measuring the reports")?;
    Ok(check_sizes(sizes))
}

/// Every report below a folder, with its size.
fn collect_sizes(folder: &Path, sizes: &mut Vec<(PathBuf, u64)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_sizes(&path, sizes)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            let size = fs::metadata(&path)?.len();
            sizes.push((path, size));
        }
    }
    Ok(())
}

fn check_sizes(sizes: Vec<(PathBuf, u64)>) -> Option<Fault> {
    let sum: u64 = sizes.iter().map(|(_, size)| size).sum();
    let (largest, size) = sizes.into_iter().max_by_key(|(_, size)| *size)?;
    let name = largest.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (sum > MAX_BYTES).then(|| {
        let message = format!(
            "all reports together have {sum} bytes; the limit is {MAX_BYTES}; the largest, {name}, has {size}"
        );
        Fault::new(FOLDER, 0, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(sizes: &[(&str, u64)]) -> Option<String> {
        check_sizes(sizes.iter().map(|(name, size)| (PathBuf::from(name), *size)).collect())
            .map(|fault| fault.to_string())
    }

    #[test]
    fn reports_may_reach_the_limit_but_not_exceed_it() {
        assert_eq!(message(&[]), None);
        assert_eq!(message(&[("m/a.json", 600_000), ("m/b.json", 400_000)]), None);
        let message = message(&[("m/a.json", 600_000), ("m/b.json", 400_001)]).expect("a fault");
        assert!(message.contains("1000001 bytes") && message.contains("a.json, has 600000"), "{message}");
    }

    #[test]
    fn reports_of_the_tree_are_measured() {
        let mut sizes = Vec::new();
        collect_sizes(&crate::root().join(FOLDER), &mut sizes).expect("a folder");
        let is_of_machine =
            |path: &Path| path.parent().is_some_and(|folder| folder.ends_with("amd-epyc-f25m17-2t"));
        assert!(sizes.iter().any(|(path, _)| is_of_machine(path)), "{sizes:?}");
    }
}
