//! Tests of libblake3 against the official C implementation.

use crate::{compile, has, output_of, package, prefix, scratch, source};
use hashmill_testkit::skip;
use std::process::Command;

/// The package with the sources of the official implementation.
const PACKAGE: &str = "blake3-1.8.7";

/// The number of hashers compared.
const CASES: &str = "3000";

#[test]
fn results_equal_those_of_the_official_implementation() {
    let Some(official) = package(PACKAGE, "libblake3 beside the official implementation") else { return };
    let official = official.join("c");
    let folder = scratch("blake3");
    let files = ["blake3.c", "blake3_dispatch.c", "blake3_portable.c"].map(|file| official.join(file));
    let files = files.map(|file| file.display().to_string());
    // Only its portable code: its faster code is compared elsewhere, and differs by processor.
    let portable =
        ["BLAKE3_NO_SSE2", "BLAKE3_NO_SSE41", "BLAKE3_NO_AVX2", "BLAKE3_NO_AVX512", "BLAKE3_USE_NEON=0"];
    let portable = portable.map(|name| format!("-D{name}"));
    let options = ["-O2", "-fPIC", "-shared"].map(str::to_owned);
    let library = compile(&folder.join("theirs.so"), options.iter().chain(&portable).chain(&files));
    let file = source("blake3/differential.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    // A program compiled with their header runs with our library.
    for include in [include, format!("-I{}", official.display())] {
        let differential = compile(&folder.join("differential"), ["-O1", &include, &file, "-ldl"]);
        output_of(
            Command::new(differential).arg(prefix().join("lib/libblake3.so.0")).arg(&library).arg(CASES),
        );
    }
}

/// Their example, compiled against our header and linked with ours.
#[test]
fn official_example_runs_with_this_library() {
    let Some(official) = package(PACKAGE, "the example of the official implementation") else { return };
    let folder = scratch("blake3-example");
    let file = official.join("c/example.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    let library = prefix().join("lib/libblake3.a").display().to_string();
    let program =
        compile(&folder.join("example"), [&include, &file, &library, "-lgcc_s", "-lpthread", "-lm"]);
    let text = output_of(Command::new(program).stdin(std::fs::File::open(&file).expect("the file")));
    let digest = hashmill_hash::blake3::hash(&std::fs::read(&file).expect("the file"));
    assert_eq!(text, format!("{digest}\n"));
}

/// Processor-dependent settings of the C library: its copy routines, when it binds names, and the registers that the dynamic
/// linker saves.
const COPIES: [(&str, &str); 4] = [
    ("GLIBC_TUNABLES", ""),
    ("LD_BIND_NOW", "1"),
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-ERMS"),
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX_Fast_Unaligned_Load,-XSAVEC"),
];

/// Processors with at most AVX2 and SSE4.1, for our kernels and for the C library: the best that qemu supports, and an old one.
const PROCESSORS: [&str; 2] = ["Haswell", "Nehalem"];

/// Tests all three libraries, on this processor and on older ones. The program is not optimised, so that it makes no copies of
/// its own.
#[test]
fn secrets_are_wiped_from_the_stack() {
    let folder = scratch("wiped");
    let source = source("wiped.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    let libraries =
        ["libhashmill.a", "libblake3.a", "libargon2.a"].map(|name| prefix().join("lib").join(name));
    let libraries = libraries.map(|library| library.display().to_string());
    let needs = ["-lgcc_s", "-lpthread", "-lm", "-ldl"].map(str::to_owned);
    let program = compile(&folder.join("wiped"), [include, source].iter().chain(&libraries).chain(&needs));
    let file = folder.join("file");
    for (name, value) in COPIES {
        assert_eq!(output_of(Command::new(&program).arg(&file).env(name, value)), "done\n", "{name}={value}");
    }
    if !cfg!(target_arch = "x86_64") || !has("qemu-x86_64") {
        return skip(
            "secrets on the stack of other processors",
            "no `qemu-x86_64` (Debian package qemu-user)",
        );
    }
    for processor in PROCESSORS {
        let mut emulated = Command::new("qemu-x86_64");
        let emulated = emulated.args(["-cpu", processor]).arg(&program).arg(&file);
        assert_eq!(output_of(emulated), "done\n", "{processor}");
    }
}

#[test]
fn threads_survive_forks_and_unloading() {
    let folder = scratch("blake3-threads");
    let file = source("blake3/threads.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    let program = compile(&folder.join("threads"), ["-O1", &include, &file, "-ldl"]);
    assert_eq!(output_of(Command::new(program).arg(prefix().join("lib/libblake3.so.0"))), "done\n");
}
