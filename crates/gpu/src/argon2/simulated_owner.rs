//! Simulated owners of nonces, and the results of a simulated device, for tests without a device.

use super::Words;
use crate::Error;
use hashmill_hash::argon2::pow::{DIGEST_LEN, HitChecker, Order, Pow, Recipe};
use hashmill_hash::argon2::{Params, Plan, Stop, hazmat};
use hashmill_hash::engine::{EngineError, Hit, Lease, SearchProgress, Supply, Work};
use hashmill_testkit::oracle::leases::{Change, LeaseCount, Leases};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// A function of one lane, whose nonce is the password.
pub(crate) fn pow(memory: u32) -> Pow {
    let recipe = Recipe::NonceIsPassword { header_len: None };
    Pow::new(Params::new(memory, 1, 1).unwrap(), recipe, Order::BigEndian)
}

/// Fault of a simulated device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    None,
    /// The submission with this number fails.
    Fails(u32),
    /// A bit flips in the result with this number.
    Flips(u32),
}

/// A hash of a work and a nonce.
type Key = (usize, u64);

/// Correct hashes, found by the beginning of their first block.
pub(crate) struct KnownHashes {
    pow: Pow,
    by_key: Mutex<HashMap<Key, [u8; DIGEST_LEN]>>,
    by_first_block: Mutex<HashMap<[u64; 2], (Key, Words)>>,
}

impl KnownHashes {
    pub(crate) fn new(pow: Pow) -> KnownHashes {
        KnownHashes { pow, by_key: Mutex::default(), by_first_block: Mutex::default() }
    }

    fn digest(&self, key: Key) -> [u8; DIGEST_LEN] {
        if let Some(digest) = self.by_key.lock().unwrap().get(&key) {
            return *digest;
        }
        let (plan, params, (work, nonce)) = (Plan::host(), self.pow.params(), key);
        let (mut digest, mut first, mut last) = ([0; DIGEST_LEN], None, [0; 128]);
        self.pow.input(&header(work), nonce, |input| {
            hazmat::first_blocks(plan, params, input, DIGEST_LEN, |_, _, words| {
                first.get_or_insert([words[0], words[1]]);
            })
            .unwrap();
            last = *hazmat::memory(plan, params, input, DIGEST_LEN).unwrap().last().unwrap();
        });
        hazmat::tag(&last, &mut digest);
        self.by_first_block.lock().unwrap().insert(first.unwrap(), (key, last));
        self.by_key.lock().unwrap().insert(key, digest);
        digest
    }
}

/// A different header for each work, because hashes are found by their first block.
fn header(work: usize) -> [u8; 12] {
    let mut header = *b"a header of ";
    header[4..].copy_from_slice(&(work as u64).to_le_bytes());
    header
}

fn target(bound: u64) -> [u8; 32] {
    let mut target = [0xff; 32];
    target[..8].copy_from_slice(&bound.to_be_bytes());
    target
}

fn leading_word(digest: &[u8; DIGEST_LEN]) -> u64 {
    u64::from_be_bytes(digest[..8].try_into().unwrap())
}

/// Leases of a model, as an engine sees them, and the results of a device for their nonces.
pub(crate) struct SimulatedOwner<'a> {
    known: &'a KnownHashes,
    leases: Mutex<Leases>,
    works: Mutex<Vec<Arc<Work>>>,
    stop: Stop,
    fault: Fault,
    /// Submissions and results so far.
    counts: Mutex<[u32; 2]>,
    /// The digest that the device has computed wrongly.
    flipped: Mutex<Option<(Key, [u8; DIGEST_LEN])>>,
}

