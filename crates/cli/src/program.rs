//! Which program this is: by the name that it was called with, it may be one that people and scripts know already.

use hashmill_files::checkfile::Algorithm;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::OnceLock;

/// Whose words are spoken, and whose flags are understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Program {
    #[default]
    Hashmill,
    /// `b3sum` 1.8.7.
    B3sum,
    /// GNU's `sha256sum` and its kin.
    Gnu(Algorithm),
}

static CALLED: OnceLock<Program> = OnceLock::new();

impl Program {
    /// The program of this name. A link to it, or a copy of it, may have any.
    fn named(name: &OsStr) -> Program {
        let stem = Path::new(name).file_stem().unwrap_or_default();
        match stem.to_str() {
            Some("b3sum") => Program::B3sum,
            Some("sha256sum") => Program::Gnu(Algorithm::Sha256),
            Some("sha512sum") => Program::Gnu(Algorithm::Sha512),
            Some("sha1sum") => Program::Gnu(Algorithm::Sha1),
            Some("md5sum") => Program::Gnu(Algorithm::Md5),
            _ => Program::Hashmill,
        }
    }

    /// Finds out who was called, once, and gives the arguments back.
    pub(crate) fn called(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
        let args: Vec<OsString> = args.collect();
        let program = args.first().map_or(Program::Hashmill, |name| Program::named(name));
        CALLED.get_or_init(|| program);
        args
    }

    /// Who was called.
    pub(crate) fn this() -> Program {
        CALLED.get().copied().unwrap_or_default()
    }

    /// The name in front of every line on standard error.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Program::Hashmill => "hashmill",
            Program::B3sum => "b3sum",
            Program::Gnu(Algorithm::Sha512) => "sha512sum",
            Program::Gnu(Algorithm::Sha1) => "sha1sum",
            Program::Gnu(Algorithm::Md5) => "md5sum",
            Program::Gnu(_) => "sha256sum",
        }
    }

    /// What standard input is called.
    pub(crate) fn stdin(self) -> &'static str {
        if self == Program::B3sum { "stdin" } else { "standard input" }
    }

    /// What an error of the operating system is called: GNU's programs leave the number out.
    pub(crate) fn words(self, error: &(impl ToString + ?Sized)) -> String {
        let mut text = error.to_string();
        if matches!(self, Program::Gnu(_))
            && let Some(at) = text.rfind(" (os error ")
        {
            text.truncate(at);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_file_decides() {
        for (path, program) in [
            ("/usr/bin/hashmill", Program::Hashmill),
            ("b3sum", Program::B3sum),
            ("/opt/b3sum.exe", Program::B3sum),
            ("./sha256sum", Program::Gnu(Algorithm::Sha256)),
            ("sha512sum", Program::Gnu(Algorithm::Sha512)),
            ("b3sum-old", Program::Hashmill),
            ("", Program::Hashmill),
        ] {
            assert_eq!(Program::named(OsStr::new(path)), program, "{path}");
        }
        let words = Program::Gnu(Algorithm::Md5).words(&std::io::Error::from_raw_os_error(2));
        assert!(!words.contains("os error"), "{words}");
    }
}
