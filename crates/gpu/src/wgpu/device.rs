//! Device listing, description and opening.

use super::argon2;
use super::blake3_kernels::{Kernels, TEXT};
use super::error_scope::{block_on, guarded};
use super::memory;
use crate::{Error, Info, Kind, Selector};
use ::wgpu::{Adapter, AdapterInfo, Backend, Backends, DeviceType, DownlevelFlags, Instance, Limits};
use std::sync::{Arc, OnceLock};

/// Requirements of the kernels: threads of a workgroup, bytes that they share, buffers.
const THREADS: u32 = 128;
const SHARED_BYTES: u32 = THREADS * 32;
const BUFFERS: u32 = 4;

/// Descriptions of all devices of this machine, by number. Empty without a driver.
pub(crate) fn devices() -> Vec<Info> {
    adapters().iter().map(describe).collect()
}

fn adapters() -> Vec<Adapter> {
    let mut descriptor = ::wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    // No validation layers: they would print to the program's output.
    descriptor.flags = ::wgpu::InstanceFlags::empty();
    block_on(Instance::new(descriptor).enumerate_adapters(Backends::all()))
}

fn describe(adapter: &Adapter) -> Info {
    let lacks = missing_feature(adapter);
    Info { memory: memory::of_adapter(adapter), lacks, ..info(&adapter.get_info(), &adapter.limits()) }
}

fn info(info: &AdapterInfo, limits: &Limits) -> Info {
    Info {
        name: info.name.clone(),
        // wgpu reports no id.
        id: None,
        bus: (!info.device_pci_bus_id.is_empty()).then(|| info.device_pci_bus_id.to_lowercase()),
        kind: match info.device_type {
            DeviceType::DiscreteGpu => Kind::Discrete,
            DeviceType::IntegratedGpu => Kind::Integrated,
            DeviceType::VirtualGpu => Kind::Virtual,
            DeviceType::Cpu => Kind::Software,
            DeviceType::Other => Kind::Other,
        },
        interface: match info.backend {
            Backend::Vulkan => "Vulkan",
            Backend::Metal => "Metal",
            Backend::Dx12 => "DirectX 12",
            _ => "another",
        },
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        memory: None,
        binding: limits.max_storage_buffer_binding_size,
        buffer: limits.max_buffer_size,
        subgroup: info.subgroup_max_size,
        lacks: None,
    }
}

fn missing_feature(adapter: &Adapter) -> Option<String> {
    if !adapter.get_downlevel_capabilities().flags.contains(DownlevelFlags::COMPUTE_SHADERS) {
        return Some("kernels of any kind".to_owned());
    }
    missing_limit(&adapter.limits())
}

fn missing_limit(limits: &Limits) -> Option<String> {
    let Limits { max_compute_invocations_per_workgroup, max_compute_workgroup_storage_size, .. } = *limits;
    if max_compute_invocations_per_workgroup < THREADS || limits.max_compute_workgroup_size_x < THREADS {
        Some(format!("groups of {THREADS} threads"))
    } else if max_compute_workgroup_storage_size < SHARED_BYTES {
        Some(format!("{SHARED_BYTES} bytes that threads share"))
    } else if limits.max_storage_buffers_per_shader_stage < BUFFERS {
        Some(format!("{BUFFERS} buffers for a kernel"))
    } else {
        None
    }
}

/// An open device. Clones are the same device; threads share it.
#[derive(Clone)]
pub(crate) struct Device(Arc<DeviceState>);

struct DeviceState {
    device: ::wgpu::Device,
    queue: ::wgpu::Queue,
    info: Info,
    kernels: OnceLock<Kernels>,
    argon2: OnceLock<argon2::Kernels>,
}

impl Device {
    /// Opens a device of this machine.
    pub(crate) fn open(selector: Selector<'_>) -> Result<Device, Error> {
        let adapters = adapters();
        let devices: Vec<_> = adapters.iter().map(describe).collect();
        Device::from_adapter(&adapters[selector.choose(&devices)?])
    }

