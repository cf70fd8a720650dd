//! Tags of Argon2 by a device.

use super::device::{Argon2, Device};
use super::{Asked, Computer};
use crate::flags::EngineFlags;
use crate::kept::{self, Tuned};
use anyhow::Result;
use hashmill_gpu::Error;
use hashmill_hash::argon2::{Job, Params};
use std::cell::RefCell;

/// What computes tags of Argon2 in the processor's place, with memory on the device for the parameters that came last.
pub(super) struct Tags {
    device: Device,
    /// What `hashmill tune` has measured of it.
    kept: Vec<Tuned>,
    /// What asked for it.
    flags: String,
    /// For so many hashes at most.
    last: RefCell<Option<(Params, usize, Argon2)>>,
}

impl Tags {
    /// The device that flags ask for; none is the processor.
    ///
    /// # Errors
    /// [`Misuse`](crate::flags::Misuse) where it is not there.
    pub(super) fn open(flags: &EngineFlags) -> Result<Option<Tags>> {
        flags.check()?;
        if !flags.is_device() {
            return Ok(None);
        }
        let device = Device::open(flags)?;
        let kept = device.kept(&kept::find().kept().devices);
        Ok(Some(Tags { device, kept, flags: flags.to_string(), last: RefCell::new(None) }))
    }

    /// The device that this was measured of, with what else was measured of it.
    ///
    /// # Errors
    /// That there is none now; what its driver says.
    pub(super) fn of(measured: &Tuned, all: &[Tuned]) -> Result<Tags, String> {
        let flags = format!("--engine auto: {}", measured.device);
        match Device::of_model(&measured.engine, &measured.device) {
            Ok(device) => Ok(Tags { kept: device.kept(all), device, flags, last: RefCell::new(None) }),
            Err(error) => Err(format!("{flags}: {error}")),
        }
    }

    fn try_compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), Error> {
        self.with(params, jobs.len(), |argon2| argon2.hash(jobs))?
    }

    /// Memory for at most so many of these hashes.
    fn with<T>(&self, params: Params, most: usize, work: impl FnOnce(&mut Argon2) -> T) -> Result<T, Error> {
        let most = most.min(self.device.room(params));
        let mut last = self.last.borrow_mut();
        let kept = last.take().filter(|(of, room, _)| *of == params && *room >= most);
        let (of, room, mut argon2) = match kept {
            Some(kept) => kept,
            None => {
                let measured = self.kept.iter().find(|tuned| tuned.has_costs(params));
                (params, most, self.device.argon2(params, most, measured)?)
            }
        };
        let result = work(&mut argon2);
        *last = Some((of, room, argon2));
        Ok(result)
    }

    fn words(&self, error: &Error) -> String {
        format!("{}: {error}", self.flags)
    }
}

/// Whoever asked for a device gets its answers, and no others.
impl Computer for Tags {
    fn takes(&self, _: Params, _: usize) -> bool {
        true
    }

    fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String> {
        self.try_compute(params, jobs).map_err(|error| self.words(&error))
    }

    fn give_back(&self) {
        if self.device.is_of_host() {
            self.last.take();
        }
    }

    fn wrong(&self) -> String {
        self.words(&Error::SelfTest { device: self.device.info().name.clone() })
    }

    fn yields(&self, _: &str) -> bool {
        false
    }
}

impl Asked for Tags {
    fn width(&self, params: Params, most: usize) -> Result<usize, String> {
        self.with(params, most, |argon2| argon2.width()).map_err(|error| self.words(&error))
    }

    fn names(&self) -> (String, String) {
        (self.device.engine().to_owned(), self.device.info().name.clone())
    }
}
