//! Entries of the tune file for file tiles on a device.

use hashmill_machine as machine;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// File tiles for a device, and the speed with them.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct TunedTiles {
    /// Time of the measurement.
    pub measured: String,
    /// As in `--engine`.
    pub engine: String,
    /// Its name, memory and driver.
    pub device: String,
    /// The tiles, as `hashmill_gpu::Tiles` prints them.
    pub tiles: String,
    /// Bytes per second of the device.
    pub bytes_per_second: f64,
    /// Bytes per second on all threads of the CPU.
    pub of_processor: f64,
}

impl TunedTiles {
    fn fault(&self) -> Option<String> {
        let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
        if !is_rate(self.bytes_per_second) || !is_rate(self.of_processor) {
            return Some("its bytes per second are not a valid number".to_owned());
        }
        #[cfg(feature = "gpu")]
        if let Err(error) = self.tiles.parse::<hashmill_gpu::Tiles>() {
            return Some(error.to_string());
        }
        machine::date::parse_utc(&self.measured).is_none().then(|| "its date is invalid".to_owned())
    }

    /// Parses an entry, or says what is wrong with it.
    pub(super) fn parse(entry: Value) -> Result<TunedTiles, String> {
        let tuned: TunedTiles = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        tuned.fault().map_or(Ok(tuned), Err)
    }

    /// Whether this is an entry of the device.
    pub fn is_for(&self, engine: &str, model: &str) -> bool {
        self.engine == engine && self.device == model
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parses_entries_and_rejects_faults() {
        let entry = json!({
            "measured": "2026-11-27T12:00:00Z", "engine": "cuda", "device": "a card", "tiles": "bytes=4194304 count=8",
            "bytes_per_second": 2e9, "of_processor": 1e9,
        });
        assert_eq!(TunedTiles::parse(entry.clone()).expect("whole").bytes_per_second, 2e9);
        let wrong = [
            ("of_processor", json!(-1.0)),
            ("measured", json!("today")),
            // Builds without `gpu` do not parse tiles.
            ("tiles", json!("bytes=4194305 count=8")),
        ];
        for (field, value) in
            wrong.into_iter().filter(|(field, _)| cfg!(feature = "gpu") || *field != "tiles")
        {
            let mut entry = entry.clone();
            entry[field] = value;
            assert!(TunedTiles::parse(entry).is_err(), "{field}");
        }
    }
}
