//! Check that the page of names lists every public name of the official crate's sources.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../../../docs/documents-names.md");

/// The folder of the official crate's sources.
fn sources() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--format-version", "1", "--locked", "--manifest-path"]);
    let output = metadata.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
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

/// Adds the public names of a file: items that are `pub`, which in that crate means reachable, and methods of public traits. Blocks
/// after a line `#[cfg(test)]` are skipped.
fn add_names(source: &str, names: &mut BTreeSet<String>) {
    let (mut skipped, mut in_trait): (Option<usize>, bool) = (None, false);
    let indent = |line: &str| line.len() - line.trim_start().len();
    for line in source.lines() {
        let text = line.trim_start();
        if let Some(depth) = skipped {
            // A block ends with a brace at the indentation of its start; an item may also be a single line.
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
            if let Some(method) = line.strip_prefix("    fn ") {
                names.insert(identifier(method).to_owned());
            }
        }
        let Some(item) = text.strip_prefix("pub ") else { continue };
        let mut words = item.split_whitespace().peekable();
        words.next_if(|word| matches!(*word, "unsafe" | "async"));
        let name = match words.next() {
            Some("const") => match words.next() {
                Some("fn") => words.next(),
                name => name,
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

fn walk(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        if path.is_dir() {
            walk(&path, names);
        } else if name.ends_with(".rs") && !name.contains("test") {
            add_names(&std::fs::read_to_string(&path).expect("a source"), names);
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
    let mut names = BTreeSet::new();
    walk(&sources(), &mut names);
    assert!(names.len() > 300, "{} names", names.len());
    for known in ["splice_text", "get_cursor_moving", "DocIter", "with_mark_expand", "their_have"] {
        assert!(names.contains(known), "{known} is missing in the sources");
    }
    let missing: Vec<&String> = names.iter().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/documents-names.md lacks {missing:?}");
}
