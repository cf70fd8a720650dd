//! The user's tune file: its path, the variable that disables it, and messages about it.

use crate::atomic_replace::{error_message, write_and_finish};
use crate::os::{self, SignalBlock};
use crate::output::display_path;
use anyhow::{Context, Result, bail};
use hashmill_atomic_file::{Error, Expected};
use hashmill_engines::{TuneFile, TuneFileError, TunedChoices};
use hashmill_hash::argon2;
use hashmill_hash::blake3::Plan;
use std::path::PathBuf;

/// The environment variable and value that disable the file.
const OFF_SWITCH: (&str, &str) = ("HASHMILL_TUNE", "off");

/// State of the tune file.
#[allow(clippy::large_enum_variant, reason = "a command has one, for a short time")]
pub(crate) enum TuneFileState {
    Missing,
    /// Disabled by the environment variable.
    Disabled,
    /// The file is not valid here, and why.
    Ignored(PathBuf, String),
    Valid(PathBuf, TunedChoices),
}

/// Reads the file.
pub(crate) fn find() -> TuneFileState {
    if std::env::var_os(OFF_SWITCH.0).is_some_and(|value| value == OFF_SWITCH.1) {
        return TuneFileState::Disabled;
    }
    let Some(file) = user_file() else { return TuneFileState::Missing };
    let path = file.path().to_owned();
    match file.read() {
        Ok(None) => TuneFileState::Missing,
        Ok(Some(choices)) => TuneFileState::Valid(path, choices),
        Err(error) => TuneFileState::Ignored(path, error.to_string()),
    }
}

impl TuneFileState {
    /// The choices of a valid file, else none.
    pub(crate) fn choices(self) -> TunedChoices {
        match self {
            TuneFileState::Valid(_, choices) => choices,
            _ => TunedChoices::default(),
        }
    }
}

/// The plan for BLAKE3: tuned or built in.
pub(crate) fn blake3() -> Plan {
    find().choices().blake3()
}

/// The plan for Argon2: tuned or built in.
pub(crate) fn argon2() -> argon2::Plan {
    find().choices().argon2()
}

/// The file of this user. Not in the cache directory: the measurement takes a minute, and its loss would go unnoticed.
fn user_file() -> Option<TuneFile> {
    os::state_folder().map(|folder| TuneFile::new(folder.join("hashmill").join("tune.json")))
}

/// The file to save choices in.
pub(crate) struct TuneFileTarget(TuneFile);

impl TuneFileTarget {
    /// Creates the folder and checks that the file can be written, before the measurement.
    pub(crate) fn prepare() -> Result<TuneFileTarget> {
        let Some(file) = user_file() else {
            bail!("no folder to save the choice in: neither XDG_STATE_HOME nor HOME is set; see --dry-run");
        };
        let _signals = SignalBlock::ending().context("signals")?;
        file.prepare()
            .with_context(|| format!("{}: the choice cannot be saved there", display_path(file.path())))?;
        Ok(TuneFileTarget(file))
    }

    /// Applies `change` to the valid choices and replaces the file atomically. Invalid content is dropped.
    pub(crate) fn save(self, change: impl FnOnce(&mut TunedChoices)) -> Result<PathBuf> {
        let TuneFileTarget(file) = self;
        let path = file.path().to_owned();
        let name = || format!("{}: nothing was saved", display_path(&path));
        let saved = file.save_with(change, |new, text| {
            let mut signals = SignalBlock::ending().map_err(Error::Io)?;
            write_and_finish(new, text, Expected::Anything, &mut signals).map(drop)
        });
        match saved {
            Ok(()) => Ok(path),
            Err(TuneFileError::Replace(error)) => Err(error_message(error, &display_path(&path), &name())),
            Err(error) => Err(anyhow::Error::new(error).context(name())),
        }
    }
}

/// Removes the file. Returns its path if it was there.
pub(crate) fn remove() -> Result<Option<PathBuf>> {
    let Some(file) = user_file() else { return Ok(None) };
    let was_there = file.remove().with_context(|| display_path(file.path()).into_owned())?;
    Ok(was_there.then(|| file.path().to_owned()))
}
