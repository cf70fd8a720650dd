//! Schedule and memory of hashes of one pass and one lane that allocate memory as they advance. No device
//! calls here.
//!
//! A hash needs only the memory that it has filled so far. On average that is about 0.6 of its whole memory, because
//! the half with data-independent references is faster. So more hashes run side by side than fit as a whole,
//! provided they are at different positions. Time is counted in ticks. Hashes at the same position advance by the
//! same number of blocks in a tick, so the memory that all hashes need is known for every later tick. A hash starts
//! only if there is enough memory until its end: no hash ever waits for memory that others hold.

use hashmill_hash::argon2::{Params, Variant};
use std::collections::VecDeque;

/// Progress of a hash over time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AdvanceRule {
    /// Blocks of a hash, and the number of blocks at its beginning with data-independent references.
    pub(super) blocks: u32,
    pub(super) known: u32,
    /// Blocks per tick: with data-independent references, and with others.
    fast: u32,
    slow: u32,
    /// Logarithm of the blocks of a granule, to base two.
    pub(super) shift: u32,
}

/// The most ticks that are submitted together.
pub(super) const MAX_TICKS: u32 = 16;

/// Extra ticks between starts, beyond what memory requires, summed over all hashes. Without them the memory for a
/// start may be missing, and all later starts are delayed too: in simulations a long list at 2 GiB takes up to 8 %
/// longer, depending on the ticks per submission. With two thirds of this value a list takes 3 % longer, only for
/// submissions of 10 and 12 ticks.
const SLACK: u32 = MAX_TICKS + MAX_TICKS / 2;

impl AdvanceRule {
    /// Approximate number of granules of a hash.
    const GRANULES: u32 = 128;

    /// Approximate number of ticks of a hash.
    const TICKS: u32 = 2048;

    /// `None` for hashes that need all their memory until the end, or have too little of it.
    pub(super) fn from_params(params: Params) -> Option<AdvanceRule> {
        let blocks = u32::try_from(params.blocks()).ok()?;
        let known = match params.variant() {
            Variant::D => 0,
            Variant::I => blocks,
            Variant::Id => blocks / 2,
        };
        let slow = (blocks / AdvanceRule::TICKS).clamp(2, 1024);
        // An H200 computes a block with a data-independent reference in 311 ns, another in 680 ns. A ratio of 1.7
        // is 3 % slower, and granules of 32 or 64 MiB instead of 16 are no faster.
        let (fast, shift) = (slow * 21 / 10, (blocks / AdvanceRule::GRANULES).checked_ilog2()?);
        let grows = (params.passes(), params.lanes()) == (1, 1);
        grows.then_some(AdvanceRule { blocks, known, fast, slow, shift })
    }

    /// Ticks of a hash.
    pub(super) fn ticks(self) -> u32 {
        self.known.div_ceil(self.fast) + (self.blocks - self.known).div_ceil(self.slow)
    }

    /// Blocks that are filled after `ticks` ticks.
    pub(super) fn blocks_after(self, ticks: u32) -> u32 {
        let fast = self.known.div_ceil(self.fast);
        match ticks.checked_sub(fast) {
            None | Some(0) => ticks.saturating_mul(self.fast).min(self.known),
            Some(slow) => slow.saturating_mul(self.slow).saturating_add(self.known).min(self.blocks),
        }
    }

    /// Granules for `blocks` blocks.
    pub(super) fn granules(self, blocks: u32) -> u32 {
        blocks.div_ceil(1 << self.shift)
    }

    /// Granules that a hash may hold at this age in ticks: enough for the next submission.
    fn granules_at_age(self, age: u32) -> u32 {
        self.granules(self.blocks_after(age.saturating_add(MAX_TICKS)))
    }

    /// Ticks during which a hash may hold granules.
    fn hold_ticks(self) -> u32 {
        self.ticks() + MAX_TICKS
    }

    /// The number of hashes that run side by side in a pool of `granules`, if they start one after another.
    pub(super) fn concurrent_hashes(self, granules: u32) -> u64 {
        let all: u64 = (0..self.hold_ticks()).map(|age| u64::from(self.granules_at_age(age))).sum();
        u64::from(granules) * u64::from(self.ticks()) / all
    }

