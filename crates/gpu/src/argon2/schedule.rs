//! Order of the computation: slices, ranges of slices, and the size of a submission. No device calls here.

use hashmill_hash::argon2::{Params, Variant, Version};
use std::time::Duration;

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: u64 = 1024;

const SLICES: u32 = 4;

/// Blocks of a segment: one slice of one lane.
pub(crate) fn segment_blocks(params: Params) -> u32 {
    (params.blocks() / u64::from(SLICES) / u64::from(params.lanes())) as u32
}

/// Are the references of a slice independent of data?
fn is_data_independent(variant: Variant, pass: u32, slice: u32) -> bool {
    match variant {
        Variant::D => false,
        Variant::I => true,
        Variant::Id => pass == 0 && slice < 2,
    }
}

/// Passes whose references share one table. More passes have several tables, one after another.
const PASSES_PER_GROUP: u32 = 16;

/// The number of slices in a table.
pub(crate) fn table_slices(params: Params) -> u32 {
    slice_group(params, 0).count() as u32
}

/// The slices in a table: the data-independent slices of some passes.
pub(crate) fn slice_group(params: Params, slice_group: u32) -> impl Iterator<Item = SegmentRange> {
    let (first, to) = (slice_group.saturating_mul(PASSES_PER_GROUP), segment_blocks(params));
    let passes = first..first.saturating_add(PASSES_PER_GROUP).min(params.passes());
    let slices = passes.flat_map(|pass| (0..SLICES).map(move |slice| (pass, slice)));
    let known = slices.filter(move |&(pass, slice)| is_data_independent(params.variant(), pass, slice));
    known.map(move |(pass, slice)| SegmentRange { pass, slice, from: 0, to })
}

/// Part of a slice: these blocks of the segments of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentRange {
    pub(crate) pass: u32,
    pub(crate) slice: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl SegmentRange {
    /// The number of the table with its references, and the slice in that table; `None` if they depend on data.
    pub(crate) fn in_table(self, params: Params) -> Option<(u32, u32)> {
        let known = is_data_independent(params.variant(), self.pass, self.slice);
        known.then_some((self.pass / PASSES_PER_GROUP, self.pass % PASSES_PER_GROUP * SLICES + self.slice))
    }

    pub(crate) fn len(self) -> u32 {
        self.to - self.from
    }
}

/// The first block of a segment to compute: the processor computes the first two of a lane.
fn first_computed_block(pass: u32, slice: u32) -> u32 {
    if (pass, slice) == (0, 0) { 2 } else { 0 }
}

/// The sequence of ranges of a hash.
pub(crate) struct SegmentRanges {
    params: Params,
    pass: u32,
    slice: u32,
    from: u32,
}

impl SegmentRanges {
    pub(crate) fn new(params: Params) -> SegmentRanges {
        SegmentRanges { params, pass: 0, slice: 0, from: first_computed_block(0, 0) }
    }

    /// Is the next range in the first pass of another table?
    pub(crate) fn is_at_slice_group(&self) -> bool {
        let passed = self.from == segment_blocks(self.params) && self.slice + 1 == SLICES;
        passed && (self.pass + 1).is_multiple_of(PASSES_PER_GROUP)
    }

    /// The next range, of at most `most` blocks per lane; `None` at the end.
    pub(crate) fn next(&mut self, most: u32) -> Option<SegmentRange> {
        let segment = segment_blocks(self.params);
        // A segment may consist of only the two given blocks.
        while self.from == segment {
            (self.pass, self.slice) = (self.pass + (self.slice + 1) / SLICES, (self.slice + 1) % SLICES);
            self.from = first_computed_block(self.pass, self.slice);
        }
        let SegmentRanges { params, pass, slice, from } = *self;
        if pass == params.passes() {
            return None;
        }
        self.from = segment.min(from.saturating_add(most));
        Some(SegmentRange { pass, slice, from, to: self.from })
    }
}

/// Arguments of a dispatch, as `Params` in the kernels.
pub(crate) struct KernelParams {
    params: Params,
    lane_count: u32,
}

impl KernelParams {
    pub(crate) const LEN: usize = 64;

    /// For `lane_count` lanes of all hashes.
    pub(crate) fn new(params: Params, lane_count: u32) -> KernelParams {
        KernelParams { params, lane_count }
    }

    /// For the range with the number `step`.
    pub(crate) fn bytes(&self, range: SegmentRange, step: u32) -> [u8; KernelParams::LEN] {
        let KernelParams { params, lane_count } = *self;
        let (SegmentRange { pass, slice, from, to }, segment) = (range, segment_blocks(params));
        // As in `Window` in crates/hash/src/argon2/kernel/segment.rs.
        let (finished, oldest) = match (pass, slice) {
            (0, slice) => (slice * segment, 0),
            (_, slice) => (3 * segment, (slice + 1) % SLICES * segment),
        };
        let variant = match params.variant() {
            Variant::D => 0,
            Variant::I => 1,
            Variant::Id => 2,
        };
        let adds = pass > 0 && params.version() == Version::V13;
        let words = [
            segment,
            params.lanes(),
            lane_count,
            pass,
            slice,
            from,
            to,
            finished,
            oldest,
            u32::from((pass, slice) == (0, 0)),
            u32::from(is_data_independent(params.variant(), pass, slice)),
            u32::from(adds),
            step,
            params.blocks() as u32,
            params.passes(),
            variant,
        ];
        let mut bytes = [0; KernelParams::LEN];
        bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        bytes
    }
}

