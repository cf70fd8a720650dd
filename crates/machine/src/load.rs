//! How busy the machine is, and what this process has used.

use std::time::Duration;

/// How busy the machine was at one moment. Two of them tell what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Load {
    /// Load average of the last minute.
    pub average: Option<f64>,
    /// Time that the hypervisor gave to others, in milliseconds since start-up.
    pub stolen_ms: Option<u64>,
    /// Time that some task waited for a processor, in microseconds since start-up (PSI).
    pub cpu_pressure_us: Option<u64>,
    /// Time that some task waited for memory, in microseconds since start-up (PSI).
    pub memory_pressure_us: Option<u64>,
}

/// What the process has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on processors, of all threads.
    pub cpu: Option<Duration>,
    /// Pages that were given without reading.
    pub minor_faults: Option<u64>,
    /// Pages that had to be read.
    pub major_faults: Option<u64>,
    /// How often the system took a processor away.
    pub involuntary_switches: Option<u64>,
}
