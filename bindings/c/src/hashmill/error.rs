//! Errors: what functions give that can fail.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::pointers::{free, hm_bytes};
use core::any::Any;
use core::ffi::c_char;
use hashmill_doc::{ApplyError, DecodeError, EditError, FormatError, LoadError, Place};
use hashmill_files as files;
use hashmill_hash::argon2::{HashError, ParamsError};
use hashmill_hash::password::{CreateError, PhcError, PolicyError, VerifyError};
use std::ffi::CString;
use std::io;

/// What kind of error it is: for programs. More may come.
pub type hm_code = u32;

/// No error.
pub const HM_OK: hm_code = 0;
/// The caller's: a pointer that is NULL, a number that means nothing, a length that does not fit.
pub const HM_ARGUMENT: hm_code = 1;
/// The caller's: a text that is not UTF-8. `hm_error_place` is its first byte that is none.
pub const HM_NOT_UTF8: hm_code = 2;
/// A fault of this library. The handles of the call can be freed, and nothing else.
pub const HM_INTERNAL: hm_code = 3;
/// The system has no memory left.
pub const HM_MEMORY: hm_code = 4;
/// The operating system refused: `hm_error_system` is its number.
pub const HM_SYSTEM: hm_code = 5;
/// It is another password.
pub const HM_MISMATCH: hm_code = 6;
/// Bytes or a text that break their format. `hm_error_place` is where, if that is known.
pub const HM_MALFORMED: hm_code = 7;
/// More was asked for than limits allow.
pub const HM_LIMIT: hm_code = 8;
/// A file changed while it was read, or is not as long as the system says.
pub const HM_CHANGED: hm_code = 9;
/// The document has no such object, change, cursor or counter.
pub const HM_UNKNOWN: hm_code = 10;
/// An object of this kind cannot do that, or holds no such value.
pub const HM_WRONG_TYPE: hm_code = 11;
/// An index past the end, or a range that ends before it starts.
pub const HM_RANGE: hm_code = 12;
/// Changes that contradict the history they build on.
pub const HM_CONTRADICTION: hm_code = 13;
/// Changes that others depend on are missing.
pub const HM_MISSING: hm_code = 14;
/// Somebody asked the call to stop.
pub const HM_STOPPED: hm_code = 15;

/// An error. A function gives NULL where there is none, and one that `hm_error_free` frees otherwise.
#[derive(Debug)]
pub struct hm_error {
    code: hm_code,
    text: CString,
    place: Option<u64>,
    system: i32,
}

impl hm_error {
    pub(super) fn new(code: hm_code, text: impl Into<Vec<u8>>) -> hm_error {
        // A zero may come with a name of the caller's.
        let text = text.into().into_iter().filter(|byte| *byte != 0).collect::<Vec<u8>>();
        let text = CString::new(text).unwrap_or_default();
        hm_error { code, text, place: None, system: 0 }
    }

    pub(super) fn of(code: hm_code, error: &impl core::fmt::Display) -> hm_error {
        hm_error::new(code, error.to_string())
    }

    pub(super) fn at(self, place: u64) -> hm_error {
        hm_error { place: Some(place), ..self }
    }

    pub(super) fn panicked(panic: &(dyn Any + Send)) -> hm_error {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
        hm_error::new(HM_INTERNAL, format!("a fault of hashmill: {text}"))
    }
}

/// What kind of error it is; `HM_OK` for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_code(error: Option<&hm_error>) -> hm_code {
    error.map_or(HM_OK, |error| error.code)
}

/// What happened, in English, for people: a string that is there until the error is freed. "no error" for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_text(error: Option<&hm_error>) -> *const c_char {
    error.map_or(c"no error", |error| &error.text).as_ptr()
}

/// The offset of the byte that the error is about, or `UINT64_MAX`.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_place(error: Option<&hm_error>) -> u64 {
    error.and_then(|error| error.place).unwrap_or(u64::MAX)
}

/// The operating system's number for it (`errno`), or 0.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_system(error: Option<&hm_error>) -> i32 {
    error.map_or(0, |error| error.system)
}

/// Frees an error, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_error_free(error: Option<Box<hm_error>>) {
    free(error);
}

/// Frees bytes that a function gave, or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_bytes_free(bytes: Option<Box<hm_bytes>>) {
    free(bytes);
}

impl From<io::Error> for hm_error {
    fn from(error: io::Error) -> hm_error {
        let code = if error.kind() == io::ErrorKind::OutOfMemory { HM_MEMORY } else { HM_SYSTEM };
        hm_error { system: error.raw_os_error().unwrap_or(0), ..hm_error::of(code, &error) }
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
        hm_error::of(code, &error)
    }
}

impl From<ParamsError> for hm_error {
    fn from(error: ParamsError) -> hm_error {
        hm_error::of(HM_ARGUMENT, &error)
    }
}

impl From<PolicyError> for hm_error {
    fn from(error: PolicyError) -> hm_error {
        hm_error::of(HM_ARGUMENT, &error)
    }
}

impl From<HashError> for hm_error {
    fn from(error: HashError) -> hm_error {
        let code = match error {
            HashError::OutOfMemory { .. } => HM_MEMORY,
            HashError::Stopped => HM_STOPPED,
            _ => HM_ARGUMENT,
        };
        hm_error::of(code, &error)
    }
}

impl From<CreateError> for hm_error {
    fn from(error: CreateError) -> hm_error {
        match error {
            CreateError::Hash(error) => error.into(),
            _ => hm_error::of(HM_ARGUMENT, &error),
        }
    }
}

impl From<PhcError> for hm_error {
    fn from(error: PhcError) -> hm_error {
        match error {
            PhcError::OverLimit { offset, .. } => hm_error::of(HM_LIMIT, &error).at(offset as u64),
            PhcError::Malformed { offset, .. } | PhcError::Params { offset, .. } => {
                hm_error::of(HM_MALFORMED, &error).at(offset as u64)
            }
            _ => hm_error::of(HM_MALFORMED, &error),
        }
    }
}

impl From<VerifyError> for hm_error {
    fn from(error: VerifyError) -> hm_error {
        match error {
            VerifyError::Mismatch => hm_error::of(HM_MISMATCH, &error),
            VerifyError::OverLimit(_) => hm_error::of(HM_LIMIT, &error),
            VerifyError::Phc(error) => error.into(),
            VerifyError::Hash(error) => error.into(),
            _ => hm_error::of(HM_INTERNAL, &error),
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
        hm_error::of(code, &error)
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
        hm_error::of(code, &error)
    }
}

impl From<LoadError> for hm_error {
    fn from(error: LoadError) -> hm_error {
        match error {
            LoadError::Apply(error) => error.into(),
            LoadError::Limit(_) => hm_error::of(HM_LIMIT, &error),
            LoadError::MissingDeps { .. } => hm_error::of(HM_MISSING, &error),
            // In a column a place counts inflated bytes, of which a caller sees none.
            LoadError::Format(FormatError { place: Place { column: None, offset, .. }, .. }) => {
                hm_error::of(HM_MALFORMED, &error).at(offset as u64)
            }
            _ => hm_error::of(HM_MALFORMED, &error),
        }
    }
}
