//! The boundary: the functions of `include/blake3.h`, and everything that believes a pointer of a caller.
#![expect(unsafe_code, reason = "pointers of callers, and names that a linker finds")]

use core::ffi::{CStr, c_char, c_void};
use hashmill_hash::blake3::hazmat::{self, Mode, State};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A hasher, in the beginning of what the header says.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blake3_hasher {
    state: State,
}

// Theirs has 1,904 bytes where a number of 64 bits may lie at a multiple of four, and else 1,912.
const _: () = assert!(size_of::<blake3_hasher>() <= 1904 && align_of::<blake3_hasher>() <= 8);

/// # Safety
/// Either nothing, wherever it begins, or `len` bytes that can be read.
unsafe fn bytes<'a>(first: *const c_void, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: the caller's.
    unsafe { core::slice::from_raw_parts(first.cast(), len) }
}

/// Nothing here panics but for a state that nobody initialised. It stays as it is then. Says whether the work was done. Where there is a
/// key, nothing of it stays on the stack.
fn guarded(is_keyed: bool, work: impl FnOnce()) -> bool {
    let work = || catch_unwind(AssertUnwindSafe(work)).is_ok();
    if is_keyed { hazmat::forgetting(work) } else { work() }
}

/// # Safety
/// Room for a hasher.
unsafe fn begin(place: *mut blake3_hasher, mode: &Mode<'_>) {
    // SAFETY: the caller's.
    unsafe { (&raw mut (*place).state).write(State::new(mode)) }
}

/// The version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn blake3_version() -> *const c_char {
    c"1.8.7".as_ptr()
}

/// A hasher without a key.
///
/// # Safety
/// As the header says; so for all that follow.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init(this: *mut blake3_hasher) {
    // SAFETY: the caller's.
    unsafe { begin(this, &Mode::Hash) }
}

/// A hasher with a key of 32 bytes.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_keyed(this: *mut blake3_hasher, key: *const u8) {
    // SAFETY: the caller's.
    hazmat::forgetting(|| unsafe { begin(this, &Mode::KeyedHash(&*key.cast())) });
}

/// A hasher that derives keys in a context, which a zero ends.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_derive_key(this: *mut blake3_hasher, context: *const c_char) {
    // SAFETY: the caller's.
    unsafe {
        let context = CStr::from_ptr(context).to_bytes();
        blake3_hasher_init_derive_key_raw(this, context.as_ptr().cast(), context.len());
    }
}

/// A hasher that derives keys in a context of any bytes.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_derive_key_raw(
    this: *mut blake3_hasher,
    context: *const c_void,
    context_len: usize,
) {
    // SAFETY: the caller's.
    unsafe {
        let key = hazmat::hash_derive_key_context_bytes(bytes(context, context_len));
        begin(this, &Mode::DeriveKeyMaterial(&key));
    }
}

/// Takes more input.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_update(
    this: *mut blake3_hasher,
    input: *const c_void,
    input_len: usize,
) {
    // SAFETY: the caller's.
    let (state, input) = unsafe { (&mut (*this).state, bytes(input, input_len)) };
    guarded(state.is_keyed(), || state.update(input));
}

/// Takes more input, by as many threads as there are processors where that is faster. The official implementation has threads of
/// oneTBB for it, hence the name.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_update_tbb(
    this: *mut blake3_hasher,
    input: *const c_void,
    input_len: usize,
) {
    // SAFETY: the caller's.
    let (state, input) = unsafe { (&mut (*this).state, bytes(input, input_len)) };
    // A system that gives no threads ends the attempt before anything was taken.
    if !guarded(state.is_keyed(), || state.update_parallel(input)) {
        guarded(state.is_keyed(), || state.update(input));
    }
}

/// Output from its beginning.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_finalize(this: *const blake3_hasher, out: *mut u8, out_len: usize) {
    // SAFETY: the caller's.
    unsafe { blake3_hasher_finalize_seek(this, 0, out, out_len) }
}

/// Output from a byte of it on.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_finalize_seek(
    this: *const blake3_hasher,
    seek: u64,
    out: *mut u8,
    out_len: usize,
) {
    if out_len == 0 {
        return;
    }
    // SAFETY: the caller's. Bytes of a caller that were not written yet are bytes: no compiler sees both sides.
    let (state, out) = unsafe { (&(*this).state, core::slice::from_raw_parts_mut(out, out_len)) };
    guarded(state.is_keyed(), || state.finalize_seek(seek, out));
}

/// Back to before any input.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_reset(this: *mut blake3_hasher) {
    // SAFETY: the caller's.
    let state = unsafe { &mut (*this).state };
    guarded(state.is_keyed(), || state.reset());
}
