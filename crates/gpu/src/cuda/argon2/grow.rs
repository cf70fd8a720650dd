//! Which hash advances when, and whose memory is whose, where hashes of one pass and one lane take memory as they advance. No device
//! is touched here.
//!
//! A hash that has come so far needs no more than what it has filled, and on the way it needs about 0.6 of the whole: the half whose
//! references are known goes faster. So more of them go side by side than fit as a whole, if they are not all at the same place. Time is
//! counted in ticks, and each hash advances by as much in a tick as every other at its place. From this follows how much memory all
//! of them will need at every tick to come, and a hash begins only if there is enough of it until it ends: nobody ever waits for
//! memory that others hold.

use hashmill_hash::argon2::{Params, Variant};
use std::collections::VecDeque;

/// How a hash advances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Course {
    /// Blocks of a hash, and those of them, the first, whose references are known.
    pub(super) blocks: u32,
    pub(super) known: u32,
    /// Blocks of a tick: where references are known, and where they are not.
    fast: u32,
    slow: u32,
    /// A granule has two to the power of this many blocks.
    pub(super) shift: u32,
}

/// How many ticks are handed over together at most.
pub(super) const MOST_TICKS: u32 = 16;

/// How many ticks later than memory would have it they begin, all of them together. Without any, one that is due finds a granule taken,
/// and those behind it wait with it: by simulation a long list of 2 GiB takes 8 % longer then, and how long depends on what is handed over
/// together. With two thirds of this it is 3 % longer with rounds of 10 and 12 ticks only.
const SLACK: u32 = MOST_TICKS + MOST_TICKS / 2;

impl Course {
    /// Granules of a hash, about.
    const GRANULES: u32 = 128;

    /// Ticks of a hash, about.
    const TICKS: u32 = 2048;

    /// Nothing for hashes that need all of their memory to the end, or have too little of it.
    pub(super) fn of(params: Params) -> Option<Course> {
        let blocks = u32::try_from(params.blocks()).ok()?;
        let known = match params.variant() {
            Variant::D => 0,
            Variant::I => blocks,
            Variant::Id => blocks / 2,
        };
        let slow = (blocks / Course::TICKS).clamp(2, 1024);
        // An H200 computed a block in 311 ns where its reference was known, and in 680 where it was not. With 17 tenths it does 3 % less,
        // and granules of 32 or 64 MiB instead of 16 are no faster.
        let (fast, shift) = (slow * 21 / 10, (blocks / Course::GRANULES).checked_ilog2()?);
        let grows = (params.passes(), params.lanes()) == (1, 1);
        grows.then_some(Course { blocks, known, fast, slow, shift })
    }

    /// How many ticks a hash takes.
    pub(super) fn ticks(self) -> u32 {
        self.known.div_ceil(self.fast) + (self.blocks - self.known).div_ceil(self.slow)
    }

    /// How many blocks it has after so many ticks.
    pub(super) fn blocks_after(self, ticks: u32) -> u32 {
        let fast = self.known.div_ceil(self.fast);
        match ticks.checked_sub(fast) {
            None | Some(0) => ticks.saturating_mul(self.fast).min(self.known),
            Some(slow) => slow.saturating_mul(self.slow).saturating_add(self.known).min(self.blocks),
        }
    }

    /// How many granules so many blocks take.
    pub(super) fn granules(self, blocks: u32) -> u32 {
        blocks.div_ceil(1 << self.shift)
    }

    /// How many it may have when it is so many ticks old: as many as it needs for what is handed over together.
    fn need(self, age: u32) -> u32 {
        self.granules(self.blocks_after(age.saturating_add(MOST_TICKS)))
    }

    /// For how many ticks it may have any.
    fn holds(self) -> u32 {
        self.ticks() + MOST_TICKS
    }

    /// How many hashes a pool of so many granules feeds, if they begin one after another.
    pub(super) fn feeds(self, granules: u32) -> u64 {
        let all: u64 = (0..self.holds()).map(|age| u64::from(self.need(age))).sum();
        u64::from(granules) * u64::from(self.ticks()) / all
    }

    /// How many hashes it holds as a whole.
    pub(super) fn wholes(self, granules: u32) -> u32 {
        granules / self.granules(self.blocks)
    }
}

/// What a hash does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Strip {
    pub(super) slot: usize,
    pub(super) from: u32,
    pub(super) to: u32,
    /// The number of the strip, in its hash.
    pub(super) step: u32,
    /// Whether the hash ends with it.
    pub(super) ends: bool,
}

