//! What a stored string may cost before any of it is computed.

use super::policy::Policy;
use crate::argon2::Params;
use core::fmt;

/// Caps on what a string may ask for. They are checked before memory is taken and before salt and tag are decoded, so
/// that a string over them costs nothing. A string within them costs what it asks for: whoever may choose strings can make
/// each check cost as much as the caps say, and as many checks at once as there are callers
/// ([`Passwords::memory_budget`](super::Passwords::memory_budget) bounds all of them together).
///
/// | limits | the dearest string that they let through, on one core of Zen 4 |
/// |---|---|
/// | [`Limits::around`] a policy, what [`Passwords`](super::Passwords) take | [`FACTOR`](Limits::FACTOR) times a new hash: for the default policy 152 MiB, 0.13 s |
/// | [`Limits::for_policy`], for a service whose strings are all its own | a new hash: for the default policy 19 MiB, 0.014 s |
/// | [`Limits::RECOMMENDED`], for tools that people use on strings of their own | 2 GiB, four passes: about 6 s |
/// | [`Limits::NONE`] | 4 TiB, years |
///
/// New caps may come. Outside of this crate limits are made from one of these, and their fields changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Most memory in KiB.
    pub memory_kib: u32,
    /// Most passes.
    pub passes: u32,
    /// Most lanes.
    pub lanes: u32,
    /// Most memory in KiB times passes, which is what time is proportional to.
    pub work_kib: u64,
    /// Fewest bytes of salt.
    pub min_salt: usize,
    /// Most bytes of salt.
    pub max_salt: usize,
    /// Fewest bytes of tag. Somebody who can cut a stored tag short must not get guesses cheaper than 2^128.
    pub min_tag: usize,
    /// Most bytes of tag.
    pub max_tag: usize,
    /// The highest cost of bcrypt: two to its power is the number of rounds. For strings of others (feature `foreign`), as
    /// all from here on.
    pub bcrypt_cost: u32,
    /// Most iterations of PBKDF2, counted for each piece of a tag. scrypt is held to the memory and the work above.
    pub iterations: u32,
}

impl Limits {
    /// How many times the memory, and the work, of a new hash a stored one may cost by default.
    ///
    /// Eight times the default policy is more than what OWASP, argon2-cffi, RFC 9106 (its second recommendation) and
    /// libsodium (for interactive use) make, so that a service can take over hashes from there.
    pub const FACTOR: u32 = 8;

    /// What lets through all that RFC 9106, OWASP, libsodium and argon2-cffi recommend, up to 2 GiB and several seconds:
    /// for people who check strings of their own. Too much for a service that takes strings from others.
    ///
    /// Salts have 8 bytes at least, as in the reference implementation, and tags 16.
    pub const RECOMMENDED: Limits = Limits {
        memory_kib: 1 << 21,
        passes: 1024,
        lanes: 256,
        work_kib: 1 << 23,
        min_salt: 8,
        max_salt: 64,
        min_tag: 16,
        max_tag: 128,
        bcrypt_cost: 16,
        iterations: 10_000_000,
    };

    /// No caps but those of the function itself. Only for strings that you made.
    pub const NONE: Limits = Limits {
        memory_kib: u32::MAX,
        passes: u32::MAX,
        lanes: Params::MAX_LANES,
        work_kib: u64::MAX,
        min_salt: 0,
        max_salt: u32::MAX as usize,
        min_tag: Params::MIN_TAG_LEN,
        max_tag: u32::MAX as usize,
        bcrypt_cost: 31,
        iterations: u32::MAX,
    };

    /// What [`FACTOR`](Limits::FACTOR) hashes after `policy` cost together: in memory, and in memory times passes. Passes
    /// and lanes, which cost nothing more by themselves, and the lengths of salt and tag are held to the usual.
    pub fn around(policy: &Policy) -> Limits {
        let params = policy.params();
        let caps = Limits {
            memory_kib: params.memory_kib().saturating_mul(Limits::FACTOR),
            work_kib: work_kib(params).saturating_mul(Limits::FACTOR.into()),
            // About as much time as the dearest of Argon2, and what is usual: the defaults are at most 12, and 1,200,000.
            bcrypt_cost: 13,
            iterations: 2_000_000,
            ..Limits::RECOMMENDED
        };
        caps.covering(policy)
    }

