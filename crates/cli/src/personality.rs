//! Personality of the program: called by the name `b3sum` or `sha256sum`, it behaves as that program.

use hashmill_files::checksum_list::Algorithm;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::OnceLock;

/// The program whose flags and messages are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Personality {
    #[default]
    Hashmill,
    /// `b3sum` 1.8.7.
    B3sum,
    /// GNU's `sha256sum` and its siblings.
    Gnu(Algorithm),
}

static CURRENT: OnceLock<Personality> = OnceLock::new();

impl Personality {
    /// The personality for a program name. Links and copies may have any name.
    fn from_name(name: &OsStr) -> Personality {
        let stem = Path::new(name).file_stem().unwrap_or_default();
        match stem.to_str() {
            Some("b3sum") => Personality::B3sum,
            Some("sha256sum") => Personality::Gnu(Algorithm::Sha256),
            Some("sha512sum") => Personality::Gnu(Algorithm::Sha512),
            Some("sha1sum") => Personality::Gnu(Algorithm::Sha1),
            Some("md5sum") => Personality::Gnu(Algorithm::Md5),
            _ => Personality::Hashmill,
        }
    }

    /// Detects the personality by the first argument, once. Returns the arguments.
    pub(crate) fn detect(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
        let args: Vec<OsString> = args.collect();
        let personality = args.first().map_or(Personality::Hashmill, |name| Personality::from_name(name));
        CURRENT.get_or_init(|| personality);
        args
    }

    /// The detected personality.
    pub(crate) fn current() -> Personality {
        CURRENT.get().copied().unwrap_or_default()
    }

    /// The name in front of every line on standard error.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Personality::Hashmill => "hashmill",
            Personality::B3sum => "b3sum",
            Personality::Gnu(Algorithm::Sha512) => "sha512sum",
            Personality::Gnu(Algorithm::Sha1) => "sha1sum",
            Personality::Gnu(Algorithm::Md5) => "md5sum",
            Personality::Gnu(_) => "sha256sum",
        }
    }

    /// The name of standard input in messages.
    pub(crate) fn stdin_name(self) -> &'static str {
        if self == Personality::B3sum { "stdin" } else { "standard input" }
    }

    /// The text of an error. GNU's programs leave out the number of an operating system error.
    pub(crate) fn error_text(self, error: &(impl ToString + ?Sized)) -> String {
        let mut text = error.to_string();
        if matches!(self, Personality::Gnu(_))
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
    fn detects_personality_by_file_name() {
        for (path, personality) in [
            ("/usr/bin/hashmill", Personality::Hashmill),
            ("b3sum", Personality::B3sum),
            ("/opt/b3sum.exe", Personality::B3sum),
            ("./sha256sum", Personality::Gnu(Algorithm::Sha256)),
            ("sha512sum", Personality::Gnu(Algorithm::Sha512)),
            ("b3sum-old", Personality::Hashmill),
            ("", Personality::Hashmill),
        ] {
            assert_eq!(Personality::from_name(OsStr::new(path)), personality, "{path}");
        }
        let text = Personality::Gnu(Algorithm::Md5).error_text(&std::io::Error::from_raw_os_error(2));
        assert!(!text.contains("os error"), "{text}");
    }
}
