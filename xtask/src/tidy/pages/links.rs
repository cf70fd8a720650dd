//! Rules for links between pages: the target exists, the heading behind `#` exists, and the book has every page of `docs`.

use std::collections::BTreeSet;

use crate::tidy::{Fault, TextFile};

/// The table of contents of the book.
const CONTENTS: &str = "docs/SUMMARY.md";

/// The address of a file of this repository on the web.
const WEB: [&str; 2] =
    ["https://github.com/hashmill/hashmill/blob/main/", "https://github.com/hashmill/hashmill/tree/main/"];

pub(super) fn check(files: &[TextFile], exists: impl Fn(&str) -> bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    for page in files.iter().filter(|file| is_page(&file.path)) {
        for (line, target) in links(&page.text) {
            let Some((path, anchor)) = resolve(&page.path, target) else { continue };
            if !exists(&path) {
                faults.push(Fault::new(&page.path, line, format!("links to `{path}`, which does not exist")));
                continue;
            }
            let other = files.iter().find(|file| file.path == path && path.ends_with(".md"));
            let (Some(anchor), Some(other)) = (anchor, other) else { continue };
            if !headings(&other.text).any(|heading| heading == anchor) {
                let message = format!("links to `{path}#{anchor}`, and that page has no such heading");
                faults.push(Fault::new(&page.path, line, message));
            }
        }
    }
    faults.extend(contents(files));
    faults
}

/// Pages for readers: those at the top, of `docs`, of crates and of packages.
fn is_page(path: &str) -> bool {
    let is_readme = path.ends_with("/README.md") && path.split('/').count() == 3;
    path.ends_with(".md")
        && (!path.contains('/') || path.starts_with("docs/") || path == "bench/README.md" || is_readme)
}

/// The targets of links outside of blocks of code, with their lines.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut in_code = false;
    let mut links = Vec::new();
    for (index, line) in text.lines().enumerate() {
        in_code ^= line.starts_with("```");
        if in_code {
            continue;
        }
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        links.extend(targets.map(|(target, _)| (index + 1, target)));
    }
    links
}

/// The target of a link of `page` in the repository: path and heading. `None` for other sites.
fn resolve<'a>(page: &'a str, target: &'a str) -> Option<(String, Option<&'a str>)> {
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    if let Some(path) = WEB.iter().find_map(|web| path.strip_prefix(web)) {
        return Some((path.trim_end_matches('/').to_owned(), anchor));
    }
    if path.contains(':') || path.contains(' ') {
        return None;
    }
    if path.is_empty() {
        return Some((page.to_owned(), anchor));
    }
    Some((joined(page, path), anchor))
}

/// A path relative to the folder of `page`.
pub(crate) fn joined(page: &str, path: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let mut in_code = false;
    let is_heading = move |line: &&str| {
        in_code ^= line.starts_with("```");
        !in_code && line.starts_with('#')
    };
    let anchor = |line: &str| -> String {
        let chars = line.trim_start_matches('#').trim().chars();
        let chars = chars.filter(|&c| c.is_alphanumeric() || " -_".contains(c));
        chars.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    text.lines().filter(is_heading).map(anchor)
}

/// The table of contents names each page of `docs` once, and each page has a title.
fn contents(files: &[TextFile]) -> Vec<Fault> {
    let Some(contents) = files.iter().find(|file| file.path == CONTENTS) else {
        return vec![Fault::new(CONTENTS, 0, "missing")];
    };
    let mut faults = Vec::new();
    let mut listed = BTreeSet::new();
    for (line, target) in links(&contents.text) {
        if !listed.insert(joined(CONTENTS, target)) {
            faults.push(Fault::new(CONTENTS, line, format!("lists `{target}` twice")));
        }
    }
    let is_page = |file: &&TextFile| file.path.starts_with("docs/") && file.path.ends_with(".md");
    for page in files.iter().filter(is_page).filter(|page| page.path != CONTENTS) {
        if !listed.contains(&page.path) {
            faults.push(Fault::new(&page.path, 0, format!("is missing in `{CONTENTS}`")));
        }
        if !page.text.starts_with("# ") {
            faults.push(Fault::new(&page.path, 1, "has no title"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(pages: &[(&str, &str)]) -> Vec<String> {
        let file =
            |(path, text): &(&str, &str)| TextFile { path: (*path).to_owned(), text: (*text).to_owned() };
        let files: Vec<TextFile> = pages.iter().map(file).collect();
        let exists = |path: &str| pages.iter().any(|(page, _)| *page == path) || path == "docs/a.svg";
        check(&files, exists).into_iter().map(|fault| fault.message).collect()
    }

    const CONTENTS_WITH_A: (&str, &str) = (CONTENTS, "# Contents\n\n- [A](a.md)\n");

    #[test]
    fn links_to_pages_and_their_headings_are_followed() {
        let page = "# A\n\n## What is *it*, `really`?\n\n[b](#what-is-it-really) ![p](a.svg) [w](https://x.org/y.md)\n";
        let readme = "[a](docs/a.md#what-is-it-really) [r](https://github.com/hashmill/hashmill/blob/main/docs/a.md)\n";
        assert!(faults(&[CONTENTS_WITH_A, ("docs/a.md", page), ("README.md", readme)]).is_empty());
    }

    #[test]
    fn a_missing_page_and_a_missing_heading_are_faults() {
        let page =
            "# A\n\n[b](b.md) [c](#nowhere) [d](https://github.com/hashmill/hashmill/blob/main/gone.rs)\n";
        let faults = faults(&[CONTENTS_WITH_A, ("docs/a.md", page)]);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[1].contains("no such heading"));
    }

    #[test]
    fn code_has_no_links() {
        assert!(
            faults(&[CONTENTS_WITH_A, ("docs/a.md", "# A\n\n```c\nx = a[1](b);\n# no heading\n```\n")])
                .is_empty()
        );
    }

    #[test]
    fn every_page_is_in_the_contents_once() {
        assert_eq!(faults(&[CONTENTS_WITH_A, ("docs/a.md", "# A\n"), ("docs/b.md", "# B\n")]).len(), 1);
        let twice = (CONTENTS, "# Contents\n\n- [A](a.md)\n- [A](a.md)\n");
        assert_eq!(faults(&[twice, ("docs/a.md", "# A\n")]).len(), 1);
        assert_eq!(faults(&[CONTENTS_WITH_A, ("docs/a.md", "text\n")]), ["has no title"]);
    }

    #[test]
    fn paths_are_relative_to_the_page() {
        assert_eq!(joined("docs/design/gpu.md", "../../bench/README.md"), "bench/README.md");
        assert_eq!(joined("docs/a.md", "./b.md"), "docs/b.md");
    }
}
