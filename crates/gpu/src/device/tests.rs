//! Tests of wgpu devices with broken kernels, and of their buffers.
#![cfg(feature = "wgpu")]

use super::*;
use crate::Fault;
use crate::wgpu::BLAKE3_TEXT;
use hashmill_testkit::skip;

/// The device of wgpu, or `None` with a printed reason.
fn device(what: &str) -> Option<Device> {
    match Device::open(BackEnd::Wgpu, Selector::Best) {
        Ok(device) => Some(device),
        Err(Error::NoDevice { .. }) => {
            skip(what, "no device: mesa-vulkan-drivers brings one that is software");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn with_kernels(device: &Device, text: &str) -> Result<Device, Error> {
    match &device.0 {
        Inner::Wgpu(device) => device.with_kernels(text).map(|device| Device(Inner::Wgpu(device))),
        #[cfg(feature = "cuda")]
        Inner::Cuda(_) => panic!("a device of wgpu"),
    }
}

/// A device with a broken kernel.
fn broken(right: &str, wrong: &str) -> Option<Device> {
    assert!(BLAKE3_TEXT.contains(right), "{right}");
    let device = device("devices that give wrong results")?;
    Some(with_kernels(&device, &BLAKE3_TEXT.replace(right, wrong)).unwrap())
}

#[test]
fn wrong_results_fail_the_self_test() {
    let wrongs = [
        // A bit of a constant, of a length, of a rotation; the tail of an input; an odd node taken for a
        // pair.
        ("0x6a09e667u", "0x6a09e666u"),
        ("vec2<u32>(0u), 64u, params.flags", "vec2<u32>(0u), 65u, params.flags"),
        ("rotate(b ^ c, 7u)", "rotate(b ^ c, 6u)"),
        ("clamp(left, vec4<i32>(0), vec4<i32>(3))", "clamp(left, vec4<i32>(0), vec4<i32>(2))"),
        ("if left + 1u < count {", "if left + 2u < count {"),
    ];
    for (right, wrong) in wrongs {
        let Some(device) = broken(right, wrong) else { return };
        let name = device.info().name.clone();
        let error = device.blake3(&Mode::Hash).map(|_| ()).unwrap_err();
        assert_eq!(error, Error::SelfTest { device: name.clone() }, "{wrong}");
        let error = device.subtrees(&Mode::Hash, 1 << 20, 1).map(|_| ()).unwrap_err();
        assert_eq!(error, Error::SelfTest { device: name }, "{wrong}");
        assert_eq!(error.fault(), Fault::Device);
        assert_eq!(device.self_test(Params::new(8, 1, 1).unwrap()), Err(error), "{wrong}");
    }
}

#[test]
fn a_kernel_that_does_not_run_to_its_end_is_an_error() {
    let wrongs = [
        ("if number < params.chunks {", "if number + 1u < params.chunks {"),
        ("    if thread == 0u {\n        values[", "    if thread == 0u && group.x > 0u {\n        values["),
        // The first value of a row, the last value of a row of three, a value in the middle.
        ("    if thread == 0u {\n        let at", "    if thread == 0u && group.x > 0u {\n        let at"),
        ("    if thread == 0u {\n        let at", "    if thread == 0u && group.x != 6u {\n        let at"),
        ("    if thread == 0u {\n        let at", "    if thread == 0u && group.x != 5u {\n        let at"),
    ];
    for (right, wrong) in wrongs {
        let Some(device) = broken(right, wrong) else { return };
        let error = device.blake3(&Mode::Hash).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Driver { .. }), "{wrong}: {error:?}");
    }
}

#[test]
fn kernels_that_the_driver_rejects_are_an_error() {
    let Some(device) = device("kernels that a driver rejects") else { return };
    for (right, wrong) in [("fn leaves(", "fn leaf("), ("var m = block;", "var m = blocks;")] {
        let error = with_kernels(&device, &BLAKE3_TEXT.replace(right, wrong)).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Driver { .. }), "{error:?}");
    }
}

#[test]
fn a_device_passes_its_self_test() {
    let Some(device) = device("self-tests") else { return };
    for (memory, passes, lanes) in [(64, 1, 1), (100, 2, 3)] {
        assert_eq!(device.self_test(Params::new(memory, passes, lanes).unwrap()), Ok(()));
    }
}

#[test]
fn buffers_keep_written_bytes_and_refuse_ranges_that_do_not_fit() {
    let Some(device) = device("buffers") else { return };
    let buffer = device.buffer(103).unwrap();
    assert_eq!((buffer.len(), buffer.is_empty()), (103, false));
    let mut all = [7; 103];
    buffer.read(0, &mut all).unwrap();
    assert_eq!(all, [0; 103]);
    buffer.write(0, &[1; 103]).unwrap();
    buffer.write(40, &[2; 8]).unwrap();
    buffer.write(100, &[3; 3]).unwrap();
    buffer.read(0, &mut all).unwrap();
    for (index, byte) in all.into_iter().enumerate() {
        let expected = match index {
            40..48 => 2,
            100.. => 3,
            _ => 1,
        };
        assert_eq!(byte, expected, "{index}");
    }
    for at in [0, 1, 2, 3, 98] {
        let mut read = [0; 5];
        buffer.read(at, &mut read).unwrap();
        assert_eq!(read, all[at as usize..][..5], "{at}");
    }
    for (at, len) in [(0, 104), (103, 1), (u64::MAX, 1)] {
        let refused = [buffer.write(at, &vec![0; len]), buffer.read(at, &mut vec![0; len])];
        assert!(refused.iter().all(|result| matches!(result, Err(Error::Buffer { .. }))), "{refused:?}");
    }
    // These end within a word, whose other bytes would be lost.
    for (at, len) in [(1, 4), (0, 5), (101, 2)] {
        assert!(matches!(buffer.write(at, &vec![9; len]), Err(Error::Buffer { .. })), "{at}");
    }
    buffer.read(0, &mut all).unwrap();
    assert!(!all.contains(&9));
    for bytes in [device.info().buffer + 16, u64::MAX] {
        assert_eq!(device.buffer(bytes).map(|_| ()), Err(Error::OutOfMemory { bytes }));
    }
}

#[test]
fn a_buffer_of_another_device_is_refused() {
    let Some(first) = device("buffers of another device") else { return };
    let second = Device::open(BackEnd::Wgpu, Selector::Best).unwrap();
    let refused = first.blake3(&Mode::Hash).unwrap().hash_buffer(&second.buffer(64).unwrap(), 0, 64);
    assert!(
        matches!(&refused, Err(Error::Buffer { reason }) if reason.contains("another device")),
        "{refused:?}"
    );
}
