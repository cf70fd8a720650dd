//! What there is, and what is said of it.

use crate::device;
use hashmill_gpu::wgpu::{Device, devices};
use hashmill_gpu::{Error, best};

#[test]
fn the_best_device_is_the_one_that_the_list_names() {
    let all = devices();
    let Some(number) = best(&all) else {
        assert_eq!(Device::best().map(|_| ()).unwrap_err(), Error::NoDevice { found: 0 });
        return;
    };
    let opened = Device::open(number).unwrap();
    assert_eq!(opened.info(), &all[number]);
    assert_eq!(Device::best().unwrap().info(), &all[number]);
    assert_eq!(opened.raw().0.limits().max_buffer_size, all[number].buffer);
}

#[test]
fn a_device_is_found_by_its_number() {
    let all = devices();
    let error = Device::find("a name that no device has").map(|_| ()).unwrap_err();
    let asked = "a name that no device has".to_owned();
    assert_eq!(error, Error::Which { asked, fits: 0, found: all.len() });
    if let Some(number) = best(&all) {
        assert_eq!(Device::find(&number.to_string()).unwrap().info(), &all[number]);
    }
}

#[test]
fn a_number_that_no_device_has_is_refused() {
    let found = devices().len();
    assert_eq!(Device::open(found).map(|_| ()).unwrap_err(), Error::NoDevice { found });
}

#[test]
fn the_driver_tells_how_much_memory_there_is() {
    let Some(device) = device("the memory of a device") else { return };
    let info = device.info();
    if info.interface == "Vulkan" {
        assert!(info.memory.is_some_and(|bytes| bytes >= 1 << 20), "{info:?}");
    }
    let (raw, queue) = device.raw();
    assert_eq!(Device::from_parts(raw.clone(), queue.clone()).unwrap().info().memory, info.memory);
    assert!(!info.name.is_empty() && info.binding >= 1 << 20 && info.buffer >= info.binding, "{info:?}");
}
