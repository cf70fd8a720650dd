//! The name of a row is its meaning: `hash/64/dependent` reads back as the workload it prints.
//!
//! | name | one call |
//! |---|---|
//! | `hash/LEN` | hash one message; calls do not wait for one another |
//! | `hash/LEN/dependent` | the same, but each input contains the digest before it (so LEN is not 0) |
//! | `keyed/LEN`, `derive/LEN` | the other two modes |
//! | `hasher/LEN` | new, one update, finalize |
//! | `stream/TOTAL/PIECE` | updates of PIECE bytes: rival's `Hasher`, our `Gathered` |
//! | `hasher-stream/TOTAL/PIECE` | the same with `Hasher` on both sides |
//! | `xof/LEN` | LEN bytes of extended output of a 64-byte input |
//! | `batch/COUNTxLEN` | COUNT messages: the rival in a loop, ours as one batch |
//! | `parallel/LEN/hot`, `…/cold` | all threads; the pool has just worked, or has gone to sleep |
//! | `context/LEN/hot`, `…/cold` | the same, ours with a `Context` and its own pool |
//! | `serial/LEN/hot`, `…/cold` | our own one-thread hash in the rival's place, against our parallel one |

use std::fmt;
use std::str::FromStr;

use crate::size::{Size, parse as size, parse_positive as positive};

/// One workload, measured on both sides.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Row {
    /// One-shot hash.
    Hash(usize, Calls),
    /// One-shot keyed hash.
    Keyed(usize),
    /// One-shot key derivation, context string included.
    Derive(usize),
    /// A hasher for one message.
    Hasher(usize),
    /// Total and piece, into our gathering hasher.
    Stream(usize, usize),
    /// Total and piece, into our plain hasher.
    HasherStream(usize, usize),
    /// Extended output.
    Xof(usize),
    /// Count and length of messages.
    Batch(usize, usize),
    /// Our parallel update against the rival's.
    Parallel(usize, Pool),
    /// Our `Context` against the rival's parallel update.
    Context(usize, Pool),
    /// Our parallel update against our one-thread hash.
    Serial(usize, Pool),
}

/// How one call follows another.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Calls {
    /// The processor may overlap them: throughput.
    Independent,
    /// Each needs the digest before it: latency.
    Dependent,
}

/// What the worker threads did just before.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Pool {
    /// They worked, and still look for more.
    Hot,
    /// They sleep.
    Cold,
}

impl Row {
    /// The longest stretch of input that one call reads: how much memory the row needs.
    pub fn input_len(self) -> usize {
        match self {
            Self::Hash(len, _) | Self::Keyed(len) | Self::Derive(len) | Self::Hasher(len) => len,
            Self::Stream(total, _) | Self::HasherStream(total, _) => total,
            Self::Xof(_) => 64,
            Self::Batch(count, len) => count * len,
            Self::Parallel(len, _) | Self::Context(len, _) | Self::Serial(len, _) => len,
        }
    }

    /// Bytes that one call hashes or produces.
    pub fn bytes(self) -> usize {
        match self {
            Self::Xof(len) => len,
            _ => self.input_len(),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Hash(len, Calls::Independent) => write!(f, "hash/{}", Size(len)),
            Self::Hash(len, Calls::Dependent) => write!(f, "hash/{}/dependent", Size(len)),
            Self::Keyed(len) => write!(f, "keyed/{}", Size(len)),
            Self::Derive(len) => write!(f, "derive/{}", Size(len)),
            Self::Hasher(len) => write!(f, "hasher/{}", Size(len)),
            Self::Stream(total, piece) => write!(f, "stream/{}/{}", Size(total), Size(piece)),
            Self::HasherStream(total, piece) => write!(f, "hasher-stream/{}/{}", Size(total), Size(piece)),
            Self::Xof(len) => write!(f, "xof/{}", Size(len)),
            Self::Batch(count, len) => write!(f, "batch/{count}x{}", Size(len)),
            Self::Parallel(len, pool) => write!(f, "parallel/{}/{pool}", Size(len)),
            Self::Context(len, pool) => write!(f, "context/{}/{pool}", Size(len)),
            Self::Serial(len, pool) => write!(f, "serial/{}/{pool}", Size(len)),
        }
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hot => "hot",
            Self::Cold => "cold",
        })
    }
}

