//! Stack residue of a call: the call runs on a thread whose stack belongs to the test and is copied right after the call.
#![allow(unsafe_code, reason = "the stack of a thread that has ended")]

/// Bytes of stack for one call.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LEN: usize = 1 << 20;

/// Whether this system supports stacks in memory of the caller.
pub const READABLE: bool = cfg!(all(target_os = "linux", target_env = "gnu"));

/// The whole stack of a thread of its own after `call`. Statics and the heap are not in it, and what `call` captures is
/// behind a pointer.
///
/// # Panics
/// If `call` panics, or when the system refuses the thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn left_by(call: &(dyn Fn() + Sync)) -> Vec<u8> {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ffi::c_void;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    struct Call<'a> {
        call: &'a (dyn Fn() + Sync),
        stack: *const u8,
        left: *mut u8,
        panicked: bool,
    }

    extern "C" fn run(argument: *mut c_void) -> *mut c_void {
        // SAFETY: the `Call` below, which no other thread accesses before this thread has ended.
        let call = unsafe { &mut *argument.cast::<Call<'_>>() };
        call.panicked = catch_unwind(AssertUnwindSafe(call.call)).is_err();
        // SAFETY: both have `LEN` bytes and are apart. The stack is memory of `left_by`, zeroed before this thread wrote to
        // it; the frames that live now are copied as they are. Copied here, as the end of a thread needs stack itself.
        unsafe { call.left.copy_from_nonoverlapping(call.stack, LEN) };
        std::ptr::null_mut()
    }

    let layout = Layout::from_size_align(LEN, 1 << 16).expect("a small stack");
    // SAFETY: the layout is not empty.
    let stack = unsafe { alloc_zeroed(layout) };
    assert!(!stack.is_null(), "no memory for a stack");
    let mut left = vec![0; LEN];
    let mut call = Call { call, stack, left: left.as_mut_ptr(), panicked: false };
    // SAFETY: the attributes are initialised before they are used and destroyed after it; the stack is ours, aligned and
    // large enough, and is given back only after the thread has ended; `call` and `left` live as long.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread = 0;
        assert_eq!(libc::pthread_attr_init(&raw mut attributes), 0);
        assert_eq!(libc::pthread_attr_setstack(&raw mut attributes, stack.cast(), LEN), 0);
        let argument = (&raw mut call).cast();
        assert_eq!(libc::pthread_create(&raw mut thread, &raw const attributes, run, argument), 0);
        assert_eq!(libc::pthread_join(thread, std::ptr::null_mut()), 0);
        libc::pthread_attr_destroy(&raw mut attributes);
    }
    // SAFETY: from `alloc_zeroed` with this layout.
    unsafe { dealloc(stack, layout) };
    assert!(!call.panicked, "the call panicked");
    left
}

/// Not supported on this system: see [`READABLE`].
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn left_by(_: &(dyn Fn() + Sync)) -> Vec<u8> {
    unreachable!("tests that read stacks look at `READABLE` first")
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[inline(never)]
    fn leave(secret: &[u8; 32]) {
        let copy = *black_box(secret);
        black_box(&copy);
    }

    #[test]
    fn what_is_left_is_found() {
        static SECRET: [u8; 32] = *b"a secret that a call has copied.";
        let holds = |left: &[u8]| left.windows(32).any(|window| window == SECRET);
        assert!(holds(&left_by(&|| leave(&SECRET))));
        assert!(!holds(&left_by(&|| {
            black_box(&SECRET);
        })));
    }
}
