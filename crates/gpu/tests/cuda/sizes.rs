//! Lengths, offsets and costs around each limit: up to gigabytes on a card, and small ones on the simulated driver.

use crate::engines::nonces::checker;
use crate::engines::{context_key, modes};
use crate::shim::{by_size, on_card};
use crate::{ExclusiveDevice, device};
use hashmill_gpu::{Argon2, Device, Selector};
use hashmill_hash::argon2::pow::{Order, Pow, Recipe};
use hashmill_hash::argon2::{Hasher as Passwords, Input, Job, Params, Variant};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hash, Hasher};
use hashmill_hash::engine::{NonceJob, SearchMonitor, Stop, search};
use hashmill_testkit::skip;
use std::sync::Mutex;
use std::thread;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

/// Bytes without repeating pieces.
fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for (number, word) in (1_u64..).zip(bytes.as_chunks_mut().0) {
        let word_of = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        *word = (word_of ^ word_of >> 29).to_le_bytes();
    }
    bytes
}

/// Lengths around the ends of chunks, groups of threads, tiles, windows, and 32-bit counts.
fn edges(most: usize) -> Vec<usize> {
    const AROUND: [isize; 17] =
        [-1025, -1024, -1023, -64, -17, -16, -15, -1, 0, 1, 15, 16, 17, 64, 1023, 1024, 1025];
    let edges = [KIB, 128 * KIB, 64 * MIB, GIB, 4 * GIB].map(|edge| [edge, 2 * edge, 3 * edge]);
    let lens = edges.as_flattened().iter().flat_map(|edge| AROUND.map(|far| edge.saturating_add_signed(far)));
    let mut lens: Vec<_> = lens.filter(|len| *len <= most).collect();
    lens.sort_unstable();
    lens.dedup();
    lens
}

#[test]
fn lengths_around_every_edge_have_the_output_of_the_processor() {
    let Some(exclusive) = device("lengths around edges") else { return };
    let device = &exclusive.device;
    let most = by_size(4 * GIB + 64 * MIB + 1025, 129 * KIB + 2);
    // Each mode at another offset; keyed modes need no large inputs, since a key does not change the division.
    let input = noise(most + 65_536 + 48);
    let buffer = device.buffer(input.len() as u64).unwrap();
    buffer.write(0, &input).unwrap();
    let context = context_key();
    for ((name, mode), offset) in modes(&context).into_iter().zip([0, 16, 65_536 + 48]) {
        let blake3 = device.blake3(&mode).unwrap();
        let (mut hasher, mut at) = (Hasher::with_mode(&mode), 0);
        for len in edges(if offset == 0 { most } else { most.min(193 * MIB) }) {
            hasher.update(&input[offset + at..offset + len]);
            at = len;
            let (mut right, mut given) = ([0; 99], [0; 99]);
            hasher.finalize_xof().fill(&mut right);
            let pending = blake3.start(&buffer, offset as u64, len as u64).unwrap();
            pending.finish_xof().unwrap().fill(&mut given);
            assert_eq!(given, right, "{name}, {len} bytes from {offset} on");
        }
    }
    // The end of the buffer, at multiples of 16.
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    for len in [1, 1000, 1024, 1025, 5000, 70_000, 100_016] {
        let offset = (input.len() - len) / 16 * 16;
        let right = hashmill_hash::blake3::hash(&input[offset..]);
        let digest = blake3.hash_buffer(&buffer, offset as u64, (input.len() - offset) as u64);
        assert_eq!(digest, Ok(right), "from {offset} on");
    }
    // All of it, from the host.
    let right = hashmill_hash::blake3::hash(&input);
    assert_eq!(blake3.hash_buffer(&buffer, 0, input.len() as u64), Ok(right));
    assert_eq!(blake3.hash_bytes(&input), Ok(right));
    let registered = device.registered(&input, |bytes| blake3.hash_registered(bytes, &Stop::new()));
    assert_eq!(registered, Ok(Ok(right)));
}

#[test]
fn very_many_messages_have_the_digests_of_the_processor() {
    let Some(device) = device("very many messages") else { return };
    let input = noise(MIB);
    let messages: Vec<_> = (0..by_size(100_000, 500))
        .map(|number: usize| &input[number * 7..][..number * number % 2600])
        .collect();
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    let mut digests = vec![Hash::from_bytes([0; 32]); messages.len()];
    blake3.hash_many(&messages, &mut digests).unwrap();
    for (number, (message, digest)) in messages.iter().zip(digests).enumerate() {
        assert_eq!(digest, hashmill_hash::blake3::hash(message), "{number}: {} bytes", message.len());
    }
}

fn params(memory: u32, passes: u32, lanes: u32) -> Params {
    Params::new(memory, passes, lanes).unwrap()
}

fn passwords(count: usize) -> Vec<[u8; 8]> {
    (0..count as u64).map(u64::to_le_bytes).collect()
}

