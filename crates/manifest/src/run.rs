//! A whole inventory, or a shard of it, from Parquet to a folder of Parquet.
//!
//! The folder holds `part-FIRST-END.parquet` for rows `FIRST..END` of the inventory, and `_hashmill.json`, which says whose
//! answers these are. A run that is killed leaves whole parts. The next one reads the rows of these again, compares them with
//! those that were answered, and goes on with what is missing: on whatever machine, with whatever number of shards.

use std::num::NonZero;
use std::path::Path;

use hashmill_hash::blake3;

use crate::allow_list::Origin;
use crate::answer::Summary;
use crate::error::Error;
use crate::folder::{Folder, WHOSE, Whose};
use crate::hasher::Hasher;
use crate::inventory::{Inventory, Row};
use crate::part::{self, About};
use crate::shard::Shard;
use crate::work::Work;

/// Rows of a part, where nothing else is said: seconds of work that a kill undoes, files that can still be counted.
pub const PART_ROWS: NonZero<u64> = NonZero::new(10_000).expect("more than none");

/// The most bytes of the names of one part, which are in memory several times while it is answered.
const NAMES: usize = 64 << 20;

/// How a run came out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// All rows of the shard, whoever answered them.
    pub summary: Summary,
    /// Parts that this run wrote.
    pub parts: u64,
    /// Parts that were there.
    pub skipped: u64,
}

/// Answers the rows of `shard` in the folder `out`, which is made if it is not there; `s3://`, `gs://` and `az://` are folders in stores. Where one run works on a shard, others
/// may work on other shards.
///
/// # Errors
/// See [`Error`]. What was finished stays, and need not be done again. Nothing of a row is an error here.
pub fn run(
    hasher: &Hasher,
    inventory: &Inventory,
    out: &Path,
    shard: Shard,
    part_rows: NonZero<u64>,
    work: &Work,
) -> Result<Outcome, Error> {
    answer(hasher, inventory, out, shard, part_rows, false, work)
}

/// [`run`] for inventories whose files all list digests, in a folder of its own.
///
/// # Errors
/// As `run`; [`Error::Refused`] if a file lists none.
pub fn verify(
    hasher: &Hasher,
    inventory: &Inventory,
    out: &Path,
    shard: Shard,
    part_rows: NonZero<u64>,
    work: &Work,
) -> Result<Outcome, Error> {
    if !inventory.lists_digests() {
        return Err(Error::Refused("no column of digests to verify by".to_owned()));
    }
    answer(hasher, inventory, out, shard, part_rows, true, work)
}

fn answer(
    hasher: &Hasher,
    inventory: &Inventory,
    out: &Path,
    shard: Shard,
    part_rows: NonZero<u64>,
    verify: bool,
    work: &Work,
) -> Result<Outcome, Error> {
    if work.is_stopped() {
        return Err(Error::Stopped);
    }
    let out = Folder::at(hasher, out)?;
    claim(inventory, &out, part_rows, verify)?;
    let total = inventory.len();
    let own = shard.of(total.div_ceil(part_rows.get()));
    let border = |part: u64| part.saturating_mul(part_rows.get()).min(total);
    work.expect(border(own.end) - border(own.start));
    let mut rows = inventory.rows_from(border(own.start)..border(own.end));
    let mut outcome = Outcome::default();
    for number in own {
        if work.is_stopped() {
            return Err(Error::Stopped);
        }
        let (first, end) = (border(number), border(number + 1));
        let name = format!("part-{first:012}-{end:012}.parquet");
        let rows = collect(rows.by_ref().take((end - first) as usize))?;
        if rows.len() as u64 != end - first {
            return Err(Error::Refused(format!("the inventory ends before row {end}, which it says it has")));
        }
        let mut hash = blake3::Hasher::new();
        rows.iter().for_each(|(row, _)| row.hash(&mut hash));
        let inputs = hash.finalize().to_hex().to_string();
        let summary = match part::read(&out, &name)? {
            Some(about) if about.inputs == inputs => {
                outcome.skipped += 1;
                about.summary()
            }
            Some(_) => {
                let what = "it answers other rows: the inventory changed".to_owned();
                return Err(Error::Other(out.path(&name), what));
            }
            None => {
                let answers = hasher.answer_from(rows, work)?;
                let mut summary = Summary::default();
                answers.iter().for_each(|answer| summary.add(answer));
                part::write(&out, &name, &answers, &About::new(inputs, &summary))?;
                outcome.parts += 1;
                summary
            }
        };
        work.answered(&summary);
        outcome.summary.merge(&summary);
    }
    Ok(outcome)
}

/// The rows of one part, whose names a small file may make as long as it likes.
fn collect(rows: impl Iterator<Item = Result<(Row, Origin), Error>>) -> Result<Vec<(Row, Origin)>, Error> {
    let (mut collected, mut names) = (Vec::new(), 0);
    for row in rows {
        let row = row?;
        names += row.0.url.as_ref().map_or(0, String::len);
        if names > NAMES {
            let what =
                format!("the names of one part have more than {} MiB: take parts of fewer rows", NAMES >> 20);
            return Err(Error::Refused(what));
        }
        collected.push(row);
    }
    Ok(collected)
}

/// Writes whose answers the folder holds, or sees that it holds ours.
fn claim(inventory: &Inventory, out: &Folder, part_rows: NonZero<u64>, verify: bool) -> Result<(), Error> {
    let inventory_of = inventory.fingerprint().to_hex().to_string();
    let (rows, part_rows) = (inventory.len(), part_rows.get());
    let whose = Whose { format: 1, rows, part_rows, verify, inventory: inventory_of };
    let path = out.path(WHOSE);
    let ours = serde_json::to_vec(&whose).map_err(|error| Error::Io(path.clone(), error.into()))?;
    out.create(WHOSE, ours.clone())?;
    // Who else came at the same time may have been first.
    if out.claim()?.is_some_and(|whose| whose == ours) {
        return Ok(());
    }
    let what = "answers of another inventory, in parts of another size, or of hash where this is verify are here: \
                take another folder";
    Err(Error::Other(path, what.to_owned()))
}
