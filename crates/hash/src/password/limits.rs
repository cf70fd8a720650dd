//! Limits on the cost of a stored string, checked before any computation.

use crate::argon2::Params;
use core::fmt;

/// Limits on the costs in a string. They are checked before memory is taken and before salt and tag are
/// decoded, so that a string over them costs nothing. A string within them costs what it asks for: an
/// attacker who can choose strings can make each verification cost as much as the limits allow, as often at
/// once as there are callers ([`Passwords::memory_budget`](super::Passwords::memory_budget) bounds all of
/// them together).
///
/// | limits | the most expensive string within them, on one core of Zen 4 |
/// |---|---|
/// | [`Limits::around`] a policy, the default of [`Passwords`](super::Passwords) | [`FACTOR`](Limits::FACTOR) times a new hash: for the default policy 152 MiB, 0.13 s |
/// | [`Limits::for_policy`], for a service that wrote all its strings itself | a new hash: for the default policy 19 MiB, 0.014 s |
/// | [`Limits::RECOMMENDED`], for tools on the user's own strings | 2 GiB, four passes: about 6 s |
/// | [`Limits::NONE`] | 4 TiB, years |
///
/// New limits may be added. Outside of this crate, start from one of these and change its fields.
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
    /// Fewest bytes of tag. With a truncated tag an attacker must not get guesses cheaper than 2^128.
    pub min_tag: usize,
    /// Most bytes of tag.
    pub max_tag: usize,
    /// The highest cost of bcrypt, the base-2 logarithm of the number of rounds. For foreign strings (feature
    /// `foreign`), as is everything below.
    pub bcrypt_cost: u32,
    /// Most iterations of PBKDF2, counted for each piece of a tag. scrypt is subject to the memory and work
    /// limits above.
    pub iterations: u32,
}

impl Limits {
    /// The default ratio of the memory, and of the work, of a stored hash and a new one.
    ///
    /// Eight times the default policy covers the settings of OWASP, argon2-cffi, RFC 9106 (its second
    /// recommendation) and libsodium (for interactive use), so that a service can take over such hashes.
    pub const FACTOR: u32 = 8;

    /// Allows everything that RFC 9106, OWASP, libsodium and argon2-cffi recommend, up to 2 GiB and several
    /// seconds: for users who verify their own strings. Too much for a service that takes strings from
    /// others.
    ///
    /// Salts have at least 8 bytes, as in the reference implementation, and tags 16.
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

    /// No limits except those of the function. Only for strings that you made.
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

    /// Checks costs.
    ///
    /// # Errors
    /// The first violated limit: memory, then passes, then lanes, then work.
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

/// Memory times passes. Unlike [`Params::work`], memory is not rounded down: a limit is easier to state like
/// that.
pub(super) fn work_kib(params: Params) -> u64 {
    u64::from(params.memory_kib()) * u64::from(params.passes())
}

fn at_most(what: Quantity, given: u64, bound: u64) -> Result<(), OverLimit> {
    if given <= bound { Ok(()) } else { Err(OverLimit { what, given, bound, is_least: false }) }
}

fn at_least(what: Quantity, given: u64, bound: u64) -> Result<(), OverLimit> {
    if given >= bound { Ok(()) } else { Err(OverLimit { what, given, bound, is_least: true }) }
}

/// Quantity that a limit applies to.
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

/// A violated limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverLimit {
    /// The quantity.
    pub what: Quantity,
    /// The value in the string.
    pub given: u64,
    /// The limit.
    pub bound: u64,
    /// Is `bound` the required minimum, rather than the permitted maximum?
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
