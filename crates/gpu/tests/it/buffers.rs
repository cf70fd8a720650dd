//! Inputs that lie on a device: every edge, every mode, extended output, several at once, and what is refused.

use crate::{CONTEXT, buffer, context_key, device, modes, narrow, portable};
use hashmill_gpu::Error;
use hashmill_gpu::wgpu::{Blake3, Device, api};
use hashmill_hash::blake3::hazmat::{Mode, hash_derive_key_context};
use hashmill_testkit::{paint, vectors};
use std::time::Duration;

/// Where something changes: blocks, chunks, the 128 chunks of a group, and a tile's rows of several groups.
fn lengths() -> Vec<usize> {
    let chunks =
        (1..=9).chain([15, 16, 17, 31, 33, 64, 127, 128, 129, 200, 255, 256, 257, 300, 383, 384, 385]);
    let edges = chunks.flat_map(|chunks| [0, 1, 64, 1023].map(|tail| chunks * 1024 + tail));
    (0..=4).chain([15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 1023]).chain(edges).collect()
}

#[test]
fn every_edge_gives_the_portable_digest() {
    let Some(device) = device("digests of buffers") else { return };
    let blake3 = Blake3::new(device, &Mode::Hash).unwrap();
    let lengths = lengths();
    let input = paint(*lengths.last().unwrap() + 1024);
    for (len, offset) in lengths.into_iter().zip([0, 256, 512, 65536].into_iter().cycle()) {
        let bytes = &input[..len];
        let buffer = buffer(device, bytes, offset);
        let digest = blake3.hash_buffer(&buffer, offset as u64, len as u64).unwrap();
        assert_eq!(digest, portable(&Mode::Hash, bytes).finalize(), "{len} bytes from {offset} on");
    }
}

#[test]
fn the_official_vectors_come_out_in_every_mode_with_all_their_output() {
    let Some(device) = device("the official vectors") else { return };
    let vectors = vectors::blake3();
    assert_eq!(vectors.context, CONTEXT);
    let context = hash_derive_key_context(&vectors.context);
    let [hash, keyed, derive] =
        [Mode::Hash, Mode::KeyedHash(&vectors.key), Mode::DeriveKeyMaterial(&context)]
            .map(|mode| Blake3::new(device, &mode).unwrap());
    for case in vectors.cases {
        let len = case.input_len;
        let buffer = buffer(device, &paint(len), 0);
        for (engine, expected) in [(&hash, case.hash), (&keyed, case.keyed_hash), (&derive, case.derive_key)]
        {
            let mut reader = engine.start(&buffer, 0, len as u64).unwrap().finish_xof().unwrap();
            let mut output = vec![0; expected.len()];
            reader.fill(&mut output);
            assert_eq!(output, expected, "{len} bytes, {engine:?}");
            let digest = engine.hash_buffer(&buffer, 0, len as u64).unwrap();
            assert_eq!(digest.as_bytes()[..], expected[..32], "{len} bytes, {engine:?}");
        }
    }
}

/// Of a device that binds little: tiles of 1 MiB, each in a window of its own, and rows of eight groups.
#[test]
fn an_input_of_many_windows_and_tiles_gives_the_portable_digest() {
    let Some(device) = narrow(1 << 20) else { return };
    let context = context_key();
    const MIB: usize = 1 << 20;
    let lengths =
        [MIB - 1, MIB, MIB + 1, 2 * MIB, 2 * MIB + 1, 3 * MIB + 1025, 5 * MIB - 77, 7 * MIB + 128 * 1024];
    let input = paint(8 * MIB);
    for (name, mode) in modes(&context) {
        let blake3 = Blake3::new(&device, &mode).unwrap();
        for len in lengths {
            let buffer = buffer(&device, &input[..len], 256);
            let digest = blake3.hash_buffer(&buffer, 256, len as u64).unwrap();
            assert_eq!(digest, portable(&mode, &input[..len]).finalize(), "{len} bytes, {name}");
        }
    }
}

/// With the device's own limits: tiles of 64 MiB, several of which are in one window.
#[test]
fn tiles_as_large_as_they_become_give_the_portable_digest() {
    let Some(device) = device("tiles of 64 MiB") else { return };
    let blake3 = Blake3::new(device, &Mode::Hash).unwrap();
    for len in [(64 << 20) + 1, (128 << 20) + 3073] {
        let bytes = paint(len);
        let buffer = buffer(device, &bytes, 0);
        let digest = blake3.hash_buffer(&buffer, 0, len as u64).unwrap();
        assert_eq!(digest, hashmill_hash::blake3::hash(&bytes), "{len} bytes");
    }
}

