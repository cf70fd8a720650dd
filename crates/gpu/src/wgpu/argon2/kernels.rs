//! The kernels of Argon2, in what a device has: words of 64 bits or pairs of 32, quads by subgroups or by shared memory.

use crate::argon2::schedule::Numbers;
use ::wgpu::{
    BindGroupLayout, BindGroupLayoutEntry, BindingType, BufferBindingType, ComputePipeline, Device, Features,
    ShaderStages,
};
use std::num::NonZero;

/// What kernels may use of what only some devices have.
pub(in super::super) const FEATURES: Features = Features::SHADER_INT64.union(Features::SUBGROUP);

const TEXT: &str = include_str!("argon2.wgsl");

/// What a kernel is made of where there is a choice. It changes no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Means {
    pub(super) words: Words,
    pub(super) quads: Quads,
}

/// How a word of 64 bits is computed with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Words {
    Pairs,
    Native,
}

/// How the threads of a quad exchange words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quads {
    Shared,
    Subgroups,
}

impl Means {
    /// All that this device has.
    pub(in super::super) fn of(device: &Device) -> Means {
        let features = device.features();
        let words = if features.contains(Features::SHADER_INT64) { Words::Native } else { Words::Pairs };
        let whole = device.adapter_info().subgroup_min_size >= 4;
        let quads =
            if whole && features.contains(Features::SUBGROUP) { Quads::Subgroups } else { Quads::Shared };
        Means { words, quads }
    }

    /// The same without some of it.
    pub(super) fn without(self, native: bool, subgroups: bool) -> Means {
        Means {
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

/// Buffers that a kernel binds besides its parameters: four slices, references, marks.
pub(super) const BUFFERS: u32 = 6;

/// The one of them that has a slice of the references at a time.
const TABLE: u32 = 5;

/// The compiled kernels of a device.
#[derive(Clone)]
pub(in super::super) struct Kernels {
    pub(super) references: ComputePipeline,
    pub(super) fill: ComputePipeline,
    /// What both of them bind. The parameters of many dispatches lie in one buffer.
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
        let mut entries = vec![entry(0, BufferBindingType::Uniform, true, NonZero::new(Numbers::LEN as u64))];
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
                    // Every kernel writes what it reads of this first.
                    zero_initialize_workgroup_memory: false,
                    ..Default::default()
                },
                cache: None,
            })
        };
        Kernels { references: kernel("references"), fill: kernel("fill"), layout }
    }
}
