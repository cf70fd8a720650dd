//! Inputs of BLAKE3 on a device, in the host's memory, and many at once: every edge, every mode, and what is refused.

use crate::{Alone, CONTEXT, KEY, buffer, context_key, device, modes, portable};
use hashmill_gpu::cuda::{Blake3, Device, Subtrees};
use hashmill_gpu::{Error, Refusal};
use hashmill_hash::argon2::HashError;
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::{Mode, hash_derive_key_context};
use hashmill_hash::engine::Stop;
use hashmill_testkit::{paint, vectors};
use std::time::Duration;

/// Where something changes: blocks, chunks, the 128 chunks of a group, and a tile's rows of several groups.
fn lengths() -> impl Iterator<Item = usize> {
    let chunks = (1..=5).chain([7, 8, 9, 127, 128, 129, 255, 256, 257, 385]);
    let edges = chunks.flat_map(|chunks| [0, 1, 1023].map(|tail| chunks * 1024 + tail));
    (0..=4).chain([15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 1023]).chain(edges)
}

#[test]
fn every_edge_gives_the_portable_digest() {
    let Some(device) = device("digests of buffers") else { return };
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    let input = paint(387 * 1024);
    for (len, offset) in lengths().zip([0, 16, 256, 65536].into_iter().cycle()) {
        let bytes = &input[..len];
        let right = portable(&Mode::Hash, bytes).finalize();
        let buffer = buffer(&device, bytes, offset);
        let digest = blake3.hash_buffer(&buffer, offset as u64, len as u64).unwrap();
        assert_eq!(digest, right, "{len} bytes from {offset} on");
        assert_eq!(blake3.hash_bytes(bytes), Ok(right), "{len} bytes of the host");
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
            .map(|mode| Blake3::new(&device, &mode).unwrap());
    for case in vectors.cases {
        let input = paint(case.input_len);
        let buffer = buffer(&device, &input, 0);
        for (engine, expected) in [(&hash, case.hash), (&keyed, case.keyed_hash), (&derive, case.derive_key)]
        {
            let mut reader = engine.start(&buffer, 0, input.len() as u64).unwrap().finish_xof().unwrap();
            let mut output = vec![0; expected.len()];
            reader.fill(&mut output);
            assert_eq!(output, expected, "{} bytes, {engine:?}", input.len());
            let digest = engine.hash_bytes(&input).unwrap();
            assert_eq!(digest.as_bytes()[..], expected[..32], "{} bytes, {engine:?}", input.len());
        }
    }
}

/// Several pieces of an input of the host, several ways of a piece, more than a tile on the device.
#[test]
fn large_inputs_give_the_digest_of_the_processor() {
    let Some(device) = device("large inputs") else { return };
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    let input = paint((19 << 20) + 3);
    let right = hashmill_hash::blake3::hash(&input);
    assert_eq!(blake3.hash_bytes(&input), Ok(right));
    let there = buffer(&device, &input, 0);
    assert_eq!(blake3.hash_buffer(&there, 0, input.len() as u64), Ok(right));
    let stop = Stop::new();
    stop.set();
    assert_eq!(blake3.hash_bytes_until(&input, &stop), Err(Error::Hash(HashError::Stopped)));
    stop.clear();
    assert_eq!(
        blake3.hash_bytes_until(&input[..3 << 20], &stop),
        Ok(hashmill_hash::blake3::hash(&input[..3 << 20]))
    );
}

/// More pieces than are on their way together, lengths around chunks, and nothing.
#[test]
fn bytes_that_the_driver_knows_are_fetched_where_they_lie() {
    let Some(device) = device("registered memory") else { return };
    let (input, never, stop) = (paint((41 << 20) + 5), Stop::new(), Stop::new());
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    stop.set();
    for len in [0, 1, 1024, 1025, 5000, 300_000, input.len()] {
        let input = &input[..len];
        let right = hashmill_hash::blake3::hash(input);
        let hashed = device.registered(input, |bytes| {
            assert_eq!(bytes.bytes(), input);
            let again = device.registered(&input[len / 2..], |_| ()).map(|()| len);
            assert!(
                matches!((len, &again), (0, Ok(0)) | (_, Err(Error::Cuda(Refusal { code: 712, .. })))),
                "{again:?}"
            );
            let stopped = blake3.hash_registered(bytes, &stop);
            assert!(stopped == Ok(right) || stopped == Err(Error::Hash(HashError::Stopped)) && len > 1024);
            [(); 2].map(|()| blake3.hash_registered(bytes, &never))
        });
        assert_eq!(hashed, Ok([Ok(right), Ok(right)]), "{len}");
    }
    // Taken back, however it ends.
    let panics = std::panic::catch_unwind(|| device.registered(&input, |_| panic!("as a test wants it")));
    assert!(panics.is_err() && device.registered(&input, |_| ()).is_ok());
    let Some(shim) = device.shim("calls for registered memory") else { return };
    let calls = ["cuMemHostRegister_v2", "cuMemHostUnregister"].map(|call| shim.calls(call));
    // Six of them, six attempts to do so again, and two.
    assert_eq!(calls, [14, 8]);
}

/// Tiles are of 64 MiB.
#[test]
fn an_input_of_several_tiles_gives_the_digest_of_the_processor() {
    let Some(device) = device("tiles of 64 MiB") else { return };
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    let input = paint((128 << 20) + 3073);
    let there = buffer(&device, &input, 0);
    let right = hashmill_hash::blake3::hash(&input);
    assert_eq!(blake3.hash_buffer(&there, 0, input.len() as u64), Ok(right));
}

#[test]
fn several_inputs_are_under_way_at_the_same_time() {
    let Some(device) = device("several inputs at once") else { return };
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    let inputs: Vec<_> = (1..20_usize).map(|i| paint(i * 5000)).collect();
    let buffers: Vec<_> = inputs.iter().map(|input| buffer(&device, input, 0)).collect();
    let start = |i: usize| blake3.start(&buffers[i], 0, inputs[i].len() as u64).unwrap();
    // What is given up takes nothing with it.
    (0..5).for_each(|i| drop(start(i)));
    let pending: Vec<_> = (0..inputs.len()).map(start).collect();
    // A buffer lives as long as what is made of it.
    drop(buffers.clone());
    for (pending, input) in pending.into_iter().zip(&inputs).rev() {
        while !pending.look(Duration::ZERO).unwrap() {}
        assert_eq!(pending.finish().unwrap(), portable(&Mode::Hash, input).finalize());
    }
}

#[test]
fn threads_share_an_engine() {
    let Some(device) = device("threads that share an engine") else { return };
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    std::thread::scope(|scope| {
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
    for (_, mode) in modes(&context) {
        let blake3 = Blake3::new(&device, &mode).unwrap();
        let short = (0..=1100).step_by(7).map(|len| &input[len..2 * len]);
        let long = [2047, 2048, 2049, 3073, 4096, 5000].map(|len| &input[7..7 + len]);
        let messages: Vec<_> = short.chain(long).chain([&input[..0], &input[..1]]).collect();
        let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
        blake3.hash_many(&messages, &mut digests).unwrap();
        for (message, digest) in messages.iter().zip(digests) {
            assert_eq!(digest, portable(&mode, message).finalize(), "{} bytes", message.len());
        }
        assert_eq!(blake3.hash_many(&[], &mut []), Ok(()));
    }
}

/// More than goes to a device together: the host makes one batch while the device is at work on another, and a message may lie in two.
#[test]
fn messages_that_are_more_than_a_batch_go_in_several() {
    let Some(device) = device("batches of messages") else { return };
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    let input = paint(9 << 20);
    let short = &input[..1 << 20];
    // What follows a long message is another thread's, whatever it is.
    let messages: Vec<_> = [short, &input]
        .into_iter()
        .chain((0..34).map(|i| &short[i * 1000..]))
        .chain(short.chunks(1000))
        .chain([&input[..0]])
        .collect();
    // Nothing of one list is seen in the next, which finds the memory of the first.
    for messages in [&messages[..], &messages[35..]] {
        let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
        blake3.hash_many(messages, &mut digests).unwrap();
        for (message, digest) in messages.iter().zip(digests) {
            assert_eq!(digest, hashmill_hash::blake3::hash(message), "{} bytes", message.len());
        }
    }
    let Some(shim) = device.shim("batches of messages that are left out") else { return };
    shim.skip("blake3_messages", 3);
    let refused = blake3.hash_many(&messages, &mut vec![Hash::from_bytes([0; 32]); messages.len()]);
    assert!(matches!(refused, Err(Error::Driver { .. })), "{refused:?}");
}

#[test]
fn what_cannot_be_hashed_as_it_is_is_refused() {
    let Some(device) = device("buffers that are refused") else { return };
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    let there = device.buffer(4096).unwrap();
    for (offset, len) in [(8, 100), (0, 4097), (4096, 1), (u64::MAX - 15, 16), (0, u64::MAX)] {
        let refused = blake3.hash_buffer(&there, offset, len);
        assert!(matches!(refused, Err(Error::Buffer { .. })), "{refused:?}");
    }
    // Another context, as that of another device is.
    let other = Device::best_of(&device.driver).unwrap();
    let refused = blake3.hash_buffer(&other.buffer(4096).unwrap(), 0, 4096);
    assert!(
        matches!(&refused, Err(Error::Buffer { reason }) if reason.contains("another device")),
        "{refused:?}"
    );
}

/// As memory of another library is.
#[test]
#[allow(unsafe_code, reason = "addresses that this test made itself")]
fn memory_of_others_is_taken_by_its_address() {
    let Some(device) = device("memory of others") else { return };
    let blake3 = Blake3::new(&device, &Mode::KeyedHash(KEY)).unwrap();
    let (input, offset) = (paint(10_000), 32);
    let theirs = buffer(&device, &input, offset);
    let address = theirs.pointer() + offset as u64;
    // SAFETY: `theirs` lives to the end.
    let borrow = |address, bytes| unsafe { device.borrow(address, bytes) };
    let ours = borrow(address, 10_000).unwrap();
    let right = portable(&Mode::KeyedHash(KEY), &input).finalize();
    assert_eq!(blake3.hash_buffer(&ours, 0, 10_000), Ok(right));
    drop(ours);
    assert_eq!(blake3.hash_buffer(&theirs, offset as u64, 10_000), Ok(right), "it was not given back");
    for (address, bytes, why) in [
        (address, 1 << 50, "are more than its "),
        (8, 1, "no address"),
        (input.as_ptr() as u64, 1, "no address"),
    ] {
        let refused = borrow(address, bytes).map(|_| ());
        assert!(matches!(&refused, Err(Error::Buffer { reason }) if reason.contains(why)), "{refused:?}");
    }
    let refused = blake3.hash_buffer(&borrow(address + 8, 100).unwrap(), 0, 100);
    assert!(
        matches!(&refused, Err(Error::Buffer { reason }) if reason.contains("multiple of 16")),
        "{refused:?}"
    );
}

/// Whether it belongs to a context or is of a pool, which belongs to none.
#[test]
#[allow(unsafe_code, reason = "memory of others is borrowed")]
fn memory_of_another_device_is_refused() {
    let Some(alone) = Alone::new("memory of another device") else { return };
    alone.shim.devices(2);
    let [first, second] = [0, 1].map(|number| Device::open_of(&alone.driver, number).unwrap());
    let theirs = second.buffer(4096).unwrap();
    for pools in [false, true] {
        alone.shim.pools(pools);
        // SAFETY: `theirs` lives to the end.
        let borrow = |device: &Device, len| unsafe { device.borrow(theirs.pointer(), len) }.map(|_| ());
        assert_eq!(borrow(&second, 4096), Ok(()));
        let refused = borrow(&second, 4097);
        let told = |reason: &String| reason.contains("are more than its 4096");
        assert!(matches!(&refused, Err(Error::Buffer { reason }) if told(reason)), "{refused:?}");
        let refused = borrow(&first, 4096);
        let told = |reason: &String| reason.ends_with("is in the memory of another device, number 1");
        assert!(matches!(&refused, Err(Error::Buffer { reason }) if told(reason)), "{refused:?}");
    }
}

/// The tree of the test has two tiles, and seven groups of chunks: rows of four values and of three.
#[test]
fn a_bit_that_flips_in_any_value_while_a_device_is_tested_is_found() {
    let Some(alone) = Alone::new("bits that flip in BLAKE3") else { return };
    let device = alone.device();
    for (kernel, values) in [("blake3_leaves", 0..7), ("blake3_tops", 0..2), ("blake3_messages", 0..14)] {
        for value in values {
            alone.shim.flip_behind(kernel, 0, 32 * value);
            let error = Blake3::new(&device, &Mode::Hash).map(|_| ());
            assert_eq!(error, Err(Error::SelfTest { device: "Shim 0".to_owned() }), "{kernel} {value}");
            alone.shim.reset();
        }
    }
}

/// A tile of less than 128 chunks has one value in its row.
#[test]
fn a_bit_that_flips_in_a_large_tile_while_an_engine_is_tested_is_found() {
    let Some(alone) = Alone::new("bits that flip in large tiles") else { return };
    for launch in 0..1000 {
        alone.shim.flip_behind("blake3_leaves", launch, 6 * 32);
    }
    let error = Subtrees::new(&alone.device(), &Mode::Hash, 1 << 20, 1).map(|_| ());
    assert_eq!(error, Err(Error::SelfTest { device: "Shim 0".to_owned() }));
}

/// Memory that was used before holds values of the same input, and they are not taken for answers.
#[test]
fn a_kernel_that_did_not_run_is_an_error() {
    let Some(alone) = Alone::new("kernels of BLAKE3 that do not run") else { return };
    let device = alone.device();
    let blake3 = Blake3::new(&device, &Mode::Hash).unwrap();
    // One launch for each of two tiles, and one for both, whose rows have one value, two, and four and three.
    for (chunks, launches) in [(3, 2), (200, 1), (400, 1), (800, 1)] {
        let input = paint(chunks * 1024 + 1);
        let right = portable(&Mode::Hash, &input).finalize();
        let there = buffer(&device, &input, 0);
        let hash = || blake3.hash_buffer(&there, 0, input.len() as u64);
        assert_eq!(hash(), Ok(right));
        for (kernel, nth) in (0..launches).map(|nth| ("blake3_leaves", nth)).chain([("blake3_tops", 0)]) {
            alone.shim.skip(kernel, nth);
            let error = hash();
            assert!(matches!(error, Err(Error::Driver { .. })), "{chunks}, {kernel} {nth}: {error:?}");
            assert_eq!(hash(), Ok(right), "the next is right");
        }
    }
}

#[test]
fn no_key_is_shown() {
    let Some(device) = device("what is shown of an engine") else { return };
    let shown = format!("{:?}", Blake3::new(&device, &Mode::KeyedHash(&[b'1'; 32])).unwrap());
    assert!(shown.contains("KeyedHash(..)") && !shown.contains("49, 49"), "{shown}");
}
