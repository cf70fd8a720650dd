//! Entries of the tune file for Argon2 on a device.

use hashmill_hash::argon2::Params;
use hashmill_machine as machine;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Layout and speed of Argon2 with these costs on a device.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct TunedArgon2 {
    /// Time of the measurement.
    pub measured: String,
    /// As in `--engine`.
    pub engine: String,
    /// Its name, memory and driver.
    pub device: String,
    /// The kind of device; empty in files of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Memory of a hash.
    pub memory_kib: u32,
    /// Passes over the memory.
    pub passes: u32,
    /// Lanes of a hash.
    pub lanes: u32,
    /// The layout, as `hashmill_gpu::Tuning` prints it.
    pub tuning: String,
    /// Hashes per second of the device.
    pub hashes_per_second: f64,
    /// Hashes per second on all threads of the CPU.
    pub of_processor: f64,
}

impl TunedArgon2 {
    /// The day of the measurement; the whole text, if it is none.
    pub fn date(&self) -> &str {
        self.measured.get(..10).unwrap_or(&self.measured)
    }

    /// Whether this is an entry of the device.
    pub fn is_for(&self, engine: &str, model: &str) -> bool {
        self.engine == engine && self.device == model
    }

    /// Whether the device is faster than the CPU.
    pub fn is_faster(&self) -> bool {
        self.hashes_per_second > self.of_processor
    }

    /// Whether it was measured with these costs.
    pub fn has_costs(&self, params: Params) -> bool {
        self.costs() == (params.memory_kib(), params.passes(), params.lanes())
    }

    pub(super) fn costs(&self) -> (u32, u32, u32) {
        (self.memory_kib, self.passes, self.lanes)
    }

    fn fault(&self) -> Option<String> {
        let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
        if !is_rate(self.hashes_per_second) || !is_rate(self.of_processor) {
            return Some("its hashes per second are not a valid number".to_owned());
        }
        if Params::new(self.memory_kib, self.passes, self.lanes).is_err() {
            return Some("its costs are invalid".to_owned());
        }
        #[cfg(feature = "gpu")]
        if let Err(error) = self.tuning.parse::<hashmill_gpu::Tuning>() {
            return Some(error.to_string());
        }
        machine::date::parse_utc(&self.measured).is_none().then(|| "its date is invalid".to_owned())
    }

    /// Parses a device entry, or says what is wrong with it.
    pub(super) fn parse(entry: Value) -> Result<TunedArgon2, String> {
        let tuned: TunedArgon2 = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        tuned.fault().map_or(Ok(tuned), Err)
    }
}
