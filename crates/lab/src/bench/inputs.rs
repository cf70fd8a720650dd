//! The inputs of a session and what is right for each.

use super::random::Random;
use super::timed::{Call, fingerprint};
use crate::model::engine::Digest;
use crate::model::registry::Prepared;
use crate::model::units::Units;
use crate::plan::Orders;
use hashmill_machine::resident_bytes;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Says what is right for an input.
pub(super) type Answer<I> = dyn Fn(&I) -> Digest;

/// How a case is made.
pub(super) struct Recipe<I, C> {
    pub(super) make: Box<dyn Fn(&mut Random) -> I>,
    pub(super) expected: Option<Box<Answer<I>>>,
    pub(super) call: C,
    pub(super) units: Units,
    pub(super) working_set: Option<u64>,
    pub(super) limits: Limits,
}

/// The inputs of one session.
pub(super) struct Pool<I, C> {
    pub(super) recipe: Rc<Recipe<I, C>>,
    seeds: Vec<u64>,
    answers: Vec<Digest>,
    /// What a call gave before the first sample, where that was not right.
    wrong: Option<Digest>,
    /// The inputs themselves, where calls share them.
    pub(super) made: Vec<I>,
}

/// Most inputs of a session. A branch predictor learns one by heart: sorting a thousand numbers took 4.1 µs on one
/// input and 6.2 µs on 64, 256 or 1024 in turn (Zen 5).
const MOST: usize = 64;
/// Without a look at the memory, fewer.
const MOST_UNSEEN: usize = 8;

/// What inputs may cost a session. Both are facts of the process and the machine, so a test that counts inputs has its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// So much may the process grow by them; more would move a case from one level of caches to the next.
    pub(super) bytes: u64,
    /// So long may it take to make them, and to call on each.
    pub(super) time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 512 << 10, time: Duration::from_millis(20) }
    }
}

impl<I: 'static, C: Call<I>> Recipe<I, C> {
    /// The inputs of a session, the first of which the whole is known by.
    pub(super) fn prepare(self: &Rc<Self>, seed: u64) -> Prepared {
        let before = resident_bytes();
        let grown = || Some(resident_bytes()?.saturating_sub(before?));
        let (start, mut orders) = (Instant::now(), Orders::new(seed));
        let mut pool = Pool {
            recipe: Rc::clone(self),
            seeds: Vec::new(),
            answers: Vec::new(),
            wrong: None,
            made: Vec::new(),
        };
        let mut working_set = grown();
        let most = match (size_of::<I>(), working_set) {
            // Values without a size are all alike.
            (0, _) => 1,
            (_, Some(_)) => MOST,
            (_, None) => MOST_UNSEEN,
        };
        while pool.seeds.len() < most {
            pool.add(orders.next());
            working_set = working_set.max(grown());
            if start.elapsed() > self.limits.time || working_set > Some(self.limits.bytes) {
                break;
            }
        }
        pool.round_down();
        let working_set = self.working_set.or(match self.units {
            Units::Bytes(bytes) => working_set.map(|seen| seen.max(bytes)),
            _ => working_set,
        });
        // A process that did not grow found room in what it had, which is little.
        let working_set = working_set.map_or(0, |bytes| bytes.max(1));
        let reference = pool.right();
        Prepared::new(Rc::new(pool), reference, self.units, working_set)
    }
}

impl<I: 'static, C: Call<I>> Pool<I, C> {
    /// Makes an input, and calls once on it: samples look at few of their results, and no input should go unseen.
    fn add(&mut self, seed: u64) {
        let index = self.seeds.len();
        self.seeds.push(seed);
        let input = self.make(index);
        let expected = self.recipe.expected.as_ref().map(|expected| expected(&input));
        let (mut inputs, mut outputs) = (vec![input], Vec::with_capacity(1));
        self.recipe.call.batch(&mut inputs, &mut outputs);
        let found = fingerprint(&outputs[0]);
        self.answers.push(expected.unwrap_or(found));
        let told = self.told(index, found);
        self.wrong = self.wrong.or(Some(told).filter(|told| *told != self.right()));
        if !C::CONSUMES {
            self.made.append(&mut inputs);
        }
    }

    /// Keeps a power of two of them: sides of a comparison, which are timed apart, should not differ by a few.
    fn round_down(&mut self) {
        let keep = 1 << self.seeds.len().ilog2();
        self.seeds.truncate(keep);
        self.answers.truncate(keep);
        self.made.truncate(keep);
    }

    pub(super) fn len(&self) -> usize {
        self.seeds.len()
    }

    /// Input `index`, made anew.
    pub(super) fn make(&self, index: usize) -> I {
        (self.recipe.make)(&mut Random::new(self.seeds[index]))
    }

    /// The digest of the session.
    pub(super) fn right(&self) -> Digest {
        self.answers[0]
    }

    /// The digest of the session if `output` is right for input `index`, and all was before the first sample, or else one
    /// that it is not.
    pub(super) fn judge(&self, index: usize, output: &C::Output) -> Digest {
        self.wrong.unwrap_or_else(|| self.told(index, fingerprint(output)))
    }

    fn told(&self, index: usize, found: Digest) -> Digest {
        let (wanted, right) = (self.answers[index], self.right());
        match found == wanted {
            true => right,
            false if found == right => Digest::of(&format!("{found} instead of {wanted}")),
            false => found,
        }
    }
}
