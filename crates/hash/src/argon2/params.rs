//! Parameters of a hash: variant, version and cost, checked once on construction.

use core::fmt;
use core::str::FromStr;

/// Variant of the function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Variant {
    /// Addresses depend on the data: best against custom hardware, open to cache-timing attacks.
    D,
    /// Addresses never depend on the password: no trace in the cache, but attacks with less memory are
    /// cheaper.
    I,
    /// The first half of the first pass as `I`, the rest as `D`. The one to use for passwords.
    Id,
}

impl Variant {
    /// All three, in the order of their numbers.
    pub const ALL: [Variant; 3] = [Variant::D, Variant::I, Variant::Id];

    /// The name in PHC strings: `argon2d`, `argon2i`, `argon2id`.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::D => "argon2d",
            Variant::I => "argon2i",
            Variant::Id => "argon2id",
        }
    }

    /// The number that is hashed for the variant: 0, 1 or 2.
    pub const fn number(self) -> u32 {
        match self {
            Variant::D => 0,
            Variant::I => 1,
            Variant::Id => 2,
        }
    }

    /// Are the blocks of this slice addressed independently of all block contents?
    pub(super) const fn is_independent(self, pass: u32, slice: u32) -> bool {
        match self {
            Variant::D => false,
            Variant::I => true,
            Variant::Id => pass == 0 && slice < 2,
        }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Variant {
    type Err = ParamsError;

    /// Accepts exactly the names of [`name`](Variant::name).
    fn from_str(name: &str) -> Result<Variant, ParamsError> {
        Variant::ALL.into_iter().find(|variant| variant.name() == name).ok_or(ParamsError::UnknownVariant)
    }
}

/// Version of the function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Version {
    /// 1.0 (0x10): later passes overwrite blocks. Only for existing hashes.
    V10,
    /// 1.3 (0x13): later passes add to blocks. The version of RFC 9106.
    V13,
}

impl Version {
    /// The number in PHC strings: 16 or 19.
    pub const fn number(self) -> u32 {
        match self {
            Version::V10 => 0x10,
            Version::V13 => 0x13,
        }
    }

    /// The version with this number.
    ///
    /// # Errors
    /// [`ParamsError::UnknownVersion`] for numbers other than 16 and 19.
    pub const fn from_number(number: u32) -> Result<Version, ParamsError> {
        match number {
            0x10 => Ok(Version::V10),
            0x13 => Ok(Version::V13),
            given => Err(ParamsError::UnknownVersion { given }),
        }
    }
}

/// Variant, version and cost of a hash. A value is always within the limits of RFC 9106.
///
/// ```
/// use hashmill_hash::argon2::{Params, Variant};
///
/// let params = Params::new(65_536, 3, 4)?; // 64 MiB, three passes, four lanes; Argon2id
/// assert_eq!(params.with_variant(Variant::D).memory_kib(), 65_536);
/// assert!(Params::new(7, 1, 1).is_err(), "a lane has at least eight KiB");
/// # Ok::<(), hashmill_hash::argon2::ParamsError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Params {
    variant: Variant,
    version: Version,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
}

impl Params {
    /// The most lanes: 2^24 - 1.
    pub const MAX_LANES: u32 = (1 << 24) - 1;
    /// Every lane needs this much memory, as it has four slices of at least two blocks.
    pub const MIN_KIB_PER_LANE: u32 = 8;
    /// The shortest tag in bytes.
    pub const MIN_TAG_LEN: usize = 4;
    /// The longest tag, password, salt, secret or associated data in bytes: 2^32 - 1.
    pub const MAX_LEN: u64 = u32::MAX as u64;

    /// Argon2id, version 0x13.
    ///
    /// All three costs are part of the input. Memory beyond a multiple of `4 * lanes` KiB is not used, and
    /// yet yields another tag.
    ///
    /// # Errors
    /// The first violated limit: lanes, then memory, then passes.
    pub const fn new(memory_kib: u32, passes: u32, lanes: u32) -> Result<Params, ParamsError> {
        if lanes == 0 || lanes > Params::MAX_LANES {
            return Err(ParamsError::Lanes { given: lanes });
        }
        // No overflow: 2^24 lanes times 8.
        if memory_kib < Params::MIN_KIB_PER_LANE * lanes {
            return Err(ParamsError::Memory { given: memory_kib, least: Params::MIN_KIB_PER_LANE * lanes });
        }
        if passes == 0 {
            return Err(ParamsError::Passes);
        }
        Ok(Params { variant: Variant::Id, version: Version::V13, memory_kib, passes, lanes })
    }

    /// The same cost with another variant.
    pub const fn with_variant(self, variant: Variant) -> Params {
        Params { variant, ..self }
    }

