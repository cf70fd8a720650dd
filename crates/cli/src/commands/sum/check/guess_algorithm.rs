//! Guess of the hash function of a list. Two functions have digests of 64 digits, and only tagged lines tell which.

use hashmill_files::checksum_list::{Algorithm, Entry};
use std::path::Path;

/// Number of files without evidence after which the first guess is final.
const MAX_UNDECIDED: u32 = 16;

/// The guess for lines of one list that do not name their function.
#[derive(Clone, Debug)]
pub(super) struct AlgorithmGuess {
    /// The requested function, which overrides all evidence.
    requested: Option<Algorithm>,
    /// The function expected for most lines.
    expected: Algorithm,
    /// The function tried first for ambiguous lines.
    first_guess: Algorithm,
    /// Evidence was found, or none is expected any more.
    is_decided: bool,
    /// Number of files without evidence.
    undecided: u32,
    /// Matching files by function, in the order of [`Algorithm::ALL`]: of lines without a tag, and of tagged lines.
    untagged: [u64; 5],
    tagged: [u64; 5],
    /// Files that match no candidate function.
    differ: [u64; 5],
}

fn index(algorithm: Algorithm) -> usize {
    Algorithm::ALL.iter().position(|known| *known == algorithm).unwrap_or(0)
}

impl AlgorithmGuess {
    /// The initial guess, by the name of the list.
    pub(super) fn from_list_name(list: &Path, requested: Option<Algorithm>) -> AlgorithmGuess {
        let name = list.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let sha256 = ["sha256", "sha-256", "sha2"].iter().any(|part| name.contains(part));
        let first_guess = if sha256 { Algorithm::Sha256 } else { Algorithm::Blake3 };
        AlgorithmGuess {
            requested,
            expected: requested.unwrap_or(first_guess),
            first_guess: requested.unwrap_or(first_guess),
            is_decided: requested.is_some(),
            undecided: 0,
            untagged: [0; 5],
            tagged: [0; 5],
            differ: [0; 5],
        }
    }

    /// Whether files should still be checked one by one for evidence.
    pub(super) fn is_undecided(&self) -> bool {
        !self.is_decided
    }

    pub(super) fn requested(&self) -> Option<Algorithm> {
        self.requested
    }

    /// The function expected for most lines.
    pub(super) fn expected(&self) -> Algorithm {
        self.expected
    }

    /// The function to try first for a line.
    pub(super) fn first_candidate(&self, entry: &Entry) -> Algorithm {
        entry.algorithm.unwrap_or(self.first_guess)
    }

    /// The function to try second for an ambiguous line.
    pub(super) fn second_candidate(&self) -> Option<Algorithm> {
        if self.requested.is_some() { None } else { Some(other(self.first_guess)) }
    }

    /// Records that a line names its function.
    pub(super) fn record_named(&mut self, algorithm: Algorithm) {
        if self.is_undecided() {
            self.expected = algorithm;
            self.is_decided = true;
            if [Algorithm::Blake3, Algorithm::Sha256].contains(&algorithm) {
                self.first_guess = algorithm;
            }
        }
    }

    /// Records that a file matches its line.
    pub(super) fn record_match(&mut self, algorithm: Algorithm, is_tagged: bool) {
        self.record_named(algorithm);
        let count = if is_tagged { &mut self.tagged } else { &mut self.untagged };
        count[index(algorithm)] += 1;
    }

    /// Records that a file does not match.
    pub(super) fn record_difference(&mut self, algorithm: Algorithm) {
        self.differ[index(algorithm)] += 1;
        self.record_no_evidence();
    }

    /// Records a file without evidence, such as a missing one.
    pub(super) fn record_no_evidence(&mut self) {
        self.undecided += 1;
        self.is_decided |= self.undecided == MAX_UNDECIDED;
    }