/// A row name that means nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no such row: {0:?} (rows look like hash/64/dependent, batch/64x1KiB or parallel/4MiB/hot)")]
pub struct UnknownRow(String);

impl FromStr for Row {
    type Err = UnknownRow;

    fn from_str(name: &str) -> Result<Self, UnknownRow> {
        parse(name).ok_or_else(|| UnknownRow(name.to_owned()))
    }
}

fn parse(name: &str) -> Option<Row> {
    let parts: Vec<&str> = name.split('/').collect();
    let pool = |word: &str| match word {
        "hot" => Some(Pool::Hot),
        "cold" => Some(Pool::Cold),
        _ => None,
    };
    Some(match parts[..] {
        ["hash", len] => Row::Hash(size(len)?, Calls::Independent),
        ["hash", len, "dependent"] => Row::Hash(positive(len)?, Calls::Dependent),
        ["keyed", len] => Row::Keyed(size(len)?),
        ["derive", len] => Row::Derive(size(len)?),
        ["hasher", len] => Row::Hasher(size(len)?),
        ["stream", total, piece] => Row::Stream(size(total)?, positive(piece)?),
        ["hasher-stream", total, piece] => Row::HasherStream(size(total)?, positive(piece)?),
        ["xof", len] => Row::Xof(size(len)?),
        ["batch", shape] => {
            let (count, len) = shape.split_once('x')?;
            Row::Batch(count.parse().ok()?, positive(len)?)
        }
        ["parallel", len, word] => Row::Parallel(size(len)?, pool(word)?),
        ["context", len, word] => Row::Context(size(len)?, pool(word)?),
        ["serial", len, word] => Row::Serial(size(len)?, pool(word)?),
        _ => return None,
    })
}

/// Expands a line of a gate: a row name, or `sweep/FIRST..LAST`, which stands for one-shot hashes of
/// k·1024 + {0, 1, 512, 1023} bytes for every k from FIRST to LAST.
pub fn expand(line: &str) -> Result<Vec<Row>, UnknownRow> {
    let Some(range) = line.strip_prefix("sweep/") else { return Ok(vec![line.parse()?]) };
    let bounds = range.split_once("..").and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let (first, last): (usize, usize) = bounds.ok_or_else(|| UnknownRow(line.to_owned()))?;
    let row = |k: usize, tail: usize| Row::Hash(k * 1024 + tail, Calls::Independent);
    Ok((first..=last).flat_map(|k| [0, 1, 512, 1023].map(|tail| row(k, tail))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        let names = [
            "hash/0",
            "hash/1023",
            "hash/64/dependent",
            "hash/256MiB",
            "keyed/1KiB",
            "derive/64",
            "hasher/64",
            "stream/1MiB/64",
            "hasher-stream/1MiB/1000",
            "xof/1MiB",
            "batch/64x1KiB",
            "parallel/64KiB/cold",
            "context/1MiB/cold",
            "serial/4MiB/hot",
        ];
        for name in names {
            assert_eq!(name.parse::<Row>().map(|row| row.to_string()), Ok(name.to_owned()));
        }
    }

    #[test]
    fn nonsense_is_named_in_the_error() {
        for name in [
            "",
            "hash",
            "hash/x",
            "hash/64/later",
            "batch/64",
            "batch/64x0",
            "stream/1MiB/0",
            "hash/99999999999999MiB",
        ] {
            let error = name.parse::<Row>().expect_err(name);
            assert!(error.to_string().contains(&format!("{name:?}")), "{error}");
        }
    }

    #[test]
    fn a_sweep_is_four_rows_per_chunk_count() {
        let rows = expand("sweep/0..33").expect("a sweep");
        assert_eq!(rows.len(), 4 * 34);
        assert_eq!(rows[0], Row::Hash(0, Calls::Independent));
        assert_eq!(rows[135], Row::Hash(33 * 1024 + 1023, Calls::Independent));
    }
}
