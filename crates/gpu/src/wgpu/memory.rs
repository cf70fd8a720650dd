//! Size of device-local memory, which wgpu does not report: the only direct calls of a driver in this back end.
#![allow(
    unsafe_code,
    reason = "the driver's own description of its memory, of which wgpu gives the raw handles only"
)]

use ::wgpu::{Adapter, Device};

/// Flag of a Vulkan heap in device-local memory.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
const DEVICE_LOCAL: u32 = 1;

/// Bytes of the largest device-local heap of a raw adapter or a raw device: wgpu has no common trait for both.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
macro_rules! largest {
    ($raw:expr) => {{
        let raw = $raw;
        let instance = raw.shared_instance().raw_instance();
        // SAFETY: the device belongs to this instance, and both live as long as `raw`.
        let memory = unsafe { instance.get_physical_device_memory_properties(raw.raw_physical_device()) };
        let heaps = memory.memory_heaps.iter().take(memory.memory_heap_count as usize);
        heaps.filter(|heap| heap.flags.as_raw() & DEVICE_LOCAL != 0).map(|heap| heap.size).max()
    }};
}

/// Bytes of the largest device-local heap.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
pub(super) fn of_adapter(adapter: &Adapter) -> Option<u64> {
    // SAFETY: the handle is used only within this function, which destroys nothing.
    largest!(unsafe { adapter.as_hal::<::wgpu::hal::api::Vulkan>() }?)
}

/// As [`of_adapter`], for an open device.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows))]
pub(super) fn of_device(device: &Device) -> Option<u64> {
    // SAFETY: the handle is used only within this function, which destroys nothing.
    largest!(unsafe { device.as_hal::<::wgpu::hal::api::Vulkan>() }?)
}

/// Unknown here.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows)))]
pub(super) fn of_adapter(_: &Adapter) -> Option<u64> {
    None
}

/// Unknown here.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows)))]
pub(super) fn of_device(_: &Device) -> Option<u64> {
    None
}
