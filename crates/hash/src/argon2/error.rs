//! Why a hash was not computed.

use super::params::{Params, ParamsError};
use core::fmt;

/// Why a hash was not computed. Sorted by whose doing it is: the caller's, the machine's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HashError {
    /// The caller's: parameters out of range.
    Params(ParamsError),
    /// The caller's: a tag of less than 4 or more than 2^32 - 1 bytes.
    TagLen {
        /// What was asked for, in bytes.
        given: u64,
    },
    /// The caller's: more than 2^32 - 1 bytes of one input.
    InputTooLong {
        /// Which input.
        what: &'static str,
        /// Its length in bytes.
        len: u64,
    },
    /// The caller's: the memory that was handed in is too small.
    TooFewBlocks {
        /// How many blocks were handed in.
        given: u64,
        /// How many the parameters need.
        needed: u64,
    },
    /// The caller's: [`Stop`](super::Stop) was set before the hash was finished.
    Stopped,
    /// The caller's: the process was forked while the hash was at work, and this is the child. Memory of a hash stays with
    /// the process that began it.
    Forked,
    /// The machine's: the operating system refused the memory.
    OutOfMemory {
        /// How much was asked for.
        bytes: u64,
    },
}

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            HashError::Params(error) => error.fmt(f),
            HashError::TagLen { given } => {
                write!(f, "tag of {given} bytes: choose {} to {}", Params::MIN_TAG_LEN, Params::MAX_LEN)
            }
            HashError::InputTooLong { what, len } => {
                write!(f, "{what} of {len} bytes: at most {} can be hashed", Params::MAX_LEN)
            }
            HashError::TooFewBlocks { given, needed } => {
                write!(f, "memory of {given} KiB: these parameters need {needed} KiB")
            }
            HashError::Stopped => f.write_str("stopped before the hash was finished"),
            HashError::Forked => f.write_str("begun in another process: what it had in memory stayed there"),
            HashError::OutOfMemory { bytes } => {
                write!(f, "the system refused {bytes} bytes of memory: choose a smaller memory cost")
            }
        }
    }
}

impl core::error::Error for HashError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            HashError::Params(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ParamsError> for HashError {
    fn from(error: ParamsError) -> HashError {
        HashError::Params(error)
    }
}