    /// The number of whole hashes that fit.
    pub(super) fn whole_hashes(self, granules: u32) -> u32 {
        granules / self.granules(self.blocks)
    }
}

/// The next step of a hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HashStep {
    pub(super) slot: usize,
    pub(super) from: u32,
    pub(super) to: u32,
    /// The number of the step in its hash.
    pub(super) step: u32,
    /// Is this the last step of the hash?
    pub(super) ends: bool,
}

/// Running hashes and the memory that they share.
pub(super) struct LaneSchedule {
    rule: AdvanceRule,
    /// One entry per slot.
    hashes: Vec<Option<Hash>>,
    /// Slots of running hashes, the oldest first.
    order: VecDeque<usize>,
    free: Vec<u32>,
    granules: u32,
    /// Granules that running hashes need, for each tick from the current one on.
    forecast: VecDeque<u32>,
    /// The current time and the time of the next start, in units.
    now: u64,
    next_start: u64,
    start_interval: u64,
}

struct Hash {
    age: u32,
    step: u32,
    granules: Vec<u32>,
}

/// Units of time in a tick.
const UNITS_PER_TICK: u64 = 64;

impl LaneSchedule {
    /// A schedule for at most `most` hashes at a time in `granules` granules, which must hold at least one whole
    /// hash.
    pub(super) fn new(rule: AdvanceRule, granules: u32, most: usize) -> LaneSchedule {
        assert!(rule.whole_hashes(granules) > 0, "one whole hash fits");
        let together = rule.concurrent_hashes(granules).min(most as u64).max(1);
        let slots =
            usize::try_from(together).unwrap_or(most).max(rule.whole_hashes(granules) as usize).min(most);
        LaneSchedule {
            rule,
            hashes: (0..slots.max(1)).map(|_| None).collect(),
            order: VecDeque::new(),
            free: (0..granules).rev().collect(),
            granules,
            forecast: VecDeque::new(),
            now: 0,
            next_start: 0,
            start_interval: u64::from(rule.ticks() + SLACK) * UNITS_PER_TICK / together,
        }
    }

    /// The most hashes that run side by side.
    pub(super) fn slots(&self) -> usize {
        self.hashes.len()
    }

    /// The number of hashes to start now if `left` are left: all of them if memory suffices, since that takes the
    /// shortest time. Otherwise hashes start one after another, at the interval of the steady state.
    pub(super) fn start_count(&self, left: u64) -> usize {
        let room = (0..self.rule.hold_ticks()).zip(self.forecast.iter().copied().chain(std::iter::repeat(0)));
        let fit =
            room.map(|(age, taken)| (self.granules - taken) / self.rule.granules_at_age(age).max(1)).min();
        let fit = (fit.unwrap_or(0) as usize).min(self.slots() - self.order.len());
        if fit as u64 >= left {
            return left as usize;
        }
        let late =
            (self.now + UNITS_PER_TICK).saturating_sub(self.next_start).div_ceil(self.start_interval.max(1));
        // Never wait while no hash runs.
        let late = if self.order.is_empty() { late.max(1) } else { late };
        fit.min(usize::try_from(late).unwrap_or(fit))
    }

    /// Starts a hash and returns its slot.
    pub(super) fn start(&mut self) -> usize {
        let slot =
            self.hashes.iter().position(Option::is_none).expect("`start_count` counts free slots only");
        self.hashes[slot] = Some(Hash { age: 0, step: 0, granules: Vec::new() });
        self.order.push_back(slot);
        let hold_ticks = self.rule.hold_ticks();
        if self.forecast.len() < hold_ticks as usize {
            self.forecast.resize(hold_ticks as usize, 0);
        }
        for (taken, age) in self.forecast.iter_mut().zip(0..hold_ticks) {
            *taken += self.rule.granules_at_age(age);
        }
        // Later starts do not catch up on a late one.
        self.next_start =
            self.next_start.max(self.now.saturating_sub(self.start_interval)) + self.start_interval;
        slot
    }

