//! Parsing of a command line: starts it directly, or with a shell if needed.
//!
//! A shell costs one more process, and its start takes as long as many commands. So a line without shell syntax is
//! split here and started directly; a line with a pipe, a variable or a pattern uses the shell.

use crate::model::labels::brief;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How commands are started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shell {
    /// Directly, except for lines that need a shell: these use the system's shell.
    #[default]
    WhereNeeded,
    /// Directly in every case.
    Never,
    /// Always with this shell: a program and its arguments, followed by `-c LINE`.
    Always(Vec<OsString>),
}

/// A program with its arguments, ready to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// Whether a shell interprets the line.
    pub(crate) shell: bool,
}

/// Reason why a line cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum LineError {
    #[error("a command is empty")]
    Empty,
    #[error("`{0}` has an unclosed quote")]
    Quote(String),
    #[error("there is no program `{program}` at the start of `{line}`")]
    NoProgram { program: String, line: String },
    #[error("`{0}` is a script without `#!`, which needs a shell")]
    Script(String),
}

/// Folders in which programs are searched.
pub(crate) struct SearchPath<'a> {
    /// Working directory of the command; relative paths start there.
    pub(crate) folder: &'a Path,
    /// Value of `PATH`.
    pub(crate) path: Vec<PathBuf>,
}

impl SearchPath<'_> {
    /// Finds the program of a name. This happens once, so that the search is not timed.
    fn find(&self, name: &str) -> Option<PathBuf> {
        let candidates: Vec<PathBuf> = if name.contains(std::path::is_separator) {
            vec![self.folder.join(name)]
        } else {
            self.path.iter().map(|folder| self.folder.join(folder).join(name)).collect()
        };
        let suffix = std::env::consts::EXE_SUFFIX;
        candidates.into_iter().find_map(|path| {
            let mut with_suffix = path.clone().into_os_string();
            with_suffix.push(suffix);
            [path, with_suffix.into()].into_iter().find(|path| hashmill_machine::is_program(path))
        })
    }
}

impl Shell {
    /// Parses the user's choice of shell: `default`, `none`, or a program with optional arguments.
    pub(crate) fn parse(text: &str) -> Result<Self, LineError> {
        Ok(match text {
            "none" => Shell::Never,
            "default" => Shell::Always(system_shell()),
            _ => Shell::Always(split(text)?.into_iter().map(OsString::from).collect()),
        })
    }

    /// Command that starts `line`.
    pub(crate) fn invoke(&self, line: &str, places: &SearchPath<'_>) -> Result<Invocation, LineError> {
        if line.trim().is_empty() {
            return Err(LineError::Empty);
        }
        match self {
            Shell::Always(shell) => by_shell(shell, line, places),
            Shell::WhereNeeded if needs_shell(line) => by_shell(&system_shell(), line, places),
            Shell::Never => match directly(line, places)? {
                found if hashmill_machine::is_script(&found.program) => Err(LineError::Script(brief(line))),
                found => Ok(found),
            },
            Shell::WhereNeeded => match directly(line, places) {
                Ok(found) if hashmill_machine::is_script(&found.program) => script(found, places),
                Err(LineError::NoProgram { program, .. }) if BUILT_IN.contains(&program.as_str()) => {
                    by_shell(&system_shell(), line, places)
                }
                other => other,
            },
        }
    }
}

fn system_shell() -> Vec<OsString> {
    [if std::path::MAIN_SEPARATOR == '/' { "sh" } else { "cmd.exe" }].map(OsString::from).to_vec()
}

fn find_shell(shell: &[OsString], places: &SearchPath<'_>) -> Result<(String, PathBuf), LineError> {
    let name = shell.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match places.find(&name) {
        Some(program) => Ok((name, program)),
        None => {
            let line = shell.join(" ".as_ref()).to_string_lossy().into_owned();
            Err(LineError::NoProgram { program: name, line })
        }
    }
}

fn by_shell(shell: &[OsString], line: &str, places: &SearchPath<'_>) -> Result<Invocation, LineError> {
    let (name, program) = find_shell(shell, places)?;
    let run = if name.contains("cmd") && std::path::MAIN_SEPARATOR == '\\' { "/C" } else { "-c" };
    let own = shell.iter().skip(1).cloned();
    let arguments = own.chain([OsString::from(run), OsString::from(line)]).collect();
    Ok(Invocation { program, arguments, shell: true })
}

fn directly(line: &str, places: &SearchPath<'_>) -> Result<Invocation, LineError> {
    let mut words = split(line)?.into_iter();
    let name = words.next().ok_or(LineError::Empty)?;
    let program = places
        .find(&name)
        .ok_or_else(|| LineError::NoProgram { program: brief(&name), line: brief(line) })?;
    Ok(Invocation { program, arguments: words.map(OsString::from).collect(), shell: false })
}

/// Starts a script as a shell does.
fn script(found: Invocation, places: &SearchPath<'_>) -> Result<Invocation, LineError> {
    let (_, program) = find_shell(&system_shell(), places)?;
    let arguments = std::iter::once(found.program.into_os_string()).chain(found.arguments).collect();
    Ok(Invocation { program, arguments, shell: true })
}

/// Words that only shells know and that are not programs.
const BUILT_IN: [&str; 30] = [
    ".", ":", "alias", "bg", "case", "cd", "command", "eval", "exec", "exit", "export", "fg", "for", "if",
    "jobs", "let", "read", "readonly", "return", "set", "shift", "source", "times", "trap", "type", "ulimit",
    "umask", "unset", "until", "while",
];

