//! Pointers of the caller. Only this module trusts them, and `hm_values`.
//!
//! For Rust the functions of this library are safe. Handles are references and boxes in an `Option`. Data with a length is a
//! structure with private fields, which only C can fill. The header requires that these are valid.
#![expect(unsafe_code, reason = "pointers of callers")]

use super::error::{HM_ARGUMENT, HM_NOT_UTF8, hm_error};
use core::any::Any;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::slice;
use hashmill_doc::ChangeHash;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Bytes of the caller, which are read only during a call: a text in UTF-8, which needs no zero at its end, or any bytes. With
/// `len` 0, `data` may be anything, including NULL. `hm_str` makes one from a C string.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_span {
    /// The first byte.
    data: *const u8,
    /// Their number.
    len: usize,
}

/// Several pieces of bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_spans {
    /// The first.
    items: *const hm_span,
    /// Their number.
    len: usize,
}

/// A buffer of the caller that is filled with bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_room {
    /// The first byte.
    data: *mut u8,
    /// The number of bytes.
    len: usize,
}

/// Bytes that a function returned: `hm_bytes_free` frees them. A zero that is not counted follows the last byte, so a text
/// without zeros is a C string.
#[repr(C)]
#[derive(Debug)]
pub struct hm_bytes {
    /// The first byte.
    data: *const u8,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

/// Owner of the memory that a list points to.
#[derive(Debug)]
pub struct hm_owner {
    value: Box<dyn Any>,
}

impl hm_owner {
    pub(super) fn new(value: impl Any) -> Option<Box<hm_owner>> {
        Some(Box::new(hm_owner { value: Box::new(value) }))
    }

    pub(super) fn downcast<T: Any>(&self) -> Option<&T> {
        self.value.downcast_ref()
    }
}

/// The hash of a change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_change_hash {
    /// SHA-256.
    bytes: [u8; 32],
}

/// Hashes of changes, such as the heads of a document. Either a function returned them, and `hm_hashes_free` frees them, or they
/// are the caller's own, with an `owner` that is NULL.
#[repr(C)]
#[derive(Debug)]
pub struct hm_hashes {
    /// The first.
    items: *const hm_change_hash,
    /// Their number.
    len: usize,
    /// Memory of the library, or NULL.
    owner: Option<Box<hm_owner>>,
}

impl hm_change_hash {
    pub(super) const NONE: hm_change_hash = hm_change_hash { bytes: [0; 32] };

    pub(super) fn from_hash(hash: &ChangeHash) -> hm_change_hash {
        hm_change_hash { bytes: hash.0 }
    }

    pub(super) fn hash(&self) -> ChangeHash {
        ChangeHash(self.bytes)
    }
}

impl hm_hashes {
    pub(super) fn new(hashes: &[ChangeHash]) -> Box<hm_hashes> {
        let items: Vec<hm_change_hash> = hashes.iter().map(hm_change_hash::from_hash).collect();
        Box::new(hm_hashes { items: items.as_ptr(), len: items.len(), owner: hm_owner::new(items) })
    }

    pub(super) fn hashes(&self, what: &str) -> Result<Vec<ChangeHash>, hm_error> {
        // SAFETY: filled by C, or by `new`, whose memory lives as long as `self`.
        let hashes = unsafe { slice_from_caller(self.items, self.len, what) }?;
        Ok(hashes.iter().map(hm_change_hash::hash).collect())
    }
}

/// The bytes that a list points to. They do not move until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Arena(Vec<Vec<u8>>);

impl Arena {
    /// Stores bytes until the list that owns this arena is freed.
    pub(super) fn store(&mut self, bytes: impl Into<Vec<u8>>) -> hm_span {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return hm_span::EMPTY;
        }
        let span = hm_span { data: bytes.as_ptr(), len: bytes.len() };
        self.0.push(bytes);
        span
    }
}

impl hm_bytes {
    pub(super) fn new(bytes: impl Into<Vec<u8>>) -> Box<hm_bytes> {
        let mut bytes: Vec<u8> = bytes.into();
        let len = bytes.len();
        bytes.reserve_exact(1);
        bytes.push(0);
        Box::new(hm_bytes { data: bytes.as_ptr(), len, owner: hm_owner::new(bytes) })
    }
}

/// Checks for plausible memory: not NULL, aligned, and not longer than an allocation can be.
fn check<T>(first: *const T, len: usize, what: &str) -> Result<(), hm_error> {
    let reason = if first.is_null() {
        "NULL"
    } else if !first.is_aligned() {
        "not aligned"
    } else if len > isize::MAX as usize / size_of::<T>().max(1) {
        "longer than memory can be"
    } else {
        return Ok(());
    };
    Err(hm_error::new(HM_ARGUMENT, format!("{what}, with {len} in it, is {reason}")))
}

