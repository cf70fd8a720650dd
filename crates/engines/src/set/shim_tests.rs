//! Tests of engines that share an account of memory, on a simulated driver of NVIDIA's.
//!
//! Unsafe code opens the driver, a library that the test has built.
#![allow(unsafe_code, reason = "a library of C functions, built by the test")]

#[path = "../../../gpu/tests/shim/mod.rs"]
mod shim;

use crate::budget::Budget;
use crate::device::OpenDevice;
use crate::event::{EngineEvent, EventSink};
use crate::failure::{EngineFailure, FailureCause};
use crate::set::EngineSet;
use crate::set::NonceMember;
use hashmill_gpu::cuda::Driver;
use hashmill_gpu::{Device, Error, Selector};
use hashmill_hash::argon2::pow::{HitChecker, Order, Pow, Recipe};
use hashmill_hash::argon2::{Hasher, Input, Job, Params, Stop};
use hashmill_hash::engine::{Hit, NonceEngine as _, NonceJob, RangeSearch, SearchMonitor, SearchProgress};
use hashmill_testkit::rng::Rng;
use shim::Shim;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

const HEADER: &[u8] = b"a header";
/// KiB of a hash.
const SMALL: u32 = 64;
const LARGE: u32 = 256;
/// Memory of each card: of thirty large hashes.
const CARD_BYTES: u64 = (30 * (LARGE as u64)) << 10;
const ONE: NonZero<usize> = NonZero::new(1).expect("one");

/// Two simulated cards, locked for one test.
struct Cards {
    shim: Shim,
    devices: Vec<OpenDevice>,
    _guard: MutexGuard<'static, ()>,
}

impl Cards {
    /// `None`, with a printed reason, where there is no compiler to build the driver.
    fn new(what: &str) -> Option<Cards> {
        let shim = Shim::new(what)?;
        let guard = shim.lock();
        shim.devices(2);
        shim.memory(CARD_BYTES);
        // SAFETY: it implements the driver's interface as far as it is called.
        let driver = unsafe { Driver::open(shim::library(what)?) }.expect("it has all functions");
        let open = |number| Device::open_by_driver(&driver, Selector::Number(number)).expect("a card").into();
        Some(Cards { shim, devices: vec![open(0), open(1)], _guard: guard })
    }

    fn set(&self, with_cpu: bool, count: usize, budget: &Budget) -> EngineSet {
        EngineSet::of_devices(with_cpu, self.devices[..count].to_vec(), budget.clone())
    }
}

fn params(kib: u32) -> Params {
    Params::new(kib, 1, 1).expect("good costs")
}

fn pow(kib: u32) -> Pow {
    Pow::new(params(kib), Recipe::NonceIsPassword { header_len: None }, Order::BigEndian)
}

fn no_events() -> EventSink {
    Arc::new(|_: &_| {})
}

/// Searches some nonces of which each is a hit, by all members at once, and compares each digest with that of the CPU.
fn search(members: &mut [NonceMember], kib: u32, count: u64) {
    let (hits, monitor) = (Mutex::new(Vec::new()), SearchMonitor::new());
    let note = |hit: Hit| hits.lock().expect("no panic").push(hit);
    let job = NonceJob::new(HEADER, [0xff; 32]);
    let range = RangeSearch::new(&job, Order::BigEndian, 0..count, &monitor, &note);
    thread::scope(|scope| {
        for member in members {
            let (range, stop) = (&range, monitor.stop());
            scope.spawn(move || member.run(range, stop).expect("right hits"));
        }
    });
    assert_eq!(range.checked_progress(), Ok(SearchProgress::new(count, count)));
    let mut hits = hits.into_inner().expect("no panic");
    hits.sort_unstable_by_key(|hit| hit.nonce);
    let mut hasher = Hasher::new(params(kib));
    let right = (0..count).map(|nonce| {
        Hit::new(nonce, hasher.hash(&Input::new(&nonce.to_le_bytes(), HEADER)).expect("a digest"))
    });
    assert!(hits.into_iter().eq(right));
}

#[test]
fn checks_of_hits_are_reserved_first_and_shared() {
    let Some(cards) = Cards::new("memory of checks of hits") else { return };
    let check = HitChecker::memory_for(pow(LARGE));
    let budget = Budget::new(3 * check);
    let mut members = cards.set(false, 2, &budget).nonces(pow(LARGE), ONE, &no_events()).expect("two cards");
    assert_eq!(members.len(), 2);
    assert!((check..2 * check).contains(&budget.reserved_on_host()), "one check: {budget:?}");
    search(&mut members, LARGE, 40);
    // Each of them keeps the check.
    members.pop();
    assert!(budget.reserved_on_host() >= check);
    search(&mut members, LARGE, 3);
    drop(members);
    assert_eq!(budget.reserved_on_host(), 0);

    // A budget for the check alone: the CPU has no part, and says so.
    let events: Arc<Mutex<Vec<EngineEvent>>> = Arc::default();
    let log = Arc::clone(&events);
    let sink: EventSink =
        Arc::new(move |event: &EngineEvent| log.lock().expect("no panic").push(event.clone()));
    let budget = Budget::new(check + check / 2);
    let members = cards.set(true, 1, &budget).nonces(pow(LARGE), ONE, &sink).expect("a card");
    assert_eq!((members.len(), members[0].name()), (1, "Shim 0"));
    let left = match &events.lock().expect("no panic")[..] {
        [EngineEvent::MemberLeft { member, reason }] => {
            assert_eq!(member, "cpu");
            reason.clone()
        }
        other => panic!("{other:?}"),
    };
    assert!(left.starts_with("a hash takes 262144 bytes, and of the memory budget "), "{left}");
    // The next set has no memory for another check.
    let failure = cards.set(false, 1, &budget).nonces(pow(LARGE), ONE, &no_events()).expect_err("no memory");
    assert!(matches!(failure.cause, FailureCause::CheckOutOfBudget { bytes, .. } if bytes == check));
    assert!(failure.to_string().starts_with("cuda:0: the check of its hits takes 262144 bytes of the host"));
    drop(members);
    assert_eq!(budget.reserved_on_host(), 0);
}

