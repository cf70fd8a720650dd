//! What new hashes look like, the sets of costs that people know by name, and which old hashes fall short.

use super::limits::{Limits, OverLimit, Quantity};
use super::stored::PasswordHash;
use crate::argon2::{Params, Variant, Version};
use core::fmt;

/// What new hashes look like: costs, and the lengths of salt and tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Policy {
    params: Params,
    salt_len: usize,
    tag_len: usize,
}

impl Policy {
    /// Bytes of salt unless said otherwise.
    pub const SALT_LEN: usize = 16;
    /// Bytes of tag unless said otherwise.
    pub const TAG_LEN: usize = 32;

    /// These costs, 16 bytes of salt, 32 bytes of tag.
    pub const fn new(params: Params) -> Policy {
        Policy { params, salt_len: Policy::SALT_LEN, tag_len: Policy::TAG_LEN }
    }

    /// The same with salts of another length: 8 to 64 bytes.
    ///
    /// # Errors
    /// A length outside of that.
    pub fn with_salt_len(self, salt_len: usize) -> Result<Policy, PolicyError> {
        Limits::RECOMMENDED.check_salt(salt_len)?;
        Ok(Policy { salt_len, ..self })
    }

    /// The same with tags of another length: 4 to 128 bytes. Less than 16 is for tests.
    ///
    /// # Errors
    /// A length outside of that.
    pub fn with_tag_len(self, tag_len: usize) -> Result<Policy, PolicyError> {
        Limits { min_tag: Params::MIN_TAG_LEN, ..Limits::RECOMMENDED }.check_tag(tag_len)?;
        Ok(Policy { tag_len, ..self })
    }

    /// Variant, version and costs.
    pub const fn params(&self) -> Params {
        self.params
    }

    /// Bytes of salt.
    pub const fn salt_len(&self) -> usize {
        self.salt_len
    }

    /// Bytes of tag.
    pub const fn tag_len(&self) -> usize {
        self.tag_len
    }

    /// Everything in which `hash` falls short of this policy. Empty if it may stay.
    ///
    /// Variant, version and lanes must be equal. Memory, passes, salt and tag may be more than the policy says: a hash
    /// that is stronger than needed is left alone.
    pub fn shortcomings(&self, hash: &PasswordHash) -> impl Iterator<Item = Rehash> {
        let (old, new) = (hash.params(), self.params);
        let other = |holds: bool, reason| holds.then_some(reason);
        let less =
            |have: u64, want: u64, reason: fn(u64, u64) -> Rehash| (have < want).then(|| reason(have, want));
        [
            other(
                old.variant() != new.variant(),
                Rehash::Variant { have: old.variant(), want: new.variant() },
            ),
            other(
                old.version() != new.version(),
                Rehash::Version { have: old.version(), want: new.version() },
            ),
            less(old.memory_kib().into(), new.memory_kib().into(), |have, want| Rehash::Less {
                what: Quantity::Memory,
                have,
                want,
            }),
            less(old.passes().into(), new.passes().into(), |have, want| Rehash::Less {
                what: Quantity::Passes,
                have,
                want,
            }),
            other(old.lanes() != new.lanes(), Rehash::Lanes { have: old.lanes(), want: new.lanes() }),
            less(hash.salt().len() as u64, self.salt_len as u64, |have, want| Rehash::Less {
                what: Quantity::Salt,
                have,
                want,
            }),
            less(hash.tag_len() as u64, self.tag_len as u64, |have, want| Rehash::Less {
                what: Quantity::Tag,
                have,
                want,
            }),
        ]
        .into_iter()
        .flatten()
    }
}

impl Default for Policy {
    /// The preset [`owasp`](Preset::OWASP).
    fn default() -> Policy {
        Preset::OWASP.policy()
    }
}

/// A length that a policy cannot have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyError(OverLimit);

impl From<OverLimit> for PolicyError {
    fn from(error: OverLimit) -> PolicyError {
        PolicyError(error)
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl core::error::Error for PolicyError {}

/// One thing in which a stored hash falls short of a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Rehash {
    /// Another variant.
    Variant {
        /// The hash's.
        have: Variant,
        /// The policy's.
        want: Variant,
    },
    /// Another version.
    Version {
        /// The hash's.
        have: Version,
        /// The policy's.
        want: Version,
    },
    /// More or fewer lanes.
    Lanes {
        /// The hash's.
        have: u32,
        /// The policy's.
        want: u32,
    },
    /// Less memory, fewer passes, a shorter salt or a shorter tag.
    Less {
        /// Of what there is less.
        what: Quantity,
        /// The hash's.
        have: u64,
        /// The policy's.
        want: u64,
    },
}

impl fmt::Display for Rehash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Rehash::Variant { have, want } => write!(f, "{have} instead of {want}"),
            Rehash::Version { have, want } => {
                write!(f, "version {} instead of {}", have.number(), want.number())
            }
            Rehash::Lanes { have, want } => write!(f, "{have} instead of {want} lanes"),
            Rehash::Less { what, have, want } => match what {
                Quantity::Memory => write!(f, "{have} instead of {want} KiB of memory"),
                Quantity::Passes => write!(f, "{have} instead of {want} passes"),
                Quantity::Salt => write!(f, "{have} instead of {want} bytes of salt"),
                _ => write!(f, "{have} instead of {want} bytes of tag"),
            },
        }
    }
}

