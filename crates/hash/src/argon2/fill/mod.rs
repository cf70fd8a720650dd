//! Schedule of a fill: passes, slices, and the lanes that are computed together. The kernels do the
//! arithmetic.
#![expect(unsafe_code, reason = "calls into the kernel tables")]

mod init_final;

pub use init_final::Input;
pub(super) use init_final::{begin, check, finish};
#[cfg(feature = "std")]
pub(super) use init_final::{first_blocks, tag_of};

use super::kernel::{ADDRESSES, Kernel, MAX_RANGE_LEN, MAX_STREAMS, SegmentRange, Slice};
use super::memory::{Matrix, Stream};
use super::params::{Params, SLICES, Version};
use super::plan::Plan;
use crate::stop::Stop;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

/// Units that several threads compute between checks for a stop: milliseconds of work, so that
/// synchronisation costs nothing, and few enough to skip quickly once stopped.
#[cfg(feature = "std")]
const BLOCK_UNITS: u64 = 1 << 14;

/// Several hashes of the same parameters, each with memory of its own, filled together.
pub(in crate::argon2) struct Fill<'a, 'm> {
    kernel: Kernel,
    params: Params,
    matrices: &'a [Matrix<'m>],
    /// Streams that a thread interleaves.
    width: usize,
    /// Is the memory treated as much larger than the caches?
    far: bool,
    /// Does wiping bypass the caches?
    wipes_far: bool,
    /// Are all but the last blocks of the lanes wiped at the end, or all if stopped?
    wipes: bool,
    /// Each of them ends the fill.
    stops: [&'a Stop; 3],
    /// Has any thread seen a stop? The flag itself may have been cleared since.
    stopped: AtomicBool,
}

