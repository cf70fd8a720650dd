//! Traits for compute engines on a processor, a graphics card or another machine, and their common parts: a
//! stop flag, staging memory, and errors. Each kind of work has a trait: [`batches`], [`nonces`] and
//! [`subtrees`]. [`EngineGroup`] makes one engine of several for batches.
//!
//! Engines are passed in, never searched for. Their results are bit for bit those of the portable
//! implementation, and they are first tested with known results ([`nonces::self_test`],
//! [`subtrees::self_test`]).

pub mod batches;
mod group;
pub mod nonces;
mod staging;
pub mod subtrees;

pub use crate::stop::Stop;
pub use batches::{BatchEngine, BatchLimits};
pub use group::{EngineGroup, EngineShare};
pub use nonces::{
    Hit, Lease, NonceEngine, NonceJob, NonceLimits, OpenLease, Order, RangeSearch, SearchMonitor,
    SearchProgress, Supply, Work, search, self_test,
};
pub use staging::{Memory, Staging, StagingPool};
pub use subtrees::{Subtree, SubtreeEngine, SubtreeLimits, Tile};

use core::fmt;

/// Error of creating or using an engine. Its source is the caller, the machine or the engine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// Caller: a header that does not fit the function.
    HeaderLen {
        /// Bytes of the header.
        given: usize,
        /// The minimum.
        least: usize,
        /// The maximum.
        most: usize,
    },
    /// Caller: a function that cannot be computed.
    Function {
        /// The reason.
        reason: String,
    },
    /// Caller: zero pieces of work at a time, or more than the maximum.
    InFlight {
        /// The requested number.
        given: usize,
        /// The maximum.
        most: usize,
    },
    /// Caller: bytes that are not a subtree of a tree, do not fit, or are in memory of another engine.
    Tile {
        /// The offset of the tile.
        offset: u64,
        /// The length of the tile in bytes.
        len: usize,
        /// The bytes of memory for it: zero for memory of another engine.
        room: usize,
    },
    /// Caller: the process was forked, and this is the child. The engine's threads or devices stayed with the
    /// parent: make a new engine.
    Forked,
    /// Machine: not enough memory.
    OutOfMemory {
        /// The requested bytes.
        bytes: u64,
    },
    /// Machine: the system refuses threads, or a device is gone or does not answer.
    System {
        /// The system's message.
        reason: String,
    },
    /// Engine: wrong results. This machine or this program is broken, and its results would be rejected.
    SelfTest {
        /// The engine or kernel.
        engine: String,
    },
    /// Engine: progress outside of its lease of nonces. This program is broken, and which of them were tried is
    /// unknown.
    Progress {
        /// The first nonce of the lease.
        start: u64,
        /// The nonce behind its last.
        end: u64,
        /// The nonce below which the engine claims to have tried all.
        next: u64,
    },
}

impl EngineError {
    /// The error of an engine that ended without a stop before its work was done.
    pub(crate) fn ended_early() -> EngineError {
        EngineError::System { reason: "an engine ended before its work was done".to_owned() }
    }
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
            EngineError::Progress { start, end, next } => {
                write!(
                    f,
                    "an engine had the nonces {start} to {end} and claims all below {next}: choose another \
                     engine, and report this"
                )
            }
        }
    }
}

impl core::error::Error for EngineError {}
