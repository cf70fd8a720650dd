//! Errors of functions that can fail.
#![expect(unsafe_code, reason = "names that a linker finds")]

use core::any::Any;
use core::ffi::c_char;
use hashmill_doc::{ApplyError, DecodeError, EditError, FormatError, InputPosition, LoadError};
use hashmill_files as files;
use hashmill_hash::argon2::{HashError, ParamsError};
use hashmill_hash::password::{CreateError, PhcError, PolicyError, VerifyError};
use std::ffi::CString;
use std::io;

/// The kind of an error, for programs. Later versions may add more.
pub type hm_code = u32;

/// No error.
pub const HM_OK: hm_code = 0;
/// A mistake of the caller: a pointer that is NULL, an invalid number, a length that does not fit.
pub const HM_ARGUMENT: hm_code = 1;
/// A mistake of the caller: a text that is not UTF-8. `hm_error_place` is its first invalid byte.
pub const HM_NOT_UTF8: hm_code = 2;
/// A bug of this library. The handles of the call can only be freed.
pub const HM_INTERNAL: hm_code = 3;
/// Out of memory.
pub const HM_MEMORY: hm_code = 4;
/// An error of the operating system: `hm_error_system` is its number.
pub const HM_SYSTEM: hm_code = 5;
/// The password does not match.
pub const HM_MISMATCH: hm_code = 6;
/// Malformed bytes or text. `hm_error_place` is the place, if it is known.
pub const HM_MALFORMED: hm_code = 7;
/// The request exceeds a limit.
pub const HM_LIMIT: hm_code = 8;
/// A file changed while it was read, or its length differs from the one that the system reports.
pub const HM_CHANGED: hm_code = 9;
/// The document has no such object, change, cursor or counter.
pub const HM_UNKNOWN: hm_code = 10;
/// An object of this kind does not support the call, or holds no such value.
pub const HM_WRONG_TYPE: hm_code = 11;
/// An index past the end, or a range that ends before it starts.
pub const HM_RANGE: hm_code = 12;
/// Changes that contradict the history they build on.
pub const HM_CONTRADICTION: hm_code = 13;
/// Changes that others depend on are missing.
pub const HM_MISSING: hm_code = 14;
/// Another thread asked the call to stop.
pub const HM_STOPPED: hm_code = 15;

/// An error. A function returns NULL without one; otherwise free the error with `hm_error_free`.
#[derive(Debug)]
pub struct hm_error {
    code: hm_code,
    text: CString,
    offset: Option<u64>,
    system: i32,
}

impl hm_error {
    pub(super) fn new(code: hm_code, text: impl Into<Vec<u8>>) -> hm_error {
        // A name from the caller may contain a zero.
        let text = text.into().into_iter().filter(|byte| *byte != 0).collect::<Vec<u8>>();
        let text = CString::new(text).unwrap_or_default();
        hm_error { code, text, offset: None, system: 0 }
    }

    pub(super) fn from_display(code: hm_code, error: &impl core::fmt::Display) -> hm_error {
        hm_error::new(code, error.to_string())
    }

    pub(super) fn at(self, offset: u64) -> hm_error {
        hm_error { offset: Some(offset), ..self }
    }

    pub(super) fn panicked(panic: &(dyn Any + Send)) -> hm_error {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
        hm_error::new(HM_INTERNAL, format!("a bug in hashmill: {text}"))
    }
}

/// The kind of an error; `HM_OK` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_code(error: Option<&hm_error>) -> hm_code {
    error.map_or(HM_OK, |error| error.code)
}

/// The message, in English, for people: a string that is valid until the error is freed. "no error" for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_text(error: Option<&hm_error>) -> *const c_char {
    error.map_or(c"no error", |error| &error.text).as_ptr()
}

/// The offset of the byte that caused the error, or `UINT64_MAX`.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_place(error: Option<&hm_error>) -> u64 {
    error.and_then(|error| error.offset).unwrap_or(u64::MAX)
}

/// The operating system's error number (`errno`), or 0.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_system(error: Option<&hm_error>) -> i32 {
    error.map_or(0, |error| error.system)
}

impl From<io::Error> for hm_error {
    fn from(error: io::Error) -> hm_error {
        let code = if error.kind() == io::ErrorKind::OutOfMemory { HM_MEMORY } else { HM_SYSTEM };
        hm_error { system: error.raw_os_error().unwrap_or(0), ..hm_error::from_display(code, &error) }
    }
}