/// Controller for the number of blocks per lane in a submission, so that one takes about the target time. A
/// stop waits for two submissions, and no operating system resets a device that answers this soon.
#[derive(Clone, Copy)]
pub(crate) struct SubmitSizer {
    target: Duration,
    blocks: u32,
    min_blocks: u32,
    max_blocks: u32,
}

impl SubmitSizer {
    /// Small enough for any device.
    const INITIAL_BLOCKS: u32 = 64;
    const MIN_BLOCKS: u32 = 4;
    const MAX_BLOCKS: u32 = 1 << 16;

    pub(crate) fn new(target: Duration) -> SubmitSizer {
        let [min, max] = [SubmitSizer::MIN_BLOCKS, SubmitSizer::MAX_BLOCKS];
        SubmitSizer::with_bounds(target, SubmitSizer::INITIAL_BLOCKS, min, max)
    }

    /// Starts at `blocks`, and stays between `min_blocks` and `max_blocks` afterwards.
    pub(crate) fn with_bounds(
        target: Duration,
        blocks: u32,
        min_blocks: u32,
        max_blocks: u32,
    ) -> SubmitSizer {
        SubmitSizer { target, blocks, min_blocks, max_blocks }
    }

    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Records the time of a submission of `blocks` blocks per lane.
    pub(crate) fn record_time(&mut self, blocks: u32, time: Duration) {
        // This submission is older than the current size, or it is the rest of a slice.
        if blocks < self.blocks {
            return;
        }
        if time > 2 * self.target {
            self.blocks = (self.blocks / 2).max(self.min_blocks);
        } else if time < self.target / 2 {
            self.blocks = (self.blocks * 2).min(self.max_blocks);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(memory: u32, passes: u32, lanes: u32) -> Params {
        Params::new(memory, passes, lanes).unwrap()
    }

    #[test]
    fn ranges_cover_all_blocks_once_in_order() {
        for (memory, passes, lanes) in [(8, 1, 1), (8, 3, 1), (67, 2, 2), (4000, 1, 3)] {
            let params = params(memory, passes, lanes);
            let segment = segment_blocks(params);
            let expected: Vec<_> = (0..passes)
                .flat_map(|pass| (0..4).map(move |slice| (pass, slice)))
                .flat_map(|(pass, slice)| (0..segment).map(move |index| (pass, slice, index)))
                .skip(2)
                .collect();
            for most in [1, 2, 3, 100, u32::MAX] {
                let (mut ranges, mut covered) = (SegmentRanges::new(params), Vec::new());
                while let Some(range) = ranges.next(most) {
                    assert!((1..=most).contains(&range.len()), "{range:?}");
                    assert!(!ranges.is_at_slice_group(), "all passes share one table");
                    covered.extend((range.from..range.to).map(|index| (range.pass, range.slice, index)));
                }
                assert_eq!(covered, expected, "{params:?}, {most} at a time");
                assert_eq!(ranges.next(most), None, "the sequence has ended");
            }
        }
    }

    #[test]
    fn tables_have_the_slices_with_data_independent_references() {
        let of = |variant, passes| params(400, passes, 3).with_variant(variant);
        for (variant, passes, slices) in [
            (Variant::D, 3, 0),
            (Variant::Id, 1, 2),
            (Variant::Id, 40, 2),
            (Variant::I, 1, 4),
            (Variant::I, 16, 64),
            (Variant::I, 17, 64),
        ] {
            let params = of(variant, passes);
            assert_eq!(table_slices(params), slices, "{variant} {passes}");
            let (mut ranges, mut named) = (SegmentRanges::new(params), Vec::new());
            while let Some(range) = ranges.next(7) {
                named.extend(range.in_table(params).map(|at| (at, (range.pass, range.slice))));
            }
            named.dedup();
            // Each slice has its position in its table, and tables have no other slices.
            let mut expected = Vec::new();
            for number in 0..=passes / PASSES_PER_GROUP {
                let slices = (0..).zip(slice_group(params, number));
                expected.extend(slices.map(|(at, range)| ((number, at), (range.pass, range.slice))));
            }
            assert_eq!(named, expected, "{variant} {passes}");
        }
        assert_eq!(slice_group(of(Variant::I, u32::MAX), u32::MAX).count(), 0);
    }

    #[test]
    fn submission_times_approach_the_target_within_bounds() {
        // A device that needs the time `block` for each block.
        let final_blocks = |target: Duration, block: Duration| {
            let mut sizer = SubmitSizer::new(target);
            for _ in 0..40 {
                sizer.record_time(sizer.blocks(), block * sizer.blocks());
                // The shorter rest of a slice does not count.
                sizer.record_time(sizer.blocks() - 1, Duration::ZERO);
            }
            sizer.blocks()
        };
        for target in [1, 4, 50].map(Duration::from_millis) {
            assert_eq!(final_blocks(target, Duration::ZERO), SubmitSizer::MAX_BLOCKS);
            assert_eq!(final_blocks(target, Duration::from_secs(1)), SubmitSizer::MIN_BLOCKS);
            for micros in [1, 10, 100] {
                let block = Duration::from_micros(micros);
                let time = block * final_blocks(target, block);
                assert!(time >= target / 2 && time <= 2 * target, "{time:?}");
            }
        }
    }
}
