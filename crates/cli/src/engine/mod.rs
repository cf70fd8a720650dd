//! Who computes: the processor, or a device that was asked for.

#[cfg(not(feature = "gpu"))]
mod absent;
#[cfg(feature = "gpu")]
mod auto;
#[cfg(feature = "gpu")]
pub(crate) mod device;
#[cfg(feature = "gpu")]
mod tags;

#[cfg(not(feature = "gpu"))]
pub(crate) use absent::Tags;
#[cfg(feature = "gpu")]
pub(crate) use tags::Tags;

use crate::flags::EngineFlags;
use anyhow::Result;
use hashmill_files::{Files, Function, Options};
use hashmill_hash::argon2::{Job, Params};

/// Who computes tags of Argon2 in the processor's place.
pub(crate) trait Computer {
    /// Whether so many hashes belong here.
    fn takes(&self, params: Params, count: usize) -> bool;

    /// All of these, or why not.
    fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String>;

    /// That it was found out to be wrong.
    fn wrong(&self) -> String;

    /// It failed, and why. Whether the processor is to go on in its place, as nobody asked for this one.
    fn yields(&self, why: &str) -> bool;
}

/// What flags, or measurements that were kept, put in the processor's place.
///
/// # Errors
/// [`Misuse`](crate::flags::Misuse) where what was asked for is not there.
pub(crate) fn computer(flags: &EngineFlags) -> Result<Option<Box<dyn Computer>>> {
    let asked = Tags::open(flags)?.map(|tags| Box::new(tags) as Box<dyn Computer>);
    #[cfg(feature = "gpu")]
    if flags.engine == crate::flags::EngineName::Auto {
        return Ok(auto::Auto::find().map(|auto| Box::new(auto) as Box<dyn Computer>));
    }
    Ok(asked)
}

/// A hasher of files with this engine.
pub(crate) fn files(flags: &EngineFlags, function: Function, options: Options) -> Result<Files> {
    flags.check()?;
    if !flags.is_device() {
        // What a device makes of files is no faster than its bus: `hashmill info` says more.
        return Ok(Files::new(function, options));
    }
    #[cfg(feature = "gpu")]
    return device::files(flags, function, options);
    #[cfg(not(feature = "gpu"))]
    Err(crate::flags::absent("gpu"))
}
