//! What is computed when: slices, pieces of them, and how long a piece may take. No device is touched here.

use hashmill_hash::argon2::{Params, Variant, Version};
use std::time::Duration;

/// Bytes of a block.
pub(super) const BLOCK: u64 = 1024;

const SLICES: u32 = 4;

/// The most blocks of a slice of all hashes: kernels number its pieces of 16 bytes with 32 bits.
const MOST_BLOCKS: u64 = 1 << 26;

/// Blocks of a segment: one slice of one lane.
pub(super) fn segment(params: Params) -> u32 {
    (params.blocks() / u64::from(SLICES) / u64::from(params.lanes())) as u32
}

/// How many hashes a device takes side by side, none at worst, if it binds so many bytes for each slice.
pub(super) fn side_by_side(params: Params, binding: u64) -> u64 {
    let blocks = (binding / BLOCK).min(MOST_BLOCKS);
    blocks / (params.blocks() / u64::from(SLICES))
}

/// How much memory many lanes gain from: on an H200 by Vulkan, hashes of 16 to 64 MiB a second grow with every lane up to 32 GiB, and
/// are 0.3 to 0.4 of that at twice the memory.
const REACH: u64 = 32 << 30;

/// As many lanes gain from memory beyond that: 66 of 2 GiB, all that an H200 holds, are 3.3 times as fast as 16.
const FEW: u64 = 66;

/// How many hashes side by side are worth their memory, if that is to be had.
pub(super) fn worthwhile(params: Params) -> u64 {
    let few = FEW / u64::from(params.lanes());
    (REACH / (params.blocks() * BLOCK)).max(few).max(1)
}

/// Whether the references of a slice depend on no data.
fn is_known(variant: Variant, pass: u32, slice: u32) -> bool {
    match variant {
        Variant::D => false,
        Variant::I => true,
        Variant::Id => pass == 0 && slice < 2,
    }
}

/// Whether any are.
pub(super) fn has_known(params: Params) -> bool {
    is_known(params.variant(), 0, 0)
}

/// A part of a slice: these blocks of the segments of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Strip {
    pub(super) pass: u32,
    pub(super) slice: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Strip {
    /// Whether the references of its slice are to be made first.
    pub(super) fn begins_known(self, params: Params) -> bool {
        self.from == first(self.pass, self.slice) && is_known(params.variant(), self.pass, self.slice)
    }

    pub(super) fn len(self) -> u32 {
        self.to - self.from
    }
}

/// The first block of a segment that is computed: the first two of a lane are there from the beginning.
fn first(pass: u32, slice: u32) -> u32 {
    if (pass, slice) == (0, 0) { 2 } else { 0 }
}

/// The way through a hash.
pub(super) struct Strips {
    params: Params,
    pass: u32,
    slice: u32,
    from: u32,
}

impl Strips {
    pub(super) fn new(params: Params) -> Strips {
        Strips { params, pass: 0, slice: 0, from: first(0, 0) }
    }

    /// The next strip, of at most so many blocks of each lane, if there are any left.
    pub(super) fn next(&mut self, most: u32) -> Option<Strip> {
        let segment = segment(self.params);
        // A segment may have no more than the two blocks that are there.
        while self.from == segment {
            (self.pass, self.slice) = (self.pass + (self.slice + 1) / SLICES, (self.slice + 1) % SLICES);
            self.from = first(self.pass, self.slice);
        }
        let Strips { params, pass, slice, from } = *self;
        if pass == params.passes() {
            return None;
        }
        self.from = segment.min(from.saturating_add(most));
        Some(Strip { pass, slice, from, to: self.from })
    }
}

/// What a dispatch is told, as `Params` in the kernels.
pub(super) struct Numbers {
    params: Params,
    streams: u32,
}

impl Numbers {
    pub(super) const LEN: usize = 64;

    /// For so many lanes of all hashes.
    pub(super) fn new(params: Params, streams: u32) -> Numbers {
        Numbers { params, streams }
    }

    /// For the strip with the number `step`.
    pub(super) fn bytes(&self, strip: Strip, step: u32) -> [u8; Numbers::LEN] {
        let Numbers { params, streams } = *self;
        let (Strip { pass, slice, from, to }, segment) = (strip, segment(params));
        // As `Window` in crates/hash/src/argon2/segment.rs has it.
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
            streams,
            pass,
            slice,
            from,
            to,
            finished,
            oldest,
            u32::from((pass, slice) == (0, 0)),
            u32::from(is_known(params.variant(), pass, slice)),
            u32::from(adds),
            step,
            params.blocks() as u32,
            params.passes(),
            variant,
        ];
        let mut bytes = [0; Numbers::LEN];
        bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(bytes, word)| *bytes = word.to_le_bytes());
        bytes
    }
}

/// How many blocks of each lane are handed over at a time, so that they take about [`Pace::AIM`]: whoever waits for a stop waits
/// for two of these, and no system resets a device that answers so soon.
pub(super) struct Pace(u32);

