//! Model of nonce leases: random leases, bounds and stops from a seed, and a check of each call of an engine.
//!
//! Digests are known in advance by their leading words. A model knows nothing of headers, engines or threads:
//! a test translates between it and them.

use crate::Rng;
use std::collections::BTreeSet;
use std::ops::Range;

/// The owner of nonces: several works, of which some are stopped and replaced, and their open leases.
pub struct Leases {
    random: Rng,
    works: Vec<WorkState>,
    open: Vec<OpenLease>,
    /// Leases that are still handed out.
    left: u32,
    may_stop: bool,
    /// May leases of unstopped works end early? The engine was stopped, or has failed.
    is_engine_ended: bool,
    searched: u64,
    hits: u64,
}

#[derive(Clone, Copy)]
struct WorkState {
    bound: u64,
    next_nonce: u64,
    is_stopped: bool,
}

struct OpenLease {
    work: usize,
    nonces: Range<u64>,
    /// The smallest and the largest bound of its work since it was taken.
    bounds: [u64; 2],
    hits: BTreeSet<u64>,
}

/// Change during a call of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The work with this number has another bound.
    Bound(usize, u64),
    /// The work with this number is stopped.
    Stop(usize),
    /// There is one more work, with this bound. Works are numbered from 0.
    Add(u64),
    /// The engine is stopped.
    StopEngine,
}

/// Result of a test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaseCount {
    /// Nonces that count as searched.
    pub searched: u64,
    /// Hits that were reported.
    pub hits: u64,
}

impl Leases {
    /// A model that hands out `leases` leases. `may_stop`: the engine may be stopped meanwhile.
    pub fn new(seed: u64, leases: u32, may_stop: bool) -> Leases {
        Leases {
            random: Rng::new(seed),
            works: Vec::new(),
            open: Vec::new(),
            left: leases,
            may_stop,
            is_engine_ended: false,
            searched: 0,
            hits: 0,
        }
    }

    /// An engine asks for a lease of at most `most` nonces. Changes take effect before it. Now and then a lease
    /// is empty, of stopped work, or longer than asked for.
    pub fn take(&mut self, most: u64) -> (Vec<Change>, Option<(usize, Range<u64>)>) {
        assert!(most > 0, "an engine asks for at least one nonce");
        let mut changes = Vec::new();
        if self.works.is_empty() || self.random.below(12) == 0 {
            changes.push(self.add_work());
        }
        let work = self.random.below(self.works.len());
        let bound = self.random_bound();
        match self.random.below(16) {
            0 => {
                self.works[work].is_stopped = true;
                changes.push(Change::Stop(work));
                changes.push(self.add_work());
            }
            1 if self.may_stop && self.random.below(4) == 0 => {
                self.is_engine_ended = true;
                changes.push(Change::StopEngine);
            }
            _ => {
                self.works[work].bound = bound;
                for lease in self.open.iter_mut().filter(|lease| lease.work == work) {
                    lease.bounds = [lease.bounds[0].min(bound), lease.bounds[1].max(bound)];
                }
                changes.push(Change::Bound(work, bound));
            }
        }
        if self.left == 0 {
            return (changes, None);
        }
        self.left -= 1;
        // Mostly of the newest work.
        let newest = self.works.len() - 1;
        let work = if self.random.below(4) == 0 { work } else { newest };
        let count = self.random.below(most as usize + 2) as u64;
        let state = &mut self.works[work];
        let nonces = state.next_nonce..state.next_nonce + count;
        state.next_nonce = nonces.end;
        let bounds = [state.bound; 2];
        self.open.push(OpenLease { work, nonces: nonces.clone(), bounds, hits: BTreeSet::new() });
        (changes, Some((work, nonces)))
    }

    fn add_work(&mut self) -> Change {
        let bound = self.random_bound();
        self.works.push(WorkState { bound, next_nonce: 0, is_stopped: false });
        Change::Add(bound)
    }

    /// None, some or all digests.
    fn random_bound(&mut self) -> u64 {
        [0, u64::MAX / 4, u64::MAX / 2, u64::MAX][self.random.below(4)]
    }

    /// The engine is to fail: leases may end early from now on.
    pub fn expect_failure(&mut self) {
        self.is_engine_ended = true;
    }

    fn position(&self, work: usize, nonces: &Range<u64>) -> usize {
        let is_it = |lease: &OpenLease| lease.work == work && lease.nonces == *nonces;
        self.open.iter().position(is_it).unwrap_or_else(|| panic!("{work} {nonces:?} is no open lease"))
    }

