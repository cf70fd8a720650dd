//! BLAKE3 inputs on a device, in host memory, and many at once: every edge and mode, extended output.

use super::{CONTEXT, KEY, buffer, context_key, modes, portable};
use crate::{CHUNKS, MESSAGE_STEP, OFFSETS, TILES, device};
use hashmill_gpu::{Error, Fault};
use hashmill_hash::argon2::HashError;
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::{Mode, hash_derive_key_context};
use hashmill_hash::engine::Stop;
use hashmill_testkit::{paint, vectors};
use std::thread;
use std::time::Duration;

/// Lengths around blocks, chunks, the 128 chunks of a group, and the rows of tiles.
#[test]
fn inputs_of_every_edge_length_have_the_portable_digest() {
    let Some(device) = device("digests of buffers") else { return };
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    let edges = CHUNKS.iter().flat_map(|chunks| [0, 1, 64, 1023].map(|tail| chunks * 1024 + tail));
    let lens = (0..=4).chain([15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 1023]).chain(edges);
    let input = paint((CHUNKS.iter().max().unwrap() + 1) * 1024);
    for (len, offset) in lens.zip(OFFSETS.into_iter().cycle()) {
        let bytes = &input[..len];
        let right = portable(&Mode::Hash, bytes).finalize();
        let buffer = buffer(&device, bytes, offset);
        let digest = blake3.hash_buffer(&buffer, offset as u64, len as u64).unwrap();
        assert_eq!(digest, right, "{len} bytes from {offset} on");
        assert_eq!(blake3.hash_bytes(bytes), Ok(right), "{len} bytes of the host");
    }
}

#[test]
fn official_vectors_match_in_every_mode_with_extended_output() {
    let Some(device) = device("the official vectors") else { return };
    let vectors = vectors::blake3();
    assert_eq!(vectors.context, CONTEXT);
    let context = hash_derive_key_context(&vectors.context);
    let [hash, keyed, derive] =
        [Mode::Hash, Mode::KeyedHash(&vectors.key), Mode::DeriveKeyMaterial(&context)]
            .map(|mode| device.blake3(&mode).unwrap());
    for case in vectors.cases {
        let input = paint(case.input_len);
        let buffer = buffer(&device, &input, 0);
        for (blake3, expected) in [(&hash, case.hash), (&keyed, case.keyed_hash), (&derive, case.derive_key)]
        {
            let what = format!("{} bytes, {blake3:?}", input.len());
            let mut reader = blake3.start(&buffer, 0, input.len() as u64).unwrap().finish_xof().unwrap();
            let mut output = vec![0; expected.len()];
            reader.fill(&mut output);
            assert_eq!(output, expected, "{what}");
            let digest = blake3.hash_buffer(&buffer, 0, input.len() as u64).unwrap();
            assert_eq!(digest.as_bytes()[..], expected[..32], "{what}");
            let digest = blake3.hash_bytes(&input).unwrap();
            assert_eq!(digest.as_bytes()[..], expected[..32], "{what}");
        }
    }
}

/// With the device's own limits: tiles of 64 MiB.
#[test]
fn inputs_of_several_tiles_have_the_digest_of_the_processor() {
    let Some(device) = device("tiles of 64 MiB") else { return };
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    for &len in TILES {
        let bytes = paint(len);
        let buffer = buffer(&device, &bytes, 0);
        let right = hashmill_hash::blake3::hash(&bytes);
        assert_eq!(blake3.hash_buffer(&buffer, 0, len as u64), Ok(right), "{len} bytes");
    }
}

/// Several pieces of a host input, the last of them short, several transfers of a piece, and several tiles of a
/// buffer.
#[test]
fn large_inputs_have_the_digest_of_the_processor() {
    let Some(device) = device("large inputs") else { return };
    let blake3 = device.blake3(&Mode::KeyedHash(KEY)).unwrap();
    let (input, stop) = (paint((19 << 20) + 3), Stop::new());
    let right = hashmill_hash::blake3::keyed_hash(KEY, &input);
    assert_eq!(blake3.hash_bytes(&input), Ok(right));
    let buffer = buffer(&device, &input, 0);
    assert_eq!(blake3.hash_buffer(&buffer, 0, input.len() as u64), Ok(right));
    stop.set();
    let stopped = Error::Hash(HashError::Stopped);
    assert_eq!(stopped.fault(), Fault::Caller);
    assert_eq!(blake3.hash_bytes_until(&input, &stop), Err(stopped));
    stop.clear();
    let right = hashmill_hash::blake3::keyed_hash(KEY, &input[..3 << 20]);
    assert_eq!(blake3.hash_bytes_until(&input[..3 << 20], &stop), Ok(right));
}

#[test]
fn several_inputs_are_in_flight_at_the_same_time() {
    let Some(device) = device("several inputs at once") else { return };
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    // Empty inputs and single chunks take other paths.
    let inputs: Vec<_> = (0..25_usize).map(|i| i * 5000).chain([700]).map(paint).collect();
    let buffers: Vec<_> = inputs.iter().map(|input| buffer(&device, input, 0)).collect();
    let start = |i: usize| blake3.start(&buffers[i], 0, inputs[i].len() as u64).unwrap();
    // A dropped input does not affect others.
    (0..10).for_each(|i| drop(start(i)));
    let pending: Vec<_> = (0..inputs.len()).map(start).collect();
    // A buffer lives as long as the inputs in flight.
    drop(buffers.clone());
    for (pending, input) in pending.into_iter().zip(&inputs).rev() {
        while !pending.is_complete(Duration::ZERO).unwrap() {}
        assert_eq!(pending.finish().unwrap(), portable(&Mode::Hash, input).finalize());
    }
}

#[test]
fn threads_share_an_engine() {
    let Some(device) = device("threads that share an engine") else { return };
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    thread::scope(|scope| {
        for thread in 1..5_usize {
            let (blake3, device) = (&blake3, &device);
            scope.spawn(move || {
                for round in 1..4 {
                    let input = paint(thread * 30_000 * round + thread);
                    let right = portable(&Mode::Hash, &input).finalize();
                    let buffer = buffer(device, &input, 0);
                    assert_eq!(blake3.hash_buffer(&buffer, 0, input.len() as u64), Ok(right));
                    assert_eq!(blake3.hash_bytes(&input), Ok(right));
                }
            });
        }
    });
}

#[test]
fn messages_of_every_length_have_their_digests() {
    let Some(device) = device("many messages") else { return };
    let (context, input) = (context_key(), paint(4096 + 5000));
    for (name, mode) in modes(&context) {
        let blake3 = device.blake3(&mode).unwrap();
        let short = (0..=1100).step_by(MESSAGE_STEP).map(|len| &input[len..2 * len]);
        let long = [2047, 2048, 2049, 3073, 4096, 5000].map(|len| &input[7..7 + len]);
        let messages: Vec<_> = short.chain(long).chain([&input[..0], &input[..1]]).collect();
        let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
        blake3.hash_many(&messages, &mut digests).unwrap();
        for (message, digest) in messages.iter().zip(digests) {
            assert_eq!(digest, portable(&mode, message).finalize(), "{} bytes, {name}", message.len());
        }
        assert_eq!(blake3.hash_many(&[], &mut []), Ok(()));
    }
}

#[test]
fn debug_output_of_an_engine_omits_its_key() {
    let Some(device) = device("debug output of an engine") else { return };
    let shown = format!("{:?}", device.blake3(&Mode::KeyedHash(&[b'1'; 32])).unwrap());
    assert!(shown.contains("KeyedHash(..)") && !shown.contains("49, 49"), "{shown}");
}
