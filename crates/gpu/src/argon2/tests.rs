//! Tests of the device-independent part, with simulated devices.

use super::nonces::NonceSource;
use super::simulated_owner::{KnownHashes, SimulatedOwner, simulate};
use super::*;
use hashmill_hash::argon2::PagePolicy;
use hashmill_hash::argon2::pow::{HitChecker, HitQueue, Order, SingleThread};
use hashmill_hash::engine::{
    EngineError, Hit, Lease, NonceEngine, NonceJob, RangeSearch, SearchMonitor, SearchProgress, Supply,
};
use std::collections::BTreeSet;

#[test]
fn threads_process_each_element_once_and_return_the_first_error() {
    for count in [0, 1, HASHES_PER_TURN, HASHES_PER_TURN + 1, 10 * HASHES_PER_TURN + 3] {
        let mut all = vec![0; count];
        let add = |number: usize, one: &mut usize| {
            *one += number + 1;
            Ok(())
        };
        assert_eq!(try_for_each_parallel(&mut all, HASHES_PER_TURN, add), Ok(()));
        assert!(all.iter().copied().eq(1..=count), "{count}");
    }
    let wrong = |number: usize, _: &mut usize| match number {
        70 | 500 => Err(Error::OutOfMemory { bytes: number as u64 }),
        _ => Ok(()),
    };
    assert_eq!(
        try_for_each_parallel(&mut [0; 640], HASHES_PER_TURN, wrong),
        Err(Error::OutOfMemory { bytes: 70 })
    );
    let (params, stop) = (Params::new(8, 1, 1).unwrap(), Stop::new());
    stop.set();
    let stopped = first_blocks(params, 1, &stop, |_, _| panic!("it was stopped before"));
    assert_eq!(stopped.map(|_| ()), Err(Error::Hash(HashError::Stopped)));
}

#[test]
fn memory_that_could_not_be_wiped_is_an_error_also_after_a_stop() {
    let refused = || Error::Driver { reason: "no".to_owned() };
    let stopped = || Err::<(), _>(Error::Hash(HashError::Stopped));
    assert_eq!(result_after_wipe(stopped(), Err(refused())), Err(refused()));
    assert_eq!(result_after_wipe(Ok(()), Err(refused())), Err(refused()));
    assert_eq!(
        result_after_wipe(Err(Error::Lost), Err(refused())),
        Err::<(), _>(Error::Lost),
        "the first error"
    );
    assert_eq!(result_after_wipe(stopped(), Ok(())), stopped());
    assert_eq!(result_after_wipe(Ok(1), Ok(())), Ok(1));
}

#[test]
fn refused_allocations_leave_fewer_or_smaller_parts() {
    let with_memory_for = |memory: u32, requested: &mut Vec<u32>| {
        let mut left = memory;
        allocate_with_backoff(&[20, 20, 5], |hashes| {
            requested.push(hashes);
            left = left.checked_sub(hashes).ok_or(Error::OutOfMemory { bytes: u64::from(hashes) })?;
            Ok(hashes)
        })
    };
    for (memory, parts, requests) in [
        (45, Ok(vec![20, 20, 5]), vec![20, 20, 5]),
        (44, Ok(vec![20, 20]), vec![20, 20, 5]),
        (39, Ok(vec![20]), vec![20, 20]),
        // The first part is halved; the rest of the memory is not used for another part.
        (12, Ok(vec![10]), vec![20, 10, 20]),
        (0, Err(Error::OutOfMemory { bytes: 1 }), vec![20, 10, 5, 2, 1]),
    ] {
        let mut requested = Vec::new();
        assert_eq!(with_memory_for(memory, &mut requested), parts, "{memory}");
        assert_eq!(requested, requests, "{memory}");
    }
    // Other errors are returned at once.
    assert_eq!(allocate_with_backoff(&[20], |_| Err::<(), _>(Error::Lost)), Err(Error::Lost));
    let second = |hashes| if hashes == 1 { Err(Error::Lost) } else { Ok(()) };
    assert_eq!(allocate_with_backoff(&[20, 1], second), Err(Error::Lost));
}

