//! Whole memories beside the processor's, by every means that the device has; and kernels that have something wrong.

use super::kernels::{Quads, Words};
use super::room::bytes;
use super::*;
use crate::argon2::schedule::Strips;
use crate::argon2::{Rooms as _, together};
use crate::wgpu::guarded::guarded;
use hashmill_hash::argon2::{HashError, Hasher, Input, Variant, Version, hazmat};
use hashmill_testkit::skip;
use std::sync::OnceLock;

/// A device for everybody, or nothing, said aloud.
fn device(what: &str) -> Option<&'static Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| match Device::best() {
        Ok(device) => Some(device),
        Err(Error::NoDevice { .. }) => None,
        Err(error) => panic!("{error}"),
    });
    if device.is_none() {
        skip(what, "no device: mesa-vulkan-drivers brings one that is software");
    }
    device.as_ref()
}

fn compiled(device: &Device, text: &str) -> Result<Kernels, Error> {
    let (device, _) = device.raw();
    guarded(device, 0, || Kernels::new(device, text))
}

/// Kernels by all means that a device has: the best of them first, and last what every device has.
fn all_kernels(device: &Device) -> Vec<(Means, Kernels)> {
    let best = Means::of(device.raw().0);
    let mut all = Vec::new();
    for words in [Words::Native, Words::Pairs] {
        for quads in [Quads::Subgroups, Quads::Shared] {
            let there = (words == Words::Pairs || best.words == words)
                && (quads == Quads::Shared || best.quads == quads);
            let means = Means { words, quads };
            if there {
                all.push((means, compiled(device, &means.text()).unwrap()));
            } else {
                skip(&format!("kernels with {means:?}"), "the device lacks them");
            }
        }
    }
    all
}

