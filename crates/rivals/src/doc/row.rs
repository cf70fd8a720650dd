//! Names of workloads.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, ensure};
use hashmill_workloads::doc::Named;

/// How a recording was committed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Commits {
    /// All of it in one transaction.
    One,
    /// Each of its transactions for itself.
    Each,
}

/// One workload.
#[expect(missing_docs, reason = "the fields are in the text of their variant")]
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Row {
    /// A recording typed into a new document; `settled`: until the hashes of all changes are known.
    Replay { trace: String, commits: Commits, settled: bool },
    /// From saved bytes to the text; `deferred`: with the checks put off that can be.
    Load { trace: String, commits: Commits, deferred: bool },
    /// The first edit after a load.
    FirstEdit { trace: String, commits: Commits },
    /// To bytes.
    Save { trace: String, commits: Commits },
    /// How many bytes. No time.
    Size { trace: String, commits: Commits },
    /// Memory held by a document that was typed, or loaded. No time.
    Held { trace: String, commits: Commits, loaded: bool },
    /// The most memory that a load needed, beyond what was there before. No time.
    Peak { trace: String, commits: Commits },
    /// One change of another replica, to a document of that many edits.
    ApplyOne(usize),
    /// A recording of several people, as their changes reach somebody else: all at once, or one by one.
    Merge { trace: String, at_once: bool },
    /// Every key of a map of that many, read on a snapshot: by two threads, beside one.
    SnapshotReads(usize),
    /// A document of that many records as JSON, beside serde_json.
    JsonWrite(usize),
    /// A workload by its name, and its size.
    Named(Named, usize),
}

impl Row {
    /// Whether it measures bytes instead of time.
    pub fn is_bytes(&self) -> bool {
        matches!(self, Self::Size { .. } | Self::Held { .. } | Self::Peak { .. })
    }

    /// Whether memory has to be counted.
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::Held { .. } | Self::Peak { .. })
    }
}

impl fmt::Display for Commits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::One { "one" } else { "each" })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replay { trace, commits, settled } => {
                write!(f, "replay/{trace}/{commits}{}", if *settled { "" } else { "/unsettled" })
            }
            Self::Load { trace, commits, deferred } => {
                write!(f, "load/{trace}/{commits}{}", if *deferred { "/deferred" } else { "" })
            }
            Self::FirstEdit { trace, commits } => write!(f, "first-edit/{trace}/{commits}"),
            Self::Save { trace, commits } => write!(f, "save/{trace}/{commits}"),
            Self::Size { trace, commits } => write!(f, "size/{trace}/{commits}"),
            Self::Held { trace, commits, loaded } => {
                write!(f, "held/{trace}/{commits}{}", if *loaded { "/loaded" } else { "" })
            }
            Self::Peak { trace, commits } => write!(f, "peak/{trace}/{commits}"),
            Self::ApplyOne(edits) => write!(f, "apply-one/{edits}"),
            Self::Merge { trace, at_once } => {
                write!(f, "merge/{trace}/{}", if *at_once { "at-once" } else { "one-by-one" })
            }
            Self::SnapshotReads(keys) => write!(f, "snapshot-reads/{keys}"),
            Self::JsonWrite(records) => write!(f, "json-write/{records}"),
            Self::Named(named, size) => {
                write!(f, "{named}/{size}")
            }
        }
    }
}

impl FromStr for Row {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        let parts: Vec<&str> = name.split('/').collect();
        let row = parse(&parts).with_context(|| format!("there is no workload {name:?}"))?;
        ensure!(row.to_string() == name, "{name:?} is written {row}");
        Ok(row)
    }
}

fn parse(parts: &[&str]) -> Option<Row> {
    let trace = || parts.get(1).map(|&trace| trace.to_owned());
    let commits = || match parts.get(2) {
        Some(&"one") => Some(Commits::One),
        Some(&"each") => Some(Commits::Each),
        _ => None,
    };
    let flag = |word: &str| parts.get(3) == Some(&word);
    let number = || parts.get(1)?.parse().ok();
    Some(match parts[0] {
        "replay" => Row::Replay { trace: trace()?, commits: commits()?, settled: !flag("unsettled") },
        "load" if parts.len() > 2 => {
            Row::Load { trace: trace()?, commits: commits()?, deferred: flag("deferred") }
        }
        "first-edit" => Row::FirstEdit { trace: trace()?, commits: commits()? },
        "save" if parts.len() > 2 => Row::Save { trace: trace()?, commits: commits()? },
        "size" => Row::Size { trace: trace()?, commits: commits()? },
        "held" => Row::Held { trace: trace()?, commits: commits()?, loaded: flag("loaded") },
        "peak" => Row::Peak { trace: trace()?, commits: commits()? },
        "merge" if parts.len() > 2 => Row::Merge { trace: trace()?, at_once: parts[2] == "at-once" },
        "apply-one" => Row::ApplyOne(number()?),
        "snapshot-reads" => Row::SnapshotReads(number()?),
        "json-write" => Row::JsonWrite(number()?),
        name => Row::Named(name.parse().ok()?, number()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back() {
        for name in [
            "replay/rustcode/one",
            "replay/rustcode/each/unsettled",
            "load/x/each/deferred",
            "held/x/one/loaded",
            "merge/friendsforever/one-by-one",
            "merge/20",
            "fork/100",
            "json-write/20",
            "load/100",
            "put_scale/100000",
        ] {
            assert_eq!(name.parse::<Row>().expect(name).to_string(), name);
        }
        for name in
            ["", "replay", "replay/x/two", "map_get", "map_get/x", "load/x/one/later", "merge/x/sometimes"]
        {
            assert!(name.parse::<Row>().is_err(), "{name}");
        }
    }
}
