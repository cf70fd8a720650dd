//! Finding devices, describing them, opening one; memory of programs on it.

use super::driver::{Attribute, Context, Driver, Kernel, Memory, Ordinal, Stream};
use crate::{Error, Info, Kind, info};
use std::fmt;
use std::sync::Arc;

/// The kernels, compiled for every processor that they are for.
static IMAGE: &Aligned<[u8]> = &Aligned(*include_bytes!("kernels.fatbin"));

/// As the toolkit lays images out: the driver reads structures in them.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

/// The oldest processor that they are compiled for, its two numbers as one.
const OLDEST: u32 = 75;

/// What every kernel needs of a device: the most threads of a block, and bytes that they share.
const THREADS: u32 = 128;
pub(super) const SHARED: u32 = 25 << 10;

/// The oldest CUDA that a driver must know to take them.
const OLDEST_DRIVER: i32 = 13_000;

/// The devices of this machine, in the order of their numbers.
///
/// # Errors
/// [`Error::NoDriver`]; what the driver says.
pub fn devices() -> Result<Vec<Info>, Error> {
    Device::list(&Driver::load()?)
}

fn describe(ordinal: &Ordinal, version: i32) -> Result<Info, Error> {
    let ask = |which| ordinal.attribute(which);
    let (major, minor) = (ask(Attribute::Major)?, ask(Attribute::Minor)?);
    let lacks = if let Some(lacks) = lacks_of_driver(version) {
        Some(lacks)
    } else if 10 * major + minor < OLDEST {
        Some(format!("compute capability {}.{}: it has {major}.{minor}", OLDEST / 10, OLDEST % 10))
    } else if ask(Attribute::ThreadsOfBlock)? < THREADS {
        Some(format!("groups of {THREADS} threads"))
    } else if ask(Attribute::SharedOfBlock)? < SHARED {
        Some(format!("{SHARED} bytes that threads share"))
    } else {
        None
    };
    let (memory, cuda) = (ordinal.memory()?, numbers(version));
    Ok(Info {
        name: ordinal.name()?,
        id: Some(ordinal.uuid()?),
        bus: Some(ordinal.bus()?),
        kind: if ask(Attribute::Integrated)? == 0 { Kind::Discrete } else { Kind::Integrated },
        interface: "CUDA",
        driver: format!("CUDA {cuda}, compute capability {major}.{minor}"),
        memory: Some(memory),
        // Kernels see all of it.
        binding: memory,
        buffer: memory,
        subgroup: ask(Attribute::Warp)?,
        lacks,
    })
}

