//! BLAKE3 by CUDA: registered and borrowed memory, batches of messages, refused buffers, faulty kernels.

use crate::engines::{KEY, buffer, portable};
use crate::{ExclusiveShim, device};
use hashmill_gpu::{Device, Error, Refusal, Selector};
use hashmill_hash::argon2::HashError;
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::engine::Stop;
use hashmill_testkit::paint;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// More pieces than are in flight together, lengths around chunks, and an empty input.
#[test]
fn registered_bytes_are_fetched_in_place() {
    let Some(device) = device("registered memory") else { return };
    let (input, never, stop) = (paint((41 << 20) + 5), Stop::new(), Stop::new());
    let blake3 = device.blake3(&Mode::Hash).unwrap();
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
    // A panic unregisters the bytes too.
    let panics =
        catch_unwind(AssertUnwindSafe(|| device.registered(&input, |_| panic!("as a test wants it"))));
    assert!(panics.is_err() && device.registered(&input, |_| ()).is_ok());
    let Some(shim) = device.shim("calls for registered memory") else { return };
    let calls = ["cuMemHostRegister_v2", "cuMemHostUnregister"].map(|call| shim.calls(call));
    // Six lengths, six attempts to register bytes twice, and the two calls around the panic.
    assert_eq!(calls, [14, 8]);
}