#[test]
fn several_inputs_are_under_way_at_the_same_time() {
    let Some(device) = device("several inputs at once") else { return };
    let blake3 = Blake3::new(device, &Mode::Hash).unwrap();
    // Nothing, and one chunk, go other ways.
    let inputs: Vec<_> = (0..40_usize).map(|i| i * 5000).chain([700]).map(paint).collect();
    let buffers: Vec<_> = inputs.iter().map(|input| buffer(device, input, 0)).collect();
    let start = |i: usize| blake3.start(&buffers[i], 0, inputs[i].len() as u64).unwrap();
    // What is given up takes nothing with it.
    (0..10).for_each(|i| drop(start(i)));
    let pending: Vec<_> = (0..inputs.len()).map(start).collect();
    for (pending, input) in pending.into_iter().zip(&inputs).rev() {
        while !pending.look(Duration::ZERO).unwrap() {}
        assert_eq!(pending.finish().unwrap(), portable(&Mode::Hash, input).finalize());
    }
}

#[test]
fn threads_share_an_engine() {
    let Some(device) = device("threads that share an engine") else { return };
    let blake3 = Blake3::new(device, &Mode::Hash).unwrap();
    std::thread::scope(|scope| {
        for thread in 1..5_usize {
            let blake3 = &blake3;
            scope.spawn(move || {
                for round in 1..8 {
                    let input = paint(thread * 30_000 * round + thread);
                    let buffer = buffer(device, &input, 0);
                    let digest = blake3.hash_buffer(&buffer, 0, input.len() as u64).unwrap();
                    assert_eq!(digest, portable(&Mode::Hash, &input).finalize());
                }
            });
        }
    });
}

fn made(device: &Device, size: u64, usage: api::BufferUsages) -> api::Buffer {
    let descriptor = api::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    device.raw().0.create_buffer(&descriptor)
}

#[test]
fn a_buffer_that_does_not_fit_is_refused() {
    let Some(device) = device("buffers that are refused") else { return };
    let blake3 = Blake3::new(device, &Mode::Hash).unwrap();
    let right = api::BufferUsages::STORAGE | api::BufferUsages::COPY_SRC;
    let buffer = made(device, 4096, right);
    assert!(blake3.hash_buffer(&buffer, 256, 3840).is_ok());
    for (offset, len) in
        [(0, 4097), (256, 3841), (4096, 1), (1, 100), (128, 100), (0, u64::MAX), (1 << 63, 1 << 63)]
    {
        let error = blake3.hash_buffer(&buffer, offset, len).unwrap_err();
        assert!(matches!(error, Error::Buffer { .. }), "{len} bytes from {offset} on: {error}");
    }
    // 4100 bytes are there, those up to a multiple of 16 are not.
    let short = made(device, 4100, right);
    assert!(blake3.hash_buffer(&short, 0, 4096).is_ok());
    assert!(matches!(blake3.hash_buffer(&short, 0, 4100), Err(Error::Buffer { .. })));
    for usage in [api::BufferUsages::STORAGE, api::BufferUsages::COPY_SRC] {
        let error = blake3.hash_buffer(&made(device, 4096, usage), 0, 64).unwrap_err();
        assert!(error.to_string().contains("usages"), "{error}");
    }
}

/// Of another device, or destroyed: an error, no panic, and the engine works on.
#[test]
fn a_buffer_that_the_driver_refuses_is_an_error() {
    let Some(device) = device("buffers of others") else { return };
    let blake3 = Blake3::new(device, &Mode::Hash).unwrap();
    let input = paint(5000);
    let gone = buffer(device, &input, 0);
    gone.destroy();
    let refused = blake3.hash_buffer(&gone, 0, 5000);
    assert!(matches!(refused, Err(Error::Driver { .. })), "{refused:?}");
    let good = buffer(device, &input, 0);
    assert_eq!(blake3.hash_buffer(&good, 0, 5000).unwrap(), portable(&Mode::Hash, &input).finalize());
}

#[test]
fn no_key_is_shown() {
    let Some(device) = device("what is shown of an engine") else { return };
    let shown = format!("{:?}", Blake3::new(device, &Mode::KeyedHash(KEY_OF_ONES)).unwrap());
    assert!(shown.contains("KeyedHash(..)") && !shown.contains("49, 49"), "{shown}");
}

const KEY_OF_ONES: &[u8; 32] = &[b'1'; 32];
