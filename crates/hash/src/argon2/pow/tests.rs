//! Searches: hits, counts, stops and refusals, with every kernel.

use super::*;
use crate::argon2::{Hasher, Kernel, PagePolicy, Plan};
use crate::engine::{self, Hit, NonceEngine, NonceJob, SearchMonitor, SearchProgress};
use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A function that takes a fraction of a millisecond.
fn small() -> Pow {
    let recipe = Recipe::NonceIsPassword { header_len: None };
    Pow::new(Params::new(64, 1, 1).unwrap(), recipe, Order::BigEndian)
}

/// A function that takes seconds.
fn endless() -> Pow {
    Pow::new(Params::new(64, 1_000_000, 1).unwrap(), small().recipe, Order::BigEndian)
}

const HEADER: &[u8] = b"some header";

/// The hits with a target of 1/16 of all digests, computed hash by hash.
fn expected(nonces: Range<u64>, target: &[u8; 32]) -> Vec<Hit> {
    let mut hasher = Hasher::new(small().params());
    nonces
        .map(|nonce| Hit { nonce, digest: hasher.hash(&Input::new(&nonce.to_le_bytes(), HEADER)).unwrap() })
        .filter(|hit| hit.digest <= *target)
        .collect()
}

fn target() -> [u8; 32] {
    let mut target = [0xff; 32];
    target[0] = 0x0f;
    target
}

/// Searches, and returns the hits in order of nonces.
fn search(
    engine: &mut dyn NonceEngine,
    nonces: Range<u64>,
    watch: &SearchMonitor,
) -> (SearchProgress, Vec<Hit>) {
    let hits = Mutex::new(Vec::new());
    let job = NonceJob { header: HEADER, target: target() };
    let note = |hit| hits.lock().unwrap().push(hit);
    let searched = engine::search(engine, &job, nonces, watch, &note).unwrap();
    let mut hits = hits.into_inner().unwrap();
    hits.sort_by_key(|hit| hit.nonce);
    (searched, hits)
}

#[test]
fn every_kernel_and_number_in_flight_finds_the_same() {
    let expected = expected(5..205, &target());
    assert!(expected.len() > 4, "{}", expected.len());
    for kernel in Kernel::all() {
        for in_flight in 1..=4 {
            let mut engine =
                SingleThread::new(small(), Plan::for_kernel(kernel), PagePolicy::Plain, in_flight).unwrap();
            assert_eq!(engine.limits().in_flight, in_flight);
            assert_eq!(engine.limits().memory, in_flight as u64 * 65536);
            let watch = SearchMonitor::new();
            let (searched, hits) = search(&mut engine, 5..205, &watch);
            assert_eq!(hits, expected, "{kernel:?} {in_flight}");
            assert_eq!(searched, SearchProgress { hashes: 200, next: 205 });
            assert_eq!(watch.hashes(), 200);
        }
    }
}

#[test]
fn workers_share_a_range_and_lose_no_hash() {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let start = |_| {
        STARTED.fetch_add(1, Ordering::Relaxed);
    };
    let mut workers = ThreadPool::new(small(), Plan::host(), PagePolicy::Plain, 3, 2, start).unwrap();
    assert_eq!(STARTED.load(Ordering::Relaxed), 3);
    assert_eq!(workers.limits().in_flight, 6);
    let watch = SearchMonitor::new();
    // The same threads, job after job.
    for round in 1..=3 {
        let (searched, hits) = search(&mut workers, 0..301, &watch);
        assert_eq!(hits, expected(0..301, &target()));
        assert_eq!(searched, SearchProgress { hashes: 301, next: 301 });
        assert_eq!(watch.hashes(), 301 * round);
    }
    assert_eq!(STARTED.load(Ordering::Relaxed), 3);
}

