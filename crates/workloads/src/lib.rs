//! What Hashmill is measured on: BLAKE3, files, Argon2 and its proof of work, documents: as workloads and engines of
//! the lab, with their known answers, the least work of each, and the suite that a newcomer runs first.
//!
//! The program mounts it as it is; `cargo rivals` adds the engines of competitors.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod answers;
mod argon2;
mod blake3;
mod calls;
pub mod coins;
#[cfg(feature = "gpu")]
mod devices;
pub mod doc;
mod examples;
mod file;
mod headline;
mod input;
mod pow;
mod slices;
mod stop;
mod work;

pub use argon2::{SALT as ARGON2_SALT, Tagged, params as argon2_params, tag_len as argon2_tag_len};
pub use blake3::{
    BATCH, Bytes, CONTEXT, KEY, MESSAGE, MESSAGE_DERIVE, MESSAGE_KEYED, PIECE, XOF, fold, number,
};

pub use calls::{Chain, Rested};

use hashmill_lab::model::registry::Registry;

/// Everything that can be measured here.
#[must_use]
pub fn registry() -> Registry {
    made(true)
}

/// The same for a session of the lab, which is told what to measure by somebody who has looked: it asks no driver what there is.
#[must_use]
pub fn registry_of_session() -> Registry {
    made(false)
}

#[cfg_attr(not(feature = "gpu"), allow(unused_variables, reason = "only devices are looked for"))]
fn made(looks: bool) -> Registry {
    let mut registry = Registry::new();
    blake3::register(&mut registry);
    file::register(&mut registry);
    argon2::register(&mut registry);
    slices::register(&mut registry);
    pow::register(&mut registry);
    doc::register(&mut registry);
    stop::register(&mut registry);
    answers::register(&mut registry);
    headline::register(&mut registry);
    examples::register(&mut registry);
    #[cfg(feature = "gpu")]
    devices::register(&mut registry, looks);
    registry
}

/// As many threads as the machine offers.
#[must_use]
pub fn all_threads() -> u32 {
    hashmill_machine::threads() as u32
}

/// One thread, and as many as the machine offers.
#[must_use]
pub fn thread_counts() -> Vec<u32> {
    let all = all_threads();
    if all == 1 { vec![1] } else { vec![1, all] }
}

#[cfg(test)]
mod tests {
    use hashmill_lab::model::class::Class;

    /// A class that nothing is timed in is a word that nobody can try. Commands are no engines.
    #[test]
    fn every_timing_class_has_an_engine() {
        let cases = super::registry().cases();
        let is_offered =
            |class: &&str| cases.iter().any(|case| case.class.to_string().split(':').next() == Some(class));
        let idle: Vec<&str> = Class::names().filter(|class| !is_offered(class)).collect();
        assert_eq!(idle, ["process"]);
    }
}
