//! Which function made the digests of a list. Two functions have digests of 64 digits, and only tagged lines say which.

use hashmill_files::checkfile::{Algorithm, Entry};
use std::path::Path;

/// So many files may tell nothing before the list is taken for what it seems to be.
const PATIENCE: u32 = 16;

/// What is known of the lines of one list that say nothing themselves.
#[derive(Clone, Debug)]
pub(super) struct Which {
    /// What the user said: the last word.
    said: Option<Algorithm>,
    /// What most lines will be.
    expected: Algorithm,
    /// What lines that leave it open are tried with first.
    open: Algorithm,
    /// Whether there is evidence, or no hope for any.
    settled: bool,
    /// Files that told nothing.
    silent: u32,
    /// Files that match, by function, as in [`Algorithm::ALL`]: those of lines that do not say it, and those of others.
    untold: [u64; 5],
    told: [u64; 5],
    /// Files that match none of the functions that their lines may be of.
    differ: [u64; 5],
}

fn index(algorithm: Algorithm) -> usize {
    Algorithm::ALL.iter().position(|known| *known == algorithm).unwrap_or(0)
}

impl Which {
    /// At the beginning: the name of the list is all that there is.
    pub(super) fn of(list: &Path, said: Option<Algorithm>) -> Which {
        let name = list.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let sha256 = ["sha256", "sha-256", "sha2"].iter().any(|part| name.contains(part));
        let open = if sha256 { Algorithm::Sha256 } else { Algorithm::Blake3 };
        Which {
            said,
            expected: said.unwrap_or(open),
            open: said.unwrap_or(open),
            settled: said.is_some(),
            silent: 0,
            untold: [0; 5],
            told: [0; 5],
            differ: [0; 5],
        }
    }

    /// Whether it is still worth asking file by file.
    pub(super) fn is_open(&self) -> bool {
        !self.settled
    }

    pub(super) fn said(&self) -> Option<Algorithm> {
        self.said
    }

    /// What most lines will be.
    pub(super) fn expected(&self) -> Algorithm {
        self.expected
    }

    /// What a line is tried with first.
    pub(super) fn first(&self, entry: &Entry) -> Algorithm {
        entry.algorithm.unwrap_or(self.open)
    }

    /// What a line that leaves it open is tried with before it is called wrong.
    pub(super) fn otherwise(&self) -> Option<Algorithm> {
        if self.said.is_some() { None } else { Some(other(self.open)) }
    }

    /// A line said it.
    pub(super) fn is_told(&mut self, algorithm: Algorithm) {
        if self.is_open() {
            self.expected = algorithm;
            self.settled = true;
            if [Algorithm::Blake3, Algorithm::Sha256].contains(&algorithm) {
                self.open = algorithm;
            }
        }
    }

    /// A file matches a line; whether that line said by what.
    pub(super) fn matches(&mut self, algorithm: Algorithm, told: bool) {
        self.is_told(algorithm);
        let count = if told { &mut self.told } else { &mut self.untold };
        count[index(algorithm)] += 1;
    }

    /// A file does not match.
    pub(super) fn differs(&mut self, algorithm: Algorithm) {
        self.differ[index(algorithm)] += 1;
        self.says_nothing();
    }

    /// A file is not there, or tells nothing.
    pub(super) fn says_nothing(&mut self) {
        self.silent += 1;
        self.settled |= self.silent == PATIENCE;
    }

    /// What was found out that nobody had said.
    pub(super) fn found(&self) -> Option<String> {
        let of = |counts: &[u64; 5]| -> Vec<(Algorithm, u64)> {
            Algorithm::ALL.into_iter().zip(*counts).filter(|(_, count)| *count > 0).collect()
        };
        let told = of(&self.told).into_iter().map(|(algorithm, _)| algorithm);
        let mut broken = told.chain(of(&self.untold).into_iter().map(|(algorithm, _)| algorithm));
        let weak = broken.find(|algorithm| algorithm.is_broken() && self.said != Some(*algorithm));
        let weak = weak.map(|algorithm| {
            format!("{} finds accidents, but files can be made to match on purpose", algorithm.name())
        });
        let found = match &of(&self.untold)[..] {
            _ if self.said.is_some() => None,
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

    /// Whether all lines with 128 digits are wrong, which those of BLAKE2b would be.
    pub(super) fn may_be_blake2b(&self) -> bool {
        let sha512 = index(Algorithm::Sha512);
        self.differ[sha512] > 0 && self.told[sha512] + self.untold[sha512] == 0
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
    use Algorithm::{Blake3, Md5, Sha256, Sha512};

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
        which.is_told(Sha256);
        assert_eq!((which.expected(), which.otherwise(), which.is_open()), (Blake3, None, false));
    }

    #[test]
    fn the_first_evidence_settles_it() {
        let mut which = Which::of(Path::new("list"), None);
        which.says_nothing();
        assert!(which.is_open() && which.found().is_none());
        which.matches(Sha256, false);
        assert_eq!((which.expected(), which.is_open()), (Sha256, false));
        assert_eq!(which.found().as_deref(), Some("its digests are SHA-256"));
        which.matches(Blake3, false);
        assert_eq!(which.expected(), Sha256);
        assert_eq!(which.found().as_deref(), Some("1 of its digests are BLAKE3, 1 are SHA-256"));
        // A list of another length says so with its first line, and leaves open what 64 digits are.
        let mut which = Which::of(Path::new("list"), None);
        which.is_told(Sha512);
        assert_eq!((which.expected(), which.first(&Entry::default())), (Sha512, Blake3));
    }

    #[test]
    fn what_can_be_forged_is_called_so() {
        let mut which = Which::of(Path::new("list"), None);
        which.matches(Md5, true);
        let weak = "MD5 finds accidents, but files can be made to match on purpose";
        assert_eq!(which.found().as_deref(), Some(weak));
        which.matches(Md5, false);
        assert_eq!(which.found(), Some(format!("its digests are MD5; {weak}")));
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
