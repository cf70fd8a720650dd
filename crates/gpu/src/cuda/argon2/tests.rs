//! Comparison of whole memories with the processor's, on the simulated driver or a card, and kernel failures.

use super::super::driver::Driver;
use super::super::shim::{self, Shim};
use super::lane_schedule::AdvanceRule;
use super::*;
use crate::Selector;
use crate::argon2::schedule::SegmentRanges;
use crate::argon2::{LaneMemory as _, Words, next_ranges, try_for_each_parallel};
use hashmill_hash::argon2::{HashError, Hasher, Input, Job, Variant, Version, hazmat};
use std::sync::MutexGuard;

/// A simulated device and the controls of its driver, locked for one test.
struct ExclusiveShim {
    shim: Shim,
    device: Device,
    _guard: MutexGuard<'static, ()>,
}

/// A device, simulated or a card, locked for one test.
struct ExclusiveDevice {
    device: Device,
    shim: Option<Shim>,
    _guard: MutexGuard<'static, ()>,
}

/// `None`, with a printed reason, where there is no compiler to build the simulated driver.
fn exclusive_device(what: &str) -> Option<ExclusiveDevice> {
    if !shim::on_card() {
        let ExclusiveShim { shim, device, _guard } = exclusive_shim(what)?;
        return Some(ExclusiveDevice { device, shim: Some(shim), _guard });
    }
    let guard = shim::one_at_a_time();
    let device = Device::open(&Driver::load().unwrap(), Selector::Best).expect("HASHMILL_CARD=1 says so");
    Some(ExclusiveDevice { device, shim: None, _guard: guard })
}

fn exclusive_shim(what: &str) -> Option<ExclusiveShim> {
    let shim = Shim::new(what)?;
    let guard = shim.lock();
    // SAFETY: it implements the driver's interface as far as it is called.
    #[allow(unsafe_code, reason = "our own library")]
    let driver = unsafe { Driver::open(shim::library(what)?) }.unwrap();
    Some(ExclusiveShim { device: Device::open(&driver, Selector::Best).unwrap(), shim, _guard: guard })
}

