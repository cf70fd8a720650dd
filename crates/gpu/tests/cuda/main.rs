//! Tests of the CUDA back end on a simulated driver (`tests/shim`); those without simulated failures also on a card.
#![cfg(feature = "cuda")]

mod argon2;
mod driver;
#[path = "../engines/mod.rs"]
mod engines;
mod failures;
mod inputs;
#[path = "../shim/mod.rs"]
mod shim;
mod sizes;

use hashmill_gpu::cuda::Driver;
use hashmill_gpu::{Device, Error, Selector};
use hashmill_testkit::skip;
use shim::Shim;
use std::ops::Deref;
use std::sync::MutexGuard;

/// Numbers of chunks whose edges are tested.
const CHUNKS: &[usize] = &[1, 2, 3, 4, 5, 7, 8, 9, 127, 128, 129, 255, 256, 257, 385];
/// Offsets of inputs in their buffers.
const OFFSETS: [usize; 4] = [0, 16, 256, 65_536];
/// Lengths of inputs of several tiles.
const TILES: &[usize] = &[(128 << 20) + 3073];
/// Distance between the lengths of short messages: the simulated driver is slow.
const MESSAGE_STEP: usize = 7;

/// The simulated driver and its controls, locked for one test.
struct ExclusiveShim {
    shim: Shim,
    driver: Driver,
    _guard: MutexGuard<'static, ()>,
}

impl ExclusiveShim {
    /// `None`, with a printed reason, where there is no compiler to build it.
    fn new(what: &str) -> Option<ExclusiveShim> {
        let shim = Shim::new(what)?;
        let guard = shim.lock();
        let driver = opened().expect("the simulated driver has all functions");
        Some(ExclusiveShim { shim, driver, _guard: guard })
    }

    fn device(&self) -> Device {
        Device::open_by_driver(&self.driver, Selector::Best).expect("there is one")
    }
}

/// A device, simulated or a card, locked for one test.
struct ExclusiveDevice {
    device: Device,
    driver: Driver,
    shim: Option<Shim>,
    _guard: MutexGuard<'static, ()>,
}

impl ExclusiveDevice {
    /// The controls of the driver; `None`, with a printed reason, on a card.
    fn shim(&self, what: &str) -> Option<&Shim> {
        if self.shim.is_none() {
            skip(what, "a test cannot make a card fail");
        }
        self.shim.as_ref()
    }
}

impl Deref for ExclusiveDevice {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

/// `None`, with a printed reason, where there is no compiler to build the simulated driver.
fn device(what: &str) -> Option<ExclusiveDevice> {
    let (driver, shim, _guard) = if shim::on_card() {
        let guard = shim::one_at_a_time();
        (Driver::load().expect("HASHMILL_CARD=1 says so"), None, guard)
    } else {
        let ExclusiveShim { driver, shim, _guard } = ExclusiveShim::new(what)?;
        (driver, Some(shim), _guard)
    };
    let device = Device::open_by_driver(&driver, Selector::Best).expect("there is one");
    Some(ExclusiveDevice { device, driver, shim, _guard })
}

/// Opens the driver once more.
fn opened() -> Result<Driver, Error> {
    let path = shim::library("drivers").expect("it was built before");
    // SAFETY: it implements the driver's interface as far as it is called.
    #[allow(unsafe_code, reason = "our own library")]
    unsafe {
        Driver::open(path)
    }
}
