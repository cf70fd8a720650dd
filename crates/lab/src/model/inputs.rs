//! The inputs of one session: several of one kind, what is right for each, and the walk through them.

use super::engine::{Digest, Fault};
use crate::plan::Orders;
use hashmill_machine::resident_bytes;
use std::time::{Duration, Instant};

/// Most inputs of a session. A branch predictor learns one by heart: sorting a thousand numbers took 4.1 µs on one
/// input and 6.2 µs on 64, 256 or 1024 in turn (Zen 5).
pub(crate) const MOST: usize = 64;
/// Without a look at the memory, fewer.
const MOST_UNSEEN: usize = 8;

/// What inputs may cost a session. Both are facts of the process and the machine, so a test that counts inputs has its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// So much may the process grow by them; more would move a case from one level of caches to the next.
    pub(crate) bytes: u64,
    /// So long may it take to make them, and to find out what is right for each.
    pub(crate) time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 512 << 10, time: Duration::from_millis(20) }
    }
}

/// An input with what is known of it.
pub(crate) struct Made<I> {
    /// The input, unless each call has one made anew.
    pub(crate) input: Option<I>,
    pub(crate) right: Digest,
    /// What a call gave on it, if one was made.
    pub(crate) found: Option<Digest>,
}

/// The inputs of one session. The first of them stands for all: its right answer is the digest of the session.
pub(crate) struct Pool<I> {
    pub(crate) seeds: Vec<u64>,
    answers: Vec<Digest>,
    /// What a call gave before the first sample, where that was not right.
    wrong: Option<Digest>,
    /// The inputs themselves, where calls share them.
    pub(crate) made: Vec<I>,
    /// By how much the process grew meanwhile, where one can tell.
    pub(crate) grown: Option<u64>,
}

impl<I> Pool<I> {
    /// Makes up to `most` inputs, as many as `limits` allow and one at least, the first of `seed` itself. Of several a power
    /// of two is kept: sides of a comparison, which are timed apart, should not differ by a few.
    pub(crate) fn fill(
        seed: u64,
        most: usize,
        limits: Limits,
        mut make: impl FnMut(u64) -> Result<Made<I>, Fault>,
    ) -> Result<Self, Fault> {
        let before = resident_bytes();
        let grown = || Some(resident_bytes()?.saturating_sub(before?));
        let (start, mut orders, mut next) = (Instant::now(), Orders::new(seed), seed);
        let mut pool =
            Pool { seeds: Vec::new(), answers: Vec::new(), wrong: None, made: Vec::new(), grown: grown() };
        let most = if pool.grown.is_some() { most.min(MOST) } else { most.min(MOST_UNSEEN) };
        loop {
            pool.add(next, make(next)?);
            pool.grown = pool.grown.max(grown());
            if pool.len() >= most || start.elapsed() > limits.time || pool.grown > Some(limits.bytes) {
                break;
            }
            next = orders.next();
        }
        let keep = 1 << pool.len().ilog2();
        pool.seeds.truncate(keep);
        pool.answers.truncate(keep);
        pool.made.truncate(keep);
        Ok(pool)
    }

    fn add(&mut self, seed: u64, made: Made<I>) {
        let index = self.len();
        self.seeds.push(seed);
        self.answers.push(made.right);
        let told = made.found.map(|found| self.told(index, found));
        self.wrong = self.wrong.or(told.filter(|told| *told != self.right()));
        self.made.extend(made.input);
    }

    pub(crate) fn len(&self) -> usize {
        self.seeds.len()
    }

    /// The digest of the session.
    pub(crate) fn right(&self) -> Digest {
        self.answers[0]
    }

    /// The digest of the session if `found` is right for input `index`, and all was before the first sample, or else one
    /// that it is not.
    pub(crate) fn judge(&self, index: usize, found: Digest) -> Digest {
        self.wrong.unwrap_or_else(|| self.told(index, found))
    }

    fn told(&self, index: usize, found: Digest) -> Digest {
        let (wanted, right) = (self.answers[index], self.right());
        match found == wanted {
            true => right,
            false if found == right => Digest::of(&format!("{found} instead of {wanted}")),
            false => found,
        }
    }

    /// The input behind `at` in the circle.
    pub(crate) fn after(&self, at: usize) -> usize {
        (at + 1) % self.len()
    }

    /// The input before `at` in the circle.
    pub(crate) fn before(&self, at: usize) -> usize {
        (at + self.len() - 1) % self.len()
    }
}

