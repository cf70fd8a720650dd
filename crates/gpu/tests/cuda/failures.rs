//! A driver that fails at each of its calls, and a device that is lost at each of its launches: an error each time, or the right
//! answer, never a panic, and everything is given back.

use crate::{Alone, opened, portable};
use hashmill_gpu::Error;
use hashmill_gpu::cuda::{Argon2, Blake3, Device, Nonces, Subtrees};
use hashmill_hash::argon2::pow::{Order, Pow, Recipe};
use hashmill_hash::argon2::{Hasher, Input, Job, Params};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::{EngineError, NonceEngine, NonceJob, Stop, SubtreeEngine, Tile, Watch};
use hashmill_testkit::paint;
use std::collections::BTreeSet;
use std::sync::Mutex;

/// Every function that is called.
const FUNCTIONS: [&str; 38] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDeviceGetPCIBusId",
    "cuDeviceGetAttribute",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuMemGetInfo_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemHostRegister_v2",
    "cuMemHostUnregister",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",
    "cuPointerGetAttribute",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventQuery",
    "cuEventSynchronize",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuLaunchKernel",
];

/// What gives something back, or is needed for that: where it fails, something is lost, and nobody is told.
const GIVES_BACK: [&str; 8] = [
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuStreamDestroy_v2",
    "cuEventDestroy_v2",
    "cuModuleUnload",
];

/// Everything that is done on a device, once: every answer is the processor's.
type Work = fn(&Device) -> Result<(), Error>;

fn inputs(device: &Device) -> Result<(), Error> {
    let input = paint(5000);
    let right = portable(&Mode::Hash, &input).finalize();
    let blake3 = Blake3::new(device, &Mode::Hash)?;
    let buffer = device.buffer(5000)?;
    buffer.write(0, &input)?;
    assert_eq!(blake3.hash_buffer(&buffer, 0, 5000)?, right);
    // SAFETY: the buffer lives to the end.
    #[allow(unsafe_code, reason = "an address that was made here")]
    let borrowed = unsafe { device.borrow(buffer.pointer(), 5000) }?;
    assert_eq!(blake3.hash_buffer(&borrowed, 0, 5000)?, right);
    assert_eq!(blake3.hash_bytes(&input)?, right);
    assert_eq!(device.registered(&input, |bytes| blake3.hash_registered(bytes, &Stop::new()))??, right);
    let mut digests = [Hash::from_bytes([0; 32]); 2];
    blake3.hash_many(&[&input, b""], &mut digests)?;
    assert_eq!(digests, [right, hashmill_hash::blake3::hash(b"")]);
    Ok(())
}

fn tiles(device: &Device) -> Result<(), Error> {
    let (bytes, never, tile) = (paint(4096), Stop::new(), Tile::new(0, 4096, 4096));
    let engine = Subtrees::new(device, &Mode::Hash, 4096, 1)?;
    let compute = || -> Result<_, EngineError> {
        let mut staging = engine.stage()?.expect("memory");
        staging.copy_from_slice(&bytes);
        engine.submit(staging, tile, &never)?;
        Ok((engine.take(&never)?, engine.compute(tile, &bytes)?))
    };
    let (staged, computed) = compute()?;
    assert_eq!(staged, Some(computed));
    Ok(())
}

/// The test of a new engine is by memory that is there from the beginning, too, the rest by memory that grows.
fn tags(device: &Device) -> Result<(), Error> {
    tags_of(device, 512).map(|grown| assert!(grown))
}

/// So much memory is more than the test of a new engine takes.
fn tags_of_more(device: &Device) -> Result<(), Error> {
    tags_of(device, 3072).map(|_| ())
}

