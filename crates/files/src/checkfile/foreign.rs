//! Digests that other programs make and check. They are recognised, so that whoever meets them learns where to go.

/// A function that is not known here, by what lists of its digests look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// Its name in sentences.
    pub name: &'static str,
    /// The usual program that checks its lists.
    pub program: &'static str,
    tag: &'static str,
    digits: usize,
}

const fn row(name: &'static str, tag: &'static str, digits: usize, program: &'static str) -> Foreign {
    Foreign { name, program, tag, digits }
}

/// Of two with as many digits, the usual one comes first.
const ALL: [Foreign; 6] = [
    row("MD5", "MD5", 32, "md5sum"),
    row("SHA-1", "SHA1", 40, "sha1sum"),
    row("SHA-224", "SHA224", 56, "sha224sum"),
    row("SHA-384", "SHA384", 96, "sha384sum"),
    row("SHA-512", "SHA512", 128, "sha512sum"),
    row("BLAKE2b", "BLAKE2b", 128, "b2sum"),
];

impl Foreign {
    /// The one with this name in tagged lines.
    pub fn by_tag(tag: &[u8]) -> Option<Foreign> {
        ALL.into_iter().find(|known| known.tag.as_bytes() == tag)
    }

    /// Those whose digests have so many hexadecimal digits.
    pub fn by_digits(digits: usize) -> impl Iterator<Item = Foreign> {
        ALL.into_iter().filter(move |known| known.digits == digits)
    }
}