/// The elements of a caller's array, for the duration of the call.
///
/// # Safety
/// If `len` is not 0, `first` points to that many elements, which do not change during `'a`.
pub(super) unsafe fn slice_from_caller<'a, T>(
    first: *const T,
    len: usize,
    what: &str,
) -> Result<&'a [T], hm_error> {
    if len == 0 {
        return Ok(&[]);
    }
    check(first, len, what)?;
    // SAFETY: required of the caller, and checked as far as possible.
    Ok(unsafe { slice::from_raw_parts(first, len) })
}

impl hm_span {
    /// No bytes.
    pub(super) const EMPTY: hm_span = hm_span { data: ptr::null(), len: 0 };

    pub(super) fn bytes(&self, what: &str) -> Result<&[u8], hm_error> {
        // SAFETY: C fills such a structure, or the owner of its memory.
        unsafe { slice_from_caller(self.data, self.len, what) }
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
        unsafe { slice_from_caller(self.items, self.len, what) }
    }

    /// The bytes of each.
    pub(super) fn bytes(&self, what: &str) -> Result<Vec<&[u8]>, hm_error> {
        self.spans(what)?.iter().enumerate().map(|(n, span)| span.bytes(&format!("{what}[{n}]"))).collect()
    }
}

impl hm_room {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The errors of [`bytes`](hm_room::bytes).
    pub(super) fn check(&self, what: &str) -> Result<(), hm_error> {
        if self.len == 0 { Ok(()) } else { check(self.data, self.len, what) }
    }

    /// Must be called after the last read of the caller's inputs, which may overlap this buffer.
    pub(super) fn bytes(&mut self, what: &str) -> Result<&mut [u8], hm_error> {
        self.check(what)?;
        if self.len == 0 {
            return Ok(&mut []);
        }
        // SAFETY: only C fills such a structure, with memory that no other thread uses meanwhile. Uninitialized bytes are valid
        // here: no compiler sees both sides.
        Ok(unsafe { slice::from_raw_parts_mut(self.data, self.len) })
    }
}

/// Checks the reserved fields of a structure of options. A later version will give them meaning. A program that was compiled with
/// its header and sets one must get an error.
pub(super) fn unused<T: Copy + Into<u64>>(reserved: &[T], what: &str) -> Result<(), hm_error> {
    if reserved.iter().all(|&field| field.into() == 0) {
        return Ok(());
    }
    let text = format!(
        "{what}.reserved is not 0: the program was compiled with a later hashmill.h than this library's, {}",
        env!("CARGO_PKG_VERSION")
    );
    Err(hm_error::new(HM_ARGUMENT, text))
}

/// A handle, or another pointer that must not be NULL.
pub(super) fn given<T>(handle: Option<T>, what: &str) -> Result<T, hm_error> {
    handle.ok_or_else(|| hm_error::new(HM_ARGUMENT, format!("{what} is NULL")))
}

/// The place for the result, set to `empty` until there is one.
pub(super) fn slot<'a, T>(
    out: Option<&'a mut MaybeUninit<T>>,
    empty: T,
    what: &str,
) -> Result<&'a mut T, hm_error> {
    Ok(given(out, what)?.write(empty))
}

/// Does the work of a call. A panic is a bug of this library and becomes an error.
pub(super) fn call(work: impl FnOnce() -> Result<(), hm_error>) -> Option<Box<hm_error>> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result.err().map(Box::new),
        Err(panic) => Some(Box::new(hm_error::panicked(&*panic))),
    }
}

/// Frees a handle. A panic cannot be reported here; memory may leak.
pub(super) fn free<T>(handle: Option<Box<T>>) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
}

/// Two handles, or `None` if both are the same one.
///
/// Both are NULL or handles that no other thread uses meanwhile, as the header requires.
pub(super) fn two<'a, T>(
    one: Option<NonNull<T>>,
    other: Option<NonNull<T>>,
    what: [&str; 2],
) -> Result<Option<(&'a mut T, &'a mut T)>, hm_error> {
    let (mut one, mut other) = (given(one, what[0])?, given(other, what[1])?);
    if one == other {
        return Ok(None);
    }
    // SAFETY: required of the caller, and the handles are distinct.
    Ok(Some(unsafe { (one.as_mut(), other.as_mut()) }))
}
