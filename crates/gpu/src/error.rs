//! Why a device cannot be had, or not work, sorted by who is at fault.

use hashmill_hash::argon2::HashError;
use hashmill_hash::engine::EngineError;
use std::fmt;

/// Why a device cannot be had, or not work. Sorted by whose doing it is: the caller's, the machine's, the device's.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The caller's: a buffer that cannot be hashed as it is.
    Buffer {
        /// What is wrong with it.
        reason: String,
    },
    /// The caller's: no subtree, or none that fits.
    Engine(EngineError),
    /// The caller's: a hash that cannot be, or was stopped.
    Hash(HashError),
    /// The machine's: no driver, or one that lacks functions because it is too old.
    NoDriver {
        /// What the system said.
        reason: String,
    },
    /// The machine's: no device, or none with this number.
    NoDevice {
        /// How many there are.
        found: usize,
    },
    /// The caller's: what was said of a device fits none, or several.
    Which {
        /// What was said.
        asked: String,
        /// How many it fits.
        fits: usize,
        /// How many there are.
        found: usize,
    },
    /// The machine's: a device that lacks what is needed.
    Unfit {
        /// Its name.
        device: String,
        /// What it lacks.
        lacks: String,
    },
    /// The machine's: no memory on the device.
    OutOfMemory {
        /// How many bytes were asked for, as far as that is known.
        bytes: u64,
    },
    /// The machine's: the driver refuses.
    Driver {
        /// What it said.
        reason: String,
    },
    /// The machine's, or the device's: NVIDIA's driver refuses. [`Refusal::lost`] says which.
    Cuda(Refusal),
    /// The device's: it is gone, or was reset because it did not answer.
    Lost,
    /// The device's: it gives wrong results.
    SelfTest {
        /// Its name.
        device: String,
    },
}

/// What NVIDIA's driver said of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The function that was called.
    pub call: &'static str,
    /// Its code.
    pub code: u32,
    /// The driver's name of it.
    pub name: String,
    /// The driver's words for it.
    pub text: String,
    /// Whether it ends everything: no later call of this process to this device does better.
    pub lost: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { call, code, name, text, lost } = self;
        let said = if *lost { "the device is gone" } else { "the driver refuses" };
        write!(f, "{said}: {call} gave {name} ({code}), {text}")
    }
}

impl Error {
    /// Whether the device is gone: nobody in this process hears anything else of it from now on.
    pub fn is_lost(&self) -> bool {
        matches!(self, Error::Lost | Error::Cuda(Refusal { lost: true, .. }))
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Cuda(refusal)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Buffer { reason } => write!(f, "a buffer that cannot be hashed: {reason}"),
            Error::Engine(error) => error.fmt(f),
            Error::Hash(error) => error.fmt(f),
            Error::NoDriver { reason } => write!(f, "no driver: {reason}"),
            Error::NoDevice { found: 0 } => f.write_str("no device: no driver offers one"),
            Error::NoDevice { found: 1 } => f.write_str("no device of this number: there is number 0 alone"),
            Error::NoDevice { found } => write!(f, "no device of this number: there are {found}, from 0 on"),
            Error::Which { asked, fits: 0, found } => {
                let are = if *found == 1 { "is" } else { "are" };
                write!(f, "no device has {asked:?} as its number, id, place or name: there {are} {found}")
            }
            Error::Which { asked, fits, .. } => {
                write!(f, "{fits} devices have {asked:?} in their names or ids: choose by number")
            }
            Error::Unfit { device, lacks } => write!(f, "{device} cannot be used: it lacks {lacks}"),
            Error::OutOfMemory { bytes } if *bytes < 1 << 20 => {
                write!(f, "the device has no room for {bytes} bytes more")
            }
            Error::OutOfMemory { bytes } => write!(f, "the device has no room for {} MiB more", bytes >> 20),
            Error::Driver { reason } => write!(f, "the driver refuses: {reason}"),
            Error::Cuda(refusal) => refusal.fmt(f),
            Error::Lost => f.write_str("the device is gone, or was reset: the system's log may say why"),
            Error::SelfTest { device } => write!(f, "{device} gives wrong digests: choose another engine"),
        }
    }
}

impl std::error::Error for Error {}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        match error {
            EngineError::SelfTest { engine } => Error::SelfTest { device: engine },
            error => Error::Engine(error),
        }
    }
}

impl From<HashError> for Error {
    fn from(error: HashError) -> Error {
        Error::Hash(error)
    }
}

impl From<Error> for EngineError {
    fn from(error: Error) -> EngineError {
        match error {
            Error::Engine(error) => error,
            Error::Hash(error) => error.into(),
            Error::OutOfMemory { bytes } => EngineError::OutOfMemory { bytes },
            Error::SelfTest { device } => EngineError::SelfTest { engine: device },
            error => EngineError::System { reason: error.to_string() },
        }
    }
}