/// Whether a shell does more with the line than split it at blanks and quotes; true in case of doubt.
fn needs_shell(line: &str) -> bool {
    let mut quote = None;
    let mut first_word = true;
    let mut word_begins = true;
    let mut chars = line.trim().chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (_, '$' | '`') => return true,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (
                None,
                '|' | '&' | ';' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | ']' | '{' | '}' | '\n' | '!',
            ) => {
                return true;
            }
            (None, '~' | '#') if word_begins => return true,
            (None, '=') if first_word => return true,
            (None, _) => {}
        }
        word_begins = quote.is_none() && c.is_whitespace();
        first_word &= !word_begins;
    }
    false
}

/// Splits a line at blanks outside of quotes, like a shell.
pub(crate) fn split(line: &str) -> Result<Vec<String>, LineError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            // In double quotes a backslash is literal before most characters.
            (Some('"'), '\\') if matches!(next, Some('"' | '\\' | '$' | '`')) => {
                word.get_or_insert_default().extend(chars.next());
            }
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            (None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(LineError::Quote(brief(line)));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_as_a_shell_would() {
        let words = |line: &str| split(line).expect("whole");
        assert_eq!(words(" grep -i  'a b' file "), ["grep", "-i", "a b", "file"]);
        assert_eq!(words(r#"a"b c"'d "e' \ f "" "\"\n""#), ["ab cd \"e", " f", "", "\"\\n"]);
        assert_eq!(words(""), [""; 0]);
        assert_eq!(split("say 'hello"), Err(LineError::Quote("say 'hello".to_owned())));
    }

    #[test]
    fn only_syntax_needs_a_shell() {
        for line in [
            "sleep 0.1",
            "grep 'a|b$' file",
            r"find . -name \*.rs",
            "cc -DX=1 a.c",
            "sum a~ b#c",
            "echo \"a;b\"",
        ] {
            assert!(!needs_shell(line), "{line}");
        }
        for line in [
            "a | b",
            "a; b",
            "a && b",
            "a > f",
            "echo $HOME",
            "echo \"$HOME\"",
            "echo `a`",
            "ls *.rs",
            "X=1 a",
            "ls ~",
            "a # b",
            "echo {1,2}",
            "(a)",
            "a\nb",
        ] {
            assert!(needs_shell(line), "{line}");
        }
    }

    #[test]
    fn a_line_becomes_a_program_or_an_error_before_anything_is_timed() {
        let places = SearchPath { folder: Path::new("/"), path: vec!["/nowhere".into(), "/bin".into()] };
        let direct = Shell::WhereNeeded.invoke("ls -l 'a b'", &places).expect("ls is there");
        assert_eq!((direct.program.as_path(), direct.shell), (Path::new("/bin/ls"), false));
        assert_eq!(direct.arguments, ["-l", "a b"]);
        let by_shell = Shell::WhereNeeded.invoke("ls | cat", &places).expect("sh is there");
        assert_eq!((by_shell.program.as_path(), by_shell.shell), (Path::new("/bin/sh"), true));
        assert_eq!(by_shell.arguments, ["-c", "ls | cat"]);
        assert!(Shell::WhereNeeded.invoke("cd /tmp", &places).expect("a word of the shell").shell);
        assert!(Shell::parse("default").expect("a shell").invoke("ls", &places).expect("sh").shell);
        let own = Shell::parse("sh -e").expect("a shell").invoke("ls", &places).expect("sh");
        assert_eq!(own.arguments, ["-e", "-c", "ls"]);
        let never = Shell::parse("none").expect("none").invoke("ls | cat", &places).expect("ls is there");
        assert_eq!(never.arguments, ["|", "cat"]);
        assert!(Shell::Never.invoke("cd /tmp", &places).is_err());
        let error = Shell::WhereNeeded.invoke("no-such-program -x", &places).expect_err("not there");
        assert_eq!(
            error.to_string(),
            "there is no program `no-such-program` at the start of `no-such-program -x`"
        );
        assert_eq!(Shell::Never.invoke(" ", &places), Err(LineError::Empty));
    }

    #[test]
    #[cfg(unix)]
    fn scripts_without_interpreter_use_the_shell() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let places = SearchPath { folder: folder.path(), path: vec!["/bin".into()] };
        let write = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("a writable folder");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("its owner");
            path
        };
        let bare = write("bare", b"echo \"$1\"\n");
        let found = Shell::WhereNeeded.invoke("./bare 'a b'", &places).expect("a shell is there");
        assert_eq!((found.program.as_path(), found.shell), (Path::new("/bin/sh"), true));
        assert_eq!(found.arguments, [folder.path().join("./bare").as_os_str(), "a b".as_ref()]);
        let output =
            std::process::Command::new(&found.program).args(&found.arguments).output().expect("starts");
        assert_eq!(output.stdout, b"a b\n", "{}", bare.display());
        let refused = Shell::Never.invoke("./bare", &places).expect_err("no shell is wanted");
        assert_eq!(refused.to_string(), "`./bare` is a script without `#!`, which needs a shell");
        for (name, text) in [("named", &b"#!/bin/sh\n"[..]), ("binary", b"\x7fELF\0")] {
            write(name, text);
            let found = Shell::WhereNeeded.invoke(&format!("./{name}"), &places).expect("a program");
            assert!(!found.shell, "{name}");
        }
    }
}