    fn from_adapter(adapter: &Adapter) -> Result<Device, Error> {
        let info = describe(adapter);
        if let Some(lacks) = info.lacks {
            return Err(Error::Unfit { device: info.name, lacks });
        }
        let descriptor = ::wgpu::DeviceDescriptor {
            label: Some("hashmill"),
            // wgpu's default limits are those of the smallest devices: 128 MiB for a kernel.
            required_limits: adapter.limits(),
            required_features: adapter.features() & argon2::FEATURES,
            ..Default::default()
        };
        let (device, queue) = block_on(adapter.request_device(&descriptor))
            .map_err(|error| Error::Driver { reason: error.to_string() })?;
        Ok(Device::with(device, queue, info))
    }

    /// Wraps a device that the caller has opened, with the caller's own limits.
    pub(crate) fn from_parts(device: ::wgpu::Device, queue: ::wgpu::Queue) -> Result<Device, Error> {
        let limits = device.limits();
        let (lacks, memory) = (missing_limit(&limits), memory::of_device(&device));
        let info = Info { memory, lacks, ..info(&device.adapter_info(), &limits) };
        match info.lacks {
            Some(lacks) => Err(Error::Unfit { device: info.name, lacks }),
            None => Ok(Device::with(device, queue, info)),
        }
    }

    fn with(device: ::wgpu::Device, queue: ::wgpu::Queue, info: Info) -> Device {
        Device(Arc::new(DeviceState {
            device,
            queue,
            info,
            kernels: OnceLock::new(),
            argon2: OnceLock::new(),
        }))
    }

    pub(crate) fn info(&self) -> &Info {
        &self.0.info
    }

    /// Runs calls to wgpu, and returns their errors: wgpu panics on errors outside of this function. `bytes` is the
    /// memory that the calls request, where known.
    pub(super) fn guarded<T>(
        &self,
        bytes: u64,
        calls: impl FnOnce(&::wgpu::Device, &::wgpu::Queue) -> T,
    ) -> Result<T, Error> {
        guarded(&self.0.device, bytes, || calls(&self.0.device, &self.0.queue))
    }

    /// The device and queue of wgpu.
    pub(crate) fn raw(&self) -> (&::wgpu::Device, &::wgpu::Queue) {
        (&self.0.device, &self.0.queue)
    }

    /// Are both the same open device?
    pub(super) fn is_same(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The BLAKE3 kernels, compiled on first use.
    pub(super) fn kernels(&self) -> Result<&Kernels, Error> {
        if let Some(kernels) = self.0.kernels.get() {
            return Ok(kernels);
        }
        let kernels = guarded(&self.0.device, 0, || Kernels::new(&self.0.device, TEXT))?;
        Ok(self.0.kernels.get_or_init(|| kernels))
    }

    /// The Argon2 kernels, compiled on first use.
    pub(super) fn argon2(&self) -> Result<&argon2::Kernels, Error> {
        if let Some(kernels) = self.0.argon2.get() {
            return Ok(kernels);
        }
        let (device, options) = (&self.0.device, argon2::KernelOptions::from_device(&self.0.device));
        let kernels = guarded(device, 0, || argon2::Kernels::new(device, &options.text()))?;
        Ok(self.0.argon2.get_or_init(|| kernels))
    }

    /// The same device with other BLAKE3 kernels, such as broken ones.
    #[cfg(test)]
    pub(crate) fn with_kernels(&self, text: &str) -> Result<Device, Error> {
        let DeviceState { device, queue, info, .. } = &*self.0;
        let kernels = guarded(device, 0, || Kernels::new(device, text))?;
        let (device, queue, info) = (device.clone(), queue.clone(), info.clone());
        let argon2 = OnceLock::new();
        Ok(Device(Arc::new(DeviceState { device, queue, info, kernels: OnceLock::from(kernels), argon2 })))
    }
}
