//! Rules for Rust files: a first line with the file's purpose, its length, and where `unsafe`, the environment and the
//! operating system may appear.

use super::places::{self, ENVIRONMENT, LIBRARIES, LONG_FILES, Place, SYSTEM, UNSAFE};
use super::{Fault, TextFile};

/// Above this a reader looks for a seam.
pub(super) const LONG: usize = 800;

pub(super) fn check(file: &TextFile) -> Vec<Fault> {
    let path = file.path.as_str();
    let code = code(&file.text);
    let mut faults = Vec::new();
    let mut fault = |line, what: &str| faults.push(Fault::new(path, line, what));
    if !file.text.lines().next().is_some_and(|line| line.starts_with("//! ")) {
        fault(1, "the first line is not `//!` with what the file is for");
    }
    if file.text.lines().count() > LONG && !covered(LONG_FILES, path) {
        fault(0, "too long: split it, or list it in `tidy/places.rs` with a reason");
    }
    if let Some(folder) = crate_of_root(path)
        && !places::has_unsafe(folder)
        && !code.contains("#![forbid(unsafe_code)]")
    {
        fault(0, "this crate needs no unsafe code: its root says `#![forbid(unsafe_code)]`");
    }
    let mut test = path.contains("/tests/") || path.ends_with("/tests.rs");
    for (index, line) in code.lines().enumerate() {
        // Tests stand at the end of their file.
        test |= line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,");
        let words: Vec<_> = line.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let has = |word: &str| words.contains(&word);
        if has("unsafe") && !covered(UNSAFE, path) {
            fault(index + 1, "`unsafe` outside the places named in `tidy/places.rs`");
        }
        if line.contains("#[ignore") {
            fault(
                index + 1,
                "an ignored test is nobody's: run it, or skip aloud for a reason found at run time",
            );
        }
        let library = LIBRARIES.iter().any(|library| path.starts_with(library));
        if library && !test && line.contains("env::") && !covered(ENVIRONMENT, path) {
            fault(index + 1, "a library reads no environment");
        }
        let system = line.contains("cfg")
            && ["target_os", "target_family", "unix", "windows"].iter().any(|it| has(it));
        if system && !test && !covered(SYSTEM, path) {
            fault(
                index + 1,
                "the operating system is asked for outside the places named in `tidy/places.rs`",
            );
        }
    }
    faults
}

fn covered(places: &[Place], path: &str) -> bool {
    places.iter().any(|place| place.covers(path))
}

/// Exceptions that nothing needs any more.
pub(super) fn unused_exceptions(files: &[TextFile]) -> Vec<Fault> {
    let lists = [UNSAFE, SYSTEM, LONG_FILES].into_iter().flatten();
    let unused = lists.filter(|place| !files.iter().any(|file| place.covers(&file.path)));
    unused.map(|place| Fault::new(place.path, 0, "an exception in `tidy/places.rs` without a file")).collect()
}

/// The folder of the crate whose root this file is.
fn crate_of_root(path: &str) -> Option<&str> {
    path.strip_suffix("/src/lib.rs").or_else(|| path.strip_suffix("/src/main.rs"))
}

/// The source with comments and the insides of literals blanked; lines stay where they are.
fn code(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = hidden(rest, out.chars().next_back());
        match length {
            0 => {
                out.push(first);
                rest = &rest[first.len_utf8()..];
            }
            _ => {
                out.extend(rest[..length].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
                rest = &rest[length..];
            }
        }
    }
    out
}

/// The length of the comment or literal at the start of `text`, after the character `before`; 0 if there is none.
fn hidden(text: &str, before: Option<char>) -> usize {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    let raw = text.trim_start_matches(['b', 'c']);
    if !in_word && raw.starts_with('r') && text.len() - raw.len() <= 1 {
        let hashes = raw[1..].bytes().take_while(|&byte| byte == b'#').count();
        if raw[1 + hashes..].starts_with('"') {
            let open = text.len() - raw.len() + 2 + hashes;
            let close = format!("\"{}", "#".repeat(hashes));
            return text[open..].find(&close).map_or(text.len(), |at| open + at + close.len());
        }
    }
    match text.as_bytes()[0] {
        b'"' => quoted(text, b'"').unwrap_or(text.len()),
        // A lifetime has no closing quote within a character's or an escape's length.
        b'\'' => quoted(text, b'\'').filter(|&end| is_character(&text[1..end - 1])).unwrap_or(0),
        _ => 0,
    }
}

