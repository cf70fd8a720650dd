//! Runs over an inventory or a shard of it, with results in a folder of Parquet files.
//!
//! The folder has `part-FIRST-END.parquet` for rows `FIRST..END` of the inventory, and `_hashmill.json` with the fingerprint of the
//! run. A killed run leaves complete parts. The next run reads the input rows of these again, compares their digest with the
//! stored one, and continues with the missing parts: on any machine, with any number of shards.

mod shard;

use std::num::NonZero;
use std::path::Path;

use hashmill_hash::blake3;

use crate::error::Error;
use crate::hasher::Hasher;
use crate::inventory::Inventory;
use crate::output::dir::{FINGERPRINT_NAME, OutputDir, RunFingerprint};
use crate::output::file::{self, ResultFileMeta};
use crate::row::Row;
use crate::row_result::Summary;
use crate::run_handle::RunHandle;
use crate::sources::allow_list::Origin;

pub use shard::{ParseShardError, Shard};

/// Default rows of a part: a kill loses seconds of work, and the number of files stays manageable.
pub const PART_ROWS: NonZero<u64> = NonZero::new(10_000).expect("more than none");

/// Maximum bytes of the names of one part. They are in memory several times while the part is hashed.
const MAX_NAMES_LEN: usize = 64 << 20;

/// Outcome of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// All rows of the shard, with the results of earlier runs.
    pub summary: Summary,
    /// Parts written by this run.
    pub parts: u64,
    /// Parts that existed.
    pub skipped: u64,
}

/// Hashes the rows of `shard` into the folder `out`, which is created if necessary; `s3://`, `gs://` and `az://` are folders in
/// stores. Other runs may hash other shards at the same time.
///
/// # Errors
/// See [`Error`]. Finished parts stay and are not repeated. An error of a row is a result, not an error here.
pub fn run(
    hasher: &Hasher,
    inventory: &Inventory,
    out: &Path,
    shard: Shard,
    part_rows: NonZero<u64>,
    work: &RunHandle,
) -> Result<Outcome, Error> {
    hash_shard(hasher, inventory, out, shard, part_rows, false, work)
}

/// As [`run`], for inventories whose files all list digests. Needs its own output folder.
///
/// # Errors
/// As `run`; [`Error::Refused`] if a file lists no digests.
pub fn verify(
    hasher: &Hasher,
    inventory: &Inventory,
    out: &Path,
    shard: Shard,
    part_rows: NonZero<u64>,
    work: &RunHandle,
) -> Result<Outcome, Error> {
    if !inventory.lists_digests() {
        return Err(Error::Refused("no column of digests to verify by".to_owned()));
    }
    hash_shard(hasher, inventory, out, shard, part_rows, true, work)
}

fn hash_shard(
    hasher: &Hasher,
    inventory: &Inventory,
    out: &Path,
    shard: Shard,
    part_rows: NonZero<u64>,
    verify: bool,
    work: &RunHandle,
) -> Result<Outcome, Error> {
    if work.is_stopped() {
        return Err(Error::Stopped);
    }
    let out = OutputDir::open(hasher, out)?;
    check_fingerprint(inventory, &out, part_rows, verify)?;
    let total = inventory.len();
    let own = shard.parts(total.div_ceil(part_rows.get()));
    let border = |part: u64| part.saturating_mul(part_rows.get()).min(total);
    work.set_row_count(border(own.end) - border(own.start));
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
        let summary = match file::read(&out, &name)? {
            Some(about) if about.inputs == inputs => {
                outcome.skipped += 1;
                about.summary()
            }
            Some(_) => {
                let what = "it answers other rows: the inventory changed".to_owned();
                return Err(Error::Other(out.path(&name), what));
            }
            None => {
                let results = hasher.hash_rows_from(rows, work)?;
                let mut summary = Summary::default();
                results.iter().for_each(|result| summary.add(result));
                file::write(&out, &name, &results, &ResultFileMeta::new(inputs, &summary))?;
                outcome.parts += 1;
                summary
            }
        };
        work.add_finished(&summary);
        outcome.summary.merge(&summary);
    }
    Ok(outcome)
}

/// The rows of one part. Limits their names, which may be long even if the file is small.
fn collect(rows: impl Iterator<Item = Result<(Row, Origin), Error>>) -> Result<Vec<(Row, Origin)>, Error> {
    let (mut collected, mut names) = (Vec::new(), 0);
    for row in rows {
        let row = row?;
        names += row.0.url.as_ref().map_or(0, String::len);
        if names > MAX_NAMES_LEN {
            let what = format!(
                "the names of one part have more than {} MiB: take parts of fewer rows",
                MAX_NAMES_LEN >> 20
            );
            return Err(Error::Refused(what));
        }
        collected.push(row);
    }
    Ok(collected)
}

/// Writes the fingerprint of the run, or checks the one that exists.
fn check_fingerprint(
    inventory: &Inventory,
    out: &OutputDir,
    part_rows: NonZero<u64>,
    verify: bool,
) -> Result<(), Error> {
    let inventory_of = inventory.fingerprint().to_hex().to_string();
    let (rows, part_rows) = (inventory.len(), part_rows.get());
    let fingerprint = RunFingerprint { format: 1, rows, part_rows, verify, inventory: inventory_of };
    let path = out.path(FINGERPRINT_NAME);
    let own_bytes =
        serde_json::to_vec(&fingerprint).map_err(|error| Error::Io(path.clone(), error.into()))?;
    out.create(FINGERPRINT_NAME, own_bytes.clone())?;
    // A concurrent run may have written its own first.
    if out.fingerprint()?.is_some_and(|existing| existing == own_bytes) {
        return Ok(());
    }
    let what = "answers of another inventory, in parts of another size, or of hash where this is verify are here: \
                take another folder";
    Err(Error::Other(path, what.to_owned()))
}
