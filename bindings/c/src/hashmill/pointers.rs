//! What a caller hands over: believed here, and nowhere else.
//!
//! The functions of this library are safe to call for Rust. Handles come as references and boxes, whose absence is a value; what has
//! a length comes as a structure with private fields, which only C can fill. That they tell the truth is what the header asks for.
#![expect(unsafe_code, reason = "pointers of callers")]

use super::error::{HM_ARGUMENT, HM_NOT_UTF8, hm_error};
use super::values::hm_value;
use core::any::Any;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::slice;
use hashmill_doc::ChangeHash;
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

/// Several values of the caller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_values {
    /// The first.
    items: *const hm_value,
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
    /// The library's.
    owner: Option<Box<hm_owner>>,
}

/// What owns the memory that a list shows.
#[derive(Debug)]
pub struct hm_owner {
    kept: Box<dyn Any>,
}

impl hm_owner {
    pub(super) fn of(kept: impl Any) -> Option<Box<hm_owner>> {
        Some(Box::new(hm_owner { kept: Box::new(kept) }))
    }

    pub(super) fn kept<T: Any>(&self) -> Option<&T> {
        self.kept.downcast_ref()
    }
}

/// The hash of a change.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_change_hash {
    /// SHA-256.
    bytes: [u8; 32],
}

/// Hashes of changes, such as the heads of a document: those that a function gave, which `hm_hashes_free` frees, or the caller's own,
/// with an `owner` that is NULL.
#[repr(C)]
#[derive(Debug)]
pub struct hm_hashes {
    /// The first.
    items: *const hm_change_hash,
    /// How many.
    len: usize,
    /// The library's, or NULL.
    owner: Option<Box<hm_owner>>,
}

impl hm_change_hash {
    pub(super) const NONE: hm_change_hash = hm_change_hash { bytes: [0; 32] };

    pub(super) fn of(hash: &ChangeHash) -> hm_change_hash {
        hm_change_hash { bytes: hash.0 }
    }

    pub(super) fn hash(&self) -> ChangeHash {
        ChangeHash(self.bytes)
    }
}

impl hm_hashes {
    pub(super) fn new(hashes: &[ChangeHash]) -> Box<hm_hashes> {
        let kept: Vec<hm_change_hash> = hashes.iter().map(hm_change_hash::of).collect();
        Box::new(hm_hashes { items: kept.as_ptr(), len: kept.len(), owner: hm_owner::of(kept) })
    }

    pub(super) fn hashes(&self, what: &str) -> Result<Vec<ChangeHash>, hm_error> {
        // SAFETY: filled by C, or by `new`, whose memory lives as long as this.
        let hashes = unsafe { shown(self.items, self.len, what) }?;
        Ok(hashes.iter().map(hm_change_hash::hash).collect())
    }
}

/// The bytes that a list shows. They stay where they are until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Arena(Vec<Vec<u8>>);

impl Arena {
    /// Shows bytes, which the list that owns this arena lets go of at its end.
    pub(super) fn show(&mut self, bytes: impl Into<Vec<u8>>) -> hm_span {
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
        Box::new(hm_bytes { data: bytes.as_ptr(), len, owner: hm_owner::of(bytes) })
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
    /// No bytes.
    pub(super) const EMPTY: hm_span = hm_span { data: ptr::null(), len: 0 };

    pub(super) fn bytes(&self, what: &str) -> Result<&[u8], hm_error> {
        // SAFETY: C fills such a structure, or the owner of what it shows.
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

impl hm_values {
    pub(super) fn values(&self, what: &str) -> Result<&[hm_value], hm_error> {
        // SAFETY: only C fills such a structure.
        unsafe { shown(self.items, self.len, what) }
    }
}

impl hm_room {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// What [`bytes`](hm_room::bytes) would complain of.
    pub(super) fn check(&self, what: &str) -> Result<(), hm_error> {
        if self.len == 0 { Ok(()) } else { check(self.data, self.len, what) }
    }

    /// To be asked for when nothing of the caller's that may lie there is looked at any more.
    pub(super) fn bytes(&mut self, what: &str) -> Result<&mut [u8], hm_error> {
        self.check(what)?;
        if self.len == 0 {
            return Ok(&mut []);
        }
        // SAFETY: only C fills such a structure, and hands over what nobody else uses meanwhile. Bytes that were not written yet are
        // bytes: no compiler sees both sides.
        Ok(unsafe { slice::from_raw_parts_mut(self.data, self.len) })
    }
}

/// The reserved fields of a structure of options. A later version gives them meaning; a program that was compiled with its header and
/// sets one must not have it ignored.
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

/// Two handles that may be the same one: then there is nothing to give.
///
/// Both are NULL or handles that nobody else uses meanwhile, as the header asks.
pub(super) fn two<'a, T>(
    one: Option<NonNull<T>>,
    other: Option<NonNull<T>>,
    what: [&str; 2],
) -> Result<Option<(&'a mut T, &'a mut T)>, hm_error> {
    let (mut one, mut other) = (given(one, what[0])?, given(other, what[1])?);
    if one == other {
        return Ok(None);
    }
    // SAFETY: the caller's, and they are two.
    Ok(Some(unsafe { (one.as_mut(), other.as_mut()) }))
}
