//! Rules for documents: a path that they name exists, a table has a header, and no block of code is counted as an ignored test.

use crate::tidy::{Fault, TextFile};

/// Endings of paths of this repository in back quotes or link targets.
const ENDINGS: [&str; 6] = [".rs", ".md", ".toml", ".yml", ".json", "/"];

pub(super) fn check(file: &TextFile, exists: impl Fn(&str) -> bool) -> Vec<Fault> {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let known = |path: &str| exists(path) || exists(&format!("{folder}/{path}"));
    let mut faults: Vec<Fault> = tables_without_header(&file.text)
        .map(|line| Fault::new(&file.path, line, "a table without a header: a blank line may have split it"))
        .collect();
    for (index, line) in file.text.lines().enumerate() {
        if line.starts_with("```") && line.contains("ignore") {
            faults.push(Fault::new(
                &file.path,
                index + 1,
                "a block that counts as an ignored test: use `text` if it is not compiled",
            ));
        }
        let paths = quoted(line).chain(linked(line)).filter(|word| is_path(word));
        for path in paths.filter(|path| !known(path)) {
            faults.push(Fault::new(&file.path, index + 1, format!("names `{path}`, which does not exist")));
        }
    }
    faults
}

/// The first lines of tables whose second line does not mark a header.
fn tables_without_header(text: &str) -> impl Iterator<Item = usize> {
    let lines: Vec<&str> = text.lines().collect();
    let mut in_code = false;
    let mut first_lines = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        in_code ^= line.starts_with("```");
        let is_first =
            !in_code && line.starts_with('|') && (index == 0 || !lines[index - 1].starts_with('|'));
        let below = lines.get(index + 1).copied().unwrap_or_default();
        let has_header = below.starts_with('|') && below.chars().all(|c| "|-: ".contains(c));
        if is_first && !has_header {
            first_lines.push(index + 1);
        }
    }
    first_lines.into_iter()
}

/// Texts between back quotes.
fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Link targets, without the part after `#`.
fn linked(line: &str) -> impl Iterator<Item = &str> {
    let target = |rest: &'_ str| rest.split_once(')').map(|(target, _)| target.len());
    line.split("](")
        .skip(1)
        .filter_map(move |rest| target(rest).map(|length| &rest[..length]))
        .map(|target| target.split('#').next().unwrap_or(target))
}

fn is_path(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    word.contains('/')
        && !word.starts_with('/')
        && word.chars().all(plain)
        && ENDINGS.iter().any(|ending| word.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(text: &str) -> Vec<String> {
        let file = TextFile { path: "docs/a.md".to_owned(), text: text.to_owned() };
        let exists = |path: &str| ["crates/hash/src/lib.rs", "docs/b.md"].contains(&path);
        check(&file, exists).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn paths_may_start_at_the_root_or_at_the_folder() {
        assert!(missing("see `crates/hash/src/lib.rs`, [b](./b.md) or [b](docs/b.md#part)\n").len() <= 1);
        assert!(missing("`docs/b.md` [b](docs/b.md#part)\n").is_empty());
    }

    #[test]
    fn a_missing_path_is_named() {
        assert_eq!(
            missing("x `crates/hash/src/old.rs` y\n"),
            ["names `crates/hash/src/old.rs`, which does not exist"]
        );
        assert_eq!(missing("x [y](crates/gone/) z\n").len(), 1);
    }

    #[test]
    fn ignored_blocks_are_refused() {
        assert_eq!(missing("```rust,ignore\nx\n```\n").len(), 1);
        assert!(missing("```text\nignore\n```\n```rust,no_run\n```\n").is_empty());
    }

    #[test]
    fn a_split_table_is_a_fault() {
        assert!(missing("| a | b |\n|---|--:|\n| 1 | 2 |\n\n```text\n| x |\n```\n").is_empty());
        assert_eq!(missing("| a |\n|---|\n| 1 |\n\n| 2 |\n| 3 |\n").len(), 1);
    }

    #[test]
    fn other_words_are_no_paths() {
        assert!(
            missing("`cargo xtask test` `a/<host>/b.json` `https://x/y.md` `k/1024` /proc/`x`\n").is_empty()
        );
    }
}
