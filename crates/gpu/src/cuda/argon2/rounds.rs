//! Rounds of hashes that allocate memory as they advance: which hashes begin, advance, end or are cancelled. No
//! device calls here.

use super::lane_schedule::{HashStep, LaneSchedule};
use crate::Error;
use crate::argon2::schedule::SubmitSizer;
use crate::argon2::{HashSource, Words};
use hashmill_hash::argon2::{HashError, Stop};
use std::time::Instant;
use zeroize::Zeroizing;

/// A device that computes the steps of rounds.
pub(super) trait RoundDevice {
    /// Submits a round. `started` has the slots that begin with it, and their first blocks.
    fn submit_round(
        &mut self,
        schedule: &LaneSchedule,
        round: &Round,
        started: &[(usize, &[Words; 2])],
    ) -> Result<(), Error>;

    /// Waits for a round, and returns the last blocks of the hashes that ended with it.
    fn wait_for_round(&mut self, round: &Round, stop: &Stop) -> Result<Zeroizing<Vec<Words>>, Error>;
}

/// Steps that are submitted together.
pub(super) struct Round {
    pub(super) steps: Vec<HashStep>,
    /// Numbers of the hashes that end with it, in the order of their steps.
    ending: Vec<u64>,
    ticks: u32,
    /// Index of its set of buffers: rounds use two sets in turn.
    pub(super) buffer_set: usize,
}

/// Computes all pending hashes. Two rounds are in flight at a time, so that the device does not wait for the host.
pub(super) fn run_rounds(
    device: &mut impl RoundDevice,
    schedule: &mut LaneSchedule,
    sizer: &mut SubmitSizer,
    work: &mut dyn HashSource,
    stop: &Stop,
) -> Result<(), Error> {
    // The number of the hash in each slot.
    let mut running = vec![None; schedule.slots()];
    let mut next_number = 0;
    let (mut previous, mut began): (Option<Round>, _) = (None, Instant::now());
    for buffer_set in [0, 1].into_iter().cycle() {
        if stop.is_set() {
            return Err(HashError::Stopped.into());
        }
        // A hash whose last step was submitted has no slot any more.
        for number in work.cancel_unneeded() {
            if let Some(slot) = running.iter().position(|running| *running == Some(number)) {
                running[slot] = None;
                schedule.end(slot);
            }
        }
        let first = work.start_hashes(schedule.start_count(work.remaining()))?;
        let mut started = Vec::new();
        for first in first.as_chunks::<2>().0 {
            let slot = schedule.start();
            running[slot] = Some(next_number);
            next_number += 1;
            started.push((slot, first));
        }
        let ticks = sizer.blocks();
        let steps = schedule.advance(ticks);
        if steps.is_empty() {
            break;
        }
        let ends = steps.iter().filter(|step| step.ends);
        let ending = ends.filter_map(|step| running[step.slot].take()).collect();
        let round = Round { ending, ticks, buffer_set, steps };
        device.submit_round(schedule, &round, &started)?;
        round.steps.iter().filter(|step| step.ends).for_each(|step| schedule.end(step.slot));
        if let Some(previous) = previous.replace(round) {
            finish_round(device, &previous, work, stop)?;
            sizer.record_time(previous.ticks, began.elapsed());
            began = Instant::now();
        }
    }
    previous.map_or(Ok(()), |previous| finish_round(device, &previous, work, stop))
}

/// Waits for a round, and passes the hashes that ended with it to `work`.
fn finish_round(
    device: &mut impl RoundDevice,
    round: &Round,
    work: &mut dyn HashSource,
    stop: &Stop,
) -> Result<(), Error> {
    let last = device.wait_for_round(round, stop)?;
    if last.is_empty() { Ok(()) } else { work.finish_hashes(&round.ending, &last) }
}

