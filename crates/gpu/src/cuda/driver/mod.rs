//! NVIDIA's driver, loaded at run time: its functions by name, their results as errors, and its objects as
//! values that are freed on drop.
//!
//! All `unsafe` code of this back end is in this folder, with these invariants:
//!
//! - A function is called with a live handle, in its own context, which is current only during the call.
//! - Memory of the host that a device reads or writes is pinned, and its bytes are accessible only when all
//!   copies submitted before have ended.
//! - Registered memory is borrowed until it is unregistered, and the code that submits a copy of it waits for
//!   that copy first.
//! - Kernels are our own and keep to their arguments: each launch states the memory that it passes.
#![allow(unsafe_code, reason = "a driver is a library of C functions")]

mod context;
mod registered;
mod stream;

pub(super) use context::{Context, Kernel, Memory};
pub use registered::Registered;
pub(super) use stream::{Arg, Flag, Pinned, Shape, Source, Stream};

use crate::{Error, Refusal};
use hashmill_hash::hex;
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::null;
use std::sync::Arc;

type Code = c_uint;
type Handle = *mut c_void;
type Pointer = u64;

/// The table of the driver's functions: fields have the names of the symbols.
macro_rules! functions {
    ($($name:ident($($kind:ty),*);)*) => {
        #[allow(non_snake_case, reason = "the driver's own names")]
        struct Functions {
            $($name: unsafe extern "system" fn($($kind),*) -> Code,)*
        }

        impl Functions {
            /// # Safety
            /// The library is the driver, or implements its interface.
            unsafe fn load(library: &Library) -> Result<Functions, libloading::Error> {
                Ok(Functions {
                    // SAFETY: these are the signatures of the driver's interface, which never change under a
                    // name.
                    $($name: *unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) }?,)*
                })
            }
        }
    };
}

functions! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuGetErrorName(Code, *mut *const c_char);
    cuGetErrorString(Code, *mut *const c_char);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut c_int, c_int);
    cuDeviceGetName(*mut c_char, c_int, c_int);
    cuDeviceGetUuid_v2(*mut [u8; 16], c_int);
    cuDeviceGetPCIBusId(*mut c_char, c_int, c_int);
    cuDeviceGetAttribute(*mut c_int, c_int, c_int);
    cuDeviceTotalMem_v2(*mut usize, c_int);
    cuDevicePrimaryCtxRetain(*mut Handle, c_int);
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuCtxPushCurrent_v2(Handle);
    cuCtxPopCurrent_v2(*mut Handle);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut Pointer, usize);
    cuMemFree_v2(Pointer);
    cuMemHostAlloc(*mut Handle, usize, c_uint);
    cuMemFreeHost(Handle);
    cuMemHostRegister_v2(Handle, usize, c_uint);
    cuMemHostUnregister(Handle);
    cuMemcpyHtoDAsync_v2(Pointer, *const c_void, usize, Handle);
    cuMemcpyDtoHAsync_v2(Handle, Pointer, usize, Handle);
    cuMemsetD8Async(Pointer, u8, usize, Handle);
    cuPointerGetAttribute(*mut c_void, c_int, Pointer);
    cuStreamCreate(*mut Handle, c_uint);
    cuStreamDestroy_v2(Handle);
    cuStreamSynchronize(Handle);
    cuEventCreate(*mut Handle, c_uint);
    cuEventDestroy_v2(Handle);
    cuEventRecord(Handle, Handle);
    cuEventQuery(Handle);
    cuEventSynchronize(Handle);
    cuModuleLoadData(*mut Handle, *const c_void);
    cuModuleUnload(Handle);
    cuModuleGetFunction(*mut Handle, Handle, *const c_char);
    cuLaunchKernel(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
}

const OUT_OF_MEMORY: Code = 2;
const NO_DEVICE: Code = 100;

/// Codes of a lost context: every later call returns the same code.
const LOST: [Code; 17] = [4, 46, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 999];

/// NVIDIA's driver.
#[derive(Clone)]
pub struct Driver(Arc<DriverState>);

struct DriverState {
    call: Functions,
    version: c_int,
    /// Never closed, because the driver has its own threads.
    _library: ManuallyDrop<Library>,
}

impl Driver {
    /// The driver of this machine.
    ///
    /// # Errors
    /// [`Error::NoDriver`] if there is none, or one too old to have all functions; the driver's own errors.
    pub fn load() -> Result<Driver, Error> {
        let name = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
        // SAFETY: a library of this name is the driver.
        unsafe { Driver::open(Path::new(name)) }
    }

    /// The driver in this file.
    ///
    /// # Errors
    /// As for [`load`](Driver::load).
    ///
    /// # Safety
    /// The file is the driver, or a library that implements the driver's interface.
    pub unsafe fn open(path: &Path) -> Result<Driver, Error> {
        let none = |error: libloading::Error| Error::NoDriver { reason: error.to_string() };
        // SAFETY: the caller guarantees it.
        let (library, call) = unsafe {
            let library = Library::new(path).map_err(none)?;
            let call = Functions::load(&library).map_err(none)?;
            (library, call)
        };
        let library = ManuallyDrop::new(library);
        let mut driver = DriverState { call, version: 0, _library: library };
        // SAFETY: these need no context, and write one number.
        unsafe {
            driver.check("cuInit", (driver.call.cuInit)(0), 0)?;
            let mut version = 0;
            driver.check("cuDriverGetVersion", (driver.call.cuDriverGetVersion)(&mut version), 0)?;
            driver.version = version;
        }
        Ok(Driver(Arc::new(driver)))
    }

