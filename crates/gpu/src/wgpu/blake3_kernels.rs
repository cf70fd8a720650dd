//! Compiled BLAKE3 kernels of a device.

use ::wgpu::ComputePipeline;

/// Source of the kernels.
pub(crate) const TEXT: &str = include_str!("blake3.wgsl");

/// The compiled kernels of a device.
pub(super) struct Kernels {
    pub(super) leaves: ComputePipeline,
    pub(super) tops: ComputePipeline,
    pub(super) messages: ComputePipeline,
}

impl Kernels {
    pub(super) fn new(device: &::wgpu::Device, text: &str) -> Kernels {
        let module = device.create_shader_module(::wgpu::ShaderModuleDescriptor {
            label: Some("blake3"),
            source: ::wgpu::ShaderSource::Wgsl(text.into()),
        });
        let kernel = |name| {
            device.create_compute_pipeline(&::wgpu::ComputePipelineDescriptor {
                label: Some(name),
                layout: None,
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
        Kernels { leaves: kernel("leaves"), tops: kernel("tops"), messages: kernel("messages") }
    }
}
