//! Gives the sessions of the lab another link layout when a `layout-…` feature asks for one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_enabled = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    // Only for this target the toolchain has LLD; other linkers cannot shuffle.
    let can_shuffle = target("OS") == "linux" && target("ARCH") == "x86_64" && target("ENV") == "gnu";
    for (feature, seed) in [("LAYOUT_1", 1), ("LAYOUT_2", 2)] {
        if is_enabled(feature) && can_shuffle {
            println!("cargo::rustc-link-arg-bin=rivals-session=-Wl,--shuffle-sections=.text*={seed}");
        }
    }
}
