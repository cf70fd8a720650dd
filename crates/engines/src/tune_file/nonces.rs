//! Entries of the tune file for nonce searches: threads, and hashes in flight.

use hashmill_hash::argon2::Params;
use hashmill_machine as machine;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Threads and hashes in flight of a nonce search, and the speed with them.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct TunedNonces {
    /// Time of the measurement.
    pub measured: String,
    /// As in lists of engines.
    pub engine: String,
    /// Name, memory and driver of the device; empty for the CPU.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub device: String,
    /// Memory of a hash.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes of a hash.
    pub lanes: u32,
    /// Threads that search; 1 for a device.
    pub threads: usize,
    /// Hashes in flight on each thread, or on the device.
    pub in_flight: usize,
    /// Hashes per second of all threads.
    pub hashes_per_second: f64,
}

impl TunedNonces {
    /// Whether this is an entry of the device of this model with these costs. The CPU's model is the empty string.
    pub fn is_for(&self, engine: &str, model: &str, params: Params) -> bool {
        let costs = (params.memory_kib(), params.passes(), params.lanes());
        self.engine == engine && self.device == model && self.costs() == costs
    }

    pub(super) fn replaces(&self, other: &TunedNonces) -> bool {
        self.engine == other.engine && self.device == other.device && self.costs() == other.costs()
    }

    fn costs(&self) -> (u32, u32, u32) {
        (self.memory_kib, self.passes, self.lanes)
    }

    fn fault(&self) -> Option<String> {
        if !self.hashes_per_second.is_finite() || self.hashes_per_second < 0.0 {
            return Some("its hashes per second are not a valid number".to_owned());
        }
        if self.threads == 0 || self.in_flight == 0 {
            return Some("its threads and hashes in flight must be at least 1".to_owned());
        }
        if Params::new(self.memory_kib, self.passes, self.lanes).is_err() {
            return Some("its costs are invalid".to_owned());
        }
        machine::date::parse_utc(&self.measured).is_none().then(|| "its date is invalid".to_owned())
    }

    /// Parses an entry, or says what is wrong with it.
    pub(super) fn parse(entry: Value) -> Result<TunedNonces, String> {
        let tuned: TunedNonces = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        tuned.fault().map_or(Ok(tuned), Err)
    }
}
