//! Simulated owners of nonces, from seeds: whatever happens, an engine ends each lease once with what was
//! searched, and reports its hits once.

use super::*;
use crate::argon2::{Hasher, PagePolicy, Plan};
use crate::engine::{Hit, Lease, NonceEngine, SearchProgress, Stop, Supply, Work};
use hashmill_testkit::oracle::leases::{Change, LeaseCount, Leases};
use hashmill_testkit::size;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Work with this number has a header that the function does not take.
const REFUSED: usize = 5;

fn small() -> Pow {
    let recipe = Recipe::NonceIsPassword { header_len: Some(12) };
    Pow::new(Params::new(8, 1, 1).unwrap(), recipe, Order::BigEndian)
}

fn target(bound: u64) -> [u8; 32] {
    let mut target = [0xff; 32];
    target[..8].copy_from_slice(&bound.to_be_bytes());
    target
}

/// Leases of a model, as an engine sees them.
struct SimulatedOwner<'a> {
    leases: Mutex<Leases>,
    works: Mutex<Vec<Arc<Work>>>,
    digests: &'a Mutex<HashMap<(usize, u64), [u8; 32]>>,
    stop: &'a Stop,
    refuses: bool,
}

impl SimulatedOwner<'_> {
    /// The number of a work.
    fn number(&self, lease: &Lease) -> usize {
        let works = self.works.lock().unwrap();
        works.iter().position(|work| Arc::ptr_eq(work, &lease.work)).expect("one of these works")
    }

    fn digest(&self, work: usize, nonce: u64) -> [u8; 32] {
        let compute = || {
            let header = header(work);
            Hasher::new(small().params()).hash(&Input::new(&nonce.to_le_bytes(), &header)).unwrap()
        };
        *self.digests.lock().unwrap().entry((work, nonce)).or_insert_with(compute)
    }
}

fn header(work: usize) -> [u8; 12] {
    std::array::from_fn(|byte| (byte + 16 * work) as u8)
}

impl Supply for SimulatedOwner<'_> {
    fn take_lease(&self, most: u64) -> Option<Lease> {
        // Both are locked until changes have taken effect, so that the model knows every bound of a lease.
        let (mut leases, mut works) = (self.leases.lock().unwrap(), self.works.lock().unwrap());
        let (changes, lease) = leases.take(most);
        for change in changes {
            match change {
                Change::Bound(work, bound) => works[work].set_target(&target(bound)),
                Change::Stop(work) => works[work].stop().set(),
                Change::StopEngine => self.stop.set(),
                Change::Add(bound) => {
                    let header = header(works.len());
                    let is_refused = self.refuses && works.len() == REFUSED;
                    let header = if is_refused { &header[1..] } else { &header[..] };
                    works.push(Arc::new(Work::new(header, &target(bound))));
                }
            }
        }
        let (work, nonces) = lease?;
        if self.refuses && work == REFUSED {
            leases.expect_failure();
        }
        Some(Lease { work: Arc::clone(&works[work]), nonces })
    }

    fn report_hit(&self, lease: &Lease, hit: Hit) {
        let work = self.number(lease);
        assert_eq!(hit.digest, self.digest(work, hit.nonce));
        self.leases.lock().unwrap().hit(work, &lease.nonces, hit.nonce);
    }

    fn end_lease(&self, lease: Lease, SearchProgress { hashes, next }: SearchProgress) {
        let work = self.number(&lease);
        let leading_word = |nonce| u64::from_be_bytes(self.digest(work, nonce)[..8].try_into().unwrap());
        self.leases.lock().unwrap().end(work, &lease.nonces, [hashes, next], leading_word);
    }
}

#[test]
fn every_lease_ends_once_with_what_was_searched() {
    let mut pools: Vec<_> = [(1, 1), (1, 4), (3, 2)]
        .into_iter()
        .map(|(threads, in_flight)| {
            ThreadPool::new(small(), Plan::host(), PagePolicy::Plain, threads, in_flight, |_| {}).unwrap()
        })
        .collect();
    let (digests, mut refusals, mut stops) = (Mutex::new(HashMap::new()), 0, 0);
    let mut total = LeaseCount { searched: 0, hits: 0 };
    for seed in 0..size::of(60, 2000) {
        for (number, pool) in pools.iter_mut().enumerate() {
            let stop = Stop::new();
            let owner = SimulatedOwner {
                leases: Mutex::new(Leases::new(seed, 60, seed % 2 == 0)),
                works: Mutex::default(),
                digests: &digests,
                stop: &stop,
                refuses: seed % 3 == 0,
            };
            let ended = pool.run(&owner, &stop);
            match ended {
                Ok(()) => {}
                Err(EngineError::HeaderLen { given: 11, .. }) => refusals += 1,
                Err(error) => panic!("seed {seed}, pool {number}: {error}"),
            }
            stops += u32::from(stop.is_set());
            let count = owner.leases.into_inner().unwrap().finish();
            total = LeaseCount { searched: total.searched + count.searched, hits: total.hits + count.hits };
        }
    }
    assert!(refusals > 0 && stops > 0 && total.hits > 1000 && total.searched > total.hits, "{total:?}");
}
