//! Inputs of one session with their right answers, and the loop over them.

use super::engine::{CaseError, Digest};
use crate::stats::order_rng::OrderRng;
use hashmill_machine::resident_bytes;
use std::time::{Duration, Instant};

/// Maximum number of inputs of a session. A branch predictor learns a single one: sorting 1,000 numbers took 4.1 µs
/// on one input and 6.2 µs on 64, 256 or 1024 in turn (Zen 5).
pub(crate) const MOST: usize = 64;
/// Maximum if the process cannot read its memory usage.
const MOST_UNSEEN: usize = 8;

/// Limits on the cost of a session's inputs. Both depend on the process and the machine, so a test that counts inputs
/// sets its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum growth of the process. More would move a case from one cache level to the next.
    pub(crate) bytes: u64,
    /// Maximum time to make the inputs and their right answers.
    pub(crate) time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 512 << 10, time: Duration::from_millis(20) }
    }
}

#[cfg(test)]
impl Limits {
    /// For tests that count inputs.
    pub(crate) const UNLIMITED: Self = Self { bytes: u64::MAX, time: Duration::MAX };
}

/// Input with its right answer.
pub(crate) struct PreparedInput<I> {
    /// The input; `None` if each call makes its own.
    pub(crate) input: Option<I>,
    pub(crate) right: Digest,
    /// Result of a call on it, if one was made.
    pub(crate) found: Option<Digest>,
}

/// Inputs of one session. The right answer of the first one is the digest of the session.
pub(crate) struct Pool<I> {
    pub(crate) seeds: Vec<u64>,
    expected: Vec<Digest>,
    /// First wrong result of a call before the first sample.
    wrong: Option<Digest>,
    /// The inputs, if calls share them.
    pub(crate) inputs: Vec<I>,
    /// Growth of the process while making the inputs, if known.
    pub(crate) grown: Option<u64>,
}

impl<I> Pool<I> {
    /// Makes up to `most` inputs, as many as `limits` allow and at least one; the first uses `seed` itself. Keeps a
    /// power of two, so that the sides of a comparison, which are timed separately, do not differ by a few inputs.
    pub(crate) fn fill(
        seed: u64,
        most: usize,
        limits: Limits,
        mut make: impl FnMut(u64) -> Result<PreparedInput<I>, CaseError>,
    ) -> Result<Self, CaseError> {
        let before = resident_bytes();
        let grown = || Some(resident_bytes()?.saturating_sub(before?));
        let (start, mut order_rng, mut next) = (Instant::now(), OrderRng::new(seed), seed);
        let mut pool =
            Pool { seeds: Vec::new(), expected: Vec::new(), wrong: None, inputs: Vec::new(), grown: grown() };
        let most = if pool.grown.is_some() { most.min(MOST) } else { most.min(MOST_UNSEEN) };
        loop {
            pool.add(next, make(next)?);
            pool.grown = pool.grown.max(grown());
            if pool.len() >= most || start.elapsed() > limits.time || pool.grown > Some(limits.bytes) {
                break;
            }
            next = order_rng.next();
        }
        let keep = 1 << pool.len().ilog2();
        pool.seeds.truncate(keep);
        pool.expected.truncate(keep);
        pool.inputs.truncate(keep);
        Ok(pool)
    }

    fn add(&mut self, seed: u64, prepared: PreparedInput<I>) {
        let index = self.len();
        self.seeds.push(seed);
        self.expected.push(prepared.right);
        let digest = prepared.found.map(|found| self.compare(index, found));
        self.wrong = self.wrong.or(digest.filter(|digest| *digest != self.right()));
        self.inputs.extend(prepared.input);
    }

    pub(crate) fn len(&self) -> usize {
        self.seeds.len()
    }

    /// Digest of the session.
    pub(crate) fn right(&self) -> Digest {
        self.expected[0]
    }

    /// The digest of the session if `found` is right for input `index` and all earlier results were right; otherwise
    /// a digest that differs from it.
    pub(crate) fn judge(&self, index: usize, found: Digest) -> Digest {
        self.wrong.unwrap_or_else(|| self.compare(index, found))
    }

    fn compare(&self, index: usize, found: Digest) -> Digest {
        let (wanted, right) = (self.expected[index], self.right());
        match found == wanted {
            true => right,
            false if found == right => Digest::from_debug(&format!("{found} instead of {wanted}")),
            false => found,
        }
    }

    /// Next index after `at`, cyclically.
    pub(crate) fn after(&self, at: usize) -> usize {
        (at + 1) % self.len()
    }

    /// Previous index before `at`, cyclically.
    pub(crate) fn before(&self, at: usize) -> usize {
        (at + self.len() - 1) % self.len()
    }
}

