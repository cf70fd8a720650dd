//! Fill of a segment: the loop over its blocks, written once for all instruction sets.
//!
//! ```text
//! for each block of the range, for each stream in turn:
//!     block = G(previous block, referenced block)           (plus the old block on later passes of version 1.3)
//!     find the block that this stream will reference next and start to fetch it
//! ```
//! Blocks of one stream form a chain, and the reference of a block often misses every cache. A second stream
//! (of another lane or another hash) computes while the first one's block is being loaded. Where references
//! do not depend on data they are known in advance, and are fetched [`AHEAD`] blocks early.
//!
//! Memory much larger than the caches ([`Slice::far`]) is handled differently. A written block is not read
//! again soon, so new blocks bypass the caches and do not load the lines that they overwrite; only the last
//! block is also kept as a copy. Known references need two steps: into the second cache [`FAR_AHEAD`] blocks
//! early, and from there into the first.
#![expect(unsafe_code, reason = "the loop over blocks, inlined into each kernel")]

use super::table::{ADDRESSES, References, SegmentRange, Slice};
use crate::argon2::memory::{Block, Stream, wipe};
use core::array;

/// Blocks between the fetch of a known reference and its use.
const AHEAD: usize = 3;

/// The same for a fetch into the second cache, where that takes longer than [`AHEAD`] blocks.
const FAR_AHEAD: usize = 12;

/// The compression function G in the instructions of one set.
pub(super) trait Compress {
    /// The order in which it stores the words of a block.
    const LAYOUT: super::table::Layout;

    /// `*dst = G(*prev, *reference)`, plus the old `*dst` if `ADD`. Returns the first word of the result.
    ///
    /// # Safety
    /// The CPU has the instructions. All three point to blocks; `prev` and `reference` were written; `dst` is
    /// neither of them and, if `ADD`, was written too.
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64;

    /// As [`compress`](Compress::compress), but passes the first word to `known`, before the rest is done if
    /// possible: that word determines the next reference.
    ///
    /// # Safety
    /// As for `compress`.
    #[inline(always)]
    unsafe fn compress_then<const ADD: bool>(
        prev: *const Block,
        reference: *const Block,
        dst: *mut Block,
        known: impl FnOnce(u64),
    ) {
        // SAFETY: the caller's.
        known(unsafe { Self::compress::<ADD>(prev, reference, dst) });
    }

    /// As [`compress_then`](Compress::compress_then), with the result also in `*carried`, which holds the
    /// previous block before. The write to `dst` may bypass the caches; other threads see it after
    /// [`publish`](Compress::publish).
    ///
    /// # Safety
    /// As for `compress`, with `carried` as `prev`.
    #[inline(always)]
    unsafe fn carry(carried: *mut Block, reference: *const Block, dst: *mut Block, known: impl FnOnce(u64)) {
        // SAFETY: the caller's; both are blocks, and `dst` was written just now.
        unsafe {
            known(Self::compress::<false>(carried, reference, dst));
            carried.copy_from_nonoverlapping(dst, 1);
        }
    }

    /// Orders all writes of [`carry`](Compress::carry) before this thread's later writes.
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    unsafe fn publish() {}

    /// Does it support prefetching? If not, neither interleaving streams nor the loops for far memory gain
    /// anything, and those loops are not compiled.
    const FETCHES: bool = true;

    /// Starts to fetch a block. Any address is valid.
    fn fetch(block: *const Block);

    /// As [`fetch`](Compress::fetch), only into the second cache, if the CPU can.
    #[inline(always)]
    fn fetch_far(block: *const Block) {
        Self::fetch(block);
    }
}