    /// An engine reports a hit.
    pub fn hit(&mut self, work: usize, nonces: &Range<u64>, nonce: u64) {
        let lease = self.position(work, nonces);
        assert!(nonces.contains(&nonce), "{nonce} is a nonce of {nonces:?}");
        assert!(self.open[lease].hits.insert(nonce), "{nonce} of {nonces:?} is reported once");
    }

    /// An engine ends a lease: it has computed `hashes` digests, and tried every nonce below `next`.
    /// `leading_word` is that of the digest of a nonce.
    pub fn end(
        &mut self,
        work: usize,
        nonces: &Range<u64>,
        [hashes, next]: [u64; 2],
        mut leading_word: impl FnMut(u64) -> u64,
    ) {
        let OpenLease { bounds, hits, .. } = self.open.remove(self.position(work, nonces));
        let count = nonces.end - nonces.start;
        assert!((nonces.start..=nonces.end).contains(&next), "{next} is within {nonces:?}");
        assert!(
            (next - nonces.start..=count).contains(&hashes),
            "{hashes} hashes up to {next} of {nonces:?}"
        );
        let may_end_early = self.works[work].is_stopped || self.is_engine_ended;
        assert!(next == nonces.end || may_end_early, "{nonces:?} was searched up to {next} only");
        for nonce in nonces.clone() {
            let (word, is_hit) = (leading_word(nonce), hits.contains(&nonce));
            assert!(nonce < next || !is_hit, "{nonce} is reported, but counts as not tried from {next}");
            assert!(!is_hit || word <= bounds[1], "{nonce} is above every bound");
            assert!(
                is_hit || nonce >= next || word > bounds[0],
                "{nonce} is below every bound, but not reported"
            );
        }
        self.searched += next - nonces.start;
        self.hits += hits.len() as u64;
    }

    /// The engine has ended: so have all leases.
    pub fn finish(self) -> LeaseCount {
        let open: Vec<_> = self.open.iter().map(|lease| (lease.work, &lease.nonces)).collect();
        assert!(open.is_empty(), "not ended: {open:?}");
        assert!(self.left == 0 || self.is_engine_ended, "{} leases were not taken", self.left);
        LeaseCount { searched: self.searched, hits: self.hits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine without faults takes each lease and ends it; then `fault` ends it otherwise.
    fn run(seed: u64, fault: impl Fn(&mut Leases, usize, &Range<u64>) -> bool) -> LeaseCount {
        let mut leases = Leases::new(seed, 50, false);
        loop {
            let (_, Some((work, nonces))) = leases.take(3) else { return leases.finish() };
            if fault(&mut leases, work, &nonces) {
                continue;
            }
            // Every digest is the smallest, and so a hit by every bound.
            nonces.clone().for_each(|nonce| leases.hit(work, &nonces, nonce));
            leases.end(work, &nonces, [nonces.end - nonces.start, nonces.end], |_| 0);
        }
    }

    #[test]
    fn a_correct_engine_passes_and_each_fault_is_found() {
        for seed in 0..20 {
            let count = run(seed, |_, _, _| false);
            assert!(count.searched > 20 && count.hits == count.searched, "{count:?}");
        }
        type Fault = fn(&mut Leases, usize, &Range<u64>) -> bool;
        let faults: [Fault; 7] = [
            // Never ended; ended twice.
            |_, _, _| true,
            |leases, work, nonces| {
                (0..2).for_each(|_| leases.end(work, nonces, [0, nonces.start], |_| u64::MAX));
                true
            },
            // Ended early without a stop.
            |leases, work, nonces| {
                leases.works[work].is_stopped = false;
                leases.end(work, nonces, [0, nonces.start], |_| 0);
                true
            },
            // Hits: missing, twice, above the bound, of nonces that count as not tried.
            |leases, work, nonces| {
                leases.end(work, nonces, [nonces.end - nonces.start, nonces.end], |_| 0);
                true
            },
            |leases, work, nonces| {
                nonces.clone().for_each(|nonce| leases.hit(work, nonces, nonce));
                nonces.clone().for_each(|nonce| leases.hit(work, nonces, nonce));
                true
            },
            |leases, work, nonces| {
                nonces.clone().for_each(|nonce| leases.hit(work, nonces, nonce));
                leases.end(work, nonces, [nonces.end - nonces.start, nonces.end], |_| u64::MAX);
                true
            },
            |leases, work, nonces| {
                leases.expect_failure();
                nonces.clone().for_each(|nonce| leases.hit(work, nonces, nonce));
                leases.end(work, nonces, [0, nonces.start], |_| 0);
                true
            },
        ];
        for (number, fault) in faults.into_iter().enumerate() {
            assert!(std::panic::catch_unwind(|| run(7, fault)).is_err(), "fault {number}");
        }
    }
}
