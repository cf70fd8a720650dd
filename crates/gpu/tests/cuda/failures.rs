//! Failures of every driver call, and device loss at every launch: the outcome is an error or the right result, never a
//! panic, and all memory is freed.

use crate::engines::portable;
use crate::{ExclusiveShim, opened};
use hashmill_gpu::{Device, Error, Fault, Selector};
use hashmill_hash::argon2::pow::{HitChecker, Order, Pow, Recipe};
use hashmill_hash::argon2::{Hasher, Input, Job, Params};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::{EngineError, NonceJob, SearchMonitor, Stop, Tile, search};
use hashmill_testkit::paint;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// Every driver function that the back end calls.
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

/// Functions that free memory, or are called for that: if one fails, memory leaks without an error.
const FREEING: [&str; 8] = [
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuMemFree_v2",
    "cuMemFreeHost",
    "cuStreamDestroy_v2",
    "cuEventDestroy_v2",
    "cuModuleUnload",
];

/// One kind of work on a device, which compares its results with the processor's.
type Work = fn(&Device) -> Result<(), Error>;

fn inputs(device: &Device) -> Result<(), Error> {
    let input = paint(5000);
    let right = portable(&Mode::Hash, &input).finalize();
    let blake3 = device.blake3(&Mode::Hash)?;
    let buffer = device.buffer(5000)?;
    buffer.write(0, &input)?;
    assert_eq!(blake3.hash_buffer(&buffer, 0, 5000)?, right);
    // SAFETY: the buffer lives to the end.
    #[allow(unsafe_code, reason = "an address that was made here")]
    let borrowed = unsafe { device.borrow(buffer.cuda_address().unwrap(), 5000) }?;
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
    let engine = device.subtrees(&Mode::Hash, 4096, 1)?;
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

/// The self-test of a new engine also uses fixed memory, the rest growing memory.
fn tags(device: &Device) -> Result<(), Error> {
    tags_of(device, 512).map(|grown| assert!(grown))
}

/// More memory than the self-test of a new engine takes.
fn tags_of_more(device: &Device) -> Result<(), Error> {
    tags_of(device, 3072).map(|_| ())
}

/// Does memory grow for hashes of this many KiB?
fn tags_of(device: &Device, memory: u32) -> Result<bool, Error> {
    let params = Params::new(memory, 1, 1).expect("within the limits");
    let input = Input::new(b"password", b"somesalt");
    let right: [u8; 32] = Hasher::new(params).hash(&input)?;
    let mut argon2 = device.argon2(params, usize::MAX)?;
    let mut tags = [[0; 32]; 2];
    let hashed = argon2.hash(&mut tags.iter_mut().map(|tag| Job { input, tag }).collect::<Vec<_>>());
    assert!(tags.iter().all(|tag| [[0; 32], right].contains(tag)), "a whole tag or none");
    hashed?;
    assert_eq!(tags, [right; 2]);
    Ok(argon2.tuning().grow)
}

fn nonces(device: &Device) -> Result<(), Error> {
    let params = Params::new(64, 1, 1).expect("within the limits");
    let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
    let mut engine = device.nonces(Arc::new(HitChecker::new(pow)?), 2)?;
    let (job, hits, monitor) = (NonceJob::new(b"a header", [0xff; 32]), Mutex::new(0), SearchMonitor::new());
    let searched = search(&mut engine, &job, 0..3, &monitor, &|_| *hits.lock().unwrap() += 1);
    assert_eq!(*hits.lock().unwrap(), monitor.hashes(), "all that were counted are hits");
    assert_eq!(searched?.hashes, 3);
    Ok(())
}

const ALL: [(&str, Work); 4] = [("inputs", inputs), ("tiles", tiles), ("tags", tags), ("nonces", nonces)];

/// Runs the work on a new device. Another device stays open, so that leaks are visible.
fn run_work(exclusive: &ExclusiveShim, work: Work) -> Result<(), Error> {
    // Too little memory for whole hashes, so that memory grows.
    exclusive.shim.memory(exclusive.shim.allocated() + (3 << 20));
    let driver = opened()?;
    driver.devices()?;
    work(&Device::open_by_driver(&driver, Selector::Best)?)
}

#[test]
fn each_failing_call_is_an_error_and_all_resources_are_freed() {
    let Some(exclusive) = ExclusiveShim::new("calls of the driver that fail") else { return };
    let (other_device, mut reported) = (exclusive.device(), BTreeSet::new());
    // A search makes the same calls as hashes.
    for (name, work) in &ALL[..3] {
        let before = exclusive.shim.allocated();
        run_work(&exclusive, *work).unwrap();
        assert_eq!(exclusive.shim.allocated(), before, "{name}");
        for function in FUNCTIONS {
            // Of frequent calls, the first, second, fourth and so on fail.
            let mut nth = 0;
            loop {
                exclusive.shim.reset();
                let before = exclusive.shim.allocated();
                exclusive.shim.fail(function, nth, 801);
                let outcome = run_work(&exclusive, *work);
                let calls = exclusive.shim.calls(function);
                match &outcome {
                    Ok(()) => (),
                    Err(Error::Cuda(refusal)) => {
                        assert_eq!((refusal.code, refusal.call), (801, function), "{name} {nth}");
                        reported.insert(function);
                    }
                    // Work by an engine after it was made.
                    Err(Error::Driver { reason }) => {
                        assert!(reason.contains(function), "{name} {nth} {reason}");
                        reported.insert(function);
                    }
                    Err(error) => panic!("{name}, {function} {nth}: {error:?}"),
                }
                exclusive.shim.reset();
                if !FREEING.contains(&function) {
                    assert_eq!(exclusive.shim.allocated(), before, "{name}, {function} {nth}");
                }
                if calls <= nth.into() {
                    break;
                }
                nth = 2 * nth + 1;
            }
            run_work(&exclusive, *work).unwrap();
        }
    }
    drop(other_device);
    exclusive.shim.end();
    for function in FUNCTIONS {
        let is_unreported = (FREEING.contains(&function) && function != "cuCtxPushCurrent_v2")
            || function.starts_with("cuGetError");
        assert_eq!(reported.contains(function), !is_unreported, "{function}");
    }
}

/// Every later call to a lost card fails, until its last context is released.
#[test]
fn a_device_lost_at_any_launch_is_an_error_for_every_engine() {
    let Some(exclusive) = ExclusiveShim::new("devices that are lost") else { return };
    for (name, work) in ALL {
        let mut nth = 0;
        loop {
            exclusive.shim.reset();
            exclusive.shim.lose(nth);
            let device = exclusive.device();
            exclusive.shim.memory(3 << 20);
            let Err(error) = work(&device) else { break };
            assert!(error.to_string().contains("719"), "{name} {nth}: {error:?}");
            for (_, work) in ALL {
                let error = work(&device).unwrap_err();
                assert!(error.is_lost() && error.to_string().contains("the device is gone"), "{error:?}");
                assert_eq!(error.fault(), Fault::Device);
            }
            assert!(device.free_memory().unwrap_err().is_lost());
            drop(device);
            exclusive.shim.reset();
            assert_eq!(exclusive.shim.allocated(), 0);
            if nth == 0 {
                exclusive.shim.memory(3 << 20);
                assert_eq!(work(&exclusive.device()).map(|()| name), Ok(name), "opened again");
            }
            nth += 1 + nth / 3;
        }
        assert!(nth > 3, "{name}");
    }
}

#[test]
fn a_kernel_killed_by_a_watchdog_is_named_and_the_device_is_lost() {
    let Some(exclusive) = ExclusiveShim::new("kernels that a watchdog kills") else { return };
    let device = exclusive.device();
    exclusive.shim.fail("cuEventSynchronize", 0, 702);
    for _ in 0..2 {
        let error = inputs(&device).unwrap_err();
        let message = "the device is gone: cuEventSynchronize gave CUDA_ERROR_LAUNCH_TIMEOUT (702), the launch timed out";
        assert!(error.is_lost() && error.to_string().starts_with(message), "{error}");
    }
}

/// Inputs, first blocks and last blocks pass through host memory that other allocations may reuse.
#[test]
fn host_memory_is_wiped_before_it_is_freed() {
    let Some(exclusive) = ExclusiveShim::new("memory that is wiped before it is freed") else { return };
    for (name, work) in ALL {
        run_work(&exclusive, work).unwrap();
        assert_eq!(exclusive.shim.left(), 0, "{name}");
    }
}

#[test]
fn an_engine_of_a_lost_device_returns_the_error_to_every_thread() {
    let Some(exclusive) = ExclusiveShim::new("engines whose device is gone") else { return };
    const TILE: usize = 256 * 1024;
    let engine = exclusive.device().subtrees(&Mode::Hash, TILE, 2).unwrap();
    let (bytes, never, tile) = (paint(TILE), Stop::new(), Tile::new(0, 0, TILE));
    let mut staging = engine.stage().unwrap().expect("memory");
    staging.copy_from_slice(&bytes);
    exclusive.shim.lose(0);
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

/// Amounts of memory from zero to far more than each kind of work needs: all memory is freed each time.
#[test]
fn too_little_memory_is_an_error_or_less_at_a_time() {
    let Some(exclusive) = ExclusiveShim::new("devices with too little memory") else { return };
    let other_device = exclusive.device();
    const WORKS: [(&str, Work); 4] =
        [("inputs", inputs), ("tiles", tiles), ("tags", tags_of_more), ("nonces", nonces)];
    for (name, work) in WORKS {
        let before = exclusive.shim.allocated();
        let (mut bytes, mut refused, mut done) = (0, 0, 0);
        while bytes < 6 << 20 {
            exclusive.shim.memory(bytes);
            match work(&other_device) {
                Ok(()) => done += 1,
                Err(Error::OutOfMemory { .. }) => refused += 1,
                Err(error) => panic!("{name}, {bytes}: {error:?}"),
            }
            assert_eq!(exclusive.shim.allocated(), before, "{name}, {bytes}");
            bytes = (bytes + bytes / 8).max(64);
        }
        assert!(refused > 3 && done > 3, "{name}: {refused} {done}");
    }
}
