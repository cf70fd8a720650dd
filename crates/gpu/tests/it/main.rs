//! The engines of devices, on whatever device there is: Mesa's software Vulkan where nothing else is.
#![cfg(feature = "wgpu")]

mod argon2;
mod buffers;
mod devices;
#[path = "../engines/mod.rs"]
mod engines;
mod lost;
mod many;
mod shaders;

use hashmill_gpu::wgpu::{self as back, Device, api};
use hashmill_hash::blake3::hazmat::{ContextKey, Mode, hash_derive_key_context};
use hashmill_hash::blake3::{Hasher, Kernel, Plan};
use hashmill_testkit::skip;
use std::sync::OnceLock;

const KEY: &[u8; 32] = b"whats the Elvish word for friend";
const CONTEXT: &str = "BLAKE3 2019-12-27 16:29:52 test vectors context";

/// A device for everybody, or nothing, said aloud.
fn device(what: &str) -> Option<&'static Device> {
    static DEVICE: OnceLock<Result<Device, hashmill_gpu::Error>> = OnceLock::new();
    match DEVICE.get_or_init(Device::best) {
        Ok(device) => Some(device),
        Err(hashmill_gpu::Error::NoDevice { .. }) => {
            skip(what, "no device: mesa-vulkan-drivers brings one that is software");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A device of its own, that binds no more than so many bytes at a time: what is cut at gibibytes elsewhere is cut there here.
fn narrow(binding: u64) -> Option<Device> {
    limited(|limits| limits.max_storage_buffer_binding_size = binding)
}

/// A device of its own, with less than it has, and without anything that only some devices have.
fn limited(less: impl FnOnce(&mut api::Limits)) -> Option<Device> {
    let shared = device("devices that have less")?;
    let instance = api::Instance::new(api::InstanceDescriptor::new_without_display_handle());
    let adapters = ready(instance.enumerate_adapters(api::Backends::all()));
    let named = |adapter: &api::Adapter| adapter.get_info().name == shared.info().name;
    let adapter = adapters.into_iter().find(named).expect("the device is still there");
    let mut limits = adapter.limits();
    less(&mut limits);
    let descriptor = api::DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = ready(adapter.request_device(&descriptor)).expect("a second device");
    Some(Device::from_parts(device, queue).expect("as good as the first"))
}

/// What a future gives that is ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it is ready at once outside of browsers"),
    }
}

/// A buffer with this in it from `offset` on, and other things before and behind.
fn buffer(device: &Device, bytes: &[u8], offset: usize) -> api::Buffer {
    let (device, queue) = device.raw();
    let mut all = vec![0xa5; (offset + bytes.len()).next_multiple_of(16) + 16];
    all[offset..offset + bytes.len()].copy_from_slice(bytes);
    let usage = api::BufferUsages::STORAGE | api::BufferUsages::COPY_SRC | api::BufferUsages::COPY_DST;
    let size = all.len() as u64;
    let buffer =
        device.create_buffer(&api::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    queue.write_buffer(&buffer, 0, &all);
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
