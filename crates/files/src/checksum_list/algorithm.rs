//! Functions of checksum lists: those that are computed here, and those that are only recognised.

/// Function of a list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// BLAKE3.
    #[default]
    Blake3,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
    /// SHA-1. Collisions can be made on purpose.
    Sha1,
    /// MD5. Collisions can be made on purpose.
    Md5,
}

impl Algorithm {
    /// All functions. Of two with equally long digests, the common one comes first.
    pub const ALL: [Algorithm; 5] =
        [Algorithm::Blake3, Algorithm::Sha256, Algorithm::Sha512, Algorithm::Sha1, Algorithm::Md5];

    /// The name in tagged lines.
    pub const fn tag(self) -> &'static str {
        match self {
            Algorithm::Blake3 => "BLAKE3",
            Algorithm::Sha256 => "SHA256",
            Algorithm::Sha512 => "SHA512",
            Algorithm::Sha1 => "SHA1",
            Algorithm::Md5 => "MD5",
        }
    }

    /// The name in sentences.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Blake3 => "BLAKE3",
            Algorithm::Sha256 => "SHA-256",
            Algorithm::Sha512 => "SHA-512",
            Algorithm::Sha1 => "SHA-1",
            Algorithm::Md5 => "MD5",
        }
    }

    /// The name in flags and in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Algorithm::Blake3 => "blake3",
            Algorithm::Sha256 => "sha256",
            Algorithm::Sha512 => "sha512",
            Algorithm::Sha1 => "sha1",
            Algorithm::Md5 => "md5",
        }
    }

    /// Bytes of its digests.
    pub const fn digest_len(self) -> usize {
        match self {
            Algorithm::Blake3 | Algorithm::Sha256 => 32,
            Algorithm::Sha512 => 64,
            Algorithm::Sha1 => 20,
            Algorithm::Md5 => 16,
        }
    }

    /// Can collisions be made on purpose?
    pub const fn is_broken(self) -> bool {
        matches!(self, Algorithm::Sha1 | Algorithm::Md5)
    }

    /// The function with this name in tagged lines.
    pub fn by_tag(tag: &[u8]) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|known| known.tag().as_bytes() == tag)
    }

    /// The function with this name in flags and in JSON.
    pub fn by_key(key: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|known| known.key() == key)
    }

    /// The functions with digests of `len` bytes.
    pub fn by_digest_len(len: usize) -> impl Iterator<Item = Algorithm> {
        Algorithm::ALL.into_iter().filter(move |known| known.digest_len() == len)
    }
}

/// Function that is not computed here, but recognised by its lists, so that errors can name the right
/// program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnsupportedAlgorithm {
    /// Its name in sentences.
    pub name: &'static str,
    /// The usual program for its lists.
    pub program: &'static str,
    tag: &'static str,
    digits: usize,
}

const fn row(
    name: &'static str,
    tag: &'static str,
    digits: usize,
    program: &'static str,
) -> UnsupportedAlgorithm {
    UnsupportedAlgorithm { name, program, tag, digits }
}

/// Of two with equally long digests, the common one comes first.
const FOREIGN: [UnsupportedAlgorithm; 14] = [
    row("SHA-224", "SHA224", 56, "sha224sum"),
    row("SHA-384", "SHA384", 96, "sha384sum"),
    row("BLAKE2b", "BLAKE2b", 128, "b2sum"),
    row("SHA3-224", "SHA3-224", 56, "rhash"),
    row("SHA3-256", "SHA3-256", 64, "rhash"),
    row("SHA3-384", "SHA3-384", 96, "rhash"),
    row("SHA3-512", "SHA3-512", 128, "rhash"),
    row("SM3", "SM3", 64, "sm3sum"),
    row("RIPEMD-160", "RMD160", 40, "rhash"),
    row("Whirlpool", "WHIRLPOOL", 128, "hashdeep"),
    row("Tiger", "TIGER", 48, "hashdeep"),
    row("XXH64", "XXH64", 16, "xxhsum"),
    row("XXH128", "XXH128", 32, "xxhsum"),
    row("CRC-32", "CRC32", 8, "rhash"),
];

impl UnsupportedAlgorithm {
    /// The function with this name in tagged lines.
    pub fn by_tag(tag: &[u8]) -> Option<UnsupportedAlgorithm> {
        FOREIGN.into_iter().find(|known| known.tag.as_bytes() == tag)
    }

    /// The functions with digests of `digits` hexadecimal digits.
    pub fn by_digits(digits: usize) -> impl Iterator<Item = UnsupportedAlgorithm> {
        FOREIGN.into_iter().filter(move |known| known.digits == digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_of_one_each() {
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::by_tag(algorithm.tag().as_bytes()), Some(algorithm));
            assert_eq!(Algorithm::by_key(algorithm.key()), Some(algorithm));
            assert!(Algorithm::by_digest_len(algorithm.digest_len()).any(|known| known == algorithm));
            assert_eq!(UnsupportedAlgorithm::by_tag(algorithm.tag().as_bytes()), None);
        }
        for foreign in FOREIGN {
            assert_eq!(UnsupportedAlgorithm::by_tag(foreign.tag.as_bytes()), Some(foreign));
        }
    }
}
