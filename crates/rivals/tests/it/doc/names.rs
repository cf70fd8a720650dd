//! Check that the page of names lists every public name of the official crate's sources.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../../../docs/documents-names.md");

/// Where the sources of the official crate lie.
fn sources() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]);
    let said = metadata.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).output().expect("cargo");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let packages = said["packages"].as_array().expect("packages");
    let official =
        packages.iter().find(|package| package["name"] == "automerge").expect("the official crate");
    assert!(official["version"].as_str().expect("a version").starts_with("0.12."), "the page names 0.12");
    let manifest = Path::new(official["manifest_path"].as_str().expect("a path"));
    manifest.parent().expect("a folder").join("src")
}

/// The identifier that a text starts with.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// The public names of a file: what is said to be `pub`, which in that crate is what can be reached, and the calls of public
/// traits. What is between a line that says `#[cfg(test)]` and the end of the block behind it is left out.
fn names(source: &str, names: &mut BTreeSet<String>) {
    let (mut skipped, mut in_trait): (Option<usize>, bool) = (None, false);
    let indent = |line: &str| line.len() - line.trim_start().len();
    for line in source.lines() {
        let text = line.trim_start();
        if let Some(depth) = skipped {
            // A block ends with a brace as far in as it began; an item of one line is over at once.
            if text.starts_with("#[") {
                continue;
            }
            if indent(line) == depth && (text.starts_with('}') || text.ends_with(';')) {
                skipped = None;
            }
            continue;
        }
        if text.starts_with("#[cfg(test)]") || text.starts_with("#[cfg(any(test") {
            skipped = Some(indent(line));
            continue;
        }
        in_trait |= line.starts_with("pub trait ");
        if in_trait {
            in_trait = line != "}";
            if let Some(call) = line.strip_prefix("    fn ") {
                names.insert(identifier(call).to_owned());
            }
        }
        let Some(item) = text.strip_prefix("pub ") else { continue };
        let mut words = item.split_whitespace().peekable();
        words.next_if(|word| matches!(*word, "unsafe" | "async"));
        let name = match words.next() {
            Some("const") => match words.next() {
                Some("fn") => words.next(),
                other => other,
            },
            Some("fn" | "struct" | "enum" | "trait" | "type" | "mod") => words.next(),
            Some("use") | None => continue,
            // A field.
            Some(field) => field.strip_suffix(':'),
        };
        let name = name.map(identifier).filter(|name| !name.is_empty());
        names.extend(name.map(str::to_owned));
    }
}

fn walk(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        // Tests, and the folders whose items are reached through others alone.
        if path.is_dir() {
            walk(&path, found);
        } else if name.ends_with(".rs") && !name.contains("test") {
            names(&std::fs::read_to_string(&path).expect("a source"), found);
        }
    }
}

#[test]
fn every_public_name_of_the_official_crate_is_listed() {
    let listed: BTreeSet<&str> = PAGE
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect();
    let mut found = BTreeSet::new();
    walk(&sources(), &mut found);
    assert!(found.len() > 300, "{} names", found.len());
    for known in ["splice_text", "get_cursor_moving", "DocIter", "with_mark_expand", "their_have"] {
        assert!(found.contains(known), "{known} is looked for");
    }
    let missing: Vec<&String> = found.iter().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/documents-names.md does not say what stands for {missing:?}");
}
