//! Inputs of devices that bind little, and buffers of the caller.

use crate::engines::{buffer, context_key, modes, portable};
use crate::{device, narrow, raw};
use hashmill_gpu::wgpu::api;
use hashmill_gpu::{Buffer, Device, Error};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_testkit::paint;

/// On a device that binds little: tiles of 1 MiB, each in a window of its own, and rows of eight groups.
#[test]
fn an_input_of_many_windows_and_tiles_gives_the_portable_digest() {
    let Some(device) = narrow(1 << 20) else { return };
    let context = context_key();
    const MIB: usize = 1 << 20;
    let lengths =
        [MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1, 3 * MIB + 1025, 5 * MIB - 77, 7 * MIB + 128 * 1024];
    let input = paint(8 * MIB);
    for (name, mode) in modes(&context) {
        let blake3 = device.blake3(&mode).unwrap();
        for len in lengths {
            let buffer = buffer(&device, &input[..len], 256);
            let digest = blake3.hash_buffer(&buffer, 256, len as u64).unwrap();
            let right = portable(&mode, &input[..len]).finalize();
            assert_eq!(digest, right, "{len} bytes, {name}");
            assert_eq!(blake3.hash_bytes(&input[..len]), Ok(right), "{len} bytes of the host, {name}");
        }
    }
}

/// More messages than a device binds: they are sent in parts, and a message may span two.
#[test]
fn messages_that_exceed_a_binding_are_sent_in_parts() {
    let Some(device) = narrow(1 << 20) else { return };
    let (input, blake3) = (paint(3 << 20), device.blake3(&Mode::Hash).unwrap());
    let messages: Vec<_> = input.chunks(1000).chain(input.chunks(300_000)).chain([&input[..]]).collect();
    let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
    blake3.hash_many(&messages, &mut digests).unwrap();
    for (message, digest) in messages.iter().zip(digests) {
        assert_eq!(digest, hashmill_hash::blake3::hash(message), "{} bytes", message.len());
    }
}

fn caller_buffer(device: &Device, size: u64, usage: api::BufferUsages) -> Buffer {
    let descriptor = api::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    Buffer::from_wgpu(device, raw(device).0.create_buffer(&descriptor)).unwrap()
}

#[test]
fn a_buffer_that_does_not_fit_is_refused() {
    let Some(device) = device("buffers that are refused") else { return };
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    let right = api::BufferUsages::STORAGE | api::BufferUsages::COPY_SRC;
    let buffer = caller_buffer(device, 4096, right);
    assert!(blake3.hash_buffer(&buffer, 256, 3840).is_ok());
    for (offset, len) in
        [(0, 4097), (256, 3841), (4096, 1), (1, 100), (128, 100), (0, u64::MAX), (1 << 63, 1 << 63)]
    {
        let error = blake3.hash_buffer(&buffer, offset, len).unwrap_err();
        assert!(matches!(error, Error::Buffer { .. }), "{len} bytes from {offset} on: {error}");
    }
    // 4100 bytes exist, but not those up to a multiple of 16.
    let short = caller_buffer(device, 4100, right);
    assert!(blake3.hash_buffer(&short, 0, 4096).is_ok());
    assert!(matches!(blake3.hash_buffer(&short, 0, 4100), Err(Error::Buffer { .. })));
    for usage in [api::BufferUsages::STORAGE, api::BufferUsages::COPY_SRC] {
        let error = blake3.hash_buffer(&caller_buffer(device, 4096, usage), 0, 64).unwrap_err();
        assert!(error.to_string().contains("usages"), "{error}");
    }
}

/// A destroyed buffer, or one of another device: an error, no panic, and the engine works on.
#[test]
fn a_buffer_that_the_driver_refuses_is_an_error() {
    let Some(device) = device("buffers of others") else { return };
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    let input = paint(5000);
    let gone = buffer(device, &input, 0);
    gone.as_wgpu().unwrap().destroy();
    let refused = blake3.hash_buffer(&gone, 0, 5000);
    assert!(matches!(refused, Err(Error::Driver { .. })), "{refused:?}");
    let good = buffer(device, &input, 0);
    assert_eq!(blake3.hash_buffer(&good, 0, 5000).unwrap(), portable(&Mode::Hash, &input).finalize());
}
