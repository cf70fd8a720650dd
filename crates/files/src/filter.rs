//! Which entries of a directory a walk leaves out: patterns as in `.gitignore`, and such files themselves.

use crate::error::Error;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// A file of more is none that somebody wrote.
const IGNORE_FILE_LIMIT: u64 = 1 << 20;

/// Patterns against the paths below where a walk begins.
///
/// A pattern is one of `.gitignore`: without a slash it is compared with names at any depth, with one it begins where the
/// walk does, a slash at its end is for directories only, and `**` stands for any number of directories.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    exclude: Option<Gitignore>,
    include: Option<Gitignore>,
}

/// A pattern that means nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl std::fmt::Display for PatternError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the pattern {} cannot be read: {}", self.pattern, self.reason)
    }
}

impl std::error::Error for PatternError {}

impl Filter {
    /// Leaves out what matches one of `exclude`; if there is any in `include`, also files that match none of those.
    /// `exclude` has the last word.
    ///
    /// # Errors
    /// The first pattern that means nothing.
    pub fn new<S: AsRef<str>>(exclude: &[S], include: &[S]) -> Result<Filter, PatternError> {
        Ok(Filter { exclude: patterns(exclude)?, include: patterns(include)? })
    }

    /// Whether it leaves nothing out.
    pub fn is_empty(&self) -> bool {
        self.exclude.is_none() && self.include.is_none()
    }

    /// Whether an entry is left out, whose path from the beginning of the walk is given.
    pub(crate) fn leaves_out(&self, path: &Path, is_dir: bool) -> bool {
        let excluded = |list: &Gitignore| list.matched(path, is_dir).is_ignore();
        // A directory that nobody asked for may have files in it that somebody did.
        let missed =
            |list: &Gitignore| !is_dir && !list.matched_path_or_any_parents(path, is_dir).is_ignore();
        self.exclude.as_ref().is_some_and(excluded) || self.include.as_ref().is_some_and(missed)
    }
}

fn patterns<S: AsRef<str>>(patterns: &[S]) -> Result<Option<Gitignore>, PatternError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut builder = GitignoreBuilder::new("");
    for pattern in patterns {
        let pattern = pattern.as_ref();
        let wrong = |reason: String| PatternError { pattern: pattern.to_owned(), reason };
        // In files these lines are comments, and those that begin with `!` take back what others say.
        if pattern.trim().is_empty() || pattern.starts_with(['#', '!']) {
            return Err(wrong("it matches nothing; a backslash in front makes # and ! ordinary".to_owned()));
        }
        builder.add_line(None, pattern).map_err(|error| wrong(error.to_string()))?;
    }
    let built = builder.build();
    built.map(Some).map_err(|error| PatternError {
        pattern: patterns.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" "),
        reason: error.to_string(),
    })
}

/// What the ignore files of one directory say: `.ignore` before `.gitignore`.
///
/// # Errors
/// The name of the file that cannot be used, and why.
pub(crate) fn ignore_files(directory: &Path) -> Result<Option<Gitignore>, (&'static str, Error)> {
    let mut builder = GitignoreBuilder::new(directory);
    let mut any = false;
    for name in [".gitignore", ".ignore"] {
        let text = ignore_file(&directory.join(name)).map_err(|error| (name, error))?;
        for line in text.iter().flat_map(|text| text.lines()) {
            // Lines that mean nothing are passed over, as git does.
            any |= !matches_nothing(line) && builder.add_line(None, &literal_braces(line)).is_ok();
        }
    }
    if !any {
        return Ok(None);
    }
    let refused = |_| (".gitignore", Error::Refused("the patterns of an ignore file are too large together"));
    builder.build().map(Some).map_err(refused)
}

/// Whether a line asks for a name without letters: one slash at the end asks for a directory, two for what is called nothing.
fn matches_nothing(line: &str) -> bool {
    line.trim_end().ends_with("//")
}

/// A line of an ignore file in which braces stand for themselves, as git reads them. The matcher takes them for alternatives.
fn literal_braces(line: &str) -> Cow<'_, str> {
    if !line.contains(['{', '}']) {
        return Cow::Borrowed(line);
    }
    let mut literal = String::with_capacity(line.len() + 4);
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let len = match c {
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '[' => class_len(rest),
            _ => c.len_utf8(),
        };
        if matches!(c, '{' | '}') {
            literal.push('\\');
        }
        literal.push_str(&rest[..len]);
        rest = &rest[len..];
    }
    Cow::Owned(literal)
}

/// The length of the class of characters that begins here. In it braces are characters already. A class that does not end is
/// none.
fn class_len(text: &str) -> usize {
    let negated = if text[1..].starts_with(['!', '^']) { 2 } else { 1 };
    // A bracket that comes first is one of the characters.
    let first = if text[negated..].starts_with(']') { negated + 1 } else { negated };
    text[first..].find(']').map_or(1, |end| first + end + 1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_of_ignore_files_are_literal() {
        for (line, literal) in [
            ("a*", "a*"),
            ("{a,b}", r"\{a,b\}"),
            (r"\{a}", r"\{a\}"),
            ("[{]}", r"[{]\}"),
            ("[]{]{", r"[]{]\{"),
            ("[!]{]{", r"[!]{]\{"),
            ("[{", r"[\{"),
            (r"{\", r"\{\"),
        ] {
            assert_eq!(literal_braces(line), literal, "{line}");
        }
    }

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
            assert_eq!(filter.leaves_out(Path::new(path), is_dir), out, "{path}");
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
            assert_eq!(filter.leaves_out(Path::new(path), is_dir), out, "{path}");
        }
        for wrong in ["", " ", "#x", "!x"] {
            assert!(Filter::new(&[wrong], &[]).is_err(), "{wrong}");
        }
        assert!(Filter::new::<&str>(&[], &[]).expect("nothing").is_empty());
    }
}
