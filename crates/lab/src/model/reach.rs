//! How far away the data of a case lie, which decides how small a difference can be believed.

use serde::{Deserialize, Serialize};

/// The second level of common server cores has one or two MiB, and holds more than the data.
const OWN_CACHES: u64 = 1 << 20;

/// Whether a core has the data of a case to itself.
///
/// Beyond its own caches it shares them: with the other cores, and on a virtual machine with neighbours that nobody
/// sees. Sessions of such cases differ by about a percent for reasons that are not in the code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reach {
    /// In the caches of one core.
    #[default]
    Near,
    /// In shared caches or in memory.
    Far,
}

impl Reach {
    /// Of a case that passes over so many bytes; 0 says that nobody knows, and gets no lenient rule for it.
    pub(crate) fn of(working_set: u64) -> Self {
        if (1..OWN_CACHES).contains(&working_set) { Reach::Near } else { Reach::Far }
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
        assert_eq!([1, (1 << 20) - 1].map(Reach::of), [Reach::Near; 2]);
        assert_eq!([1 << 20, u64::MAX].map(Reach::of), [Reach::Far; 2]);
        assert_eq!(Reach::of(0), Reach::Far, "what is not known may be anywhere");
    }
}