    /// The tightest caps that let through what `policy` makes: for a service whose strings all come from itself.
    pub fn for_policy(policy: &Policy) -> Limits {
        let params = policy.params();
        Limits {
            memory_kib: params.memory_kib(),
            passes: params.passes(),
            lanes: params.lanes(),
            work_kib: work_kib(params),
            min_salt: Limits::RECOMMENDED.min_salt,
            max_salt: policy.salt_len().max(Limits::RECOMMENDED.min_salt),
            min_tag: Limits::RECOMMENDED.min_tag.min(policy.tag_len()),
            max_tag: policy.tag_len(),
            bcrypt_cost: 0,
            iterations: 0,
        }
    }

    /// The same, raised where `policy` needs more.
    pub fn covering(self, policy: &Policy) -> Limits {
        let params = policy.params();
        Limits {
            memory_kib: self.memory_kib.max(params.memory_kib()),
            passes: self.passes.max(params.passes()),
            lanes: self.lanes.max(params.lanes()),
            work_kib: self.work_kib.max(work_kib(params)),
            min_salt: self.min_salt.min(policy.salt_len()),
            max_salt: self.max_salt.max(policy.salt_len()),
            min_tag: self.min_tag.min(policy.tag_len()),
            max_tag: self.max_tag.max(policy.tag_len()),
            ..self
        }
    }

    /// Checks costs.
    ///
    /// # Errors
    /// The first cap that is broken: memory, then passes, then lanes, then work.
    pub fn check(&self, params: Params) -> Result<(), OverLimit> {
        at_most(Quantity::Memory, params.memory_kib().into(), self.memory_kib.into())?;
        at_most(Quantity::Passes, params.passes().into(), self.passes.into())?;
        at_most(Quantity::Lanes, params.lanes().into(), self.lanes.into())?;
        at_most(Quantity::Work, work_kib(params), self.work_kib)
    }

    /// Checks the length of a salt in bytes.
    pub(super) fn check_salt(&self, len: usize) -> Result<(), OverLimit> {
        at_least(Quantity::Salt, len as u64, self.min_salt as u64)?;
        at_most(Quantity::Salt, len as u64, self.max_salt as u64)
    }

    /// Checks the length of a tag in bytes.
    pub(super) fn check_tag(&self, len: usize) -> Result<(), OverLimit> {
        at_least(Quantity::Tag, len as u64, self.min_tag as u64)?;
        at_most(Quantity::Tag, len as u64, self.max_tag as u64)
    }
}

impl Default for Limits {
    /// [`Limits::around`] the default policy.
    fn default() -> Limits {
        Limits::around(&Policy::default())
    }
}

/// Memory times passes. Not [`Params::work`], which rounds memory down: a cap is easier to state without that.
fn work_kib(params: Params) -> u64 {
    u64::from(params.memory_kib()) * u64::from(params.passes())
}

fn at_most(what: Quantity, given: u64, bound: u64) -> Result<(), OverLimit> {
    if given <= bound { Ok(()) } else { Err(OverLimit { what, given, bound, is_least: false }) }
}

fn at_least(what: Quantity, given: u64, bound: u64) -> Result<(), OverLimit> {
    if given >= bound { Ok(()) } else { Err(OverLimit { what, given, bound, is_least: true }) }
}

/// What a cap is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Quantity {
    /// Memory in KiB (m).
    Memory,
    /// Passes over the memory (t).
    Passes,
    /// Lanes (p).
    Lanes,
    /// Memory in KiB times passes.
    Work,
    /// Bytes of salt.
    Salt,
    /// Bytes of tag.
    Tag,
    /// The cost of bcrypt.
    BcryptCost,
    /// Iterations of PBKDF2.
    Iterations,
}

