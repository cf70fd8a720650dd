//! Errors of a hash.

use super::params::{Params, ParamsError};
use core::fmt;

/// Error of a hash. Its source is the caller or the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HashError {
    /// Caller: parameters out of range.
    Params(ParamsError),
    /// Caller: a tag of less than 4 or more than 2^32 - 1 bytes.
    TagLen {
        /// The requested length in bytes.
        given: u64,
    },
    /// Caller: more than 2^32 - 1 bytes of one input.
    InputTooLong {
        /// The name of the input.
        what: &'static str,
        /// Its length in bytes.
        len: u64,
    },
    /// Caller: the memory passed in is too small.
    TooFewBlocks {
        /// The number of blocks passed in.
        given: u64,
        /// The number of blocks that the parameters need.
        needed: u64,
    },
    /// Caller: [`Stop`](super::Stop) was set before the hash was finished.
    Stopped,
    /// Caller: the process was forked during the hash, and this is the child. The memory of a hash stays with
    /// the process that began it.
    Forked,
    /// Machine: the operating system refused the memory.
    OutOfMemory {
        /// The requested bytes.
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
            HashError::Forked => {
                f.write_str("begun in another process, and its memory is not in a forked child")
            }
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