#[test]
fn device_word_indices_are_a_permutation_that_keeps_the_first_word() {
    let mut indices: Vec<_> = (0..128).map(device_word_index).collect();
    assert_eq!(indices[0], 0);
    indices.sort_unstable();
    assert!(indices.into_iter().eq(0..128));
}

/// Memory whose results are known.
struct SimulatedMemory<'a> {
    owner: &'a SimulatedOwner<'a>,
    width: usize,
    first: Vec<Words>,
}

impl LaneMemory for SimulatedMemory<'_> {
    type Submission = ();

    fn width(&self) -> usize {
        self.width
    }

    fn upload_first_blocks(&mut self, first: &[Words]) -> Result<(), Error> {
        self.first = first.to_vec();
        Ok(())
    }

    fn submit_fill(&mut self, _: u32, _: &[SegmentRange], _: u32, _: usize) -> Result<(), Error> {
        self.owner.submit()
    }

    fn wait_for_fill(&mut self, (): &(), _: u32, _: usize, _: &Stop) -> Result<(), Error> {
        Ok(())
    }

    fn last_blocks(&mut self, lane_count: u32) -> Result<Zeroizing<Vec<Words>>, Error> {
        let first = &self.first.as_chunks::<2>().0[..lane_count as usize];
        Ok(Zeroizing::new(first.iter().map(|[first, _]| self.owner.last_block(first)).collect()))
    }

    fn wipe(&mut self, _: u32) -> Result<(), Error> {
        self.first.fill([0; 128]);
        Ok(())
    }
}

/// Each lease ends once, with the nonces that were searched. Each reported hit is right, is reported once, and is among
/// the searched nonces.
#[test]
fn every_lease_of_a_fixed_memory_ends_once_with_its_searched_nonces() {
    let pow = simulated_owner::pow(8);
    let known = KnownHashes::new(pow);
    let all = simulate(&known, hashmill_testkit::size::of(60, 2000), |seed, owner, checker, stop| {
        let memory = SimulatedMemory { owner, width: 1 + seed as usize % 7, first: Vec::new() };
        let mut engine = FixedEngine::new(pow.params(), memory, Duration::from_millis(4));
        nonces::run(&mut engine, ("simulated", Plan::host()), checker, owner, stop)
    });
    assert!(all.stopped > 0 && all.lost > 5 && all.wrong > 5 && all.hits > 1000, "{all:?}");
    assert!(all.searched > all.hits, "{all:?}");
}

/// A device that computes nothing.
struct Idle;

impl Device for Idle {
    fn width(&self) -> usize {
        4
    }

    fn run(&mut self, work: &mut dyn HashSource, _: &Stop) -> Result<(), Error> {
        let mut next_number = 0;
        while work.remaining() > 0 {
            let numbers: Vec<u64> = (next_number..).take(work.start_hashes(4)?.len() / 2).collect();
            next_number += numbers.len() as u64;
            work.finish_hashes(&numbers, &vec![[0; 128]; numbers.len()])?;
        }
        Ok(())
    }
}

/// A range of nonces of one header.
fn range<'a>(
    target: [u8; 32],
    nonces: std::ops::Range<u64>,
    monitor: &'a SearchMonitor,
    hit: &'a (dyn Fn(Hit) + Sync),
) -> RangeSearch<'a> {
    RangeSearch::new(&NonceJob::new(b"a header", target), Order::BigEndian, nonces, monitor, hit)
}

/// A device whose first result is a wrong hit. Its later results, after the check has failed, are not hits.
struct FailedDevice<'q, 'a>(&'q HitQueue<'a>);

impl Device for FailedDevice<'_, '_> {
    fn width(&self) -> usize {
        8
    }