/// Hashes on their way, and the memory that they share.
pub(super) struct Plan {
    course: Course,
    /// By slots.
    hashes: Vec<Option<Hash>>,
    /// Slots of those that are on their way, the oldest first.
    order: VecDeque<usize>,
    free: Vec<u32>,
    granules: u32,
    /// How many are needed at each tick from now on.
    forecast: VecDeque<u32>,
    /// Ticks since the beginning, and when the next hash is to begin, both in parts of a tick.
    now: u64,
    due: u64,
    apart: u64,
}

struct Hash {
    age: u32,
    step: u32,
    granules: Vec<u32>,
}

/// So many parts has a tick.
const PARTS: u64 = 64;

impl Plan {
    /// For at most so many hashes at a time, in so many granules: as many as a whole needs, at least.
    pub(super) fn new(course: Course, granules: u32, most: usize) -> Plan {
        assert!(course.wholes(granules) > 0, "a hash ends");
        let together = course.feeds(granules).min(most as u64).max(1);
        let slots = usize::try_from(together).unwrap_or(most).max(course.wholes(granules) as usize).min(most);
        Plan {
            course,
            hashes: (0..slots.max(1)).map(|_| None).collect(),
            order: VecDeque::new(),
            free: (0..granules).rev().collect(),
            granules,
            forecast: VecDeque::new(),
            now: 0,
            due: 0,
            apart: u64::from(course.ticks() + SLACK) * PARTS / together,
        }
    }

    /// How many hashes are on their way at most.
    pub(super) fn slots(&self) -> usize {
        self.hashes.len()
    }

    /// How many hashes are to begin now, if so many are left. All of them, if there is memory for all: they take the shortest time so.
    /// Otherwise one after another, as far apart as they will be later.
    pub(super) fn starts(&self, left: u64) -> usize {
        let room = (0..self.course.holds()).zip(self.forecast.iter().copied().chain(std::iter::repeat(0)));
        let fit = room.map(|(age, taken)| (self.granules - taken) / self.course.need(age).max(1)).min();
        let fit = (fit.unwrap_or(0) as usize).min(self.slots() - self.order.len());
        if fit as u64 >= left {
            return left as usize;
        }
        let late = (self.now + PARTS).saturating_sub(self.due).div_ceil(self.apart.max(1));
        // Where there is nothing to do, nobody waits.
        let late = if self.order.is_empty() { late.max(1) } else { late };
        fit.min(usize::try_from(late).unwrap_or(fit))
    }

    /// Begins one, and says in which slot.
    pub(super) fn start(&mut self) -> usize {
        let slot = self.hashes.iter().position(Option::is_none).expect("as many as `starts` said");
        self.hashes[slot] = Some(Hash { age: 0, step: 0, granules: Vec::new() });
        self.order.push_back(slot);
        let holds = self.course.holds();
        if self.forecast.len() < holds as usize {
            self.forecast.resize(holds as usize, 0);
        }
        for (taken, age) in self.forecast.iter_mut().zip(0..holds) {
            *taken += self.course.need(age);
        }
        // Whoever was late does not hurry afterwards.
        self.due = self.due.max(self.now.saturating_sub(self.apart)) + self.apart;
        slot
    }

    /// Lets all hashes advance by so many ticks: what each of them does, the oldest first. Memory of those that end is free for what
    /// is handed over later.
    pub(super) fn advance(&mut self, ticks: u32) -> Vec<Strip> {
        assert!((1..=MOST_TICKS).contains(&ticks), "as the forecast has it");
        let (course, mut strips) = (self.course, Vec::with_capacity(self.order.len()));
        for &slot in &self.order {
            let hash = self.hashes[slot].as_mut().expect("it is on its way");
            let (from, to) = (course.blocks_after(hash.age), course.blocks_after(hash.age + ticks));
            while (hash.granules.len() as u32) < course.granules(to) {
                hash.granules.push(self.free.pop().expect("the forecast says so"));
            }
            strips.push(Strip { slot, from, to, step: hash.step, ends: to == course.blocks });
            (hash.age, hash.step) = (hash.age + ticks, hash.step + 1);
        }
        self.now += u64::from(ticks) * PARTS;
        self.forecast.drain(..self.forecast.len().min(ticks as usize));
        strips
    }

    /// Which granules a slot has, from the first block on.
    pub(super) fn granules(&self, slot: usize) -> &[u32] {
        self.hashes[slot].as_ref().map_or(&[], |hash| &hash.granules)
    }

