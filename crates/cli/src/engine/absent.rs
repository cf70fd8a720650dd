//! In programs without devices nobody is one.

use super::Computer;
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

    pub(crate) fn width(&self, _: Params, _: usize) -> Result<usize, String> {
        match *self {}
    }

    pub(crate) fn device(&self) -> (&'static str, &str) {
        match *self {}
    }
}

impl Computer for Tags {
    fn takes(&self, _: Params, _: usize) -> bool {
        match *self {}
    }

    fn compute(&self, _: Params, _: &mut [Job<'_>]) -> Result<(), String> {
        match *self {}
    }

    fn wrong(&self) -> String {
        match *self {}
    }

    fn yields(&self, _: &str) -> bool {
        match *self {}
    }
}
