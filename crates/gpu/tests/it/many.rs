//! Many messages at once.

use crate::{context_key, device, modes, narrow, portable};
use hashmill_gpu::wgpu::{Blake3, Device};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_testkit::paint;

fn check(device: &Device, mode: &Mode<'_>, messages: &[&[u8]]) {
    let blake3 = Blake3::new(device, mode).unwrap();
    let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
    blake3.hash_many(messages, &mut digests).unwrap();
    for (message, digest) in messages.iter().zip(digests) {
        assert_eq!(digest, portable(mode, message).finalize(), "{} bytes, {mode:?}", message.len());
    }
}

#[test]
fn messages_of_every_length_have_their_digests() {
    let Some(device) = device("many messages") else { return };
    let (context, input) = (context_key(), paint(4096 + 5000));
    for (_, mode) in modes(&context) {
        let short = (0..=1100).map(|len| &input[len..2 * len]);
        let long = [2047, 2048, 2049, 3073, 4096, 5000].map(|len| &input[7..7 + len]);
        let messages: Vec<_> = short.chain(long).chain([&input[..0], &input[..1]]).collect();
        check(device, &mode, &messages);
    }
    check(device, &Mode::Hash, &[]);
    check(device, &Mode::Hash, &[b""]);
}

/// What a device binds is less than all of them: they go to it in parts, and a message may lie in two.
#[test]
fn messages_that_are_more_than_a_device_takes_go_in_parts() {
    let Some(device) = narrow(1 << 20) else { return };
    let input = paint(3 << 20);
    let messages: Vec<_> = input.chunks(1000).chain(input.chunks(300_000)).chain([&input[..]]).collect();
    check(&device, &Mode::Hash, &messages);
}
