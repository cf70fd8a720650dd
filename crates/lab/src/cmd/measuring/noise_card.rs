//! Stored noise card of a machine.

use crate::cmd::context::error::Error;
use crate::cmd::context::{cache_dir, files};
use crate::report::documents::noise::NoiseRecord;
use hashmill_machine::Machine;
use std::io::Write as _;
use std::path::PathBuf;

/// File in which `doctor --noise` stores the card of a machine.
pub(crate) fn card(machine: &Machine) -> Result<PathBuf, Error> {
    Ok(cache_dir::cache()?.join("noise").join(format!("{}.json", machine.id)))
}

/// This machine's card, if any. An unusable card is an error; a new measurement replaces it.
pub(crate) fn stored(machine: &Machine) -> Result<Option<NoiseRecord>, Error> {
    // Without a cache folder `doctor --noise` could not store a card either, and reports that.
    let Ok(path) = card(machine) else { return Ok(None) };
    if let Ok(false) = path.try_exists() {
        return Ok(None);
    }
    let record: NoiseRecord = files::document(&path)?;
    let refused = |reason: String| Err(Error::Refused(format!("{}: {reason}", path.display())));
    if record.machine.id != machine.id {
        return refused(format!("it is from machine {}, not from this one", record.machine.id));
    }
    match record.problems().first() {
        Some(problem) => refused(problem.to_string()),
        None => Ok(Some(record)),
    }
}

/// The same for commands that do not need a card: an unusable one is reported on standard error.
pub(crate) fn usable(machine: &Machine) -> Option<NoiseRecord> {
    stored(machine).unwrap_or_else(|error| {
        let words = format!("the noise card cannot be used: {error}; run `doctor --noise` again");
        writeln!(std::io::stderr(), "{words}").ok();
        None
    })
}
