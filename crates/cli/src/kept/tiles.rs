//! How files are best cut for a device, as it is kept.

use hashmill_machine as machine;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How files are cut for a device, and how fast they are hashed then.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct TunedTiles {
    pub(crate) measured: String,
    /// As in `--engine`.
    pub(crate) engine: String,
    /// Its name, memory and driver.
    pub(crate) device: String,
    pub(crate) tiles: String,
    pub(crate) bytes_per_second: f64,
    /// The same of all threads of the processor.
    pub(crate) of_processor: f64,
}

impl TunedTiles {
    fn fault(&self) -> Option<String> {
        let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
        if !is_rate(self.bytes_per_second) || !is_rate(self.of_processor) {
            return Some("its bytes in a second are no number".to_owned());
        }
        #[cfg(feature = "gpu")]
        if let Err(error) = self.tiles.parse::<hashmill_gpu::Tiles>() {
            return Some(error.to_string());
        }
        machine::date::parse_utc(&self.measured).is_none().then(|| "its date is none".to_owned())
    }

    /// An entry, or why it is none.
    pub(super) fn read(entry: Value) -> Result<TunedTiles, String> {
        let tuned: TunedTiles = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        tuned.fault().map_or(Ok(tuned), Err)
    }

    #[cfg(feature = "gpu")]
    pub(crate) fn is_for(&self, engine: &str, model: &str) -> bool {
        self.engine == engine && self.device == model
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_holds_or_says_why_not() {
        let entry = json!({
            "measured": "2026-11-27T12:00:00Z", "engine": "cuda", "device": "a card", "tiles": "bytes=4194304 count=8",
            "bytes_per_second": 2e9, "of_processor": 1e9,
        });
        assert_eq!(TunedTiles::read(entry.clone()).expect("whole").bytes_per_second, 2e9);
        let wrong = [
            ("of_processor", json!(-1.0)),
            ("measured", json!("today")),
            // Who knows no devices reads no such line.
            ("tiles", json!("bytes=4194305 count=8")),
        ];
        for (field, value) in
            wrong.into_iter().filter(|(field, _)| cfg!(feature = "gpu") || *field != "tiles")
        {
            let mut entry = entry.clone();
            entry[field] = value;
            assert!(TunedTiles::read(entry).is_err(), "{field}");
        }
    }
}
