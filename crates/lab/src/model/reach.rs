//! How far away the data of a case lie, which decides how small a difference can be believed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The second level of common server cores has one or two MiB, and holds more than the data.
const OWN_CACHES: u64 = 1 << 20;

/// Whether a core has the data of a case to itself.
///
/// Beyond its own caches it shares them: with the other cores, and on a virtual machine with neighbours that nobody
/// sees. Sessions of such cases differ by about a percent for reasons that are not in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// In the caches of one core.
    #[default]
    Near,
    /// In shared caches or in memory.
    Far,
}

impl Reach {
    /// Of a case that passes over so many bytes.
    #[must_use]
    pub fn of(working_set: u64) -> Self {
        if working_set >= OWN_CACHES { Reach::Far } else { Reach::Near }
    }

    /// For reports, which leave out what is near.
    pub(crate) fn is_near(&self) -> bool {
        *self == Reach::Near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_core_holds_by_itself_is_near() {
        assert_eq!([0, (1 << 20) - 1].map(Reach::of), [Reach::Near; 2]);
        assert_eq!(Reach::of(1 << 20), Reach::Far);
    }
}
