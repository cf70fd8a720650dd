//! In programs without devices nobody is one.

use crate::flags::{self, EngineFlags};
use anyhow::Result;
use hashmill_hash::argon2::{Job, Params};

/// What computes tags of Argon2 in the processor's place: there is none.
pub(crate) enum Tags {}

impl Tags {
    /// None is what the processor is.
    pub(crate) fn open(flags: &EngineFlags) -> Result<Option<Tags>> {
        flags.check()?;
        if flags.is_device() { Err(flags::absent("gpu")) } else { Ok(None) }
    }

    pub(crate) fn compute(&self, _: Params, _: &mut [Job<'_>]) -> Result<(), String> {
        match *self {}
    }

    pub(crate) fn width(&self, _: Params, _: usize) -> Result<usize, String> {
        match *self {}
    }

    pub(crate) fn device(&self) -> (&'static str, &str) {
        match *self {}
    }

    pub(crate) fn wrong(&self) -> String {
        match *self {}
    }
}
