//! Size limit of the reports in the repository, since every clone has them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Fault;

const FOLDER: &str = "bench";

/// Maximum bytes of all reports together.
const MOST: u64 = 1_000_000;

pub(super) fn check(root: &Path) -> anyhow::Result<Option<Fault>> {
    let mut sizes = Vec::new();
    gather(&root.join(FOLDER), &mut sizes).context("measuring the reports")?;
    Ok(judge(sizes))
}

/// Every report below a folder, with its size.
fn gather(folder: &Path, sizes: &mut Vec<(PathBuf, u64)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            gather(&path, sizes)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            let size = fs::metadata(&path)?.len();
            sizes.push((path, size));
        }
    }
    Ok(())
}

fn judge(sizes: Vec<(PathBuf, u64)>) -> Option<Fault> {
    let sum: u64 = sizes.iter().map(|(_, size)| size).sum();
    let (largest, size) = sizes.into_iter().max_by_key(|(_, size)| *size)?;
    let name = largest.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (sum > MOST).then(|| {
        let what = format!(
            "its reports have {sum} bytes together, and {MOST} are allowed; the largest, {name}, has {size}"
        );
        Fault::new(FOLDER, 0, what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(sizes: &[(&str, u64)]) -> Option<String> {
        judge(sizes.iter().map(|(name, size)| (PathBuf::from(name), *size)).collect())
            .map(|fault| fault.to_string())
    }

    #[test]
    fn reports_may_fill_the_room_and_no_more() {
        assert_eq!(words(&[]), None);
        assert_eq!(words(&[("m/a.json", 600_000), ("m/b.json", 400_000)]), None);
        let said = words(&[("m/a.json", 600_000), ("m/b.json", 400_001)]).expect("too much");
        assert!(said.contains("1000001 bytes") && said.contains("a.json, has 600000"), "{said}");
    }

    #[test]
    fn reports_of_the_tree_are_seen() {
        let mut sizes = Vec::new();
        gather(&crate::root().join(FOLDER), &mut sizes).expect("a folder");
        let of_machine =
            |path: &Path| path.parent().is_some_and(|folder| folder.ends_with("amd-epyc-f25m17-2t"));
        assert!(sizes.iter().any(|(path, _)| of_machine(path)), "{sizes:?}");
    }
}
