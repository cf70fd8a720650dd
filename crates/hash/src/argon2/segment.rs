//! The fill: the loop over the blocks of a segment, written once for all instruction sets.
//!
//! ```text
//! for each block of the strip, for each stream in turn:
//!     block = G(previous block, referenced block)           (plus the old block on later passes of version 1.3)
//!     find the block that this stream will reference next and start to fetch it
//! ```
//! Blocks of one stream form a chain, and the reference of a block is often a miss in every cache. A second stream (of
//! another lane or another hash) computes while the first one's block is on its way. Where references do not depend
//! on data they are known in advance, and are fetched [`AHEAD`] blocks early.
//!
//! Memory much larger than the caches ([`Slice::far`]) is another matter: what is written does not come back soon, so new
//! blocks go past the caches and take no lines from memory that they overwrite, with a copy kept of the last one only; and
//! known references need two steps, into the second cache [`FAR_AHEAD`] blocks early and from there into the first.
#![expect(unsafe_code, reason = "the loop over blocks, inlined into each kernel")]

use super::kernel::{ADDRESSES, References, Slice, Strip};
use super::memory::{Block, Stream, wipe};
use core::array;

/// How many blocks early a known reference is fetched.
const AHEAD: usize = 3;

/// The same into the second cache, where that takes longer than [`AHEAD`] blocks.
const FAR_AHEAD: usize = 12;

/// The compression function G in the instructions of one set.
pub(super) trait Compress {
    /// Where it keeps the words of a block.
    const LAYOUT: super::kernel::Layout;

    /// `*dst = G(*prev, *reference)`, plus what `*dst` was before if `ADD`. Gives the first word of the result.
    ///
    /// # Safety
    /// The CPU has the instructions. All three point to blocks; `prev` and `reference` were written; `dst` is
    /// neither of them and, if `ADD`, was written too.
    unsafe fn compress<const ADD: bool>(prev: *const Block, reference: *const Block, dst: *mut Block) -> u64;

    /// [`compress`](Compress::compress) that hands on the first word, if it can before the rest is done: that word
    /// names the next reference.
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

    /// [`compress_then`](Compress::compress_then) with the result in `*carried` as well, which was the block before. What
    /// goes to `dst` may pass by the caches; other threads see it after [`publish`](Compress::publish).
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

    /// Orders all writes of [`carry`](Compress::carry) before what this thread writes from now on.
    ///
    /// # Safety
    /// The CPU has the instructions.
    #[inline(always)]
    unsafe fn publish() {}

    /// Whether memory can be asked for ahead. Where it cannot, streams gain nothing from each other's company, nor blocks from being called
    /// far, and the loops for either are not compiled.
    const FETCHES: bool = true;

    /// Starts to fetch a block. Any address will do.
    fn fetch(block: *const Block);

    /// The same only into the second cache, if the CPU can.
    #[inline(always)]
    fn fetch_far(block: *const Block) {
        Self::fetch(block);
    }
}