/// A cap that a string breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverLimit {
    /// Of what there is too much, or too little.
    pub what: Quantity,
    /// How much there is.
    pub given: u64,
    /// How much may be.
    pub bound: u64,
    /// Whether `bound` is the least that is needed rather than the most that is allowed.
    pub is_least: bool,
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OverLimit { what, given, bound, is_least } = *self;
        match what {
            Quantity::Memory => write!(f, "{given} KiB of memory")?,
            Quantity::Passes => write!(f, "{given} passes")?,
            Quantity::Lanes => write!(f, "{given} lanes")?,
            Quantity::Work => write!(f, "{given} KiB of memory times passes")?,
            Quantity::Salt => write!(f, "{given} bytes of salt")?,
            Quantity::Tag => write!(f, "{given} bytes of tag")?,
            Quantity::BcryptCost => write!(f, "a cost of {given}")?,
            Quantity::Iterations => write!(f, "{given} iterations")?,
        }
        if is_least {
            write!(f, ", where at least {bound} are required")
        } else {
            write!(f, ", where at most {bound} are allowed")
        }
    }
}

impl core::error::Error for OverLimit {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::password::Preset;

    #[test]
    fn every_preset_passes_what_is_recommended() {
        for preset in Preset::ALL {
            let policy = preset.policy();
            for limits in [Limits::RECOMMENDED, Limits::for_policy(&policy)] {
                assert_eq!(limits.check(policy.params()), Ok(()), "{}", preset.name());
                assert_eq!(limits.check_salt(policy.salt_len()), Ok(()), "{}", preset.name());
                assert_eq!(limits.check_tag(policy.tag_len()), Ok(()), "{}", preset.name());
            }
        }
    }

    #[test]
    fn caps_are_exact() {
        let limits = Limits { memory_kib: 64, passes: 3, lanes: 2, work_kib: 128, ..Limits::RECOMMENDED };
        let check = |m, t, p| limits.check(Params::new(m, t, p).unwrap()).map_err(|error| error.to_string());
        assert_eq!(check(64, 2, 2), Ok(()));
        assert_eq!(check(65, 1, 2).unwrap_err(), "65 KiB of memory, where at most 64 are allowed");
        assert_eq!(check(16, 4, 2).unwrap_err(), "4 passes, where at most 3 are allowed");
        assert_eq!(check(24, 1, 3).unwrap_err(), "3 lanes, where at most 2 are allowed");
        assert_eq!(
            check(64, 3, 2).unwrap_err(),
            "192 KiB of memory times passes, where at most 128 are allowed"
        );
        let huge = Params::new(u32::MAX, u32::MAX, 1).unwrap();
        assert_eq!(Limits::NONE.check(huge), Ok(()));
        assert!(Limits::RECOMMENDED.check(huge).is_err());
    }

    #[test]
    fn limits_grow_to_cover_a_policy() {
        let policy = Policy::new(Params::new(1 << 22, 2, 1).unwrap());
        let limits = Limits::RECOMMENDED.covering(&policy);
        assert_eq!(limits.check(policy.params()), Ok(()));
        assert_eq!(limits.lanes, Limits::RECOMMENDED.lanes);
    }

    #[test]
    fn the_dearest_string_costs_a_known_number_of_new_hashes() {
        for preset in Preset::ALL {
            let (policy, params) = (preset.policy(), preset.policy().params());
            let limits = Limits::around(&policy);
            assert_eq!(u64::from(limits.memory_kib), 8 * u64::from(params.memory_kib()), "{}", preset.name());
            assert_eq!(limits.work_kib, 8 * work_kib(params), "{}", preset.name());
            assert_eq!(limits.check(params), Ok(()), "{}", preset.name());
        }
        let default = Limits::default();
        assert_eq!((default.memory_kib, default.work_kib), (152 << 10, 304 << 10));
        // What services bring along.
        for name in ["rfc9106-second", "libsodium-interactive", "owasp-46m", "owasp-7m", "argon2sharp-high"] {
            let params = Preset::by_name(name).unwrap().policy().params();
            assert_eq!(default.check(params), Ok(()), "{name}");
        }
        // What would cost seconds and gigabytes.
        let dear = Params::new(1 << 21, 4, 1).unwrap();
        assert_eq!(default.check(dear).unwrap_err().what, Quantity::Memory);
        assert_eq!(default.check(Params::new(8, 1024, 1).unwrap()), Ok(()));
        assert_eq!(default.check(Params::new(1024, 1024, 1).unwrap()).unwrap_err().what, Quantity::Work);
    }
}
