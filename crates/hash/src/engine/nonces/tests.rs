//! Ranges and leases with toy engines: wrong engines are detected, and no nonce is lost.

use super::*;
use core::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// The digest of a nonce is the nonce, unless this engine is faulty. It takes leases of up to five nonces, and
/// reports the hits of a lease in reverse: no engine promises an order.
struct Toy {
    hits: fn(u64) -> Vec<Hit>,
    /// The progress with which a lease ends.
    ends: fn(&Lease) -> SearchProgress,
}

fn hit(nonce: u64) -> Hit {
    Hit::new(nonce, [nonce as u8; 32])
}

/// The progress of a whole lease.
fn whole(lease: &Lease) -> SearchProgress {
    SearchProgress::new(lease.nonces.end - lease.nonces.start, lease.nonces.end)
}

impl NonceEngine for Toy {
    fn name(&self) -> &str {
        "toy"
    }

    fn limits(&self) -> NonceLimits {
        NonceLimits::new(5, 0, Duration::ZERO)
    }

    fn order(&self) -> Order {
        Order::BigEndian
    }

    fn run(&mut self, supply: &dyn Supply, stop: &Stop) -> Result<(), EngineError> {
        while !stop.is_set()
            && let Some(lease) = supply.take_lease(5)
        {
            for hit in lease.nonces.clone().rev().flat_map(self.hits) {
                supply.report_hit(&lease, hit);
            }
            let progress = (self.ends)(&lease);
            let ends_early = progress.next < lease.nonces.end;
            supply.end_lease(lease, progress);
            if ends_early {
                break;
            }
        }
        Ok(())
    }
}

#[test]
fn an_engine_with_wrong_results_fails_its_self_test() {
    let tested = |hits| self_test(&mut Toy { hits, ends: whole }, b"", 3..9, |nonce| [nonce as u8; 32]);
    assert_eq!(tested(|nonce| vec![hit(nonce)]), Ok(()));
    let wrong: [fn(u64) -> Vec<Hit>; 4] = [
        |nonce| vec![Hit::new(nonce, [0; 32])],
        |nonce| (nonce != 5).then(|| hit(nonce)).into_iter().collect(),
        |nonce| vec![hit(nonce), hit(nonce)],
        |nonce| vec![hit(nonce + 1)],
    ];
    for hits in wrong {
        assert_eq!(tested(hits), Err(EngineError::SelfTest { engine: "toy".to_owned() }));
    }
}

#[test]
fn an_engine_that_ends_early_is_an_error_unless_it_was_stopped() {
    let monitor = SearchMonitor::new();
    let nothing = |lease: &Lease| SearchProgress::new(0, lease.nonces.start);
    let mut engine = Toy { hits: |_| Vec::new(), ends: nothing };
    let job = NonceJob::new(b"", [0; 32]);
    let ended = search(&mut engine, &job, 7..20, &monitor, &|_| {});
    assert_eq!(ended, Err(EngineError::ended_early()));
    assert_eq!(search(&mut engine, &job, 7..7, &monitor, &|_| {}), Ok(SearchProgress::new(0, 7)));
    let empty = Range { start: 9, end: 3 };
    assert_eq!(search(&mut engine, &job, empty, &monitor, &|_| {}), Ok(SearchProgress::new(0, 9)));
    monitor.stop().set();
    let mut engine = Toy { hits: |_| Vec::new(), ends: whole };
    let stopped = search(&mut engine, &NonceJob::new(b"", [0; 32]), 7..20, &monitor, &|_| {});
    assert_eq!(stopped, Ok(SearchProgress::new(0, 7)));
}

