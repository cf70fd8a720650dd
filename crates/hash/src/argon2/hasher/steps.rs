//! [`Steps`]: a hash in pieces, between which the caller can show progress, check a clock, or cancel.

use super::{Hasher, Wipe};
use crate::argon2::error::HashError;
use crate::argon2::fill::{self, Fill, Input};
use crate::argon2::params::SLICES;
use crate::process::Process;
use crate::stop::Stop;
use core::borrow::BorrowMut;
use core::ops::Range;

/// A hash in four pieces per pass, with the [`Hasher`] that computes it.
///
/// Dropping it abandons the hash and wipes the memory. It belongs to the process that began it: in a forked
/// child its memory is empty, and every piece returns [`HashError::Forked`].
#[derive(Debug)]
#[must_use]
pub struct Steps(pub(in crate::argon2) StepState<Hasher>);

/// A piece of a hash that was computed: a quarter of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Step {
    /// Finished pieces.
    pub done: u64,
    /// Pieces in all.
    pub of: u64,
    /// Were the blocks that it read known in advance, independently of the password? Other pieces wait longer
    /// for memory, and leak information through the cache.
    pub is_independent: bool,
}

impl Hasher {
    /// A hash of `tag_len` bytes that the caller advances in steps, see [`Steps`]. Takes the memory, and does
    /// no long computation yet.
    ///
    /// # Errors
    /// As `hash_into`.
    pub fn steps(self, input: &Input<'_>, tag_len: usize) -> Result<Steps, HashError> {
        Ok(Steps(StepState::begin(self, input, tag_len)?))
    }
}

impl Steps {
    /// The hasher, for tests that inspect its memory.
    #[cfg(test)]
    pub(in crate::argon2) fn hasher(&mut self) -> &mut Hasher {
        &mut self.0.hasher
    }

    /// The number of pieces in all.
    pub fn count(&self) -> u64 {
        self.0.count()
    }

    /// Computes the next piece; `None` if there is none left.
    ///
    /// # Errors
    /// [`HashError::Forked`].
    pub fn step(&mut self) -> Result<Option<Step>, HashError> {
        self.0.step()
    }

    /// Computes the rest and writes the hash to `tag`. Returns the hasher for reuse.
    ///
    /// # Errors
    /// [`HashError::Forked`]; `tag` is then untouched.
    ///
    /// # Panics
    /// If the tag's length differs from that given at the start: the length is part of the input.
    pub fn finish(mut self, tag: &mut [u8]) -> Result<Hasher, HashError> {
        self.0.finish(tag)?;
        Ok(self.0.hasher)
    }
}

/// Progress of a hash, with an owned or a borrowed hasher.
#[derive(Debug)]
pub(crate) struct StepState<H> {
    pub(in crate::argon2) hasher: H,
    tag_len: usize,
    done: u64,
    process: Process,
}

impl<H: BorrowMut<Hasher>> StepState<H> {
    /// Starts a hash. Takes the memory, and does no long computation yet.
    pub(crate) fn begin(mut hasher: H, input: &Input<'_>, tag_len: usize) -> Result<StepState<H>, HashError> {
        fill::check(input, tag_len)?;
        let inner = hasher.borrow_mut();
        let (kernel, params) = (inner.plan().kernel(), inner.params());
        fill::begin(kernel, params, input, tag_len, &mut inner.arena().matrix(params.shape())?);
        Ok(StepState { hasher, tag_len, done: 0, process: Process::current() })
    }

    fn count(&self) -> u64 {
        u64::from(self.hasher.borrow().params().passes()) * u64::from(SLICES)
    }

    /// See [`Steps::step`].
    pub(crate) fn step(&mut self) -> Result<Option<Step>, HashError> {
        let of = self.count();
        if self.done == of {
            return Ok(None);
        }
        self.run(self.done..self.done + 1)?;
        let slices = u64::from(SLICES);
        let (pass, slice) = ((self.done / slices) as u32, (self.done % slices) as u32);
        self.done += 1;
        let is_independent = self.hasher.borrow().params().variant().is_independent(pass, slice);
        Ok(Some(Step { done: self.done, of, is_independent }))
    }

    /// Runs phases of the fill; the one after the last piece wipes.
    fn run(&mut self, phases: Range<u64>) -> Result<(), HashError> {
        static NEVER: Stop = Stop::new();
        // A child's memory is zero or partial, and would yield a wrong tag.
        if self.process != Process::current() {
            return Err(HashError::Forked);
        }
        let hasher = self.hasher.borrow_mut();
        let (params, plan) = (hasher.params(), hasher.plan());
        let (threads, width) = hasher.threads_and_width();
        let matrices = [hasher.arena().matrix(params.shape()).expect("taken at the beginning")];
        Fill::new(plan, params, &matrices, width, &NEVER).wiping(true).run_phases(phases, threads);
        Ok(())
    }

    /// See [`Steps::finish`].
    pub(crate) fn finish(&mut self, tag: &mut [u8]) -> Result<(), HashError> {
        assert_eq!(tag.len(), self.tag_len, "the length of the tag was hashed at the beginning");
        let wipes = self.hasher.borrow().wipes() == Wipe::EachHash;
        self.run(self.done..self.count() + u64::from(wipes))?;
        let hasher = self.hasher.borrow_mut();
        let (params, kernel) = (hasher.params(), hasher.plan().kernel());
        let mut matrix = hasher.arena().matrix(params.shape()).expect("taken at the beginning");
        fill::finish(kernel, &mut matrix, tag);
        if wipes {
            matrix.wipe_last_blocks();
            hasher.arena().set_clean();
        }
        Ok(())
    }
}
