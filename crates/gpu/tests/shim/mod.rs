//! Simulated NVIDIA driver: the called part of the driver's interface, with our kernels compiled for the processor.
//!
//! g++ builds a library that is opened in place of the driver: [`library`] builds it once for each content. [`Shim`]
//! schedules failures. Its settings and the memory are global to the process, so tests that use them hold
//! [`Shim::lock`].
//!
//! With `HASHMILL_CARD=1` tests that need only a device run on the card of this machine instead, with inputs that would
//! take a processor too long; with `HASHMILL_CARD=small` they run there with small inputs, for tools that check kernels.
#![allow(unsafe_code, reason = "a library of C functions, and our own")]
#![allow(dead_code, reason = "not every test needs all of it")]

use hashmill_testkit::skip;
use libloading::Library;
use std::env::consts;
use std::ffi::{CString, c_char, c_int, c_uint};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::{env, fs, process};

/// The library's sources, and their file names.
const TEXTS: [(&str, &str); 7] = [
    ("simt.h", include_str!("simt.h")),
    ("simt.cpp", include_str!("simt.cpp")),
    ("driver.cpp", include_str!("driver.cpp")),
    ("device.h", include_str!("../../src/cuda/device.h")),
    ("blake3.cu", include_str!("../../src/cuda/blake3.cu")),
    ("argon2.cu", include_str!("../../src/cuda/argon2.cu")),
    ("kernels.cu", include_str!("../../src/cuda/kernels.cu")),
];

/// Compiler options. Threads jump from one stack to another, which a hardened `longjmp` refuses.
const FLAGS: [&str; 8] = [
    "-std=c++17",
    "-O2",
    "-U_FORTIFY_SOURCE",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-include",
    "simt.h",
];

/// Do tests that need only a device run on the card of this machine, with NVIDIA's own driver? They fail if
/// there is none.
pub(crate) fn on_card() -> bool {
    match env::var("HASHMILL_CARD").as_deref() {
        Err(_) | Ok("") => false,
        Ok("1" | "small") => true,
        Ok(other) => panic!("HASHMILL_CARD is 1 or small, not {other:?}"),
    }
}

/// `large` on a card with time and memory for it, `small` elsewhere.
pub(crate) fn by_size<T>(large: T, small: T) -> T {
    if env::var("HASHMILL_CARD").is_ok_and(|value| value == "1") { large } else { small }
}

/// Reserves the device for one test.
pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TESTS: Mutex<()> = Mutex::new(());
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The library, or `None` with a printed reason: then the test named `what` is skipped.
pub(crate) fn library(what: &str) -> Option<&'static Path> {
    if on_card() {
        skip(what, "a test cannot make a card fail or change its size");
        return None;
    }
    static LIBRARY: OnceLock<Result<PathBuf, &'static str>> = OnceLock::new();
    match LIBRARY.get_or_init(build_library) {
        Ok(path) => Some(path),
        Err(reason) => {
            skip(what, reason);
            None
        }
    }
}

fn build_library() -> Result<PathBuf, &'static str> {
    if consts::OS != "linux" || cfg!(target_env = "musl") {
        return Err("the driver without a card is for Linux, and for programs that open libraries");
    }
    let machine = Command::new("g++").arg("-dumpmachine").output();
    let machine = machine.map_err(|_| "there is no g++ (Debian package g++)")?;
    if !machine.stdout.starts_with(consts::ARCH.as_bytes()) || cfg!(target_pointer_width = "32") {
        return Err("g++ compiles for another machine than the one of this program");
    }
    let mut hash = DefaultHasher::new();
    (TEXTS, FLAGS).hash(&mut hash);
    let exe = env::current_exe().expect("a test knows where it is");
    let folder = exe.parent().expect("it is in a folder").join(format!("shim-{:016x}", hash.finish()));
    let library = folder.join("libcuda.so");
    if !library.exists() {
        // Other test binaries may build it, too: the first to finish wins, and all results are equal.
        let own = folder.with_extension(process::id().to_string());
        fs::create_dir_all(&own).expect("a folder beside the tests");
        for (name, text) in TEXTS {
            fs::write(own.join(name), text).expect("a file beside the tests");
        }
        let mut compiler = Command::new("g++");
        compiler.current_dir(&own).args(FLAGS).args(["-I.", "driver.cpp", "simt.cpp", "-o", "libcuda.so"]);
        let output = compiler.output().expect("g++ was there a moment ago");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let _ = fs::rename(&own, &folder);
        let _ = fs::remove_dir_all(&own);
        assert!(library.exists(), "{} was made", library.display());
    }
    Ok(library)
}

/// Controls of the simulated driver.
pub(crate) struct Shim {
    library: Library,
}