/// A search is done only if the progress that its engine reports is within the lease. The first lease has the nonces 7 to 12.
#[test]
fn progress_outside_of_a_lease_is_an_error() {
    let claims: [fn(&Lease) -> SearchProgress; 6] = [
        |lease| SearchProgress::new(0, lease.nonces.start - 1),
        |_| SearchProgress::new(0, 0),
        |lease| SearchProgress::new(5, lease.nonces.end + 1),
        // The end of the whole range, and the largest number.
        |_| SearchProgress::new(13, 20),
        |_| SearchProgress::new(u64::MAX, u64::MAX),
        // The second lease.
        |lease| SearchProgress::new(5, if lease.nonces.start == 7 { 12 } else { lease.nonces.end + 1 }),
    ];
    let _limit = hashmill_testkit::wait::limit("the end of a search with wrong progress");
    for (number, ends) in claims.into_iter().enumerate() {
        let is_second = number == 5;
        let (start, tried) = if is_second { (12, 5) } else { (7, 0) };
        let next =
            ends(&Lease { work: std::sync::Arc::new(Work::new([], &[0; 32])), nonces: start..start + 5 })
                .next;
        let broken = EngineError::Progress { start, end: start + 5, next };
        let (monitor, stop, job) = (SearchMonitor::new(), Stop::new(), NonceJob::new(b"", [0; 32]));
        let mut engine = Toy { hits: |_| Vec::new(), ends };
        let ended = search(&mut engine, &job, 7..20, &monitor, &|_| {});
        assert_eq!(ended, Err(broken.clone()), "claim {number}");
        assert_eq!(monitor.hashes(), tried, "claim {number}: claimed hashes do not count");
        // A correct engine beside it does not make the search complete.
        let range = RangeSearch::new(&job, Order::BigEndian, 7..20, &monitor, &|_| {});
        engine.run(&range, &stop).unwrap();
        Toy { hits: |_| Vec::new(), ends: whole }.run(&range, &stop).unwrap();
        assert_eq!((range.checked_progress(), range.progress().next), (Err(broken), start), "claim {number}");
        // Nor does a stop.
        monitor.stop().set();
        let mut engine = UnstoppableToy(Toy { hits: |_| Vec::new(), ends });
        let ended = search(&mut engine, &job, 7..20, &monitor, &|_| {});
        assert!(matches!(ended, Err(EngineError::Progress { .. })), "claim {number}: {ended:?}");
    }
}

/// A toy that ignores stops.
struct UnstoppableToy(Toy);

impl NonceEngine for UnstoppableToy {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn limits(&self) -> NonceLimits {
        self.0.limits()
    }

    fn order(&self) -> Order {
        self.0.order()
    }

    fn run(&mut self, supply: &dyn Supply, _: &Stop) -> Result<(), EngineError> {
        self.0.run(supply, &Stop::new())
    }
}

#[test]
fn several_engines_try_each_nonce_of_a_range_once() {
    let (monitor, stop) = (SearchMonitor::new(), Stop::new());
    let job = NonceJob::new(b"", [0xff; 32]);
    for nonces in [0..0, 5..6, 10..300, u64::MAX - 40..u64::MAX] {
        let found = Mutex::new(Vec::new());
        let note = |hit: Hit| found.lock().unwrap().push(hit.nonce);
        let range = RangeSearch::new(&job, Order::BigEndian, nonces.clone(), &monitor, &note);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| Toy { hits: |nonce| vec![hit(nonce)], ends: whole }.run(&range, &stop));
            }
        });
        let count = nonces.end - nonces.start;
        assert_eq!(range.progress(), SearchProgress::new(count, nonces.end));
        let mut found = found.into_inner().unwrap();
        found.sort_unstable();
        assert!(found.into_iter().eq(nonces));
    }
    assert_eq!(monitor.hashes(), 1 + 290 + 40);
}

#[test]
fn nonces_that_a_failed_engine_gives_back_go_to_another() {
    let (monitor, stop) = (SearchMonitor::new(), Stop::new());
    let range = RangeSearch::new(&NonceJob::new(b"", [0; 32]), Order::BigEndian, 0..100, &monitor, &|_| {});
    // It ends in the middle of its first lease.
    let half = |lease: &Lease| SearchProgress::new(2, lease.nonces.start + 2);
    Toy { hits: |_| Vec::new(), ends: half }.run(&range, &stop).unwrap();
    assert_eq!(range.progress(), SearchProgress::new(2, 2));
    Toy { hits: |_| Vec::new(), ends: whole }.run(&range, &stop).unwrap();
    assert_eq!(range.progress(), SearchProgress::new(100, 100));
}