/// Visits `count` inputs in a circle, from `at` on, each with what is kept for it.
#[inline(always)]
pub(crate) fn visit<B, I, E>(
    kept: &mut [B],
    inputs: &[I],
    at: &mut usize,
    count: u64,
    mut each: impl FnMut(&mut B, &I) -> Result<(), E>,
) -> Result<(), E> {
    if let ([kept], [input]) = (&mut *kept, inputs) {
        for _ in 0..count {
            each(kept, input)?;
        }
        return Ok(());
    }
    let mut left = count;
    while left > 0 && !inputs.is_empty() {
        let end = inputs.len().min(at.saturating_add(usize::try_from(left).unwrap_or(usize::MAX)));
        let row = *at..end;
        for (kept, input) in kept[row.clone()].iter_mut().zip(&inputs[row.clone()]) {
            each(kept, input)?;
        }
        left -= row.len() as u64;
        *at = if end == inputs.len() { 0 } else { end };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const UNLIMITED: Limits = Limits { bytes: u64::MAX, time: Duration::MAX };

    fn number(seed: u64) -> Made<u64> {
        Made { input: Some(seed), right: Digest::of(&seed), found: None }
    }

    #[test]
    fn the_first_input_is_of_the_seed_and_the_others_follow_from_it() {
        let pool = |seed| Pool::fill(seed, MOST, UNLIMITED, |seed| Ok(number(seed))).expect("numbers");
        let (one, again, other) = (pool(7), pool(7), pool(8));
        assert_eq!(one.made[0], 7);
        assert_eq!(one.made, again.made);
        assert!(one.made.iter().all(|input| !other.made.contains(input)));
        let distinct: std::collections::BTreeSet<_> = one.made.iter().collect();
        assert_eq!(distinct.len(), one.len());
    }

    #[test]
    fn inputs_are_as_many_as_are_asked_for_and_the_limits_allow() {
        let len = |most, limits, take: fn()| {
            let make = |seed| {
                take();
                Ok(number(seed))
            };
            Pool::fill(1, most, limits, make).expect("numbers").len()
        };
        let slow = || std::thread::sleep(Duration::from_millis(2));
        assert_eq!([0, 1, 2, 7].map(|most| len(most, UNLIMITED, || {})), [1, 1, 2, 4]);
        assert!(len(usize::MAX, UNLIMITED, || {}) <= MOST);
        assert_eq!(
            len(MOST, Limits { time: Duration::ZERO, ..UNLIMITED }, slow),
            1,
            "one costs what it must"
        );
        assert!(len(MOST, Limits { time: Duration::from_millis(5), ..UNLIMITED }, slow) <= 2);
        let large: fn() = || _ = Box::leak(vec![1_u8; 1 << 20].into_boxed_slice());
        if resident_bytes().is_some() {
            assert!(len(MOST, Limits { bytes: 4 << 20, ..UNLIMITED }, large) <= 4);
        }
    }

    #[test]
    fn an_input_that_cannot_be_made_is_no_shorter_pool() {
        let make = |seed| if seed == 1 { Ok(number(seed)) } else { Err(Fault::failed("none")) };
        assert_eq!(Pool::fill(1, 2, UNLIMITED, make).err(), Some(Fault::failed("none")));
    }

    #[test]
    fn what_is_right_for_another_input_is_wrong() {
        let pool = Pool::fill(1, 2, UNLIMITED, |seed| Ok(number(seed))).expect("numbers");
        let [first, second] = [0, 1].map(|index| Digest::of(&pool.made[index]));
        assert_eq!(pool.right(), first);
        assert_eq!([pool.judge(0, first), pool.judge(1, second)], [first; 2]);
        for wrong in [pool.judge(1, first), pool.judge(0, second), pool.judge(1, Digest::of(&"other"))] {
            assert_ne!(wrong, first);
        }
    }

    #[test]
    fn a_walk_goes_round_and_goes_on_where_it_stopped() {
        for (len, counts, expected) in
            [(1, &[2, 3][..], "00000"), (4, &[3, 1, 6], "0123012301"), (2, &[0, 5, 1], "010101")]
        {
            let (inputs, mut kept, mut at, mut seen) =
                ((0..len).collect::<Vec<usize>>(), vec![0; len], 0, String::new());
            for count in counts {
                let Ok(()) = visit::<_, _, Infallible>(&mut kept, &inputs, &mut at, *count, |kept, input| {
                    *kept += 1;
                    seen += &input.to_string();
                    Ok(())
                });
            }
            assert_eq!(seen, expected);
            assert_eq!(kept.iter().sum::<usize>(), expected.len(), "each with what is kept for it");
        }
        let stopped = visit(&mut [(); 4], &[0, 1, 2, 3], &mut 0, 9, |(), input| match input {
            2 => Err(Fault::failed("at two")),
            _ => Ok(()),
        });
        assert_eq!(stopped, Err(Fault::failed("at two")));
    }
}
