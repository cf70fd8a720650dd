//! [`Steps`]: a hash in pieces, between which the caller shows progress, looks at a clock, or gives up.

use super::ends;
use super::fill::{Fill, Stop};
use super::hasher::{Hasher, Wipe};
use super::params::SLICES;
use core::ops::Range;

/// A hash in four pieces for each pass: a [`Hasher`] that is at work.
///
/// Dropping it gives up the hash, and the memory is wiped.
#[derive(Debug)]
#[must_use]
pub struct Steps {
    hasher: Hasher,
    tag_len: usize,
    done: u64,
}

/// A piece of a hash that was computed: a quarter of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
    pub(super) fn new(hasher: Hasher, tag_len: usize) -> Steps {
        Steps { hasher, tag_len, done: 0 }
    }

    /// What works, for tests that look into its memory.
    #[cfg(test)]
    pub(super) fn hasher(&mut self) -> &mut Hasher {
        &mut self.hasher
    }

    /// How many pieces there are in all.
    pub fn count(&self) -> u64 {
        u64::from(self.hasher.params().passes()) * u64::from(SLICES)
    }

    /// Computes the next piece, if there is one left.
    pub fn step(&mut self) -> Option<Step> {
        let of = self.count();
        if self.done == of {
            return None;
        }
        self.run(self.done..self.done + 1);
        let slices = u64::from(SLICES);
        let (pass, slice) = ((self.done / slices) as u32, (self.done % slices) as u32);
        self.done += 1;
        let is_independent = self.hasher.params().variant().is_independent(pass, slice);
        Some(Step { done: self.done, of, is_independent })
    }

    /// Runs phases of the fill; the one after the last piece wipes.
    fn run(&mut self, phases: Range<u64>) {
        static NEVER: Stop = Stop::new();
        let (params, plan) = (self.hasher.params(), self.hasher.plan());
        let (threads, width) = self.hasher.team();
        let matrices = [self.hasher.arena().matrix(params.shape()).expect("taken at the beginning")];
        Fill::new(plan, params, &matrices, width, &NEVER).wiping(true).run_phases(phases, threads);
    }

    /// Computes what is left and fills `tag` with the hash. Gives the hasher back for another.
    ///
    /// # Panics
    /// If the tag has another length than was said at the beginning: the length is part of what is hashed.
    pub fn finish(mut self, tag: &mut [u8]) -> Hasher {
        assert_eq!(tag.len(), self.tag_len, "the length of the tag was hashed at the beginning");
        let wipes = self.hasher.wipes() == Wipe::EachHash;
        self.run(self.done..self.count() + u64::from(wipes));
        let Steps { mut hasher, .. } = self;
        let (params, kernel) = (hasher.params(), hasher.plan().kernel());
        let mut matrix = hasher.arena().matrix(params.shape()).expect("taken at the beginning");
        ends::finish(kernel, &mut matrix, tag);
        if wipes {
            matrix.wipe_last_blocks();
            hasher.arena().set_clean();
        }
        hasher
    }
}
