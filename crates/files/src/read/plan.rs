//! Plan of hashing a file: its facts determine a route. Pure, so that every decision has a test.

use std::fmt;
use std::fs::Metadata;
use std::num::NonZero;
use std::str::FromStr;

/// Method of reading a file. All give the same digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// The fastest measured method for the kind and size of the file.
    #[default]
    Auto,
    /// Read in order into buffers; the next read runs while the last tiles are hashed on other threads. The only
    /// way for pipes, and the kindest to disks that seek.
    Read,
    /// Every thread reads tiles at their offsets into a buffer of its own, small enough for its cache.
    Pread,
    /// Map windows of the file, on one thread.
    Mmap,
    /// Map windows of the file, on all threads.
    MmapParallel,
    /// Every thread reads tiles past the system's cache, which keeps its contents. Where this is impossible,
    /// for one file or in general, bytes are read through the cache, and
    /// [`Files::direct_failure`](crate::Files::direct_failure) returns the reason.
    Direct,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Strategy; 6] = [
        Strategy::Auto,
        Strategy::Read,
        Strategy::Pread,
        Strategy::Mmap,
        Strategy::MmapParallel,
        Strategy::Direct,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Read => "read",
            Strategy::Pread => "pread",
            Strategy::Mmap => "mmap",
            Strategy::MmapParallel => "mmap-parallel",
            Strategy::Direct => "direct",
        }
    }

    /// Are the first bytes of a file read before any query about it? Most files end within them. A caller who
    /// chose a method other than reading gets it for the smallest file, too.
    pub(crate) fn reads_beginning_first(self) -> bool {
        matches!(self, Strategy::Auto | Strategy::Read)
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// May files be mapped into memory?
///
/// A mapped file that another program truncates raises the signal SIGBUS, which by default kills the process.
/// So the first mapping installs a handler for SIGBUS for the life of the process. A missing page of a file
/// that is being hashed becomes an error; every other SIGBUS goes to the previous handler (or kills, without
/// one). A program that later installs its own handler must pass unknown signals on to this one, or the
/// protection is lost.
///
/// Mapping takes about a tenth less time than reading for files in memory, so [`Strategy::Auto`] maps. Where
/// other code owns the signals (a runtime, a plug-in, an interpreter), use [`Never`](Mapping::Never).
///
/// [`HasherExt::update_mmap`](crate::HasherExt::update_mmap) always maps. Systems other than Unix do not let a mapped file
/// become shorter, and have no such signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Mapping {
    /// Yes, with a handler for SIGBUS.
    #[default]
    Guarded,
    /// No, and no signal is touched: strategies that map read at offsets instead.
    Never,
}

/// A name that no [`Strategy`] has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownStrategy;

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("strategies are")?;
        Strategy::ALL.iter().try_for_each(|strategy| write!(f, " {strategy}"))
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Strategy, UnknownStrategy> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or(UnknownStrategy)
    }
}

/// Facts about an open file that determine its route.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileFacts {
    /// Is it a regular file with a reported size other than 0? Files of /proc report 0 and have contents.
    pub(crate) sized: bool,
    pub(crate) len: u64,
    pub(crate) threads: usize,
    /// Can the function hash pieces in any order?
    pub(crate) tree: bool,
    /// Can this system read at an offset without moving the file's position?
    pub(crate) positioned: bool,
    /// May files be mapped?
    pub(crate) mapping: Mapping,
    /// The caller's maximum tile size in bytes.
    pub(crate) most: Option<NonZero<usize>>,
    /// The number of tiles that a device needs at the same time: few and long ones, as each has to be copied
    /// and launched.
    pub(crate) slots: Option<usize>,
}

/// Source of tiles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TileSource {
    Pread,
    Mmap,
    Direct,
}

/// Route of an open file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Route {
    /// From the first byte to the last; other threads hash while this one reads.
    Stream,
    /// As `Stream`, for a file of known size, past the system's cache.
    StreamDirect,
    /// In tiles of `tile` bytes (a power of two) on `workers` threads, the calling one included.
    Tiles { via: TileSource, tile: usize, workers: usize },
}

/// The bytes that are read before any query about the file. A file that ends within them needs no further
/// queries: one `open`, two `read`, one `close`.
pub(crate) const FIRST: usize = 16 * 1024;

/// Smaller files are read whole and hashed side by side: for so few bytes, copying costs no more than
/// creating and removing a mapping.
pub(crate) const SMALL: usize = 256 * 1024;

/// Memory for small files until they are hashed. It fits into a second-level cache with room to spare.
pub(crate) const ARENA: usize = 2 * SMALL;

/// The tile of a stream. Copying by system calls is fastest from 1 MiB on, see
/// `bench/journal/2026-11-21-files-zen4.md`.
pub(crate) const STREAM_TILE: usize = 1024 * 1024;

/// The maximum number of queued tiles of streams: one in work and one ready for each thread, but no more than
/// 32 MiB. One reader cannot supply more than a few threads.
pub(crate) fn waiting_tiles(threads: usize) -> usize {
    (2 * threads).min(32)
}