/// Costs with a name. All are Argon2id, version 1.3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    name: &'static str,
    about: &'static str,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    tag_len: usize,
}

/// Rows of [`Preset::ALL`].
const fn row(
    name: &'static str,
    (memory_kib, passes, lanes): (u32, u32, u32),
    tag_len: usize,
    about: &'static str,
) -> Preset {
    Preset { name, about, memory_kib, passes, lanes, tag_len }
}

impl Preset {
    /// 19 MiB, 2 passes, 1 lane: the default here, and in the RustCrypto crate.
    pub const OWASP: Preset = row("owasp", (19_456, 2, 1), 32, "OWASP's usual choice; the default");

    /// All of them.
    pub const ALL: [Preset; 17] = [
        Preset::OWASP,
        row("owasp-46m", (47_104, 1, 1), 32, "OWASP: most memory, least time"),
        row("owasp-19m", (19_456, 2, 1), 32, "OWASP: the same as owasp"),
        row("owasp-12m", (12_288, 3, 1), 32, "OWASP: 12 MiB"),
        row("owasp-9m", (9_216, 4, 1), 32, "OWASP: 9 MiB"),
        row("owasp-7m", (7_168, 5, 1), 32, "OWASP: least memory"),
        row("rfc9106-first", (1 << 21, 1, 4), 32, "RFC 9106, first recommendation: 2 GiB"),
        row("rfc9106-second", (1 << 16, 3, 4), 32, "RFC 9106, second; the default of argon2-cffi"),
        row("libsodium-interactive", (1 << 16, 2, 1), 32, "libsodium's INTERACTIVE"),
        row("libsodium-moderate", (1 << 18, 3, 1), 32, "libsodium's MODERATE"),
        row("libsodium-sensitive", (1 << 20, 4, 1), 32, "libsodium's SENSITIVE"),
        row("argon2sharp-test", (32, 3, 4), 32, "Argon2Sharp's CreateForTesting; too cheap for passwords"),
        row("argon2sharp-default", (19_456, 2, 1), 32, "Argon2Sharp's CreateDefault"),
        row("argon2sharp-high", (1 << 16, 4, 4), 32, "Argon2Sharp's CreateHighSecurity"),
        row(
            "argon2sharp-test-labelled",
            (1 << 10, 1, 1),
            32,
            "what its benchmark calls Test; too cheap for passwords",
        ),
        row("argon2sharp-default-labelled", (1 << 16, 4, 4), 32, "what its benchmark calls Default"),
        row("argon2sharp-high-labelled", (1 << 18, 6, 4), 64, "what its benchmark calls HighSecurity"),
    ];

    /// The preset of this name.
    pub fn by_name(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name == name)
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Where it comes from, in a few words.
    pub const fn about(&self) -> &'static str {
        self.about
    }

    /// What it means.
    pub fn policy(&self) -> Policy {
        let params = Params::new(self.memory_kib, self.passes, self.lanes);
        let params = params.expect("the table has costs that exist");
        Policy { params, salt_len: Policy::SALT_LEN, tag_len: self.tag_len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        for (index, preset) in Preset::ALL.iter().enumerate() {
            assert_eq!(Preset::by_name(preset.name()), Some(*preset));
            assert!(!Preset::ALL[..index].iter().any(|other| other.name == preset.name));
            assert!(!preset.about().is_empty());
        }
        assert_eq!(Preset::by_name("OWASP"), None);
    }

    #[test]
    fn lengths_of_a_policy_have_bounds() {
        let policy = Policy::default();
        for (len, fits) in [(7, false), (8, true), (64, true), (65, false)] {
            assert_eq!(policy.with_salt_len(len).is_ok(), fits, "salt of {len}");
        }
        for (len, fits) in [(3, false), (4, true), (128, true), (129, false)] {
            assert_eq!(policy.with_tag_len(len).is_ok(), fits, "tag of {len}");
        }
    }

    #[test]
    fn every_shortcoming_is_named_and_strength_is_none() {
        let params = Params::new(64, 3, 2).unwrap();
        let policy = Policy::new(params);
        let words = |params: Params, salt: usize, tag: usize| {
            let hash = PasswordHash::new(params, vec![0; salt], vec![0; tag]);
            policy.shortcomings(&hash).map(|reason| reason.to_string()).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(words(params, 16, 32), "");
        assert_eq!(words(Params::new(65, 4, 2).unwrap(), 17, 33), "", "more is enough");
        assert_eq!(words(params.with_variant(Variant::I), 16, 32), "argon2i instead of argon2id");
        assert_eq!(words(params.with_version(Version::V10), 16, 32), "version 16 instead of 19");
        assert_eq!(
            words(Params::new(63, 2, 1).unwrap(), 15, 31),
            "63 instead of 64 KiB of memory; 2 instead of 3 passes; 1 instead of 2 lanes; \
             15 instead of 16 bytes of salt; 31 instead of 32 bytes of tag"
        );
    }
}
