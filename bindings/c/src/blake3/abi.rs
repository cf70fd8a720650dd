//! The boundary: the functions of `include/blake3.h`, and all code that trusts a pointer of a caller.
#![expect(unsafe_code, reason = "pointers of callers, and names that a linker finds")]

use core::ffi::{CStr, c_char, c_void};
use hashmill_hash::blake3::hazmat::{self, Mode, State};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A hasher, at the start of the header's structure.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blake3_hasher {
    state: State,
}

// The official hasher has 1,904 bytes if 64-bit integers are aligned to four bytes, and otherwise 1,912.
const _: () = assert!(size_of::<blake3_hasher>() <= 1904 && align_of::<blake3_hasher>() <= 8);

/// # Safety
/// Either `len` is 0, with any pointer, or `len` bytes can be read.
unsafe fn bytes<'a>(first: *const c_void, len: usize) -> &'a [u8] {
    if len == 0 {
        return &[];
    }
    // SAFETY: required of the caller.
    unsafe { core::slice::from_raw_parts(first.cast(), len) }
}

/// Does the work and returns whether it was done. Only an uninitialised state causes a panic, and it stays unchanged then. A key
/// is wiped from the stack.
fn guarded(is_keyed: bool, work: impl FnOnce()) -> bool {
    let work = || catch_unwind(AssertUnwindSafe(work)).is_ok();
    if is_keyed { hazmat::forgetting(work) } else { work() }
}

/// # Safety
/// `hasher` points to memory for a hasher.
unsafe fn begin(hasher: *mut blake3_hasher, mode: &Mode<'_>) {
    // SAFETY: required of the caller.
    unsafe { (&raw mut (*hasher).state).write(State::new(mode)) }
}

/// The version of the interface.
#[unsafe(no_mangle)]
pub extern "C" fn blake3_version() -> *const c_char {
    c"1.8.7".as_ptr()
}

/// A hasher without a key.
///
/// # Safety
/// As the header requires, for all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init(this: *mut blake3_hasher) {
    // SAFETY: required of the caller.
    unsafe { begin(this, &Mode::Hash) }
}

/// A hasher with a key of 32 bytes.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_keyed(this: *mut blake3_hasher, key: *const u8) {
    // SAFETY: required of the caller.
    hazmat::forgetting(|| unsafe { begin(this, &Mode::KeyedHash(&*key.cast())) });
}

/// A hasher that derives keys with a context, a zero-terminated string.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_derive_key(this: *mut blake3_hasher, context: *const c_char) {
    // SAFETY: required of the caller.
    unsafe {
        let context = CStr::from_ptr(context).to_bytes();
        blake3_hasher_init_derive_key_raw(this, context.as_ptr().cast(), context.len());
    }
}

/// A hasher that derives keys with a context of any bytes.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_init_derive_key_raw(
    this: *mut blake3_hasher,
    context: *const c_void,
    context_len: usize,
) {
    // SAFETY: required of the caller.
    unsafe {
        let key = hazmat::hash_derive_key_context_bytes(bytes(context, context_len));
        begin(this, &Mode::DeriveKeyMaterial(&key));
    }
}

/// Adds input.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_update(
    this: *mut blake3_hasher,
    input: *const c_void,
    input_len: usize,
) {
    // SAFETY: required of the caller.
    let (state, input) = unsafe { (&mut (*this).state, bytes(input, input_len)) };
    guarded(state.is_keyed(), || state.update(input));
}

/// Adds input, with one thread per processor if that is faster. The official implementation uses threads of oneTBB, hence the
/// name.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_update_tbb(
    this: *mut blake3_hasher,
    input: *const c_void,
    input_len: usize,
) {
    // SAFETY: required of the caller.
    let (state, input) = unsafe { (&mut (*this).state, bytes(input, input_len)) };
    // If the system provides no threads, the attempt ends before any input is consumed.
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
    // SAFETY: required of the caller.
    unsafe { blake3_hasher_finalize_seek(this, 0, out, out_len) }
}

/// Output from a given byte on.
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
    // SAFETY: required of the caller. Uninitialized bytes of a caller are valid here: no compiler sees both sides.
    let (state, out) = unsafe { (&(*this).state, core::slice::from_raw_parts_mut(out, out_len)) };
    guarded(state.is_keyed(), || state.finalize_seek(seek, out));
}

/// Resets the hasher to the state before any input.
///
/// # Safety
/// As for [`blake3_hasher_init`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blake3_hasher_reset(this: *mut blake3_hasher) {
    // SAFETY: required of the caller.
    let state = unsafe { &mut (*this).state };
    guarded(state.is_keyed(), || state.reset());
}
