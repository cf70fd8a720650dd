//! Nonce searches on a device: the same hits as the processor's, in every recipe, up to the last nonce.

use crate::device;
use hashmill_hash::argon2::pow::{HitChecker, Order, Pow, Recipe, SingleThread};
use hashmill_hash::argon2::{PagePolicy, Params, Plan};
use hashmill_hash::engine::{
    EngineError, Hit, NonceEngine, NonceJob, RangeSearch, SearchMonitor, SearchProgress, Stop, search,
    self_test,
};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;

pub(crate) const HEADER: &[u8] = b"a header of forty bytes, nonce inside it";

pub(crate) fn pow(memory: u32, passes: u32, lanes: u32, recipe: Recipe, order: Order) -> Pow {
    Pow::new(Params::new(memory, passes, lanes).unwrap(), recipe, order)
}

pub(crate) fn salted(memory: u32, passes: u32) -> Pow {
    pow(memory, passes, 1, Recipe::NonceIsPassword { header_len: None }, Order::BigEndian)
}

/// A checker of hits by this function.
pub(crate) fn checker(pow: Pow) -> Arc<HitChecker> {
    Arc::new(HitChecker::new(pow).unwrap())
}

/// Progress and hits of a search, hits in the order of nonces.
pub(crate) fn search_hits(
    engine: &mut dyn NonceEngine,
    target: [u8; 32],
    nonces: Range<u64>,
    monitor: &SearchMonitor,
) -> Result<(SearchProgress, Vec<Hit>), EngineError> {
    let hits = Mutex::new(Vec::new());
    let note = |hit| hits.lock().unwrap().push(hit);
    let searched = search(engine, &NonceJob::new(HEADER, target), nonces, monitor, &note)?;
    let mut hits = hits.into_inner().unwrap();
    hits.sort_unstable_by_key(|hit: &Hit| hit.nonce);
    Ok((searched, hits))
}

#[test]
fn a_search_on_a_device_has_the_hits_of_the_processor() {
    let Some(device) = device("searches for nonces") else { return };
    let inside = Recipe::NonceInHeader { offset: 28, len: 4, salt_len: 16 };
    for pow in [salted(256, 1), pow(100, 2, 3, inside, Order::LittleEndian)] {
        let mut on_device = device.nonces(checker(pow), 7).unwrap();
        assert_eq!(on_device.limits().in_flight, 7);
        assert_eq!(on_device.name(), device.info().name);
        let mut on_processor = SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 1).unwrap();
        let mut target = [0xff; 32];
        target[0] = 0x3f;
        for (nonces, target) in [
            (0..20, [0xff; 32]),
            (5..9, [0xff; 32]),
            (u64::MAX - 9..u64::MAX, [0xff; 32]),
            (100..140, target),
            (7..7, target),
        ] {
            let monitor = SearchMonitor::new();
            let right =
                search_hits(&mut on_processor, target, nonces.clone(), &SearchMonitor::new()).unwrap();
            let count = nonces.end - nonces.start;
            assert_eq!(search_hits(&mut on_device, target, nonces, &monitor).unwrap(), right, "{pow:?}");
            assert_eq!(monitor.hashes(), count);
        }
        let (_, hits) = search_hits(&mut on_device, target, 100..140, &SearchMonitor::new()).unwrap();
        assert!((1..40).contains(&hits.len()), "a target that some nonces reach: {}", hits.len());
        let digest = |nonce| {
            search_hits(&mut on_processor, [0xff; 32], nonce..nonce + 1, &SearchMonitor::new()).unwrap().1[0]
                .digest
        };
        assert_eq!(self_test(&mut on_device, HEADER, 3..20, digest), Ok(()));
    }
}

#[test]
fn a_stopped_search_counts_its_checked_nonces() {
    let Some(device) = device("searches that are stopped") else { return };
    let mut engine = device.nonces(checker(salted(64, 1)), 4).unwrap();
    let (monitor, hits) = (SearchMonitor::new(), Mutex::new(Vec::new()));
    let stop_at_15 = |hit: Hit| {
        hits.lock().unwrap().push(hit.nonce);
        if hit.nonce == 15 {
            monitor.stop().set();
        }
    };
    let job = NonceJob::new(HEADER, [0xff; 32]);
    let searched = search(&mut engine, &job, 10..1_000_000, &monitor, &stop_at_15).unwrap();
    // The device goes on while hits are checked. Hits that were not checked count as not tried.
    assert!((16..1_000_000).contains(&searched.next), "{searched:?}");
    assert!(searched.hashes >= searched.next - 10 && searched.hashes == monitor.hashes(), "{searched:?}");
    assert!(hits.into_inner().unwrap().into_iter().eq(10..searched.next));
    let stopped = search(&mut engine, &job, 10..20, &monitor, &|_| ());
    assert_eq!(stopped, Ok(SearchProgress::new(0, 10)));
}

#[test]
fn a_device_and_the_processor_search_together() {
    let Some(device) = device("searches by a device and the processor") else { return };
    let pow = salted(64, 1);
    let processor = || SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 2).unwrap();
    let (_, right) = search_hits(&mut processor(), [0xff; 32], 5..205, &SearchMonitor::new()).unwrap();
    let mut engines: Vec<Box<dyn NonceEngine>> =
        vec![Box::new(device.nonces(checker(pow), 8).unwrap()), Box::new(processor())];
    let (monitor, hits) = (SearchMonitor::new(), Mutex::new(Vec::new()));
    let note = |hit| hits.lock().unwrap().push(hit);
    let job = NonceJob::new(HEADER, [0xff; 32]);
    let range = RangeSearch::new(&job, pow.order(), 5..205, &monitor, &note);
    thread::scope(|scope| {
        for engine in &mut engines {
            scope.spawn(|| engine.run(&range, monitor.stop()).unwrap());
        }
    });
    assert_eq!((range.progress(), monitor.hashes()), (SearchProgress::new(200, 205), 200));
    let mut hits = hits.into_inner().unwrap();
    hits.sort_unstable_by_key(|hit| hit.nonce);
    assert_eq!(hits, right);
}

/// Engines take the memory for checks when they are made: a search takes none.
#[test]
fn engines_share_the_checker_that_they_were_given() {
    let Some(device) = device("a checker of hits that is shared") else { return };
    let (checker, stop) = (checker(salted(64, 1)), Stop::new());
    let [mut first, mut second] = [(); 2].map(|()| device.nonces(Arc::clone(&checker), 2).unwrap());
    assert_eq!(Arc::strong_count(&checker), 3, "both have it before their first search");
    let (monitor, hits) = (SearchMonitor::new(), Mutex::new(Vec::new()));
    let note = |hit: Hit| hits.lock().unwrap().push(hit.nonce);
    let job = NonceJob::new(HEADER, [0xff; 32]);
    let range = RangeSearch::new(&job, checker.pow().order(), 0..40, &monitor, &note);
    thread::scope(|scope| {
        for engine in [&mut first, &mut second] {
            scope.spawn(|| engine.run(&range, &stop).unwrap());
        }
    });
    let mut hits = hits.into_inner().unwrap();
    hits.sort_unstable();
    assert!(hits.into_iter().eq(0..40));
}
