//! Wording of comments that hides the meaning of a sentence: counts that may only shrink.
//!
//! A program part has a name, not a pronoun for people, and the first line of a file is a noun phrase. Rewrite the sentence; a synonym
//! of the word is no repair.

use std::collections::BTreeMap;

use super::{Fault, TextFile, ceilings};

/// Allowed numbers of lines of each crate.
pub(super) const LIST: &str = "xtask/tidy/words.txt";

/// Phrases that are counted.
const PHRASES: [&str; 11] = [
    "whoever",
    "whomever",
    "nobody",
    "somebody",
    "whatever becomes",
    "what became",
    "so many",
    "so much of",
    "what of",
    "of which nobody",
    "as long as nobody",
];

/// First words of a clause.
const CLAUSES: [&str; 14] = [
    "What", "Who", "Whom", "Whose", "How", "Whether", "Where", "Which", "That", "When", "Why", "Those", "It",
    "They",
];

/// Endings of the files that are read.
const ENDINGS: [&str; 16] =
    ["rs", "md", "py", "pyi", "js", "mjs", "cjs", "ts", "mts", "cts", "h", "hpp", "c", "cpp", "cu", "wgsl"];

/// Folders of records, which are not rewritten.
const RECORDS: [&str; 2] = ["bench/journal/", "bench/records/"];

/// Compares the counts of each crate with `list`. Names the lines of a crate that exceeds its count.
pub(super) fn check(files: &[TextFile], list: &str) -> Vec<Fault> {
    let lines = find(files);
    let counts = lines.iter().map(|(name, lines)| (name.clone(), lines.len())).collect();
    let mut faults = ceilings::check(LIST, list, &counts);
    let above_ceiling: Vec<_> =
        faults.iter().filter_map(|fault| lines.get(&fault.location)).flatten().cloned().collect();
    faults.extend(above_ceiling);
    faults
}

/// Lines by crate and kind.
fn find(files: &[TextFile]) -> BTreeMap<String, Vec<Fault>> {
    let mut by_crate: BTreeMap<String, Vec<Fault>> = BTreeMap::new();
    for file in files {
        let ending = file.path.rsplit_once('.').map_or("", |(_, ending)| ending);
        if !ENDINGS.contains(&ending) || RECORDS.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        let mut add = |kind: &str, line: usize, text: &str| {
            let lines = by_crate.entry(format!("{} {kind}", crate_name(&file.path))).or_default();
            lines.push(Fault::new(&file.path, line, text.trim()));
        };
        for (index, line) in file.text.lines().enumerate() {
            if index == 0 && ending == "rs" && is_clause(line) {
                add("first-lines", 1, line);
            }
            let text = if ending == "md" { line } else { comment(line) };
            if has_phrase(text) {
                add("lines", index + 1, text);
            }
        }
    }
    by_crate
}

/// The crate of a file, or the folder or file below the root.
fn crate_name(path: &str) -> &str {
    let names = if path.starts_with("crates/") || path.starts_with("bindings/") { 2 } else { 1 };
    path.match_indices('/').nth(names - 1).map_or(path, |(at, _)| &path[..at])
}

/// The text after the first `//`, `#` or `*`, the marks of comments in all of these languages.
fn comment(line: &str) -> &str {
    let marks = ["//", "#", "*"];
    let first = marks.iter().filter_map(|mark| line.find(mark)).min();
    first.map_or("", |at| line[at..].trim_start_matches(['/', '!', '#', '*']))
}

fn is_clause(line: &str) -> bool {
    let text = line.strip_prefix("//! ").unwrap_or_default();
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    CLAUSES.contains(&&text[..end])
}

fn has_phrase(text: &str) -> bool {
    let text = text.to_lowercase();
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let stands_alone = |at: usize, phrase: &str| {
        !is_word(text[..at].chars().next_back()) && !is_word(text[at + phrase.len()..].chars().next())
    };
    PHRASES.iter().any(|phrase| text.match_indices(phrase).any(|(at, _)| stands_alone(at, phrase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counted phrase, concatenated so that this file does not contain it.
    const PRONOUN: &str = concat!("no", "body");

    fn faults(path: &str, text: &str, list: &str) -> Vec<String> {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file], list).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pronoun_in_a_comment_is_a_fault_that_names_the_line() {
        let text = format!("//! A file.\nfn f() {{}} // For {PRONOUN}.\n");
        let messages = faults("crates/x/src/a.rs", &text, "");
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert_eq!(messages[0], format!("crates/x lines: 1, where {LIST} allows 0"));
        assert_eq!(messages[2], format!("crates/x/src/a.rs:2: For {PRONOUN}."));
        assert!(faults("crates/x/src/a.rs", &text, "crates/x lines 1\n").is_empty());
        assert_eq!(
            faults("crates/x/src/a.rs", &text, "crates/x lines 2\n").len(),
            2,
            "the ceiling is too high"
        );
    }

    #[test]
    fn code_and_parts_of_words_are_not_counted() {
        for text in [format!("let {PRONOUN} = 1;"), format!("// {PRONOUN}s"), format!("// x{PRONOUN}_")] {
            assert!(faults("xtask/src/a.rs", &text, "").is_empty(), "{text}");
        }
        let upper = PRONOUN.to_uppercase();
        assert_eq!(
            faults("docs/a.md", &format!("For {upper}.\n"), "")[0],
            format!("docs lines: 1, where {LIST} allows 0")
        );
    }

    #[test]
    fn a_first_line_that_is_a_clause_is_a_fault() {
        let messages = faults("fuzz/src/a.rs", "//! What it is.\n", "");
        assert_eq!(messages[0], format!("fuzz first-lines: 1, where {LIST} allows 0"));
        assert!(faults("fuzz/src/a.rs", "//! Whatever. Items.\n", "").is_empty());
        assert!(faults("fuzz/src/a.rs", "//! Items.\n//! What they are.\n", "").is_empty());
    }

    #[test]
    fn records_are_not_counted() {
        assert!(faults("bench/records/m/a.md", &format!("For {PRONOUN}.\n"), "").is_empty());
    }
}
