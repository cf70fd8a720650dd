//! Build configuration: the hand-written kernels to compile (`cfg(kernels = "…")`), and whether the crate is
//! built inside its repository, whose guides are then tested (`cfg(guides)`).
//!
//! The compiler must be able to use the registers that a kernel names: a target without an operating system
//! may forbid them, because its interrupt handlers do not save them.

use std::env::var;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(kernels, values(\"x86_64\", \"aarch64\", \"wasm32\"))");
    println!("cargo::rustc-check-cfg=cfg(guides)");
    if Path::new("../../docs/password.md").is_file() {
        println!("cargo::rustc-cfg=guides");
    }
    let target = |what: &str| var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    let features = target("FEATURE");
    let has = |feature| features.split(',').any(|known| known == feature);
    match target("ARCH").as_str() {
        "x86_64" if has("sse2") => println!("cargo::rustc-cfg=kernels=\"x86_64\""),
        "aarch64" if has("neon") && target("ENDIAN") == "little" => {
            println!("cargo::rustc-cfg=kernels=\"aarch64\"");
        }
        // A runtime without SIMD rejects the whole module, so there is no run-time detection: the compiler
        // flag decides.
        "wasm32" if has("simd128") => println!("cargo::rustc-cfg=kernels=\"wasm32\""),
        _ => {}
    }
}
