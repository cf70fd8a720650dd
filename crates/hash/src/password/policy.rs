//! Policy for new hashes: costs, named presets, and comparison with stored hashes.

use super::limits::{Limits, OverLimit, Quantity};
use super::stored::PasswordHash;
use crate::argon2::{Params, Variant, Version};
use core::cmp::Ordering;
use core::fmt;

/// Settings of new hashes: costs, and the lengths of salt and tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Policy {
    params: Params,
    salt_len: usize,
    tag_len: usize,
}

impl Policy {
    /// Default bytes of salt.
    pub const SALT_LEN: usize = 16;
    /// Default bytes of tag.
    pub const TAG_LEN: usize = 32;

    /// A policy with these costs, 16 bytes of salt and 32 bytes of tag.
    pub const fn new(params: Params) -> Policy {
        Policy { params, salt_len: Policy::SALT_LEN, tag_len: Policy::TAG_LEN }
    }

    /// The same policy with salts of another length: 8 to 64 bytes.
    ///
    /// # Errors
    /// A length outside this range.
    pub fn with_salt_len(self, salt_len: usize) -> Result<Policy, PolicyError> {
        Limits::RECOMMENDED.check_salt(salt_len)?;
        Ok(Policy { salt_len, ..self })
    }

    /// The same policy with tags of another length: 4 to 128 bytes. Less than 16 is for tests.
    ///
    /// # Errors
    /// A length outside this range.
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

    /// Compares `hash` with this policy.
    ///
    /// The cost of guessing counts: memory, and memory times passes. Less memory with enough more passes that
    /// the product is larger is neither weaker nor stronger. Lanes only determine how the work can be shared,
    /// not its amount.
    pub fn compare(&self, hash: &PasswordHash) -> PolicyComparison {
        match self.compare_costs(hash) {
            CostComparison { less: true, costlier: true, .. }
            | CostComparison { other_variant: true, .. } => PolicyComparison::Different,
            CostComparison { less: true, .. } => PolicyComparison::Weaker,
            CostComparison { more: true, .. } => PolicyComparison::Stronger,
            CostComparison { other_lanes: true, .. } => PolicyComparison::Different,
            _ => PolicyComparison::Same,
        }
    }

    /// Should `hash` be replaced by a hash of this policy? `true` if it is weaker or of another variant, and
    /// if the replacement lowers neither its memory, nor its memory times passes, nor its version.
    pub fn wants_rehash(&self, hash: &PasswordHash) -> bool {
        let costs = self.compare_costs(hash);
        (costs.less || costs.other_variant) && !costs.costlier
    }

    fn compare_costs(&self, hash: &PasswordHash) -> CostComparison {
        let (old, new) = (hash.params(), self.params);
        let work = |params: Params| u64::from(params.memory_kib()) * u64::from(params.passes());
        let costs = [
            old.memory_kib().cmp(&new.memory_kib()),
            work(old).cmp(&work(new)),
            old.version().number().cmp(&new.version().number()),
        ];
        let lengths = [hash.salt().len().cmp(&self.salt_len), hash.tag_len().cmp(&self.tag_len)];
        CostComparison {
            less: costs.iter().chain(&lengths).any(|order| order.is_lt()),
            more: costs.iter().chain(&lengths).any(|order| order.is_gt()),
            costlier: costs.iter().any(|order| order.is_gt()),
            other_variant: old.variant() != new.variant(),
            other_lanes: old.lanes() != new.lanes(),
        }
    }