/// Calls `each` on `count` inputs cyclically from `at` on, with the item of `buffers` that belongs to each input.
#[inline(always)]
pub(crate) fn visit<B, I, E>(
    buffers: &mut [B],
    inputs: &[I],
    at: &mut usize,
    count: u64,
    mut each: impl FnMut(&mut B, &I) -> Result<(), E>,
) -> Result<(), E> {
    if let ([buffer], [input]) = (&mut *buffers, inputs) {
        for _ in 0..count {
            each(buffer, input)?;
        }
        return Ok(());
    }
    let mut left = count;
    while left > 0 && !inputs.is_empty() {
        let end = inputs.len().min(at.saturating_add(usize::try_from(left).unwrap_or(usize::MAX)));
        let row = *at..end;
        for (buffer, input) in buffers[row.clone()].iter_mut().zip(&inputs[row.clone()]) {
            each(buffer, input)?;
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

    fn number(seed: u64) -> PreparedInput<u64> {
        PreparedInput { input: Some(seed), right: Digest::from_debug(&seed), found: None }
    }

    #[test]
    fn the_first_input_is_of_the_seed_and_the_others_follow_from_it() {
        let pool =
            |seed| Pool::fill(seed, MOST, Limits::UNLIMITED, |seed| Ok(number(seed))).expect("numbers");
        let (one, again, other) = (pool(7), pool(7), pool(8));
        assert_eq!(one.inputs[0], 7);
        assert_eq!(one.inputs, again.inputs);
        assert!(one.inputs.iter().all(|input| !other.inputs.contains(input)));
        let distinct: std::collections::BTreeSet<_> = one.inputs.iter().collect();
        assert_eq!(distinct.len(), one.len());
    }

    #[test]
    fn number_of_inputs_is_bounded_by_the_limits() {
        let len = |most, limits, take: fn()| {
            let make = |seed| {
                take();
                Ok(number(seed))
            };
            Pool::fill(1, most, limits, make).expect("numbers").len()
        };
        let slow = || std::thread::sleep(Duration::from_millis(2));
        assert_eq!([0, 1, 2, 7].map(|most| len(most, Limits::UNLIMITED, || {})), [1, 1, 2, 4]);
        assert!(len(usize::MAX, Limits::UNLIMITED, || {}) <= MOST);
        assert_eq!(
            len(MOST, Limits { time: Duration::ZERO, ..Limits::UNLIMITED }, slow),
            1,
            "one costs what it must"
        );
        assert!(len(MOST, Limits { time: Duration::from_millis(5), ..Limits::UNLIMITED }, slow) <= 2);
        let large: fn() = || _ = Box::leak(vec![1_u8; 1 << 20].into_boxed_slice());
        if resident_bytes().is_some() {
            assert!(len(MOST, Limits { bytes: 4 << 20, ..Limits::UNLIMITED }, large) <= 4);
        }
    }

    #[test]
    fn a_failed_input_is_an_error() {
        let make = |seed| if seed == 1 { Ok(number(seed)) } else { Err(CaseError::failed("none")) };
        assert_eq!(Pool::fill(1, 2, Limits::UNLIMITED, make).err(), Some(CaseError::failed("none")));
    }

    #[test]
    fn the_right_result_of_another_input_is_wrong() {
        let pool = Pool::fill(1, 2, Limits::UNLIMITED, |seed| Ok(number(seed))).expect("numbers");
        let [first, second] = [0, 1].map(|index| Digest::from_debug(&pool.inputs[index]));
        assert_eq!(pool.right(), first);
        assert_eq!([pool.judge(0, first), pool.judge(1, second)], [first; 2]);
        for wrong in
            [pool.judge(1, first), pool.judge(0, second), pool.judge(1, Digest::from_debug(&"other"))]
        {
            assert_ne!(wrong, first);
        }
    }

    #[test]
    fn input_order_wraps_around_and_continues() {
        for (len, counts, expected) in
            [(1, &[2, 3][..], "00000"), (4, &[3, 1, 6], "0123012301"), (2, &[0, 5, 1], "010101")]
        {
            let (inputs, mut counts_of_inputs, mut at, mut order) =
                ((0..len).collect::<Vec<usize>>(), vec![0; len], 0, String::new());
            for count in counts {
                let Ok(()) = visit::<_, _, Infallible>(
                    &mut counts_of_inputs,
                    &inputs,
                    &mut at,
                    *count,
                    |counts_of_inputs, input| {
                        *counts_of_inputs += 1;
                        order += &input.to_string();
                        Ok(())
                    },
                );
            }
            assert_eq!(order, expected);
            assert_eq!(counts_of_inputs.iter().sum::<usize>(), expected.len(), "each with its own item");
        }
        let stopped = visit(&mut [(); 4], &[0, 1, 2, 3], &mut 0, 9, |(), input| match input {
            2 => Err(CaseError::failed("at two")),
            _ => Ok(()),
        });
        assert_eq!(stopped, Err(CaseError::failed("at two")));
    }
}
