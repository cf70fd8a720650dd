//! Argon2 kernels for the features of a device: words of 64 bits or pairs of 32, quads by subgroups or by
//! shared memory.

use crate::argon2::schedule::KernelParams;
use ::wgpu::{
    BindGroupLayout, BindGroupLayoutEntry, BindingType, BufferBindingType, ComputePipeline, Device, Features,
    ShaderStages,
};
use std::num::NonZero;

/// Optional features that kernels may use.
pub(in super::super) const FEATURES: Features = Features::SHADER_INT64.union(Features::SUBGROUP);

const TEXT: &str = include_str!("argon2.wgsl");

/// Variant of a kernel. It changes no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct KernelOptions {
    pub(super) words: Words,
    pub(super) quads: Quads,
}

/// Representation of a 64-bit word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Words {
    Pairs,
    Native,
}

/// Exchange of words within a quad of threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quads {
    Shared,
    Subgroups,
}

impl KernelOptions {
    /// The variant that uses all features of this device.
    pub(in super::super) fn from_device(device: &Device) -> KernelOptions {
        let features = device.features();
        let words = if features.contains(Features::SHADER_INT64) { Words::Native } else { Words::Pairs };
        let whole = device.adapter_info().subgroup_min_size >= 4;
        let quads =
            if whole && features.contains(Features::SUBGROUP) { Quads::Subgroups } else { Quads::Shared };
        KernelOptions { words, quads }
    }

    /// The same variant without native words or without subgroups.
    pub(super) fn without(self, native: bool, subgroups: bool) -> KernelOptions {
        KernelOptions {
            words: if native { Words::Pairs } else { self.words },
            quads: if subgroups { Quads::Shared } else { self.quads },
        }
    }

    pub(in super::super) fn text(self) -> String {
        let words = match self.words {
            Words::Pairs => include_str!("words32.wgsl"),
            Words::Native => include_str!("words64.wgsl"),
        };
        let quads = match self.quads {
            Quads::Shared => include_str!("quads_shared.wgsl"),
            Quads::Subgroups => include_str!("quads_subgroups.wgsl"),
        };
        [words, TEXT, quads].join("\n")
    }
}

/// Buffers that a kernel binds besides its parameters: four slices, references, progress.
pub(super) const BUFFERS: u32 = 6;

/// The binding that holds one slice of the references at a time.
const TABLE: u32 = 5;

/// The compiled kernels of a device.
#[derive(Clone)]
pub(in super::super) struct Kernels {
    pub(super) references: ComputePipeline,
    pub(super) fill: ComputePipeline,
    /// The layout of both. The parameters of many dispatches are in one buffer.
    pub(super) layout: BindGroupLayout,
}

impl Kernels {
    pub(in super::super) fn new(device: &Device, text: &str) -> Kernels {
        let module = device.create_shader_module(::wgpu::ShaderModuleDescriptor {
            label: Some("argon2"),
            source: ::wgpu::ShaderSource::Wgsl(text.into()),
        });
        let entry = |binding, ty, has_dynamic_offset, min_binding_size| BindGroupLayoutEntry {
            binding,
            visibility: ShaderStages::COMPUTE,
            ty: BindingType::Buffer { ty, has_dynamic_offset, min_binding_size },
            count: None,
        };
        let storage =
            |binding, dynamic| entry(binding, BufferBindingType::Storage { read_only: false }, dynamic, None);
        let mut entries =
            vec![entry(0, BufferBindingType::Uniform, true, NonZero::new(KernelParams::LEN as u64))];
        entries.extend((1..=BUFFERS).map(|binding| storage(binding, binding == TABLE)));
        let layout = device.create_bind_group_layout(&::wgpu::BindGroupLayoutDescriptor {
            label: Some("argon2"),
            entries: &entries,
        });
        let pipelines = device.create_pipeline_layout(&::wgpu::PipelineLayoutDescriptor {
            label: Some("argon2"),
            bind_group_layouts: &[Some(&layout)],
            ..Default::default()
        });
        let kernel = |name| {
            device.create_compute_pipeline(&::wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: Some(&pipelines),
                module: &module,
                entry_point: Some(name),
                compilation_options: ::wgpu::PipelineCompilationOptions {
                    // Every kernel writes this memory before it reads it.
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            })
        };
        Kernels { references: kernel("references"), fill: kernel("fill"), layout }
    }
}
