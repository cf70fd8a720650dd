//! Argon2 and searches for nonces, as a program uses them: known tags, batches, what is stopped, what is refused, wrong hits.

use crate::Alone;
use hashmill_gpu::Error;
use hashmill_gpu::cuda::{Argon2, Device, Nonces};
use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{
    HashError, Hasher, Input, Job, PagePolicy, Params, Plan, Stop, Variant, Version,
};
use hashmill_hash::engine::{EngineError, Hit, NonceEngine, NonceJob, Searched, Watch, self_test};
use std::ops::Range;
use std::sync::Mutex;
use std::time::Duration;

fn params(memory: u32, passes: u32, lanes: u32) -> Params {
    Params::new(memory, passes, lanes).unwrap()
}

fn one(device: &Device, params: Params, input: Input<'_>) -> [u8; 32] {
    let mut tag = [0; 32];
    Argon2::new(device, params, 1).unwrap().hash(&mut [Job { input, tag: &mut tag }]).unwrap();
    tag
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// RFC 9106, sections 5.1 to 5.3; and the same in version 1.0, as the reference implementation (phc-winner-argon2, CC0) lists it.
#[test]
fn the_vectors_of_the_standard_come_out() {
    let Some(alone) = Alone::new("vectors of Argon2") else { return };
    let device = alone.device();
    let known = [
        (Version::V13, Variant::D, "512b391b6f1162975371d30919734294f868e3be3984f3c1a13a4db9fabe4acb"),
        (Version::V13, Variant::I, "c814d9d1dc7f37aa13f0d77f2494bda1c8de6b016dd388d29952a4c4672b6ce8"),
        (Version::V13, Variant::Id, "0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659"),
        (Version::V10, Variant::D, "96a9d4e5a1734092c85e29f410a45914a5dd1f5cbf08b2670da68a0285abf32b"),
        (Version::V10, Variant::I, "87aeedd6517ab830cd9765cd8231abb2e647a5dee08f7c05e02fcb763335d0fd"),
        (Version::V10, Variant::Id, "b64615f07789b66b645b67ee9ed3b377ae350b6bfcbb0fc95141ea8f322613c0"),
    ];
    let input = Input::new(&[1; 32], &[2; 16]).with_secret(&[3; 8]).with_associated_data(&[4; 12]);
    for (version, variant, tag) in known {
        let params = params(32, 3, 4).with_variant(variant).with_version(version);
        assert_eq!(hex(&one(&device, params, input)), tag, "{params:?}");
    }
}

/// Inputs of every length, and more of them than go side by side.
#[test]
fn jobs_of_different_lengths_have_the_tags_of_the_processor() {
    let Some(alone) = Alone::new("batches of Argon2") else { return };
    let device = alone.device();
    let bytes: Vec<u8> = (0..2000_u32).map(|i| (i * 7 + i / 251) as u8).collect();
    for (params, most) in [(params(64, 2, 3), 4), (params(8, 1, 1), 40), (params(300, 1, 2), 1)] {
        let mut argon2 = Argon2::new(&device, params, most).unwrap();
        assert_eq!(argon2.width(), most);
        // Nothing of one batch is seen in the next.
        for count in [0, 1, most, 2 * most + 1] {
            let input = |i: usize| {
                Input::new(&bytes[..i * 13 % 700], &bytes[i..i + i * 5 % 300])
                    .with_secret(&bytes[..i % 3 * 40])
                    .with_associated_data(&bytes[..i % 4 * 99])
            };
            let mut tags: Vec<_> = (0..count).map(|i| vec![0; 4 + i * 11 % 140]).collect();
            let mut jobs: Vec<_> =
                tags.iter_mut().enumerate().map(|(i, tag)| Job { input: input(i), tag }).collect();
            argon2.hash(&mut jobs).unwrap();
            let mut hasher = Hasher::new(params);
            for (i, tag) in tags.iter().enumerate() {
                let mut right = vec![0; tag.len()];
                hasher.hash_into(&input(i), &mut right).unwrap();
                assert_eq!(*tag, right, "{params:?}, {i} of {count}");
            }
        }
    }
}

/// None of them changes a tag, one from a file that asks for more than there is does no harm, and what is in use can be asked for again.
#[test]
fn every_tuning_gives_the_same_tags() {
    let Some(alone) = Alone::new("tunings of Argon2") else { return };
    let device = alone.device();
    let (params, input) = (params(512, 1, 1), Input::new(b"password", b"somesalt"));
    let right: [u8; 32] = Hasher::new(params).hash(&input).unwrap();
    alone.shim.memory(3 << 20);
    let tunings = device.tunings(params).unwrap();
    assert_eq!(tunings[0].hashes, 4 * 28, "28 lanes for each of four multiprocessors");
    let mut grown = 0;
    let more = tunings[0].to_string().replace("hashes=112", "hashes=4294967295").parse().unwrap();
    for tuning in tunings.into_iter().chain([more]) {
        let mut argon2 = Argon2::tuned(&device, params, tuning).unwrap();
        let used = argon2.tuning();
        assert!(used.hashes < 12 && used.grow == argon2.grows(), "{used} of {tuning}");
        grown += usize::from(used.grow);
        let mut tags = [[0; 32]; 7];
        let jobs = tags.iter_mut().map(|tag| Job { input, tag });
        argon2.hash(&mut jobs.collect::<Vec<_>>()).unwrap();
        assert_eq!(tags, [right; 7], "{tuning}");
        drop(argon2);
        assert_eq!(Argon2::tuned(&device, params, used).unwrap().tuning(), used, "asked for again");
    }
    assert!(grown > 2, "{grown}");
}

#[test]
fn a_hash_that_is_stopped_says_so_and_the_next_one_is_right() {
    let Some(alone) = Alone::new("hashes that are stopped") else { return };
    let device = alone.device();
    let mut argon2 = Argon2::new(&device, params(4096, 100_000, 2), 1).unwrap();
    let (stop, mut tag) = (Stop::new(), [0xa5; 32]);
    let mut job = [Job { input: Input::new(b"password", b"somesalt"), tag: &mut tag }];
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            stop.set();
        });
        argon2.hash_until(&mut job, &stop)
    });
    assert_eq!(stopped, Err(Error::Hash(HashError::Stopped)));
    assert_eq!(tag, [0xa5; 32], "untouched");
    let (params, input) = (params(400, 1, 2), Input::new(b"password", b"somesalt"));
    assert_eq!(one(&device, params, input), Hasher::new(params).hash(&input).unwrap());
}