#[cfg(test)]
mod tests {
    use super::super::lane_schedule::{AdvanceRule, MAX_TICKS};
    use super::*;
    use crate::argon2::nonces::NonceSource;
    use crate::argon2::simulated_owner::{self, KnownHashes, SimulatedOwner, simulate};
    use crate::argon2::{Device, nonces};
    use hashmill_hash::argon2::Plan;
    use hashmill_hash::argon2::pow::HitChecker;
    use hashmill_hash::engine::{Hit, Lease, SearchProgress, Supply, Work};
    use hashmill_testkit::size;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// A device whose results are known.
    struct SimulatedRounds<'a> {
        owner: &'a SimulatedOwner<'a>,
        rule: AdvanceRule,
        granules: u32,
        most: usize,
        /// The first block of the hash in each slot, and the last blocks of each set of buffers.
        first: Vec<Words>,
        last: [Vec<Words>; 2],
        /// The next block of each slot.
        next_blocks: Vec<u32>,
    }

    impl RoundDevice for SimulatedRounds<'_> {
        fn submit_round(
            &mut self,
            schedule: &LaneSchedule,
            round: &Round,
            started: &[(usize, &[Words; 2])],
        ) -> Result<(), Error> {
            self.owner.submit()?;
            for (slot, [first, _]) in started {
                self.first[*slot] = *first;
                self.next_blocks[*slot] = 0;
            }
            let mut owned = vec![false; self.granules as usize];
            for step in &round.steps {
                assert_eq!(std::mem::replace(&mut self.next_blocks[step.slot], step.to), step.from);
                for granule in schedule.granules(step.slot) {
                    assert!(!std::mem::replace(&mut owned[*granule as usize], true), "one owner");
                }
            }
            let ends = round.steps.iter().filter(|step| step.ends);
            self.last[round.buffer_set] =
                ends.map(|step| self.owner.last_block(&self.first[step.slot])).collect();
            Ok(())
        }

        fn wait_for_round(&mut self, round: &Round, _: &Stop) -> Result<Zeroizing<Vec<Words>>, Error> {
            Ok(Zeroizing::new(std::mem::take(&mut self.last[round.buffer_set])))
        }
    }

    impl Device for SimulatedRounds<'_> {
        fn width(&self) -> usize {
            self.first.len()
        }

        fn run(&mut self, work: &mut dyn HashSource, stop: &Stop) -> Result<(), Error> {
            let mut schedule = LaneSchedule::new(self.rule, self.granules, self.most);
            self.first = vec![[0; 128]; schedule.slots()];
            self.next_blocks = vec![0; schedule.slots()];
            let mut sizer = SubmitSizer::with_bounds(Duration::from_millis(4), 1, 1, MAX_TICKS);
            run_rounds(self, &mut schedule, &mut sizer, work, stop)
        }
    }

    /// Each lease ends once, with the nonces that were searched. Lanes of several headers run side by side, and those
    /// of stopped work are cancelled.
    #[test]
    fn every_lease_of_growing_lanes_ends_once_with_its_searched_nonces() {
        let pow = simulated_owner::pow(128);
        let (rule, known) = (AdvanceRule::from_params(pow.params()).unwrap(), KnownHashes::new(pow));
        let whole = rule.granules(rule.blocks);
        let all = simulate(&known, size::of(40, 1000), |seed, owner, checker, stop| {
            let granules = whole + seed as u32 % 5 * whole;
            let mut device = SimulatedRounds {
                owner,
                rule,
                granules,
                most: 1 + seed as usize % 9,
                first: Vec::new(),
                last: [const { Vec::new() }; 2],
                next_blocks: Vec::new(),
            };
            nonces::run(&mut device, ("simulated", Plan::host()), checker, owner, stop)
        });
        assert!(all.stopped > 0 && all.lost > 5 && all.wrong > 5 && all.hits > 500, "{all:?}");
        assert!(all.searched > all.hits, "{all:?}");
    }

    /// A device without results, which compares its rounds with a schedule of endless work.
    struct ScheduledRounds<'a> {
        endless: LaneSchedule,
        ticks: u64,
        last_tick: u64,
        stop: &'a Stop,
    }

    impl RoundDevice for ScheduledRounds<'_> {
        fn submit_round(
            &mut self,
            _: &LaneSchedule,
            round: &Round,
            _: &[(usize, &[Words; 2])],
        ) -> Result<(), Error> {
            for _ in 0..self.endless.start_count(u64::MAX) {
                self.endless.start();
            }
            assert_eq!(round.steps, self.endless.advance(round.ticks), "after {} ticks", self.ticks);
            round.steps.iter().filter(|step| step.ends).for_each(|step| self.endless.end(step.slot));
            self.ticks += u64::from(round.ticks);
            if self.ticks > self.last_tick {
                self.stop.set();
            }
            Ok(())
        }

        fn wait_for_round(&mut self, round: &Round, _: &Stop) -> Result<Zeroizing<Vec<Words>>, Error> {
            Ok(Zeroizing::new(vec![[1; 128]; round.ending.len()]))
        }
    }

    /// Leases of one or two nonces; the target changes with each, and the header with every hundredth.
    struct ChangingOwner {
        work: Mutex<(Arc<Work>, u64)>,
        hashes: AtomicU64,
    }

    impl Supply for ChangingOwner {
        fn take_lease(&self, most: u64) -> Option<Lease> {
            let (work, next) = &mut *self.work.lock().unwrap();
            if next.is_multiple_of(100) {
                *work = Arc::new(Work::new(next.to_le_bytes(), &[0; 32]));
            }
            let mut target = [0; 32];
            target[7] = *next as u8;
            work.set_target(&target);
            let nonces = *next..*next + most.min(2);
            *next = nonces.end;
            Some(Lease { work: Arc::clone(work), nonces })
        }

        fn report_hit(&self, _: &Lease, hit: Hit) {
            panic!("{hit:?}");
        }

        fn end_lease(&self, _: Lease, progress: SearchProgress) {
            self.hashes.fetch_add(progress.hashes, Ordering::Relaxed);
        }
    }

    /// A device of 138 GiB computes the same steps in each round, whether or not targets and headers change.
    #[test]
    fn changes_of_work_do_not_delay_growing_lanes() {
        let pow = simulated_owner::pow(2 << 20);
        let rule = AdvanceRule::from_params(pow.params()).unwrap();
        let schedule = || LaneSchedule::new(rule, 8716, usize::MAX);
        let (stop, work) = (Stop::new(), Arc::new(Work::new([], &[0; 32])));
        let owner = ChangingOwner { work: Mutex::new((work, 0)), hashes: AtomicU64::new(0) };
        let last_tick = u64::from(rule.ticks()) * size::of(10, 200);
        let mut device = ScheduledRounds { endless: schedule(), ticks: 0, last_tick, stop: &stop };
        let mut sizer = SubmitSizer::with_bounds(Duration::from_millis(4), 1, 1, MAX_TICKS);
        // There are no hits, so any checker will do.
        let checker = HitChecker::new(simulated_owner::pow(8)).unwrap();
        let ended = checker.check_beside("scheduled", &stop, |queue| {
            let mut source = NonceSource::new(Plan::host(), pow, &owner, queue, &stop);
            run_rounds(&mut device, &mut schedule(), &mut sizer, &mut source, &stop)
        });
        assert_eq!(ended, Ok(Err(HashError::Stopped.into())));
        assert!(owner.hashes.into_inner() > 9 * 100, "as many lanes end in the time of a hash");
    }
}
