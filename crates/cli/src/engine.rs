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
        EngineName::Cuda | EngineName::Wgpu => device::files(name, function, options),
        #[cfg(not(feature = "gpu"))]
        EngineName::Cuda | EngineName::Wgpu => Err(crate::flags::absent("gpu")),
    }
}

#[cfg(feature = "gpu")]
mod device {
    use crate::flags::{EngineName, Misuse};
    use anyhow::Result;
    use hashmill_files::{Files, Function, Options, Otherwise};
    use hashmill_gpu::{Error, cuda, wgpu};
    use hashmill_hash::blake3::hazmat::Mode;
    use hashmill_hash::engine::SubtreeEngine;
    use hashmill_machine as machine;
    use std::fmt::Display;
    use std::num::NonZero;
    use std::sync::Arc;

    /// The largest tile that files are cut into.
    const TILE: usize = 8 << 20;

    /// Tiles on their way at the same time: more than these fill no bus.
    const IN_FLIGHT: usize = 8;

    pub(super) fn files(name: EngineName, function: Function, options: Options) -> Result<Files> {
        // Nothing was done yet when it turns out that there is no device.
        let misuse = |error: &dyn Display| Misuse(format!("{}: {error} (see hashmill info)", name.flag()));
        let threads = options.threads.map_or_else(machine::threads, NonZero::get);
        let mode = function.mode().ok_or_else(|| misuse(&"this function has no subtrees"))?;
        let engine = engine(name, &mode, threads.min(IN_FLIGHT)).map_err(|error| misuse(&error))?;
        let files = Files::with_engine(function, options, engine, Otherwise::Error);
        Ok(files.map_err(|error| misuse(&error))?)
    }

    fn engine(name: EngineName, mode: &Mode<'_>, in_flight: usize) -> Result<Arc<dyn SubtreeEngine>, Error> {
        Ok(match name {
            EngineName::Cuda => Arc::new(cuda::Subtrees::new(&cuda::Device::best()?, mode, TILE, in_flight)?),
            _ => Arc::new(wgpu::Subtrees::new(&wgpu::Device::best()?, mode, TILE, in_flight)?),
        })
    }
}
