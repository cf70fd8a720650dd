//! The schedule of a fill: passes, slices, and which lanes go together. Arithmetic is the kernels' business.

use super::kernel::{ADDRESSES, Kernel, MAX_STREAMS, STRIP_LEN, Slice, Strip};
use super::memory::{Matrix, Stream};
use super::params::{Params, SLICES, Version};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

/// Asks a running hash to end. Checked at least every thousand blocks of each thread.
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

impl Stop {
    /// Not set.
    pub const fn new() -> Stop {
        Stop(AtomicBool::new(false))
    }

    /// Asks. Returns at once; the hash ends within a millisecond of computation.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Takes the request back.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether it was asked.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Several hashes of the same parameters, each with memory of its own, filled together.
pub(super) struct Fill<'a, 'm> {
    pub(super) kernel: Kernel,
    pub(super) params: Params,
    pub(super) matrices: &'a [Matrix<'m>],
    /// How many streams a thread interleaves.
    pub(super) width: usize,
    pub(super) stop: &'a Stop,
}

impl Fill<'_, '_> {
    /// How many slices there are: all units of one are done before the next begins.
    pub(super) fn slices(&self) -> u64 {
        u64::from(self.params.passes()) * u64::from(SLICES)
    }

    /// How many units of a slice can be done at the same time.
    pub(super) fn units(&self) -> usize {
        self.streams().div_ceil(self.width)
    }

    fn streams(&self) -> usize {
        self.matrices.len() * self.params.lanes() as usize
    }

    fn slice(&self, number: u64) -> Slice {
        let (pass, slice) = ((number / u64::from(SLICES)) as u32, (number % u64::from(SLICES)) as u32);
        Slice {
            shape: self.params.shape(),
            pass,
            slice,
            variant: self.params.variant().number(),
            passes: self.params.passes(),
            adds: pass > 0 && self.params.version() == Version::V13,
        }
    }

    /// The streams of a unit: the same lane of several hashes before the next lane.
    fn members(&self, unit: usize) -> Range<usize> {
        unit * self.width..self.streams().min((unit + 1) * self.width)
    }

    /// Everything on the calling thread.
    pub(super) fn run(&self) {
        for number in 0..self.slices() {
            for unit in 0..self.units() {
                // SAFETY: one unit after another.
                unsafe { self.unit(number, unit) }
            }
        }
    }

    /// Computes one unit of one slice, or some of it if stopped.
    ///
    /// # Safety
    /// All units of the slices before are finished, and nobody else works on this unit.
    pub(super) unsafe fn unit(&self, number: u64, unit: usize) {
        let slice = self.slice(number);
        let members = self.members(unit);
        let lane_of = |member: usize| (member / self.matrices.len()) as u32;
        let streams: [Stream<'_>; MAX_STREAMS] = core::array::from_fn(|i| {
            let member = (members.start + i).min(members.end - 1);
            // SAFETY: this unit alone has this lane of this matrix in this slice, all other slices are at rest, and
            // the slices before are finished, as is the beginning. Places past the unit's members are not used.
            unsafe { self.matrices[member % self.matrices.len()].stream(lane_of(member)) }
        });
        let streams = &streams[..members.len()];
        if self.params.variant().is_independent(slice.pass, slice.slice) {
            self.independent(&slice, streams);
        } else {
            self.dependent(&slice, streams);
        }
    }

    fn independent(&self, slice: &Slice, streams: &[Stream<'_>]) {
        let mut lists = [[0; STRIP_LEN]; MAX_STREAMS];
        for range in self.strips(slice) {
            // Lists start with an address block, at worst two entries before the first block.
            let start = range.start - range.start % ADDRESSES as u32;
            let len = (range.end - start) as usize;
            let mut first_of = [0; MAX_STREAMS];
            for (index, stream) in streams.iter().enumerate() {
                let same = streams[..index].iter().position(|other| other.lane() == stream.lane());
                first_of[index] = same.unwrap_or(index);
                if same.is_none() {
                    self.kernel.references(slice, stream.lane(), start, &mut lists[index][..len]);
                }
            }
            let skip = (range.start - start) as usize;
            let references = first_of.map(|list| &lists[list][skip..len]);
            let strip = Strip { slice, from: range.start, to: range.end };
            self.kernel.independent(&strip, streams, &references[..streams.len()]);
        }
    }

    fn dependent(&self, slice: &Slice, streams: &[Stream<'_>]) {
        for range in self.strips(slice) {
            let strip = Strip { slice, from: range.start, to: range.end };
            self.kernel.dependent(&strip, streams);
        }
    }

    /// The segment in pieces, until asked to stop. All but the first start at a multiple of [`STRIP_LEN`].
    fn strips(&self, slice: &Slice) -> impl Iterator<Item = Range<u32>> {
        let (first, len) = (slice.first_index(), slice.shape.segment_len);
        (0..len)
            .step_by(STRIP_LEN)
            .map(move |start| start.max(first)..len.min(start.saturating_add(STRIP_LEN as u32)))
            .filter(|range| !range.is_empty())
            .take_while(|_| !self.stop.is_set())
    }
}