/// The table of a [`Compress`], with the loops of this file compiled for its instructions, and with chains for each of
/// some vectors in ascending width.
///
/// The loops must be inlined into a function that has the instructions, hence one of each here for each set.
macro_rules! table {
    (@loops $compress:ty, ($(#[$enable:meta])?)) => {
        $(#[$enable])?
        unsafe fn references(slice: &Slice, lane: u32, from: u32, out: &mut [u32]) {
            // SAFETY: this function has the instructions.
            unsafe { segment::references::<$compress>(slice, lane, from, out) }
        }

        $(#[$enable])?
        unsafe fn independent(strip: &Strip<'_>, streams: &[Stream<'_>], references: &References<'_>) {
            // SAFETY: this function has the instructions; the rest is the caller's.
            unsafe { segment::independent::<$compress>(strip, streams, references) }
        }

        $(#[$enable])?
        unsafe fn dependent(strip: &Strip<'_>, streams: &[Stream<'_>]) {
            // SAFETY: this function has the instructions; the rest is the caller's.
            unsafe { segment::dependent::<$compress>(strip, streams) }
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
        pub(in crate::argon2) static TABLE: $crate::argon2::kernel::Table = {
            use $crate::argon2::chain;
            use $crate::argon2::kernel::{References, Seed, Slice, HashLong, Strip, Table};
            use $crate::argon2::memory::{Block, Stream};
            use $crate::argon2::segment::{self, Compress};
            use $crate::blake2b::Lanes;
            use $crate::isa::{Feature, Features};

            segment::table!(@loops $compress, $enable);
            const NEEDS: &[Feature] = &[$(Feature::$feature),*];
            Table {
                name: $name,
                needs: Features::of(NEEDS),
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

/// See [`super::kernel::Table::references`].
///
/// # Safety
/// The CPU has the instructions of `C`.
#[inline(always)]
pub(super) unsafe fn references<C: Compress>(slice: &Slice, lane: u32, from: u32, out: &mut [u32]) {
    let window = Window::of(slice);
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
        input.0[C::LAYOUT.place(index)] = field;
    }
    let mut index = from;
    for out in out.chunks_mut(ADDRESSES) {
        input.0[C::LAYOUT.place(6)] = u64::from(index / ADDRESSES as u32) + 1;
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
                *out = window.reference(addresses.0[C::LAYOUT.place(word)], lane, index) as u32;
            }
            index += 1;
        }
    }
}

/// See [`super::kernel::Table::independent`].
///
/// # Safety
/// The CPU has the instructions of `C`; `strip` and `references` fit the streams' memory.
#[inline(always)]
pub(super) unsafe fn independent<C: Compress>(
    strip: &Strip<'_>,
    streams: &[Stream<'_>],
    references: &References<'_>,
) {
    // SAFETY: as for this function; the lengths agree.
    unsafe {
        if !C::FETCHES {
            for (stream, list) in streams.iter().zip(references) {
                independent_of::<C, 1>(strip, array::from_ref(stream), array::from_ref(list));
            }
        } else if let (Ok(streams), Ok(lists)) = (streams.try_into(), references.try_into()) {
            independent_of::<C, 1>(strip, streams, lists);
        } else if let (Ok(streams), Ok(lists)) = (streams.try_into(), references.try_into()) {
            independent_of::<C, 2>(strip, streams, lists);
        } else if let (Ok(streams), Ok(lists)) = (streams.try_into(), references.try_into()) {
            independent_of::<C, 3>(strip, streams, lists);
        } else if let (Ok(streams), Ok(lists)) = (streams.try_into(), references.try_into()) {
            independent_of::<C, 4>(strip, streams, lists);
        }
    }
}

/// See [`super::kernel::Table::dependent`].
///
/// # Safety
/// The CPU has the instructions of `C`; `strip` fits the streams' memory.
#[inline(always)]
pub(super) unsafe fn dependent<C: Compress>(strip: &Strip<'_>, streams: &[Stream<'_>]) {
    // SAFETY: as for this function.
    unsafe {
        if !C::FETCHES {
            for stream in streams {
                dependent_of::<C, 1>(strip, array::from_ref(stream));
            }
        } else if let Ok(streams) = streams.try_into() {
            dependent_of::<C, 1>(strip, streams);
        } else if let Ok(streams) = streams.try_into() {
            dependent_of::<C, 2>(strip, streams);
        } else if let Ok(streams) = streams.try_into() {
            dependent_of::<C, 3>(strip, streams);
        } else if let Ok(streams) = streams.try_into() {
            dependent_of::<C, 4>(strip, streams);
        }
    }
}

/// # Safety
/// As [`independent`].
#[inline(always)]
unsafe fn independent_of<C: Compress, const N: usize>(
    strip: &Strip<'_>,
    streams: &[Stream<'_>; N],
    references: &[&[u32]; N],
) {
    // SAFETY: as for this function.
    unsafe {
        match (strip.slice.adds, strip.slice.far && C::FETCHES) {
            (false, false) => independent_loop::<C, N, false, false>(strip, streams, references),
            (false, true) => independent_loop::<C, N, false, true>(strip, streams, references),
            (true, false) => independent_loop::<C, N, true, false>(strip, streams, references),
            (true, true) => independent_loop::<C, N, true, true>(strip, streams, references),
        }
    }
}

/// # Safety
/// As [`dependent`].
#[inline(always)]
unsafe fn dependent_of<C: Compress, const N: usize>(strip: &Strip<'_>, streams: &[Stream<'_>; N]) {
    // SAFETY: as for this function.
    unsafe {
        match (strip.slice.adds, strip.slice.far && C::FETCHES) {
            (false, false) => dependent_loop::<C, N, false, false>(strip, streams),
            (false, true) => dependent_loop::<C, N, false, true>(strip, streams),
            // What is added to is in the caches when it is written.
            (true, _) => dependent_loop::<C, N, true, false>(strip, streams),
        }
    }
}

/// # Safety
/// As [`independent`].
#[inline(always)]
unsafe fn independent_loop<C: Compress, const N: usize, const ADD: bool, const FAR: bool>(
    strip: &Strip<'_>,
    streams: &[Stream<'_>; N],
    references: &[&[u32]; N],
) {
    let carries = FAR && !ADD;
    let mut ends: [Ends; N] = array::from_fn(|s| Ends::of(strip, &streams[s]));
    let mut carried = [Block::ZERO; N];
    if carries {
        // SAFETY: the blocks before were written.
        unsafe { take_along(&mut ends, &mut carried) }
    }
    let len = (strip.to - strip.from) as usize;
    let place = |s: usize, i: usize| {
        // SAFETY: `i` is below `len`, the length of every list.
        streams[s].first().wrapping_add(unsafe { *references[s].get_unchecked(i) } as usize)
    };
    for s in 0..N {
        for i in 0..AHEAD.min(len) {
            C::fetch(place(s, i));
        }
        for i in AHEAD..FAR_AHEAD.min(len) {
            if FAR {
                C::fetch_far(place(s, i));
            }
        }
    }
    for i in 0..len {
        for (s, ends) in ends.iter_mut().enumerate() {
            if FAR {
                C::fetch_far(place(s, (i + FAR_AHEAD).min(len - 1)));
            }
            C::fetch(place(s, (i + AHEAD).min(len - 1)));
            // SAFETY: references are inside the memory. This stream alone writes its segment; what it reads was written
            // before (see `Matrix::stream`).
            unsafe {
                if carries {
                    C::carry(ends.prev, place(s, i), ends.next, unneeded);
                } else {
                    C::compress::<ADD>(ends.prev, place(s, i), ends.next);
                }
            }
            ends.advance(carries);
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
    strip: &Strip<'_>,
    streams: &[Stream<'_>; N],
) {
    let window = Window::of(strip.slice);
    let mut ends: [Ends; N] = array::from_fn(|s| Ends::of(strip, &streams[s]));
    let mut references: [*mut Block; N] = array::from_fn(|s| {
        let mut reference = core::ptr::null_mut();
        // SAFETY: the block before was written; its first word is the first in every layout.
        let word = unsafe { (*ends[s].prev).0[0] };
        locate::<C>(&window, &streams[s], strip.from, &mut reference)(word);
        reference
    });
    let mut carried = [Block::ZERO; N];
    if CARRY {
        // SAFETY: the blocks before were written.
        unsafe { take_along(&mut ends, &mut carried) }
    }
    for index in strip.from..strip.to {
        for s in 0..N {
            let (reference, Ends { prev, next }) = (references[s], ends[s]);
            // After the last block this is not used, but it is inside the memory still.
            let known = locate::<C>(&window, &streams[s], index + 1, &mut references[s]);
            // SAFETY: references are inside the memory. This stream alone writes its segment; what it reads was
            // written before (see `Matrix::stream`).
            unsafe {
                if CARRY {
                    C::carry(prev, reference, next, known);
                } else {
                    C::compress_then::<ADD>(prev, reference, next, known);
                }
            }
            ends[s].advance(CARRY);
        }
    }
    if CARRY {
        wipe(&mut carried);
        // SAFETY: the caller has the instructions of `C`.
        unsafe { C::publish() }
    }
}

/// What is done with the first word where references are known without it.
#[inline(always)]
fn unneeded(_: u64) {}

/// What is done with the first word of a block: the reference of the next, block `index`, goes into `reference` and
/// starts to be fetched. One type for all loops, so that there is one compiled compression for all.
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

/// Copies the last block of each stream into `carried`, where it is from now on.
///
/// # Safety
/// These blocks were written.
#[inline(always)]
unsafe fn take_along<const N: usize>(ends: &mut [Ends; N], carried: &mut [Block; N]) {
    let first = carried.as_mut_ptr();
    for (s, ends) in ends.iter_mut().enumerate() {
        // SAFETY: the caller's, and there is a place for each.
        unsafe {
            first.add(s).copy_from_nonoverlapping(ends.prev, 1);
            ends.prev = first.add(s);
        }
    }
}

/// The last block that a stream has and the place of the next.
#[derive(Clone, Copy)]
struct Ends {
    prev: *mut Block,
    next: *mut Block,
}

impl Ends {
    #[inline(always)]
    fn of(strip: &Strip<'_>, stream: &Stream<'_>) -> Ends {
        let Slice { shape, slice, .. } = *strip.slice;
        let lane = stream.first().wrapping_add(stream.lane() as usize * shape.lane_len as usize);
        let index = slice * shape.segment_len + strip.from;
        let prev = if index == 0 { shape.lane_len - 1 } else { index - 1 };
        Ends { prev: lane.wrapping_add(prev as usize), next: lane.wrapping_add(index as usize) }
    }

    /// To the block just made, which a carried block has become itself.
    #[inline(always)]
    fn advance(&mut self, carries: bool) {
        if !carries {
            self.prev = self.next;
        }
        self.next = self.next.wrapping_add(1);
    }
}

/// Which blocks a segment may refer to.
struct Window {
    shape_lanes: u32,
    lane_len: u32,
    /// How many finished blocks other lanes show: all but the segment at hand, or all so far in the first pass.
    finished: u32,
    /// Where in a lane the oldest of them is.
    start: u32,
    own_lane_only: bool,
}

impl Window {
    #[inline(always)]
    fn of(slice: &Slice) -> Window {
        let shape = slice.shape;
        let (finished, start) = match (slice.pass, slice.slice) {
            (0, slice) => (slice * shape.segment_len, 0),
            (_, 3) => (shape.lane_len - shape.segment_len, 0),
            (_, slice) => (shape.lane_len - shape.segment_len, (slice + 1) * shape.segment_len),
        };
        let own_lane_only = (slice.pass, slice.slice) == (0, 0);
        Window { shape_lanes: shape.lanes, lane_len: shape.lane_len, finished, start, own_lane_only }
    }

    /// The block that the pseudo-random `word` means, for block `index` of the segment in `lane`.
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
        // In the own lane all blocks but the last; in others, that last one is missing only when it was the last of
        // a segment.
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
