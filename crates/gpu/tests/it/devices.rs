//! Device list and descriptions.

use crate::{device, raw};
use hashmill_gpu::{BackEnd, Device, Error, Fault, Info, Selector, best};

fn devices() -> Vec<Info> {
    BackEnd::Wgpu.devices().unwrap()
}

fn open(selector: Selector<'_>) -> Result<Device, Error> {
    Device::open(BackEnd::Wgpu, selector)
}

#[test]
fn the_best_device_is_the_one_that_the_list_names() {
    let all = devices();
    let Some(number) = best(&all) else {
        assert_eq!(open(Selector::Best).map(|_| ()).unwrap_err(), Error::NoDevice { found: 0 });
        return;
    };
    let opened = open(Selector::Number(number)).unwrap();
    assert_eq!(opened.info(), &all[number]);
    assert_eq!(open(Selector::Best).unwrap().info(), &all[number]);
    assert_eq!(raw(&opened).0.limits().max_buffer_size, all[number].buffer);
}

#[test]
fn a_device_is_found_by_its_number() {
    let all = devices();
    let error = open(Selector::Name("a name that no device has")).map(|_| ()).unwrap_err();
    let requested = "a name that no device has".to_owned();
    assert_eq!(error, Error::Selector { requested, matches: 0, found: all.len() });
    assert_eq!(error.fault(), Fault::Caller);
    if let Some(number) = best(&all) {
        assert_eq!(open(Selector::Name(&number.to_string())).unwrap().info(), &all[number]);
    }
}

#[test]
fn a_number_that_no_device_has_is_refused() {
    let found = devices().len();
    assert_eq!(open(Selector::Number(found)).map(|_| ()).unwrap_err(), Error::NoDevice { found });
}

#[test]
fn device_memory_is_reported() {
    let Some(device) = device("the memory of a device") else { return };
    let info = device.info();
    if info.interface == "Vulkan" {
        assert!(info.memory.is_some_and(|bytes| bytes >= 1 << 20), "{info:?}");
    }
    let (wgpu, queue) = raw(device);
    assert_eq!(Device::from_wgpu(wgpu.clone(), queue.clone()).unwrap().info().memory, info.memory);
    assert!(!info.name.is_empty() && info.binding >= 1 << 20 && info.buffer >= info.binding, "{info:?}");
}