impl From<files::Error> for hm_error {
    fn from(error: files::Error) -> hm_error {
        use files::Error;
        let code = match error {
            Error::Io(error) => return error.into(),
            Error::Shrunk { .. } | Error::EndsEarly { .. } => HM_CHANGED,
            Error::Refused(_) | Error::LinkLoop | Error::Special | Error::Pseudo(_) => HM_ARGUMENT,
            _ => HM_SYSTEM,
        };
        hm_error::from_display(code, &error)
    }
}

impl From<ParamsError> for hm_error {
    fn from(error: ParamsError) -> hm_error {
        hm_error::from_display(HM_ARGUMENT, &error)
    }
}

impl From<PolicyError> for hm_error {
    fn from(error: PolicyError) -> hm_error {
        hm_error::from_display(HM_ARGUMENT, &error)
    }
}

impl From<HashError> for hm_error {
    fn from(error: HashError) -> hm_error {
        let code = match error {
            HashError::OutOfMemory { .. } => HM_MEMORY,
            HashError::Stopped => HM_STOPPED,
            _ => HM_ARGUMENT,
        };
        hm_error::from_display(code, &error)
    }
}

impl From<CreateError> for hm_error {
    fn from(error: CreateError) -> hm_error {
        match error {
            CreateError::Hash(error) => error.into(),
            _ => hm_error::from_display(HM_ARGUMENT, &error),
        }
    }
}

impl From<PhcError> for hm_error {
    fn from(error: PhcError) -> hm_error {
        match error {
            PhcError::OverLimit { offset, .. } => hm_error::from_display(HM_LIMIT, &error).at(offset as u64),
            PhcError::Malformed { offset, .. } | PhcError::Params { offset, .. } => {
                hm_error::from_display(HM_MALFORMED, &error).at(offset as u64)
            }
            _ => hm_error::from_display(HM_MALFORMED, &error),
        }
    }
}

impl From<VerifyError> for hm_error {
    fn from(error: VerifyError) -> hm_error {
        match error {
            VerifyError::Mismatch => hm_error::from_display(HM_MISMATCH, &error),
            VerifyError::OverLimit(_) => hm_error::from_display(HM_LIMIT, &error),
            VerifyError::Phc(error) => error.into(),
            VerifyError::Hash(error) => error.into(),
            _ => hm_error::from_display(HM_INTERNAL, &error),
        }
    }
}

impl From<EditError> for hm_error {
    fn from(error: EditError) -> hm_error {
        let code = match error {
            EditError::UnknownObject(_)
            | EditError::UnknownHash(_)
            | EditError::NotCounter(_)
            | EditError::ForeignCursor(_) => HM_UNKNOWN,
            EditError::WrongType { .. } | EditError::WrongValue { .. } | EditError::NotSequence { .. } => {
                HM_WRONG_TYPE
            }
            EditError::Index { .. } | EditError::Backwards { .. } | EditError::Underflow { .. } => HM_RANGE,
            EditError::Full | EditError::Limit(_) => HM_LIMIT,
            _ => HM_ARGUMENT,
        };
        hm_error::from_display(code, &error)
    }
}

impl From<DecodeError> for hm_error {
    fn from(error: DecodeError) -> hm_error {
        LoadError::from(error).into()
    }
}

impl From<ApplyError> for hm_error {
    fn from(error: ApplyError) -> hm_error {
        let code = if matches!(error, ApplyError::Limit(_)) { HM_LIMIT } else { HM_CONTRADICTION };
        hm_error::from_display(code, &error)
    }
}

impl From<LoadError> for hm_error {
    fn from(error: LoadError) -> hm_error {
        match error {
            LoadError::Apply(error) => error.into(),
            LoadError::Limit(_) => hm_error::from_display(HM_LIMIT, &error),
            LoadError::MissingDeps { .. } => hm_error::from_display(HM_MISSING, &error),
            // In a column a place counts inflated bytes, which a caller never sees.
            LoadError::Format(FormatError {
                position: InputPosition { column: None, offset, .. }, ..
            }) => hm_error::from_display(HM_MALFORMED, &error).at(offset as u64),
            _ => hm_error::from_display(HM_MALFORMED, &error),
        }
    }
}
