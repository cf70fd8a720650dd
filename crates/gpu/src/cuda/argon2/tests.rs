//! Whole memories beside the processor's, on a driver without a card or on a card, and kernels that go wrong.

use super::super::driver::Driver;
use super::super::shim::{self, Shim};
use super::grow::Course;
use super::*;
use crate::argon2::schedule::Strips;
use crate::argon2::{Rooms as _, Words, by_threads, together};
use hashmill_hash::argon2::{HashError, Hasher, Input, Variant, Version, hazmat};
use std::sync::MutexGuard;

/// A device of the driver without a card, and what tests say to that, for one test at a time.
struct Alone {
    shim: Shim,
    device: Device,
    _guard: MutexGuard<'static, ()>,
}

/// A device that nobody else has meanwhile: of the driver without a card, or a card.
struct Held {
    device: Device,
    shim: Option<Shim>,
    _guard: MutexGuard<'static, ()>,
}

/// Nothing, said aloud, where there is no compiler to make its driver.
fn held(what: &str) -> Option<Held> {
    if !shim::on_card() {
        let Alone { shim, device, _guard } = alone(what)?;
        return Some(Held { device, shim: Some(shim), _guard });
    }
    let guard = shim::one_at_a_time();
    let device = Device::best().expect("HASHMILL_CARD=1 says so");
    Some(Held { device, shim: None, _guard: guard })
}

fn alone(what: &str) -> Option<Alone> {
    let shim = Shim::new(what)?;
    let guard = shim.alone();
    // SAFETY: it does what the driver's interface promises, as far as it is called.
    #[allow(unsafe_code, reason = "our own library")]
    let driver = unsafe { Driver::open(shim::library(what)?) }.unwrap();
    Some(Alone { device: Device::best_of(&driver).unwrap(), shim, _guard: guard })
}

/// Three hashes that have nothing in common but their parameters.
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

/// What memory is like after three hashes, filled in handfuls of so many blocks, or as it is usually done.
fn filled(device: &Device, params: Params, handful: Option<u32>) -> Vec<Vec<Words>> {
    let mut fixed = three(device, params);
    fixed.rooms.begin(&first(params)).unwrap();
    let (streams, never) = (3 * params.lanes(), Stop::new());
    if let Some(blocks) = handful {
        let (mut strips, mut step) = (Strips::new(params), 0);
        loop {
            let (handful, _) = together(&mut strips, blocks);
            if handful.is_empty() {
                break;
            }
            let way = fixed.rooms.fill(streams, &handful, step, 0).unwrap();
            step += handful.len() as u32;
            fixed.rooms.filled(&way, step, 0, &never).unwrap();
        }
    } else {
        fixed.fill(streams, &never).unwrap();
    }
    (0..3).map(|hash| fixed.rooms.memory(hash)).collect()
}

/// Memory for three hashes.
fn three(device: &Device, params: Params) -> Fixed<Room> {
    let strip = Tuning::guess(3, 0).strip;
    Fixed::new(params, Room::new(device, params, 3, u32::MAX).unwrap(), strip)
}

/// By memory that is given to hashes as they advance.
fn growing(device: &Device, params: Params, granules: u32, most: u64) -> Argon2 {
    let (course, tuning) = (Course::of(params).unwrap(), Tuning::guess(most, 0));
    let growing = Growing::with(device, params, course, granules, tuning).unwrap();
    Argon2::with(device, params, tuning, Memory::Growing(Box::new(growing)))
}

fn compare(device: &Device, params: Params, handful: Option<u32>) {
    let given = filled(device, params, handful);
    for (hash, (given, (input, tag_len))) in given.iter().zip(&INPUTS).enumerate() {
        let right = hazmat::memory(Plan::host(), params, input, *tag_len).unwrap();
        assert_eq!(given.len(), right.len());
        for (block, (given, right)) in given.iter().zip(&right).enumerate() {
            assert_eq!(given, right, "hash {hash}, block {block}, {params:?}, {handful:?}");
        }
    }
}

