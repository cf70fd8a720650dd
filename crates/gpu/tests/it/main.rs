//! Tests of wgpu devices, on any device there is: Mesa's software Vulkan if there is no other.
#![cfg(feature = "wgpu")]

mod argon2;
mod buffers;
mod devices;
#[path = "../engines/mod.rs"]
mod engines;
mod lost;
mod shaders;

use hashmill_gpu::wgpu::api;
use hashmill_gpu::{BackEnd, Device, Error, Selector};
use hashmill_testkit::skip;
use std::sync::OnceLock;

/// Numbers of chunks whose edges are tested.
const CHUNKS: &[usize] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 64, 127, 128, 129, 200, 255, 256, 257, 300, 383, 384, 385,
];
/// Offsets of inputs in their buffers.
const OFFSETS: [usize; 4] = [0, 256, 512, 65_536];
/// Lengths of inputs of several tiles.
const TILES: &[usize] = &[(64 << 20) + 1, (128 << 20) + 3073];
/// Distance between the lengths of short messages.
const MESSAGE_STEP: usize = 1;

/// The shared device, or `None` with a printed reason.
fn device(what: &str) -> Option<&'static Device> {
    static DEVICE: OnceLock<Result<Device, Error>> = OnceLock::new();
    match DEVICE.get_or_init(|| Device::open(BackEnd::Wgpu, Selector::Best)) {
        Ok(device) => Some(device),
        Err(Error::NoDevice { .. }) => {
            skip(what, "no device: mesa-vulkan-drivers brings one that is software");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// A separate device that binds at most `binding` bytes at a time, so that small inputs have several windows.
fn narrow(binding: u64) -> Option<Device> {
    limited(|limits| limits.max_storage_buffer_binding_size = binding)
}

/// A separate device with lower limits and without optional features.
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
    Some(Device::from_wgpu(device, queue).expect("as good as the first"))
}

/// The value of a future that is ready at once.
fn ready<T>(future: impl Future<Output = T>) -> T {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(value) => value,
        std::task::Poll::Pending => panic!("it is ready at once outside of browsers"),
    }
}

/// The device and queue of wgpu.
fn raw(device: &Device) -> (&api::Device, &api::Queue) {
    device.as_wgpu().expect("a device of wgpu")
}