    /// A note on the detected functions, and on weak ones.
    pub(super) fn note(&self) -> Option<String> {
        let of = |counts: &[u64; 5]| -> Vec<(Algorithm, u64)> {
            Algorithm::ALL.into_iter().zip(*counts).filter(|(_, count)| *count > 0).collect()
        };
        let tagged = of(&self.tagged).into_iter().map(|(algorithm, _)| algorithm);
        let mut broken = tagged.chain(of(&self.untagged).into_iter().map(|(algorithm, _)| algorithm));
        let weak = broken.find(|algorithm| algorithm.is_broken() && self.requested != Some(*algorithm));
        let weak = weak.map(|algorithm| {
            format!(
                "{} detects accidental changes, but an attacker can make files that match",
                algorithm.name()
            )
        });
        let found = match &of(&self.untagged)[..] {
            _ if self.requested.is_some() => None,
            [] | [(Algorithm::Blake3, _)] => None,
            [(one, _)] => Some(format!("its digests are {}", one.name())),
            several => {
                let counts = several.iter().enumerate().map(|(n, (algorithm, count))| {
                    let of = if n == 0 { " of its digests" } else { "" };
                    format!("{count}{of} are {}", algorithm.name())
                });
                Some(counts.collect::<Vec<_>>().join(", "))
            }
        };
        match (found, weak) {
            (Some(found), Some(weak)) => Some(format!("{found}; {weak}")),
            (found, weak) => found.or(weak),
        }
    }

    /// Whether all lines with 128 digits differ, as those of BLAKE2b would.
    pub(super) fn may_be_blake2b(&self) -> bool {
        let sha512 = index(Algorithm::Sha512);
        self.differ[sha512] > 0 && self.tagged[sha512] + self.untagged[sha512] == 0
    }
}

/// The other of the two functions with 64 digits.
pub(super) fn other(algorithm: Algorithm) -> Algorithm {
    match algorithm {
        Algorithm::Sha256 => Algorithm::Blake3,
        _ => Algorithm::Sha256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Algorithm::{Blake3, Md5, Sha256, Sha512};

    #[test]
    fn list_name_gives_the_first_guess() {
        for (name, expected) in [
            ("SHA256SUMS", Sha256),
            ("dir/ubuntu.iso.sha256", Sha256),
            ("sha2-256.txt", Sha256),
            ("B3SUMS", Blake3),
            ("sha256/list", Blake3),
            ("-", Blake3),
        ] {
            let guess = AlgorithmGuess::from_list_name(Path::new(name), None);
            assert_eq!((guess.expected(), guess.is_undecided()), (expected, true), "{name}");
            assert_eq!(guess.second_candidate(), Some(other(expected)));
        }
    }

    #[test]
    fn requested_function_overrides_evidence() {
        let mut guess = AlgorithmGuess::from_list_name(Path::new("SHA256SUMS"), Some(Blake3));
        guess.record_named(Sha256);
        assert_eq!((guess.expected(), guess.second_candidate(), guess.is_undecided()), (Blake3, None, false));
    }

    #[test]
    fn first_evidence_decides() {
        let mut guess = AlgorithmGuess::from_list_name(Path::new("list"), None);
        guess.record_no_evidence();
        assert!(guess.is_undecided() && guess.note().is_none());
        guess.record_match(Sha256, false);
        assert_eq!((guess.expected(), guess.is_undecided()), (Sha256, false));
        assert_eq!(guess.note().as_deref(), Some("its digests are SHA-256"));
        guess.record_match(Blake3, false);
        assert_eq!(guess.expected(), Sha256);
        assert_eq!(guess.note().as_deref(), Some("1 of its digests are BLAKE3, 1 are SHA-256"));
        // The first line of another length decides that, and leaves 64 digits ambiguous.
        let mut guess = AlgorithmGuess::from_list_name(Path::new("list"), None);
        guess.record_named(Sha512);
        assert_eq!((guess.expected(), guess.first_candidate(&Entry::default())), (Sha512, Blake3));
    }

    #[test]
    fn notes_weak_functions() {
        let mut guess = AlgorithmGuess::from_list_name(Path::new("list"), None);
        guess.record_match(Md5, true);
        let weak = "MD5 detects accidental changes, but an attacker can make files that match";
        assert_eq!(guess.note().as_deref(), Some(weak));
        guess.record_match(Md5, false);
        assert_eq!(guess.note(), Some(format!("its digests are MD5; {weak}")));
    }

    #[test]
    fn decides_after_files_without_evidence() {
        let mut guess = AlgorithmGuess::from_list_name(Path::new("list"), None);
        for _ in 0..MAX_UNDECIDED {
            assert!(guess.is_undecided());
            guess.record_no_evidence();
        }
        assert!(!guess.is_undecided());
    }
}