/// The device's tags of these passwords, in this order.
fn tags(argon2: &mut Argon2, passwords: &[[u8; 8]]) -> Vec<[u8; 32]> {
    let mut tags = vec![[0; 32]; passwords.len()];
    let mut jobs: Vec<_> = passwords
        .iter()
        .zip(&mut tags)
        .map(|(password, tag)| Job { input: Input::new(password, b"somesalt"), tag })
        .collect();
    argon2.hash(&mut jobs).unwrap();
    tags
}

/// The processor's tags, with a thread for each.
fn right(params: Params, passwords: &[[u8; 8]]) -> Vec<[u8; 32]> {
    let one = |password| Passwords::new(params).hash(&Input::new(password, b"somesalt")).unwrap();
    thread::scope(|scope| {
        let threads: Vec<_> = passwords.iter().map(|password| scope.spawn(move || one(password))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn hashes_of_two_gibibytes_have_the_tags_of_the_processor() {
    let Some(device) = device("hashes of 2 GiB") else { return };
    let memory = by_size(1 << 21, 1 << 9);
    for (lanes, variant) in [(1, Variant::Id), (4, Variant::I)] {
        let params = params(memory, 1, lanes).with_variant(variant);
        let mut argon2 = device.argon2(params, 2).unwrap();
        assert_eq!((argon2.width(), argon2.tuning().grow), (2, false));
        let passwords = passwords(2);
        assert_eq!(tags(&mut argon2, &passwords), right(params, &passwords), "{params:?}");
    }
}

/// As many hashes as a whole card takes, and a few more than run side by side.
#[test]
fn more_hashes_than_fit_as_a_whole_have_the_tags_of_the_processor() {
    const WHAT: &str = "more hashes than fit";
    let Some(device) = device(WHAT) else { return };
    if on_card() && by_size(false, true) {
        return skip(WHAT, "small ones all fit: HASHMILL_CARD=1 has large ones");
    }
    if let Some(shim) = &device.shim {
        shim.memory(4 << 20);
    }
    let params = params(by_size(1 << 21, 1 << 9), 1, 1);
    let mut argon2 = device.argon2(params, usize::MAX).unwrap();
    let memory = if on_card() { device.info().memory.unwrap() } else { 4 << 20 };
    assert!(argon2.tuning().grow && argon2.width() as u64 > memory / (params.blocks() * 1024));
    // Three different passwords, to save time on the processor; neighbours always differ.
    let passwords: Vec<_> = passwords(3).into_iter().cycle().take(argon2.width() + 4).collect();
    let few = right(params, &passwords[..3]);
    for (number, tag) in tags(&mut argon2, &passwords).into_iter().enumerate() {
        assert_eq!(tag, few[number % 3], "{number} of {}", passwords.len());
    }
}

/// Runs each kind of work on a device, `times` times.
fn run_work(device: &Device, seed: usize, times: usize) {
    let params = params(by_size(4096, 256), 1, 1);
    let pow = Pow::new(params, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian);
    let input = noise(by_size(30 * MIB, 200 * KIB) + seed);
    let digest = hashmill_hash::blake3::hash(&input);
    let passwords = passwords(3 + seed);
    let right = right(params, &passwords);
    let blake3 = device.blake3(&Mode::Hash).unwrap();
    let mut argon2 = device.argon2(params, 2).unwrap();
    let mut nonces = device.nonces(checker(pow), 2).unwrap();
    for _ in 0..times {
        let buffer = device.buffer(input.len() as u64).unwrap();
        buffer.write(0, &input).unwrap();
        assert_eq!(blake3.hash_buffer(&buffer, 0, input.len() as u64), Ok(digest));
        assert_eq!(blake3.hash_bytes(&input), Ok(digest));
        assert_eq!(tags(&mut argon2, &passwords), right);
        let (hits, job) = (Mutex::new(0), NonceJob::new(b"a header", [0xff; 32]));
        let note = |_| *hits.lock().unwrap() += 1;
        let searched = search(&mut nonces, &job, 0..5, &SearchMonitor::new(), &note).unwrap();
        assert_eq!((searched.hashes, *hits.lock().unwrap()), (5, 5));
    }
}

#[test]
fn threads_with_their_own_engines_share_a_device() {
    let Some(exclusive) = device("threads that share a device") else { return };
    thread::scope(|scope| {
        for seed in 0..by_size(4, 2) {
            let device = exclusive.device.clone();
            scope.spawn(move || run_work(&device, seed, by_size(5, 1)));
        }
    });
}

/// The same card, opened twice: one value is dropped while the other works.
#[test]
fn two_values_of_one_device_work_side_by_side() {
    let Some(ExclusiveDevice { device, driver, .. }) = &device("two values of one device") else { return };
    thread::scope(|scope| {
        scope.spawn(|| {
            for seed in 0..by_size(5, 1) {
                run_work(&Device::open_by_driver(driver, Selector::Best).unwrap(), seed, 1);
            }
        });
        run_work(device, 9, by_size(5, 1));
    });
}