    /// Advances all hashes by `ticks` ticks and returns their steps, the oldest hash first. Memory of a hash
    /// that ends is free for later submissions.
    pub(super) fn advance(&mut self, ticks: u32) -> Vec<HashStep> {
        assert!((1..=MAX_TICKS).contains(&ticks), "within the forecast");
        let (rule, mut steps) = (self.rule, Vec::with_capacity(self.order.len()));
        for &slot in &self.order {
            let hash = self.hashes[slot].as_mut().expect("slots in `order` hold a hash");
            let (from, to) = (rule.blocks_after(hash.age), rule.blocks_after(hash.age + ticks));
            while (hash.granules.len() as u32) < rule.granules(to) {
                hash.granules.push(self.free.pop().expect("the forecast keeps enough free"));
            }
            steps.push(HashStep { slot, from, to, step: hash.step, ends: to == rule.blocks });
            (hash.age, hash.step) = (hash.age + ticks, hash.step + 1);
        }
        self.now += u64::from(ticks) * UNITS_PER_TICK;
        self.forecast.drain(..self.forecast.len().min(ticks as usize));
        steps
    }

    /// The granules of a slot, in the order of its blocks.
    pub(super) fn granules(&self, slot: usize) -> &[u32] {
        self.hashes[slot].as_ref().map_or(&[], |hash| &hash.granules)
    }

