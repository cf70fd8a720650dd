//! Engines that compute Argon2 tags: one device, groups that share a batch, and the automatic choice.

#[cfg(feature = "gpu")]
mod auto;
#[cfg(feature = "gpu")]
mod device_tags;
mod engine_group;
mod quarantine_clock;
mod self_test;
mod tag_engine;

#[cfg(feature = "gpu")]
pub(crate) use auto::AutoEngine;
#[cfg(feature = "gpu")]
pub(crate) use device_tags::DeviceTags;
#[cfg(feature = "gpu")]
pub(crate) use engine_group::DeviceEntry;
pub(crate) use engine_group::{CpuEngine, EngineFactory, RequestedGroup};
pub use tag_engine::{EngineShare, RequestedEngine, TagEngine};
