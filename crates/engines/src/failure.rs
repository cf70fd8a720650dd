//! Failures of engines, with the name under which the engine was requested.

use hashmill_hash::argon2::HashError;
use hashmill_hash::engine::EngineError;
use std::fmt;

/// Reason why an engine has no result.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EngineFailure {
    /// The name of the engine or group, as it was requested.
    pub engine: String,
    /// The cause.
    pub cause: FailureCause,
}

/// Cause of a failure.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FailureCause {
    /// Caller: the work was stopped.
    Stopped,
    /// Caller: `auto` has no measurement of hashes with these costs.
    NotMeasured,
    /// Machine or device: the device could not be found, opened or used.
    Device(hashmill_gpu::Error),
    /// Caller, machine or engine: an error of the engine itself.
    Engine(EngineError),
    /// Machine: the [`Budget`](crate::Budget) has no room for a hash of the engine.
    HashOutOfBudget {
        /// Bytes of the hash.
        bytes: u64,
        /// Bytes of its memory that are not reserved.
        left: u64,
    },
    /// Machine: the [`Budget`](crate::Budget) has no room for the hash by which the CPU checks hits of a device.
    CheckOutOfBudget {
        /// Bytes of the hash.
        bytes: u64,
        /// Bytes of the host that are not reserved.
        left: u64,
    },
    /// Machine: no engine of the group can compute such a hash.
    NoEngineLeft,
    /// Machine: the engine must pass a self-test, and the CPU could not compute the right results. Nothing is known about the
    /// engine.
    NotTested(HashError),
    /// Engine: a result was found to be wrong.
    WrongResult {
        /// The device that computed it.
        device: String,
    },
    /// Engine: a result was found to be wrong, and any member of the group may have computed it.
    WrongResultOfGroup,
}

impl EngineFailure {
    /// A failure of the engine with this name.
    pub fn new(engine: impl Into<String>, cause: FailureCause) -> EngineFailure {
        EngineFailure { engine: engine.into(), cause }
    }

    /// Whether the caller stopped the work: nothing failed.
    pub fn is_stop(&self) -> bool {
        self.cause == FailureCause::Stopped
    }

    /// Whether a check found a wrong result.
    pub fn is_wrong_result(&self) -> bool {
        matches!(self.cause, FailureCause::WrongResult { .. } | FailureCause::WrongResultOfGroup)
    }
}

impl From<hashmill_gpu::Error> for FailureCause {
    fn from(error: hashmill_gpu::Error) -> FailureCause {
        match error {
            hashmill_gpu::Error::Hash(HashError::Stopped) => FailureCause::Stopped,
            error => FailureCause::Device(error),
        }
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureCause::Stopped => f.write_str("the work was stopped"),
            FailureCause::NotMeasured => f.write_str("nothing was measured for this"),
            FailureCause::Device(error) => error.fmt(f),
            FailureCause::Engine(error) => error.fmt(f),
            FailureCause::HashOutOfBudget { bytes, left } => write!(
                f,
                "a hash takes {bytes} bytes, and of the memory budget {left} are left: allow more memory, or cheaper hashes"
            ),
            FailureCause::CheckOutOfBudget { bytes, left } => write!(
                f,
                "the check of its hits takes {bytes} bytes of the host, and of the memory budget {left} are left: allow more memory"
            ),
            FailureCause::NoEngineLeft => f.write_str("none of these can compute such a hash"),
            FailureCause::NotTested(error) => write!(f, "the CPU could not test it: {error}"),
            FailureCause::WrongResult { device } => write!(f, "{device} computed a wrong hash"),
            FailureCause::WrongResultOfGroup => {
                f.write_str("one of these engines computes wrong hashes: request one engine alone")
            }
        }
    }
}

impl fmt::Display for EngineFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.engine, self.cause)
    }
}

impl std::error::Error for EngineFailure {}
