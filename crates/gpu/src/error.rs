//! Errors of devices, sorted by who is at fault: the caller, the machine, the driver, the device.

use hashmill_hash::argon2::HashError;
use hashmill_hash::engine::EngineError;
use std::fmt;

/// Party at fault for an [`Error`], which decides the remedy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The arguments are wrong, or the caller stopped the work. Another device gives the same error.
    Caller,
    /// The machine lacks a driver, a device, a feature or memory. Less work, or another engine, can help.
    Machine,
    /// The driver refused a call. The device may work again later.
    Driver,
    /// The device is gone or gives wrong results. It must pass [`self_test`](crate::Device::self_test) before it
    /// is used again.
    Device,
}

/// Error of finding or using a device. [`fault`](Error::fault) says who is at fault.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Error {
    /// Caller: a buffer that cannot be hashed.
    Buffer {
        /// The reason.
        reason: String,
    },
    /// Caller: an invalid tile or number of tiles.
    Engine(EngineError),
    /// Caller: a hash with invalid arguments, or a stopped one.
    Hash(HashError),
    /// Machine: no driver, or one that is too old to have all functions.
    NoDriver {
        /// The system's message.
        reason: String,
    },
    /// Machine: no usable device, or none with this number.
    NoDevice {
        /// The number of devices.
        found: usize,
    },
    /// Caller: a device selector that matches no device, or several.
    Selector {
        /// The selector.
        requested: String,
        /// The number of matching devices.
        matches: usize,
        /// The number of devices.
        found: usize,
    },
    /// Machine: a device without a required feature.
    Unfit {
        /// Its name.
        device: String,
        /// The missing feature.
        lacks: String,
    },
    /// Machine: not enough memory on the device.
    OutOfMemory {
        /// Requested bytes, where known.
        bytes: u64,
    },
    /// Driver: a call that failed.
    Driver {
        /// The driver's message.
        reason: String,
    },
    /// Driver or device: an error of NVIDIA's driver. [`Refusal::lost`] tells which.
    Cuda(Refusal),
    /// Device: it is gone, or was reset because it did not answer.
    Lost,
    /// Device: wrong results.
    SelfTest {
        /// Its name.
        device: String,
    },
}

/// Error of a call to NVIDIA's driver.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The function that was called.
    pub call: &'static str,
    /// The error code.
    pub code: u32,
    /// The driver's name for the code.
    pub name: String,
    /// The driver's description of the code.
    pub text: String,
    /// Is the device lost? Then every later call of this process to this device fails too.
    pub lost: bool,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { call, code, name, text, lost } = self;
        let effect = if *lost { "the device is gone" } else { "the driver refuses" };
        write!(f, "{effect}: {call} gave {name} ({code}), {text}")
    }
}

impl Error {
    /// Who is at fault.
    pub fn fault(&self) -> Fault {
        match self {
            Error::NoDriver { .. }
            | Error::NoDevice { .. }
            | Error::Unfit { .. }
            | Error::OutOfMemory { .. }
            | Error::Engine(EngineError::OutOfMemory { .. } | EngineError::System { .. })
            | Error::Hash(HashError::OutOfMemory { .. }) => Fault::Machine,
            Error::Cuda(Refusal { lost: false, .. }) | Error::Driver { .. } => Fault::Driver,
            Error::Cuda(_)
            | Error::Lost
            | Error::SelfTest { .. }
            | Error::Engine(EngineError::SelfTest { .. } | EngineError::Progress { .. }) => Fault::Device,
            Error::Buffer { .. } | Error::Engine(_) | Error::Hash(_) | Error::Selector { .. } => {
                Fault::Caller
            }
        }
    }

    /// Is the device gone? Then every later call of this process to it fails too.
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
            Error::NoDriver { reason } => write!(f, "no driver of NVIDIA, or one that is too old: {reason}"),
            Error::NoDevice { found: 0 } => f.write_str("no device: no driver offers one"),
            Error::NoDevice { found: 1 } => f.write_str("no device of this number: there is number 0 alone"),
            Error::NoDevice { found } => write!(f, "no device of this number: there are {found}, from 0 on"),
            Error::Selector { requested, matches: 0, found } => {
                let are = if *found == 1 { "is" } else { "are" };
                write!(
                    f,
                    "no device has {requested:?} as its number, id, bus address or name: there {are} {found}"
                )
            }
            Error::Selector { requested, matches, .. } => {
                write!(f, "{matches} devices have {requested:?} in their names or ids: choose by number")
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
            EngineError::OutOfMemory { bytes } => Error::OutOfMemory { bytes },
            EngineError::System { reason } => Error::Driver { reason },
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
