//! Support for tests: generated inputs, official vectors, recordings of typing, guard pages, slow oracles, skips with a reason,
//! sizes of sweeps.
//!
//! Nothing here shares code with the shipped crates, so nothing here can share their bugs. Oracles are written from the
//! specifications, stay short, and are never tuned: a reader must be able to check them by eye.

pub mod browser;
#[cfg(feature = "documents")]
pub mod doc;
#[cfg(feature = "documents")]
pub mod format;
mod inputs;
mod memory;
#[cfg(feature = "documents")]
pub mod mutate;
pub mod oracle;
#[cfg(target_os = "linux")]
pub mod page_cache;
mod process;
pub mod size;
pub mod skip;

#[cfg(feature = "documents")]
pub use inputs::trace::{self, Trace};
pub use inputs::{
    data, hex,
    paint::{self, paint},
    rng::{self, Rng},
    vectors,
};
pub use memory::{alloc, guard, secret_scan, stack_residue};
#[cfg(unix)]
pub use process::signal;
pub use process::{
    callgrind,
    emulated::{self, emulated},
    fork,
    process_ids::processes_are_listed,
    wait,
};
pub use skip::skip;
