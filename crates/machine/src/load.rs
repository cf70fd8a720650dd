//! Load of the machine, and resource usage of this process.

use std::time::Duration;

/// Load of the machine at one time. The difference of two covers the time in between.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Load {
    /// Load average of the last minute.
    pub average: Option<f64>,
    /// Time that the hypervisor gave to other guests, in milliseconds since start-up.
    pub stolen_ms: Option<u64>,
    /// Time that some task waited for a processor, in microseconds since start-up (PSI).
    pub cpu_pressure_us: Option<u64>,
    /// Time that some task waited for memory, in microseconds since start-up (PSI).
    pub memory_pressure_us: Option<u64>,
}

/// Resource usage of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on processors, of all threads.
    pub cpu: Option<Duration>,
    /// Page faults without a read.
    pub minor_faults: Option<u64>,
    /// Page faults with a read.
    pub major_faults: Option<u64>,
    /// Number of preemptions.
    pub involuntary_switches: Option<u64>,
}
