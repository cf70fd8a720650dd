//! What a caller hands over: believed here, and nowhere else.
//!
//! The functions of this library are safe to call for Rust. Handles come as references and boxes, whose absence is a value; what has
//! a length comes as a structure with private fields, which only C can fill. That they tell the truth is what the header asks for.
#![expect(unsafe_code, reason = "pointers of callers")]

use super::error::{HM_ARGUMENT, HM_NOT_UTF8, hm_error};
use core::mem::MaybeUninit;
use core::slice;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Bytes of the caller, which are looked at during a call and not after it: a text in UTF-8, which needs no zero at its end, or any
/// bytes. No bytes at all may lie anywhere, at NULL too. `hm_str` makes one of a string of C.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_span {
    /// The first byte.
    data: *const u8,
    /// How many.
    len: usize,
}

/// Several pieces of bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_spans {
    /// The first.
    items: *const hm_span,
    /// How many.
    len: usize,
}

/// Room of the caller that is filled with bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_room {
    /// Where it begins.
    data: *mut u8,
    /// How many bytes there are.
    len: usize,
}

/// Bytes that a function gave: `hm_bytes_free` frees them. Behind the last lies a zero that is not counted, so that a text without zeros
/// is a string of C.
#[repr(C)]
#[derive(Debug)]
pub struct hm_bytes {
    /// The first byte.
    data: *const u8,
    /// How many.
    len: usize,
    /// The owner's.
    owner: Box<hm_owner>,
}

/// What owns the memory that a list shows.
pub struct hm_owner {
    _bytes: Vec<u8>,
}

impl core::fmt::Debug for hm_owner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("hm_owner").finish_non_exhaustive()
    }
}

impl hm_bytes {
    pub(super) fn new(bytes: impl Into<Vec<u8>>) -> Box<hm_bytes> {
        let mut bytes: Vec<u8> = bytes.into();
        let len = bytes.len();
        bytes.reserve_exact(1);
        bytes.push(0);
        Box::new(hm_bytes { data: bytes.as_ptr(), len, owner: Box::new(hm_owner { _bytes: bytes }) })
    }
}

/// Memory that can be there: not NULL, where such a thing can begin, and not longer than any memory is.
fn check<T>(first: *const T, len: usize, what: &str) -> Result<(), hm_error> {
    let why = if first.is_null() {
        "NULL"
    } else if !first.is_aligned() {
        "not aligned"
    } else if len > isize::MAX as usize / size_of::<T>().max(1) {
        "longer than memory is"
    } else {
        return Ok(());
    };
    Err(hm_error::new(HM_ARGUMENT, format!("{what}, with {len} in it, is {why}")))
}

/// What a caller shows, for as long as the call takes.
///
/// # Safety
/// If `len` is not 0, that many lie at `first` and stay as they are for `'a`.
unsafe fn shown<'a, T>(first: *const T, len: usize, what: &str) -> Result<&'a [T], hm_error> {
    if len == 0 {
        return Ok(&[]);
    }
    check(first, len, what)?;
    // SAFETY: the caller's, and checked as far as can be.
    Ok(unsafe { slice::from_raw_parts(first, len) })
}

impl hm_span {
    pub(super) fn bytes(&self, what: &str) -> Result<&[u8], hm_error> {
        // SAFETY: only C fills such a structure.
        unsafe { shown(self.data, self.len, what) }
    }

    pub(super) fn text(&self, what: &str) -> Result<&str, hm_error> {
        core::str::from_utf8(self.bytes(what)?).map_err(|error| {
            let at = error.valid_up_to();
            hm_error::new(HM_NOT_UTF8, format!("{what} is not UTF-8 from byte {at} on")).at(at as u64)
        })
    }

    pub(super) fn path(&self, what: &str) -> Result<PathBuf, hm_error> {
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            Ok(std::ffi::OsStr::from_bytes(self.bytes(what)?).into())
        }
        #[cfg(not(unix))]
        {
            Ok(self.text(what)?.into())
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl hm_spans {
    pub(super) fn spans(&self, what: &str) -> Result<&[hm_span], hm_error> {
        // SAFETY: only C fills such a structure.
        unsafe { shown(self.items, self.len, what) }
    }

    /// The bytes of each.
    pub(super) fn bytes(&self, what: &str) -> Result<Vec<&[u8]>, hm_error> {
        self.spans(what)?.iter().enumerate().map(|(n, span)| span.bytes(&format!("{what}[{n}]"))).collect()
    }
}

impl hm_room {
    pub(super) fn bytes(&mut self, what: &str) -> Result<&mut [u8], hm_error> {
        if self.len == 0 {
            return Ok(&mut []);
        }
        check(self.data, self.len, what)?;
        // SAFETY: only C fills such a structure, and hands over what nobody else uses meanwhile. Bytes that were not written yet are
        // bytes: no compiler sees both sides.
        Ok(unsafe { slice::from_raw_parts_mut(self.data, self.len) })
    }
}

/// A handle, or whatever else must not be NULL.
pub(super) fn given<T>(handle: Option<T>, what: &str) -> Result<T, hm_error> {
    handle.ok_or_else(|| hm_error::new(HM_ARGUMENT, format!("{what} is NULL")))
}

/// Where the result goes: whatever is there, it is `empty` until there is one.
pub(super) fn slot<'a, T>(
    out: Option<&'a mut MaybeUninit<T>>,
    empty: T,
    what: &str,
) -> Result<&'a mut T, hm_error> {
    Ok(given(out, what)?.write(empty))
}

/// Does the work of a call. No panic leaves it: one is a fault of this library, and an error.
pub(super) fn call(work: impl FnOnce() -> Result<(), hm_error>) -> Option<Box<hm_error>> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.err().map(Box::new),
        Err(panic) => Some(Box::new(hm_error::panicked(&*panic))),
    }
}

/// Lets go of a handle. What panics then is past telling; memory may be lost.
pub(super) fn free<T>(handle: Option<Box<T>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
}
