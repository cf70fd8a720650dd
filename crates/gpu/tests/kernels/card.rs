//! Direct access to a card without a back end: memory, copies and launches, one at a time, through the simulated driver
//! or NVIDIA's.
#![allow(unsafe_code, reason = "the driver is a library of C functions")]

use crate::shim::{self, Shim};
use libloading::Library;
use std::ffi::{CString, c_char, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::MutexGuard;

type Handle = *mut c_void;

/// Aligned as in the back end: the image has words of 64 bits.
#[repr(C, align(64))]
struct Aligned<Bytes: ?Sized>(Bytes);
static IMAGE: &Aligned<[u8]> = &Aligned(*include_bytes!("../../src/cuda/kernels.fatbin"));

/// Seeds of the orders in which threads run: the order of their numbers, and pseudo-random ones. A card ignores them.
pub(crate) const ORDERS: [u64; 3] = [0, 1, 0xfeed];

pub(crate) struct Card {
    library: Library,
    shim: Option<Shim>,
    stream: Handle,
    module: Handle,
    _guard: MutexGuard<'static, ()>,
}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    Struct(&'a [u32]),
    Pointer(u64),
    Number(u32),
}

/// Memory of the card. It is freed with its context.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    pub(crate) at: u64,
    len: usize,
}

impl Card {
    /// A card, or `None` with a printed reason.
    pub(crate) fn new(what: &str) -> Option<Card> {
        let (path, shim, guard) = if shim::on_card() {
            ("libcuda.so.1".as_ref(), None, shim::one_at_a_time())
        } else {
            let shim = Shim::new(what)?;
            let guard = shim.lock();
            (shim::library(what)?, Some(shim), guard)
        };
        // SAFETY: it is the driver, or implements the driver's interface as far as it is called.
        let library =
            unsafe { Library::new(path) }.expect("HASHMILL_CARD=1 promises a driver, or it was built before");
        let mut card = Card { library, shim, stream: null_mut(), module: null_mut(), _guard: guard };
        let mut context: Handle = null_mut();
        // SAFETY: the types are those of the driver's interface.
        unsafe {
            ok(card.function::<unsafe extern "C" fn(c_uint) -> c_uint>("cuInit")(0));
            let retain = "cuDevicePrimaryCtxRetain";
            ok(card.function::<unsafe extern "C" fn(*mut Handle, i32) -> c_uint>(retain)(&mut context, 0));
            let push = "cuCtxPushCurrent_v2";
            ok(card.function::<unsafe extern "C" fn(Handle) -> c_uint>(push)(context));
            let create = "cuStreamCreate";
            type Create = unsafe extern "C" fn(*mut Handle, c_uint) -> c_uint;
            ok(card.function::<Create>(create)(&mut card.stream, 0));
            let load = "cuModuleLoadData";
            type Load = unsafe extern "C" fn(*mut Handle, *const u8) -> c_uint;
            ok(card.function::<Load>(load)(&mut card.module, IMAGE.0.as_ptr()));
        }
        Some(card)
    }

