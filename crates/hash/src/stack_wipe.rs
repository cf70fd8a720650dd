//! Wiping of the dead stack: data of finished calls below their caller's frame.
//!
//! A key that is moved or spilled leaves copies there that no destructor reaches. After a call with a key,
//! the area is overwritten as a whole.

use core::hint::black_box;

/// More than the calls under a keyed hash use: rows of chaining values for each level of a subtree
/// (`blake3/tree/mod.rs`), or the slots of a batch of messages (`blake3/batch.rs`). A test that reads the stack after each call
/// checks this, also in a release build, where inlining makes frames of up to 13 KiB. On aarch64 the compiled
/// kernels reach deeper than the assembly of x86-64; other targets are unmeasured.
const DEPTH: usize = if cfg!(target_arch = "x86_64") { 16 * 1024 } else { 32 * 1024 };

/// More than the frames of [`wipe`] and its callers use besides the array that `wipe` writes.
const GAP: usize = 512;

/// Overwrites the stack that calls from the caller's function used, if they were made by [`below`].
#[inline(never)]
pub(crate) fn wipe() {
    black_box(&mut [0_u8; DEPTH]);
}

/// Runs `call`, and overwrites the stack that it used.
pub(crate) fn forgetting<R>(call: impl FnOnce() -> R) -> R {
    #[inline(never)]
    fn alone<R>(call: impl FnOnce() -> R) -> R {
        call()
    }
    let result = below(|| alone(call));
    wipe();
    result
}

/// Runs `call`, which is never inlined, at a lower address than the one where [`wipe`] begins to write.
/// Frames have gaps: data of a call at the address of a gap in the frames above `wipe`'s array would stay,
/// and the address sanitizer's frames have many gaps.
#[inline(never)]
pub(crate) fn below<R>(call: impl FnOnce() -> R) -> R {
    let mut gap = [0_u8; GAP];
    black_box(&mut gap);
    let result = call();
    // Keeps the gap alive during the call.
    black_box(&mut gap);
    result
}
