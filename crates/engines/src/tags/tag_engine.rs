//! Traits of engines that compute Argon2 tags in place of the CPU.

use crate::event::{EngineEvent, EventSink};
use crate::failure::EngineFailure;
use hashmill_hash::argon2::{Job, Params, Stop};
use serde::Serialize;

/// Computes Argon2 tags in place of the CPU. Threads share it; their calls run one after another.
pub trait TagEngine: Send + Sync {
    /// Whether this engine should compute a batch of `count` hashes.
    fn accepts_batch(&self, params: Params, count: usize) -> bool;

    /// Computes all jobs.
    ///
    /// # Errors
    /// Why not all jobs have a result. A stop is an error, too.
    fn compute(&self, params: Params, jobs: &mut [Job<'_>], stop: &Stop) -> Result<(), EngineFailure>;

    /// Frees host memory that the engine keeps for later batches. Memory of a discrete card is not host memory.
    fn release_host_memory(&self) {}

    /// Reports that a result was found to be wrong. The engine passes a self-test before further work. Returns the failure for the
    /// caller of the work.
    fn report_wrong_result(&self) -> EngineFailure;

    /// Reports a failure. Returns whether the CPU takes over: because the engine was chosen automatically, or because a result was
    /// found to be wrong.
    fn falls_back_to_cpu(&self, failure: &EngineFailure) -> bool;

    /// What each engine of a group has computed so far; empty for a single engine.
    fn shares(&self) -> Vec<EngineShare> {
        Vec::new()
    }
}

/// An engine that was requested by name.
pub trait RequestedEngine: TagEngine {
    /// How many of up to `max_hashes` hashes are computed side by side.
    ///
    /// # Errors
    /// As for [`compute`](TagEngine::compute).
    fn batch_width(&self, params: Params, max_hashes: usize) -> Result<usize, EngineFailure>;

    /// The names of its engines and of its devices.
    fn names(&self) -> (String, String);
}

/// Whether the CPU takes over from an engine that was requested by name: only the work of which a result was found to be wrong. An engine
/// that is lost or refuses work is the caller's to replace.
pub(super) fn cpu_replaces_requested(failure: &EngineFailure, events: &EventSink) -> bool {
    let is_wrong = failure.is_wrong_result();
    if is_wrong {
        events(&EngineEvent::CpuTakesOver { failure: failure.clone() });
    }
    is_wrong
}

/// What one engine of a group has computed. Serialized with these field names.
#[derive(Serialize, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct EngineShare {
    /// The name of the engine.
    pub engine: &'static str,
    /// The name of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// A hash that was computed twice counts twice.
    pub hashes: u64,
    /// Why it dropped out, or had no part in hashes of some parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}
