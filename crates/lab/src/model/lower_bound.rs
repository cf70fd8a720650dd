//! Minimal work of an iteration, and the kinds of hardware limits that bound its time.
//!
//! A workload counts its [`MinimalWork`] by hand. The lab's probes measure how fast this machine does each kind of it
//! alone. The slowest kind is the lower bound (`floor`) of the row; the row's time over it shows the remaining
//! potential.

use serde::{Deserialize, Serialize};

/// Inputs from this size on count as read from memory: larger than the caches of common processors.
const BEYOND_CACHES: u64 = 64 << 20;

/// Minimal work of one iteration in any implementation. Zero if a kind of work does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MinimalWork {
    /// Bytes moved between memory and the processor.
    pub memory_bytes: u64,
    /// Bytes of results of simple vector instructions: 64 for each addition of two 512-bit registers.
    pub vector_bytes: u64,
    /// Simple instructions in the longest dependency chain.
    pub chain: u64,
}

/// Kind of hardware limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum BoundKind {
    /// Memory bandwidth.
    Memory,
    /// Instruction throughput.
    Ports,
    /// Latency of dependent instructions.
    Latency,
}

impl BoundKind {
    /// All of them.
    pub const ALL: [BoundKind; 3] = [BoundKind::Memory, BoundKind::Ports, BoundKind::Latency];

    /// Name in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            BoundKind::Memory => "memory",
            BoundKind::Ports => "ports",
            BoundKind::Latency => "latency",
        }
    }
}

impl MinimalWork {
    /// Work of one kind.
    #[must_use]
    pub fn amount(&self, bound: BoundKind) -> u64 {
        match bound {
            BoundKind::Memory => self.memory_bytes,
            BoundKind::Ports => self.vector_bytes,
            BoundKind::Latency => self.chain,
        }
    }

    /// Bytes of an input that count as memory traffic: all of a large one, none of one that fits a cache.
    #[must_use]
    pub fn from_memory(bytes: u64) -> u64 {
        if bytes < BEYOND_CACHES { 0 } else { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_data_are_not_memory_traffic() {
        assert_eq!(MinimalWork::from_memory((64 << 20) - 1), 0);
        assert_eq!(MinimalWork::from_memory(64 << 20), 64 << 20);
    }

    #[test]
    fn each_kind_is_counted_for_itself() {
        let work = MinimalWork { memory_bytes: 1, vector_bytes: 2, chain: 3 };
        assert_eq!(BoundKind::ALL.map(|bound| work.amount(bound)), [1, 2, 3]);
    }
}
