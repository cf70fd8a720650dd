//! Counting allocator, for tests of code that must not allocate.
//!
//! ```
//! use hashmill_testkit::alloc::{Counting, count};
//!
//! #[global_allocator]
//! static COUNTING: Counting = Counting;
//!
//! # fn main() {
//! assert_eq!(count(|| Box::new(1)), (1, Box::new(1)));
//! # }
//! ```
#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted.
#[derive(Debug)]
pub struct Counting;

/// The number of allocations of `work` on this thread, and its result.
///
/// Always 0 in a program without [`Counting`]: see to it that something is counted too.
pub fn count<R>(work: impl FnOnce() -> R) -> (u64, R) {
    let before = CALLS.get();
    let result = work();
    (CALLS.get() - before, result)
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no counter any more.
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's.
        unsafe { System.realloc(memory, layout, size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}
