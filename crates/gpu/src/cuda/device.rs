//! Device listing, description and opening; buffers in device memory.

use super::driver::{Attribute, Context, Driver, Kernel, Memory, Ordinal, Stream};
use crate::blake3::check_range;
use crate::{Error, Info, Kind, Selector};
use std::sync::Arc;

/// The kernels, compiled for all supported processors.
static IMAGE: &Aligned<[u8]> = &Aligned(*include_bytes!("kernels.fatbin"));

/// Aligned as the toolkit aligns images: the driver reads structures in them.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);

/// The oldest supported compute capability: ten times the major number plus the minor number.
const MIN_COMPUTE_CAPABILITY: u32 = 75;

/// Requirements of the kernels: threads of a block, and bytes of shared memory.
const THREADS: u32 = 128;
pub(super) const SHARED_BYTES: u32 = 25 << 10;

/// The oldest driver that loads the kernels, by its CUDA version.
const MIN_DRIVER_VERSION: i32 = 13_000;

fn describe(ordinal: &Ordinal, version: i32) -> Result<Info, Error> {
    let attribute = |attribute| ordinal.attribute(attribute);
    let (major, minor) = (attribute(Attribute::Major)?, attribute(Attribute::Minor)?);
    let lacks = if let Some(lacks) = missing_driver_version(version) {
        Some(lacks)
    } else if 10 * major + minor < MIN_COMPUTE_CAPABILITY {
        Some(format!(
            "compute capability {}.{}: it has {major}.{minor}",
            MIN_COMPUTE_CAPABILITY / 10,
            MIN_COMPUTE_CAPABILITY % 10
        ))
    } else if attribute(Attribute::ThreadsPerBlock)? < THREADS {
        Some(format!("groups of {THREADS} threads"))
    } else if attribute(Attribute::SharedBytesPerBlock)? < SHARED_BYTES {
        Some(format!("{SHARED_BYTES} bytes that threads share"))
    } else {
        None
    };
    let (memory, cuda) = (ordinal.memory()?, version_text(version));
    Ok(Info {
        name: ordinal.name()?,
        id: Some(ordinal.uuid()?),
        bus: Some(ordinal.bus()?),
        kind: if attribute(Attribute::Integrated)? == 0 { Kind::Discrete } else { Kind::Integrated },
        interface: "CUDA",
        driver: format!("CUDA {cuda}, compute capability {major}.{minor}"),
        memory: Some(memory),
        // Kernels can address all of it.
        binding: memory,
        buffer: memory,
        subgroup: attribute(Attribute::Warp)?,
        lacks,
    })
}

/// A CUDA version in dotted form.
fn version_text(version: i32) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

fn missing_driver_version(version: i32) -> Option<String> {
    let lacks = || {
        format!(
            "a driver of CUDA {}: it has one of {}",
            version_text(MIN_DRIVER_VERSION),
            version_text(version)
        )
    };
    (version < MIN_DRIVER_VERSION).then(lacks)
}

/// An open device. Clones are the same device; threads share it.
///
/// It uses the device's primary context, which the whole process shares, so that addresses of other libraries
/// are valid.
#[derive(Clone)]
pub(crate) struct Device(Arc<DeviceState>);

struct DeviceState {
    context: Arc<Context>,
    info: Info,
    multiprocessors: u32,
    kernels: Kernels,
    /// For copies that the caller waits for.
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

impl Driver {
    /// Descriptions of all devices of this driver, by number.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn devices(&self) -> Result<Vec<Info>, Error> {
        let ordinals = (0..self.count()?).map(|number| self.ordinal(number));
        ordinals.map(|ordinal| describe(&ordinal?, self.version())).collect()
    }
}

impl Device {
    /// Opens a device of this driver.
    pub(crate) fn open(driver: &Driver, selector: Selector<'_>) -> Result<Device, Error> {
        let number = selector.choose(&driver.devices()?)?;
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
        Ok(Device(Arc::new(DeviceState { context, info, multiprocessors, kernels, copies })))
    }

    pub(crate) fn info(&self) -> &Info {
        &self.0.info
    }

    /// Bytes of its memory that are free at this moment.
    pub(crate) fn free_memory(&self) -> Result<u64, Error> {
        self.0.context.free()
    }

    /// Allocates `bytes` bytes with unspecified contents.
    pub(crate) fn buffer(&self, bytes: u64) -> Result<Buffer, Error> {
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

/// Memory on a device. Clones are the same memory.
#[derive(Clone)]
pub(crate) struct Buffer {
    memory: Arc<Memory>,
    bytes: u64,
    device: Device,
}

impl Buffer {
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Its address on the device.
    pub(crate) fn pointer(&self) -> u64 {
        self.memory.pointer()
    }

    /// Copies these bytes into it, from `at` on, and waits for the copy.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        self.check(at, bytes.len() as u64)?;
        self.device.0.copies.upload_now(&self.memory, at, bytes)
    }

    /// Copies its contents from `at` on, and waits for the copy.
    pub(crate) fn read(&self, at: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.check(at, bytes.len() as u64)?;
        self.device.0.copies.download_now(&self.memory, at, bytes)
    }

    pub(super) fn check(&self, at: u64, bytes: u64) -> Result<(), Error> {
        check_range(at, bytes, self.bytes)
    }

    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Is it in the memory of this device?
    pub(super) fn belongs_to(&self, device: &Device) -> bool {
        Arc::ptr_eq(&self.device.0.context, &device.0.context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_shows_that_a_driver_is_too_old() {
        let lacks = missing_driver_version(12_080);
        assert_eq!(lacks.as_deref(), Some("a driver of CUDA 13.0: it has one of 12.8"));
        assert_eq!([missing_driver_version(13_000), missing_driver_version(13_020)], [None, None]);
    }
}