    /// The newest CUDA version that it supports, as 1000 times the first number plus 10 times the second.
    pub fn version(&self) -> i32 {
        self.0.version
    }

    /// The number of devices.
    pub(super) fn count(&self) -> Result<usize, Error> {
        let mut count = 0;
        // SAFETY: writes one number.
        let code = unsafe { (self.0.call.cuDeviceGetCount)(&mut count) };
        match self.0.check("cuDeviceGetCount", code, 0) {
            Err(Error::NoDevice { .. }) => Ok(0),
            done => {
                done.and_then(|()| to_unsigned("the number of devices", count).map(|count| count as usize))
            }
        }
    }

    /// The device with this number.
    pub(super) fn ordinal(&self, number: usize) -> Result<Ordinal, Error> {
        let number = c_int::try_from(number).map_err(|_| Error::NoDevice { found: 0 })?;
        let mut device = 0;
        // SAFETY: writes one number.
        self.0.check("cuDeviceGet", unsafe { (self.0.call.cuDeviceGet)(&mut device, number) }, 0)?;
        Ok(Ordinal { driver: self.clone(), device })
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl DriverState {
    /// Converts a code to a result; `bytes` is the size of a requested allocation.
    fn check(&self, call: &'static str, code: Code, bytes: u64) -> Result<(), Error> {
        match code {
            0 => Ok(()),
            OUT_OF_MEMORY if bytes > 0 => Err(Error::OutOfMemory { bytes }),
            NO_DEVICE => Err(Error::NoDevice { found: 0 }),
            _ => Err(self.refusal(call, code).into()),
        }
    }

    fn refusal(&self, call: &'static str, code: Code) -> Refusal {
        let text_of = |function: unsafe extern "system" fn(Code, *mut *const c_char) -> Code| {
            let mut text: *const c_char = null();
            // SAFETY: the driver writes null or the address of a text that lives as long as the driver.
            unsafe {
                let code = function(code, &mut text);
                (code == 0 && !text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        let name = text_of(self.call.cuGetErrorName).unwrap_or_else(|| "a code without a name".to_owned());
        let text = text_of(self.call.cuGetErrorString)
            .unwrap_or_else(|| "the driver has no description of it".to_owned());
        Refusal { call, code, name, text, lost: LOST.contains(&code) }
    }
}

/// A device of the driver, not opened.
pub(super) struct Ordinal {
    driver: Driver,
    device: c_int,
}

/// Device attributes, with the driver's numbers.
#[derive(Clone, Copy)]
pub(super) enum Attribute {
    ThreadsPerBlock = 1,
    SharedBytesPerBlock = 8,
    Warp = 10,
    Multiprocessors = 16,
    Integrated = 18,
    Major = 75,
    Minor = 76,
}

impl Ordinal {
    pub(super) fn name(&self) -> Result<String, Error> {
        self.text("cuDeviceGetName", self.driver.0.call.cuDeviceGetName)
    }

    /// Its PCI bus address.
    pub(super) fn bus(&self) -> Result<String, Error> {
        let bus = self.text("cuDeviceGetPCIBusId", self.driver.0.call.cuDeviceGetPCIBusId)?;
        Ok(bus.to_lowercase())
    }

    fn text(
        &self,
        call: &'static str,
        function: unsafe extern "system" fn(*mut c_char, c_int, c_int) -> Code,
    ) -> Result<String, Error> {
        let mut bytes = [0_u8; 256];
        // SAFETY: the driver writes at most `len` bytes, including a final zero.
        let code = unsafe { function(bytes.as_mut_ptr().cast(), bytes.len() as c_int, self.device) };
        self.driver.0.check(call, code, 0)?;
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or(&[]);
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Its unique id, in the format of NVIDIA's tools.
    pub(super) fn uuid(&self) -> Result<String, Error> {
        let mut bytes = [0; 16];
        // SAFETY: writes sixteen bytes.
        let code = unsafe { (self.driver.0.call.cuDeviceGetUuid_v2)(&mut bytes, self.device) };
        self.driver.0.check("cuDeviceGetUuid_v2", code, 0)?;
        let parts = [0..4, 4..6, 6..8, 8..10, 10..16].map(|part| hex::encode(&bytes[part]));
        Ok(format!("GPU-{}", parts.join("-")))
    }

    pub(super) fn attribute(&self, which: Attribute) -> Result<u32, Error> {
        let mut value = 0;
        // SAFETY: writes one number.
        let code =
            unsafe { (self.driver.0.call.cuDeviceGetAttribute)(&mut value, which as c_int, self.device) };
        self.driver.0.check("cuDeviceGetAttribute", code, 0)?;
        to_unsigned("a device attribute", value)
    }

    /// Bytes of its memory.
    pub(super) fn memory(&self) -> Result<u64, Error> {
        let mut bytes = 0;
        // SAFETY: writes one number.
        let code = unsafe { (self.driver.0.call.cuDeviceTotalMem_v2)(&mut bytes, self.device) };
        self.driver.0.check("cuDeviceTotalMem_v2", code, 0)?;
        Ok(bytes as u64)
    }
}

/// Checks a number that must not be negative.
fn to_unsigned(what: &str, number: c_int) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| Error::Driver { reason: format!("it reports {number} as {what}") })
}