    /// Frees the memory of a hash whose last step was submitted.
    pub(super) fn end(&mut self, slot: usize) {
        self.order.retain(|other| *other != slot);
        let Some(hash) = self.hashes[slot].take() else { return };
        for (taken, age) in self.forecast.iter_mut().zip(hash.age..self.rule.hold_ticks()) {
            *taken -= self.rule.granules_at_age(age);
        }
        self.free.extend(hash.granules);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(memory: u32, variant: Variant) -> AdvanceRule {
        AdvanceRule::from_params(Params::new(memory, 1, 1).unwrap().with_variant(variant)).unwrap()
    }

    /// Simulates all hashes, checks every step, and returns the number of ticks.
    fn simulated(rule: AdvanceRule, granules: u32, most: usize, hashes: u64, together: &[u32]) -> u64 {
        let mut schedule = LaneSchedule::new(rule, granules, most);
        let (mut left, mut ended, mut ticks) = (hashes, 0, 0);
        let mut positions = vec![(0, 0); schedule.slots()];
        let mut lengths = together.iter().cycle();
        while ended < hashes {
            for _ in 0..schedule.start_count(left) {
                let slot = schedule.start();
                positions[slot] = (0, 0);
                left -= 1;
            }
            let length = *lengths.next().unwrap();
            let steps = schedule.advance(length);
            assert!(!steps.is_empty(), "at least one hash advances");
            let mut owners = vec![false; granules as usize];
            for step in &steps {
                assert_eq!(
                    (step.from, step.step),
                    positions[step.slot],
                    "each step begins at the end of the one before"
                );
                assert!(step.to > step.from && (step.from > 0 || step.to >= 2), "{step:?}");
                positions[step.slot] = (step.to, step.step + 1);
                let granules_of_hash = schedule.granules(step.slot);
                assert!(granules_of_hash.len() as u32 >= rule.granules(step.to));
                for granule in granules_of_hash {
                    assert!(!std::mem::replace(&mut owners[*granule as usize], true), "one owner");
                }
            }
            for step in steps.iter().filter(|step| step.ends) {
                assert_eq!(step.to, rule.blocks);
                schedule.end(step.slot);
                ended += 1;
            }
            ticks += u64::from(length);
        }
        assert_eq!((schedule.free.len() as u32, left), (granules, 0), "all memory is free again");
        ticks
    }

    #[test]
    fn an_advance_rule_starts_with_no_block_and_ends_with_all() {
        for memory in [512, 1000, 65_536, 2 << 20] {
            for variant in Variant::ALL {
                let rule = rule(memory, variant);
                assert_eq!((rule.blocks_after(0), rule.blocks_after(rule.ticks())), (0, rule.blocks));
                assert!(rule.blocks_after(rule.ticks() - 1) < rule.blocks && rule.blocks_after(1) >= 2);
                assert!((0..rule.ticks()).all(|age| rule.blocks_after(age) < rule.blocks_after(age + 1)));
            }
        }
        let from_costs =
            |memory, passes, lanes| AdvanceRule::from_params(Params::new(memory, passes, lanes).unwrap());
        assert_eq!([from_costs(4096, 2, 1), from_costs(4096, 1, 2), from_costs(64, 1, 1)], [None; 3]);
        assert_eq!(rule(2 << 20, Variant::Id).shift, 14, "16 MiB");
    }

    #[test]
    fn no_hash_waits_for_memory_that_others_hold() {
        for (memory, variant) in [(1000, Variant::Id), (600, Variant::I), (512, Variant::D)] {
            let rule = rule(memory, variant);
            let whole = rule.granules(rule.blocks);
            for granules in [whole, whole + 1, 5 * whole + 7] {
                for (most, hashes) in [(1, 2), (3, 7), (usize::MAX, 1), (usize::MAX, 30)] {
                    for together in [&[1][..], &[MAX_TICKS], &[5, 1, 7, 16, 2]] {
                        simulated(rule, granules, most, hashes, together);
                    }
                }
            }
        }
    }

    /// 2 GiB on a card of 138 GiB: more hashes run at a time than fit as a whole, and the time of a list falls in
    /// proportion.
    #[test]
    fn many_hashes_take_less_time_and_few_take_no_more() {
        let (rule, granules) = (rule(2 << 20, Variant::Id), 138 * 64);
        assert_eq!((rule.whole_hashes(granules), rule.concurrent_hashes(granules)), (69, 112));
        let fixed = |hashes: u64| hashes.div_ceil(69) * u64::from(rule.ticks());
        let ticks = |hashes| simulated(rule, granules, usize::MAX, hashes, &[12]) as f64;
        assert!(ticks(69) < 1.01 * fixed(69) as f64);
        assert!(ticks(70) < 0.9 * fixed(70) as f64, "{} {}", ticks(70), fixed(70));
        let gain = fixed(690) as f64 / (ticks(690) - f64::from(rule.ticks()));
        assert!(gain > 1.55, "{gain}");
    }

    /// Pools of an H200 and an H100: for any number of ticks per submission, throughput is what memory allows.
    #[test]
    fn a_long_list_does_not_wait_for_granules() {
        let rule = rule(2 << 20, Variant::Id);
        for granules in [8716, 4900] {
            let each = f64::from(rule.ticks() + SLACK) / rule.concurrent_hashes(granules) as f64;
            for together in [4, 10, 12] {
                let ticks = simulated(rule, granules, usize::MAX, 400, &[together]) as f64;
                let beyond = ticks - f64::from(rule.ticks());
                assert!(beyond < 1.01 * 400.0 * each, "{granules} {together}: {beyond} {each}");
            }
        }
    }

    /// Endless work on an H200, for an hour in the full size: only the first hash takes longer than at the steady rate.
    #[test]
    fn endless_work_keeps_the_steady_rate() {
        const TICKS_TOGETHER: u32 = 10;
        let rule = rule(2 << 20, Variant::Id);
        // A hash of 2 GiB takes 1.09 s on an H200.
        let second = f64::from(rule.ticks()) / 1.09;
        let seconds = hashmill_testkit::size::of(300, 3600);
        let mut schedule = LaneSchedule::new(rule, 8716, usize::MAX);
        let (mut ended, mut ticks) = (Vec::new(), 0_u64);
        while (ticks as f64) < second * f64::from(seconds) {
            for _ in 0..schedule.start_count(u64::MAX) {
                schedule.start();
            }
            let steps = schedule.advance(TICKS_TOGETHER);
            ticks += u64::from(TICKS_TOGETHER);
            for step in steps.iter().filter(|step| step.ends) {
                schedule.end(step.slot);
                ended.push(ticks);
            }
        }
        let of_all = ended.len() as f64 / ticks as f64;
        let later = ended.iter().filter(|at| **at > ticks / 2).count() as f64;
        let steady = later / (ticks - ticks / 2) as f64;
        let least = schedule.slots() as f64 / f64::from(rule.ticks() + SLACK);
        assert!(steady > 0.99 * least && of_all > 0.995 * steady, "{of_all} {steady} {least}");
    }
}
