//! `password verify`: whether a password belongs to a hash.
//!
//! A single hash and a file of hashes take separate paths: [`single`] and [`batch`].

mod answer;
mod batch;
mod single;

use super::costs;
use crate::engines;
use crate::flags::VerifyArgs;
use anyhow::Result;

pub(super) fn run(flags: &VerifyArgs) -> Result<u8> {
    let limits = costs::stored_limits(&flags.limits)?;
    let engine = engines::tag_engine(&flags.engine)?;
    match &flags.stored.file {
        Some(file) => batch::run(flags, file, limits, engine),
        None => single::run(flags, limits, engine),
    }
}