#[test]
fn a_room_that_was_stopped_gives_the_next_hash_right() {
    let Some(alone) = Alone::new("rooms that were stopped") else { return };
    let params = params(4096, 3, 1);
    let mut argon2 = Argon2::new(&alone.device(), params, 1).unwrap();
    let (stop, mut tag, input) = (Stop::new(), [0; 32], Input::new(b"password", b"somesalt"));
    let mut stopped = false;
    // Sooner and sooner, until it is not done before.
    for micros in [4000, 2000, 1000, 500, 250, 0] {
        stop.clear();
        stopped |= std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_micros(micros));
                stop.set();
            });
            argon2.hash_until(&mut [Job { input, tag: &mut tag }], &stop).is_err()
        });
        stop.clear();
        tag = [0; 32];
        argon2.hash(&mut [Job { input, tag: &mut tag }]).unwrap();
        assert_eq!(tag, Hasher::new(params).hash::<32>(&input).unwrap());
    }
    assert!(stopped, "once at least");
}

#[test]
fn lengths_out_of_range_are_refused_and_cost_nothing() {
    let Some(alone) = Alone::new("hashes that cannot be") else { return };
    let mut argon2 = Argon2::new(&alone.device(), params(64, 1, 1), 2).unwrap();
    let (mut good, mut short) = ([0; 16], [0; 3]);
    let input = Input::new(b"password", b"somesalt");
    let mut jobs = [Job { input, tag: &mut good }, Job { input, tag: &mut short }];
    assert_eq!(argon2.hash(&mut jobs), Err(Error::Hash(HashError::TagLen { given: 3 })));
    assert_eq!(good, [0; 16], "untouched");
    argon2.hash(&mut [Job { input, tag: &mut good }]).unwrap();
    assert_eq!(good, Hasher::new(params(64, 1, 1)).hash::<16>(&input).unwrap());
}

#[test]
fn a_hash_for_which_there_is_no_memory_is_an_error() {
    let Some(alone) = Alone::new("hashes without memory") else { return };
    let device = alone.device();
    alone.shim.memory(8 << 20);
    let error = Argon2::new(&device, params(16 << 10, 1, 1), 1).map(|_| ()).unwrap_err();
    assert_eq!(error, Error::OutOfMemory { bytes: 16 << 20 });
    let argon2 = Argon2::new(&device, params(1 << 10, 2, 1), 100).unwrap();
    assert_eq!(argon2.width(), 7, "as many as fit");
}

const HEADER: &[u8] = b"a header of forty bytes, nonce inside it";

fn salted(memory: u32, passes: u32) -> Pow {
    Pow::new(params(memory, passes, 1), Recipe::NonceIsPassword { header_len: None }, Order::BigEndian)
}

fn found(
    engine: &mut dyn NonceEngine,
    target: [u8; 32],
    nonces: Range<u64>,
    watch: &Watch,
) -> Result<(Searched, Vec<Hit>), EngineError> {
    let hits = Mutex::new(Vec::new());
    let note = |hit| hits.lock().unwrap().push(hit);
    let searched = engine.search(&NonceJob::new(HEADER, target), nonces, watch, &note)?;
    let mut hits = hits.into_inner().unwrap();
    hits.sort_unstable_by_key(|hit: &Hit| hit.nonce);
    Ok((searched, hits))
}

