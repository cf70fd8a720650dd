//! How much memory a device has near to it, which wgpu does not tell: the one place here that speaks to a driver itself.
#![allow(
    unsafe_code,
    reason = "the driver's own description of its memory, of which wgpu gives the raw handles only"
)]

use ::wgpu::{Adapter, Device};

/// A heap of Vulkan's that lies near to the device.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
const DEVICE_LOCAL: u32 = 1;

/// Bytes of the largest heap near to the device that is behind a raw adapter or a raw device: wgpu has no name for what they share.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
macro_rules! largest {
    ($raw:expr) => {{
        let raw = $raw;
        let instance = raw.shared_instance().raw_instance();
        // SAFETY: the device is one of this instance's, and both live as long as `raw`.
        let memory = unsafe { instance.get_physical_device_memory_properties(raw.raw_physical_device()) };
        let heaps = memory.memory_heaps.iter().take(memory.memory_heap_count as usize);
        heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0).map(|heap| heap.size).max()
    }};
}

/// Bytes of the largest heap near to the device.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
pub(super) fn near(adapter: &Adapter) -> Option<u64> {
    // SAFETY: the handle is used within this function, and nothing is destroyed by it.
    largest!(unsafe { adapter.as_hal::<::wgpu::hal::api::Vulkan>() }?)
}

/// The same of a device that somebody has opened.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
pub(super) fn near_opened(device: &Device) -> Option<u64> {
    // SAFETY: the handle is used within this function, and nothing is destroyed by it.
    largest!(unsafe { device.as_hal::<::wgpu::hal::api::Vulkan>() }?)
}

/// Not known.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows)))]
pub(super) fn near(_: &Adapter) -> Option<u64> {
    None
}

/// Not known.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows)))]
pub(super) fn near_opened(_: &Device) -> Option<u64> {
    None
}
