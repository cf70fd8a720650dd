//! Who computes: the processor, or a device that was asked for.

#[cfg(not(feature = "gpu"))]
mod absent;
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
