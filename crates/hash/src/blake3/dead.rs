//! The dead stack: what calls that are over have left below their caller.
//!
//! A key that is moved or spilled leaves copies there that no destructor knows of. Where a call with a key is over, the
//! place is overwritten as a whole.

use core::hint::black_box;

/// More than the calls under a keyed hash take: rows of chaining values for each level of a subtree (`tree.rs`), or the
/// slots of a wave of messages (`batch.rs`). The test that reads a stack after each call holds this to it, in a build for
/// release too, where what is inlined makes frames of up to 13 KiB: on aarch64 the kernels that the compiler makes lie
/// deeper than the assembly of x86-64, and elsewhere nobody has looked.
const DEPTH: usize = if cfg!(target_arch = "x86_64") { 16 * 1024 } else { 32 * 1024 };

/// More than the frames of [`wipe`] and of those who call it take beside what `wipe` writes.
const GAP: usize = 512;

/// Overwrites what calls from the caller's function have left on the stack, where they were made by [`below`].
#[inline(never)]
pub(super) fn wipe() {
    black_box(&mut [0_u8; DEPTH]);
}

/// Calls, and overwrites what the call has left on the stack.
pub(super) fn forgetting<R>(call: impl FnOnce() -> R) -> R {
    #[inline(never)]
    fn alone<R>(call: impl FnOnce() -> R) -> R {
        call()
    }
    let result = below(|| alone(call));
    wipe();
    result
}

/// Calls `call`, which is never inlined, lower than [`wipe`] begins to write. Frames have holes: what a call leaves at the
/// place of a hole in the frames above `wipe`'s array stays there, and the address sanitizer's frames have many.
#[inline(never)]
pub(super) fn below<R>(call: impl FnOnce() -> R) -> R {
    let mut gap = [0_u8; GAP];
    black_box(&mut gap);
    let result = call();
    // So that the gap is still there while the call runs.
    black_box(&mut gap);
    result
}
