//! Workloads and engines of the lab: BLAKE3, files, Argon2 and its proof of work, documents; with known answers, lower bounds and
//! the suite for first-time users.
//!
//! The program mounts them unchanged; `cargo rivals` adds the engines of competitors.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod argon2;
#[cfg(feature = "gpu")]
mod devices;
mod digests;
pub mod doc;
mod examples;
mod headline;
mod input;
mod known_answers;
mod lower_bounds;
mod temp_file;

pub use argon2::{SALT as ARGON2_SALT, Tagged, params as argon2_params, tag_len as argon2_tag_len};
pub use digests::blake3::{
    BATCH, CONTEXT, KEY, MESSAGE, MESSAGE_DERIVE, MESSAGE_KEYED, PIECE, XOF, fold, number,
};
pub use digests::call_patterns::{Chain, IdlePoolEngine};
pub use input::Bytes;

use hashmill_lab::model::registry::Registry;

/// All workloads. Looks for devices.
#[must_use]
pub fn registry() -> Registry {
    with_devices(true)
}

/// As `registry`, for a session process of the lab: its parent has looked for devices, so this asks no driver.
#[must_use]
pub fn registry_of_session() -> Registry {
    with_devices(false)
}

#[cfg_attr(not(feature = "gpu"), allow(unused_variables, reason = "only devices are looked for"))]
fn with_devices(looks: bool) -> Registry {
    let mut registry = Registry::new();
    digests::blake3::register(&mut registry);
    digests::file::register(&mut registry);
    digests::sha256::register(&mut registry);
    argon2::register(&mut registry);
    argon2::half_pass::register(&mut registry);
    argon2::pow::register(&mut registry);
    doc::register(&mut registry);
    argon2::stop_latency::register(&mut registry);
    known_answers::register(&mut registry);
    headline::register(&mut registry);
    examples::register(&mut registry);
    #[cfg(feature = "gpu")]
    devices::register(&mut registry, looks);
    registry
}

/// Number of processors available to this process.
#[must_use]
pub fn all_threads() -> u32 {
    hashmill_machine::threads() as u32
}

/// One thread and all threads.
#[must_use]
pub fn thread_counts() -> Vec<u32> {
    let all = all_threads();
    if all == 1 { vec![1] } else { vec![1, all] }
}

#[cfg(test)]
mod tests {
    use hashmill_lab::model::class::Class;

    /// A class without an engine could not be used. `process` has none, as commands are no engines.
    #[test]
    fn every_timing_class_has_an_engine() {
        let cases = super::registry().cases();
        let is_offered =
            |class: &&str| cases.iter().any(|case| case.class.to_string().split(':').next() == Some(class));
        let idle: Vec<&str> = Class::names().filter(|class| !is_offered(class)).collect();
        assert_eq!(idle, ["process"]);
    }
}
