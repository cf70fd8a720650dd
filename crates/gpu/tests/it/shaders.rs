//! Validity of every kernel, and its translation to the shader languages of all drivers.

use naga::back::{hlsl, msl, spv};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Module, ShaderStage};

const BLAKE3: &str = include_str!("../../src/wgpu/blake3.wgsl");
const ARGON2: &str = include_str!("../../src/wgpu/argon2/argon2.wgsl");

/// A kernel source and the optional capabilities that it needs.
struct Text {
    name: &'static str,
    text: String,
    needs: Capabilities,
    kernels: &'static [&'static str],
    threads: u32,
}

/// All kernel sources that are given to drivers.
fn texts() -> Vec<Text> {
    let blake3 = Text {
        name: "blake3",
        text: BLAKE3.to_owned(),
        needs: Capabilities::empty(),
        kernels: &["leaves", "tops", "messages"],
        threads: 128,
    };
    let argon2 = |name, words, quads, needs| {
        let text = [words, ARGON2, quads].join("\n");
        Text { name, text, needs, kernels: &["references", "fill"], threads: 32 }
    };
    let pairs = include_str!("../../src/wgpu/argon2/words32.wgsl");
    let native = include_str!("../../src/wgpu/argon2/words64.wgsl");
    let shared = include_str!("../../src/wgpu/argon2/quads_shared.wgsl");
    let subgroups = include_str!("../../src/wgpu/argon2/quads_subgroups.wgsl");
    let (int64, subgroup) = (Capabilities::SHADER_INT64, Capabilities::SUBGROUP);
    vec![
        blake3,
        argon2("argon2", pairs, shared, Capabilities::empty()),
        argon2("argon2 with words of 64 bits", native, shared, int64),
        argon2("argon2 with subgroups", pairs, subgroups, subgroup),
        argon2("argon2 with both", native, subgroups, int64 | subgroup),
    ]
}

fn valid(text: &Text) -> (Module, ModuleInfo) {
    let Text { name, text, needs, .. } = text;
    let module = naga::front::wgsl::parse_str(text)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(text)));
    let mut validator = Validator::new(ValidationFlags::all(), *needs);
    let info =
        validator.validate(&module).unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(text)));
    (module, info)
}

#[test]
fn every_kernel_is_valid_and_has_its_group_of_threads() {
    for text in texts() {
        let (module, _) = valid(&text);
        let kernels: Vec<_> = module.entry_points.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(kernels, text.kernels, "{}", text.name);
        for entry in &module.entry_points {
            let kind = (entry.stage, entry.workgroup_size);
            assert_eq!(kind, (ShaderStage::Compute, [text.threads, 1, 1]), "{}: {}", text.name, entry.name);
        }
    }
}

#[test]
fn kernels_translate_to_spir_v() {
    for text in texts() {
        let (module, info) = valid(&text);
        let options = spv::Options { lang_version: (1, 3), ..spv::Options::default() };
        let words = spv::write_vec(&module, &info, &options, None).unwrap();
        assert_eq!(words[..2], [0x0723_0203, 0x0001_0300], "its magic number and version");
    }
}

#[test]
fn kernels_translate_to_metal() {
    for text in texts() {
        let (module, info) = valid(&text);
        let options =
            msl::Options { lang_version: (2, 3), fake_missing_bindings: true, ..msl::Options::default() };
        let (source, _) =
            msl::write_string(&module, &info, &options, &msl::PipelineOptions::default()).unwrap();
        assert_eq!(source.matches("kernel void ").count(), text.kernels.len(), "{}", text.name);
    }
}

#[test]
fn kernels_translate_to_hlsl() {
    for text in texts() {
        let (module, info) = valid(&text);
        let options = hlsl::Options { shader_model: hlsl::ShaderModel::V6_0, ..hlsl::Options::default() };
        let mut source = String::new();
        let pipeline = hlsl::PipelineOptions::default();
        hlsl::Writer::new(&mut source, &options, &pipeline).write(&module, &info, None).unwrap();
        let groups = format!("[numthreads({}, 1, 1)]", text.threads);
        assert_eq!(source.matches(&groups).count(), text.kernels.len(), "{}", text.name);
    }
}
