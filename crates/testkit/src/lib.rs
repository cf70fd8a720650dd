//! What tests need and users never see: painted inputs, official vectors, recordings of typing, guard pages, naive
//! oracles, loud skips.
//!
//! Nothing here shares code with the shipped crates, so nothing here can share their bugs. Oracles are written from the
//! specifications, stay short, and are never tuned: a slow oracle that a reader can check by eye is the point.

pub mod alloc;
pub mod browser;
pub mod data;
#[cfg(feature = "documents")]
pub mod doc;
pub mod emulated;
pub mod fork;
pub mod guard;
#[cfg(feature = "documents")]
pub mod mutate;
pub mod oracle;
pub mod paint;
pub mod processes;
pub mod rng;
pub mod secret;
#[cfg(unix)]
pub mod signal;
pub mod skip;
pub mod stack;
#[cfg(feature = "documents")]
pub mod trace;
pub mod vectors;

pub use emulated::emulated;
pub use paint::paint;
pub use processes::processes_are_listed;
pub use rng::Rng;
pub use skip::skip;
#[cfg(feature = "documents")]
pub use trace::Trace;