/// A version of CUDA as people write it.
fn numbers(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn lacks_of_driver(version: i32) -> Option<String> {
    let lacks = || format!("a driver of CUDA {}: it has one of {}", numbers(OLDEST_DRIVER), numbers(version));
    (version < OLDEST_DRIVER).then(lacks)
}

/// A device that was opened. Clones are the same device; threads share it.
///
/// It is in the context that everybody in this process shares for the device, so that addresses of other libraries are valid.
#[derive(Clone)]
pub struct Device(Arc<Opened>);

struct Opened {
    context: Arc<Context>,
    info: Info,
    multiprocessors: u32,
    kernels: Kernels,
    /// For copies that somebody waits for.
    copies: Stream,
}

/// All kernels, by their names.
pub(super) struct Kernels {
    pub(super) leaves: Kernel,
    pub(super) tops: Kernel,
    pub(super) messages: Kernel,
    pub(super) first: Kernel,
    pub(super) references: Kernel,
    pub(super) fill: Kernel,
    pub(super) fill_ahead: Kernel,
    pub(super) last: Kernel,
    pub(super) grow: Kernel,
}

impl Device {
    /// The device that [`best`](crate::best) names.
    ///
    /// # Errors
    /// [`Error::NoDriver`]; [`Error::NoDevice`] where there is none that can be used; what the driver says.
    pub fn best() -> Result<Device, Error> {
        Device::best_of(&Driver::load()?)
    }

    /// The device of this number in the list that [`devices`] gives.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::NoDevice`], [`Error::Unfit`]; what the driver says.
    pub fn open(number: usize) -> Result<Device, Error> {
        Device::open_of(&Driver::load()?, number)
    }

    /// The device that is meant by its number, its name, the beginning of its id or its place, as [`find`](crate::find) has it.
    ///
    /// # Errors
    /// [`Error::NoDriver`], [`Error::Which`], [`Error::Unfit`]; what the driver says.
    pub fn find(asked: &str) -> Result<Device, Error> {
        Device::find_of(&Driver::load()?, asked)
    }

    /// As [`devices`], of this driver.
    ///
    /// # Errors
    /// What the driver says.
    pub fn list(driver: &Driver) -> Result<Vec<Info>, Error> {
        let ordinals = (0..driver.count()?).map(|number| driver.ordinal(number));
        ordinals.map(|ordinal| describe(&ordinal?, driver.version())).collect()
    }

    /// As [`best`](Device::best), of this driver.
    ///
    /// # Errors
    /// As there.
    pub fn best_of(driver: &Driver) -> Result<Device, Error> {
        let number = info::best(&Device::list(driver)?).ok_or(Error::NoDevice { found: 0 })?;
        Device::open_of(driver, number)
    }

    /// As [`find`](Device::find), of this driver.
    ///
    /// # Errors
    /// As there.
    pub fn find_of(driver: &Driver, asked: &str) -> Result<Device, Error> {
        Device::open_of(driver, info::find(&Device::list(driver)?, asked)?)
    }

    /// As [`open`](Device::open), of this driver.
    ///
    /// # Errors
    /// As there.
    pub fn open_of(driver: &Driver, number: usize) -> Result<Device, Error> {
        let found = driver.count()?;
        if number >= found {
            return Err(Error::NoDevice { found });
        }
        let ordinal = driver.ordinal(number)?;
        let info = describe(&ordinal, driver.version())?;
        if let Some(lacks) = info.lacks {
            return Err(Error::Unfit { device: info.name, lacks });
        }
        let multiprocessors = ordinal.attribute(Attribute::Multiprocessors)?;
        let context = ordinal.open()?;
        let module = context.module(&IMAGE.0)?;
        let kernels = Kernels {
            leaves: module.kernel("blake3_leaves")?,
            tops: module.kernel("blake3_tops")?,
            messages: module.kernel("blake3_messages")?,
            first: module.kernel("argon2_first")?,
            references: module.kernel("argon2_references")?,
            fill: module.kernel("argon2_fill")?,
            fill_ahead: module.kernel("argon2_fill_ahead")?,
            last: module.kernel("argon2_last")?,
            grow: module.kernel("argon2_grow")?,
        };
        let copies = context.stream()?;
        Ok(Device(Arc::new(Opened { context, info, multiprocessors, kernels, copies })))
    }

    /// What is known of it.
    pub fn info(&self) -> &Info {
        &self.0.info
    }

    /// Bytes of its memory that nobody has, at this moment.
    ///
    /// # Errors
    /// What the driver says.
    pub fn free_memory(&self) -> Result<u64, Error> {
        self.0.context.free()
    }

    /// Memory for so many bytes, what is in it of no meaning.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; what the driver says.
    pub fn buffer(&self, bytes: u64) -> Result<Buffer, Error> {
        let whole = bytes.checked_next_multiple_of(16).ok_or(Error::OutOfMemory { bytes })?;
        Ok(Buffer { memory: Arc::new(self.0.context.memory(whole)?), bytes, device: self.clone() })
    }

    pub(super) fn borrowed(&self, memory: Memory) -> Buffer {
        let bytes = memory.bytes();
        Buffer { memory: Arc::new(memory), bytes, device: self.clone() }
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.0.context
    }

    pub(super) fn kernels(&self) -> &Kernels {
        &self.0.kernels
    }

    pub(super) fn multiprocessors(&self) -> u32 {
        self.0.multiprocessors
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.0.info).finish()
    }
}

/// Memory on a device. Clones are the same memory.
#[derive(Clone)]
pub struct Buffer {
    memory: Arc<Memory>,
    bytes: u64,
    device: Device,
}

impl Buffer {
    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Its address on the device, for kernels and libraries of others.
    pub fn pointer(&self) -> u64 {
        self.memory.pointer()
    }

    /// Copies these bytes into it, from `at` on, and waits for it.
    ///
    /// # Errors
    /// [`Error::Buffer`] where it has less room; what the driver says.
    pub fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        self.check(at, bytes.len() as u64)?;
        self.device.0.copies.upload_now(&self.memory, at, bytes)
    }

    /// Copies what is in it from `at` on, and waits for it.
    ///
    /// # Errors
    /// As for [`write`](Buffer::write).
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.check(at, bytes.len() as u64)?;
        self.device.0.copies.download_now(&self.memory, at, bytes)
    }

    pub(super) fn check(&self, at: u64, bytes: u64) -> Result<(), Error> {
        if at.checked_add(bytes).is_some_and(|end| end <= self.bytes) {
            return Ok(());
        }
        let reason = format!("{bytes} bytes from {at} on are not in its {}", self.bytes);
        Err(Error::Buffer { reason })
    }

    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Whether it is in the memory of this device.
    pub(super) fn is_of(&self, device: &Device) -> bool {
        Arc::ptr_eq(&self.device.0.context, &device.0.context)
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes at {:#x})", self.bytes, self.pointer())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_is_too_old_is_told_by_its_version() {
        let lacks = lacks_of_driver(12_080);
        assert_eq!(lacks.as_deref(), Some("a driver of CUDA 13.0: it has one of 12.8"));
        assert_eq!([lacks_of_driver(13_000), lacks_of_driver(13_020)], [None, None]);
    }
}
