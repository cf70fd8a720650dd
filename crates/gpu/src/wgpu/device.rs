//! Finding devices, describing them, opening one.

use super::argon2;
use super::blake3::{Kernels, TEXT};
use super::guarded::{guarded, now};
use super::memory;
use crate::{Error, Info, Kind, info};
use ::wgpu::{Adapter, AdapterInfo, Backend, Backends, DeviceType, DownlevelFlags, Instance, Limits};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// What every kernel needs of a device.
const THREADS: u32 = 128;
const SHARED: u32 = THREADS * 32;
const BUFFERS: u32 = 4;

/// The devices of this machine, in the order of their numbers. None where there is no driver.
pub fn devices() -> Vec<Info> {
    adapters().iter().map(describe).collect()
}

fn adapters() -> Vec<Adapter> {
    let mut descriptor = ::wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = Backends::VULKAN | Backends::METAL | Backends::DX12;
    // No layers that look for mistakes: they would write where nobody asked them to.
    descriptor.flags = ::wgpu::InstanceFlags::empty();
    now(Instance::new(descriptor).enumerate_adapters(Backends::all()))
}

fn describe(adapter: &Adapter) -> Info {
    let lacks = lacks(adapter);
    Info { memory: memory::near(adapter), lacks, ..of(&adapter.get_info(), &adapter.limits()) }
}

