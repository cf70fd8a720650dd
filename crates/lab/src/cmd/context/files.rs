//! Files that commands read and write.

use super::error::Error;
use crate::report::check::problems;
use crate::report::schema::Report;
use crate::report::store::{read, read_bytes, write_atomically};
use serde::de::DeserializeOwned;
use std::path::Path;

/// Reads a report and checks that its conclusions follow from its data.
pub(crate) fn sound_report(path: &Path) -> Result<Report, Error> {
    let report = read(path).map_err(Error::read(path))?;
    match problems(&report).first() {
        Some(problem) => Err(Error::Refused(format!("{}: {problem}", path.display()))),
        None => Ok(report),
    }
}

/// Reads another document of the lab.
pub(crate) fn document<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let bytes = read_bytes(path).map_err(Error::read(path))?;
    serde_json::from_slice(&bytes).map_err(|error| Error::read(path)(error.into()))
}

/// Writes files, each atomically.
pub(crate) fn write<const N: usize>(folder: &Path, files: [(&str, String); N]) -> Result<(), Error> {
    for (name, text) in files {
        let path = folder.join(name);
        write_atomically(&path, &text).map_err(Error::write(&path))?;
    }
    Ok(())
}
