//! Engines of Hashmill: chosen by name, opened, combined, verified, and quarantined after a failure.
//!
//! | I have | I call |
//! |---|---|
//! | names of engines, as `cpu,cuda:1` | [`EngineList`], [`EngineSet::open`] |
//! | inputs of Argon2 | [`EngineSet::batches`], a [`TagEngine`] |
//! | passwords to hash or to verify | [`EnginePasswords`], which checks each result |
//! | files to hash on a device | [`EngineSet::subtrees`] |
//! | nonces to search | [`EngineSet::nonces`], a [`NonceMember`] per engine |
//! | engines that fail now and then | [`Quarantine`] |
//! | memory that several engines share | [`Budget`] |
//! | names of engines with each call | [`EngineCache`] |
//! | measurements of this machine | [`TuneFile`] |
//!
//! Nothing here prints or reads flags or environment variables: an [`EngineEvent`] reports a failure that another engine makes
//! good. The feature `gpu` adds devices.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod budget;
mod cache;
#[cfg(feature = "gpu")]
mod device;
mod event;
mod failure;
mod passwords;
mod quarantine;
mod set;
mod spec;
mod tags;
mod tune_file;

pub use budget::{Budget, Reservation};
pub use cache::EngineCache;
#[cfg(feature = "gpu")]
pub use device::OpenDevice;
pub use event::{EngineEvent, EventSink};
pub use failure::{EngineFailure, FailureCause};
pub use passwords::{EnginePasswords, HashProgress, OnProgress, PasswordFailure};
pub use quarantine::{Admission, Quarantine, QuarantineTimes};
pub use set::{EngineSet, NonceMember, OpenError};
pub use spec::{EngineList, EngineListError, EngineName, EngineSpec};
pub use tags::{EngineShare, RequestedEngine, TagEngine};
pub use tune_file::{
    Argon2Choice, Blake3Choice, Choice, Streams, TuneFile, TuneFileError, TunedArgon2, TunedChoices,
    TunedTiles,
};

/// Compiles and runs the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