/// The largest file that is mapped as a whole.
pub(crate) const MMAP_WINDOW: usize = 32 * 1024 * 1024;

/// The largest tile that is read, and the largest mapped window of a larger file. A device gets tiles of the
/// latter length in both cases: they do not pass through a cache of the processor.
const PREAD_TILE: usize = 1024 * 1024;
pub(crate) const MMAP_TILE: usize = 8 * 1024 * 1024;

/// Below this, starting and waiting for threads costs more than they save.
const PARALLEL_FROM: u64 = 4 * 1024 * 1024;

/// Does a file beyond [`FIRST`] end before [`SMALL`]?
pub(crate) fn fits_small(metadata: &Metadata) -> bool {
    metadata.is_file() && (1..SMALL as u64).contains(&metadata.len())
}

/// The route for a file with these facts.
pub(crate) fn route(strategy: Strategy, facts: FileFacts) -> Route {
    let threads = if facts.len < PARALLEL_FROM { 1 } else { facts.threads };
    if !facts.sized || !facts.tree {
        let direct = strategy == Strategy::Direct && facts.sized && facts.positioned;
        return if direct { Route::StreamDirect } else { Route::Stream };
    }
    let tiles = |via, largest, workers| {
        let largest = facts.most.map_or(largest, |most| at_most(largest, most));
        let tile = match facts.slots {
            Some(slots) if workers > 1 => tile_of_device(facts.len, slots.min(workers), largest),
            _ => tile(facts.len, workers, largest),
        };
        Route::Tiles { via, tile, workers }
    };
    let read = if facts.slots.is_some() { MMAP_TILE } else { PREAD_TILE };
    let (strategy, threads) = match (facts.mapping, strategy) {
        (Mapping::Never, Strategy::Mmap) => (Strategy::Pread, 1),
        (Mapping::Never, Strategy::MmapParallel) => (Strategy::Pread, threads),
        (Mapping::Never, Strategy::Auto) if facts.len >= SMALL as u64 => (Strategy::Pread, threads),
        _ => (strategy, threads),
    };
    match strategy {
        Strategy::Read => Route::Stream,
        Strategy::Auto if facts.len < SMALL as u64 => Route::Stream,
        Strategy::Pread | Strategy::Direct if !facts.positioned => Route::Stream,
        Strategy::Pread => tiles(TileSource::Pread, read, threads),
        Strategy::Direct => tiles(TileSource::Direct, read, threads),
        Strategy::Mmap => tiles(TileSource::Mmap, MMAP_TILE, 1),
        Strategy::MmapParallel | Strategy::Auto => tiles(TileSource::Mmap, MMAP_TILE, threads),
    }
}

/// The smallest tile: below it, its own overhead would show.
pub(crate) const SMALLEST_TILE: usize = 64 * 1024;

/// The largest tile under both limits: a power of two, because the tree divides only there.
fn at_most(largest: usize, most: NonZero<usize>) -> usize {
    (1 << most.ilog2()).clamp(SMALLEST_TILE, largest)
}

/// The largest power of two that gives each worker several tiles, so that no worker waits long for the last
/// tile.
fn tile(len: u64, workers: usize, largest: usize) -> usize {
    const TILES_PER_WORKER: u64 = 8;
    if workers == 1 {
        return largest;
    }
    let share = len / (TILES_PER_WORKER * workers as u64);
    let power = 1 << share.max(SMALLEST_TILE as u64).ilog2();
    power.min(largest as u64) as usize
}