#[test]
fn workers_can_be_fewer_for_a_while() {
    let busy = Mutex::new(BTreeSet::new());
    let mut workers = ThreadPool::new(small(), Plan::host(), PagePolicy::Plain, 3, 2, |_| {}).unwrap();
    let (watch, memory) = (SearchMonitor::new(), workers.limits().memory);
    for (threads, in_flight) in [(1, 1), (2, 1), (1, 2), (3, 2)] {
        workers.limit(threads, in_flight).unwrap();
        assert_eq!(workers.limits().in_flight, threads * in_flight);
        assert_eq!(workers.limits().memory, memory, "kept");
        busy.lock().unwrap().clear();
        let job = NonceJob { header: HEADER, target: [0xff; 32] };
        let note = |_| {
            busy.lock().unwrap().insert(thread::current().name().map(str::to_owned));
        };
        let searched = engine::search(&mut workers, &job, 0..100, &watch, &note).unwrap();
        assert_eq!(searched, SearchProgress { hashes: 100, next: 100 });
        assert!(busy.lock().unwrap().len() <= threads, "{:?}", busy.lock().unwrap());
    }
    let found = search(&mut workers, 0..301, &watch).1;
    assert_eq!(found, expected(0..301, &target()));
    for (threads, in_flight) in [(0, 1), (4, 1), (1, 0), (1, 3)] {
        assert!(matches!(workers.limit(threads, in_flight), Err(EngineError::InFlight { .. })));
    }
    assert_eq!(workers.limits().in_flight, 6, "a refusal changes nothing");
}

#[test]
fn a_stopped_search_counts_exactly_what_it_finished() {
    let mut workers = ThreadPool::new(small(), Plan::host(), PagePolicy::Plain, 2, 2, |_| {}).unwrap();
    let watch = SearchMonitor::new();
    let end = 1 << 40;
    let _limit = hashmill_testkit::wait::limit("a hundred hashes, and the end of the search");
    let (first, mut hits) = thread::scope(|scope| {
        let searching = scope.spawn(|| search(&mut workers, 0..end, &watch));
        while watch.hashes() < 100 {
            thread::yield_now();
        }
        watch.stop().set();
        searching.join().unwrap()
    });
    assert_eq!(first.hashes, watch.hashes());
    assert!((100..end).contains(&first.hashes) && first.next <= first.hashes, "{first:?}");
    // Resuming where it stopped finds all hits of one whole search, some of them twice.
    watch.stop().clear();
    let until = first.next + 500;
    let (second, more) = search(&mut workers, first.next..until, &watch);
    assert_eq!(second, SearchProgress { hashes: 500, next: until });
    assert_eq!(watch.hashes(), first.hashes + 500);
    hits.retain(|hit| hit.nonce < first.next);
    hits.extend(more);
    assert_eq!(hits, expected(0..until, &target()));
}

/// The test ends only if the search stops inside a hash: one alone would take minutes.
#[test]
fn a_search_stops_inside_a_hash() {
    let mut engine = SingleThread::new(endless(), Plan::host(), PagePolicy::Plain, 2).unwrap();
    let watch = SearchMonitor::new();
    let _limit = hashmill_testkit::wait::limit("the end of a search inside a hash");
    let (searched, hits) = thread::scope(|scope| {
        let searching = scope.spawn(|| search(&mut engine, 7..1000, &watch));
        thread::sleep(Duration::from_millis(20));
        watch.stop().set();
        searching.join().unwrap()
    });
    assert_eq!(searched, SearchProgress { hashes: 0, next: 7 });
    assert!(hits.is_empty() && watch.hashes() == 0);
}

#[test]
fn ranges_at_the_ends_of_numbers_are_complete() {
    let mut engine = SingleThread::new(small(), Plan::host(), PagePolicy::Plain, 2).unwrap();
    let watch = SearchMonitor::new();
    let (searched, _) = search(&mut engine, u64::MAX - 3..u64::MAX, &watch);
    assert_eq!(searched, SearchProgress { hashes: 3, next: u64::MAX });
    let (searched, _) = search(&mut engine, 9..9, &watch);
    assert_eq!(searched, SearchProgress { hashes: 0, next: 9 });
}

/// A nonce of four bytes inside the header, whose first 16 bytes are the salt.
fn inside() -> Pow {
    let recipe = Recipe::NonceInHeader { offset: 39, len: 4, salt_len: 16 };
    Pow::new(Params::new(1 << 10, 4, 1).unwrap(), recipe, Order::LittleEndian)
}

/// The header's first bytes are the salt, and the nonce is inside: a digest from the reference implementation.
#[test]
fn a_nonce_inside_the_header() {
    let pow = inside();
    let header: Vec<u8> = (0..76).map(|i| (31 * i + 7) as u8).collect();
    let mut engine = SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 1).unwrap();
    let hits = Mutex::new(Vec::new());
    let job = NonceJob { header: &header, target: [0xff; 32] };
    let nonce = 0x0102_0304;
    let note = |hit| hits.lock().unwrap().push(hit);
    engine::search(&mut engine, &job, nonce..nonce + 1, &SearchMonitor::new(), &note).unwrap();
    let digest = hits.into_inner().unwrap()[0].digest;
    let hex = hashmill_testkit::hex::encode(&digest);
    assert_eq!(hex, "01928340ef5b0c2b149dd6f4bcd969263fb8efd8476e3f1409f2baa654ec9cf8");
}

