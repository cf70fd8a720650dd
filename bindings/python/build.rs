//! Tells the linker of macOS to resolve Python's functions when Python loads the module.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
