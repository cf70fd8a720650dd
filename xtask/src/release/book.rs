//! The book: `docs`, built by mdBook, with links out of the book turned into web addresses, and a check of the built pages.
//!
//! mdBook runs `cargo xtask book-links` as a preprocessor (docs/book.toml), so `mdbook serve docs` shows the same pages.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use serde_json::Value;

use crate::command::Cmd;
use crate::tidy::joined;

/// The tested version: others may call preprocessors and name headings differently.
const VERSION: &str = "0.5.4";

/// Path of mdBook as `.ci/install` installs it.
const INSTALLED: &str = "target/mdbook/bin/mdbook";

/// The pages of the book.
const SOURCE: &str = "docs";

/// The built book.
const OUTPUT: &str = "target/book";

const WEB: &str = "https://github.com/hashmill/hashmill";

/// How to install mdBook, or `None` if it is installed.
pub(crate) fn missing(root: &Path) -> Option<String> {
    program(root).is_none().then(|| {
        format!("needs `mdbook` {VERSION} (cargo install mdbook --locked --version ={VERSION} --root target/mdbook)")
    })
}

/// The program of the right version, from `target` or the search path.
fn program(root: &Path) -> Option<PathBuf> {
    let has_version = |program: &PathBuf| {
        let output = Command::new(program).arg("--version").stderr(Stdio::null()).output();
        output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim().ends_with(VERSION))
    };
    [root.join(INSTALLED), PathBuf::from("mdbook")].into_iter().find(has_version)
}

/// The commands that build the book and check it.
pub(crate) fn commands(root: &Path) -> Vec<Cmd> {
    let program = program(root).unwrap_or_else(|| PathBuf::from("mdbook"));
    vec![Cmd::new(&program.to_string_lossy(), &["build", SOURCE]), Cmd::cargo(&["xtask", "book-check"])]
}

/// The preprocessor: reads the book from standard input and prints it with its links changed.
pub(crate) fn preprocess(root: &Path) -> anyhow::Result<()> {
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).context("reading the book")?;
    let mut input: Value = serde_json::from_str(&input).context("the book is not JSON")?;
    let Some(book) = input.get_mut(1) else { bail!("the book is not a pair of context and pages") };
    let is_folder = |path: &str| root.join(path).is_dir();
    change_chapters(book, &is_folder);
    println!("{book}");
    Ok(())
}

/// Changes the text of every chapter below a value.
fn change_chapters(value: &mut Value, is_folder: &dyn Fn(&str) -> bool) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| change_chapters(value, is_folder)),
        Value::Object(fields) => {
            let path =
                fields.get("source_path").and_then(Value::as_str).map(|path| format!("{SOURCE}/{path}"));
            if let (Some(path), Some(Value::String(content))) = (path, fields.get_mut("content")) {
                *content = with_web_links(&path, content, is_folder);
            }
            fields.values_mut().for_each(|value| change_chapters(value, is_folder));
        }
        _ => {}
    }
}

/// A page whose links to files outside of the book lead to the web.
fn with_web_links(page: &str, text: &str, is_folder: &dyn Fn(&str) -> bool) -> String {
    let mut parts = text.split("](");
    let mut changed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        changed.push_str("](");
        let outside =
            part.split_once(')').and_then(|(target, rest)| Some((web_link(page, target, is_folder)?, rest)));
        match outside {
            Some((address, rest)) => {
                changed.push_str(&address);
                changed.push(')');
                changed.push_str(rest);
            }
            None => changed.push_str(part),
        }
    }
    changed
}

