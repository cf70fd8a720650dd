//! Subtree engines, which compute chaining values of BLAKE3: the trait, its input and its output.
//!
//! A large input is divided into tiles, each of which is a subtree. An engine computes their chaining values,
//! several at the same time; the caller combines them
//! ([`merge_subtrees_root`](crate::blake3::hazmat::merge_subtrees_root)). The mode (plain, keyed, a derived
//! key) is set when an engine is made. The processor's engine is
//! [`blake3::Subtrees`](crate::blake3::Subtrees).
//!
//! Each reading thread repeats these steps:
//!
//! ```text
//! stage   ─▶ memory of the engine's, or nothing while all of it is in use: take first
//!   fill it
//! submit  ─▶ the engine goes to work: now, or beside the caller
//! take    ◀─ the value of some tile, not always the last one submitted
//! ```

use super::{EngineError, Staging, Stop};
use crate::blake3::hazmat::{self, ChainingValue, HasherExt, Mode};
use crate::blake3::{CHUNK_LEN, Hasher, Kernel, Plan};
use core::time::Duration;

/// An engine that computes chaining values. Threads share it.
pub trait SubtreeEngine: Send + Sync {
    /// A short display name.
    fn name(&self) -> &str;

    /// Its capacity and memory.
    fn limits(&self) -> SubtreeLimits;

    /// Memory for one tile, with unspecified contents; `None` while as many tiles are in flight as possible.
    ///
    /// # Errors
    /// [`EngineError::Forked`]; errors of the device.
    fn stage(&self) -> Result<Option<Staging>, EngineError>;

    /// Computes the tile in `staging`, now or in the background. Later failures are returned by
    /// [`take`](SubtreeEngine::take). A tile has no result if `stop` is set in time.
    ///
    /// # Errors
    /// [`EngineError::Tile`] if these bytes are not a subtree, or not in the engine's own memory; errors of
    /// the device. The memory returns to the engine in any case.
    fn submit(&self, staging: Staging, tile: Tile, stop: &Stop) -> Result<(), EngineError>;

    /// The value of any finished tile not yet taken. Waits if none is ready and some are in flight; `None` if
    /// there are none, or if `stop` is set.
    ///
    /// # Errors
    /// Errors of the device since then.
    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError>;

    /// Abandons all tiles in flight, and all values not yet taken. All memory is free afterwards, except
    /// buffers that callers hold.
    ///
    /// # Errors
    /// Errors of the device since then.
    fn abandon(&self) -> Result<(), EngineError>;

    /// The value of a tile in place, computed before this returns. [`SubtreeLimits::in_place`] tells whether
    /// this is as efficient as staging.
    ///
    /// # Errors
    /// As [`submit`](SubtreeEngine::submit).
    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError>;

    /// The value of the tile in `staging`, computed before this returns, for callers that share an engine and
    /// need their own tiles back. Avoids the copy of [`compute`](SubtreeEngine::compute) where the engine
    /// fetches directly from this memory.
    ///
    /// # Errors
    /// As [`submit`](SubtreeEngine::submit).
    fn compute_staged(&self, staging: &Staging, tile: Tile) -> Result<Subtree, EngineError> {
        self.compute(tile, staging)
    }
}

/// A piece of a longer input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tile {
    /// A number of the caller's, which engines return: the number of the input, for example.
    pub tag: u64,
    /// Its offset in the input.
    pub offset: u64,
    /// Its length in bytes, from the start of the staging memory.
    pub len: usize,
}

impl Tile {
    /// `len` bytes, `offset` bytes into an input.
    pub const fn new(tag: u64, offset: u64, len: usize) -> Tile {
        Tile { tag, offset, len }
    }

    /// Checks that this is a subtree of at most `room` bytes. For engines.
    ///
    /// # Errors
    /// [`EngineError::Tile`].
    pub fn check(self, room: usize) -> Result<(), EngineError> {
        let Tile { offset, len, .. } = self;
        let aligned = offset.is_multiple_of(CHUNK_LEN as u64);
        let fits = |most: Option<u64>| most.is_none_or(|most| len as u64 <= most);
        if aligned && (1..=room).contains(&len) && fits(hazmat::max_subtree_len(offset)) {
            Ok(())
        } else {
            Err(EngineError::Tile { offset, len, room })
        }
    }
}

