//! A driver without a card: NVIDIA's interface, as far as it is called here, with our kernels compiled for the processor behind it.
//!
//! g++ makes a library of it, which is opened in the driver's place: by [`library`], once for each content. What is to go wrong, and
//! when, is said to [`Shim`]; that and the memory are one for a process, so tests that say something hold [`Shim::alone`].
//!
//! With `HASHMILL_CARD=1` tests that need no more than a device run on the card of this machine instead, and with more than a
//! processor in its place could do soon; with `HASHMILL_CARD=small` they do no more on it than without, for tools that watch kernels.
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

/// Everything that it is made of, and what it is called there.
const TEXTS: [(&str, &str); 7] = [
    ("simt.h", include_str!("simt.h")),
    ("simt.cpp", include_str!("simt.cpp")),
    ("driver.cpp", include_str!("driver.cpp")),
    ("device.h", include_str!("../../src/cuda/device.h")),
    ("blake3.cu", include_str!("../../src/cuda/blake3.cu")),
    ("argon2.cu", include_str!("../../src/cuda/argon2.cu")),
    ("kernels.cu", include_str!("../../src/cuda/kernels.cu")),
];

/// Jumps go from one stack to another, which a hardened `longjmp` refuses.
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

/// Whether tests that need no more than a device are to run on the card of this machine, by NVIDIA's own driver. Where there is none
/// they fail.
pub(crate) fn on_card() -> bool {
    match env::var("HASHMILL_CARD").as_deref() {
        Err(_) | Ok("") => false,
        Ok("1" | "small") => true,
        Ok(other) => panic!("HASHMILL_CARD is 1 or small, not {other:?}"),
    }
}

/// The first where a card has time and memory for it, the other elsewhere.
pub(crate) fn by_size<T>(large: T, small: T) -> T {
    if env::var("HASHMILL_CARD").is_ok_and(|value| value == "1") { large } else { small }
}

/// Nobody else has the device meanwhile.
pub(crate) fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TESTS: Mutex<()> = Mutex::new(());
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The library, or nothing, said aloud: what `what` would have tested is not tested then.
pub(crate) fn library(what: &str) -> Option<&'static Path> {
    if on_card() {
        skip(what, "a card does not go wrong, or change its size, because a test says so");
        return None;
    }
    static MADE: OnceLock<Result<PathBuf, &'static str>> = OnceLock::new();
    match MADE.get_or_init(made) {
        Ok(path) => Some(path),
        Err(why) => {
            skip(what, why);
            None
        }
    }
}

fn made() -> Result<PathBuf, &'static str> {
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
        // Tests of other binaries may be at it, too: the first that comes to its end is as good as the last.
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

/// What tests say to the driver.
pub(crate) struct Shim {
    library: Library,
}

impl Shim {
    pub(crate) fn new(what: &str) -> Option<Shim> {
        let path = library(what)?;
        // SAFETY: it does nothing when it is opened.
        Some(Shim { library: unsafe { Library::new(path) }.expect("it was made for this machine") })
    }

    /// Nobody else says anything meanwhile; what was said before is forgotten.
    pub(crate) fn alone(&self) -> MutexGuard<'static, ()> {
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

    fn say(&self, name: &str, value: u64) {
        // SAFETY: each that is called by this takes one number.
        unsafe { self.function::<unsafe extern "C" fn(u64)>(name)(value) }
    }

    /// Call number `nth` of a function from now on gives this code, and does nothing.
    pub(crate) fn fail(&self, function: &str, nth: u32, code: u32) {
        type Fail = unsafe extern "C" fn(*const c_char, c_uint, c_uint);
        let function = CString::new(function).expect("a name");
        // SAFETY: its type.
        unsafe { self.function::<Fail>("shim_fail")(function.as_ptr(), nth, code) }
    }

    /// After launch number `nth` of a kernel from now on, a bit of what it wrote is another.
    pub(crate) fn flip(&self, kernel: &str, nth: u32) {
        self.flip_behind(kernel, nth, 0);
    }

    /// The same, so many bytes behind the beginning of what it wrote.
    pub(crate) fn flip_behind(&self, kernel: &str, nth: u32, bytes: u64) {
        type Flip = unsafe extern "C" fn(*const c_char, c_uint, u64);
        let kernel = CString::new(kernel).expect("a name");
        // SAFETY: its type.
        unsafe { self.function::<Flip>("shim_flip")(kernel.as_ptr(), nth, bytes) }
    }

    /// While that launch is at work it is asked to stop: when its threads have waited so many times.
    pub(crate) fn stop(&self, kernel: &str, nth: u32, waits: u64) {
        type Stop = unsafe extern "C" fn(*const c_char, c_uint, u64);
        let kernel = CString::new(kernel).expect("a name");
        // SAFETY: its type.
        unsafe { self.function::<Stop>("shim_stop")(kernel.as_ptr(), nth, waits) }
    }

    /// That launch does nothing, and nobody is told.
    pub(crate) fn skip(&self, kernel: &str, nth: u32) {
        type Skip = unsafe extern "C" fn(*const c_char, c_uint);
        let kernel = CString::new(kernel).expect("a name");
        // SAFETY: its type.
        unsafe { self.function::<Skip>("shim_skip")(kernel.as_ptr(), nth) }
    }

    /// The device is lost in launch number `nth` from now on.
    pub(crate) fn lose(&self, nth: u32) {
        self.say("shim_lose", u64::from(nth));
    }

    /// Bytes of each device: 1 GiB where nobody says so.
    pub(crate) fn memory(&self, bytes: u64) {
        self.say("shim_memory", bytes);
    }

    /// How many devices there are: one.
    pub(crate) fn devices(&self, count: u32) {
        self.say("shim_devices", u64::from(count));
    }

    /// Whether memory of devices is of pools, which belong to no context.
    pub(crate) fn pools(&self, pools: bool) {
        self.say("shim_pools", u64::from(pools));
    }

    /// What the devices say of themselves, by the driver's numbers.
    pub(crate) fn attribute(&self, attribute: c_int, value: c_int) {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn(c_int, c_int)>("shim_attribute")(attribute, value) }
    }

    /// The order of threads, and of blocks: 0 is that of their numbers.
    pub(crate) fn order(&self, seed: u64) {
        self.say("shim_order", seed);
    }

    /// Bytes that somebody has, on devices and pinned.
    pub(crate) fn allocated(&self) -> u64 {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn() -> u64>("shim_allocated")() }
    }

    /// Bytes other than zero in the host's memory that was given back since everything was as at first.
    pub(crate) fn left(&self) -> u64 {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn() -> u64>("shim_left")() }
    }

    /// How often a function was called since everything was as at first.
    pub(crate) fn calls(&self, function: &str) -> u64 {
        let function = CString::new(function).expect("a name");
        // SAFETY: its type.
        unsafe {
            self.function::<unsafe extern "C" fn(*const c_char) -> u64>("shim_calls")(function.as_ptr())
        }
    }

    /// What could not be given back is, as when a process ends. Nobody has a device any more.
    pub(crate) fn end(&self) {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn()>("shim_end")() }
    }

    /// All of the above is as at first. What is allocated stays.
    pub(crate) fn reset(&self) {
        // SAFETY: its type.
        unsafe { self.function::<unsafe extern "C" fn()>("shim_reset")() }
    }
}