impl Shim {
    pub(crate) fn new(what: &str) -> Option<Shim> {
        let path = library(what)?;
        // SAFETY: opening it runs no code.
        Some(Shim { library: unsafe { Library::new(path) }.expect("it was built for this machine") })
    }

    /// Reserves the driver for one test and resets its settings.
    pub(crate) fn lock(&self) -> MutexGuard<'static, ()> {
        let guard = one_at_a_time();
        self.reset();
        guard
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `T` is its type.
    pub(crate) unsafe fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: as promised.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.unwrap_or_else(|error| panic!("{error}"))
    }

    fn set(&self, name: &str, value: u64) {
        // SAFETY: each function called by this takes one number.
        unsafe { self.function::<unsafe extern "C" fn(u64)>(name)(value) }
    }

    /// The `nth` call of a function from now on returns this code, and does nothing.
    pub(crate) fn fail(&self, function: &str, nth: u32, code: u32) {
        type Fail = unsafe extern "C" fn(*const c_char, c_uint, c_uint);
        let function = CString::new(function).expect("a name");
        // SAFETY: its type.
        unsafe { self.function::<Fail>("shim_fail")(function.as_ptr(), nth, code) }
    }

    /// After the `nth` launch of a kernel from now on, a bit of its output is flipped.
    pub(crate) fn flip(&self, kernel: &str, nth: u32) {
        self.flip_behind(kernel, nth, 0);
    }

    /// As [`flip`](Shim::flip), `bytes` bytes behind the beginning of the output.
    pub(crate) fn flip_behind(&self, kernel: &str, nth: u32, bytes: u64) {
        type Flip = unsafe extern "C" fn(*const c_char, c_uint, u64);
        let kernel = CString::new(kernel).expect("a name");
        // SAFETY: its type.
        unsafe { self.function::<Flip>("shim_flip")(kernel.as_ptr(), nth, bytes) }
    }

    /// The stop flag of the `nth` launch of a kernel is set while it runs, after `waits` waits of its threads.
    pub(crate) fn stop(&self, kernel: &str, nth: u32, waits: u64) {
        type Stop = unsafe extern "C" fn(*const c_char, c_uint, u64);
        let kernel = CString::new(kernel).expect("a name");
        // SAFETY: its type.
        unsafe { self.function::<Stop>("shim_stop")(kernel.as_ptr(), nth, waits) }
    }

    /// The `nth` launch of a kernel from now on does nothing, and reports no error.
    pub(crate) fn skip(&self, kernel: &str, nth: u32) {
        type Skip = unsafe extern "C" fn(*const c_char, c_uint);
        let kernel = CString::new(kernel).expect("a name");
        // SAFETY: its type.
        unsafe { self.function::<Skip>("shim_skip")(kernel.as_ptr(), nth) }
    }

    /// The device is lost in the `nth` launch from now on.
    pub(crate) fn lose(&self, nth: u32) {
        self.set("shim_lose", u64::from(nth));
    }

    /// Bytes of each device; 1 GiB by default.
    pub(crate) fn memory(&self, bytes: u64) {
        self.set("shim_memory", bytes);
    }

    /// The number of devices; one by default.
    pub(crate) fn devices(&self, count: u32) {
        self.set("shim_devices", u64::from(count));
    }

    /// Is memory of devices allocated from pools, which belong to no context?
    pub(crate) fn pools(&self, pools: bool) {
        self.set("shim_pools", u64::from(pools));
    }

    /// Value of a device attribute, by the driver's number.
    pub(crate) fn attribute(&self, attribute: c_int, value: c_int) {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn(c_int, c_int)>("shim_attribute")(attribute, value) }
    }

    /// The order of threads and of blocks: 0 is that of their numbers.
    pub(crate) fn order(&self, seed: u64) {
        self.set("shim_order", seed);
    }

    /// Allocated bytes, on devices and pinned.
    pub(crate) fn allocated(&self) -> u64 {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn() -> u64>("shim_allocated")() }
    }

    /// Bytes other than zero in host memory that was freed since the last reset.
    pub(crate) fn left(&self) -> u64 {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn() -> u64>("shim_left")() }
    }

    /// Calls of a function since the last reset.
    pub(crate) fn calls(&self, function: &str) -> u64 {
        let function = CString::new(function).expect("a name");
        // SAFETY: its type.
        unsafe {
            self.function::<unsafe extern "C" fn(*const c_char) -> u64>("shim_calls")(function.as_ptr())
        }
    }

    /// Frees all memory and closes all contexts, as at the end of a process.
    pub(crate) fn end(&self) {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn()>("shim_end")() }
    }

    /// Resets all settings and counts. Allocated memory stays.
    pub(crate) fn reset(&self) {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn()>("shim_reset")() }
    }
}
