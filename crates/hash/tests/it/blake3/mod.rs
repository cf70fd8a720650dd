//! BLAKE3 in memory: modes, batches, streams, output, and the traits of other crates.

mod batch;
mod digest;
#[cfg(feature = "digest")]
mod digest_traits;
mod edges;
mod modes;
mod output;
mod placement;
#[cfg(feature = "std")]
mod std_io;
mod stream;
mod vectors;