    /// A function of the driver.
    ///
    /// # Safety
    /// `T` is its type.
    unsafe fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: as promised.
        *unsafe { self.library.get::<T>(name.as_bytes()) }.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The orders that can be tried here.
    pub(crate) fn orders(&self) -> &'static [u64] {
        if self.shim.is_some() { &ORDERS } else { &ORDERS[..1] }
    }

    pub(crate) fn order(&self, seed: u64) {
        if let Some(shim) = &self.shim {
            shim.order(seed);
        }
    }

    /// Waits for all submitted work.
    fn wait(&self) {
        type Wait = unsafe extern "C" fn(Handle) -> c_uint;
        // SAFETY: the type is the driver's.
        ok(unsafe { self.function::<Wait>("cuStreamSynchronize")(self.stream) });
    }

    /// New memory with unspecified contents.
    pub(crate) fn memory(&self, len: usize) -> Memory {
        let mut at = 0;
        // SAFETY: the type is the driver's.
        let alloc = unsafe {
            self.function::<unsafe extern "C" fn(*mut u64, usize) -> c_uint>("cuMemAlloc_v2")(&mut at, len)
        };
        ok(alloc);
        Memory { at, len }
    }

    pub(crate) fn with(&self, bytes: &[u8]) -> Memory {
        // An allocation of zero bytes is an error.
        let memory = self.memory(bytes.len().max(1));
        self.write(memory, bytes);
        memory
    }

    /// Memory that ends with the allocation, so that a read behind it is found.
    pub(crate) fn with_at_end(&self, bytes: &[u8]) -> Memory {
        let len = bytes.len().next_multiple_of(256);
        let mut memory = self.memory(len);
        memory.at += (len - bytes.len().next_multiple_of(16)) as u64;
        memory.len = bytes.len();
        self.write(memory, bytes);
        memory
    }

    pub(crate) fn with_words(&self, words: &[u32]) -> Memory {
        self.with(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
    }

    pub(crate) fn write(&self, memory: Memory, bytes: &[u8]) {
        assert!(bytes.len() <= memory.len, "the bytes fit");
        type Copy = unsafe extern "C" fn(u64, *const u8, usize, Handle) -> c_uint;
        // SAFETY: the type is the driver's, and the bytes live until they have been read.
        ok(unsafe {
            self.function::<Copy>("cuMemcpyHtoDAsync_v2")(memory.at, bytes.as_ptr(), bytes.len(), self.stream)
        });
        self.wait();
    }

    pub(crate) fn read(&self, memory: Memory) -> Vec<u8> {
        let mut bytes = vec![0; memory.len];
        type Copy = unsafe extern "C" fn(*mut u8, u64, usize, Handle) -> c_uint;
        // SAFETY: the type is the driver's, and the bytes live until they have been written.
        ok(unsafe {
            let copy = self.function::<Copy>("cuMemcpyDtoHAsync_v2");
            copy(bytes.as_mut_ptr(), memory.at, bytes.len(), self.stream)
        });
        self.wait();
        bytes
    }

    pub(crate) fn words(&self, memory: Memory) -> Vec<u64> {
        self.read(memory).as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
    }

    pub(crate) fn numbers(&self, memory: Memory) -> Vec<u32> {
        self.read(memory).as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    /// Runs a kernel to its end; `size` is blocks, threads of each, and bytes of shared memory.
    pub(crate) fn launch(&self, kernel: &str, size: (u32, u32, u32), arguments: &[Argument<'_>]) {
        let mut places: Vec<*const c_void> = Vec::new();
        for argument in arguments {
            places.push(match argument {
                Argument::Struct(words) => words.as_ptr().cast(),
                Argument::Pointer(at) => std::ptr::from_ref(at).cast(),
                Argument::Number(number) => std::ptr::from_ref(number).cast(),
            });
        }
        let (name, (grid, block, shared)) = (CString::new(kernel).expect("a name"), size);
        let mut function: Handle = null_mut();
        type Find = unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> c_uint;
        type Launch = unsafe extern "C" fn(
            Handle,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            c_uint,
            Handle,
            *const *const c_void,
            *const c_void,
        ) -> c_uint;
        // SAFETY: the types are the driver's; kernels keep to their arguments, whose number is each kernel's.
        unsafe {
            ok(self.function::<Find>("cuModuleGetFunction")(&mut function, self.module, name.as_ptr()));
            let launch = self.function::<Launch>("cuLaunchKernel");
            ok(launch(function, grid, 1, 1, block, 1, 1, shared, self.stream, places.as_ptr(), null()));
        }
        self.wait();
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        let mut context: Handle = null_mut();
        // SAFETY: the types are the driver's, and what is released was retained.
        unsafe {
            let pop = "cuCtxPopCurrent_v2";
            self.function::<unsafe extern "C" fn(*mut Handle) -> c_uint>(pop)(&mut context);
            self.function::<unsafe extern "C" fn(i32) -> c_uint>("cuDevicePrimaryCtxRelease_v2")(0);
        }
    }
}

#[track_caller]
fn ok(code: c_uint) {
    assert_eq!(code, 0, "code of the driver");
}
