//! Devices of NVIDIA's driver, on a driver without a card, or, as far as nothing is to go wrong, on a card: see `tests/shim`.
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

use hashmill_gpu::Error;
use hashmill_gpu::cuda::{self as back, Buffer, Device, Driver};
use hashmill_hash::blake3::hazmat::{ContextKey, Mode, hash_derive_key_context};
use hashmill_hash::blake3::{Hasher, Kernel, Plan};
use hashmill_testkit::skip;
use shim::Shim;
use std::ops::Deref;
use std::sync::MutexGuard;

const KEY: &[u8; 32] = b"whats the Elvish word for friend";
const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// The driver without a card, and what tests say to it, for one test at a time.
struct Alone {
    shim: Shim,
    driver: Driver,
    _guard: MutexGuard<'static, ()>,
}

impl Alone {
    /// Nothing, said aloud, where there is no compiler to make it.
    fn new(what: &str) -> Option<Alone> {
        let shim = Shim::new(what)?;
        let guard = shim.alone();
        let driver = opened().expect("it has all functions");
        Some(Alone { shim, driver, _guard: guard })
    }

    fn device(&self) -> Device {
        Device::best_of(&self.driver).expect("there is one")
    }
}

/// A device that nobody else has meanwhile: of the driver without a card, or a card.
struct Held {
    device: Device,
    driver: Driver,
    shim: Option<Shim>,
    _guard: MutexGuard<'static, ()>,
}

impl Held {
    /// What tests say to the driver. Nothing, said aloud, where it is that of a card.
    fn shim(&self, what: &str) -> Option<&Shim> {
        if self.shim.is_none() {
            skip(what, "a card does not go wrong because a test says so");
        }
        self.shim.as_ref()
    }
}

impl Deref for Held {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

/// Nothing, said aloud, where there is no compiler to make its driver.
fn device(what: &str) -> Option<Held> {
    let (driver, shim, _guard) = if shim::on_card() {
        let guard = shim::one_at_a_time();
        (Driver::load().expect("HASHMILL_CARD=1 says so"), None, guard)
    } else {
        let Alone { driver, shim, _guard } = Alone::new(what)?;
        (driver, Some(shim), _guard)
    };
    let device = Device::best_of(&driver).expect("there is one");
    Some(Held { device, driver, shim, _guard })
}

/// The driver, once more.
fn opened() -> Result<Driver, Error> {
    let path = shim::library("drivers").expect("it was made before");
    // SAFETY: it does what the driver's interface promises, as far as it is called.
    #[allow(unsafe_code, reason = "our own library")]
    unsafe {
        Driver::open(path)
    }
}

/// A buffer with this in it from `offset` on, and other things before and behind.
fn buffer(device: &Device, bytes: &[u8], offset: usize) -> Buffer {
    let mut all = vec![0x5a; offset + bytes.len() + 16];
    all[offset..offset + bytes.len()].copy_from_slice(bytes);
    let buffer = device.buffer(all.len() as u64).expect("there is memory");
    buffer.write(0, &all).expect("it has room");
    buffer
}

/// Each mode by its name.
fn modes(context: &ContextKey) -> [(&'static str, Mode<'_>); 3] {
    [("hash", Mode::Hash), ("keyed", Mode::KeyedHash(KEY)), ("derive", Mode::DeriveKeyMaterial(context))]
}

fn context_key() -> ContextKey {
    hash_derive_key_context(CONTEXT)
}

/// The portable implementation.
fn portable(mode: &Mode<'_>, bytes: &[u8]) -> Hasher {
    let mut hasher = Hasher::with_mode(mode).with_plan(Plan::of(Kernel::portable()));
    hasher.update(bytes);
    hasher
}