/// Whether memory has grown for hashes of so many KiB.
fn tags_of(device: &Device, memory: u32) -> Result<bool, Error> {
    let params = Params::new(memory, 1, 1).expect("within the limits");
    let input = Input::new(b"password", b"somesalt");
    let right: [u8; 32] = Hasher::new(params).hash(&input)?;
    let mut argon2 = Argon2::new(device, params, usize::MAX)?;
    let mut tags = [[0; 32]; 2];
    let hashed = argon2.hash(&mut tags.iter_mut().map(|tag| Job { input, tag }).collect::<Vec<_>>());
    assert!(tags.iter().all(|tag| [[0; 32], right].contains(tag)), "all of a tag or nothing of it");
    hashed?;
    assert_eq!(tags, [right; 2]);
    Ok(argon2.grows())
}

fn nonces(device: &Device) -> Result<(), Error> {
    let params = Params::new(64, 1, 1).expect("within the limits");
    let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
    let mut engine = Nonces::new(device, pow, 2)?;
    let (job, hits, watch) = (NonceJob::new(b"a header", [0xff; 32]), Mutex::new(0), Watch::new());
    let searched = engine.search(&job, 0..3, &watch, &|_| *hits.lock().unwrap() += 1);
    assert_eq!(*hits.lock().unwrap(), watch.hashes(), "all that were counted are hits");
    assert_eq!(searched?.hashes, 3);
    Ok(())
}

const ALL: [(&str, Work); 4] = [("inputs", inputs), ("tiles", tiles), ("tags", tags), ("nonces", nonces)];

/// Does the work on a device of its own, beside one that keeps what is not given back visible.
fn done(alone: &Alone, work: Work) -> Result<(), Error> {
    // Little, so that hashes grow.
    alone.shim.memory(alone.shim.allocated() + (3 << 20));
    let driver = opened()?;
    Device::list(&driver)?;
    work(&Device::best_of(&driver)?)
}

#[test]
fn each_call_that_fails_is_an_error_and_everything_is_given_back() {
    let Some(alone) = Alone::new("calls of the driver that fail") else { return };
    let (keeper, mut told) = (alone.device(), BTreeSet::new());
    // A search is the same with other inputs.
    for (name, work) in &ALL[..3] {
        let before = alone.shim.allocated();
        done(&alone, *work).unwrap();
        assert_eq!(alone.shim.allocated(), before, "{name}");
        for function in FUNCTIONS {
            // What is called very often is made to fail at growing distances.
            let mut nth = 0;
            loop {
                alone.shim.reset();
                let before = alone.shim.allocated();
                alone.shim.fail(function, nth, 801);
                let outcome = done(&alone, *work);
                let calls = alone.shim.calls(function);
                match &outcome {
                    Ok(()) => (),
                    Err(Error::Cuda(refusal)) => {
                        assert_eq!((refusal.code, refusal.call), (801, function), "{name} {nth}");
                        told.insert(function);
                    }
                    Err(Error::Engine(EngineError::System { reason })) => {
                        assert!(reason.contains(function), "{name} {nth} {reason}");
                        told.insert(function);
                    }
                    Err(error) => panic!("{name}, {function} {nth}: {error:?}"),
                }
                alone.shim.reset();
                if !GIVES_BACK.contains(&function) {
                    assert_eq!(alone.shim.allocated(), before, "{name}, {function} {nth}");
                }
                if calls <= nth.into() {
                    break;
                }
                nth = 2 * nth + 1;
            }
            done(&alone, *work).unwrap();
        }
    }
    drop(keeper);
    alone.shim.end();
    for function in FUNCTIONS {
        let nobody_hears = (GIVES_BACK.contains(&function) && function != "cuCtxPushCurrent_v2")
            || function.starts_with("cuGetError");
        assert_eq!(told.contains(function), !nobody_hears, "{function}");
    }
}

