//! A rule for code in the book: a sample is a copy of one in a README, where tests run it.

use crate::tidy::{Fault, TextFile};

/// The pages whose samples are copies.
const PAGES: [&str; 5] =
    ["docs/c.md", "docs/from-argon2-cffi.md", "docs/javascript.md", "docs/python.md", "docs/rust.md"];

/// The languages of samples.
const LANGUAGES: [&str; 5] = ["c", "js", "python", "rust", "rust,no_run"];

pub(super) fn check(files: &[TextFile]) -> Vec<Fault> {
    let readmes: Vec<&str> = files
        .iter()
        .filter(|file| file.path.ends_with("/README.md"))
        .map(|file| file.text.as_str())
        .collect();
    let mut faults = Vec::new();
    for page in files.iter().filter(|file| PAGES.contains(&file.path.as_str())) {
        for (line, sample) in samples(&page.text) {
            if !readmes.iter().any(|readme| readme.contains(&sample)) {
                faults.push(Fault::new(
                    &page.path,
                    line,
                    "a sample that is in no README, so no test runs it",
                ));
            }
        }
    }
    faults
}

/// The blocks of code in a page, with their first lines.
fn samples(text: &str) -> Vec<(usize, String)> {
    let mut samples: Vec<(usize, String)> = Vec::new();
    let mut language = None;
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), language) {
            (Some(_), Some(_)) => language = None,
            (Some(name), None) => {
                language = Some(name);
                if LANGUAGES.contains(&name) {
                    samples.push((index + 2, String::new()));
                }
            }
            (None, Some(name)) if LANGUAGES.contains(&name) => {
                if let Some((_, sample)) = samples.last_mut() {
                    *sample += line;
                    sample.push('\n');
                }
            }
            (None, _) => {}
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_a_part_of_a_readme() {
        let file = |path: &str, text: &str| TextFile { path: path.to_owned(), text: text.to_owned() };
        let readme = file("bindings/c/README.md", "```c\nint a;\nint b;\n```\n");
        let page = |text| file("docs/c.md", text);
        let same = page("words\n\n```c\nint a;\n```\n\n```text\nint x;\n```\n");
        assert!(check(&[readme, same]).is_empty());
        let readme = file("bindings/c/README.md", "```c\nint a;\n```\n");
        let other = page("```c\nint a;\n```\n```c\nint x;\n```\n");
        assert_eq!(check(&[readme, other]).iter().map(|fault| fault.line).collect::<Vec<_>>(), [5]);
    }
}
