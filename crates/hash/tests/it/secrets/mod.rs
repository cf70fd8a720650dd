//! Secrets: wiping, debug output, and time.

#[cfg(feature = "std")]
mod constant_time;
#[cfg(feature = "std")]
mod debug_output;
mod key_wiping;
#[cfg(feature = "std")]
mod stack_residue;
