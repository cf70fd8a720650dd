//! `cargo xtask notices`: the licences of all crates that are linked into the program, for its packages.
//!
//! Each text appears once, under the names of its packages. A package without a text is listed with its licence.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::ensure;

use crate::repository::metadata;
use crate::repository::metadata::ThirdParty;

const HEAD: &str = "Hashmill contains the work of others. Their licences follow.\n";

/// Starts of names of licence files.
const FILE_NAME_STARTS: [&str; 5] = ["licen", "copying", "notice", "unlicense", "copyright"];

/// The notices of all packages as one text.
pub(crate) fn text(root: &Path) -> anyhow::Result<String> {
    let packages = metadata::third_party_packages(root, "hashmill-cli")?;
    ensure!(!packages.is_empty(), "the program links no third-party crates");
    let mut licences: Vec<(&ThirdParty, Vec<String>)> = Vec::new();
    for package in &packages {
        licences.push((package, texts(&package.folder)?));
    }
    Ok(format_notices(&licences))
}

/// The texts of the files in a package's folder that are licences.
fn texts(folder: &Path) -> anyhow::Result<Vec<String>> {
    let is_licence = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        path.is_file()
            && FILE_NAME_STARTS.iter().any(|begin| name.starts_with(begin))
            && !name.ends_with(".rs")
    };
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.flatten().map(|entry| entry.path()).filter(is_licence).collect();
    paths.sort_unstable();
    paths.into_iter().map(|path| Ok(fs::read_to_string(path)?.replace("\r\n", "\n"))).collect()
}

fn format_notices(licences: &[(&ThirdParty, Vec<String>)]) -> String {
    let mut by_text: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut out = HEAD.to_owned();
    for (package, texts) in licences {
        let name = format!("{} {}", package.name, package.version);
        if texts.is_empty() {
            writeln!(
                out,
                "\n{name} comes under {}, without a text of its own: {}",
                package.license, package.source
            )
            .expect("a string grows");
        }
        for text in texts {
            by_text.entry(text.trim()).or_default().push(name.clone());
        }
    }
    for (text, names) in by_text {
        write!(out, "\n{}\n{}\n\n{text}\n", "=".repeat(80), names.join("\n")).expect("a string grows");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str) -> ThirdParty {
        ThirdParty {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: "MIT".to_owned(),
            source: "https://example.org".to_owned(),
            folder: PathBuf::new(),
        }
    }

    #[test]
    fn each_text_appears_once_with_all_packages() {
        let packages = ["a", "b", "bare"].map(package);
        let licences = [
            (&packages[0], vec!["Do as you like.\n".to_owned()]),
            (&packages[1], vec!["Do as you like.".to_owned()]),
            (&packages[2], Vec::new()),
        ];
        let text = format_notices(&licences);
        assert_eq!(text.matches("Do as you like.").count(), 1, "{text}");
        assert!(text.contains("\na 1.0.0\nb 1.0.0\n"), "{text}");
        assert!(text.contains("bare 1.0.0 comes under MIT"), "{text}");
    }

    #[test]
    fn each_linked_crate_is_named() {
        let root = crate::root();
        let text = text(&root).expect("the notices");
        for package in metadata::third_party_packages(&root, "hashmill-cli").expect("packages") {
            assert!(text.contains(&format!("{} {}", package.name, package.version)), "{}", package.name);
        }
        assert!(text.contains("\nclap ") && !text.contains("\nhashmill-"), "third-party crates only");
    }
}