impl<'a> SimulatedOwner<'a> {
    fn new(known: &'a KnownHashes, seed: u64, fault: Fault) -> SimulatedOwner<'a> {
        SimulatedOwner {
            known,
            leases: Mutex::new(Leases::new(seed, 60, seed.is_multiple_of(2))),
            works: Mutex::default(),
            stop: Stop::new(),
            fault,
            counts: Mutex::default(),
            flipped: Mutex::default(),
        }
    }

    /// Counts a submission.
    pub(crate) fn submit(&self) -> Result<(), Error> {
        let count = &mut self.counts.lock().unwrap()[0];
        *count += 1;
        if matches!(self.fault, Fault::Fails(at) if at == *count) {
            self.leases.lock().unwrap().expect_failure();
            return Err(Error::Lost);
        }
        Ok(())
    }

    /// The last block that the device computes from this first block.
    pub(crate) fn last_block(&self, first: &Words) -> Words {
        let (key, mut last) = self.known.by_first_block.lock().unwrap()[&[first[0], first[1]]];
        let count = &mut self.counts.lock().unwrap()[1];
        *count += 1;
        if matches!(self.fault, Fault::Flips(at) if at == *count) {
            last[77] ^= 1 << 50;
            let mut digest = [0; DIGEST_LEN];
            hazmat::tag(&last, &mut digest);
            *self.flipped.lock().unwrap() = Some((key, digest));
            self.leases.lock().unwrap().expect_failure();
        }
        last
    }

    /// The number of a work.
    fn number(&self, lease: &Lease) -> usize {
        let works = self.works.lock().unwrap();
        works.iter().position(|work| Arc::ptr_eq(work, &lease.work)).expect("one of these works")
    }
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
                    works.push(Arc::new(Work::new(header, &target(bound))));
                }
            }
        }
        let (work, nonces) = lease?;
        for nonce in nonces.clone() {
            self.known.digest((work, nonce));
        }
        Some(Lease { work: Arc::clone(&works[work]), nonces })
    }

    fn report_hit(&self, lease: &Lease, hit: Hit) {
        let work = self.number(lease);
        assert_eq!(hit.digest, self.known.digest((work, hit.nonce)), "no wrong hit is reported");
        self.leases.lock().unwrap().hit(work, &lease.nonces, hit.nonce);
    }

    fn end_lease(&self, lease: Lease, progress: SearchProgress) {
        let (work, flipped) = (self.number(&lease), *self.flipped.lock().unwrap());
        let word = |nonce| match flipped {
            // A wrong digest above the target hides a hit: no check detects that.
            Some((key, digest)) if key == (work, nonce) => leading_word(&digest),
            _ => leading_word(&self.known.digest((work, nonce))),
        };
        self.leases.lock().unwrap().end(work, &lease.nonces, [progress.hashes, progress.next], word);
    }
}

/// Counts of simulated searches.
#[derive(Default, Debug)]
pub(crate) struct SimulatedSearches {
    pub(crate) searched: u64,
    pub(crate) hits: u64,
    pub(crate) stopped: u32,
    pub(crate) lost: u32,
    pub(crate) wrong: u32,
}

/// Runs `search` on a device without faults, one that fails, and one with a wrong result, for each seed.
pub(crate) fn simulate(
    known: &KnownHashes,
    seeds: u64,
    search: impl Fn(u64, &SimulatedOwner<'_>, &HitChecker, &Stop) -> Result<(), EngineError>,
) -> SimulatedSearches {
    let (checker, mut all) = (HitChecker::new(known.pow).unwrap(), SimulatedSearches::default());
    for seed in 0..seeds {
        let number = 1 + (seed % 23) as u32;
        for fault in [Fault::None, Fault::Fails(number), Fault::Flips(number)] {
            let owner = SimulatedOwner::new(known, seed, fault);
            match search(seed, &owner, &checker, &owner.stop) {
                Ok(()) => all.stopped += u32::from(owner.stop.is_set()),
                Err(EngineError::System { .. }) if matches!(fault, Fault::Fails(_)) => all.lost += 1,
                Err(EngineError::SelfTest { engine }) if matches!(fault, Fault::Flips(_)) => {
                    assert_eq!(engine, "simulated");
                    all.wrong += 1;
                }
                Err(error) => panic!("seed {seed}, {fault:?}: {error}"),
            }
            let LeaseCount { searched, hits } = owner.leases.into_inner().unwrap().finish();
            all.searched += searched;
            all.hits += hits;
        }
    }
    all
}