#[test]
fn memory_is_filled_as_the_processor_does() {
    let Some(Held { device, .. }) = &held("memories of Argon2") else { return };
    let costs = [(8, 1, 1), (9, 2, 1), (71, 3, 2), (128, 1, 4), (560, 2, 1), (1100, 1, 2)];
    let large = shim::by_size(&[(16_384, 1, 1), (16_384, 3, 4)][..], &[]);
    for (memory, passes, lanes) in costs.iter().chain(large).copied() {
        for variant in Variant::ALL {
            for version in [Version::V10, Version::V13] {
                if (passes, version) == (1, Version::V10) {
                    // Versions differ in later passes, and in a number that first blocks are made of.
                    continue;
                }
                let params = Params::new(memory, passes, lanes).unwrap();
                compare(device, params.with_variant(variant).with_version(version), None);
            }
        }
    }
}

#[test]
fn ranges_go_on_where_those_before_ended() {
    let Some(Held { device, .. }) = &held("ranges of Argon2") else { return };
    for variant in Variant::ALL {
        for (memory, passes, lanes) in [(100, 2, 3), (560, 1, 1)] {
            for handful in [1, 7, 33, 1000] {
                let params = Params::new(memory, passes, lanes).unwrap().with_variant(variant);
                compare(device, params, Some(handful));
            }
        }
    }
}

