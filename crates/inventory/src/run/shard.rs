//! Shards of an inventory.
//!
//! A part is a range of rows whose bounds depend only on the inventory. A shard is a range of parts. So a shard reads only its own
//! row groups, results keep the order of the inventory, and a restart with another number of shards finds the same finished
//! parts. Shards by a hash of the name would each have to read the whole inventory.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Shard `index` of `count`, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// The whole inventory.
    pub const ALL: Shard = Shard { index: 0, count: 1 };

    /// A shard, or `None` unless `index` is less than `count`.
    pub fn new(index: u64, count: u64) -> Option<Shard> {
        (index < count).then_some(Shard { index, count })
    }

    /// The shard's range of `parts` parts.
    pub(crate) fn parts(self, parts: u64) -> Range<u64> {
        let border = |index: u64| (u128::from(parts) * u128::from(index) / u128::from(self.count)) as u64;
        border(self.index)..border(self.index + 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Error for a text that is no shard.
#[derive(Debug)]
pub struct ParseShardError(String);

impl fmt::Display for ParseShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: a shard is written i/n, from 0/n to (n-1)/n", self.0)
    }
}

impl std::error::Error for ParseShardError {}

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Shard, ParseShardError> {
        let shard = text
            .split_once('/')
            .and_then(|(index, count)| Shard::new(index.parse().ok()?, count.parse().ok()?));
        shard.ok_or_else(|| ParseShardError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_partition_the_parts() {
        for parts in [0, 1, 2, 7, 64, 1000, u64::MAX] {
            for count in [1, 2, 3, 7, 64, 1001] {
                let mut next = 0;
                for index in 0..count {
                    let own = Shard::new(index, count).expect("a shard").parts(parts);
                    assert_eq!(own.start, next, "{index}/{count} of {parts}");
                    assert!(
                        own.end - own.start <= parts.div_ceil(count),
                        "{index}/{count} of {parts} is too large"
                    );
                    next = own.end;
                }
                assert_eq!(next, parts);
            }
        }
    }

    #[test]
    fn parses_displayed_shards() {
        assert_eq!("3/7".parse::<Shard>().expect("a shard").to_string(), "3/7");
        for text in ["", "1", "7/7", "-1/2", "0/0", "1/2/3", "a/b", "99999999999999999999/1"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
