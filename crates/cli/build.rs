//! On Linux with glibc, the part of libgcc that unwinds goes into the program: to find and to map a library of its own is a
//! twelfth of the time that the program takes for a small file.
#![forbid(unsafe_code)]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    // What the compiler of this machine has is for this machine.
    let is_native = env::var("TARGET").ok() == env::var("HOST").ok();
    if !glibc || !is_native || features.split(',').any(|feature| feature == "crt-static") {
        return;
    }
    // Without them the library is used, as ever.
    let (Some(unwinds), Some(rest)) = (archive("libgcc_eh.a"), archive("libgcc.a")) else { return };
    // The script names them, so a compiler that moves on makes another.
    for archive in [&unwinds, &rest] {
        println!("cargo:rerun-if-changed={}", archive.display());
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
    // The standard library asks for `gcc_s`; the linker takes the first file of that name, which may be a script.
    let script = format!("INPUT({} {})\n", unwinds.display(), rest.display());
    fs::write(out.join("libgcc_s.so"), script).expect("cargo's folder takes files");
    println!("cargo:rustc-link-search=native={}", out.display());
}

/// Where the C compiler, which links, has an archive.
fn archive(name: &str) -> Option<PathBuf> {
    let output = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let path = Path::new(path.trim());
    let is_plain = |path: &str| !path.contains(|c: char| c.is_whitespace() || "()\"".contains(c));
    (path.is_absolute() && path.is_file() && path.to_str().is_some_and(is_plain)).then(|| path.to_owned())
}
