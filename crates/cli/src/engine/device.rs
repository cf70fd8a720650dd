//! A device of either back end: finding the one that is meant, opening it, and what it makes.

use crate::flags::{EngineFlags, EngineName, Misuse};
use crate::kept::{self, Tuned};
use anyhow::Result;
use hashmill_files::{Files, Function, Options, Otherwise};
use hashmill_gpu::{Error, Info, Kind, Tiles, Tuning, cuda, wgpu};
use hashmill_hash::argon2::{Job, Params};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::{BatchEngine, SubtreeEngine};
use hashmill_machine as machine;
use std::fmt::Display;
use std::num::NonZero;
use std::sync::Arc;

/// A device that was opened.
#[derive(Clone)]
pub(crate) enum Device {
    Cuda(cuda::Device),
    Wgpu(wgpu::Device),
}

impl Device {
    /// Opens the one that flags ask for.
    ///
    /// # Errors
    /// [`Misuse`]: nothing was done yet when it turns out that there is none.
    pub(crate) fn open(flags: &EngineFlags) -> Result<Device> {
        let opened = match (flags.engine, &flags.device) {
            (EngineName::Cuda, None) => cuda::Device::best().map(Device::Cuda),
            (EngineName::Cuda, Some(asked)) => cuda::Device::find(asked).map(Device::Cuda),
            (_, None) => wgpu::Device::best().map(Device::Wgpu),
            (_, Some(asked)) => wgpu::Device::find(asked).map(Device::Wgpu),
        };
        opened.map_err(|error| refused(flags, &error))
    }

    /// Opens the one of this engine that measurements are kept under.
    pub(super) fn of_model(engine: &str, model: &str) -> Result<Device, Error> {
        let is_cuda = engine == EngineName::Cuda.name();
        let devices = if is_cuda { cuda::devices()? } else { wgpu::devices() };
        let number = devices.iter().position(|info| info.model() == model);
        // A number names one device.
        let asked = number.map_or_else(|| model.to_owned(), |number| number.to_string());
        if is_cuda {
            cuda::Device::find(&asked).map(Device::Cuda)
        } else {
            wgpu::Device::find(&asked).map(Device::Wgpu)
        }
    }

    /// The engine's name on the command line.
    pub(crate) fn engine(&self) -> &'static str {
        match self {
            Device::Cuda(_) => EngineName::Cuda.name(),
            Device::Wgpu(_) => EngineName::Wgpu.name(),
        }
    }

    /// What is known of it.
    pub(crate) fn info(&self) -> &Info {
        match self {
            Device::Cuda(device) => device.info(),
            Device::Wgpu(device) => device.info(),
        }
    }

    /// An engine for files that are cut like this.
    pub(crate) fn subtrees(&self, mode: &Mode<'_>, tiles: Tiles) -> Result<Arc<dyn SubtreeEngine>, Error> {
        let Tiles { bytes, count, .. } = tiles;
        Ok(match self {
            Device::Cuda(device) => Arc::new(cuda::Subtrees::new(device, mode, bytes, count)?),
            Device::Wgpu(device) => Arc::new(wgpu::Subtrees::new(device, mode, bytes, count)?),
        })
    }

    /// How files are cut for it by so many threads, as `hashmill tune` has measured it, or as it is first guessed.
    fn tiles(&self, threads: usize) -> Tiles {
        let kept = kept::tiles(self.engine(), &self.info().model());
        let mut tiles = kept.unwrap_or_else(|| Tiles::guess(self.info())).fitting(self.info());
        // Each thread has one.
        tiles.count = tiles.count.min(threads.max(1));
        tiles
    }

    /// Argon2 for at most so many hashes side by side, laid out as `hashmill tune` has measured it, or as it is first guessed.
    pub(super) fn argon2(
        &self,
        params: Params,
        most: usize,
        measured: Option<&Tuned>,
    ) -> Result<Argon2, Error> {
        // An entry whose line is none is not among what is kept, and `hashmill info` says so.
        if let Some(tuning) = measured.and_then(|tuned| tuned.tuning.parse::<Tuning>().ok()) {
            return self.tuned(params, tuning.at_most(most));
        }
        Ok(match self {
            Device::Cuda(device) => Argon2::Cuda(cuda::Argon2::new(device, params, most)?),
            Device::Wgpu(device) => Argon2::Wgpu(wgpu::Argon2::new(device, params, most)?),
        })
    }

    /// What of all that was kept was measured of it.
    pub(super) fn kept(&self, all: &[Tuned]) -> Vec<Tuned> {
        let model = self.info().model();
        all.iter().filter(|tuned| tuned.is_for(self.engine(), &model)).cloned().collect()
    }

    /// Argon2 laid out like this, as far as memory allows.
    pub(crate) fn tuned(&self, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        Ok(match self {
            Device::Cuda(device) => Argon2::Cuda(cuda::Argon2::tuned(device, params, tuning)?),
            Device::Wgpu(device) => Argon2::Wgpu(wgpu::Argon2::tuned(device, params, tuning)?),
        })
    }

    /// Ways of laying out Argon2, the first as nobody has measured it.
    pub(crate) fn tunings(&self, params: Params) -> Result<Vec<Tuning>, Error> {
        match self {
            Device::Cuda(device) => device.tunings(params),
            Device::Wgpu(device) => Ok(device.tunings(params)),
        }
    }

    /// Whether its memory is the host's.
    pub(super) fn is_of_host(&self) -> bool {
        matches!(self.info().kind, Kind::Integrated | Kind::Software)
    }

    /// For how many hashes there is memory, where the device takes that of the host: a quarter of what is free there.
    pub(crate) fn room(&self, params: Params) -> usize {
        match machine::free_kib().filter(|_| self.is_of_host()) {
            Some(free) => usize::try_from(free / 4 / params.blocks()).unwrap_or(usize::MAX).max(1),
            None => usize::MAX,
        }
    }
}

/// Argon2 on a device.
pub(crate) enum Argon2 {
    Cuda(cuda::Argon2),
    Wgpu(wgpu::Argon2),
}

impl Argon2 {
    pub(crate) fn hash(&mut self, jobs: &mut [Job<'_>]) -> Result<(), Error> {
        match self {
            Argon2::Cuda(argon2) => argon2.hash(jobs),
            Argon2::Wgpu(argon2) => argon2.hash(jobs),
        }
    }

    pub(crate) fn width(&self) -> usize {
        match self {
            Argon2::Cuda(argon2) => argon2.width(),
            Argon2::Wgpu(argon2) => argon2.width(),
        }
    }

    /// As one of several engines.
    pub(super) fn engine(self) -> Box<dyn BatchEngine> {
        match self {
            Argon2::Cuda(argon2) => Box::new(argon2),
            Argon2::Wgpu(argon2) => Box::new(argon2),
        }
    }
}

/// A hasher of files on a device.
pub(super) fn files(flags: &EngineFlags, function: Function, options: Options) -> Result<Files> {
    let refused = |error: &dyn Display| refused(flags, error);
    let threads = options.threads.map_or_else(machine::threads, NonZero::get);
    let mode = function.mode().ok_or_else(|| refused(&"this function has no subtrees"))?;
    let device = Device::open(flags)?;
    let engine = device.subtrees(&mode, device.tiles(threads));
    let engine = engine.map_err(|error| refused(&error))?;
    let files = Files::with_engine(function, options, engine, Otherwise::Error);
    files.map_err(|error| refused(&error))
}

/// Why a device that was asked for is not there.
fn refused(flags: &EngineFlags, error: &dyn Display) -> anyhow::Error {
    Misuse(format!("{flags}: {error} (see hashmill info)")).into()
}