    /// The same cost with another version.
    pub const fn with_version(self, version: Version) -> Params {
        Params { version, ..self }
    }

    /// The variant.
    pub const fn variant(self) -> Variant {
        self.variant
    }

    /// The version.
    pub const fn version(self) -> Version {
        self.version
    }

    /// Memory in KiB (m).
    pub const fn memory_kib(self) -> u32 {
        self.memory_kib
    }

    /// Passes over the memory (t).
    pub const fn passes(self) -> u32 {
        self.passes
    }

    /// Lanes that may be computed in parallel (p).
    pub const fn lanes(self) -> u32 {
        self.lanes
    }

    /// The number of blocks in use: the memory rounded down to a multiple of `4 * lanes`.
    pub const fn blocks(self) -> u64 {
        self.shape().blocks()
    }

    /// The number of block computations, which the time of a hash is proportional to.
    pub const fn work(self) -> u64 {
        self.blocks() * self.passes as u64
    }

    pub(super) const fn shape(self) -> Shape {
        let segment_len = self.memory_kib / (SLICES * self.lanes);
        Shape { lanes: self.lanes, segment_len, lane_len: segment_len * SLICES }
    }
}

/// Slices of a pass: lanes synchronise at the end of each.
pub(super) const SLICES: u32 = 4;

/// The shape of the memory: `lanes` rows of `lane_len` blocks, each divided into four segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) lanes: u32,
    pub(super) segment_len: u32,
    pub(super) lane_len: u32,
}

impl Shape {
    pub(super) const fn blocks(self) -> u64 {
        self.lanes as u64 * self.lane_len as u64
    }
}

/// Invalid parameters. Always an error of the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ParamsError {
    /// No lanes, or more than 2^24 - 1.
    Lanes {
        /// The requested number.
        given: u32,
    },
    /// Less than 8 KiB per lane.
    Memory {
        /// The requested memory in KiB.
        given: u32,
        /// The minimum for this number of lanes in KiB.
        least: u32,
    },
    /// No passes.
    Passes,
    /// A version other than 16 (0x10) and 19 (0x13).
    UnknownVersion {
        /// The requested version.
        given: u32,
    },
    /// A variant other than argon2d, argon2i and argon2id.
    UnknownVariant,
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ParamsError::Lanes { given } => {
                write!(f, "{given} lanes: choose 1 to {}", Params::MAX_LANES)
            }
            ParamsError::Memory { given, least } => {
                write!(f, "{given} KiB of memory: choose at least {least} KiB, which is 8 KiB for each lane")
            }
            ParamsError::Passes => f.write_str("0 passes: choose at least 1"),
            ParamsError::UnknownVersion { given } => {
                write!(f, "version {given}: only 16 (1.0) and 19 (1.3) exist")
            }
            ParamsError::UnknownVariant => {
                f.write_str("unknown variant: only argon2d, argon2i and argon2id exist")
            }
        }
    }
}

impl core::error::Error for ParamsError {}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn limits_are_exact() {
        assert!(Params::new(8, 1, 1).is_ok());
        assert_eq!(Params::new(7, 1, 1), Err(ParamsError::Memory { given: 7, least: 8 }));
        assert_eq!(Params::new(31, 1, 4), Err(ParamsError::Memory { given: 31, least: 32 }));
        assert_eq!(Params::new(8, 0, 1), Err(ParamsError::Passes));
        assert_eq!(Params::new(8, 1, 0), Err(ParamsError::Lanes { given: 0 }));
        assert_eq!(Params::new(u32::MAX, 1, 1 << 24), Err(ParamsError::Lanes { given: 1 << 24 }));
        assert!(Params::new(u32::MAX, u32::MAX, Params::MAX_LANES).is_ok());
        assert_eq!(Version::from_number(18), Err(ParamsError::UnknownVersion { given: 18 }));
    }

    #[test]
    fn memory_is_rounded_down_to_whole_segments() {
        let shape = Params::new(71, 1, 3).unwrap().shape();
        assert_eq!(shape, Shape { lanes: 3, segment_len: 5, lane_len: 20 });
        assert_eq!(shape.blocks(), 60);
        // The largest numbers do not overflow.
        let largest = Params::new(u32::MAX, u32::MAX, 1).unwrap();
        assert_eq!(largest.blocks(), u64::from(u32::MAX - 3));
        assert_eq!(largest.work(), u64::from(u32::MAX - 3) * u64::from(u32::MAX));
    }

    #[test]
    fn variant_names_round_trip() {
        for variant in Variant::ALL {
            assert_eq!(variant.name().parse(), Ok(variant));
        }
        assert_eq!("Argon2id".parse::<Variant>(), Err(ParamsError::UnknownVariant));
    }
}