#[test]
fn a_bound_is_the_first_bytes_of_a_target_and_may_change() {
    let mut target = [0; 32];
    target[7] = 9;
    let work = Work::new(&b"a header"[..], &target);
    let digest = |first: u8| {
        let mut digest = [0xff; 32];
        digest[..8].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, first]);
        digest
    };
    let reversed = |first| {
        let mut digest = digest(first);
        digest.reverse();
        digest
    };
    let hits = |work: &Work| {
        [9, 10].map(|first| {
            let big = work.is_hit(&digest(first), Order::BigEndian);
            assert_eq!(work.is_hit(&reversed(first), Order::LittleEndian), big);
            big
        })
    };
    assert_eq!(hits(&work), [true, false], "also above the target in later bytes");
    target[7] = 10;
    work.set_target(&target);
    assert_eq!(hits(&work), [true, true]);
    work.set_target(&[0; 32]);
    assert_eq!(hits(&work), [false, false]);
    assert_eq!(work.header(), b"a header");
    // `search` compares with the whole target.
    let above = Hit::new(3, digest(9));
    let (monitor, found) = (SearchMonitor::new(), Mutex::new(0));
    target[7] = 9;
    let count = |_| *found.lock().unwrap() += 1;
    let range = RangeSearch::new(&NonceJob::new(b"", target), Order::BigEndian, 0..9, &monitor, &count);
    let lease = range.take_lease(1).unwrap();
    range.report_hit(&lease, above);
    assert_eq!(*found.lock().unwrap(), 0);
    range.report_hit(&lease, Hit::new(3, [0; 32]));
    assert_eq!(*found.lock().unwrap(), 1);
}

/// Records what was ended.
#[derive(Default)]
struct Recorder {
    ended: Mutex<Vec<SearchProgress>>,
    hits: Mutex<Vec<u64>>,
}

impl Supply for Recorder {
    fn take_lease(&self, most: u64) -> Option<Lease> {
        let work = std::sync::Arc::new(Work::new(&b""[..], &[0xff; 32]));
        Some(Lease { work, nonces: 10..10 + most })
    }

    fn report_hit(&self, _: &Lease, hit: Hit) {
        self.hits.lock().unwrap().push(hit.nonce);
    }

    fn end_lease(&self, _: Lease, progress: SearchProgress) {
        self.ended.lock().unwrap().push(progress);
    }
}

#[test]
fn a_lease_ends_once_with_what_was_tried_also_after_a_panic() {
    let recorder = Recorder::default();
    let take = |most| OpenLease::take_from(&recorder, most).unwrap();
    drop(take(5));
    assert_eq!(take(0).nonces(), 10..11, "at least one");
    let lease = take(5);
    (0..3).for_each(|_| lease.count_tried());
    drop(lease);
    // What is withdrawn counts as not tried, and no hit from there on is reported.
    let lease = take(5);
    (0..4).for_each(|_| lease.count_tried());
    lease.report_hit(hit(11));
    lease.withdraw_from(12);
    lease.withdraw_from(13);
    lease.report_hit(hit(12));
    lease.report_hit(hit(13));
    drop(lease);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let lease = take(5);
        lease.count_tried();
        panic!("as a test wants it");
    }));
    assert!(panicked.is_err());
    let right = [(0, 10), (0, 10), (3, 13), (4, 12), (1, 11)];
    let right = right.map(|(hashes, next)| SearchProgress::new(hashes, next));
    assert_eq!(*recorder.ended.lock().unwrap(), right);
    assert_eq!(*recorder.hits.lock().unwrap(), [11]);
}
