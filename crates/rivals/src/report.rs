//! A finished comparison as data: what the table shows, and what a record keeps.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use crate::gates::Verdict;
use crate::host::Host;
use crate::stats::Estimate;

/// The shape of the file; a reader refuses what it does not know.
pub const SCHEMA: u32 = 4;

/// Everything that one run found out, raw samples included.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When the measurement ended.
    pub created: String,
    /// The command line that made it.
    pub command: Vec<String>,
    /// The rival and its version.
    pub rival: String,
    /// How the interval was made, in words.
    pub method: String,
    /// Machine and tools.
    pub host: Host,
    /// Seed of all randomness.
    pub seed: u64,
    /// Gates in the order of their file.
    pub gates: Vec<GateReport>,
}

/// One gate and its rows.
#[derive(Clone, Debug, Serialize)]
pub struct GateReport {
    /// What a reader calls this class of work.
    pub name: String,
    /// The ratio that has to be reached.
    pub must: Option<f64>,
    /// The ratio that would be good.
    pub aim: Option<f64>,
    /// The longest that our side may take, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_us: Option<f64>,
    /// The least favourable verdict of all rows.
    pub verdict: Verdict,
    /// Why rows are missing, if any are.
    pub skipped: Option<String>,
    /// The rows in the order of the gate.
    pub rows: Vec<RowReport>,
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct RowReport {
    /// Its name.
    pub row: String,
    /// Bytes hashed or produced by one call.
    pub bytes: usize,
    /// What is written where it says nanoseconds.
    #[serde(skip_serializing_if = "Unit::is_time")]
    pub unit: Unit,
    /// The estimate.
    #[serde(flatten)]
    pub estimate: Numbers,
    /// What it means for the gate.
    pub verdict: Verdict,
    /// How our side did it: the kernel, or the flags.
    pub how: String,
    /// Raw samples.
    pub sessions: Vec<SessionReport>,
}

/// What a sample is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Nanoseconds.
    #[default]
    Time,
    /// Bytes, in the fields that elsewhere hold nanoseconds: the fewer, the better, as with time.
    Bytes,
}

impl Unit {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    fn is_time(&self) -> bool {
        *self == Self::Time
    }
}

/// An estimate as it is written to a file.
#[derive(Clone, Debug, Serialize)]
pub struct Numbers {
    /// Nanoseconds per call of the rival.
    pub rival_ns: f64,
    /// Nanoseconds per call of ours.
    pub ours_ns: f64,
    /// Rival over ours.
    pub ratio: f64,
    /// The 99 % interval, where there are enough sessions for one.
    pub interval: Option<[f64; 2]>,
}

/// What one process measured for one row.
#[derive(Clone, Debug, Serialize)]
pub struct SessionReport {
    /// The worker that ran it.
    pub worker: String,
    /// Calls per sample.
    pub calls: u64,
    /// Nanoseconds per call of the rival, pair by pair.
    pub rival_ns: Vec<f64>,
    /// Nanoseconds per call of ours, pair by pair.
    pub ours_ns: Vec<f64>,
}

impl From<&Estimate> for Numbers {
    fn from(e: &Estimate) -> Self {
        Self {
            rival_ns: rounded(e.rival_ns),
            ours_ns: rounded(e.ours_ns),
            ratio: rounded(e.ratio),
            interval: e.interval.map(|ends| ends.map(rounded)),
        }
    }
}

/// Four significant digits: a tenth of what a quiet machine repeats, and a record stays small.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    if digits >= 0 {
        let scale = 10_f64.powi(digits);
        (value * scale).round() / scale
    } else {
        let scale = 10_f64.powi(-digits);
        (value / scale).round() * scale
    }
}

impl Report {
    /// Writes the record to `<folder>/<host>/<date>-<topic>.json` and returns the path.
    pub fn record(&self, folder: &Path, topic: &str) -> anyhow::Result<PathBuf> {
        let date = self.created.split('T').next().unwrap_or_default();
        let path = folder.join(self.host.machine.slug()).join(format!("{date}-{topic}.json"));
        let parent = path.parent().context("a record lies in a folder")?;
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, self.to_json() + "\n"))
            .with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// The report as JSON with one line per row and per gate, so that two records can be compared line by line.
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string(self).expect("plain data without maps");
        json.replace(r#"{"name":"#, "\n{\"name\":").replace(r#"{"row":"#, "\n{\"row\":")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_survive() {
        assert_eq!(rounded(0.0), 0.0);
        assert_eq!(rounded(1.234_567), 1.235);
        assert_eq!(rounded(98_765_432.1), 98_770_000.0);
        assert_eq!(rounded(0.000_123_456_78), 0.000_123_5);
        assert!(rounded(f64::NAN).is_nan());
    }
}
