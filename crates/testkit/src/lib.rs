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
pub mod doc;
pub mod emulated;
// A process that copies itself can only be asked of the system.
#[allow(unsafe_code)]
pub mod fork;
// Memory that faults when a kernel reads past its input, too.
#[allow(unsafe_code)]
pub mod guard;
pub mod mutate;
pub mod oracle;
pub mod paint;
pub mod rng;
pub mod secret;
// Handlers for signals, likewise.
#[cfg(unix)]
#[allow(unsafe_code)]
pub mod signal;
pub mod skip;
// A stack that can be read when its thread has ended takes memory lent to a thread.
#[allow(unsafe_code)]
pub mod stack;
pub mod trace;
pub mod vectors;

pub use emulated::emulated;
pub use paint::paint;
pub use rng::Rng;
pub use skip::skip;
pub use trace::Trace;
