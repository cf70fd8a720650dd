//! What a case of a bench is made of, and its inputs.

use super::random::Random;
use super::timed::{Call, fingerprint};
use crate::model::engine::{Digest, Fault};
use crate::model::inputs::{Limits, MOST, Made, Pool};
use crate::model::registry::Prepared;
use crate::model::units::Units;
use std::rc::Rc;

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

/// A case with the inputs of one session.
pub(super) struct Ready<I, C> {
    pub(super) recipe: Rc<Recipe<I, C>>,
    pub(super) pool: Pool<I>,
}

impl<I: 'static, C: Call<I>> Recipe<I, C> {
    /// The inputs of a session.
    pub(super) fn prepare(self: &Rc<Self>, seed: u64) -> Result<Prepared, Fault> {
        // Values without a size are all alike.
        let most = if size_of::<I>() == 0 { 1 } else { MOST };
        let pool = Pool::fill(seed, most, self.limits, |seed| Ok(self.tried(seed)))?;
        let working_set = self.working_set.or(match self.units {
            Units::Bytes(bytes) => pool.grown.map(|seen| seen.max(bytes)),
            _ => pool.grown,
        });
        // A process that did not grow found room in what it had, which is little.
        let working_set = working_set.map_or(0, |bytes| bytes.max(1));
        let (len, reference) = (pool.len(), pool.right());
        let ready = Ready { recipe: Rc::clone(self), pool };
        Ok(Prepared::new(Rc::new(ready), len, reference, self.units, working_set))
    }

    /// The input of a seed.
    pub(super) fn made(&self, seed: u64) -> I {
        (self.make)(&mut Random::new(seed))
    }

    /// An input, and what one call on it gave: samples look at few of their results, and no input should go unseen.
    fn tried(&self, seed: u64) -> Made<I> {
        let input = self.made(seed);
        let expected = self.expected.as_ref().map(|expected| expected(&input));
        let (mut inputs, mut outputs) = (vec![input], Vec::with_capacity(1));
        self.call.batch(&mut inputs, &mut outputs);
        let found = fingerprint(&outputs[0]);
        let input = inputs.pop().filter(|_| !C::CONSUMES);
        Made { input, right: expected.unwrap_or(found), found: Some(found) }
    }
}