/// The largest power of two that gives each slot of a device a tile, and at least two tiles: a single tile
/// has no value to merge.
fn tile_of_device(len: u64, slots: usize, largest: usize) -> usize {
    let share = len / slots.max(2) as u64;
    let power = 1 << share.max(SMALLEST_TILE as u64).ilog2();
    power.min(largest as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(len: u64, threads: usize) -> FileFacts {
        FileFacts {
            sized: true,
            len,
            threads,
            tree: true,
            positioned: true,
            mapping: Mapping::Guarded,
            most: None,
            slots: None,
        }
    }

    #[test]
    fn names_round_trip() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.name().parse(), Ok(strategy));
        }
        assert_eq!("io_uring".parse::<Strategy>(), Err(UnknownStrategy));
        assert_eq!(UnknownStrategy.to_string(), "strategies are auto read pread mmap mmap-parallel direct");
    }

    #[test]
    fn files_without_a_size_are_streamed() {
        for strategy in Strategy::ALL {
            let pipe = FileFacts { sized: false, ..facts(0, 4) };
            assert_eq!(route(strategy, pipe), Route::Stream, "{strategy}");
        }
    }

    #[test]
    fn sequential_functions_are_streamed() {
        for strategy in Strategy::ALL {
            let sha256 = FileFacts { tree: false, ..facts(1 << 30, 4) };
            let right = if strategy == Strategy::Direct { Route::StreamDirect } else { Route::Stream };
            assert_eq!(route(strategy, sha256), right, "{strategy}");
        }
    }

    #[test]
    fn a_system_without_positioned_reads_streams_instead() {
        for tree in [true, false] {
            let facts = FileFacts { positioned: false, tree, ..facts(1 << 30, 2) };
            assert_eq!(route(Strategy::Pread, facts), Route::Stream);
            assert_eq!(route(Strategy::Direct, facts), Route::Stream);
        }
    }

    #[test]
    fn nothing_is_mapped_against_the_callers_will() {
        for strategy in Strategy::ALL {
            for len in [1, 1 << 17, 1 << 20, 1 << 30] {
                for (threads, positioned) in [(1, true), (4, true), (4, false)] {
                    let facts = FileFacts { mapping: Mapping::Never, positioned, ..facts(len, threads) };
                    let route = route(strategy, facts);
                    let maps = matches!(route, Route::Tiles { via: TileSource::Mmap, .. });
                    assert!(!maps, "{strategy}, {len} bytes, {threads} threads");
                }
            }
        }
        let never = FileFacts { mapping: Mapping::Never, ..facts(1 << 30, 4) };
        assert!(matches!(route(Strategy::Auto, never), Route::Tiles { workers: 4, .. }));
        assert!(matches!(route(Strategy::Mmap, never), Route::Tiles { workers: 1, .. }));
    }

    #[test]
    fn one_thread_is_one_worker() {
        for strategy in Strategy::ALL {
            match route(strategy, facts(1 << 30, 1)) {
                Route::Stream | Route::StreamDirect => {}
                Route::Tiles { workers, .. } => assert_eq!(workers, 1, "{strategy}"),
            }
        }
    }

    #[test]
    fn a_request_for_smaller_tiles_is_rounded_and_bounded() {
        let with = |strategy, most: usize, threads| {
            let facts = FileFacts { most: NonZero::new(most), ..facts(1 << 30, threads) };
            match route(strategy, facts) {
                Route::Stream | Route::StreamDirect => 0,
                Route::Tiles { tile, .. } => tile,
            }
        };
        for threads in [1, 4] {
            assert_eq!(with(Strategy::Mmap, 300_000, threads), 256 * 1024);
            assert_eq!(with(Strategy::Auto, 1, threads), 64 * 1024);
            assert_eq!(with(Strategy::MmapParallel, usize::MAX, threads), MMAP_TILE);
            assert_eq!(with(Strategy::Pread, 1 << 30, threads), PREAD_TILE);
            assert_eq!(with(Strategy::Direct, 1 << 30, threads), PREAD_TILE);
            assert_eq!(with(Strategy::Read, 128 * 1024, threads), 0, "a stream has tiles of its own");
        }
    }

    #[test]
    fn a_device_has_few_long_tiles_and_each_of_its_slots_one() {
        let cut = |len, threads, slots, most| {
            let facts = FileFacts { slots, most: NonZero::new(most), ..facts(len, threads) };
            let tile = |strategy| match route(strategy, facts) {
                Route::Stream | Route::StreamDirect => panic!("a stream"),
                Route::Tiles { tile, .. } => tile >> 10,
            };
            if slots.is_some() {
                assert_eq!(tile(Strategy::Direct), tile(Strategy::MmapParallel));
            }
            tile(Strategy::MmapParallel)
        };
        let of_device = |len, threads, slots| cut(len, threads, Some(slots), MMAP_TILE);
        assert_eq!(of_device(64 << 20, 16, 8), 8 << 10);
        assert_eq!(cut(64 << 20, 16, None, MMAP_TILE), 512, "for processors");
        assert_eq!(of_device(64 << 20, 16, 16), 4 << 10);
        assert_eq!(of_device(64 << 20, 4, 16), 8 << 10, "as many as there are threads");
        assert_eq!(of_device(10 << 20, 16, 8), 1 << 10);
        assert_eq!(of_device(1 << 40, 16, 8), 8 << 10);
        assert_eq!(of_device(4 << 20, 16, 1), 2 << 10, "two at least");
        assert_eq!(of_device(4 << 20, 64, 1000), 64);
        assert_eq!(cut(64 << 20, 16, Some(8), 1 << 20), 1 << 10, "no more than it takes");
        assert_eq!(of_device((4 << 20) - 1, 16, 8), 8 << 10, "one thread, and one tile for the processor");
    }

    #[test]
    fn tiles_are_powers_of_two_within_bounds_and_enough_for_everybody() {
        for shift in 16..40 {
            for workers in [2, 3, 8, 64] {
                for len in [1 << shift, (1 << shift) + 1, 3 << shift] {
                    let tile = tile(len, workers, MMAP_TILE);
                    assert!(tile.is_power_of_two() && (64 * 1024..=MMAP_TILE).contains(&tile));
                    let tiles = len.div_ceil(tile as u64);
                    assert!(tile == 64 * 1024 || tiles >= 8 * workers as u64, "{len} {workers} {tile}");
                }
            }
        }
    }
}
