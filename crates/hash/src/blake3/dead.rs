//! The dead stack: what calls that are over have left below their caller.
//!
//! A key that is moved or spilled leaves copies there that no destructor knows of. Where a call with a key is over, the
//! place is overwritten as a whole.

use core::hint::black_box;

/// More than the calls under a keyed hash take: rows of chaining values for each level of a subtree (`tree.rs`), or the
/// slots of a wave of messages (`batch.rs`). The test that reads a stack after each call holds this to it: on aarch64 the
/// kernels that the compiler makes lie deeper than the assembly of x86-64, and elsewhere nobody has looked.
const DEPTH: usize = if cfg!(target_arch = "x86_64") { 12 * 1024 } else { 32 * 1024 };

/// Overwrites what calls from the caller's function have left on the stack.
#[inline(never)]
pub(super) fn wipe() {
    black_box(&mut [0_u8; DEPTH]);
}
