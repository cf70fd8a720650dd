//! A search on a device: what the processor finds, in every recipe, up to the last nonce.

use crate::back::Nonces;
use crate::device;
use hashmill_hash::argon2::pow::{Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{PagePolicy, Params, Plan};
use hashmill_hash::engine::{EngineError, Hit, NonceEngine, NonceJob, Searched, Together, Watch, self_test};
use std::ops::Range;
use std::sync::Mutex;

pub(crate) const HEADER: &[u8] = b"a header of forty bytes, nonce inside it";

pub(crate) fn pow(memory: u32, passes: u32, lanes: u32, recipe: Recipe, order: Order) -> Pow {
    Pow::new(Params::new(memory, passes, lanes).unwrap(), recipe, order)
}

pub(crate) fn salted(memory: u32, passes: u32) -> Pow {
    pow(memory, passes, 1, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian)
}
/// What a search finds, in the order of nonces.
pub(crate) fn found(
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
    let Some(device) = device("searches for nonces") else { return };
    let inside = Recipe::NonceInHeader { offset: 28, len: 4, salt_len: 16 };
    for pow in [salted(256, 1), pow(100, 2, 3, inside, Order::LittleEndian)] {
        let mut ours = Nonces::new(&device, pow, 7).unwrap();
        assert_eq!((ours.limits().in_flight, ours.limits().batch), (7, 7));
        assert_eq!(ours.name(), device.info().name);
        let mut theirs = SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 1).unwrap();
        let mut target = [0xff; 32];
        target[0] = 0x3f;
        for (nonces, target) in [
            (0..20, [0xff; 32]),
            (5..9, [0xff; 32]),
            (u64::MAX - 9..u64::MAX, [0xff; 32]),
            (100..140, target),
            (7..7, target),
        ] {
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
    let Some(device) = device("searches that are stopped") else { return };
    let mut engine = Nonces::new(&device, salted(64, 1), 4).unwrap();
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

#[test]
fn a_device_and_the_processor_search_together() {
    let Some(device) = device("searches by a device and the processor") else { return };
    let pow = salted(64, 1);
    let processor = || SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 2).unwrap();
    let right = found(&mut processor(), [0xff; 32], 5..205, &Watch::new()).unwrap();
    let engines: Vec<Box<dyn NonceEngine>> =
        vec![Box::new(Nonces::new(&device, pow, 8).unwrap()), Box::new(processor())];
    let (mut engine, watch) = (Together::searching(engines).unwrap(), Watch::new());
    assert_eq!(found(&mut engine, [0xff; 32], 5..205, &watch), Ok(right));
    let shares: Vec<_> = engine.shares().map(|share| (share.done, share.failed)).collect();
    assert_eq!(watch.hashes(), 200);
    assert!(matches!(shares[..], [(a, None), (b, None)] if a + b == 200), "{shares:?}");
}