impl<'a, 'm> Fill<'a, 'm> {
    pub(in crate::argon2) fn new(
        plan: Plan,
        params: Params,
        matrices: &'a [Matrix<'m>],
        width: usize,
        stop: &'a Stop,
    ) -> Fill<'a, 'm> {
        assert!(!matrices.is_empty() && (1..=MAX_STREAMS).contains(&width));
        Fill {
            kernel: plan.kernel(),
            params,
            matrices,
            width,
            far: plan.is_far(params),
            wipes_far: plan.wipes_far(params),
            wipes: false,
            stops: [stop; 3],
            stopped: AtomicBool::new(false),
        }
    }

    pub(in crate::argon2) fn wiping(self, wipes: bool) -> Fill<'a, 'm> {
        Fill { wipes, ..self }
    }

    /// The same fill, ended by two more flags, too.
    #[cfg(feature = "std")]
    pub(in crate::argon2) fn stopping_at(self, [second, third]: [&'a Stop; 2]) -> Fill<'a, 'm> {
        Fill { stops: [self.stops[0], second, third], ..self }
    }

    /// The number of phases: all units of one are done before the next begins.
    fn phases(&self) -> u64 {
        self.slices() + u64::from(self.wipes)
    }

    fn slices(&self) -> u64 {
        u64::from(self.params.passes()) * u64::from(SLICES)
    }

    /// The number of units of a phase, which can be computed at the same time.
    fn units(&self) -> usize {
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
            far: self.far,
        }
    }

    /// The streams of a unit: the same lane of several hashes before the next lane.
    fn members(&self, unit: usize) -> Range<usize> {
        unit * self.width..self.streams().min((unit + 1) * self.width)
    }

    /// Runs everything on the calling thread. Returns whether it finished without a stop.
    pub(in crate::argon2) fn run(&self) -> bool {
        self.run_serial(0..self.phases())
    }

    fn run_serial(&self, phases: Range<u64>) -> bool {
        self.in_blocks(phases, 1, |block| {
            for phase in block {
                for unit in 0..self.units() {
                    // SAFETY: one unit after another.
                    unsafe { self.unit(phase, unit) }
                }
            }
        })
    }

    /// Calls `run` for `most` phases at a time. Once stopped, it skips to the wiping, because billions of
    /// phases without computation may remain. Returns whether all finished without a stop.
    fn in_blocks(&self, phases: Range<u64>, most: u64, run: impl Fn(Range<u64>)) -> bool {
        let mut next = phases.start;
        while next < phases.end {
            let end = phases.end.min(next.saturating_add(most));
            run(next..end);
            next = if self.is_stopped() { end.max(self.slices()) } else { end };
        }
        !self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// As [`run`](Fill::run), on up to `threads` threads, including this one.
    #[cfg(feature = "std")]
    pub(in crate::argon2) fn run_on(&self, threads: usize) -> bool {
        self.run_phases(0..self.phases(), threads)
    }

    /// As [`run`](Fill::run), on this thread and on at most `helpers` threads to which `spawn` passes its
    /// argument.
    #[cfg(feature = "std")]
    pub(in crate::argon2) fn run_with(&self, helpers: usize, spawn: impl Fn(Box<dyn FnOnce() + Send>)) {
        crate::work_sharing::run_with(
            self.phases(),
            self.units(),
            helpers.min(self.units() - 1),
            &|phase, unit| {
                // SAFETY: as in `run_phases`.
                unsafe { self.unit(phase, unit) }
            },
            spawn,
        );
    }

    /// Runs some of the phases; all before them must be finished. Returns whether they finished without a
    /// stop.
    #[cfg(feature = "std")]
    pub(in crate::argon2) fn run_phases(&self, phases: Range<u64>, threads: usize) -> bool {
        let helpers = threads.min(self.units()) - 1;
        if helpers == 0 {
            return self.run_serial(phases);
        }
        // Threads synchronise only at the end of a block.
        let most = (BLOCK_UNITS / self.units() as u64).max(1);
        self.in_blocks(phases, most, |block| {
            crate::work_sharing::run(block.end - block.start, self.units(), helpers, &|phase, unit| {
                // SAFETY: it finishes a phase before the next, and gives out each unit once.
                unsafe { self.unit(block.start + phase, unit) }
            });
        })
    }

    /// Computes one unit of one slice, or part of it if stopped; or wipes a unit.
    ///
    /// # Safety
    /// All units of earlier phases are finished, and no other thread works on this unit.
    unsafe fn unit(&self, phase: u64, unit: usize) {
        let members = self.members(unit);
        let lane_of = |member: usize| (member / self.matrices.len()) as u32;
        if phase == self.slices() {
            let stopped = self.is_stopped();
            for member in members {
                let (matrix, lane) = (&self.matrices[member % self.matrices.len()], lane_of(member));
                // SAFETY: all slices are finished; this unit alone has this lane of this matrix.
                unsafe { matrix.wipe_lane(lane, stopped, self.wipes_far) };
            }
            return;
        }
        let slice = self.slice(phase);
        let streams: [Stream<'_>; MAX_STREAMS] = core::array::from_fn(|i| {
            let member = (members.start + i).min(members.end - 1);
            // SAFETY: this unit alone has this lane of this matrix in this slice, no other slice is being
            // written, and the earlier slices and first blocks are finished. Entries past the unit's members
            // are not used.
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
        let mut lists = [[0; MAX_RANGE_LEN]; MAX_STREAMS];
        for range in self.ranges(slice) {
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
            let segment_range = SegmentRange { slice, from: range.start, to: range.end };
            self.kernel.independent(&segment_range, streams, &references[..streams.len()]);
        }
    }

    fn dependent(&self, slice: &Slice, streams: &[Stream<'_>]) {
        for range in self.ranges(slice) {
            let segment_range = SegmentRange { slice, from: range.start, to: range.end };
            self.kernel.dependent(&segment_range, streams);
        }
    }

    /// The segment in pieces, until a stop. All but the first start at a multiple of [`MAX_RANGE_LEN`].
    fn ranges(&self, slice: &Slice) -> impl Iterator<Item = Range<u32>> {
        let (first, len) = (slice.first_index(), slice.shape.segment_len);
        (0..len)
            .step_by(MAX_RANGE_LEN)
            .map(move |start| start.max(first)..len.min(start.saturating_add(MAX_RANGE_LEN as u32)))
            .filter(|range| !range.is_empty())
            .take_while(|_| self.should_continue())
    }

    fn should_continue(&self) -> bool {
        if self.stops.iter().any(|stop| stop.is_set()) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.is_stopped()
    }
}