impl Pace {
    const AIM: Duration = Duration::from_millis(4);
    /// Few enough for any device.
    const FIRST: u32 = 64;
    const LEAST: u32 = 4;
    const MOST: u32 = 1 << 16;

    pub(super) fn new() -> Pace {
        Pace(Pace::FIRST)
    }

    pub(super) fn blocks(&self) -> u32 {
        self.0
    }

    /// Learns how long so many blocks have taken.
    pub(super) fn took(&mut self, blocks: u32, time: Duration) {
        // Others were handed over before the pace changed, or there were no more.
        if blocks < self.0 {
            return;
        }
        if time > 2 * Pace::AIM {
            self.0 = (self.0 / 2).max(Pace::LEAST);
        } else if time < Pace::AIM / 2 {
            self.0 = (self.0 * 2).min(Pace::MOST);
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
    fn strips_are_all_blocks_once_in_their_order() {
        for (memory, passes, lanes) in [(8, 1, 1), (8, 3, 1), (67, 2, 2), (4000, 1, 3)] {
            let params = params(memory, passes, lanes);
            let segment = segment(params);
            let expected: Vec<_> = (0..passes)
                .flat_map(|pass| (0..4).map(move |slice| (pass, slice)))
                .flat_map(|(pass, slice)| (0..segment).map(move |index| (pass, slice, index)))
                .skip(2)
                .collect();
            for most in [1, 2, 3, 100, u32::MAX] {
                let (mut strips, mut seen) = (Strips::new(params), Vec::new());
                while let Some(strip) = strips.next(most) {
                    assert!((1..=most).contains(&strip.len()), "{strip:?}");
                    seen.extend((strip.from..strip.to).map(|index| (strip.pass, strip.slice, index)));
                }
                assert_eq!(seen, expected, "{params:?}, {most} at a time");
                assert_eq!(strips.next(most), None, "it ends");
            }
        }
    }

    #[test]
    fn references_are_made_at_the_beginning_of_slices_that_have_them() {
        for (variant, slices) in
            [(Variant::D, vec![]), (Variant::I, (0..8).collect()), (Variant::Id, vec![0, 1])]
        {
            let params = params(400, 2, 3).with_variant(variant);
            let (mut strips, mut begun) = (Strips::new(params), Vec::new());
            while let Some(strip) = strips.next(7) {
                if strip.begins_known(params) {
                    assert_eq!(strip.from, if begun.is_empty() { 2 } else { 0 });
                    begun.push(strip.pass * 4 + strip.slice);
                }
            }
            assert_eq!(begun, slices, "{variant}");
            assert_eq!(has_known(params), !slices.is_empty());
        }
    }

    #[test]
    fn as_many_hashes_go_side_by_side_as_their_slices_are_bound() {
        let mib = params(1024, 1, 1);
        for (binding, hashes) in
            [(0, 0), (262_143, 0), (262_144, 1), (262_144 * 7 + 1, 7), ((1 << 31) - 4, 8191)]
        {
            assert_eq!(side_by_side(mib, binding), hashes, "{binding}");
        }
        // 2 GiB have slices of 512 MiB.
        assert_eq!(side_by_side(params(1 << 21, 1, 1), (1 << 31) - 4), 3);
        // Kernels count to 64 GiB, whatever is bound.
        assert_eq!(side_by_side(params(1 << 28, 1, 1), u64::MAX), 1);
        assert_eq!(side_by_side(params((1 << 28) + 16, 1, 4), u64::MAX), 0);
    }

    #[test]
    fn many_small_hashes_stay_within_reach_and_a_few_large_ones_need_not() {
        let of = |memory, lanes| worthwhile(params(memory, 1, lanes));
        assert_eq!([of(16 << 10, 1), of(64 << 10, 1), of(64 << 10, 4)], [2048, 512, 512]);
        assert_eq!([of(2 << 20, 1), of(2 << 20, 4), of(16 << 20, 128)], [66, 16, 2]);
        assert_eq!(of(64 << 20, 128), 1);
    }

    #[test]
    fn a_pace_comes_near_what_it_aims_at_and_stays_within_bounds() {
        // A device that needs so long for a block.
        let reaches = |block: Duration| {
            let mut pace = Pace::new();
            for _ in 0..40 {
                pace.took(pace.blocks(), block * pace.blocks());
                // A shorter rest of a slice says nothing.
                pace.took(pace.blocks() - 1, Duration::ZERO);
            }
            pace.blocks()
        };
        assert_eq!(reaches(Duration::ZERO), Pace::MOST);
        assert_eq!(reaches(Duration::from_secs(1)), Pace::LEAST);
        for micros in [1, 10, 100] {
            let block = Duration::from_micros(micros);
            let time = block * reaches(block);
            assert!(time >= Pace::AIM / 2 && time <= 2 * Pace::AIM, "{time:?}");
        }
    }
}