#[test]
fn tags_of_all_costs_are_those_of_the_processor_by_either_kernel() {
    let Some(Held { device, .. }) = &held("costs of Argon2") else { return };
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
    by_threads(&mut right, 1, |number, tags| {
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

/// So many lanes that nothing is fetched ahead, and four of them are in a block of threads; one of the last is missing.
#[test]
fn many_lanes_are_filled_by_the_other_kernel() {
    let Some(Held { device, shim, .. }) = &held("many lanes") else { return };
    let params = Params::new(72, 2, 3).unwrap();
    let count = 11 + 8 * device.multiprocessors() as usize / 3;
    let mut argon2 = Argon2::fixed(device, params, guess(device, params).at_most(count)).unwrap();
    assert_eq!((argon2.width(), argon2.grows()), (count, false));
    let passwords: Vec<_> = (0..count as u32).map(u32::to_le_bytes).collect();
    let mut tags = vec![[0; 32]; count];
    let mut jobs: Vec<_> = passwords
        .iter()
        .zip(&mut tags)
        .map(|(password, tag)| Job { input: Input::new(password, b"somesalt"), tag })
        .collect();
    if let Some(shim) = shim {
        // A launch of the other kernel would be lost in vain.
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
    let Some(Held { device, .. }) = &held("memories that are wiped") else { return };
    let params = Params::new(64, 2, 2).unwrap();
    let mut fixed = three(device, params);
    let empty = |fixed: &Fixed<Room>| {
        (0..3).all(|hash| fixed.rooms.memory(hash).iter().all(|block| *block == [0; 128]))
    };
    fixed.last_blocks(&first(params), &Stop::new()).unwrap();
    assert!(empty(&fixed));
    let stop = Stop::new();
    stop.set();
    let stopped = fixed.last_blocks(&first(params), &stop).map(|_| ());
    assert_eq!(stopped, Err(Error::Hash(HashError::Stopped)));
    assert!(empty(&fixed));
    // No last block is empty, so these are not.
    assert!(matches!(fixed.rooms.last_blocks(6), Err(Error::Driver { .. })));
}

/// Of all that is to be wiped one after another, each is, though the first is refused.
#[test]
fn what_can_be_wiped_is_where_the_device_refuses_one() {
    let Some(Alone { device, shim, .. }) = &alone("memories that are not wiped") else { return };
    let params = Params::new(64, 2, 2).unwrap();
    let mut fixed = three(device, params);
    // Marks, references and last blocks are written before.
    shim.fail("cuMemsetD8Async", 3, 801);
    let error = fixed.last_blocks(&first(params), &Stop::new()).map(|_| ());
    assert!(matches!(error, Err(Error::Cuda(_))), "{error:?}");
    assert!(fixed.rooms.memory(0)[0] != [0; 128] && fixed.rooms.ends_are_empty());
    shim.reset();
    let params = Params::new(512, 1, 1).unwrap();
    let course = Course::of(params).unwrap();
    let mut argon2 = growing(device, params, course.granules(512), 2);
    let mut tag = [0; 32];
    shim.fail("cuMemsetD8Async", 0, 801);
    let error = argon2.hash(&mut [Job { input: INPUTS[0].0, tag: &mut tag }]);
    assert!(matches!(error, Err(Error::Cuda(_))), "{error:?}");
    let Memory::Growing(growing) = &mut argon2.memory else { panic!("it grows") };
    assert!(growing.ends_are_empty());
}

#[test]
fn a_kernel_that_did_not_run_is_an_error() {
    let Some(Alone { device, shim, .. }) = &alone("kernels that do not run") else { return };
    let params = Params::new(640, 1, 1).unwrap();
    for (kernel, nth) in
        [("argon2_fill_ahead", 0), ("argon2_fill_ahead", 3), ("argon2_first", 0), ("argon2_last", 0)]
    {
        // What a hash has left changes nothing.
        for before in [false, true] {
            let mut fixed = three(device, params);
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

/// A kernel that is asked to stop while it is at work does so soon, whichever loop it is in, and its strip does not count.
#[test]
fn a_kernel_that_is_asked_to_stop_ends_early_and_is_not_taken_for_one_that_ran() {
    let Some(Alone { device, shim, .. }) = &alone("kernels that are asked to stop") else { return };
    const BLOCKS: u32 = 8192;
    for (variant, ahead, kernel) in [
        (Variant::D, 1, "argon2_fill_ahead"),
        (Variant::I, 1, "argon2_fill_ahead"),
        (Variant::I, 0, "argon2_fill"),
    ] {
        let params = Params::new(BLOCKS, 1, 1).unwrap().with_variant(variant);
        let (input, tag_len) = &INPUTS[0];
        let right = hazmat::memory(Plan::host(), params, input, *tag_len).unwrap();
        // Before it is launched, at its beginning, and later: it looks once in 64 blocks, and heeds what it saw the time before.
        for (waits, blocks) in [(None, 2..=2), (Some(0), 64..=68), (Some(2_500), 128..=132)] {
            let mut room = Room::new(device, params, 1, ahead).unwrap();
            room.begin(&first(params)[..2]).unwrap();
            let (strips, _) = together(&mut Strips::new(params), BLOCKS / 4 - 2);
            assert_eq!(strips.len(), 1);
            match waits {
                Some(waits) => shim.stop(kernel, 0, waits),
                None => room.stop(),
            }
            let way = room.fill(1, &strips, 0, 0).unwrap();
            let filled = room.filled(&way, 1, 0, &Stop::new());
            assert!(matches!(filled, Err(Error::Driver { .. })), "{kernel} {variant} {waits:?}: {filled:?}");
            let done = room.memory(0).iter().zip(&right).take_while(|(given, right)| given == right).count();
            assert!(blocks.contains(&done), "{kernel} {variant} {waits:?}: {done}");
            // The next is not asked.
            let mut fixed = Fixed::new(params, room, Tuning::guess(1, 0).strip);
            fixed.rooms.wipe(1).unwrap();
            let last = fixed.last_blocks(&first(params)[..2], &Stop::new()).unwrap();
            assert_eq!(last[0], *right.last().unwrap());
        }
    }
    // Lanes that grow.
    let params = Params::new(512, 1, 1).unwrap();
    let mut argon2 = growing(device, params, Course::of(params).unwrap().granules(512), 2);
    for (nth, error) in [(0, true), (7, true), (100_000, false)] {
        let mut tag = [0; 32];
        shim.stop("argon2_grow", nth, 0);
        let hashed = argon2.hash(&mut [Job { input: INPUTS[0].0, tag: &mut tag }]);
        assert_eq!(matches!(hashed, Err(Error::Driver { .. })), error, "{nth}: {hashed:?}");
        shim.reset();
    }
}

/// However soon a device comes to it: a strip that takes much longer than it takes to ask.
#[test]
fn a_strip_that_is_asked_to_stop_after_it_was_launched_is_the_beginning_of_one() {
    let Some(Held { device, .. }) = &held("strips that are asked to stop") else { return };
    let blocks = if shim::on_card() { 1 << 18 } else { 4096 };
    for (variant, ahead) in [(Variant::D, 1), (Variant::I, 1), (Variant::I, 0)] {
        let params = Params::new(blocks, 1, 1).unwrap().with_variant(variant);
        let right = hazmat::memory(Plan::host(), params, &INPUTS[0].0, INPUTS[0].1).unwrap();
        let mut room = Room::new(device, params, 1, ahead).unwrap();
        room.begin(&first(params)[..2]).unwrap();
        let (strips, _) = together(&mut Strips::new(params), blocks / 4 - 2);
        let way = room.fill(1, &strips, 0, 0).unwrap();
        room.stop();
        let filled = room.filled(&way, 1, 0, &Stop::new());
        assert!(matches!(filled, Err(Error::Driver { .. })), "{variant}: {filled:?}");
        let given = room.memory(0);
        let done = given.iter().zip(&right).take_while(|(given, right)| given == right).count();
        assert!((2..blocks as usize / 4).contains(&done), "{variant}: {done}");
        // The next is not asked.
        let mut fixed = Fixed::new(params, room, Tuning::guess(1, 0).strip);
        let last = fixed.last_blocks(&first(params)[..2], &Stop::new()).unwrap();
        assert_eq!(last[0], *right.last().unwrap());
    }
}

#[test]
fn a_bit_that_flips_while_a_device_is_tested_is_found() {
    let Some(Alone { device, shim, .. }) = &alone("bits that flip") else { return };
    // The last of these are those of lanes that grow.
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
    // Where lanes cannot grow, nobody asks.
    shim.flip("argon2_grow", 0);
    assert!(Argon2::new(device, Params::new(512, 2, 1).unwrap(), 1).is_ok());
}

/// They are made once, and again where there are so many passes that a table has only some of them.
#[test]
fn references_that_were_not_made_are_an_error() {
    let Some(Alone { device, shim, .. }) = &alone("references that are not made") else { return };
    let params = Params::new(64, 20, 2).unwrap().with_variant(Variant::I);
    let mut fixed = three(device, params);
    let mut last = || fixed.last_blocks(&first(params), &Stop::new());
    for nth in [0, 5, 63, 64, 79] {
        shim.skip("argon2_references", nth);
        let error = last().map(|_| ());
        assert!(matches!(error, Err(Error::Driver { .. })), "{nth}: {error:?}");
        shim.reset();
        assert!(last().is_ok(), "{nth}: the next is right");
    }
    compare(device, params, None);
    compare(device, params, Some(1000));
    // Nothing is made that is there.
    let params = Params::new(64, 2, 2).unwrap();
    let mut fixed = three(device, params);
    fixed.last_blocks(&first(params), &Stop::new()).unwrap();
    shim.skip("argon2_references", 0);
    assert!(fixed.last_blocks(&first(params), &Stop::new()).is_ok());
}

/// Tags of so many passwords by growing memory of so many granules, beside the processor's.
fn grown(device: &Device, params: Params, granules: u32, most: u64, count: u32) {
    let mut argon2 = growing(device, params, granules, most);
    assert!(argon2.grows() && argon2.width() as u64 <= most);
    let passwords: Vec<_> = (0..count).map(u32::to_le_bytes).collect();
    let mut hasher = Hasher::new(params);
    // Nothing of one list is seen in the next.
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
fn hashes_that_take_memory_as_they_advance_have_the_tags_of_the_processor() {
    let Some(Held { device, .. }) = &held("growing lanes") else { return };
    for variant in Variant::ALL {
        for version in [Version::V10, Version::V13] {
            let params = Params::new(512, 1, 1).unwrap().with_variant(variant).with_version(version);
            let whole = Course::of(params).unwrap().granules(512);
            for (granules, most, count) in [(whole, 5, 3), (3 * whole + 5, 9, 20), (30 * whole, 4, 9)] {
                grown(device, params, granules, most, count);
            }
        }
    }
    // Memory that is no multiple of a granule.
    let params = Params::new(1111, 1, 1).unwrap();
    grown(device, params, 2 * Course::of(params).unwrap().granules(1111) + 40, 8, 9);
    // As much as people take, in a small part of a card.
    let large = shim::by_size(&[(16_384, 3, 9, 30), (262_144, 2, 5, 8)][..], &[]);
    for &(memory, wholes, most, count) in large {
        let params = Params::new(memory, 1, 1).unwrap();
        grown(device, params, wholes * Course::of(params).unwrap().granules(memory) + 5, most, count);
    }
}

#[test]
fn growing_is_what_is_done_where_more_hashes_are_wanted_than_fit_as_a_whole() {
    let Some(Alone { device, shim, .. }) = &alone("the choice of growing lanes") else { return };
    shim.memory(40 << 20);
    let made = |passes, most| Argon2::new(device, Params::new(4096, passes, 1).unwrap(), most).unwrap();
    let two_passes = made(2, 100);
    assert_eq!((two_passes.grows(), two_passes.width()), (false, 9), "as many as fit");
    drop(two_passes);
    let few = made(1, 5);
    assert_eq!((few.grows(), few.width()), (false, 5));
    drop(few);
    let many = made(1, 100);
    assert!(many.grows() && (13..=16).contains(&many.width()), "{}", many.width());
    assert!(many.memory() < 40 << 20);
}

/// A pool of what is left besides feeds one hash there, and holds none to its end.
#[test]
fn one_hash_that_just_fits_has_its_memory_from_the_beginning() {
    let Some(Alone { device, shim, .. }) = &alone("memory for one hash") else { return };
    let params = Params::new(4096, 1, 1).unwrap();
    for memory in [4300, 5 << 10, 6 << 10] {
        shim.memory(memory << 10);
        let mut argon2 = Argon2::new(device, params, 2).unwrap();
        assert_eq!((argon2.grows(), argon2.width()), (false, 1), "{memory}");
        let mut tag = [0; 32];
        let input = Input::new(b"password", b"somesalt");
        argon2.hash(&mut [Job { input, tag: &mut tag }]).unwrap();
        assert_eq!(tag, Hasher::new(params).hash(&input).unwrap());
    }
}

#[test]
fn growing_lanes_that_go_wrong_are_errors_and_leave_nothing_behind() {
    let Some(Alone { device, shim, .. }) = &alone("growing lanes that go wrong") else { return };
    let params = Params::new(512, 1, 1).unwrap();
    let course = Course::of(params).unwrap();
    let mut argon2 = growing(device, params, 2 * course.granules(512) + 9, 6);
    // References are made once for all hashes.
    for nth in [0, 1] {
        shim.skip("argon2_references", nth);
        let made = Growing::small(device, params, Tuning::guess(2, 0)).map(|_| ());
        assert!(matches!(made, Err(Error::Driver { .. })), "{nth}: {made:?}");
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
    // Marks that a list has left where it broke off are not those of the next.
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