/// A card that dies says so with every later call, until nobody has it open any more.
#[test]
fn a_device_that_is_lost_at_any_launch_is_an_error_for_everybody() {
    let Some(alone) = Alone::new("devices that are lost") else { return };
    for (name, work) in ALL {
        let mut nth = 0;
        loop {
            alone.shim.reset();
            alone.shim.lose(nth);
            let device = alone.device();
            alone.shim.memory(3 << 20);
            let Err(error) = work(&device) else { break };
            assert!(error.to_string().contains("719"), "{name} {nth}: {error:?}");
            for (_, work) in ALL {
                let error = work(&device).unwrap_err();
                assert!(error.is_lost() && error.to_string().contains("the device is gone"), "{error:?}");
            }
            assert!(device.free_memory().unwrap_err().is_lost());
            drop(device);
            alone.shim.reset();
            assert_eq!(alone.shim.allocated(), 0);
            if nth == 0 {
                alone.shim.memory(3 << 20);
                assert_eq!(work(&alone.device()).map(|()| name), Ok(name), "opened again");
            }
            nth += 1 + nth / 3;
        }
        assert!(nth > 3, "{name}");
    }
}

#[test]
fn a_kernel_that_a_watchdog_kills_is_told_by_its_name_and_ends_the_device() {
    let Some(alone) = Alone::new("kernels that a watchdog kills") else { return };
    let device = alone.device();
    alone.shim.fail("cuEventSynchronize", 0, 702);
    for _ in 0..2 {
        let error = inputs(&device).unwrap_err();
        let said = "the device is gone: cuEventSynchronize gave CUDA_ERROR_LAUNCH_TIMEOUT (702), the launch timed out";
        assert!(error.is_lost() && error.to_string().starts_with(said), "{error}");
    }
}

/// Inputs, first blocks and last ones go through memory of the host that others have afterwards.
#[test]
fn memory_of_the_host_is_given_back_empty() {
    let Some(alone) = Alone::new("memory that is given back empty") else { return };
    for (name, work) in ALL {
        done(&alone, work).unwrap();
        assert_eq!(alone.shim.left(), 0, "{name}");
    }
}

#[test]
fn an_engine_whose_device_is_gone_says_so_to_everybody() {
    let Some(alone) = Alone::new("engines whose device is gone") else { return };
    const TILE: usize = 256 * 1024;
    let engine = Subtrees::new(&alone.device(), &Mode::Hash, TILE, 2).unwrap();
    let (bytes, never, tile) = (paint(TILE), Stop::new(), Tile::new(0, 0, TILE));
    let mut staging = engine.stage().unwrap().expect("memory");
    staging.copy_from_slice(&bytes);
    alone.shim.lose(0);
    engine.submit(staging, tile, &never).unwrap();
    let error = engine.take(&never).unwrap_err();
    assert!(matches!(&error, EngineError::System { reason } if reason.contains("719")), "{error:?}");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(engine.compute(tile, &bytes), Err(error.clone())));
        }
    });
    assert_eq!(engine.stage().map(|_| ()), Err(error));
}

/// Little memory and more, in small steps, to far more than one of each needs: what was had is given back each time.
#[test]
fn too_little_memory_is_an_error_or_less_at_a_time() {
    let Some(alone) = Alone::new("devices with too little memory") else { return };
    let keeper = alone.device();
    const WORKS: [(&str, Work); 4] =
        [("inputs", inputs), ("tiles", tiles), ("tags", tags_of_more), ("nonces", nonces)];
    for (name, work) in WORKS {
        let before = alone.shim.allocated();
        let (mut bytes, mut refused, mut done) = (0, 0, 0);
        while bytes < 6 << 20 {
            alone.shim.memory(bytes);
            match work(&keeper) {
                Ok(()) => done += 1,
                Err(Error::OutOfMemory { .. } | Error::Engine(EngineError::OutOfMemory { .. })) => {
                    refused += 1;
                }
                Err(error) => panic!("{name}, {bytes}: {error:?}"),
            }
            assert_eq!(alone.shim.allocated(), before, "{name}, {bytes}");
            bytes = (bytes + bytes / 8).max(64);
        }
        assert!(refused > 3 && done > 3, "{name}: {refused} {done}");
    }
}
