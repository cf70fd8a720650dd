//! The driver: device descriptions, missing and old drivers, errors.

use crate::{ExclusiveShim, device};
use hashmill_gpu::cuda::Driver;
use hashmill_gpu::{Device, Error, Fault, Kind, Selector, best};
use hashmill_hash::blake3::hazmat::Mode;
use std::path::Path;

fn open(path: &str) -> Result<Driver, Error> {
    // SAFETY: these are no drivers, so none of their functions is called.
    #[allow(unsafe_code, reason = "libraries of the system, and files that are none")]
    unsafe {
        Driver::open(Path::new(path))
    }
}

fn free_bytes(device: &Device) -> u64 {
    device.free_memory().unwrap().expect("the driver reports it")
}

#[test]
fn no_driver_and_a_driver_without_all_functions_are_errors() {
    for path in ["/nonexistent/libcuda.so.1", "/proc/self/exe/no", file!()] {
        let error = open(path).map(|_| ()).unwrap_err();
        assert_eq!(error.fault(), Fault::Machine);
        assert!(matches!(&error, Error::NoDriver { reason } if !reason.is_empty()), "{error:?}");
    }
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        let error = open("libm.so.6").map(|_| ()).unwrap_err();
        assert!(matches!(&error, Error::NoDriver { reason } if reason.contains("cuInit")), "{error:?}");
        assert!(error.to_string().starts_with("no driver of NVIDIA, or one that is too old: "), "{error}");
    }
}

#[test]
fn the_systems_driver_loads_or_is_an_error() {
    match Driver::load() {
        Ok(driver) => assert!(driver.version() >= 1000),
        Err(error) => {
            assert!(matches!(error, Error::NoDriver { .. } | Error::Cuda(_) | Error::NoDevice { .. }));
        }
    }
}

#[test]
fn device_descriptions_have_the_facts_of_the_driver() {
    let Some(exclusive) = ExclusiveShim::new("facts of devices") else { return };
    exclusive.shim.devices(2);
    let all = exclusive.driver.devices().unwrap();
    assert_eq!(all.len(), 2);
    let info = &all[1];
    assert_eq!((info.name.as_str(), info.kind, info.interface), ("Shim 1", Kind::Discrete, "CUDA"));
    assert_eq!(info.driver, "CUDA 13.0, compute capability 9.0");
    assert_eq!((info.memory, info.binding, info.subgroup), (Some(1 << 30), 1 << 30, 32));
    assert_eq!((best(&all), exclusive.driver.version()), (Some(0), 13_000));
    let device = Device::open_by_driver(&exclusive.driver, Selector::Number(1)).unwrap();
    assert_eq!(device.info(), info);
    assert_eq!(device.free_memory(), Ok(Some(1 << 30)));
    assert_eq!(
        Device::open_by_driver(&exclusive.driver, Selector::Number(2)).map(|_| ()),
        Err(Error::NoDevice { found: 2 })
    );
    exclusive.shim.devices(0);
    assert_eq!(exclusive.driver.devices(), Ok(Vec::new()));
    assert_eq!(
        Device::open_by_driver(&exclusive.driver, Selector::Best).map(|_| ()),
        Err(Error::NoDevice { found: 0 })
    );
}

#[test]
fn devices_are_found_by_number_name_id_and_bus_address() {
    let Some(exclusive) = ExclusiveShim::new("devices by their names") else { return };
    exclusive.shim.devices(3);
    let all = exclusive.driver.devices().unwrap();
    assert_eq!(all[2].id.as_deref(), Some("GPU-20212223-2425-2627-2829-2a2b2c2d2e2f"));
    assert_eq!(all[2].bus.as_deref(), Some("0000:0c:00.0"));
    for requested in ["2", "shim 2", "GPU-2021", "0000:0C:00.0"] {
        let found = Device::open_by_driver(&exclusive.driver, Selector::Name(requested)).unwrap();
        assert_eq!(found.info(), &all[2], "{requested}");
    }
    assert!(all[2].is_same(&all[2]) && !all[2].is_same(&all[1]));
    for (requested, matches) in [("shim", 3), ("3", 0), ("gpu-ffff", 0)] {
        let error =
            Device::open_by_driver(&exclusive.driver, Selector::Name(requested)).map(|_| ()).unwrap_err();
        assert_eq!(error, Error::Selector { requested: requested.to_owned(), matches, found: 3 });
    }
}

/// Each has memory of its own, and the loss of one does not affect the other.
#[test]
fn two_devices_work_side_by_side() {
    let Some(exclusive) = ExclusiveShim::new("two devices") else { return };
    exclusive.shim.devices(2);
    let [first, second] =
        [0, 1].map(|number| Device::open_by_driver(&exclusive.driver, Selector::Number(number)).unwrap());
    let allocated = first.buffer(1 << 20).unwrap();
    assert_eq!(second.free_memory(), Ok(Some(1 << 30)));
    assert_eq!(first.free_memory(), Ok(Some((1 << 30) - (1 << 20))));
    let input = vec![7; 300_000];
    let right = hashmill_hash::blake3::hash(&input);
    let hash = |device: &Device| device.blake3(&Mode::Hash)?.hash_bytes(&input);
    assert_eq!([hash(&first), hash(&second)], [Ok(right), Ok(right)]);
    exclusive.shim.lose(0);
    assert!(hash(&first).unwrap_err().is_lost());
    assert_eq!(hash(&second), Ok(right));
    let refused = second.blake3(&Mode::Hash).unwrap().hash_buffer(&allocated, 0, 100);
    assert!(matches!(refused, Err(Error::Buffer { .. })), "{refused:?}");
}

