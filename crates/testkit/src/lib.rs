//! What tests need and users never see: painted inputs, official vectors, recordings of typing, guard pages, naive
//! oracles, loud skips.
//!
//! Nothing here shares code with the shipped crates, so nothing here can share their bugs. Oracles are written from the
//! specifications, stay short, and are never tuned: a slow oracle that a reader can check by eye is the point.
#![deny(unsafe_code)]

// Counting what is allocated takes an allocator.
#[allow(unsafe_code)]
pub mod alloc;
pub mod data;
// The one file with `unsafe`: memory that faults when a kernel reads past its input can only be asked of the system.
#[allow(unsafe_code)]
pub mod guard;
pub mod mutate;
pub mod oracle;
pub mod paint;
pub mod rng;
pub mod skip;
pub mod trace;
pub mod vectors;

pub use paint::paint;
pub use rng::Rng;
pub use skip::skip;
pub use trace::Trace;
