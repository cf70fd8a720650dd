//! Which function made the digests of a list. Two functions have digests of 64 digits, and only tagged lines say which.

use hashmill_files::checkfile::Algorithm;
use std::path::Path;

/// So many files may tell nothing before the list is taken for what it seems to be.
const PATIENCE: u32 = 16;

/// What is known of the untagged lines of one list.
#[derive(Clone, Debug)]
pub(super) struct Which {
    /// What the user said: the last word.
    said: Option<Algorithm>,
    expected: Algorithm,
    /// Whether there is evidence, or no hope for any.
    settled: bool,
    /// Files that told nothing.
    silent: u32,
    /// Files that match by the one, and by the other.
    blake3: u64,
    sha256: u64,
}

impl Which {
    /// At the beginning: the name of the list is all that there is.
    pub(super) fn of(list: &Path, said: Option<Algorithm>) -> Which {
        let name = list.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let sha256 = ["sha256", "sha-256", "sha2"].iter().any(|part| name.contains(part));
        let expected = if sha256 { Algorithm::Sha256 } else { Algorithm::Blake3 };
        Which {
            said,
            expected: said.unwrap_or(expected),
            settled: said.is_some(),
            silent: 0,
            blake3: 0,
            sha256: 0,
        }
    }

    /// Whether it is still worth asking file by file.
    pub(super) fn is_open(&self) -> bool {
        !self.settled
    }

    pub(super) fn said(&self) -> Option<Algorithm> {
        self.said
    }

    /// What untagged lines are tried with first.
    pub(super) fn expected(&self) -> Algorithm {
        self.expected
    }

    /// What they are tried with before they are called wrong.
    pub(super) fn otherwise(&self) -> Option<Algorithm> {
        if self.said.is_some() { None } else { Some(other(self.expected)) }
    }

    /// A line said by its tag.
    pub(super) fn is_tagged(&mut self, algorithm: Algorithm) {
        if self.is_open() {
            self.expected = algorithm;
            self.settled = true;
        }
    }

    /// A file matches an untagged line.
    pub(super) fn matches(&mut self, algorithm: Algorithm) {
        self.is_tagged(algorithm);
        match algorithm {
            Algorithm::Sha256 => self.sha256 += 1,
            _ => self.blake3 += 1,
        }
    }

    /// A file matches by nothing, or is not there.
    pub(super) fn says_nothing(&mut self) {
        self.silent += 1;
        self.settled |= self.silent == PATIENCE;
    }

    /// What was found out that nobody had said.
    pub(super) fn found(&self) -> Option<String> {
        match self {
            Which { said: Some(_), .. } | Which { sha256: 0, .. } => None,
            Which { blake3: 0, .. } => Some("its digests are SHA-256".to_owned()),
            Which { blake3, sha256, .. } => {
                Some(format!("{blake3} of its digests are BLAKE3, {sha256} are SHA-256"))
            }
        }
    }
}

/// The other of the two that have as many digits.
pub(super) fn other(algorithm: Algorithm) -> Algorithm {
    match algorithm {
        Algorithm::Sha256 => Algorithm::Blake3,
        _ => Algorithm::Sha256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Algorithm::{Blake3, Sha256};

    #[test]
    fn the_name_is_a_first_guess() {
        for (name, expected) in [
            ("SHA256SUMS", Sha256),
            ("dir/ubuntu.iso.sha256", Sha256),
            ("sha2-256.txt", Sha256),
            ("B3SUMS", Blake3),
            ("sha256/list", Blake3),
            ("-", Blake3),
        ] {
            let which = Which::of(Path::new(name), None);
            assert_eq!((which.expected(), which.is_open()), (expected, true), "{name}");
            assert_eq!(which.otherwise(), Some(other(expected)));
        }
    }

    #[test]
    fn what_was_said_is_the_last_word() {
        let mut which = Which::of(Path::new("SHA256SUMS"), Some(Blake3));
        which.is_tagged(Sha256);
        assert_eq!((which.expected(), which.otherwise(), which.is_open()), (Blake3, None, false));
    }

    #[test]
    fn the_first_evidence_settles_it() {
        let mut which = Which::of(Path::new("list"), None);
        which.says_nothing();
        assert!(which.is_open() && which.found().is_none());
        which.matches(Sha256);
        assert_eq!((which.expected(), which.is_open()), (Sha256, false));
        assert_eq!(which.found().as_deref(), Some("its digests are SHA-256"));
        which.matches(Blake3);
        assert_eq!(which.expected(), Sha256);
        assert_eq!(which.found().as_deref(), Some("1 of its digests are BLAKE3, 1 are SHA-256"));
    }

    #[test]
    fn patience_ends() {
        let mut which = Which::of(Path::new("list"), None);
        for _ in 0..PATIENCE {
            assert!(which.is_open());
            which.says_nothing();
        }
        assert!(!which.is_open());
    }
}
