//! An open device with what `hashmill tune` measured on it.

use crate::spec::EngineName;
use crate::tune_file::{TunedArgon2, TunedChoices};
use hashmill_gpu::{Argon2, BackEnd, Device, Error, Info, Kind, Nonces, Selector, Tiles, Tuning};
use hashmill_hash::argon2::Params;
use hashmill_hash::argon2::pow::HitChecker;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::SubtreeEngine;
use hashmill_machine as machine;
use std::sync::Arc;

/// An open device.
#[derive(Clone)]
pub struct OpenDevice(Device);

#[cfg(test)]
impl From<Device> for OpenDevice {
    fn from(device: Device) -> OpenDevice {
        OpenDevice(device)
    }
}

impl OpenDevice {
    /// Opens the device with this number, id, place or part of a name; without one, the best.
    ///
    /// # Errors
    /// No such device, or errors of its driver. Engines other than `cuda` and `wgpu` have no devices.
    pub fn open(engine: EngineName, device: Option<&str>) -> Result<OpenDevice, Error> {
        OpenDevice::select(engine, Selector::from_name(device))
    }

    /// Opens the device of `engine` that the tune file names by this model.
    pub(crate) fn open_model(engine: &str, model: &str) -> Result<OpenDevice, Error> {
        let is_cuda = engine == EngineName::Cuda.name();
        let engine = if is_cuda { EngineName::Cuda } else { EngineName::Wgpu };
        OpenDevice::select(engine, Selector::Model(model))
    }

    fn select(engine: EngineName, selector: Selector<'_>) -> Result<OpenDevice, Error> {
        let back_end = match engine {
            EngineName::Cuda => BackEnd::Cuda,
            EngineName::Wgpu => BackEnd::Wgpu,
            EngineName::Auto | EngineName::Cpu => return Err(Error::NoDevice { found: 0 }),
        };
        Device::open(back_end, selector).map(OpenDevice)
    }

    /// The engine's name on the command line.
    pub fn engine(&self) -> &'static str {
        self.0.back_end().name()
    }

    /// What the driver reports of it.
    pub fn info(&self) -> &Info {
        self.0.info()
    }

    /// An engine that hashes files in tiles.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn subtrees(&self, mode: &Mode<'_>, tiles: Tiles) -> Result<Arc<dyn SubtreeEngine>, Error> {
        self.0.subtrees(mode, tiles.bytes, tiles.count)
    }

    /// The tiles for files read by `threads` threads: those that `hashmill tune` measured, or a first guess.
    pub(crate) fn tiles(&self, threads: usize, choices: &TunedChoices) -> Tiles {
        let tuned = choices.tiles(self.engine(), &self.info().model());
        let mut tiles = tuned.unwrap_or_else(|| Tiles::guess(self.info())).fitting(self.info());
        // A thread fills one tile at a time.
        tiles.count = tiles.count.min(threads.max(1));
        tiles
    }

    /// Argon2 for at most `max_hashes` hashes side by side, in the layout that `hashmill tune` measured, or in a first guess.
    pub(crate) fn argon2(
        &self,
        params: Params,
        max_hashes: usize,
        measured: Option<&TunedArgon2>,
    ) -> Result<Argon2, Error> {
        // `tune_file` drops entries that do not parse, and `hashmill info` reports them. A layout changes no result.
        match measured.and_then(|tuned| tuned.tuning.parse::<Tuning>().ok()) {
            Some(tuning) => self.argon2_with(params, tuning.at_most(max_hashes)),
            None => self.0.argon2(params, max_hashes),
        }
    }

    /// A search for nonces by the function of `checker`, with at most `max_hashes` at a time, in the layout that was measured for batches
    /// of such hashes, or in a first guess.
    pub(crate) fn nonces(
        &self,
        checker: Arc<HitChecker>,
        max_hashes: usize,
        measured: Option<&TunedArgon2>,
    ) -> Result<Nonces, Error> {
        match measured.and_then(|tuned| tuned.tuning.parse::<Tuning>().ok()) {
            Some(tuning) => self.0.nonces_tuned(checker, tuning.at_most(max_hashes)),
            None => self.0.nonces(checker, max_hashes),
        }
    }

    /// The entries of the tune file that belong to this device.
    pub(crate) fn tuned_entries(&self, all: &[TunedArgon2]) -> Vec<TunedArgon2> {
        let model = self.info().model();
        all.iter().filter(|tuned| tuned.is_for(self.engine(), &model)).cloned().collect()
    }

    /// Argon2 in this layout, reduced to what memory allows.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn argon2_with(&self, params: Params, tuning: Tuning) -> Result<Argon2, Error> {
        self.0.argon2_tuned(params, tuning)
    }

    /// Candidate layouts of Argon2. The first is the guess used without a measurement.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn tunings(&self, params: Params) -> Result<Vec<Tuning>, Error> {
        self.0.tunings(params)
    }

    /// Whether the device uses host memory.
    pub(crate) fn uses_host_memory(&self) -> bool {
        matches!(self.info().kind, Kind::Integrated | Kind::Software)
    }

    /// How many hashes fit into memory. A device that uses host memory may take a quarter of what is free, if the system reports it.
    /// Otherwise the device itself reports that it lacks memory.
    pub fn max_hashes(&self, params: Params) -> usize {
        match machine::free_kib().filter(|_| self.uses_host_memory()) {
            Some(free) => usize::try_from(free / 4 / params.blocks()).unwrap_or(usize::MAX).max(1),
            None => usize::MAX,
        }
    }
}