    /// All differences between `hash` and a hash of this policy.
    pub fn differences(&self, hash: &PasswordHash) -> impl Iterator<Item = Difference> {
        let (old, new) = (hash.params(), self.params);
        let other = |differs: bool, difference| differs.then_some(difference);
        let amount = |what: Quantity, have: u64, want: u64| match have.cmp(&want) {
            Ordering::Less => Some(Difference::Less { what, have, want }),
            Ordering::Equal => None,
            Ordering::Greater => Some(Difference::More { what, have, want }),
        };
        [
            other(
                old.variant() != new.variant(),
                Difference::Variant { have: old.variant(), want: new.variant() },
            ),
            other(
                old.version() != new.version(),
                Difference::Version { have: old.version(), want: new.version() },
            ),
            amount(Quantity::Memory, old.memory_kib().into(), new.memory_kib().into()),
            amount(Quantity::Passes, old.passes().into(), new.passes().into()),
            other(old.lanes() != new.lanes(), Difference::Lanes { have: old.lanes(), want: new.lanes() }),
            amount(Quantity::Salt, hash.salt().len() as u64, self.salt_len as u64),
            amount(Quantity::Tag, hash.tag_len() as u64, self.tag_len as u64),
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

/// An invalid length for a policy.
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

/// Result of comparing a stored hash with a policy, see [`Policy::compare`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PolicyComparison {
    /// Equal to a new hash.
    Same,
    /// Less in nothing, and more in something.
    Stronger,
    /// Less in something, and no more expensive in anything.
    Weaker,
    /// Neither: another variant or other lanes, or less in one respect and more expensive in another.
    Different,
}

/// Facts about a stored hash, relative to a policy.
struct CostComparison {
    /// Something is less than in the policy.
    less: bool,
    /// Something is more.
    more: bool,
    /// Something that makes guessing more expensive is more.
    costlier: bool,
    other_variant: bool,
    other_lanes: bool,
}

/// One difference between a stored hash and a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Difference {
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
        /// The quantity.
        what: Quantity,
        /// The hash's.
        have: u64,
        /// The policy's.
        want: u64,
    },
    /// More memory, more passes, a longer salt or a longer tag.
    More {
        /// The quantity.
        what: Quantity,
        /// The hash's.
        have: u64,
        /// The policy's.
        want: u64,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Difference::Variant { have, want } => write!(f, "{have} instead of {want}"),
            Difference::Version { have, want } => {
                write!(f, "version {} instead of {}", have.number(), want.number())
            }
            Difference::Lanes { have, want } => write!(f, "{have} instead of {want} lanes"),
            Difference::Less { what, have, want } | Difference::More { what, have, want } => match what {
                Quantity::Memory => write!(f, "{have} instead of {want} KiB of memory"),
                Quantity::Passes => write!(f, "{have} instead of {want} passes"),
                Quantity::Salt => write!(f, "{have} instead of {want} bytes of salt"),
                _ => write!(f, "{have} instead of {want} bytes of tag"),
            },
        }
    }
}

/// Named costs. All are Argon2id, version 1.3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    name: &'static str,
    about: &'static str,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    tag_len: usize,
}