/// Inputs and tag lengths of three hashes.
const INPUTS: [(Input<'static>, usize); 3] = [
    (Input::new(b"password", b"somesalt"), 32),
    (Input::new(b"", &[7; 300]).with_secret(b"pepper").with_associated_data(&[9; 77]), 4),
    (Input::new(&[0xff; 1000], b"").with_associated_data(b"x"), 131),
];

fn first(params: Params) -> Vec<Words> {
    let mut first = Vec::new();
    for (input, tag_len) in &INPUTS {
        hazmat::first_blocks(Plan::host(), params, input, *tag_len, |_, _, words| first.push(*words))
            .unwrap();
    }
    first
}

/// Memory after three hashes, filled by submissions of `blocks_per_submission` blocks, or as an engine does.
fn fill_memory(device: &Device, params: Params, blocks_per_submission: Option<u32>) -> Vec<Vec<Words>> {
    let mut fixed = memory_for_three(device, params);
    fixed.memory.upload_first_blocks(&first(params)).unwrap();
    let (lane_count, never) = (3 * params.lanes(), Stop::new());
    if let Some(blocks) = blocks_per_submission {
        let (mut ranges, mut step) = (SegmentRanges::new(params), 0);
        loop {
            let (submitted, _) = next_ranges(&mut ranges, blocks);
            if submitted.is_empty() {
                break;
            }
            let submission = fixed.memory.submit_fill(lane_count, &submitted, step, 0).unwrap();
            step += submitted.len() as u32;
            fixed.memory.wait_for_fill(&submission, step, 0, &never).unwrap();
        }
    } else {
        fixed.fill(lane_count, &never, &mut || true).unwrap();
    }
    (0..3).map(|hash| fixed.memory.memory(hash)).collect()
}

/// Memory for three hashes.
fn memory_for_three(device: &Device, params: Params) -> FixedEngine<FixedMemory> {
    let submission_time = Tuning::guess(3, 0).submission_time;
    FixedEngine::new(params, FixedMemory::new(device, params, 3, u32::MAX).unwrap(), submission_time)
}

/// An engine whose hashes allocate memory as they advance.
fn growing_engine(device: &Device, params: Params, granules: u32, most: u64) -> Argon2 {
    let (rule, tuning) = (AdvanceRule::from_params(params).unwrap(), Tuning::guess(most, 0));
    let growing = GrowingMemory::with(device, params, rule, granules, tuning).unwrap();
    Argon2::with_memory(params, tuning, Memory::Growing(Box::new(growing)))
}

fn compare_memory(device: &Device, params: Params, blocks_per_submission: Option<u32>) {
    let computed = fill_memory(device, params, blocks_per_submission);
    for (hash, (computed, (input, tag_len))) in computed.iter().zip(&INPUTS).enumerate() {
        let right = hazmat::memory(Plan::host(), params, input, *tag_len).unwrap();
        assert_eq!(computed.len(), right.len());
        for (block, (computed, right)) in computed.iter().zip(&right).enumerate() {
            assert_eq!(computed, right, "hash {hash}, block {block}, {params:?}, {blocks_per_submission:?}");
        }
    }
}

#[test]
fn memory_has_the_blocks_of_the_processor() {
    let Some(ExclusiveDevice { device, .. }) = &exclusive_device("memories of Argon2") else { return };
    let costs = [(8, 1, 1), (9, 2, 1), (71, 3, 2), (128, 1, 4), (560, 2, 1), (1100, 1, 2)];
    let large = shim::by_size(&[(16_384, 1, 1), (16_384, 3, 4)][..], &[]);
    for (memory, passes, lanes) in costs.iter().chain(large).copied() {
        for variant in Variant::ALL {
            for version in [Version::V10, Version::V13] {
                if (passes, version) == (1, Version::V10) {
                    // Versions differ in later passes, and in a number that first blocks depend on.
                    continue;
                }
                let params = Params::new(memory, passes, lanes).unwrap();
                compare_memory(device, params.with_variant(variant).with_version(version), None);
            }
        }
    }
}

#[test]
fn ranges_continue_at_the_end_of_earlier_ones() {
    let Some(ExclusiveDevice { device, .. }) = &exclusive_device("ranges of Argon2") else { return };
    for variant in Variant::ALL {
        for (memory, passes, lanes) in [(100, 2, 3), (560, 1, 1)] {
            for blocks_per_submission in [1, 7, 33, 1000] {
                let params = Params::new(memory, passes, lanes).unwrap().with_variant(variant);
                compare_memory(device, params, Some(blocks_per_submission));
            }
        }
    }
}

#[test]
fn tags_of_all_costs_are_those_of_the_processor_by_either_kernel() {
    let Some(ExclusiveDevice { device, .. }) = &exclusive_device("costs of Argon2") else { return };
    let memories = shim::by_size(&[8, 64, 1024, 65_536][..], &[8, 40]);
    let costs = (1..=3).flat_map(|passes| (1..=4).map(move |lanes| (passes, lanes)));
    let costs = costs.flat_map(|cost| memories.iter().map(move |memory| (cost, *memory)));
    let all: Vec<_> = costs
        .flat_map(|((passes, lanes), memory)| {
            let params = Params::new(memory.max(8 * lanes), passes, lanes).unwrap();
            Variant::ALL.map(|variant| params.with_variant(variant))
        })
        .collect();
    let inputs = [&INPUTS[0].0, &INPUTS[1].0];
    let mut right = vec![[[0; 32]; 2]; all.len()];
    try_for_each_parallel(&mut right, 1, |number, tags| {
        *tags = inputs.map(|input| Hasher::new(all[number]).hash(input).unwrap());
        Ok(())
    })
    .unwrap();
    for (params, right) in all.into_iter().zip(right) {
        for ahead in [0, u32::MAX] {
            let mut tags = [[0; 32]; 2];
            let jobs = inputs.into_iter().zip(&mut tags).map(|(input, tag)| Job { input: *input, tag });
            let mut argon2 = Argon2::fixed(device, params, Tuning::guess(2, ahead)).unwrap();
            argon2.hash(&mut jobs.collect::<Vec<_>>()).unwrap();
            assert_eq!(tags, right, "{params:?}, {ahead}");
        }
    }
}

/// Enough lanes for the kernel without prefetching, whose thread blocks have four lanes; the last block has three.
#[test]
fn many_lanes_are_filled_by_the_kernel_without_prefetching() {
    let Some(ExclusiveDevice { device, shim, .. }) = &exclusive_device("many lanes") else { return };
    let params = Params::new(72, 2, 3).unwrap();
    let count = 11 + 8 * device.multiprocessors() as usize / 3;
    let mut argon2 = Argon2::fixed(device, params, guess(device, params).at_most(count)).unwrap();
    assert_eq!((argon2.width(), argon2.tuning.grow), (count, false));
    let passwords: Vec<_> = (0..count as u32).map(u32::to_le_bytes).collect();
    let mut tags = vec![[0; 32]; count];
    let mut jobs: Vec<_> = passwords
        .iter()
        .zip(&mut tags)
        .map(|(password, tag)| Job { input: Input::new(password, b"somesalt"), tag })
        .collect();
    if let Some(shim) = shim {
        // The prefetching kernel is skipped if it is launched, and the tags are wrong then.
        shim.skip("argon2_fill_ahead", 0);
    }
    argon2.hash(&mut jobs).unwrap();
    let mut hasher = Hasher::new(params);
    for (password, tag) in passwords.iter().zip(&tags) {
        assert_eq!(*tag, hasher.hash(&Input::new(password, b"somesalt")).unwrap());
    }
}

#[test]
fn memory_is_wiped_after_a_batch_and_when_it_was_stopped() {
    let Some(ExclusiveDevice { device, .. }) = &exclusive_device("memories that are wiped") else { return };
    let params = Params::new(64, 2, 2).unwrap();
    let mut fixed = memory_for_three(device, params);
    let empty = |fixed: &FixedEngine<FixedMemory>| {
        (0..3).all(|hash| fixed.memory.memory(hash).iter().all(|block| *block == [0; 128]))
    };
    fixed.last_blocks(&first(params), &Stop::new()).unwrap();
    assert!(empty(&fixed));
    let stop = Stop::new();
    stop.set();
    let stopped = fixed.last_blocks(&first(params), &stop).map(|_| ());
    assert_eq!(stopped, Err(Error::Hash(HashError::Stopped)));
    assert!(empty(&fixed));
    // No last block is all zero, so these are an error.
    assert!(matches!(fixed.memory.last_blocks(6), Err(Error::Driver { .. })));
}

/// The other memories are wiped even if one wipe fails.
#[test]
fn wipes_the_rest_if_one_wipe_fails() {
    let Some(ExclusiveShim { device, shim, .. }) = &exclusive_shim("memories that are not wiped") else {
        return;
    };
    let params = Params::new(64, 2, 2).unwrap();
    let mut fixed = memory_for_three(device, params);
    // Progress, references and last blocks are written before.
    shim.fail("cuMemsetD8Async", 3, 801);
    let error = fixed.last_blocks(&first(params), &Stop::new()).map(|_| ());
    assert!(matches!(error, Err(Error::Cuda(_))), "{error:?}");
    assert!(fixed.memory.memory(0)[0] != [0; 128] && fixed.memory.edge_blocks_are_empty());
    shim.reset();
    let params = Params::new(512, 1, 1).unwrap();
    let rule = AdvanceRule::from_params(params).unwrap();
    let mut argon2 = growing_engine(device, params, rule.granules(512), 2);
    let mut tag = [0; 32];
    shim.fail("cuMemsetD8Async", 0, 801);
    let error = argon2.hash(&mut [Job { input: INPUTS[0].0, tag: &mut tag }]);
    assert!(matches!(error, Err(Error::Cuda(_))), "{error:?}");
    let Memory::Growing(growing) = &mut argon2.lanes else { panic!("it grows") };
    assert!(growing.edge_blocks_are_empty());
}

#[test]
fn a_kernel_that_did_not_run_is_an_error() {
    let Some(ExclusiveShim { device, shim, .. }) = &exclusive_shim("kernels that do not run") else { return };
    let params = Params::new(640, 1, 1).unwrap();
    for (kernel, nth) in
        [("argon2_fill_ahead", 0), ("argon2_fill_ahead", 3), ("argon2_first", 0), ("argon2_last", 0)]
    {
        // With and without results of an earlier hash in the memory.
        for before in [false, true] {
            let mut fixed = memory_for_three(device, params);
            let mut last = || fixed.last_blocks(&first(params), &Stop::new());
            let right = before.then(|| last().unwrap());
            shim.skip(kernel, nth);
            let error = last().map(|_| ());
            assert!(matches!(error, Err(Error::Driver { .. })), "{kernel} {nth} {before}: {error:?}");
            shim.reset();
            let again = last().unwrap();
            assert!(right.is_none_or(|right| *right == *again), "the next is right");
        }
    }
}

/// A kernel whose stop flag is set while it runs ends within some blocks, in each of its loops, and its range does not
/// count.
#[test]
fn a_stopped_kernel_ends_early_and_is_an_error() {
    let Some(ExclusiveShim { device, shim, .. }) = &exclusive_shim("kernels that are stopped") else {
        return;
    };
    const BLOCKS: u32 = 8192;
    for (variant, ahead, kernel) in [
        (Variant::D, 1, "argon2_fill_ahead"),
        (Variant::I, 1, "argon2_fill_ahead"),
        (Variant::I, 0, "argon2_fill"),
    ] {
        let params = Params::new(BLOCKS, 1, 1).unwrap().with_variant(variant);
        let (input, tag_len) = &INPUTS[0];
        let right = hazmat::memory(Plan::host(), params, input, *tag_len).unwrap();
        // Stopped before the launch, at its start, and later: the kernel checks once in 64 blocks, and acts on the
        // value of the previous check.
        for (waits, blocks) in [(None, 2..=2), (Some(0), 64..=68), (Some(2_500), 128..=132)] {
            let mut fixed_memory = FixedMemory::new(device, params, 1, ahead).unwrap();
            fixed_memory.upload_first_blocks(&first(params)[..2]).unwrap();
            let (ranges, _) = next_ranges(&mut SegmentRanges::new(params), BLOCKS / 4 - 2);
            assert_eq!(ranges.len(), 1);
            match waits {
                Some(waits) => shim.stop(kernel, 0, waits),
                None => fixed_memory.stop(),
            }
            let submission = fixed_memory.submit_fill(1, &ranges, 0, 0).unwrap();
            let filled = fixed_memory.wait_for_fill(&submission, 1, 0, &Stop::new());
            assert!(matches!(filled, Err(Error::Driver { .. })), "{kernel} {variant} {waits:?}: {filled:?}");
            let done = fixed_memory
                .memory(0)
                .iter()
                .zip(&right)
                .take_while(|(computed, right)| computed == right)
                .count();
            assert!(blocks.contains(&done), "{kernel} {variant} {waits:?}: {done}");
            // The next kernel is not stopped.
            let mut fixed = FixedEngine::new(params, fixed_memory, Tuning::guess(1, 0).submission_time);
            fixed.memory.wipe(1).unwrap();
            let last = fixed.last_blocks(&first(params)[..2], &Stop::new()).unwrap();
            assert_eq!(last[0], *right.last().unwrap());
        }
    }
    // Growing lanes.
    let params = Params::new(512, 1, 1).unwrap();
    let mut argon2 =
        growing_engine(device, params, AdvanceRule::from_params(params).unwrap().granules(512), 2);
    for (nth, error) in [(0, true), (7, true), (100_000, false)] {
        let mut tag = [0; 32];
        shim.stop("argon2_grow", nth, 0);
        let hashed = argon2.hash(&mut [Job { input: INPUTS[0].0, tag: &mut tag }]);
        assert_eq!(matches!(hashed, Err(Error::Driver { .. })), error, "{nth}: {hashed:?}");
        shim.reset();
    }
}

/// The range takes much longer than the stop request.
#[test]
fn a_range_that_is_stopped_after_its_launch_has_right_first_blocks() {
    let Some(ExclusiveDevice { device, .. }) = &exclusive_device("ranges that are stopped") else { return };
    let blocks = if shim::on_card() { 1 << 18 } else { 4096 };
    for (variant, ahead) in [(Variant::D, 1), (Variant::I, 1), (Variant::I, 0)] {
        let params = Params::new(blocks, 1, 1).unwrap().with_variant(variant);
        let right = hazmat::memory(Plan::host(), params, &INPUTS[0].0, INPUTS[0].1).unwrap();
        let mut fixed_memory = FixedMemory::new(device, params, 1, ahead).unwrap();
        fixed_memory.upload_first_blocks(&first(params)[..2]).unwrap();
        let (ranges, _) = next_ranges(&mut SegmentRanges::new(params), blocks / 4 - 2);
        let submission = fixed_memory.submit_fill(1, &ranges, 0, 0).unwrap();
        fixed_memory.stop();
        let filled = fixed_memory.wait_for_fill(&submission, 1, 0, &Stop::new());
        assert!(matches!(filled, Err(Error::Driver { .. })), "{variant}: {filled:?}");
        let computed = fixed_memory.memory(0);
        let done = computed.iter().zip(&right).take_while(|(computed, right)| computed == right).count();
        assert!((2..blocks as usize / 4).contains(&done), "{variant}: {done}");
        // The next kernel is not stopped.
        let mut fixed = FixedEngine::new(params, fixed_memory, Tuning::guess(1, 0).submission_time);
        let last = fixed.last_blocks(&first(params)[..2], &Stop::new()).unwrap();
        assert_eq!(last[0], *right.last().unwrap());
    }
}

#[test]
fn the_self_test_detects_a_flipped_bit_of_every_kernel() {
    let Some(ExclusiveShim { device, shim, .. }) = &exclusive_shim("bits that flip") else { return };
    // The last of these are kernels for growing lanes.
    for (kernel, nth) in [
        ("argon2_first", 0),
        ("argon2_fill_ahead", 0),
        ("argon2_fill", 0),
        ("argon2_last", 0),
        ("argon2_last", 3),
        ("argon2_grow", 0),
        ("argon2_grow", 5),
        ("argon2_references", 0),
        ("argon2_references", 14),
        ("argon2_references", 29),
    ] {
        shim.flip(kernel, nth);
        let error = Argon2::new(device, Params::new(512, 1, 1).unwrap(), 1).map(|_| ()).unwrap_err();
        assert_eq!(error, Error::SelfTest { device: "Shim 0".to_owned() }, "{kernel} {nth}");
        shim.reset();
    }
    // Without growing lanes, their kernel is not tested.
    shim.flip("argon2_grow", 0);
    assert!(Argon2::new(device, Params::new(512, 2, 1).unwrap(), 1).is_ok());
}

/// References are computed once, and again where one table does not hold all passes.
#[test]
fn references_that_were_not_computed_are_an_error() {
    let Some(ExclusiveShim { device, shim, .. }) = &exclusive_shim("references that are not computed") else {
        return;
    };
    let params = Params::new(64, 20, 2).unwrap().with_variant(Variant::I);
    let mut fixed = memory_for_three(device, params);
    let mut last = || fixed.last_blocks(&first(params), &Stop::new());
    for nth in [0, 5, 63, 64, 79] {
        shim.skip("argon2_references", nth);
        let error = last().map(|_| ());
        assert!(matches!(error, Err(Error::Driver { .. })), "{nth}: {error:?}");
        shim.reset();
        assert!(last().is_ok(), "{nth}: the next is right");
    }
    compare_memory(device, params, None);
    compare_memory(device, params, Some(1000));
    // Existing references are not computed again.
    let params = Params::new(64, 2, 2).unwrap();
    let mut fixed = memory_for_three(device, params);
    fixed.last_blocks(&first(params), &Stop::new()).unwrap();
    shim.skip("argon2_references", 0);
    assert!(fixed.last_blocks(&first(params), &Stop::new()).is_ok());
}

/// Compares the tags of `count` passwords in a growing memory of `granules` granules with the processor's.
fn check_growing_tags(device: &Device, params: Params, granules: u32, most: u64, count: u32) {
    let mut argon2 = growing_engine(device, params, granules, most);
    assert!(argon2.tuning.grow && argon2.width() as u64 <= most);
    let passwords: Vec<_> = (0..count).map(u32::to_le_bytes).collect();
    let mut hasher = Hasher::new(params);
    // Results of one list do not show in the next.
    for passwords in [&passwords[..], &passwords[..1], &[]] {
        let mut tags = vec![[0; 32]; passwords.len()];
        let mut jobs: Vec<_> = passwords
            .iter()
            .zip(&mut tags)
            .map(|(password, tag)| Job { input: Input::new(password, b"somesalt"), tag })
            .collect();
        argon2.hash(&mut jobs).unwrap();
        for (password, tag) in passwords.iter().zip(&tags) {
            let right = hasher.hash::<32>(&Input::new(password, b"somesalt")).unwrap();
            assert_eq!(*tag, right, "{params:?}, {granules} granules, {most}");
        }
    }
}

#[test]
fn hashes_with_growing_memory_have_the_tags_of_the_processor() {
    let Some(ExclusiveDevice { device, .. }) = &exclusive_device("growing lanes") else { return };
    for variant in Variant::ALL {
        for version in [Version::V10, Version::V13] {
            let params = Params::new(512, 1, 1).unwrap().with_variant(variant).with_version(version);
            let whole = AdvanceRule::from_params(params).unwrap().granules(512);
            for (granules, most, count) in [(whole, 5, 3), (3 * whole + 5, 9, 20), (30 * whole, 4, 9)] {
                check_growing_tags(device, params, granules, most, count);
            }
        }
    }
    // Memory that is no multiple of a granule.
    let params = Params::new(1111, 1, 1).unwrap();
    check_growing_tags(
        device,
        params,
        2 * AdvanceRule::from_params(params).unwrap().granules(1111) + 40,
        8,
        9,
    );
    // Usual costs, in a small part of a card.
    let large = shim::by_size(&[(16_384, 3, 9, 30), (262_144, 2, 5, 8)][..], &[]);
    for &(memory, wholes, most, count) in large {
        let params = Params::new(memory, 1, 1).unwrap();
        check_growing_tags(
            device,
            params,
            wholes * AdvanceRule::from_params(params).unwrap().granules(memory) + 5,
            most,
            count,
        );
    }
}

#[test]
fn memory_grows_if_more_hashes_are_wanted_than_fit_as_a_whole() {
    let Some(ExclusiveShim { device, shim, .. }) = &exclusive_shim("the choice of growing lanes") else {
        return;
    };
    shim.memory(40 << 20);
    let engine = |passes, most| Argon2::new(device, Params::new(4096, passes, 1).unwrap(), most).unwrap();
    let two_passes = engine(2, 100);
    assert_eq!((two_passes.tuning.grow, two_passes.width()), (false, 9), "as many as fit");
    drop(two_passes);
    let few = engine(1, 5);
    assert_eq!((few.tuning.grow, few.width()), (false, 5));
    drop(few);
    let many = engine(1, 100);
    assert!(many.tuning.grow && (13..=16).contains(&many.width()), "{}", many.width());
    assert!(many.memory() < 40 << 20);
}

/// The rest of the memory suffices to start one more growing hash, but not to finish it.
#[test]
fn one_hash_that_just_fits_has_fixed_memory() {
    let Some(ExclusiveShim { device, shim, .. }) = &exclusive_shim("memory for one hash") else { return };
    let params = Params::new(4096, 1, 1).unwrap();
    for memory in [4300, 5 << 10, 6 << 10] {
        shim.memory(memory << 10);
        let mut argon2 = Argon2::new(device, params, 2).unwrap();
        assert_eq!((argon2.tuning.grow, argon2.width()), (false, 1), "{memory}");
        let mut tag = [0; 32];
        let input = Input::new(b"password", b"somesalt");
        argon2.hash(&mut [Job { input, tag: &mut tag }]).unwrap();
        assert_eq!(tag, Hasher::new(params).hash(&input).unwrap());
    }
}

#[test]
fn failed_growing_lanes_are_errors_and_do_not_affect_later_ones() {
    let Some(ExclusiveShim { device, shim, .. }) = &exclusive_shim("growing lanes that go wrong") else {
        return;
    };
    let params = Params::new(512, 1, 1).unwrap();
    let rule = AdvanceRule::from_params(params).unwrap();
    let mut argon2 = growing_engine(device, params, 2 * rule.granules(512) + 9, 6);
    // References are computed once for all hashes.
    for nth in [0, 1] {
        shim.skip("argon2_references", nth);
        let result = GrowingMemory::small(device, params, Tuning::guess(2, 0)).map(|_| ());
        assert!(matches!(result, Err(Error::Driver { .. })), "{nth}: {result:?}");
    }
    let mut tags = vec![[0; 32]; 12];
    let mut hash = |argon2: &mut Argon2, stop: &Stop| {
        tags.fill([0xa5; 32]);
        let job = |tag| Job { input: Input::new(b"password", b"somesalt"), tag };
        argon2.hash_until(&mut tags.iter_mut().map(|tag| job(tag)).collect::<Vec<_>>(), stop)
    };
    let never = Stop::new();
    for nth in [0, 1, 7] {
        shim.skip("argon2_grow", nth);
        let error = hash(&mut argon2, &never);
        assert!(matches!(error, Err(Error::Driver { .. })), "{nth}: {error:?}");
        shim.reset();
        assert_eq!(hash(&mut argon2, &never), Ok(()), "the next is right");
    }
    // Progress of an aborted list does not count for the next list.
    shim.skip("argon2_grow", 1);
    assert!(matches!(hash(&mut argon2, &never), Err(Error::Driver { .. })));
    shim.skip("argon2_grow", 0);
    let error = hash(&mut argon2, &never);
    assert!(matches!(error, Err(Error::Driver { .. })), "{error:?}");
    let stop = Stop::new();
    stop.set();
    assert_eq!(hash(&mut argon2, &stop), Err(Error::Hash(HashError::Stopped)));
    assert_eq!(hash(&mut argon2, &never), Ok(()));
    let right: [u8; 32] = Hasher::new(params).hash(&Input::new(b"password", b"somesalt")).unwrap();
    assert!(tags.iter().all(|tag| *tag == right));
}
