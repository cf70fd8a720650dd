//! [`Steps`]: a hash in pieces, between which the caller shows progress, looks at a clock, or gives up.

use super::Input;
use super::error::HashError;
use super::fill::Fill;
use super::hasher::{Hasher, Wipe};
use super::init_final;
use super::params::SLICES;
use crate::process::Process;
use crate::stop::Stop;
use core::borrow::BorrowMut;
use core::ops::Range;

/// A hash in four pieces for each pass: a [`Hasher`] that is at work.
///
/// Dropping it gives up the hash, and the memory is wiped. It belongs to the process that began it: in a forked child its
/// memory is empty, and every piece is refused with [`HashError::Forked`].
#[derive(Debug)]
#[must_use]
pub struct Steps(pub(super) Course<Hasher>);

/// A piece of a hash that was computed: a quarter of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Step {
    /// How many there are now.
    pub done: u64,
    /// How many there will be.
    pub of: u64,
    /// Whether which blocks it read was known before it began, whatever the password. Other pieces wait for memory
    /// longer, and somebody who sees the cache learns from them.
    pub is_independent: bool,
}

impl Steps {
    /// What works, for tests that look into its memory.
    #[cfg(test)]
    pub(super) fn hasher(&mut self) -> &mut Hasher {
        &mut self.0.hasher
    }

    /// How many pieces there are in all.
    pub fn count(&self) -> u64 {
        self.0.count()
    }

    /// Computes the next piece, if there is one left.
    ///
    /// # Errors
    /// [`HashError::Forked`].
    pub fn step(&mut self) -> Result<Option<Step>, HashError> {
        self.0.step()
    }

    /// Computes what is left and fills `tag` with the hash. Gives the hasher back for another.
    ///
    /// # Errors
    /// [`HashError::Forked`]; `tag` is then untouched.
    ///
    /// # Panics
    /// If the tag has another length than was said at the beginning: the length is part of what is hashed.
    pub fn finish(mut self, tag: &mut [u8]) -> Result<Hasher, HashError> {
        self.0.finish(tag)?;
        Ok(self.0.hasher)
    }
}

/// How far a hash is, whoever has the hasher.
#[derive(Debug)]
pub(crate) struct Course<H> {
    pub(super) hasher: H,
    tag_len: usize,
    done: u64,
    process: Process,
}

impl<H: BorrowMut<Hasher>> Course<H> {
    /// The beginning. Takes the memory, computes nothing that takes time.
    pub(crate) fn begin(mut hasher: H, input: &Input<'_>, tag_len: usize) -> Result<Course<H>, HashError> {
        init_final::check(input, tag_len)?;
        let its = hasher.borrow_mut();
        let (kernel, params) = (its.plan().kernel(), its.params());
        init_final::begin(kernel, params, input, tag_len, &mut its.arena().matrix(params.shape())?);
        Ok(Course { hasher, tag_len, done: 0, process: Process::current() })
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
        // A child has zeroes, or a part of what there was, and would make a tag of that.
        if self.process != Process::current() {
            return Err(HashError::Forked);
        }
        let hasher = self.hasher.borrow_mut();
        let (params, plan) = (hasher.params(), hasher.plan());
        let (threads, width) = hasher.team();
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
        init_final::finish(kernel, &mut matrix, tag);
        if wipes {
            matrix.wipe_last_blocks();
            hasher.arena().set_clean();
        }
        Ok(())
    }
}