/// A row of [`Preset::ALL`].
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

    /// All presets.
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

    /// The preset with this name.
    pub fn by_name(name: &str) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.name == name)
    }

    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Its origin, in a few words.
    pub const fn about(&self) -> &'static str {
        self.about
    }

    /// Its policy.
    pub fn policy(&self) -> Policy {
        let params = Params::new(self.memory_kib, self.passes, self.lanes);
        let params = params.expect("the table has valid costs");
        Policy { params, salt_len: Policy::SALT_LEN, tag_len: self.tag_len }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preset_names_are_unique_and_found() {
        for (index, preset) in Preset::ALL.iter().enumerate() {
            assert_eq!(Preset::by_name(preset.name()), Some(*preset));
            assert!(!Preset::ALL[..index].iter().any(|other| other.name == preset.name));
            assert!(!preset.about().is_empty());
        }
        assert_eq!(Preset::by_name("OWASP"), None);
    }

    #[test]
    fn policy_lengths_are_bounded() {
        let policy = Policy::default();
        for (len, fits) in [(7, false), (8, true), (64, true), (65, false)] {
            assert_eq!(policy.with_salt_len(len).is_ok(), fits, "salt of {len}");
        }
        for (len, fits) in [(3, false), (4, true), (128, true), (129, false)] {
            assert_eq!(policy.with_tag_len(len).is_ok(), fits, "tag of {len}");
        }
    }

    /// A hash with these costs, 16 bytes of salt and 32 of tag.
    fn hash_with_costs(memory: u32, passes: u32, lanes: u32) -> PasswordHash {
        PasswordHash::new(Params::new(memory, passes, lanes).unwrap(), vec![0; 16], vec![0; 32])
    }

    #[test]
    fn comparison_separates_weaker_different_and_stronger() {
        let policy = Policy::default();
        for (costs, comparison, wants) in [
            ((19_456, 2, 1), PolicyComparison::Same, false),
            ((65_536, 3, 4), PolicyComparison::Stronger, false), // argon2-cffi's default
            ((65_536, 3, 1), PolicyComparison::Stronger, false),
            ((19_456, 3, 1), PolicyComparison::Stronger, false),
            ((65_536, 1, 1), PolicyComparison::Stronger, false), // one pass, and more of everything that it costs
            ((19_456, 2, 4), PolicyComparison::Different, false),
            ((24_000, 1, 1), PolicyComparison::Different, false), // more memory, less work
            ((12_288, 4, 1), PolicyComparison::Different, false), // less memory, more work
            ((12_288, 3, 1), PolicyComparison::Weaker, true),     // less of both, although more passes
            ((19_456, 1, 1), PolicyComparison::Weaker, true),
            ((19_456, 1, 8), PolicyComparison::Weaker, true),
            ((64, 2, 1), PolicyComparison::Weaker, true),
        ] {
            let (memory, passes, lanes) = costs;
            let hash = hash_with_costs(memory, passes, lanes);
            assert_eq!((policy.compare(&hash), policy.wants_rehash(&hash)), (comparison, wants), "{costs:?}");
        }
    }

    /// A replacement is never cheaper to guess in any respect.
    #[test]
    fn rehash_never_lowers_a_cost() {
        let steps = [(1, 2), (1, 1), (3, 2), (4, 1)];
        let policy = Policy::new(Params::new(1024, 4, 2).unwrap());
        let new = policy.params();
        let mut replaced = 0;
        for (memory, passes) in steps.into_iter().flat_map(|memory| steps.map(|passes| (memory, passes))) {
            for lanes in [1, 2, 4] {
                for variant in [Variant::Id, Variant::I] {
                    for version in [Version::V10, Version::V13] {
                        for (salt, tag) in [(8, 32), (16, 16), (16, 32), (32, 64)] {
                            let old = Params::new(1024 * memory.0 / memory.1, 4 * passes.0 / passes.1, lanes);
                            let old = old.unwrap().with_variant(variant).with_version(version);
                            let hash = PasswordHash::new(old, vec![0; salt], vec![0; tag]);
                            if policy.wants_rehash(&hash) {
                                replaced += 1;
                                let work = |params: Params| params.memory_kib() * params.passes();
                                assert!(old.memory_kib() <= new.memory_kib() && work(old) <= work(new));
                                assert!(policy.differences(&hash).next().is_some());
                            }
                            let same = policy.compare(&hash) == PolicyComparison::Same;
                            assert_eq!(same, policy.differences(&hash).next().is_none());
                        }
                    }
                }
            }
        }
        assert!(replaced > 50, "{replaced}");
    }

    #[test]
    fn comparison_includes_variants_and_lengths() {
        let params = Params::new(64, 3, 2).unwrap();
        let policy = Policy::new(params);
        let compare = |params: Params, salt: usize, tag: usize| {
            let hash = PasswordHash::new(params, vec![0; salt], vec![0; tag]);
            (policy.compare(&hash), policy.wants_rehash(&hash))
        };
        assert_eq!(compare(params.with_variant(Variant::I), 16, 32), (PolicyComparison::Different, true));
        assert_eq!(compare(params.with_version(Version::V10), 16, 32), (PolicyComparison::Weaker, true));
        assert_eq!(compare(params, 15, 32), (PolicyComparison::Weaker, true));
        assert_eq!(compare(params, 16, 31), (PolicyComparison::Weaker, true));
        assert_eq!(compare(params, 17, 33), (PolicyComparison::Stronger, false));
        assert_eq!(compare(params, 17, 31), (PolicyComparison::Weaker, true));
        let costly = Params::new(65, 3, 2).unwrap();
        assert_eq!(compare(costly.with_variant(Variant::I), 16, 32), (PolicyComparison::Different, false));
        assert_eq!(compare(costly, 16, 16), (PolicyComparison::Different, false));
        let old = Policy::new(params.with_version(Version::V10));
        assert_eq!(old.compare(&hash_with_costs(64, 3, 2)), PolicyComparison::Stronger);
    }

    #[test]
    fn comparison_lists_every_difference() {
        let params = Params::new(64, 3, 2).unwrap();
        let policy = Policy::new(params);
        let words = |params: Params, salt: usize, tag: usize| {
            let hash = PasswordHash::new(params, vec![0; salt], vec![0; tag]);
            policy.differences(&hash).map(|one| one.to_string()).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(words(params, 16, 32), "");
        assert_eq!(words(params.with_variant(Variant::I), 16, 32), "argon2i instead of argon2id");
        assert_eq!(words(params.with_version(Version::V10), 16, 32), "version 16 instead of 19");
        assert_eq!(
            words(Params::new(63, 4, 1).unwrap(), 15, 33),
            "63 instead of 64 KiB of memory; 4 instead of 3 passes; 1 instead of 2 lanes; \
             15 instead of 16 bytes of salt; 33 instead of 32 bytes of tag"
        );
    }
}