#[test]
fn a_device_that_lacks_something_is_listed_and_not_used() {
    let Some(exclusive) = ExclusiveShim::new("devices that lack something") else { return };
    for (attribute, value, lacks) in [
        (75, 6, "compute capability 7.5: it has 6.0"),
        (1, 64, "groups of 128 threads"),
        (8, 1024, "25600 bytes that threads share"),
    ] {
        exclusive.shim.reset();
        exclusive.shim.attribute(attribute, value);
        let all = exclusive.driver.devices().unwrap();
        assert_eq!(all[0].lacks.as_deref(), Some(lacks));
        assert_eq!(best(&all), None);
        let error = Device::open_by_driver(&exclusive.driver, Selector::Number(0)).map(|_| ()).unwrap_err();
        assert_eq!(error, Error::Unfit { device: "Shim 0".to_owned(), lacks: lacks.to_owned() });
    }
    exclusive.shim.reset();
    exclusive.shim.attribute(18, 1);
    assert_eq!(exclusive.driver.devices().unwrap()[0].kind, Kind::Integrated);
}

#[test]
fn errors_have_the_drivers_name_and_description() {
    let Some(exclusive) = ExclusiveShim::new("refusals of the driver") else { return };
    exclusive.shim.fail("cuModuleLoadData", 0, 200);
    let error = Device::open_by_driver(&exclusive.driver, Selector::Best).map(|_| ()).unwrap_err();
    let Error::Cuda(refusal) = &error else { panic!("{error:?}") };
    assert_eq!(error.fault(), Fault::Driver);
    assert_eq!((refusal.call, refusal.code, refusal.lost), ("cuModuleLoadData", 200, false));
    assert_eq!(
        error.to_string(),
        "the driver refuses: cuModuleLoadData gave CUDA_ERROR_INVALID_IMAGE (200), device kernel image is invalid"
    );
    // A code unknown to the driver.
    exclusive.shim.fail("cuCtxPushCurrent_v2", 0, 12_345);
    let error = Device::open_by_driver(&exclusive.driver, Selector::Best).map(|_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the driver refuses: cuCtxPushCurrent_v2 gave a code without a name (12345), the driver has no description of it"
    );
}

/// On any device.
#[test]
fn a_device_is_found_by_its_own_description() {
    let Some(exclusive) = device("what a device says of itself") else { return };
    let (device, all) = (&exclusive.device, exclusive.driver.devices().unwrap());
    let number = best(&all).expect("one that can be used");
    let info = &all[number];
    assert_eq!((device.info(), &info.lacks, info.subgroup), (info, &None, 32));
    assert!(exclusive.driver.version() >= 13_000 && free_bytes(device) <= info.memory.unwrap());
    for requested in [&number.to_string(), info.id.as_ref().unwrap(), info.bus.as_ref().unwrap()] {
        assert_eq!(
            Device::open_by_driver(&exclusive.driver, Selector::Name(requested)).unwrap().info(),
            info,
            "{requested}"
        );
    }
    assert_eq!(
        Device::open_by_driver(&exclusive.driver, Selector::Number(99)).map(|_| ()),
        Err(Error::NoDevice { found: all.len() })
    );
}

#[test]
fn excessive_memory_is_an_error_and_freed_memory_is_available() {
    let Some(device) = device("memory that no device has") else { return };
    for bytes in [2 * device.info().memory.unwrap(), 1 << 60, u64::MAX] {
        assert_eq!(device.buffer(bytes).map(|_| ()), Err(Error::OutOfMemory { bytes }));
    }
    if let Some(shim) = &device.shim {
        shim.memory(16 << 20);
    }
    // More than half of the free memory, twice.
    for _ in 0..2 {
        let free = free_bytes(&device);
        let bytes = free / 16 * 10;
        let allocated = device.buffer(bytes).unwrap();
        assert!(free_bytes(&device) <= free - bytes);
        assert_eq!(device.buffer(bytes).map(|_| ()), Err(Error::OutOfMemory { bytes }));
        drop(allocated);
    }
}

#[test]
fn missing_memory_is_an_error_and_freed_memory_is_available() {
    let Some(exclusive) = ExclusiveShim::new("memory of devices") else { return };
    let device = exclusive.device();
    exclusive.shim.memory(1 << 20);
    assert_eq!(device.buffer(2 << 20).map(|_| ()), Err(Error::OutOfMemory { bytes: 2 << 20 }));
    assert_eq!(device.buffer(u64::MAX).map(|_| ()), Err(Error::OutOfMemory { bytes: u64::MAX }));
    let before = free_bytes(&device);
    let buffer = device.buffer(1 << 19).unwrap();
    assert_eq!(free_bytes(&device), before - (1 << 19));
    assert_eq!((buffer.len(), buffer.is_empty()), (1 << 19, false));
    drop(buffer.clone());
    assert_eq!(free_bytes(&device), before - (1 << 19));
    drop(buffer);
    assert_eq!(free_bytes(&device), before);
}

#[test]
fn buffers_keep_written_bytes_and_refuse_ranges_that_do_not_fit() {
    let Some(device) = device("buffers") else { return };
    let buffer = device.buffer(100).unwrap();
    buffer.write(0, &[1; 100]).unwrap();
    buffer.write(40, &[2; 60]).unwrap();
    let mut read = [0; 20];
    buffer.read(30, &mut read).unwrap();
    assert_eq!((&read[..10], &read[10..]), (&[1; 10][..], &[2; 10][..]));
    for (at, len) in [(0, 101), (100, 1), (u64::MAX, 1)] {
        assert!(matches!(buffer.write(at, &vec![0; len]), Err(Error::Buffer { .. })));
        assert!(matches!(buffer.read(at, &mut vec![0; len]), Err(Error::Buffer { .. })));
    }
    assert_eq!(buffer.write(100, &[]), Ok(()));
}