    fn run(&mut self, work: &mut dyn HashSource, _: &Stop) -> Result<(), Error> {
        let [hit, other] = [true, false].map(|is_hit| {
            let mut blocks = (0..).map(|word| [word; 128]);
            let digest_of = |block: &Words| {
                let mut digest = [0; 32];
                hazmat::tag(block, &mut digest);
                digest
            };
            blocks.find(|block| (digest_of(block) <= HALF) == is_hit).expect("half of all")
        });
        let count = work.start_hashes(self.width())?.len() / 2;
        work.finish_hashes(&[0], &[hit])?;
        while !self.0.has_failed() {
            thread::yield_now();
        }
        let later: Vec<u64> = (1..count as u64).collect();
        work.finish_hashes(&later, &vec![other; later.len()])
    }
}

/// A target that half of all digests reach.
const HALF: [u8; 32] = {
    let mut target = [0xff; 32];
    target[0] = 0x7f;
    target
};

/// Results after a failed check must not end a lease as searched: its hits would be lost.
#[test]
fn results_after_a_wrong_hit_do_not_count_and_another_engine_finds_their_hits() {
    let pow = simulated_owner::pow(8);
    let (monitor, checker) = (SearchMonitor::new(), HitChecker::new(pow).unwrap());
    let _limit = hashmill_testkit::wait::limit("the check of a wrong hit");
    let found = Mutex::new(Vec::new());
    let note = |hit: Hit| found.lock().unwrap().push(hit.nonce);
    let search = range(HALF, 0..8, &monitor, &note);
    // Leases of one nonce, so that each ends by itself.
    let single = SingleNonces(&search);
    let failed = checker.check_beside("failed", monitor.stop(), |queue| {
        let mut source = NonceSource::new(Plan::host(), pow, &single, queue, monitor.stop());
        FailedDevice(queue).run(&mut source, monitor.stop())
    });
    assert_eq!(failed.map(|_| ()), Err(EngineError::SelfTest { engine: "failed".to_owned() }));
    assert_eq!(search.progress(), SearchProgress::new(1, 0), "the wrong hit alone was computed");
    let mut processor = SingleThread::new(pow, Plan::host(), PagePolicy::Plain, 1).unwrap();
    processor.run(&search, monitor.stop()).unwrap();
    let mut hasher = Hasher::new(pow.params());
    let mut digest =
        |nonce: u64| -> [u8; 32] { pow.input(b"a header", nonce, |input| hasher.hash(input).unwrap()) };
    let right: BTreeSet<u64> = (0..8).filter(|nonce| digest(*nonce) <= HALF).collect();
    let found = found.into_inner().unwrap();
    assert_eq!((found.len(), BTreeSet::from_iter(found)), (right.len(), right));
}

/// A supply whose leases have one nonce each.
struct SingleNonces<'a>(&'a dyn Supply);

impl Supply for SingleNonces<'_> {
    fn take_lease(&self, _: u64) -> Option<Lease> {
        self.0.take_lease(1)
    }

    fn report_hit(&self, lease: &Lease, hit: Hit) {
        self.0.report_hit(lease, hit);
    }

    fn end_lease(&self, lease: Lease, progress: SearchProgress) {
        self.0.end_lease(lease, progress);
    }
}

#[test]
fn a_hit_that_the_processor_does_not_confirm_is_never_reported() {
    let pow = simulated_owner::pow(8);
    let (monitor, checker) = (SearchMonitor::new(), HitChecker::new(pow).unwrap());
    let never = |hit: Hit| panic!("{hit:?}");
    let search = |range: &RangeSearch<'_>| {
        nonces::run(&mut Idle, ("idle", Plan::host()), &checker, range, monitor.stop())
    };
    let wrong = range([0xff; 32], 0..9, &monitor, &never);
    assert_eq!(search(&wrong), Err(EngineError::SelfTest { engine: "idle".to_owned() }));
    assert_eq!(wrong.progress().next, 0, "the nonce of a wrong hit counts as not tried");
    // No digest is below the target, so no hit is checked.
    let without_hits = range([0; 32], 0..9, &monitor, &never);
    assert_eq!((search(&without_hits), without_hits.progress()), (Ok(()), SearchProgress::new(9, 9)));
}
