//! A whole inventory, or a shard of it, from Parquet to a folder of Parquet.
//!
//! The folder holds `part-FIRST-END.parquet` for rows `FIRST..END` of the inventory, and `_hashmill.json`, which says whose
//! answers these are. A run that is killed leaves whole parts. The next one reads the rows of these again, compares them with
//! those that were answered, and goes on with what is missing: on whatever machine, with whatever number of shards.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::num::NonZero;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use hashmill_files::Replacement;
use hashmill_hash::blake3;
use serde::Serialize;

use crate::answer::Summary;
use crate::error::Error;
use crate::hasher::{Hasher, Stop};
use crate::inventory::{Inventory, Row};
use crate::part::{self, About};
use crate::shard::Shard;

/// Rows of a part, where nothing else is said: seconds of work that a kill undoes, files that can still be counted.
pub const PART_ROWS: NonZero<u64> = NonZero::new(10_000).expect("more than none");

/// Says whose answers a folder holds.
const WHOSE: &str = "_hashmill.json";

/// What is written there: another run writes something else.
#[derive(Serialize)]
struct Whose {
    format: u32,
    rows: u64,
    part_rows: u64,
    /// Whether digests are compared: who verifies wants nothing that was read before anybody asked.
    verify: bool,
    inventory: String,
}

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

/// Answers the rows of `shard` in the folder `out`, which is made if it is not there. Where one run works on a shard, others
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
    stop: &Stop,
) -> Result<Outcome, Error> {
    claim(inventory, out, part_rows, false)?;
    answer(hasher, inventory, out, shard, part_rows, stop)
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
    stop: &Stop,
) -> Result<Outcome, Error> {
    if !inventory.lists_digests() {
        return Err(Error::Refused("no column of digests to verify by".to_owned()));
    }
    claim(inventory, out, part_rows, true)?;
    answer(hasher, inventory, out, shard, part_rows, stop)
}

fn answer(
    hasher: &Hasher,
    inventory: &Inventory,
    out: &Path,
    shard: Shard,
    part_rows: NonZero<u64>,
    stop: &Stop,
) -> Result<Outcome, Error> {
    let total = inventory.len();
    let own = shard.of(total.div_ceil(part_rows.get()));
    let border = |part: u64| part.saturating_mul(part_rows.get()).min(total);
    let mut rows = inventory.rows(border(own.start)..border(own.end));
    let mut outcome = Outcome::default();
    for number in own {
        if stop.is_stopped() {
            return Err(Error::Stopped);
        }
        let (first, end) = (border(number), border(number + 1));
        let path = out.join(format!("part-{first:012}-{end:012}.parquet"));
        let rows = rows.by_ref().take((end - first) as usize).collect::<Result<Vec<Row>, Error>>()?;
        if rows.len() as u64 != end - first {
            return Err(Error::Refused(format!("the inventory ends before row {end}, which it says it has")));
        }
        let mut hash = blake3::Hasher::new();
        rows.iter().for_each(|row| row.hash(&mut hash));
        let inputs = hash.finalize().to_hex().to_string();
        let summary = match part::read(&path)? {
            Some(about) if about.inputs == inputs => {
                outcome.skipped += 1;
                about.summary()
            }
            Some(_) => {
                return Err(Error::Other(path, "it answers other rows: the inventory changed".to_owned()));
            }
            None => {
                let answers = hasher.answer(rows, stop)?;
                let mut summary = Summary::default();
                answers.iter().for_each(|answer| summary.add(answer));
                part::write(&path, &answers, &About::new(inputs, &summary))?;
                outcome.parts += 1;
                summary
            }
        };
        outcome.summary.merge(&summary);
    }
    Ok(outcome)
}

/// Writes whose answers the folder holds, or sees that it holds ours.
fn claim(inventory: &Inventory, out: &Path, part_rows: NonZero<u64>, verify: bool) -> Result<(), Error> {
    let inventory_of = inventory.fingerprint().to_hex().to_string();
    let (rows, part_rows) = (inventory.len(), part_rows.get());
    let whose = Whose { format: 1, rows, part_rows, verify, inventory: inventory_of };
    fs::create_dir_all(out).map_err(Error::io(out))?;
    let path = out.join(WHOSE);
    let ours = serde_json::to_vec(&whose).map_err(|error| Error::Io(path.clone(), error.into()))?;
    static CLAIMS: AtomicU64 = AtomicU64::new(0);
    if !fs::exists(&path).map_err(Error::io(&path))? {
        let own = out.join(format!(".{WHOSE}.{}.{}", process::id(), CLAIMS.fetch_add(1, Ordering::Relaxed)));
        create(&own, &path, &ours).map_err(Error::io(&path))?;
    }
    // Who else came at the same time may have been first.
    if fs::read(&path).map_err(Error::io(&path))? == ours {
        return Ok(());
    }
    let what = "answers of another inventory, in parts of another size, or of hash where this is verify are here: \
                take another folder";
    Err(Error::Other(path, what.to_owned()))
}

/// Makes the file by way of `own`, whole or not at all, and never in the place of one that is there.
fn create(own: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::begin(own)?;
    file.write_all(bytes)?;
    file.finish()?;
    let linked = match fs::hard_link(own, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        // Of a file system without links. A kill in the middle leaves one that is refused.
        Err(_) => match File::create_new(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            file => file.and_then(|mut file| file.write_all(bytes)),
        },
        linked => linked,
    };
    fs::remove_file(own)?;
    linked
}
