//! What no implementation can do without, and the time that it takes on this machine at best.
//!
//! A workload counts its [`Work`] on paper. The lab's probes measure on the spot how fast the machine does each kind
//! of it alone; the slowest kind is the floor of the row, and the row's time over the floor says what is left to win.

use serde::{Deserialize, Serialize};

/// From this size on an input is counted as coming from memory: larger than the caches of common processors.
const BEYOND_CACHES: u64 = 64 << 20;

/// The least that one iteration has to do, whoever does it. Zero where a kind of work does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Bytes that pass between memory and the processor.
    pub memory_bytes: u64,
    /// Bytes of results of simple vector instructions: 64 for each addition of two 512-bit registers.
    pub vector_bytes: u64,
    /// Simple instructions each of which waits for the one before, in the longest chain.
    pub chain: u64,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// Moving bytes.
    Memory,
    /// Instructions side by side.
    Ports,
    /// Instructions one after the other.
    Latency,
}

impl Bound {
    /// All of them.
    pub const ALL: [Bound; 3] = [Bound::Memory, Bound::Ports, Bound::Latency];

    /// The word of a table.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Ports => "ports",
            Bound::Latency => "latency",
        }
    }
}

impl Work {
    /// How much of one kind.
    #[must_use]
    pub fn of(&self, bound: Bound) -> u64 {
        match bound {
            Bound::Memory => self.memory_bytes,
            Bound::Ports => self.vector_bytes,
            Bound::Latency => self.chain,
        }
    }

    /// The bytes of an input that count as memory traffic: all of a large one, none of one that a cache holds.
    #[must_use]
    pub fn from_memory(bytes: u64) -> u64 {
        if bytes < BEYOND_CACHES { 0 } else { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cache_holds_is_no_memory_traffic() {
        assert_eq!(Work::from_memory((64 << 20) - 1), 0);
        assert_eq!(Work::from_memory(64 << 20), 64 << 20);
    }

    #[test]
    fn each_kind_is_counted_for_itself() {
        let work = Work { memory_bytes: 1, vector_bytes: 2, chain: 3 };
        assert_eq!(Bound::ALL.map(|bound| work.of(bound)), [1, 2, 3]);
    }
}
