//! Who hashes for `hashmill sum`: the processor, or a device that was asked for.

use crate::flags::EngineName;
use anyhow::Result;
use hashmill_files::{Files, Function, Options};

/// A hasher of files with this engine.
pub(crate) fn files(name: EngineName, function: Function, options: Options) -> Result<Files> {
    match name {
        // What a device makes of files is no faster than its bus: `hashmill info` says more.
        EngineName::Auto | EngineName::Cpu => Ok(Files::new(function, options)),
        #[cfg(feature = "gpu")]
        EngineName::Wgpu => device::files(function, options),
        #[cfg(not(feature = "gpu"))]
        EngineName::Wgpu => Err(crate::flags::absent("gpu")),
    }
}

#[cfg(feature = "gpu")]
mod device {
    use crate::flags::Misuse;
    use anyhow::Result;
    use hashmill_files::{Files, Function, Options, Otherwise};
    use hashmill_gpu::wgpu::{Device, Subtrees};
    use hashmill_machine as machine;
    use std::fmt::Display;
    use std::num::NonZero;
    use std::sync::Arc;

    /// The largest tile that files are cut into.
    const TILE: usize = 8 << 20;

    /// Tiles on their way at the same time: more than these fill no bus.
    const IN_FLIGHT: usize = 8;

    /// Nothing was done yet when it turns out that there is no device.
    fn misuse(error: impl Display) -> Misuse {
        Misuse(format!("--engine wgpu: {error} (see hashmill info)"))
    }

    pub(super) fn files(function: Function, options: Options) -> Result<Files> {
        let threads = options.threads.map_or_else(machine::threads, NonZero::get);
        let mode = function.mode().ok_or_else(|| misuse("this function has no subtrees"))?;
        let device = Device::best().map_err(misuse)?;
        let engine = Subtrees::new(&device, &mode, TILE, threads.min(IN_FLIGHT)).map_err(misuse)?;
        Ok(Files::with_engine(function, options, Arc::new(engine), Otherwise::Error).map_err(misuse)?)
    }
}