fn of(info: &AdapterInfo, limits: &Limits) -> Info {
    Info {
        name: info.name.clone(),
        // wgpu has none to tell.
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

fn lacks(adapter: &Adapter) -> Option<String> {
    if !adapter.get_downlevel_capabilities().flags.contains(DownlevelFlags::COMPUTE_SHADERS) {
        return Some("kernels of any kind".to_owned());
    }
    lacks_of(&adapter.limits())
}

fn lacks_of(limits: &Limits) -> Option<String> {
    let Limits { max_compute_invocations_per_workgroup, max_compute_workgroup_storage_size, .. } = *limits;
    if max_compute_invocations_per_workgroup < THREADS || limits.max_compute_workgroup_size_x < THREADS {
        Some(format!("groups of {THREADS} threads"))
    } else if max_compute_workgroup_storage_size < SHARED {
        Some(format!("{SHARED} bytes that threads share"))
    } else if limits.max_storage_buffers_per_shader_stage < BUFFERS {
        Some(format!("{BUFFERS} buffers for a kernel"))
    } else {
        None
    }
}

/// A device that was opened. Clones are the same device; threads share it.
#[derive(Clone)]
pub struct Device(Arc<Opened>);

struct Opened {
    device: ::wgpu::Device,
    queue: ::wgpu::Queue,
    info: Info,
    kernels: OnceLock<Kernels>,
    argon2: OnceLock<argon2::Kernels>,
}

impl Device {
    /// The device that [`best`](crate::best) names.
    ///
    /// # Errors
    /// [`Error::NoDevice`] where there is none that can be used; what the driver says.
    pub fn best() -> Result<Device, Error> {
        let adapters = adapters();
        let devices: Vec<_> = adapters.iter().map(describe).collect();
        let number = info::best(&devices).ok_or(Error::NoDevice { found: 0 })?;
        Device::of(&adapters[number])
    }

    /// The device of this number in the list that [`devices`] gives.
    ///
    /// # Errors
    /// [`Error::NoDevice`], [`Error::Unfit`]; what the driver says.
    pub fn open(number: usize) -> Result<Device, Error> {
        let adapters = adapters();
        let found = adapters.len();
        Device::of(adapters.get(number).ok_or(Error::NoDevice { found })?)
    }

    /// The device that is meant by its number, its name or its place, as [`find`](crate::find) has it.
    ///
    /// # Errors
    /// [`Error::Which`], [`Error::Unfit`]; what the driver says.
    pub fn find(asked: &str) -> Result<Device, Error> {
        let adapters = adapters();
        let devices: Vec<_> = adapters.iter().map(describe).collect();
        Device::of(&adapters[info::find(&devices, asked)?])
    }

    fn of(adapter: &Adapter) -> Result<Device, Error> {
        let info = describe(adapter);
        if let Some(lacks) = info.lacks {
            return Err(Error::Unfit { device: info.name, lacks });
        }
        let descriptor = ::wgpu::DeviceDescriptor {
            label: Some("hashmill"),
            // Those that wgpu takes by itself are the least that any device has: 128 MiB for a kernel.
            required_limits: adapter.limits(),
            required_features: adapter.features() & argon2::FEATURES,
            ..Default::default()
        };
        let (device, queue) = now(adapter.request_device(&descriptor))
            .map_err(|error| Error::Driver { reason: error.to_string() })?;
        Ok(Device::with(device, queue, info))
    }

    /// A device that the caller has opened, with the caller's own limits.
    ///
    /// # Errors
    /// [`Error::Unfit`].
    pub fn from_parts(device: ::wgpu::Device, queue: ::wgpu::Queue) -> Result<Device, Error> {
        let limits = device.limits();
        let (lacks, memory) = (lacks_of(&limits), memory::near_opened(&device));
        let info = Info { memory, lacks, ..of(&device.adapter_info(), &limits) };
        match info.lacks {
            Some(lacks) => Err(Error::Unfit { device: info.name, lacks }),
            None => Ok(Device::with(device, queue, info)),
        }
    }

    fn with(device: ::wgpu::Device, queue: ::wgpu::Queue, info: Info) -> Device {
        Device(Arc::new(Opened { device, queue, info, kernels: OnceLock::new(), argon2: OnceLock::new() }))
    }

    /// What is known of it.
    pub fn info(&self) -> &Info {
        &self.0.info
    }

    /// Calls of the caller's to wgpu, which by itself ends the program where one of them fails. `bytes` are what they ask for, as far
    /// as that is known.
    ///
    /// # Errors
    /// What the driver says of them; [`Error::OutOfMemory`], [`Error::Lost`].
    pub fn guarded<T>(
        &self,
        bytes: u64,
        calls: impl FnOnce(&::wgpu::Device, &::wgpu::Queue) -> T,
    ) -> Result<T, Error> {
        guarded(&self.0.device, bytes, || calls(&self.0.device, &self.0.queue))
    }

    /// For callers who make buffers on it: see [`guarded`](Device::guarded).
    pub fn raw(&self) -> (&::wgpu::Device, &::wgpu::Queue) {
        (&self.0.device, &self.0.queue)
    }

    /// Its kernels, compiled when they are first asked for.
    pub(super) fn kernels(&self) -> Result<&Kernels, Error> {
        if let Some(kernels) = self.0.kernels.get() {
            return Ok(kernels);
        }
        let made = guarded(&self.0.device, 0, || Kernels::new(&self.0.device, TEXT))?;
        Ok(self.0.kernels.get_or_init(|| made))
    }

    /// Those of Argon2, compiled when they are first asked for.
    pub(super) fn argon2(&self) -> Result<&argon2::Kernels, Error> {
        if let Some(kernels) = self.0.argon2.get() {
            return Ok(kernels);
        }
        let (device, means) = (&self.0.device, argon2::Means::of(&self.0.device));
        let made = guarded(device, 0, || argon2::Kernels::new(device, &means.text()))?;
        Ok(self.0.argon2.get_or_init(|| made))
    }

    /// The same with other kernels: what a broken one does.
    #[cfg(test)]
    pub(super) fn with_kernels(&self, text: &str) -> Result<Device, Error> {
        let Opened { device, queue, info, .. } = &*self.0;
        let kernels = guarded(device, 0, || Kernels::new(device, text))?;
        let (device, queue, info) = (device.clone(), queue.clone(), info.clone());
        let argon2 = OnceLock::new();
        Ok(Device(Arc::new(Opened { device, queue, info, kernels: OnceLock::from(kernels), argon2 })))
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Device").field(&self.0.info).finish()
    }
}
