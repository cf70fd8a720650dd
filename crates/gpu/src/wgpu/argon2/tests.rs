//! Comparison of whole memories with the processor's, by every kernel variant of the device, and broken
//! kernels.

use super::fixed_memory::bytes;
use super::kernels::{Quads, Words};
use super::*;
use crate::Selector;
use crate::argon2::schedule::SegmentRanges;
use crate::argon2::{LaneMemory as _, next_ranges};
use crate::wgpu::error_scope::guarded;
use hashmill_hash::argon2::{HashError, Hasher, Input, Job, Stop, Variant, Version, hazmat};
use hashmill_testkit::skip;
use std::sync::OnceLock;

/// The shared device, or `None` with a printed reason.
fn device(what: &str) -> Option<&'static Device> {
    static DEVICE: OnceLock<Option<Device>> = OnceLock::new();
    let device = DEVICE.get_or_init(|| match Device::open(Selector::Best) {
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

/// All kernel variants of the device: the best first, and last the one that every device has.
fn all_kernels(device: &Device) -> Vec<(KernelOptions, Kernels)> {
    let best = KernelOptions::from_device(device.raw().0);
    let mut all = Vec::new();
    for words in [Words::Native, Words::Pairs] {
        for quads in [Quads::Subgroups, Quads::Shared] {
            let there = (words == Words::Pairs || best.words == words)
                && (quads == Quads::Shared || best.quads == quads);
            let options = KernelOptions { words, quads };
            if there {
                all.push((options, compiled(device, &options.text()).unwrap()));
            } else {
                skip(&format!("kernels with {options:?}"), "the device lacks them");
            }
        }
    }
    all
}

/// Inputs and tag lengths of three hashes.
const INPUTS: [(Input<'static>, usize); 3] = [
    (Input::new(b"password", b"somesalt"), 32),
    (Input::new(b"", &[7; 300]).with_secret(b"pepper").with_associated_data(&[9; 77]), 4),
    (Input::new(&[0xff; 1000], b"").with_associated_data(b"x"), 131),
];

/// Memory after `hashes` of these hashes, filled by submissions of `blocks_per_submission` blocks, or as an engine does.
fn memories(
    device: &Device,
    kernels: &Kernels,
    params: Params,
    hashes: usize,
    blocks_per_submission: Option<u32>,
) -> Vec<Vec<[u64; 128]>> {
    let argon2 = Argon2::untested(device, kernels, params, guess(params).at_most(hashes)).unwrap();
    assert_eq!(argon2.width(), hashes);
    filled(argon2, hashes, blocks_per_submission)
}

/// An engine with `sizes` hashes in its parts.
fn in_parts(device: &Device, kernels: &Kernels, params: Params, sizes: &[u32]) -> Argon2 {
    let memory = FixedMemory::new(device.raw(), kernels, params, sizes).unwrap();
    assert!(memory.hashes().eq(sizes.iter().copied()));
    Argon2::with_memory(params, memory, guess(params))
}

/// Its memory after `hashes` hashes were filled.
fn filled(mut argon2: Argon2, hashes: usize, blocks_per_submission: Option<u32>) -> Vec<Vec<[u64; 128]>> {
    let (params, mut first) = (argon2.params, Vec::new());
    for (input, tag_len) in &INPUTS[..hashes] {
        hazmat::first_blocks(argon2.plan, params, input, *tag_len, |_, _, words| first.push(*words)).unwrap();
    }
    argon2.lanes.memory.upload_first_blocks(&first).unwrap();
    let lane_count = hashes as u32 * params.lanes();
    if let Some(blocks) = blocks_per_submission {
        let (mut ranges, mut step) = (SegmentRanges::new(params), 0);
        loop {
            let (submitted, _) = next_ranges(&mut ranges, blocks);
            if submitted.is_empty() {
                break;
            }
            let submission = argon2.lanes.memory.submit_fill(lane_count, &submitted, step, 0).unwrap();
            step += submitted.len() as u32;
            argon2.lanes.memory.wait_for_fill(&submission, step, 0, &Stop::new()).unwrap();
        }
    } else {
        argon2.lanes.fill(lane_count, &Stop::new(), &mut || true).unwrap();
    }
    (0..hashes).map(|hash| argon2.lanes.memory.memory(hash)).collect()
}

fn right(params: Params, hash: usize) -> Vec<[u64; 128]> {
    let (input, tag_len) = &INPUTS[hash];
    hazmat::memory(Plan::host(), params, input, *tag_len).unwrap()
}

fn compare(computed: &[Vec<[u64; 128]>], right: &[Vec<[u64; 128]>], what: &str) {
    for (hash, (computed, right)) in computed.iter().zip(right).enumerate() {
        assert_eq!(computed.len(), right.len());
        for (block, (computed, right)) in computed.iter().zip(right).enumerate() {
            assert_eq!(computed, right, "hash {hash}, block {block}, {what}");
        }
    }
}

/// Shapes with segments of two blocks, memory that does not divide evenly, more than one address block, and
/// several numbers of passes and lanes.
#[test]
fn every_kernel_variant_computes_the_blocks_of_the_processor() {
    let Some(device) = device("memories of Argon2") else { return };
    let shapes = [(8, 1, 1), (9, 2, 1), (71, 3, 2), (100, 2, 3), (128, 1, 4), (1111, 2, 1), (2100, 1, 4)];
    let all = all_kernels(device);
    for (memory, passes, lanes) in shapes {
        for variant in Variant::ALL {
            for version in [Version::V10, Version::V13] {
                if (passes, version) == (1, Version::V10) {
                    // Versions differ in later passes, and in a number that first blocks depend on.
                    continue;
                }
                let params = Params::new(memory, passes, lanes).unwrap();
                let params = params.with_variant(variant).with_version(version);
                let expected: Vec<_> = (0..3).map(|hash| right(params, hash)).collect();
                for (options, kernels) in &all {
                    let what = format!("{params:?} {options:?}");
                    compare(&memories(device, kernels, params, 3, None), &expected, &what);
                }
            }
        }
    }
}

#[test]
fn ranges_continue_at_the_end_of_earlier_ones() {
    let Some(device) = device("ranges of Argon2") else { return };
    let (options, kernels) = &all_kernels(device)[0];
    for variant in Variant::ALL {
        for (memory, passes, lanes) in [(100, 2, 3), (560, 1, 1)] {
            let params = Params::new(memory, passes, lanes).unwrap().with_variant(variant);
            let expected: Vec<_> = (0..2).map(|hash| right(params, hash)).collect();
            for blocks_per_submission in [1, 7, 33, 1000] {
                let computed = memories(device, kernels, params, 2, Some(blocks_per_submission));
                compare(
                    &computed,
                    &expected,
                    &format!("{params:?} {options:?}, {blocks_per_submission} at a time"),
                );
            }
        }
    }
}

#[test]
fn large_memories_are_the_same() {
    let Some(device) = device("large memories of Argon2") else { return };
    let all = all_kernels(device);
    let (best, least) = (&all[0], &all[all.len() - 1]);
    for ((options, kernels), (memory, passes, lanes), hashes) in
        [(best, (1 << 14, 1, 1), 2), (least, (1 << 12, 3, 4), 1), (best, (1 << 16, 1, 4), 1)]
    {
        let params = Params::new(memory, passes, lanes).unwrap();
        let expected: Vec<_> = (0..hashes).map(|hash| right(params, hash)).collect();
        let computed = memories(device, kernels, params, hashes, None);
        compare(&computed, &expected, &format!("{params:?} {options:?}"));
    }
}

#[test]
fn memory_is_wiped_after_a_batch_and_after_a_stop() {
    let Some(device) = device("memories that are wiped") else { return };
    let params = Params::new(64, 2, 2).unwrap();
    let mut argon2 = in_parts(device, device.argon2().unwrap(), params, &[1, 2]);
    let empty = |argon2: &Argon2| {
        (0..3).all(|hash| argon2.lanes.memory.memory(hash).iter().all(|block| *block == [0; 128]))
    };
    let mut tags = [[0; 32]; 3];
    let mut jobs: Vec<_> =
        INPUTS.iter().zip(&mut tags).map(|((input, _), tag)| Job { input: *input, tag }).collect();
    argon2.hash(&mut jobs).unwrap();
    assert!(empty(&argon2));
    let stop = Stop::new();
    stop.set();
    assert_eq!(argon2.hash_until(&mut jobs, &stop), Err(Error::Hash(HashError::Stopped)));
    // Stopped after first blocks reached the device.
    let stopped = argon2.lanes.last_blocks(&[[0x5a; 128]; 12], &stop);
    assert_eq!(stopped.map(|_| ()), Err(Error::Hash(HashError::Stopped)));
    assert!(empty(&argon2));
    assert_eq!(*argon2.lanes.memory.last_blocks(6).unwrap(), [[0; 128]; 6]);
}

#[test]
fn abandoned_batch_does_not_affect_the_next() {
    let Some(device) = device("abandoned batches") else { return };
    let params = Params::new(640, 2, 1).unwrap();
    let mut argon2 = Argon2::new(device, params, 2).unwrap();
    argon2.lanes.memory.upload_first_blocks(&[[0x5a; 128]; 4]).unwrap();
    let (submitted, blocks) = next_ranges(&mut SegmentRanges::new(params), 500);
    assert_eq!(blocks, 500);
    let submission = argon2.lanes.memory.submit_fill(2, &submitted, 0, 1).unwrap();
    argon2.lanes.memory.wait_for_fill(&submission, submitted.len() as u32, 1, &Stop::new()).unwrap();
    assert_ne!(argon2.lanes.memory.memory(1)[400], [0; 128]);
    let input = INPUTS[0].0;
    let mut tag = [0; 32];
    argon2.hash(&mut [Job { input, tag: &mut tag }]).unwrap();
    assert_eq!(tag, Hasher::new(params).hash(&input).unwrap());
}

#[test]
fn parts_are_allocated_until_memory_or_hashes_end() {
    let params = Params::new(1024, 1, 1).unwrap();
    let mib = bytes(params, 2) - bytes(params, 1);
    let rest = bytes(params, 1) - mib;
    let sizes = |memory, most| part_sizes(params, 7, memory, most);
    assert_eq!(sizes(Some(100 * mib), 20), [7, 7, 6]);
    assert_eq!(sizes(Some(100 * mib), 7), [7]);
    assert_eq!(sizes(Some(10 * mib + 2 * rest), u64::MAX), [7, 3]);
    assert_eq!(sizes(Some(10 * mib + 2 * rest - 1), u64::MAX), [7, 2]);
    assert_eq!(sizes(Some(7 * mib + rest), u64::MAX), [7]);
    // At least one hash is requested.
    assert_eq!((sizes(Some(5), 20), sizes(Some(100 * mib), 0)), (vec![1], vec![1]));
    // For a device of unknown memory, no more than it binds.
    assert_eq!((sizes(None, 5), sizes(None, u64::MAX)), (vec![5], vec![7]));
    // 2 GiB on a card of 140.4 GiB that binds three hashes: 66, and the rest is less than a part.
    let (params, memory) = (Params::new(1 << 21, 1, 1).unwrap(), 150_754_820_096 / 20 * 19);
    assert_eq!(part_sizes(params, 3, Some(memory), u64::MAX), [3; 22]);
}

/// Three hashes in parts of different sizes, one of them partly used and one unused.
#[test]
fn parts_are_filled_together() {
    let Some(device) = device("parts") else { return };
    let (options, kernels) = &all_kernels(device)[0];
    for (memory, passes, lanes) in [(560, 2, 1), (100, 3, 3), (2100, 1, 4)] {
        for variant in Variant::ALL {
            let params = Params::new(memory, passes, lanes).unwrap().with_variant(variant);
            let expected: Vec<_> = (0..3).map(|hash| right(params, hash)).collect();
            for sizes in [[1, 1, 1], [2, 1, 2], [1, 7, 1]] {
                for blocks_per_submission in [None, Some(33), Some(1000)] {
                    let computed =
                        filled(in_parts(device, kernels, params, &sizes), 3, blocks_per_submission);
                    compare(
                        &computed,
                        &expected,
                        &format!("{params:?} {options:?}, {sizes:?}, {blocks_per_submission:?}"),
                    );
                }
            }
        }
    }
}

/// Whole tags of batches that end at the end of a part, within a part, and behind the last.
#[test]
fn batches_may_end_in_any_part() {
    let Some(device) = device("batches in parts") else { return };
    let params = Params::new(70, 2, 2).unwrap();
    let mut argon2 = in_parts(device, device.argon2().unwrap(), params, &[2, 3, 1]);
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
fn wrong_results_fail_the_self_test() {
    let Some(device) = device("devices that give wrong results") else { return };
    let text = KernelOptions::from_device(device.raw().0).text();
    let portable = KernelOptions { words: Words::Pairs, quads: Quads::Shared }.text();
    let wrongs = [
        // Words: a carry, the product, a rotation.
        (&portable, "u32(low < x.x)", "0u"),
        (&portable, "(left >> 16u) + (right >> 16u)", "(left >> 16u)"),
        (&portable, "(p.y << 1u) | (p.x >> 31u)", "p.y << 1u"),
        (
            &portable,
            "(x >> vec2<u32>(24u)) | (x.yx << vec2<u32>(8u))",
            "(x >> vec2<u32>(24u)) | (x << vec2<u32>(8u))",
        ),
        // A quad, a column, the addition at the end.
        (&portable, "words[positions.own.z] = q.c;", ""),
        (&text, "12u + ((k + 3u) & 3u)", "12u + ((k + 2u) & 3u)"),
        (&text, "2u * column + (at & 1u)", "2u * column + (at & 1u ^ 1u)"),
        (&text, "if params.adds != 0u", "if params.adds > 1u"),
        // References: their lane, their index, address blocks behind the first.
        (&text, "word.y % params.lanes", "word.x % params.lanes"),
        (&text, "params.finished - u32(index == 0u)", "params.finished"),
        (&text, "high_of_product(word.x, word.x)", "high_of_product(word.x, word.y)"),
        (&text, "b = counter + 1u;", "b = 1u;"),
        (&text, "if params.known != 0u", "if params.known > 1u"),
        // The position where a slice continues.
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
    let text = KernelOptions::from_device(device.raw().0).text();
    for (right, wrong) in [
        (
            "if global_lane >= params.lane_count {",
            "if global_lane >= params.lane_count || (global_lane == 1u && params.slice == 2u) {",
        ),
        ("progress[global_lane] = params.step + 1u;", "progress[global_lane] = max(params.step, 1u);"),
        // One of the references of the second slice.
        ("    if index < params.segment {", "    if index < params.segment && index + params.slice != 2u {"),
    ] {
        assert!(text.contains(right), "{right}");
        let kernels = compiled(device, &text.replace(right, wrong)).unwrap();
        let params = Params::new(8, 1, 1).unwrap();
        let error =
            Argon2::with_kernels(device, &kernels, params, guess(params).at_most(1)).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Driver { .. }), "{error:?}");
        // The same in the second part.
        let mut argon2 = in_parts(device, &kernels, params, &[1, 2]);
        assert!(matches!(argon2.lanes.last_blocks(&[[1; 128]; 6], &Stop::new()), Err(Error::Driver { .. })));
        assert_eq!(argon2.lanes.memory.memory(2), vec![[0; 128]; 8], "wiped");
    }
}

#[test]
fn kernels_that_the_driver_rejects_are_an_error() {
    let Some(device) = device("kernels that a driver rejects") else { return };
    let text = KernelOptions::from_device(device.raw().0).text();
    for (right, wrong) in [("fn fill(", "fn full("), ("let slot = index & 1u;", "let slot = last & 1u;")] {
        let error = compiled(device, &text.replace(right, wrong)).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Driver { .. }), "{error:?}");
    }
}
