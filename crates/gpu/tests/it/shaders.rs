//! Every kernel is valid, and can be said in the languages of all drivers.

use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

const BLAKE3: &str = include_str!("../../src/wgpu/blake3.wgsl");

/// Without anything that only some devices have.
fn valid(text: &str) -> (Module, ModuleInfo) {
    let module =
        naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(text)));
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    let info = validator.validate(&module).unwrap_or_else(|error| panic!("{}", error.emit_to_string(text)));
    (module, info)
}

#[test]
fn every_kernel_is_valid_and_has_a_group_of_128_threads() {
    let (module, _) = valid(BLAKE3);
    let kernels: Vec<_> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(kernels, ["leaves", "tops", "messages"]);
    for entry in &module.entry_points {
        assert_eq!(
            (entry.stage, entry.workgroup_size),
            (ShaderStage::Compute, [128, 1, 1]),
            "{}",
            entry.name
        );
    }
}

#[test]
fn vulkan_is_told_in_spir_v() {
    let (module, info) = valid(BLAKE3);
    let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
    let words = spv::write_vec(&module, &info, &options, None).unwrap();
    assert_eq!(words[..2], [0x0723_0203, 0x0001_0300], "its magic number and version");
}

#[test]
fn metal_is_told_in_its_language() {
    let (module, info) = valid(BLAKE3);
    let options =
        msl::Options { lang_version: (2, 3), fake_missing_bindings: true, ..msl::Options::default() };
    let (text, _) = msl::write_string(&module, &info, &options, &msl::PipelineOptions::default()).unwrap();
    assert_eq!(text.matches("kernel void ").count(), 3);
}

#[test]
fn directx_is_told_in_hlsl() {
    let (module, info) = valid(BLAKE3);
    let options = hlsl::Options { shader_model: hlsl::ShaderModel::V6_0, ..hlsl::Options::default() };
    let mut text = String::new();
    let pipeline = hlsl::PipelineOptions::default();
    hlsl::Writer::new(&mut text, &options, &pipeline).write(&module, &info, None).unwrap();
    assert_eq!(text.matches("[numthreads(128, 1, 1)]").count(), 3);
}
