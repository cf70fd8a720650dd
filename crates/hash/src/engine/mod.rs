//! What computes on whatever device: a processor, a card, another machine. Here is what is common to all of them, a request
//! to stop, memory that engines lend, and why an engine cannot work. What an engine is asked for has a trait each: [`batches`],
//! [`nonces`] and [`subtrees`]. Several of them are one: [`Together`].
//!
//! Engines are handed in, never looked for. What one of them gives is bit for bit what the portable implementation gives, and
//! it is asked for known results first ([`nonces::self_test`], [`subtrees::self_test`]).

pub mod batches;
pub mod nonces;
mod staging;
pub mod subtrees;
mod together;

pub use crate::stop::Stop;
pub use batches::{BatchEngine, BatchLimits};
pub use nonces::{Hit, NonceEngine, NonceJob, NonceLimits, Searched, Watch, self_test};
pub use staging::{Memory, Staging, StagingPool};
pub use subtrees::{Subtree, SubtreeEngine, SubtreeLimits, Tile};
pub use together::{Share, Together};

use core::fmt;

/// Why an engine cannot be made, or not work. Sorted by whose doing it is: the caller's, the machine's, the engine's.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// The caller's: a header that does not fit the function.
    HeaderLen {
        /// Bytes that were given.
        given: usize,
        /// The fewest.
        least: usize,
        /// The most.
        most: usize,
    },
    /// The caller's: a function that nothing can be computed with.
    Function {
        /// What is wrong with it.
        reason: String,
    },
    /// The caller's: an engine that does nothing, or more at once than can be done.
    InFlight {
        /// What was asked for.
        given: usize,
        /// The most.
        most: usize,
    },
    /// The caller's: bytes that are no subtree of a tree, do not fit, or lie in memory of another engine.
    Tile {
        /// Where they begin.
        offset: u64,
        /// How many they are.
        len: usize,
        /// How many bytes of memory there are for them: none of this engine's if it is another's.
        room: usize,
    },
    /// The caller's: the process was forked, and this is the child. The engine's threads or devices stayed with the parent:
    /// make a new engine.
    Forked,
    /// The machine's: no memory.
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: u64,
    },
    /// The machine's: the system refuses threads, or a device is gone or does not answer.
    System {
        /// What it said.
        reason: String,
    },
    /// The engine gives wrong results: this machine or this program is broken, and what it finds would be refused.
    SelfTest {
        /// Which engine or kernel.
        engine: String,
    },
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::HeaderLen { given, least, most } if least == most => {
                write!(f, "a header of {given} bytes: this function needs {least}")
            }
            EngineError::HeaderLen { given, least, most } => {
                write!(f, "a header of {given} bytes: this function needs {least} to {most}")
            }
            EngineError::Function { reason } => write!(f, "a function that cannot be computed: {reason}"),
            EngineError::InFlight { given, most } => {
                write!(f, "{given} at a time: choose 1 to {most}")
            }
            EngineError::Tile { offset, len, room } => {
                write!(
                    f,
                    "{len} bytes at {offset} are no subtree, or more than there is room for: {room} bytes"
                )
            }
            EngineError::Forked => f.write_str("made in another process: its threads stayed there"),
            EngineError::OutOfMemory { bytes } => {
                write!(f, "the system refused {bytes} bytes of memory: choose less work at a time")
            }
            EngineError::System { reason } => write!(f, "the system refuses: {reason}"),
            EngineError::SelfTest { engine } => {
                write!(
                    f,
                    "{engine} gives wrong digests on this machine: choose another, and check the memory"
                )
            }
        }
    }
}

impl core::error::Error for EngineError {}
