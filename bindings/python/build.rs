//! Tells the linker of macOS that Python's functions are found when Python loads the module.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
