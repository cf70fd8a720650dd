//! The name of a row is its meaning: `argon2-rust/64MiB/t4/p4` reads back as the workload that it prints.
//!
//! | part | meaning |
//! |---|---|
//! | `argon2-rust`, `rustcrypto`, `c` | against whom, see [`Rival`] |
//! | `64MiB/t4/p4` | memory, passes, lanes |
//! | `tag64` | bytes of the tag, if not 32 |
//! | `avx2` | our side is held to this kernel; the rival does what it likes |
//! | `cold` | no memory is kept: every call asks the system for pages, as the first call of a process does |

use std::fmt;
use std::str::FromStr;

use crate::size::{Size, parse_positive};

/// Against whom. Each wipes its memory after every hash.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Rival {
    /// The crate `argon2-rust` with its pooled hasher, one thread for each lane or core, whichever are fewer.
    Argon2Rust,
    /// The crate `argon2` with rayon, called as its documentation does. It wipes only the end of its memory.
    RustCrypto,
    /// The reference implementation in C for this processor, a thread for each lane.
    C,
}

impl Rival {
    const ALL: [Rival; 3] = [Rival::Argon2Rust, Rival::RustCrypto, Rival::C];

    fn name(self) -> &'static str {
        match self {
            Rival::Argon2Rust => "argon2-rust",
            Rival::RustCrypto => "rustcrypto",
            Rival::C => "c",
        }
    }
}

/// One workload, measured on both sides: Argon2id, version 1.3.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Row {
    /// Against whom.
    pub rival: Rival,
    /// Memory in bytes, a multiple of 1 KiB.
    pub memory: usize,
    /// Passes over it.
    pub passes: u32,
    /// Lanes.
    pub lanes: u32,
    /// Bytes of the tag.
    pub tag_len: usize,
    /// Whether our side is held to the AVX2 kernel.
    pub avx2: bool,
    /// Whether no memory is kept between calls.
    pub cold: bool,
}

/// Bytes of a tag that is not mentioned.
const TAG_LEN: usize = 32;

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/t{}/p{}", self.rival.name(), Size(self.memory), self.passes, self.lanes)?;
        if self.tag_len != TAG_LEN {
            write!(f, "/tag{}", self.tag_len)?;
        }
        if self.avx2 {
            f.write_str("/avx2")?;
        }
        if self.cold {
            f.write_str("/cold")?;
        }
        Ok(())
    }
}

/// A row name that means nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "no such row: {0:?} (rows look like argon2-rust/64MiB/t4/p4, c/256MiB/t6/p4/tag64 or c/1MiB/t1/p1/avx2)"
)]
pub struct UnknownRow(String);

impl FromStr for Row {
    type Err = UnknownRow;

    fn from_str(name: &str) -> Result<Self, UnknownRow> {
        parse(name).ok_or_else(|| UnknownRow(name.to_owned()))
    }
}

fn parse(name: &str) -> Option<Row> {
    let mut parts = name.split('/');
    let mut part = || parts.next();
    let word = part()?;
    let rival = Rival::ALL.into_iter().find(|rival| rival.name() == word)?;
    let memory = parse_positive(part()?).filter(|memory| memory.is_multiple_of(1024))?;
    let passes = part()?.strip_prefix('t')?.parse().ok()?;
    let lanes = part()?.strip_prefix('p')?.parse().ok()?;
    let mut row = Row { rival, memory, passes, lanes, tag_len: TAG_LEN, avx2: false, cold: false };
    for word in parts {
        match word {
            "avx2" => row.avx2 = true,
            "cold" => row.cold = true,
            _ => row.tag_len = word.strip_prefix("tag")?.parse().ok()?,
        }
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in [
            "argon2-rust/1MiB/t1/p1",
            "rustcrypto/32KiB/t3/p4",
            "c/256MiB/t6/p4/tag64",
            "argon2-rust/64MiB/t4/p4/cold",
            "c/1MiB/t1/p1/avx2",
        ] {
            assert_eq!(name.parse::<Row>().map(|row| row.to_string()), Ok(name.to_owned()));
        }
    }

    #[test]
    fn nonsense_is_named_in_the_error() {
        for name in
            ["", "argon2-rust", "argon/1MiB/t1/p1", "c/1000/t1/p1", "c/1MiB/1/1", "c/1MiB/t1/p1/tagged"]
        {
            let error = name.parse::<Row>().expect_err(name);
            assert!(error.to_string().contains(&format!("{name:?}")), "{error}");
        }
    }
}