/// A tile and its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Subtree {
    /// The submitted tile.
    pub tile: Tile,
    /// The chaining value of its bytes at its offset.
    pub value: ChainingValue,
}

impl Subtree {
    /// This tile has this value.
    pub const fn new(tile: Tile, value: ChainingValue) -> Subtree {
        Subtree { tile, value }
    }
}

/// Capacity and memory of an engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SubtreeLimits {
    /// The most tiles in flight: staged, submitted, or computed and not yet taken.
    pub in_flight: usize,
    /// The longest tile, in bytes.
    pub tile: usize,
    /// The memory of these in bytes.
    pub memory: u64,
    /// Tiles that it should have at the same time: with fewer, part of the engine is idle.
    pub batch: usize,
    /// Does [`SubtreeEngine::compute`] work without a copy? Then bytes in memory need no staging.
    pub in_place: bool,
    /// The longest time from a stop to its end, on a machine that is not overloaded: work in progress that
    /// cannot be cancelled.
    pub stop_latency: Duration,
}

impl SubtreeLimits {
    /// Limits of an engine with `in_flight` tiles of `tile` bytes, which stages all of them and needs all of
    /// them to be busy.
    pub const fn new(in_flight: usize, tile: usize, stop_latency: Duration) -> SubtreeLimits {
        let memory = in_flight as u64 * tile as u64;
        SubtreeLimits { in_flight, tile, memory, batch: in_flight, in_place: false, stop_latency }
    }
}

/// Offsets of the tiles of the self-test: 0, where any length is valid, and an offset whose chunk number
/// exceeds 32 bits.
const OFFSETS: [u64; 2] = [0, 1 << 50];

/// Compares an engine's values of subtrees of many lengths, staged and in place, with those of the portable
/// kernel. `mode` is the mode that the engine was created with. Every device is tested so before its digests are
/// used. No other thread may use the engine during the test.
///
/// # Errors
/// [`EngineError::SelfTest`] if a value is wrong, missing, or returned twice; errors of the engine.
pub fn self_test(engine: &dyn SubtreeEngine, mode: &Mode<'_>) -> Result<(), EngineError> {
    let most = engine.limits().tile.min(64 * CHUNK_LEN);
    let bytes: Vec<u8> = (0..most).map(|i| (i * 31 + i / 251) as u8).collect();
    let lens = [1, 64, 65, 1023, 1024, 1025, 3000, 8 << 10, (16 << 10) + 1, (31 << 10) + 100, 64 << 10];
    let lens = || lens.into_iter().filter(|&len| len < most).chain([most]);
    let mut tiles = OFFSETS
        .into_iter()
        .flat_map(|offset| lens().map(move |len| (offset, len)))
        .enumerate()
        .map(|(tag, (offset, len))| Tile::new(tag as u64, offset, len));
    let portable = Plan::for_kernel(Kernel::portable());
    let right = |tile: Tile| {
        let mut hasher = Hasher::with_mode(mode).with_plan(portable);
        hasher.set_input_offset(tile.offset).update(&bytes[..tile.len]);
        Subtree::new(tile, hasher.finalize_non_root())
    };
    let wrong = || EngineError::SelfTest { engine: engine.name().to_owned() };
    let (never, mut submitted) = (Stop::new(), Vec::new());
    engine.abandon()?;
    loop {
        // As many at once as it accepts, then all of them are taken.
        while let Some(mut staging) = engine.stage()? {
            let Some(tile) = tiles.next() else { break };
            let room = staging.get_mut(..tile.len).ok_or_else(wrong)?;
            room.copy_from_slice(&bytes[..tile.len]);
            if engine.compute_staged(&staging, tile)? != right(tile) {
                return Err(wrong());
            }
            engine.submit(staging, tile, &never)?;
            if engine.compute(tile, &bytes[..tile.len])? != right(tile) {
                return Err(wrong());
            }
            submitted.push(tile);
        }
        if submitted.is_empty() {
            return if tiles.next().is_none() { Ok(()) } else { Err(wrong()) };
        }
        while let Some(subtree) = engine.take(&never)? {
            let at = submitted.iter().position(|tile| *tile == subtree.tile).ok_or_else(wrong)?;
            if subtree != right(submitted.swap_remove(at)) {
                return Err(wrong());
            }
        }
        if !submitted.is_empty() {
            return Err(wrong());
        }
    }
}
