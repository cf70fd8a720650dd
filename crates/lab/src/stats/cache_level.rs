//! Cache level of a case's data, which sets the smallest difference that may be claimed.

use serde::{Deserialize, Serialize};

/// L2 of common server cores is 1 or 2 MiB, and holds more than the data.
const OWN_CACHES: u64 = 1 << 20;

/// Whether the data of a case fit the private caches of one core.
///
/// Other caches are shared with other cores and, on a virtual machine, with invisible neighbours. Sessions of such
/// cases differ by about one percent for reasons outside the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum CacheLevel {
    /// In the private caches of one core.
    #[default]
    Near,
    /// In shared caches or in memory.
    Far,
}

impl CacheLevel {
    /// From the bytes that an iteration passes over. 0 means unknown, which gets the stricter rule.
    pub(crate) fn from_working_set(working_set: u64) -> Self {
        if (1..OWN_CACHES).contains(&working_set) { CacheLevel::Near } else { CacheLevel::Far }
    }

    /// For serde: reports omit the default.
    pub(crate) fn is_near(&self) -> bool {
        *self == CacheLevel::Near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_a_cores_own_caches_are_near() {
        assert_eq!([1, (1 << 20) - 1].map(CacheLevel::from_working_set), [CacheLevel::Near; 2]);
        assert_eq!([1 << 20, u64::MAX].map(CacheLevel::from_working_set), [CacheLevel::Far; 2]);
        assert_eq!(CacheLevel::from_working_set(0), CacheLevel::Far, "what is not known may be anywhere");
    }
}
