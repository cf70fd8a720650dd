//! Definition of a bench's case, and its inputs.

use super::call::{Call, fingerprint};
use super::random::Random;
use crate::model::engine::{CaseError, Digest};
use crate::model::inputs::{Limits, MOST, Pool, PreparedInput};
use crate::model::registry::Prepared;
use crate::model::units::Units;
use std::rc::Rc;

/// Computes the right answer for an input.
pub(super) type Answer<I> = dyn Fn(&I) -> Digest;

/// Definition of a case.
pub(super) struct CaseDefinition<I, C> {
    pub(super) make: Box<dyn Fn(&mut Random) -> I>,
    pub(super) expected: Option<Box<Answer<I>>>,
    pub(super) call: C,
    pub(super) units: Units,
    pub(super) working_set: Option<u64>,
    pub(super) limits: Limits,
}

/// A case with the inputs of one session.
pub(super) struct PreparedCase<I, C> {
    pub(super) recipe: Rc<CaseDefinition<I, C>>,
    pub(super) pool: Pool<I>,
}

impl<I: 'static, C: Call<I>> CaseDefinition<I, C> {
    /// Makes the inputs of a session.
    pub(super) fn prepare(self: &Rc<Self>, seed: u64) -> Result<Prepared, CaseError> {
        // Zero-sized values are all equal.
        let most = if size_of::<I>() == 0 { 1 } else { MOST };
        let pool = Pool::fill(seed, most, self.limits, |seed| Ok(self.tried(seed)))?;
        let working_set = self.working_set.or(match self.units {
            Units::Bytes(bytes) => pool.grown.map(|grown| grown.max(bytes)),
            _ => pool.grown,
        });
        // A process that did not grow had enough free memory, so the inputs are small.
        let working_set = working_set.map_or(0, |bytes| bytes.max(1));
        let (len, reference) = (pool.len(), pool.right());
        let ready = PreparedCase { recipe: Rc::clone(self), pool };
        Ok(Prepared::new(Rc::new(ready), len, reference, self.units, working_set))
    }

    /// Makes the input of a seed.
    pub(super) fn create(&self, seed: u64) -> I {
        (self.make)(&mut Random::new(seed))
    }

    /// An input with the result of one call on it: samples check few of their results, and every input should be
    /// checked.
    fn tried(&self, seed: u64) -> PreparedInput<I> {
        let input = self.create(seed);
        let expected = self.expected.as_ref().map(|expected| expected(&input));
        let (mut inputs, mut outputs) = (vec![input], Vec::with_capacity(1));
        self.call.batch(&mut inputs, &mut outputs);
        let found = fingerprint(&outputs[0]);
        let input = inputs.pop().filter(|_| !C::CONSUMES);
        PreparedInput { input, right: expected.unwrap_or(found), found: Some(found) }
    }
}