/// The address of a link's target on the web; nothing if it is in the book or not in this repository.
fn web_link(page: &str, target: &str, is_folder: &dyn Fn(&str) -> bool) -> Option<String> {
    let (path, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
    if !path.starts_with("..") {
        return None;
    }
    let path = joined(page, path);
    let kind = if is_folder(&path) { "tree" } else { "blob" };
    let is_inside = path.strip_prefix(SOURCE).is_some_and(|rest| rest.starts_with('/'));
    (!is_inside).then(|| format!("{WEB}/{kind}/main/{path}{anchor}"))
}

/// Prints broken links of the built book; false if there are any.
pub(crate) fn check(root: &Path) -> anyhow::Result<bool> {
    let folder = root.join(OUTPUT);
    let mut pages = Vec::new();
    collect_pages(&folder, &mut pages).with_context(|| format!("reading {OUTPUT}"))?;
    ensure!(pages.len() > 10, "{OUTPUT} has {} pages", pages.len());
    let mut broken = BTreeSet::new();
    for (page, text) in &pages {
        for target in attributes(text, &["href", "src"]) {
            if let Some(reason) = broken_link(&folder, &pages, page, target) {
                broken.insert(format!("{OUTPUT}/{page}: {target}: {reason}"));
            }
        }
    }
    broken.iter().for_each(|fault| println!("{fault}"));
    println!("{} pages, {} broken links", pages.len(), broken.len());
    Ok(broken.is_empty())
}

/// Every HTML file below a folder, by its path from there.
fn collect_pages(folder: &Path, pages: &mut Vec<(String, String)>) -> anyhow::Result<()> {
    let mut queue = vec![folder.to_path_buf()];
    while let Some(next) = queue.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                queue.push(path);
            } else if path.extension().is_some_and(|ending| ending == "html") {
                let name = path.strip_prefix(folder)?.to_string_lossy().replace('\\', "/");
                pages.push((name, fs::read_to_string(&path)?));
            }
        }
    }
    Ok(())
}

/// The fault of a link of a built page, if it has one. Links to other sites are not followed.
fn broken_link(folder: &Path, pages: &[(String, String)], page: &str, target: &str) -> Option<&'static str> {
    if target.contains(':') || target.starts_with('/') || target.is_empty() {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match path {
        "" => page.to_owned(),
        path => joined(page, path),
    };
    if !folder.join(&path).is_file() {
        return Some("no such file");
    }
    let (_, text) = pages.iter().find(|(name, _)| *name == path)?;
    let has_heading = anchor.is_empty() || attributes(text, &["id", "name"]).any(|id| id == anchor);
    (!has_heading).then_some("no such heading")
}

/// The values of some attributes in HTML.
fn attributes<'a>(text: &'a str, names: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    text.split('<').flat_map(move |tag| {
        let tag = tag.split('>').next().unwrap_or_default();
        names.iter().filter_map(move |name| {
            let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
            rest.split('"').next()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(page: &str, text: &str) -> String {
        with_web_links(page, text, &|path| path == "bench/records")
    }

    #[test]
    fn links_out_of_the_book_lead_to_the_web() {
        let text = "see [a](b.md#c), [r](../bench/README.md#x) and [f](../bench/records/)";
        let changed = format!(
            "see [a](b.md#c), [r]({WEB}/blob/main/bench/README.md#x) and [f]({WEB}/tree/main/bench/records)"
        );
        assert_eq!(convert("docs/a.md", text), changed);
        assert_eq!(convert("docs/design/a.md", "[b](../b.md) [x]: `](`"), "[b](../b.md) [x]: `](`");
    }

    #[test]
    fn chapters_are_found_at_every_depth() {
        let mut book: Value = serde_json::from_str(
            r#"{"items": [{"Chapter": {"content": "[a](../x.md)", "source_path": "a.md",
                "sub_items": [{"Chapter": {"content": "[b](../../y.md)", "source_path": "design/b.md"}}]}}]}"#,
        )
        .expect("JSON");
        change_chapters(&mut book, &|_| false);
        let text = book.to_string();
        assert!(
            text.contains(&format!("{WEB}/blob/main/x.md"))
                && text.contains(&format!("{WEB}/blob/main/y.md"))
        );
    }

    #[test]
    fn attributes_are_read_from_tags() {
        let html = r##"<a class="x" href="a.html#b">t</a> href="no" <h2 id="b"><a href="#b">"##;
        assert_eq!(attributes(html, &["href"]).collect::<Vec<_>>(), ["a.html#b", "#b"]);
        assert_eq!(attributes(html, &["id"]).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn a_broken_link_has_a_reason() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let pages = [("Cargo.toml".to_owned(), r#"<h2 id="there">"#.to_owned())];
        let broken = |target| broken_link(folder, &pages, "src/main.rs", target);
        assert_eq!(broken("../Cargo.toml#there"), None);
        assert_eq!(broken("https://example.org/a"), None);
        assert_eq!(broken("../Cargo.toml#gone"), Some("no such heading"));
        assert_eq!(broken("gone.html"), Some("no such file"));
    }
}