    /// Takes memory back from a hash whose last strip was handed over.
    pub(super) fn end(&mut self, slot: usize) {
        self.order.retain(|other| *other != slot);
        let Some(hash) = self.hashes[slot].take() else { return };
        for (taken, age) in self.forecast.iter_mut().zip(hash.age..self.course.holds()) {
            *taken -= self.course.need(age);
        }
        self.free.extend(hash.granules);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(memory: u32, variant: Variant) -> Course {
        Course::of(Params::new(memory, 1, 1).unwrap().with_variant(variant)).unwrap()
    }

    /// How long so many hashes take, in ticks, and what must be true of every strip on the way.
    fn simulated(course: Course, granules: u32, most: usize, hashes: u64, together: &[u32]) -> u64 {
        let mut plan = Plan::new(course, granules, most);
        let (mut left, mut ended, mut ticks) = (hashes, 0, 0);
        let mut places = vec![(0, 0); plan.slots()];
        let mut lengths = together.iter().cycle();
        while ended < hashes {
            for _ in 0..plan.starts(left) {
                let slot = plan.start();
                places[slot] = (0, 0);
                left -= 1;
            }
            let length = *lengths.next().unwrap();
            let strips = plan.advance(length);
            assert!(!strips.is_empty(), "somebody advances");
            let mut owners = vec![false; granules as usize];
            for strip in &strips {
                assert_eq!((strip.from, strip.step), places[strip.slot], "each goes on where it ended");
                assert!(strip.to > strip.from && (strip.from > 0 || strip.to >= 2), "{strip:?}");
                places[strip.slot] = (strip.to, strip.step + 1);
                let has = plan.granules(strip.slot);
                assert!(has.len() as u32 >= course.granules(strip.to));
                for granule in has {
                    assert!(!std::mem::replace(&mut owners[*granule as usize], true), "one owner");
                }
            }
            for strip in strips.iter().filter(|strip| strip.ends) {
                assert_eq!(strip.to, course.blocks);
                plan.end(strip.slot);
                ended += 1;
            }
            ticks += u64::from(length);
        }
        assert_eq!((plan.free.len() as u32, left), (granules, 0), "all memory is there");
        ticks
    }

    #[test]
    fn a_course_begins_with_nothing_and_ends_with_all_blocks() {
        for memory in [512, 1000, 65_536, 2 << 20] {
            for variant in Variant::ALL {
                let course = course(memory, variant);
                assert_eq!((course.blocks_after(0), course.blocks_after(course.ticks())), (0, course.blocks));
                assert!(
                    course.blocks_after(course.ticks() - 1) < course.blocks && course.blocks_after(1) >= 2
                );
                assert!(
                    (0..course.ticks()).all(|age| course.blocks_after(age) < course.blocks_after(age + 1))
                );
            }
        }
        let whole = |memory, passes, lanes| Course::of(Params::new(memory, passes, lanes).unwrap());
        assert_eq!([whole(4096, 2, 1), whole(4096, 1, 2), whole(64, 1, 1)], [None; 3]);
        assert_eq!(course(2 << 20, Variant::Id).shift, 14, "16 MiB");
    }

    #[test]
    fn nobody_waits_for_memory_that_others_hold() {
        for (memory, variant) in [(1000, Variant::Id), (600, Variant::I), (512, Variant::D)] {
            let course = course(memory, variant);
            let whole = course.granules(course.blocks);
            for granules in [whole, whole + 1, 5 * whole + 7] {
                for (most, hashes) in [(1, 2), (3, 7), (usize::MAX, 1), (usize::MAX, 30)] {
                    for together in [&[1][..], &[MOST_TICKS], &[5, 1, 7, 16, 2]] {
                        simulated(course, granules, most, hashes, together);
                    }
                }
            }
        }
    }

    /// 2 GiB on a card of 138: more at a time than have room as a whole, and as much sooner.
    #[test]
    fn many_hashes_take_much_less_time_and_few_take_no_more() {
        let (course, granules) = (course(2 << 20, Variant::Id), 138 * 64);
        assert_eq!((course.wholes(granules), course.feeds(granules)), (69, 112));
        let fixed = |hashes: u64| hashes.div_ceil(69) * u64::from(course.ticks());
        let ticks = |hashes| simulated(course, granules, usize::MAX, hashes, &[12]) as f64;
        assert!(ticks(69) < 1.01 * fixed(69) as f64);
        assert!(ticks(70) < 0.9 * fixed(70) as f64, "{} {}", ticks(70), fixed(70));
        let gain = fixed(690) as f64 / (ticks(690) - f64::from(course.ticks()));
        assert!(gain > 1.55, "{gain}");
    }

    /// What an H200 and an H100 have: whatever is handed over together, as many end as there is memory for.
    #[test]
    fn a_long_list_does_not_wait_for_granules() {
        let course = course(2 << 20, Variant::Id);
        for granules in [8716, 4900] {
            let each = f64::from(course.ticks() + SLACK) / course.feeds(granules) as f64;
            for together in [4, 10, 12] {
                let ticks = simulated(course, granules, usize::MAX, 400, &[together]) as f64;
                let beyond = ticks - f64::from(course.ticks());
                assert!(beyond < 1.01 * 400.0 * each, "{granules} {together}: {beyond} {each}");
            }
        }
    }
}
