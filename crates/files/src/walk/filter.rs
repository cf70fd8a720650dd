//! Filter of a walk: patterns as in `.gitignore`, and ignore files.

use super::pattern::{Decision, PatternList};
use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Larger ignore files are refused.
const IGNORE_FILE_LIMIT: u64 = 1 << 20;

/// Patterns for paths relative to the root of a walk.
///
/// A pattern is one of `.gitignore`: without a slash it matches names at any depth, with one it is relative
/// to the root, a slash at its end restricts it to directories, and `**` stands for any number of
/// directories.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    exclude: Option<PatternList>,
    include: Option<PatternList>,
}

/// An invalid pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// The reason.
    pub reason: String,
}

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the pattern {} cannot be read: {}", self.pattern, self.reason)
    }
}

impl std::error::Error for PatternError {}

impl Filter {
    /// Skips entries that match one of `exclude`; if there is any in `include`, also files that match none of
    /// those. `exclude` takes precedence.
    ///
    /// # Errors
    /// The first invalid pattern.
    pub fn new<S: AsRef<str>>(exclude: &[S], include: &[S]) -> Result<Filter, PatternError> {
        Ok(Filter { exclude: patterns(exclude)?, include: patterns(include)? })
    }

    /// Does it skip nothing?
    pub fn is_empty(&self) -> bool {
        self.exclude.is_none() && self.include.is_none()
    }

    /// Does it skip the entry at this path relative to the root?
    pub(crate) fn skips(&self, path: &Path, is_dir: bool) -> bool {
        let matches = |list: &PatternList| list.decide(path, is_dir) == Some(Decision::Skip);
        // A directory without a match may contain matching files.
        let missed = |list: &PatternList| !is_dir && list.decide_with_parents(path) != Some(Decision::Skip);
        self.exclude.as_ref().is_some_and(matches) || self.include.as_ref().is_some_and(missed)
    }
}

fn patterns<S: AsRef<str>>(patterns: &[S]) -> Result<Option<PatternList>, PatternError> {
    let mut list = PatternList::new(Path::new(""));
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let wrong = |reason: &str| PatternError { pattern: pattern.to_owned(), reason: reason.to_owned() };
        // In ignore files such a line is a comment, and one that begins with `!` reverses earlier patterns.
        if pattern.trim().is_empty() || pattern.starts_with(['#', '!']) {
            return Err(wrong("it matches nothing; a backslash in front makes # and ! ordinary"));
        }
        list.add_alternatives(pattern).map_err(wrong)?;
    }
    Ok((!list.is_empty()).then_some(list))
}

/// The rules of one directory's ignore files: `.ignore` before `.gitignore`.
///
/// # Errors
/// The name of the unusable file, and the reason.
pub(crate) fn ignore_files(directory: &Path) -> Result<Option<PatternList>, (&'static str, Error)> {
    let mut list = PatternList::new(directory);
    for name in [".gitignore", ".ignore"] {
        let text = ignore_file(&directory.join(name)).map_err(|error| (name, error))?;
        for line in text.iter().flat_map(|text| text.split('\n')) {
            // As in git, which also drops a carriage return before the end of the file, and what follows a zero byte.
            let line = line.strip_suffix('\r').unwrap_or(line);
            let line = line.split_once('\0').map_or(line, |(line, _)| line);
            // Invalid lines are skipped, as in git.
            let _ = list.add_line(line);
        }
    }
    Ok((!list.is_empty()).then_some(list))
}

/// The text of an ignore file, if there is one.
fn ignore_file(path: &Path) -> Result<Option<String>, Error> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let mut text = Vec::new();
    File::open(path)?.take(IGNORE_FILE_LIMIT + 1).read_to_end(&mut text)?;
    if text.len() as u64 > IGNORE_FILE_LIMIT {
        return Err(Error::Refused("an ignore file of more than 1 MiB"));
    }
    let text = text.strip_prefix(b"\xef\xbb\xbf").map(<[u8]>::to_vec).unwrap_or(text);
    String::from_utf8(text).map(Some).map_err(|_| Error::Refused("an ignore file that is not UTF-8"))
}

// Where a backslash separates names, paths of both sides differ.
#[cfg(all(test, unix))]
mod git_comparison;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_gitignore() {
        let filter = Filter::new(&["*.o", "/top", "target/", "a/**/z"], &[]).expect("patterns");
        for (path, is_dir, out) in [
            ("x.o", false, true),
            ("d/x.o", false, true),
            ("x.c", false, false),
            ("top", false, true),
            ("d/top", false, false),
            ("target", true, true),
            ("target", false, false),
            ("d/target", true, true),
            ("a/b/c/z", false, true),
            ("b/z", false, false),
        ] {
            assert_eq!(filter.skips(Path::new(path), is_dir), out, "{path}");
        }
        let filter = Filter::new(&["b.jpg"], &["*.jpg", "docs/"]).expect("patterns");
        for (path, is_dir, out) in [
            ("a.jpg", false, false),
            ("d/a.jpg", false, false),
            ("b.jpg", false, true),
            ("x", false, true),
            ("d", true, false),
            ("docs/x", false, false),
        ] {
            assert_eq!(filter.skips(Path::new(path), is_dir), out, "{path}");
        }
        for wrong in ["", " ", "#x", "!x"] {
            assert!(Filter::new(&[wrong], &[]).is_err(), "{wrong}");
        }
        assert!(Filter::new::<&str>(&[], &[]).expect("nothing").is_empty());
    }
}
