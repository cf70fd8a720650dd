//! What is computed when: slices, pieces of them, and how long a piece may take. No device is touched here.

use hashmill_hash::argon2::{Params, Variant, Version};
use std::time::Duration;

/// Bytes of a block.
pub(crate) const BLOCK: u64 = 1024;

const SLICES: u32 = 4;

/// Blocks of a segment: one slice of one lane.
pub(crate) fn segment(params: Params) -> u32 {
    (params.blocks() / u64::from(SLICES) / u64::from(params.lanes())) as u32
}

/// Whether the references of a slice depend on no data.
fn is_known(variant: Variant, pass: u32, slice: u32) -> bool {
    match variant {
        Variant::D => false,
        Variant::I => true,
        Variant::Id => pass == 0 && slice < 2,
    }
}

/// Passes whose references are in one table: very many passes have several, one after another.
const CHAPTER: u32 = 16;

/// Slices of a table.
pub(crate) fn table_slices(params: Params) -> u32 {
    chapter(params, 0).count() as u32
}

/// What a table has: whole slices, those of some passes whose references depend on no data.
pub(crate) fn chapter(params: Params, chapter: u32) -> impl Iterator<Item = Strip> {
    let (first, to) = (chapter.saturating_mul(CHAPTER), segment(params));
    let passes = first..first.saturating_add(CHAPTER).min(params.passes());
    let slices = passes.flat_map(|pass| (0..SLICES).map(move |slice| (pass, slice)));
    let known = slices.filter(move |&(pass, slice)| is_known(params.variant(), pass, slice));
    known.map(move |(pass, slice)| Strip { pass, slice, from: 0, to })
}

/// A part of a slice: these blocks of the segments of all lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Strip {
    pub(crate) pass: u32,
    pub(crate) slice: u32,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl Strip {
    /// Which table its references are in, and its slice there, where they depend on no data.
    pub(crate) fn in_table(self, params: Params) -> Option<(u32, u32)> {
        let known = is_known(params.variant(), self.pass, self.slice);
        known.then_some((self.pass / CHAPTER, self.pass % CHAPTER * SLICES + self.slice))
    }

    pub(crate) fn len(self) -> u32 {
        self.to - self.from
    }
}

/// The first block of a segment that is computed: the first two of a lane are there from the beginning.
fn first(pass: u32, slice: u32) -> u32 {
    if (pass, slice) == (0, 0) { 2 } else { 0 }
}

/// The way through a hash.
pub(crate) struct Strips {
    params: Params,
    pass: u32,
    slice: u32,
    from: u32,
}

impl Strips {
    pub(crate) fn new(params: Params) -> Strips {
        Strips { params, pass: 0, slice: 0, from: first(0, 0) }
    }

    /// Whether the next one is in the first pass of another table.
    pub(crate) fn is_at_chapter(&self) -> bool {
        let passed = self.from == segment(self.params) && self.slice + 1 == SLICES;
        passed && (self.pass + 1).is_multiple_of(CHAPTER)
    }

    /// The next strip, of at most so many blocks of each lane, if there are any left.
    pub(crate) fn next(&mut self, most: u32) -> Option<Strip> {
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
pub(crate) struct Numbers {
    params: Params,
    streams: u32,
}

impl Numbers {
    pub(crate) const LEN: usize = 64;

    /// For so many lanes of all hashes.
    pub(crate) fn new(params: Params, streams: u32) -> Numbers {
        Numbers { params, streams }
    }

    /// For the strip with the number `step`.
    pub(crate) fn bytes(&self, strip: Strip, step: u32) -> [u8; Numbers::LEN] {
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

/// How many blocks of each lane are handed over at a time, so that they take about as long as is aimed at: whoever waits for a stop waits
/// for two of these, and no system resets a device that answers so soon.
pub(crate) struct Pace {
    aim: Duration,
    now: u32,
    least: u32,
    most: u32,
}

impl Pace {
    /// Few enough for any device.
    const FIRST: u32 = 64;
    const LEAST: u32 = 4;
    const MOST: u32 = 1 << 16;

    pub(crate) fn new(aim: Duration) -> Pace {
        Pace::within(aim, Pace::FIRST, Pace::LEAST, Pace::MOST)
    }

    /// So many at first, whatever is counted, and later within these bounds.
    pub(crate) fn within(aim: Duration, first: u32, least: u32, most: u32) -> Pace {
        Pace { aim, now: first, least, most }
    }

    pub(crate) fn blocks(&self) -> u32 {
        self.now
    }

    /// Learns how long so many blocks have taken.
    pub(crate) fn took(&mut self, blocks: u32, time: Duration) {
        // Others were handed over before the pace changed, or there were no more.
        if blocks < self.now {
            return;
        }
        if time > 2 * self.aim {
            self.now = (self.now / 2).max(self.least);
        } else if time < self.aim / 2 {
            self.now = (self.now * 2).min(self.most);
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
                    assert!(!strips.is_at_chapter(), "there are not so many passes");
                    seen.extend((strip.from..strip.to).map(|index| (strip.pass, strip.slice, index)));
                }
                assert_eq!(seen, expected, "{params:?}, {most} at a time");
                assert_eq!(strips.next(most), None, "it ends");
            }
        }
    }

    #[test]
    fn tables_have_the_slices_whose_references_depend_on_no_data() {
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
            let (mut strips, mut named) = (Strips::new(params), Vec::new());
            while let Some(strip) = strips.next(7) {
                named.extend(strip.in_table(params).map(|at| (at, (strip.pass, strip.slice))));
            }
            named.dedup();
            // Each is where its table has it, and tables have no others.
            let mut right = Vec::new();
            for number in 0..=passes / CHAPTER {
                let slices = (0..).zip(chapter(params, number));
                right.extend(slices.map(|(at, strip)| ((number, at), (strip.pass, strip.slice))));
            }
            assert_eq!(named, right, "{variant} {passes}");
        }
        assert_eq!(chapter(of(Variant::I, u32::MAX), u32::MAX).count(), 0);
    }

    #[test]
    fn a_pace_comes_near_what_it_aims_at_and_stays_within_bounds() {
        // A device that needs so long for a block.
        let reaches = |aim: Duration, block: Duration| {
            let mut pace = Pace::new(aim);
            for _ in 0..40 {
                pace.took(pace.blocks(), block * pace.blocks());
                // A shorter rest of a slice says nothing.
                pace.took(pace.blocks() - 1, Duration::ZERO);
            }
            pace.blocks()
        };
        for aim in [1, 4, 50].map(Duration::from_millis) {
            assert_eq!(reaches(aim, Duration::ZERO), Pace::MOST);
            assert_eq!(reaches(aim, Duration::from_secs(1)), Pace::LEAST);
            for micros in [1, 10, 100] {
                let block = Duration::from_micros(micros);
                let time = block * reaches(aim, block);
                assert!(time >= aim / 2 && time <= 2 * aim, "{time:?}");
            }
        }
    }
}