/// What a thread of the test does again and again.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// A batch on the CPU and both cards, or on one card.
    GroupBatch,
    CardBatch,
    /// A search on the CPU and both cards, or on the CPU.
    GroupSearch,
    CpuSearch,
}

const WORKS: [Work; 6] = [
    Work::GroupBatch,
    Work::CardBatch,
    Work::GroupSearch,
    Work::CpuSearch,
    Work::GroupBatch,
    Work::GroupSearch,
];

impl Work {
    /// Does it once, and checks the results.
    fn run(self, cards: &Cards, budget: &Budget, rng: &mut Rng) -> Result<(), EngineFailure> {
        let (kib, count) = ([SMALL, LARGE][rng.below(2)], 1 + rng.below(12));
        let set = match self {
            Work::GroupBatch | Work::GroupSearch => cards.set(true, 2, budget),
            Work::CardBatch => cards.set(false, 1, budget),
            Work::CpuSearch => EngineSet::open("cpu", budget.clone()).expect("the CPU"),
        };
        match self {
            Work::GroupBatch | Work::CardBatch => {
                let salts: Vec<_> = (0..count as u64).map(u64::to_le_bytes).collect();
                let mut tags = vec![[0; 32]; count];
                let jobs =
                    salts.iter().zip(&mut tags).map(|(salt, tag)| Job { input: Input::new(b"p", salt), tag });
                set.batches(no_events()).compute(params(kib), &mut jobs.collect::<Vec<_>>(), &Stop::new())?;
                let mut hasher = Hasher::new(params(kib));
                for (salt, tag) in salts.iter().zip(&tags) {
                    assert_eq!(hasher.hash(&Input::new(b"p", salt)), Ok(*tag));
                }
            }
            Work::GroupSearch | Work::CpuSearch => {
                let mut members = set.nonces(pow(kib), ONE, &no_events())?;
                search(&mut members, kib, count as u64);
            }
        }
        Ok(())
    }

    /// Whether other work may leave too little memory for it. A group goes on with a hash of the CPU.
    fn may_fail(self, cause: &FailureCause) -> bool {
        match cause {
            FailureCause::HashOutOfBudget { .. } | FailureCause::CheckOutOfBudget { .. } => {
                matches!(self, Work::GroupSearch | Work::CpuSearch)
            }
            FailureCause::Device(error) => {
                matches!((self, error), (Work::CardBatch | Work::GroupSearch, Error::OutOfMemory { .. }))
            }
            _ => false,
        }
    }
}

#[test]
fn no_account_exceeds_its_budget_while_all_engines_run_at_once() {
    let Some(cards) = Cards::new("engines that share an account") else { return };
    let _limit = hashmill_testkit::wait::limit("searches that wait for memory");
    let before = cards.shim.allocated();
    // Two large hashes with their overhead, where six threads want up to eight.
    let limit = (3 * u64::from(LARGE)) << 10;
    let budget = Budget::new(limit);
    let done: Vec<AtomicUsize> = WORKS.iter().map(|_| AtomicUsize::new(0)).collect();
    let refused = AtomicUsize::new(0);
    let round = |number: usize, seed: u64| {
        let mut rng = Rng::new(seed);
        // Batches end, and so leave memory to searches that lack it.
        while done[number].load(Ordering::Relaxed) < hashmill_testkit::size::of(10, 40) {
            match WORKS[number].run(&cards, &budget, &mut rng) {
                Ok(()) => {
                    done[number].fetch_add(1, Ordering::Relaxed);
                }
                Err(failure) => {
                    assert!(WORKS[number].may_fail(&failure.cause), "{:?}: {failure}", WORKS[number]);
                    refused.fetch_add(1, Ordering::Relaxed);
                    thread::yield_now();
                }
            }
        }
    };
    thread::scope(|scope| {
        for number in 0..WORKS.len() {
            let round = &round;
            scope.spawn(move || round(number, number as u64));
        }
    });
    assert!(refused.into_inner() > 0, "memory was never short");
    let (host, of_cards) = budget.peaks();
    assert!((limit / 2..=limit).contains(&host), "{host} of {limit}");
    assert!(
        of_cards.len() == 2 && of_cards.iter().all(|card| (1..=CARD_BYTES).contains(card)),
        "{of_cards:?}"
    );
    assert_eq!((budget.reserved_on_host(), cards.shim.allocated()), (0, before));
}
