//! libblake3: the official C implementation beside ours.

use crate::{compile, package, prefix, said, scratch, source};
use std::process::Command;

/// The package with the sources of the official implementation.
const PACKAGE: &str = "blake3-1.8.7";

/// How many hashers are compared.
const CASES: &str = "3000";

#[test]
fn every_answer_is_that_of_the_official_implementation() {
    let Some(theirs) = package(PACKAGE, "libblake3 beside the official implementation") else { return };
    let theirs = theirs.join("c");
    let folder = scratch("blake3");
    let files = ["blake3.c", "blake3_dispatch.c", "blake3_portable.c"].map(|file| theirs.join(file));
    let files = files.map(|file| file.display().to_string());
    // Its definition alone: faster code of it is compared elsewhere, and differs by processor.
    let portable =
        ["BLAKE3_NO_SSE2", "BLAKE3_NO_SSE41", "BLAKE3_NO_AVX2", "BLAKE3_NO_AVX512", "BLAKE3_USE_NEON=0"];
    let portable = portable.map(|name| format!("-D{name}"));
    let options = ["-O2", "-fPIC", "-shared"].map(str::to_owned);
    let library = compile(&folder.join("theirs.so"), options.iter().chain(&portable).chain(&files));
    let file = source("blake3/differential.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    // A program that was compiled with their header takes our library.
    for include in [include, format!("-I{}", theirs.display())] {
        let differential = compile(&folder.join("differential"), ["-O1", &include, &file, "-ldl"]);
        said(Command::new(differential).arg(prefix().join("lib/libblake3.so.0")).arg(&library).arg(CASES));
    }
}

/// Their example, compiled against our header and linked with ours.
#[test]
fn their_example_hashes_what_it_reads() {
    let Some(theirs) = package(PACKAGE, "the example of the official implementation") else { return };
    let folder = scratch("blake3-example");
    let file = theirs.join("c/example.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    let library = prefix().join("lib/libblake3.a").display().to_string();
    let program =
        compile(&folder.join("example"), [&include, &file, &library, "-lgcc_s", "-lpthread", "-lm"]);
    let text = said(Command::new(program).stdin(std::fs::File::open(&file).expect("the file")));
    let digest = hashmill_hash::blake3::hash(&std::fs::read(&file).expect("the file"));
    assert_eq!(text, format!("{digest}\n"));
}

/// In libhashmill, too. Without optimisation of the program, so that it makes no copies of its own.
#[test]
fn nothing_of_a_key_stays_on_the_stack() {
    let folder = scratch("wiped");
    let file = source("wiped.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    let libraries = ["libhashmill.a", "libblake3.a"].map(|name| prefix().join("lib").join(name));
    let libraries = libraries.map(|library| library.display().to_string());
    let needs = ["-lgcc_s", "-lpthread", "-lm", "-ldl"].map(str::to_owned);
    let program = compile(&folder.join("wiped"), [include, file].iter().chain(&libraries).chain(&needs));
    assert_eq!(said(&mut Command::new(program)), "done\n");
}

#[test]
fn threads_outlive_forks_and_programs_that_let_go() {
    let folder = scratch("blake3-threads");
    let file = source("blake3/threads.c").display().to_string();
    let include = format!("-I{}", prefix().join("include").display());
    let program = compile(&folder.join("threads"), ["-O1", &include, &file, "-ldl"]);
    assert_eq!(said(Command::new(program).arg(prefix().join("lib/libblake3.so.0"))), "done\n");
}
