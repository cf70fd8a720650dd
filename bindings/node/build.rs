//! Tells the linker that Node provides its own functions, and that the library stays loaded: threads outlive the worker that
//! loaded it.

fn main() {
    napi_build::setup();
}