/// Three hashes that have nothing in common but their parameters.
const INPUTS: [(Input<'static>, usize); 3] = [
    (Input::new(b"password", b"somesalt"), 32),
    (Input::new(b"", &[7; 300]).with_secret(b"pepper").with_associated_data(&[9; 77]), 4),
    (Input::new(&[0xff; 1000], b"").with_associated_data(b"x"), 131),
];

/// What memory of so many of these hashes is like, filled in handfuls of so many blocks, or as it is usually done.
fn memories(
    device: &Device,
    kernels: &Kernels,
    params: Params,
    hashes: usize,
    handful: Option<u32>,
) -> Vec<Vec<[u64; 128]>> {
    let argon2 = Argon2::untested(device, kernels, params, guess(params).at_most(hashes)).unwrap();
    assert_eq!(argon2.width(), hashes);
    filled(argon2, hashes, handful)
}

/// With so many hashes in each room.
fn in_rooms(device: &Device, kernels: &Kernels, params: Params, shares: &[u32]) -> Argon2 {
    let rooms = Rooms::new(device.raw(), kernels, params, shares).unwrap();
    assert!(rooms.hashes().eq(shares.iter().copied()));
    Argon2::with_rooms(device, params, rooms, guess(params))
}

/// What is in its memory when so many hashes were filled.
fn filled(mut argon2: Argon2, hashes: usize, handful: Option<u32>) -> Vec<Vec<[u64; 128]>> {
    let (params, mut first) = (argon2.params, Vec::new());
    for (input, tag_len) in &INPUTS[..hashes] {
        hazmat::first_blocks(argon2.plan, params, input, *tag_len, |_, _, words| first.push(*words)).unwrap();
    }
    argon2.memory.rooms.begin(&first).unwrap();
    let streams = hashes as u32 * params.lanes();
    if let Some(blocks) = handful {
        let (mut strips, mut step) = (Strips::new(params), 0);
        loop {
            let (handful, _) = together(&mut strips, blocks);
            if handful.is_empty() {
                break;
            }
            let way = argon2.memory.rooms.fill(streams, &handful, step, 0).unwrap();
            step += handful.len() as u32;
            argon2.memory.rooms.filled(&way, step, 0, &Stop::new()).unwrap();
        }
    } else {
        argon2.memory.fill(streams, &Stop::new()).unwrap();
    }
    (0..hashes).map(|hash| argon2.memory.rooms.memory(hash)).collect()
}

fn right(params: Params, hash: usize) -> Vec<[u64; 128]> {
    let (input, tag_len) = &INPUTS[hash];
    hazmat::memory(Plan::host(), params, input, *tag_len).unwrap()
}

fn compare(given: &[Vec<[u64; 128]>], right: &[Vec<[u64; 128]>], what: &str) {
    for (hash, (given, right)) in given.iter().zip(right).enumerate() {
        assert_eq!(given.len(), right.len());
        for (block, (given, right)) in given.iter().zip(right).enumerate() {
            assert_eq!(given, right, "hash {hash}, block {block}, {what}");
        }
    }
}

/// Shapes with segments of two blocks, memory that is not divided evenly, more than an address block, every number of passes and
/// lanes; in one handful and in small ones.
#[test]
fn every_means_fills_memory_as_the_processor_does() {
    let Some(device) = device("memories of Argon2") else { return };
    let shapes = [(8, 1, 1), (9, 2, 1), (71, 3, 2), (100, 2, 3), (128, 1, 4), (1111, 2, 1), (2100, 1, 4)];
    let all = all_kernels(device);
    for (memory, passes, lanes) in shapes {
        for variant in Variant::ALL {
            for version in [Version::V10, Version::V13] {
                if (passes, version) == (1, Version::V10) {
                    // Versions differ in later passes, and in a number that first blocks are made of.
                    continue;
                }
                let params = Params::new(memory, passes, lanes).unwrap();
                let params = params.with_variant(variant).with_version(version);
                let expected: Vec<_> = (0..3).map(|hash| right(params, hash)).collect();
                for (means, kernels) in &all {
                    let what = format!("{params:?} {means:?}");
                    compare(&memories(device, kernels, params, 3, None), &expected, &what);
                }
            }
        }
    }
}

#[test]
fn ranges_go_on_where_those_before_ended() {
    let Some(device) = device("ranges of Argon2") else { return };
    let (means, kernels) = &all_kernels(device)[0];
    for variant in Variant::ALL {
        for (memory, passes, lanes) in [(100, 2, 3), (560, 1, 1)] {
            let params = Params::new(memory, passes, lanes).unwrap().with_variant(variant);
            let expected: Vec<_> = (0..2).map(|hash| right(params, hash)).collect();
            for handful in [1, 7, 33, 1000] {
                let given = memories(device, kernels, params, 2, Some(handful));
                compare(&given, &expected, &format!("{params:?} {means:?}, {handful} at a time"));
            }
        }
    }
}

#[test]
fn large_memories_are_the_same() {
    let Some(device) = device("large memories of Argon2") else { return };
    let all = all_kernels(device);
    let (best, least) = (&all[0], &all[all.len() - 1]);
    for ((means, kernels), (memory, passes, lanes), hashes) in
        [(best, (1 << 14, 1, 1), 2), (least, (1 << 12, 3, 4), 1), (best, (1 << 16, 1, 4), 1)]
    {
        let params = Params::new(memory, passes, lanes).unwrap();
        let expected: Vec<_> = (0..hashes).map(|hash| right(params, hash)).collect();
        let given = memories(device, kernels, params, hashes, None);
        compare(&given, &expected, &format!("{params:?} {means:?}"));
    }
}

#[test]
fn memory_is_wiped_after_a_batch_and_when_it_was_stopped() {
    let Some(device) = device("memories that are wiped") else { return };
    let params = Params::new(64, 2, 2).unwrap();
    let mut argon2 = in_rooms(device, device.argon2().unwrap(), params, &[1, 2]);
    let empty = |argon2: &Argon2| {
        (0..3).all(|hash| argon2.memory.rooms.memory(hash).iter().all(|block| *block == [0; 128]))
    };
    let mut tags = [[0; 32]; 3];
    let mut jobs: Vec<_> =
        INPUTS.iter().zip(&mut tags).map(|((input, _), tag)| Job { input: *input, tag }).collect();
    argon2.hash(&mut jobs).unwrap();
    assert!(empty(&argon2));
    let stop = Stop::new();
    stop.set();
    assert_eq!(argon2.hash_until(&mut jobs, &stop), Err(Error::Hash(HashError::Stopped)));
    // Stopped when first blocks were on the device.
    let stopped = argon2.memory.last_blocks(&[[0x5a; 128]; 12], &stop);
    assert_eq!(stopped.map(|_| ()), Err(Error::Hash(HashError::Stopped)));
    assert!(empty(&argon2));
    assert_eq!(*argon2.memory.rooms.last_blocks(6).unwrap(), [[0; 128]; 6]);
}

#[test]
fn what_was_left_half_way_is_not_seen_by_the_next_batch() {
    let Some(device) = device("batches that are left half-way") else { return };
    let params = Params::new(640, 2, 1).unwrap();
    let mut argon2 = Argon2::new(device, params, 2).unwrap();
    argon2.memory.rooms.begin(&[[0x5a; 128]; 4]).unwrap();
    let (handful, blocks) = together(&mut Strips::new(params), 500);
    assert_eq!(blocks, 500);
    let way = argon2.memory.rooms.fill(2, &handful, 0, 1).unwrap();
    argon2.memory.rooms.filled(&way, handful.len() as u32, 1, &Stop::new()).unwrap();
    assert_ne!(argon2.memory.rooms.memory(1)[400], [0; 128]);
    let input = INPUTS[0].0;
    let mut tag = [0; 32];
    argon2.hash(&mut [Job { input, tag: &mut tag }]).unwrap();
    assert_eq!(tag, Hasher::new(params).hash(&input).unwrap());
}

#[test]
fn rooms_are_made_until_memory_or_hashes_end() {
    let params = Params::new(1024, 1, 1).unwrap();
    let mib = bytes(params, 2) - bytes(params, 1);
    let rest = bytes(params, 1) - mib;
    let shares = |memory, most| shares(params, 7, memory, most);
    assert_eq!(shares(Some(100 * mib), 20), [7, 7, 6]);
    assert_eq!(shares(Some(100 * mib), 7), [7]);
    assert_eq!(shares(Some(10 * mib + 2 * rest), u64::MAX), [7, 3]);
    assert_eq!(shares(Some(10 * mib + 2 * rest - 1), u64::MAX), [7, 2]);
    assert_eq!(shares(Some(7 * mib + rest), u64::MAX), [7]);
    // One at least is asked for.
    assert_eq!((shares(Some(5), 20), shares(Some(100 * mib), 0)), (vec![1], vec![1]));
    // Of a device that tells nothing, no more than it binds.
    assert_eq!((shares(None, 5), shares(None, u64::MAX)), (vec![5], vec![7]));
    // 2 GiB on a card of 140.4 GiB that binds 2 at a time: 66, and less than a room is left over.
    let (params, memory) = (Params::new(1 << 21, 1, 1).unwrap(), 150_754_820_096 / 20 * 19);
    assert_eq!(room::shares(params, 3, Some(memory), u64::MAX), [3; 22]);
}

/// Three hashes in rooms of different sizes, one of them with room left and one not needed.
#[test]
fn rooms_are_filled_together() {
    let Some(device) = device("rooms") else { return };
    let (means, kernels) = &all_kernels(device)[0];
    for (memory, passes, lanes) in [(560, 2, 1), (100, 3, 3), (2100, 1, 4)] {
        for variant in Variant::ALL {
            let params = Params::new(memory, passes, lanes).unwrap().with_variant(variant);
            let expected: Vec<_> = (0..3).map(|hash| right(params, hash)).collect();
            for shares in [[1, 1, 1], [2, 1, 2], [1, 7, 1]] {
                for handful in [None, Some(33), Some(1000)] {
                    let given = filled(in_rooms(device, kernels, params, &shares), 3, handful);
                    compare(&given, &expected, &format!("{params:?} {means:?}, {shares:?}, {handful:?}"));
                }
            }
        }
    }
}

/// Whole tags, of batches that end at the end of a room, in the middle of it, and behind the last.
#[test]
fn batches_end_in_any_room() {
    let Some(device) = device("batches in rooms") else { return };
    let params = Params::new(70, 2, 2).unwrap();
    let mut argon2 = in_rooms(device, device.argon2().unwrap(), params, &[2, 3, 1]);
    assert_eq!(argon2.width(), 6);
    assert_eq!(argon2.memory(), [2, 3, 1].map(|hashes| bytes(params, hashes)).iter().sum::<u64>());
    let mut hasher = Hasher::new(params);
    let passwords: Vec<_> = (0..9_u32).map(u32::to_le_bytes).collect();
    for count in [1, 2, 4, 5, 6, 9, 3] {
        let mut tags = vec![[0; 32]; count];
        let inputs: Vec<_> =
            passwords[..count].iter().map(|password| Input::new(password, b"somesalt")).collect();
        let mut jobs: Vec<_> =
            inputs.iter().zip(&mut tags).map(|(input, tag)| Job { input: *input, tag }).collect();
        argon2.hash(&mut jobs).unwrap();
        for (input, tag) in inputs.iter().zip(&tags) {
            assert_eq!(*tag, hasher.hash(input).unwrap(), "{count}");
        }
    }
}

#[test]
fn a_device_that_gives_wrong_results_is_found_out() {
    let Some(device) = device("devices that give wrong results") else { return };
    let text = Means::of(device.raw().0).text();
    let portable = Means { words: Words::Pairs, quads: Quads::Shared }.text();
    let wrongs = [
        // Of words: a carry, the product, a rotation.
        (&portable, "u32(low < x.x)", "0u"),
        (&portable, "(left >> 16u) + (right >> 16u)", "(left >> 16u)"),
        (&portable, "(p.y << 1u) | (p.x >> 31u)", "p.y << 1u"),
        (
            &portable,
            "(x >> vec2<u32>(24u)) | (x.yx << vec2<u32>(8u))",
            "(x >> vec2<u32>(24u)) | (x << vec2<u32>(8u))",
        ),
        // Of a quad, a column, what is added at the end.
        (&portable, "words[seat.own.z] = q.c;", ""),
        (&text, "12u + ((k + 3u) & 3u)", "12u + ((k + 2u) & 3u)"),
        (&text, "2u * column + (at & 1u)", "2u * column + (at & 1u ^ 1u)"),
        (&text, "if params.adds != 0u", "if params.adds > 1u"),
        // Of references: whose, which, the address blocks behind the first.
        (&text, "word.y % params.lanes", "word.x % params.lanes"),
        (&text, "params.finished - u32(index == 0u)", "params.finished"),
        (&text, "high_of_product(word.x, word.x)", "high_of_product(word.x, word.y)"),
        (&text, "b = counter + 1u;", "b = 1u;"),
        (&text, "if params.known != 0u", "if params.known > 1u"),
        // Of the place where it goes on.
        (&text, "(params.slice + 3u) & 3u", "(params.slice + 2u) & 3u"),
    ];
    for (text, right, wrong) in wrongs {
        assert!(text.contains(right), "{right}");
        let kernels = compiled(device, &text.replace(right, wrong)).unwrap();
        let params = Params::new(8, 1, 1).unwrap();
        let error =
            Argon2::with_kernels(device, &kernels, params, guess(params).at_most(1)).map(|_| ()).unwrap_err();
        assert_eq!(error, Error::SelfTest { device: device.info().name.clone() }, "{wrong}");
    }
}

#[test]
fn a_kernel_that_does_not_run_to_its_end_is_an_error() {
    let Some(device) = device("kernels that end early") else { return };
    let text = Means::of(device.raw().0).text();
    for (right, wrong) in [
        (
            "if stream >= params.streams {",
            "if stream >= params.streams || (stream == 1u && params.slice == 2u) {",
        ),
        ("marks[stream] = params.step + 1u;", "marks[stream] = max(params.step, 1u);"),
        // One of the references, of the second slice.
        ("    if index < params.segment {", "    if index < params.segment && index + params.slice != 2u {"),
    ] {
        assert!(text.contains(right), "{right}");
        let kernels = compiled(device, &text.replace(right, wrong)).unwrap();
        let params = Params::new(8, 1, 1).unwrap();
        let error =
            Argon2::with_kernels(device, &kernels, params, guess(params).at_most(1)).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Driver { .. }), "{error:?}");
        // In the second room.
        let mut argon2 = in_rooms(device, &kernels, params, &[1, 2]);
        assert!(matches!(argon2.memory.last_blocks(&[[1; 128]; 6], &Stop::new()), Err(Error::Driver { .. })));
        assert_eq!(argon2.memory.rooms.memory(2), vec![[0; 128]; 8], "wiped");
    }
}

#[test]
fn kernels_that_a_driver_does_not_take_are_an_error() {
    let Some(device) = device("kernels that a driver does not take") else { return };
    let text = Means::of(device.raw().0).text();
    for (right, wrong) in [("fn fill(", "fn full("), ("let turn = index & 1u;", "let turn = last & 1u;")] {
        let error = compiled(device, &text.replace(right, wrong)).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Driver { .. }), "{error:?}");
    }
}
