//! BLAKE3 of files.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::error::hm_error;
use super::hash::{HM_MODE_DERIVE, Keyed, hashing, hm_function};
use super::pointers::{free, given, hm_owner, hm_span, hm_spans, slot, unused};
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::num::NonZero;
use core::ptr;
use hashmill_files::{Digest, Files, Function, HashJob, Input, Mapping, Options};
use std::ops::ControlFlow;

/// How files are read. All zeros are good defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_file_options {
    /// Maximum number of threads; 0 for one per processor.
    threads: u32,
    /// Not 0: files may be mapped. That is faster for some files. It installs a handler for SIGBUS, which passes on foreign
    /// signals.
    map: u32,
    /// Not 0: the rest of a file with unreadable places is read, and the error has its size.
    keep_going: u32,
    /// Reserved for later versions: 0.
    reserved: [u32; 5],
}

/// The digest of a file.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct hm_file_digest {
    /// The digest.
    bytes: [u8; 32],
    /// The number of bytes hashed.
    len: u64,
    /// In a list: the reason why there is no digest, or NULL. It is freed with the list.
    error: *const hm_error,
}

/// The digests of several files, in the order of their paths.
#[repr(C)]
#[derive(Debug)]
pub struct hm_file_digests {
    /// The first.
    items: *const hm_file_digest,
    /// Their number.
    len: usize,
    /// Memory of the library.
    owner: Option<Box<hm_owner>>,
}

/// A hasher of files. Several threads may use it at the same time.
#[derive(Debug)]
pub struct hm_files {
    files: Files,
    is_keyed: bool,
}

impl hm_file_digest {
    const NONE: hm_file_digest = hm_file_digest { bytes: [0; 32], len: 0, error: ptr::null() };

    fn from_digest(digest: &Digest) -> hm_file_digest {
        let mut bytes = [0; 32];
        let filled = digest.output.fill(0, &mut bytes);
        debug_assert!(filled, "BLAKE3 has that much");
        hm_file_digest { bytes, len: digest.len, ..hm_file_digest::NONE }
    }
}

/// As [`hashing`], for a deeper stack: between the caller and the hash function there are paths, plans and threads, too.
fn hashing_files(is_keyed: bool, work: impl FnOnce() -> Result<(), hm_error>) -> Option<Box<hm_error>> {
    /// Overwrites as much of the stack as `hash_many` may have used.
    #[inline(never)]
    fn wipe() {
        black_box(&mut [0_u8; 64 * 1024]);
    }
    let result = hashing(is_keyed, work);
    if is_keyed {
        wipe();
    }
    result
}

/// Creates a hasher of files. `options` may be NULL.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_files_create(
    function: hm_function,
    options: Option<&hm_file_options>,
    files: Option<&mut MaybeUninit<Option<Box<hm_files>>>>,
) -> Option<Box<hm_error>> {
    let is_keyed = function.is_keyed();
    hashing(is_keyed, || {
        let out = slot(files, None, "files")?;
        let mut chosen = Options::default();
        chosen.mapping = Mapping::Never;
        if let Some(options) = options {
            unused(&options.reserved, "options")?;
            chosen.threads = NonZero::new(options.threads as usize);
            chosen.mapping = if options.map == 0 { Mapping::Never } else { Mapping::Guarded };
            chosen.keep_going = options.keep_going != 0;
        }
        let function = match function.keyed()? {
            Keyed::Key(key) => Function::keyed(key),
            _ if function.number() == HM_MODE_DERIVE => {
                Function::derive_key(function.key().text("function.key")?)
            }
            _ => Function::blake3(),
        };
        *out = Some(Box::new(hm_files { files: Files::new(function, chosen), is_keyed }));
        Ok(())
    })
}

/// The digest of the file at a path, which may have any bytes that the system accepts.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_files_hash(
    files: Option<&hm_files>,
    path: hm_span,
    digest: Option<&mut MaybeUninit<hm_file_digest>>,
) -> Option<Box<hm_error>> {
    hashing_files(files.is_some_and(|files| files.is_keyed), || {
        let out = slot(digest, hm_file_digest::NONE, "digest")?;
        *out = hm_file_digest::from_digest(&given(files, "files")?.files.hash_file(path.path("path")?)?);
        Ok(())
    })
}

/// The digests of many files. The error of a file is in its place of the list.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_files_hash_many(
    files: Option<&hm_files>,
    paths: hm_spans,
    digests: Option<&mut MaybeUninit<Option<Box<hm_file_digests>>>>,
) -> Option<Box<hm_error>> {
    hashing_files(files.is_some_and(|files| files.is_keyed), || {
        let out = slot(digests, None, "digests")?;
        let files = &given(files, "files")?.files;
        let paths =
            paths.spans("paths")?.iter().enumerate().map(|(n, path)| path.path(&format!("paths[{n}]")));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        let (mut items, mut errors) = (Vec::with_capacity(paths.len()), Vec::new());
        let jobs = paths.into_iter().map(|path| HashJob { path, input: Input::File, tag: () });
        let ControlFlow::Continue(()) = files.hash_many(jobs, |_, (), result: Result<Digest, _>| {
            items.push(match result {
                Ok(digest) => hm_file_digest::from_digest(&digest),
                Err(error) => {
                    errors.push((items.len(), hm_error::from(error)));
                    hm_file_digest::NONE
                }
            });
            ControlFlow::<core::convert::Infallible>::Continue(())
        });
        for (position, error) in &errors {
            items[*position].error = error;
        }
        let (first, len) = (items.as_ptr(), items.len());
        let owner = hm_owner::new((items, errors));
        *out = Some(Box::new(hm_file_digests { items: first, len, owner }));
        Ok(())
    })
}

/// Frees a list with its errors, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_file_digests_free(digests: Option<Box<hm_file_digests>>) {
    free(digests);
}

/// Frees a hasher of files, or NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_files_free(files: Option<Box<hm_files>>) {
    free(files);
}