#[test]
fn targets_include_their_own_value_in_both_orders() {
    let mut digest = [0; 32];
    digest[0] = 1;
    digest[31] = 2;
    let mut reversed = digest;
    reversed.reverse();
    let (big, little) = (Order::BigEndian, Order::LittleEndian);
    assert!(big.is_hit(&digest, &digest) && little.is_hit(&digest, &reversed));
    let below = |target: [u8; 32]| {
        let mut below = target;
        below[31] -= 1;
        below
    };
    assert!(!big.is_hit(&digest, &below(digest)) && !little.is_hit(&digest, &below(reversed)));
}

#[test]
fn invalid_settings_are_refused_with_a_reason() {
    let job = |header| NonceJob { header, target: [0; 32] };
    let fixed = Pow { recipe: Recipe::NonceIsPassword { header_len: Some(92) }, ..small() };
    let mut engine = SingleThread::new(fixed, Plan::host(), PagePolicy::Plain, 1).unwrap();
    let refused =
        engine::search(&mut engine, &job(&[0; 100]), 0..1, &SearchMonitor::new(), &|_| {}).unwrap_err();
    assert_eq!(refused.to_string(), "a header of 100 bytes: this function needs 92");
    let wide = Pow { recipe: Recipe::NonceInHeader { offset: 0, len: 9, salt_len: 16 }, ..small() };
    let mut engine = SingleThread::new(wide, Plan::host(), PagePolicy::Plain, 1).unwrap();
    let refused =
        engine::search(&mut engine, &job(&[0; 100]), 0..1, &SearchMonitor::new(), &|_| {}).unwrap_err();
    assert_eq!(refused.to_string(), "a function that cannot be computed: a nonce of 9 bytes: choose 1 to 8");
    let mut engine = SingleThread::new(inside(), Plan::host(), PagePolicy::Plain, 1).unwrap();
    for header in [&[0; 42][..], &[0; 257]] {
        assert!(engine::search(&mut engine, &job(header), 0..1, &SearchMonitor::new(), &|_| {}).is_err());
    }
    let none = SingleThread::new(small(), Plan::host(), PagePolicy::Plain, 0).unwrap_err();
    assert_eq!(none, EngineError::InFlight { given: 0, most: 4 });
    // 4 TiB at a time: more than any machine that runs this grants to one process.
    let huge = Pow::new(Params::new(u32::MAX, 1, 1).unwrap(), small().recipe, Order::BigEndian);
    let refused = SingleThread::new(huge, Plan::host(), PagePolicy::Transparent, 4).unwrap_err();
    assert!(matches!(refused, EngineError::OutOfMemory { .. }), "{refused}");
    let refused = ThreadPool::new(small(), Plan::host(), PagePolicy::Plain, 0, 1, |_| {}).unwrap_err();
    assert!(matches!(refused, EngineError::InFlight { given: 0, .. }));
}

/// The test ends only if the rest of the range is not tried first.
#[test]
fn a_panic_of_the_caller_comes_out_at_once() {
    let mut workers = ThreadPool::new(small(), Plan::host(), PagePolicy::Plain, 2, 2, |_| {}).unwrap();
    let (job, watch) = (NonceJob { header: HEADER, target: [0xff; 32] }, SearchMonitor::new());
    let found = AtomicUsize::new(0);
    let hit = |_| {
        if found.fetch_add(1, Ordering::Relaxed) == 9 {
            std::panic::resume_unwind(Box::new("the caller's own"));
        }
    };
    let searching = AssertUnwindSafe(|| engine::search(&mut workers, &job, 0..1 << 60, &watch, &hit));
    let payload = catch_unwind(searching).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"the caller's own"));
    assert!(!watch.stop().is_set(), "the flag belongs to the caller");
    assert_eq!(search(&mut workers, 0..301, &watch).1, expected(0..301, &target()), "the threads continue");
}

#[test]
fn a_panic_of_a_start_comes_out() {
    let start = |index| assert!(index != 1, "this one does not start");
    let result = catch_unwind(|| ThreadPool::new(small(), Plan::host(), PagePolicy::Plain, 3, 1, start));
    assert!(result.is_err());
}
