//! Tests of engines, devices and `hashmill tune`.

mod devices;
#[cfg(all(feature = "gpu", target_os = "linux"))]
mod engine_group;
mod tune;
