//! Processes of tests: forks, signals, limits of time, emulators, Valgrind.

pub mod callgrind;
pub mod emulated;
pub mod fork;
pub(crate) mod process_ids;
#[cfg(unix)]
pub mod signal;
pub mod wait;