/// The table of a [`Compress`]: the loops of this file compiled for its instructions, and chains for each of
/// some vectors in ascending width.
///
/// The loops must be inlined into a function that has the instructions, so each set has its own copy here.
macro_rules! table {
    (@loops $compress:ty, ($(#[$enable:meta])?)) => {
        $(#[$enable])?
        unsafe fn references(slice: &Slice, lane: u32, from: u32, out: &mut [u32]) {
            // SAFETY: this function has the instructions.
            unsafe { segment::references::<$compress>(slice, lane, from, out) }
        }

        $(#[$enable])?
        unsafe fn independent(range: &SegmentRange<'_>, streams: &[Stream<'_>], references: &References<'_>) {
            // SAFETY: this function has the instructions; the rest is the caller's.
            unsafe { segment::independent::<$compress>(range, streams, references) }
        }

        $(#[$enable])?
        unsafe fn dependent(range: &SegmentRange<'_>, streams: &[Stream<'_>]) {
            // SAFETY: this function has the instructions; the rest is the caller's.
            unsafe { segment::dependent::<$compress>(range, streams) }
        }
    };
    (@hash_long $compress:ty, $lanes:ty, ($(#[$enable:meta])?)) => {{
        $(#[$enable])?
        unsafe fn run(seeds: &[Seed], blocks: &mut [Block]) {
            // SAFETY: this function has the instructions.
            unsafe { chain::hash_long::<$lanes>(<$compress as Compress>::LAYOUT, seeds, blocks) }
        }
        HashLong { chains: <$lanes as Lanes>::COUNT, run }
    }};
    ($compress:ty, $name:literal, [$($feature:ident),*], [$($lanes:ty),+], $enable:tt) => {
        pub(in crate::argon2) static TABLE: $crate::argon2::kernel::table::Table = {
            use $crate::argon2::kernel::chain;
            use $crate::argon2::kernel::segment::{self, Compress};
            use $crate::argon2::kernel::table::{References, Seed, Slice, HashLong, SegmentRange, Table};
            use $crate::argon2::memory::{Block, Stream};
            use $crate::argon2::kernel::blake2b::Lanes;
            use $crate::isa::{Feature, Features};

            segment::table!(@loops $compress, $enable);
            const NEEDS: &[Feature] = &[$(Feature::$feature),*];
            Table {
                name: $name,
                needs: Features::from_list(NEEDS),
                layout: <$compress as Compress>::LAYOUT,
                references,
                independent,
                dependent,
                hash_long: &[$(segment::table!(@hash_long $compress, $lanes, $enable)),+],
            }
        };
    };
}
pub(super) use table;

/// See [`super::table::Table::references`].
///
/// # Safety
/// The CPU has the instructions of `C`.
#[inline(always)]
pub(super) unsafe fn references<C: Compress>(slice: &Slice, lane: u32, from: u32, out: &mut [u32]) {
    let window = Window::for_slice(slice);
    let mut input = Block::ZERO;
    let fields = [
        u64::from(slice.pass),
        u64::from(lane),
        u64::from(slice.slice),
        slice.shape.blocks(),
        u64::from(slice.passes),
        u64::from(slice.variant),
    ];
    for (index, field) in fields.into_iter().enumerate() {
        input.0[C::LAYOUT.memory_index(index)] = field;
    }
    let mut index = from;
    for out in out.chunks_mut(ADDRESSES) {
        input.0[C::LAYOUT.memory_index(6)] = u64::from(index / ADDRESSES as u32) + 1;
        let mut half = Block::ZERO;
        let mut addresses = Block::ZERO;
        // SAFETY: local blocks, and the caller has the instructions.
        unsafe {
            C::compress::<false>(&Block::ZERO, &input, &mut half);
            C::compress::<false>(&Block::ZERO, &half, &mut addresses);
        }
        for (word, out) in out.iter_mut().enumerate() {
            // The first two blocks of a lane have no reference.
            if index >= slice.first_index() {
                *out = window.reference(addresses.0[C::LAYOUT.memory_index(word)], lane, index) as u32;
            }
            index += 1;
        }
    }
}

/// See [`super::table::Table::independent`].
///
/// # Safety
/// The CPU has the instructions of `C`; `range` and `references` fit the streams' memory.
#[inline(always)]
pub(super) unsafe fn independent<C: Compress>(
    range: &SegmentRange<'_>,
    streams: &[Stream<'_>],
    references: &References<'_>,
) {
    // SAFETY: as for this function; the lengths agree.
    unsafe {
        if !C::FETCHES {
            for (stream, list) in streams.iter().zip(references) {
                independent_of::<C, 1>(range, array::from_ref(stream), array::from_ref(list));
            }
        } else if let (Ok(streams), Ok(lists)) = (streams.try_into(), references.try_into()) {
            independent_of::<C, 1>(range, streams, lists);
        } else if let (Ok(streams), Ok(lists)) = (streams.try_into(), references.try_into()) {
            independent_of::<C, 2>(range, streams, lists);
        } else if let (Ok(streams), Ok(lists)) = (streams.try_into(), references.try_into()) {
            independent_of::<C, 3>(range, streams, lists);
        } else if let (Ok(streams), Ok(lists)) = (streams.try_into(), references.try_into()) {
            independent_of::<C, 4>(range, streams, lists);
        }
    }
}

/// See [`super::table::Table::dependent`].
///
/// # Safety
/// The CPU has the instructions of `C`; `range` fits the streams' memory.
#[inline(always)]
pub(super) unsafe fn dependent<C: Compress>(range: &SegmentRange<'_>, streams: &[Stream<'_>]) {
    // SAFETY: as for this function.
    unsafe {
        if !C::FETCHES {
            for stream in streams {
                dependent_of::<C, 1>(range, array::from_ref(stream));
            }
        } else if let Ok(streams) = streams.try_into() {
            dependent_of::<C, 1>(range, streams);
        } else if let Ok(streams) = streams.try_into() {
            dependent_of::<C, 2>(range, streams);
        } else if let Ok(streams) = streams.try_into() {
            dependent_of::<C, 3>(range, streams);
        } else if let Ok(streams) = streams.try_into() {
            dependent_of::<C, 4>(range, streams);
        }
    }
}

/// # Safety
/// As [`independent`].
#[inline(always)]
unsafe fn independent_of<C: Compress, const N: usize>(
    range: &SegmentRange<'_>,
    streams: &[Stream<'_>; N],
    references: &[&[u32]; N],
) {
    // SAFETY: as for this function.
    unsafe {
        match (range.slice.adds, range.slice.far && C::FETCHES) {
            (false, false) => independent_loop::<C, N, false, false>(range, streams, references),
            (false, true) => independent_loop::<C, N, false, true>(range, streams, references),
            (true, false) => independent_loop::<C, N, true, false>(range, streams, references),
            (true, true) => independent_loop::<C, N, true, true>(range, streams, references),
        }
    }
}

/// # Safety
/// As [`dependent`].
#[inline(always)]
unsafe fn dependent_of<C: Compress, const N: usize>(range: &SegmentRange<'_>, streams: &[Stream<'_>; N]) {
    // SAFETY: as for this function.
    unsafe {
        match (range.slice.adds, range.slice.far && C::FETCHES) {
            (false, false) => dependent_loop::<C, N, false, false>(range, streams),
            (false, true) => dependent_loop::<C, N, false, true>(range, streams),
            // Blocks that are added to are in the caches when they are written.
            (true, _) => dependent_loop::<C, N, true, false>(range, streams),
        }
    }
}

/// # Safety
/// As [`independent`].
#[inline(always)]
unsafe fn independent_loop<C: Compress, const N: usize, const ADD: bool, const FAR: bool>(
    range: &SegmentRange<'_>,
    streams: &[Stream<'_>; N],
    references: &[&[u32]; N],
) {
    let carries = FAR && !ADD;
    let mut cursors: [StreamCursor; N] = array::from_fn(|s| StreamCursor::new(range, &streams[s]));
    let mut carried = [Block::ZERO; N];
    if carries {
        // SAFETY: the blocks before were written.
        unsafe { copy_last_blocks(&mut cursors, &mut carried) }
    }
    let len = (range.to - range.from) as usize;
    let referenced = |s: usize, i: usize| {
        // SAFETY: `i` is below `len`, the length of every list.
        streams[s].first().wrapping_add(unsafe { *references[s].get_unchecked(i) } as usize)
    };
    for s in 0..N {
        for i in 0..AHEAD.min(len) {
            C::fetch(referenced(s, i));
        }
        for i in AHEAD..FAR_AHEAD.min(len) {
            if FAR {
                C::fetch_far(referenced(s, i));
            }
        }
    }
    for i in 0..len {
        for (s, cursor) in cursors.iter_mut().enumerate() {
            if FAR {
                C::fetch_far(referenced(s, (i + FAR_AHEAD).min(len - 1)));
            }
            C::fetch(referenced(s, (i + AHEAD).min(len - 1)));
            // SAFETY: references are inside the memory. This stream alone writes its segment; everything that
            // it reads was written before (see `Matrix::stream`).
            unsafe {
                if carries {
                    C::carry(cursor.prev, referenced(s, i), cursor.next, unneeded);
                } else {
                    C::compress::<ADD>(cursor.prev, referenced(s, i), cursor.next);
                }
            }
            cursor.advance(carries);
        }
    }
    if carries {
        wipe(&mut carried);
        // SAFETY: the caller has the instructions of `C`.
        unsafe { C::publish() }
    }
}

/// # Safety
/// As [`dependent`].
#[inline(always)]
unsafe fn dependent_loop<C: Compress, const N: usize, const ADD: bool, const CARRY: bool>(
    range: &SegmentRange<'_>,
    streams: &[Stream<'_>; N],
) {
    let window = Window::for_slice(range.slice);
    let mut cursors: [StreamCursor; N] = array::from_fn(|s| StreamCursor::new(range, &streams[s]));
    let mut references: [*mut Block; N] = array::from_fn(|s| {
        let mut reference = core::ptr::null_mut();
        // SAFETY: the block before was written; its first word is the first in every layout.
        let word = unsafe { (*cursors[s].prev).0[0] };
        locate::<C>(&window, &streams[s], range.from, &mut reference)(word);
        reference
    });
    let mut carried = [Block::ZERO; N];
    if CARRY {
        // SAFETY: the blocks before were written.
        unsafe { copy_last_blocks(&mut cursors, &mut carried) }
    }
    for index in range.from..range.to {
        for s in 0..N {
            let (reference, StreamCursor { prev, next }) = (references[s], cursors[s]);
            // Not used after the last block, but still inside the memory.
            let known = locate::<C>(&window, &streams[s], index + 1, &mut references[s]);
            // SAFETY: references are inside the memory. This stream alone writes its segment; everything that
            // it reads was written before (see `Matrix::stream`).
            unsafe {
                if CARRY {
                    C::carry(prev, reference, next, known);
                } else {
                    C::compress_then::<ADD>(prev, reference, next, known);
                }
            }
            cursors[s].advance(CARRY);
        }
    }
    if CARRY {
        wipe(&mut carried);
        // SAFETY: the caller has the instructions of `C`.
        unsafe { C::publish() }
    }
}

/// Ignores the first word, where references are known without it.
#[inline(always)]
fn unneeded(_: u64) {}

/// Handles the first word of a block: writes the reference of the next block, `index`, to `reference` and
/// starts to fetch it. All loops use the same closure type, so that the compression is compiled once.
#[inline(always)]
fn locate<C: Compress>(
    window: &Window,
    stream: &Stream<'_>,
    index: u32,
    reference: &mut *mut Block,
) -> impl FnOnce(u64) {
    move |word| {
        *reference = stream.first().wrapping_add(window.reference(word, stream.lane(), index));
        C::fetch(*reference);
    }
}

/// Copies the last block of each stream into `carried`, which holds it from now on.
///
/// # Safety
/// These blocks were written.
#[inline(always)]
unsafe fn copy_last_blocks<const N: usize>(cursors: &mut [StreamCursor; N], carried: &mut [Block; N]) {
    let first = carried.as_mut_ptr();
    for (s, cursor) in cursors.iter_mut().enumerate() {
        // SAFETY: the caller's, and `carried` has one block for each cursor.
        unsafe {
            first.add(s).copy_from_nonoverlapping(cursor.prev, 1);
            cursor.prev = first.add(s);
        }
    }
}

/// The last block of a stream, and the memory of the next.
#[derive(Clone, Copy)]
struct StreamCursor {
    prev: *mut Block,
    next: *mut Block,
}

impl StreamCursor {
    #[inline(always)]
    fn new(range: &SegmentRange<'_>, stream: &Stream<'_>) -> StreamCursor {
        let Slice { shape, slice, .. } = *range.slice;
        let lane = stream.first().wrapping_add(stream.lane() as usize * shape.lane_len as usize);
        let index = slice * shape.segment_len + range.from;
        let prev = if index == 0 { shape.lane_len - 1 } else { index - 1 };
        StreamCursor { prev: lane.wrapping_add(prev as usize), next: lane.wrapping_add(index as usize) }
    }

    /// Advances to the new block; a carried block already holds its content.
    #[inline(always)]
    fn advance(&mut self, carries: bool) {
        if !carries {
            self.prev = self.next;
        }
        self.next = self.next.wrapping_add(1);
    }
}

/// The blocks that a segment may refer to.
struct Window {
    shape_lanes: u32,
    lane_len: u32,
    /// Finished blocks of other lanes: all but the current segment, or all so far in the first pass.
    finished: u32,
    /// The position of the oldest of them in a lane.
    start: u32,
    own_lane_only: bool,
}

impl Window {
    #[inline(always)]
    fn for_slice(slice: &Slice) -> Window {
        let shape = slice.shape;
        let (finished, start) = match (slice.pass, slice.slice) {
            (0, slice) => (slice * shape.segment_len, 0),
            (_, 3) => (shape.lane_len - shape.segment_len, 0),
            (_, slice) => (shape.lane_len - shape.segment_len, (slice + 1) * shape.segment_len),
        };
        let own_lane_only = (slice.pass, slice.slice) == (0, 0);
        Window { shape_lanes: shape.lanes, lane_len: shape.lane_len, finished, start, own_lane_only }
    }

    /// The block that the pseudo-random `word` selects, for block `index` of the segment in `lane`.
    #[inline(always)]
    fn reference(&self, word: u64, lane: u32, index: u32) -> usize {
        let (low, high) = (word & 0xffff_ffff, (word >> 32) as u32);
        let lanes = self.shape_lanes;
        let target = if self.own_lane_only || lanes == 1 {
            lane
        } else if lanes.is_power_of_two() {
            high & (lanes - 1)
        } else {
            high % lanes
        };
        // In its own lane all blocks but the last; in others, that last one is missing only when it was the
        // last of a segment.
        let own = self.finished + index - 1;
        let other = self.finished - u32::from(index == 0);
        let area = u64::from(if target == lane { own } else { other });
        // Squaring prefers recent blocks.
        let back = (((low * low) >> 32) * area) >> 32;
        let mut position = u64::from(self.start) + area - 1 - back;
        if position >= u64::from(self.lane_len) {
            position -= u64::from(self.lane_len);
        }
        target as usize * self.lane_len as usize + position as usize
    }
}
