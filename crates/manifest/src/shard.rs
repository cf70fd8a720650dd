//! Which parts are whose.
//!
//! A part is a run of rows whose borders depend on the inventory alone. A shard is a run of parts. So a shard reads only its own
//! row groups, answers stay in the order of the inventory, and a run that goes on with another number of shards finds the same
//! parts finished. By the hash of a name, each shard would read the whole inventory to find its own rows.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// The shard `index` of `count`, from 0 on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    index: u64,
    count: u64,
}

impl Shard {
    /// The only one: everything.
    pub const ALL: Shard = Shard { index: 0, count: 1 };

    /// `None` if there is no such shard: `index` is less than `count`.
    pub fn new(index: u64, count: u64) -> Option<Shard> {
        (index < count).then_some(Shard { index, count })
    }

    /// Those of `parts` parts that are its own.
    pub(crate) fn of(self, parts: u64) -> Range<u64> {
        let border = |index: u64| (u128::from(parts) * u128::from(index) / u128::from(self.count)) as u64;
        border(self.index)..border(self.index + 1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// A text that names no shard.
#[derive(Debug)]
pub struct NoShard(String);

impl fmt::Display for NoShard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: a shard is written i/n, from 0/n to (n-1)/n", self.0)
    }
}

impl std::error::Error for NoShard {}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Shard, NoShard> {
        let shard = text
            .split_once('/')
            .and_then(|(index, count)| Shard::new(index.parse().ok()?, count.parse().ok()?));
        shard.ok_or_else(|| NoShard(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_a_partition_whatever_their_number() {
        for parts in [0, 1, 2, 7, 64, 1000, u64::MAX] {
            for count in [1, 2, 3, 7, 64, 1001] {
                let mut next = 0;
                for index in 0..count {
                    let own = Shard::new(index, count).expect("a shard").of(parts);
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
    fn text_is_read_as_it_is_written() {
        assert_eq!("3/7".parse::<Shard>().expect("a shard").to_string(), "3/7");
        for text in ["", "1", "7/7", "-1/2", "0/0", "1/2/3", "a/b", "99999999999999999999/1"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