/// More than one batch: the host fills one batch while the device computes another, and a message may span
/// two.
#[test]
fn messages_that_exceed_a_batch_are_sent_in_several() {
    let Some(device) = device("batches of messages") else { return };
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    let input = paint(9 << 20);
    let short = &input[..1 << 20];
    // A portion ends with a long message, so later messages are in the portion of another thread.
    let messages: Vec<_> = [short, &input]
        .into_iter()
        .chain((0..34).map(|i| &short[i * 1000..]))
        .chain(short.chunks(1000))
        .chain([&input[..0]])
        .collect();
    // Results of one list do not show in the next, which reuses the memory of the first.
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
fn unsuitable_buffers_are_refused() {
    let Some(device) = device("buffers that are refused") else { return };
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    let there = device.buffer(4096).unwrap();
    for (offset, len) in [(8, 100), (0, 4097), (4096, 1), (u64::MAX - 15, 16), (0, u64::MAX)] {
        let refused = blake3.hash_buffer(&there, offset, len);
        assert!(matches!(refused, Err(Error::Buffer { .. })), "{refused:?}");
    }
    // Another context, like that of another device.
    let other = Device::open_by_driver(&device.driver, Selector::Best).unwrap();
    let refused = blake3.hash_buffer(&other.buffer(4096).unwrap(), 0, 4096);
    assert!(
        matches!(&refused, Err(Error::Buffer { reason }) if reason.contains("another device")),
        "{refused:?}"
    );
}

/// The same card may be reached by both back ends, whose memory is separate.
#[cfg(feature = "wgpu")]
#[test]
fn a_buffer_of_another_back_end_is_refused() {
    use hashmill_gpu::{BackEnd, Fault};
    let Some(device) = device("buffers of another back end") else { return };
    let other = match Device::open(BackEnd::Wgpu, Selector::Best) {
        Ok(other) => other,
        Err(error) => return hashmill_testkit::skip("buffers of another back end", &error.to_string()),
    };
    let (own, other_buffer) = (device.buffer(4096).unwrap(), other.buffer(4096).unwrap());
    let refused = [
        device.blake3(&Mode::Hash).unwrap().hash_buffer(&other_buffer, 0, 4096),
        other.blake3(&Mode::Hash).unwrap().hash_buffer(&own, 0, 4096),
    ];
    for refused in refused {
        assert!(
            matches!(&refused, Err(Error::Buffer { reason }) if reason.contains("another device")),
            "{refused:?}"
        );
    }
    let registered = other.registered(&[0; 64], |_| ());
    assert_eq!(registered.map_err(|error| error.fault()), Err(Fault::Machine));
    assert_eq!((device.back_end(), other.back_end()), (BackEnd::Cuda, BackEnd::Wgpu));
    assert_eq!((other_buffer.cuda_address(), own.as_wgpu().is_none()), (None, true));
}

/// As memory of another library.
#[test]
#[allow(unsafe_code, reason = "addresses that this test made itself")]
fn memory_of_other_libraries_is_hashed_by_its_address() {
    let Some(device) = device("memory of others") else { return };
    let blake3 = device.blake3(&Mode::KeyedHash(KEY)).unwrap();
    let (input, offset) = (paint(10_000), 32);
    let owner = buffer(&device, &input, offset);
    let address = owner.cuda_address().unwrap() + offset as u64;
    // SAFETY: `owner` lives to the end.
    let borrow = |address, bytes| unsafe { device.borrow(address, bytes) };
    let borrowed = borrow(address, 10_000).unwrap();
    let right = portable(&Mode::KeyedHash(KEY), &input).finalize();
    assert_eq!(blake3.hash_buffer(&borrowed, 0, 10_000), Ok(right));
    drop(borrowed);
    assert_eq!(blake3.hash_buffer(&owner, offset as u64, 10_000), Ok(right), "it was not freed");
    for (address, bytes, expected) in [
        (address, 1 << 50, "are more than its "),
        (8, 1, "no address"),
        (input.as_ptr() as u64, 1, "no address"),
    ] {
        let refused = borrow(address, bytes).map(|_| ());
        assert!(
            matches!(&refused, Err(Error::Buffer { reason }) if reason.contains(expected)),
            "{refused:?}"
        );
    }
    let refused = blake3.hash_buffer(&borrow(address + 8, 100).unwrap(), 0, 100);
    assert!(
        matches!(&refused, Err(Error::Buffer { reason }) if reason.contains("multiple of 16")),
        "{refused:?}"
    );
}

/// Whether the memory belongs to a context or to a pool, which has no context.
#[test]
#[allow(unsafe_code, reason = "memory of others is borrowed")]
fn memory_of_another_device_is_refused() {
    let Some(exclusive) = ExclusiveShim::new("memory of another device") else { return };
    exclusive.shim.devices(2);
    let [first, second] =
        [0, 1].map(|number| Device::open_by_driver(&exclusive.driver, Selector::Number(number)).unwrap());
    let owner = second.buffer(4096).unwrap();
    for pools in [false, true] {
        exclusive.shim.pools(pools);
        // SAFETY: `owner` lives to the end.
        let borrow =
            |device: &Device, len| unsafe { device.borrow(owner.cuda_address().unwrap(), len) }.map(|_| ());
        assert_eq!(borrow(&second, 4096), Ok(()));
        let refused = borrow(&second, 4097);
        let matches = |reason: &String| reason.contains("are more than its 4096");
        assert!(matches!(&refused, Err(Error::Buffer { reason }) if matches(reason)), "{refused:?}");
        let refused = borrow(&first, 4096);
        let matches = |reason: &String| reason.ends_with("is in the memory of another device, number 1");
        assert!(matches!(&refused, Err(Error::Buffer { reason }) if matches(reason)), "{refused:?}");
    }
}

/// The self-test's tree has two tiles and seven groups of chunks: rows of four values and of three.
#[test]
fn a_bit_that_flips_in_any_value_while_a_device_is_tested_is_found() {
    let Some(exclusive) = ExclusiveShim::new("bits that flip in BLAKE3") else { return };
    let device = exclusive.device();
    for (kernel, values) in [("blake3_leaves", 0..7), ("blake3_tops", 0..2), ("blake3_messages", 0..14)] {
        for value in values {
            exclusive.shim.flip_behind(kernel, 0, 32 * value);
            let error = device.blake3(&Mode::Hash).map(|_| ());
            assert_eq!(error, Err(Error::SelfTest { device: "Shim 0".to_owned() }), "{kernel} {value}");
            exclusive.shim.reset();
        }
    }
}

/// A tile of less than 128 chunks has one value in its row.
#[test]
fn a_bit_that_flips_in_a_large_tile_while_an_engine_is_tested_is_found() {
    let Some(exclusive) = ExclusiveShim::new("bits that flip in large tiles") else { return };
    for launch in 0..1000 {
        exclusive.shim.flip_behind("blake3_leaves", launch, 6 * 32);
    }
    let error = exclusive.device().subtrees(&Mode::Hash, 1 << 20, 1).map(|_| ());
    assert_eq!(error, Err(Error::SelfTest { device: "Shim 0".to_owned() }));
}

/// Reused memory holds values of the same input, which must not pass for results.
#[test]
fn a_kernel_that_did_not_run_is_an_error() {
    let Some(exclusive) = ExclusiveShim::new("kernels of BLAKE3 that do not run") else { return };
    let device = exclusive.device();
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    // One launch for each of two tiles; one for both, whose rows have one value, two, and four and three.
    for (chunks, launches) in [(3, 2), (200, 1), (400, 1), (800, 1)] {
        let input = paint(chunks * 1024 + 1);
        let right = portable(&Mode::Hash, &input).finalize();
        let there = buffer(&device, &input, 0);
        let hash = || blake3.hash_buffer(&there, 0, input.len() as u64);
        assert_eq!(hash(), Ok(right));
        for (kernel, nth) in (0..launches).map(|nth| ("blake3_leaves", nth)).chain([("blake3_tops", 0)]) {
            exclusive.shim.skip(kernel, nth);
            let error = hash();
            assert!(matches!(error, Err(Error::Driver { .. })), "{chunks}, {kernel} {nth}: {error:?}");
            assert_eq!(hash(), Ok(right), "the next is right");
        }
    }
}
