//! Resource usage of commands in a report.

use serde::{Deserialize, Serialize};

/// Measurements of commands; each run is a process of its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Commands {
    /// Time of a process that does nothing, from start to end: no command is faster.
    pub(crate) empty_ns: Option<f64>,
    /// The same time for the shell, if a command needs one.
    pub(crate) shell_ns: Option<f64>,
    /// Least peak of memory that can be measured for a child process: the peak of the lab itself.
    pub(crate) least_bytes: Option<u64>,
    /// Resource usage of the sides, in order.
    pub(crate) used: Vec<ResourceUsage>,
    /// Comparisons of the usage with the first side's.
    pub(crate) uses: Vec<UsageComparison>,
}

/// Resource usage of one command. Values are medians unless stated otherwise, and zero if the system does not report
/// them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ResourceUsage {
    /// Number of measured runs.
    pub(crate) runs: usize,
    /// Time of the fastest run.
    pub(crate) least_ns: f64,
    /// Time of the slowest run.
    pub(crate) most_ns: f64,
    /// Time that one run in twenty exceeds, if there are enough runs.
    pub(crate) p95_ns: Option<f64>,
    /// Processor time in the program.
    pub(crate) user_ns: f64,
    /// Processor time in the kernel.
    pub(crate) system_ns: f64,
    /// Peak of memory.
    pub(crate) peak_bytes: f64,
    /// Bytes read from a device.
    pub(crate) bytes_read: f64,
    /// Bytes written to a device.
    pub(crate) bytes_written: f64,
    /// Pages that had to be read (major faults).
    pub(crate) major_faults: f64,
    /// Involuntary context switches.
    pub(crate) switches: f64,
    /// Bytes of output.
    pub(crate) printed: f64,
    /// Digest of the output of most runs; absent if output was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<String>,
    /// Number of runs with other output.
    pub(crate) odd: usize,
    /// Number of runs with an exit code other than zero.
    pub(crate) failed: usize,
    /// Number of runs that left processes running, which were then killed.
    pub(crate) left: usize,
}

/// A resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Resource {
    /// Processor time, in nanoseconds.
    Processor,
    /// Peak of memory, in bytes.
    Memory,
    /// Bytes read from a device.
    Read,
    /// Bytes written to a device.
    Written,
}

/// Usage relative to the first command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum UsageVerdict {
    /// Proven to be more, by at least 1 %.
    More,
    /// Proven to be less.
    Less,
    /// Within 1 %.
    Same,
    /// None of these is proven.
    Open,
}

/// Usage of one resource by one command, relative to the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct UsageComparison {
    /// Index of the side in the row.
    pub(crate) side: usize,
    /// Resource.
    pub(crate) what: Resource,
    /// Typical usage of the first command.
    pub(crate) first: f64,
    /// Typical usage of this command.
    pub(crate) this: f64,
    /// Ratio of this command to the first, from pairs of runs; absent if one of them used too little to be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ratio: Option<f64>,
    /// Its interval; all intervals of a report together hold in 99 of 100 reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interval: Option<[f64; 2]>,
    /// Whether one of them used less than can be measured, so that the true ratio is at least as far from 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_bound: bool,
    /// Verdict.
    pub(crate) than: UsageVerdict,
}

impl Resource {
    /// All resources.
    pub(crate) const ALL: [Resource; 4] =
        [Resource::Processor, Resource::Memory, Resource::Read, Resource::Written];
}