fn is_character(inside: &str) -> bool {
    inside.starts_with('\\') || inside.chars().count() == 1
}

/// The length of a literal up to its closing quote, escapes skipped.
fn quoted(text: &str, quote: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// The length of a block comment; they nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match &bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: [usize; 0] = [];

    fn whats(path: &str, text: &str) -> Vec<(usize, String)> {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        check(&file).into_iter().map(|fault| (fault.line, fault.what)).collect()
    }

    fn lines(path: &str, text: &str) -> Vec<usize> {
        whats(path, &format!("//! A file.\n{text}")).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        let source = "a // unsafe\n/* unsafe /* */ unsafe */ b \"unsafe \\\" unsafe\" r#\"unsafe \" \"# c\n'\\'' '\"' d b\"x\" e";
        let bare: Vec<_> = code(source).split_whitespace().map(str::to_owned).collect();
        assert_eq!(bare, ["a", "b", "c", "d", "b", "e"]);
        assert_eq!(code(source).lines().count(), source.lines().count());
    }

    #[test]
    fn lifetimes_are_code() {
        let source = "fn f<'a>(x: &'a str, y: &'static [u8]) -> Option<&'a u8> { unsafe { g('x', x) } }";
        assert!(code(source).contains("unsafe"));
        assert!(code(source).contains("'static [u8]"));
    }

    #[test]
    fn a_file_says_what_it_is_for() {
        assert!(whats("crates/x/src/a.rs", "//! A file.\n").is_empty());
        assert_eq!(whats("crates/x/src/a.rs", "use b;\n").len(), 1);
        assert_eq!(whats("crates/x/src/a.rs", "//!\n").len(), 1);
    }

    #[test]
    fn unsafe_has_its_places() {
        assert_eq!(lines("crates/hash/src/blake3/tree.rs", "fn f() {\n unsafe { g() }\n}\n"), [3]);
        assert_eq!(lines("crates/hash/src/blake3/x86_64/avx2.rs", "fn f() {\n unsafe { g() }\n}\n"), CLEAN);
        assert_eq!(lines("crates/hash/src/blake3/tree.rs", "#![deny(unsafe_code)] // unsafe\n"), CLEAN);
    }

    #[test]
    fn a_crate_without_unsafe_forbids_it() {
        assert_eq!(lines("crates/workloads/src/lib.rs", "fn main() {}\n"), [0]);
        assert_eq!(lines("crates/workloads/src/lib.rs", "#![forbid(unsafe_code)]\nfn main() {}\n"), CLEAN);
        assert_eq!(lines("crates/hash/src/lib.rs", "\n"), CLEAN);
    }

    #[test]
    fn an_exception_without_a_file_is_a_fault() {
        assert_eq!(unused_exceptions(&[]).len(), UNSAFE.len() + SYSTEM.len() + LONG_FILES.len());
    }

    #[test]
    fn long_files_need_a_reason() {
        assert_eq!(lines("crates/x/src/a.rs", &"\n".repeat(LONG - 1)), CLEAN);
        assert_eq!(lines("crates/x/src/a.rs", &"\n".repeat(LONG)), [0]);
    }

    #[test]
    fn ignored_tests_are_refused() {
        let text = ["#[test]", "#[", "ignore]"].concat();
        assert_eq!(lines("crates/x/tests/it/a.rs", &text), [2]);
    }

    #[test]
    fn libraries_read_no_environment() {
        let text = "fn f() { std::env::var(\"X\"); }\n";
        assert_eq!(lines("crates/files/src/plan.rs", text), [2]);
        assert_eq!(lines("crates/files/src/plan/tests.rs", text), CLEAN);
        assert_eq!(
            lines("crates/files/src/plan.rs", &format!("#[cfg(test)]\nmod tests {{\n{text}}}\n")),
            CLEAN
        );
        assert_eq!(lines("crates/cli/src/flags.rs", text), CLEAN);
    }

    #[test]
    fn systems_are_told_apart_in_one_file() {
        let text =
            "#[cfg(unix)]\nfn f() {}\n#[cfg(all(feature = \"x\", target_os = \"linux\"))]\nfn g() {}\n";
        assert_eq!(lines("crates/files/src/plan.rs", text), [2, 4]);
        assert_eq!(lines("crates/files/src/source/mmap/mod.rs", text), CLEAN);
        assert_eq!(lines("crates/cli/tests/it/names.rs", text), CLEAN);
    }
}