#[test]
fn a_search_finds_what_the_processor_finds() {
    let Some(alone) = Alone::new("searches for nonces") else { return };
    let device = alone.device();
    let inside = Recipe::NonceInHeader { offset: 28, len: 4, salt_len: 16 };
    for pow in [salted(256, 1), Pow::new(params(100, 2, 3), inside, Order::LittleEndian)] {
        let mut ours = Nonces::new(&device, pow, 7).unwrap();
        assert_eq!((ours.limits().in_flight, ours.limits().batch), (7, 7));
        assert_eq!(ours.name(), device.info().name);
        let mut theirs = SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 1).unwrap();
        let mut target = [0xff; 32];
        target[0] = 0x3f;
        for (nonces, target) in
            [(0..20, [0xff; 32]), (u64::MAX - 9..u64::MAX, [0xff; 32]), (100..140, target), (7..7, target)]
        {
            let watch = Watch::new();
            let right = found(&mut theirs, target, nonces.clone(), &Watch::new()).unwrap();
            let count = nonces.end - nonces.start;
            assert_eq!(found(&mut ours, target, nonces, &watch).unwrap(), right, "{pow:?}");
            assert_eq!(watch.hashes(), count);
        }
        let (_, hits) = found(&mut ours, target, 100..140, &Watch::new()).unwrap();
        assert!((1..40).contains(&hits.len()), "a target that some reach: {}", hits.len());
        let digest =
            |nonce| found(&mut theirs, [0xff; 32], nonce..nonce + 1, &Watch::new()).unwrap().1[0].digest;
        assert_eq!(self_test(&mut ours, HEADER, 3..20, digest), Ok(()));
    }
}

#[test]
fn a_search_that_is_stopped_counts_what_it_has_done() {
    let Some(alone) = Alone::new("searches that are stopped") else { return };
    let mut engine = Nonces::new(&alone.device(), salted(64, 1), 4).unwrap();
    let watch = Watch::new();
    let stop_at_the_fifth = |hit: Hit| {
        if hit.nonce == 15 {
            watch.stop().set();
        }
    };
    let job = NonceJob::new(HEADER, [0xff; 32]);
    let searched = engine.search(&job, 10..1_000_000, &watch, &stop_at_the_fifth).unwrap();
    // The four that were under way were done, and no others.
    assert_eq!(searched, Searched::new(8, 18));
    assert_eq!(watch.hashes(), 8);
    assert_eq!(engine.search(&job, 10..20, &watch, &|_| ()), Ok(Searched::new(0, 10)));
}

/// A bit that flips after the device was tested: its hit is never told, whichever way memory is given.
#[test]
fn a_wrong_hit_is_found_out_by_the_processor() {
    let Some(alone) = Alone::new("wrong hits") else { return };
    let device = alone.device();
    for memory in [1 << 30, 4 << 20] {
        alone.shim.reset();
        alone.shim.memory(memory);
        let mut engine = Nonces::new(&device, salted(1024, 1), 8).unwrap();
        let kernel = if memory == 1 << 30 { "argon2_fill_ahead" } else { "argon2_grow" };
        let watch = Watch::new();
        assert!(found(&mut engine, [0xff; 32], 0..9, &watch).is_ok());
        alone.shim.flip(kernel, 1);
        let error = found(&mut engine, [0xff; 32], 0..9, &Watch::new());
        assert_eq!(error, Err(EngineError::SelfTest { engine: "Shim 0".to_owned() }), "{kernel}");
        assert!(found(&mut engine, [0xff; 32], 0..9, &Watch::new()).is_ok(), "the next is right");
    }
}

#[test]
fn a_search_that_cannot_be_is_refused_and_a_lost_one_says_so() {
    let Some(alone) = Alone::new("searches that cannot be") else { return };
    let device = alone.device();
    let recipe = Recipe::NonceIsPassword { header_len: Some(76) };
    let mut engine = Nonces::new(&device, Pow::new(params(64, 1, 1), recipe, Order::BigEndian), 2).unwrap();
    let refused = found(&mut engine, [0xff; 32], 0..1, &Watch::new());
    assert_eq!(refused, Err(EngineError::HeaderLen { given: HEADER.len(), least: 76, most: 76 }));
    let mut engine = Nonces::new(&device, salted(64, 1), 2).unwrap();
    alone.shim.lose(2);
    let error = found(&mut engine, [0xff; 32], 0..1, &Watch::new()).unwrap_err();
    assert!(matches!(&error, EngineError::System { reason } if reason.contains("719")), "{error:?}");
}
