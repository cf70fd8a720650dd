//! Chaining values of subtrees of BLAKE3: the trait, what goes in and what comes out.
//!
//! A large input is cut into tiles, each of which is a subtree. An engine computes their chaining values, several at the
//! same time; putting these together is the caller's business
//! ([`merge_subtrees_root`](crate::blake3::hazmat::merge_subtrees_root)). Whatever decides the values – plain, keyed, a
//! derived key – is handed in when an engine is made. The processor's engine is
//! [`blake3::Subtrees`](crate::blake3::Subtrees).
//!
//! Each thread that reads does this, as often as there is something to read:
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

/// Something that computes chaining values. Threads share it.
pub trait SubtreeEngine: Send + Sync {
    /// A short name for people.
    fn name(&self) -> &str;

    /// What it can do at once, and what that takes.
    fn limits(&self) -> SubtreeLimits;

    /// Memory for one tile, or nothing while as many tiles are under way as can be. What is in it is of no meaning.
    ///
    /// # Errors
    /// [`EngineError::Forked`], or what happened to the device.
    fn stage(&self) -> Result<Option<Staging>, EngineError>;

    /// Computes the tile in `staging`, now or beside the caller. What fails later is told by [`take`](SubtreeEngine::take).
    /// Nothing comes of a tile for which `stop` was set in time.
    ///
    /// # Errors
    /// [`EngineError::Tile`] if these bytes are no subtree, or not in the engine's own memory; what happened to the
    /// device. The memory is the engine's again in any case.
    fn submit(&self, staging: Staging, tile: Tile, stop: &Stop) -> Result<(), EngineError>;

    /// The value of a tile that nobody has taken yet. Waits if none is ready and some are under way; gives nothing if there
    /// are none, or if `stop` is set.
    ///
    /// # Errors
    /// What happened to the device since.
    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError>;

    /// Gives up all tiles that are under way, and all values that nobody took. All memory is free again afterwards, but what
    /// callers hold.
    ///
    /// # Errors
    /// What happened to the device since.
    fn abandon(&self) -> Result<(), EngineError>;

    /// The value of a tile where it lies, on the caller's time. [`SubtreeLimits::in_place`] says whether this is as good as
    /// staging.
    ///
    /// # Errors
    /// As [`submit`](SubtreeEngine::submit).
    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError>;

    /// The value of the tile in `staging`, on the caller's time, for whoever shares an engine and wants their own tiles back: without
    /// the copy that [`compute`](SubtreeEngine::compute) makes, where the engine fetches from this memory by itself.
    ///
    /// # Errors
    /// As [`submit`](SubtreeEngine::submit).
    fn compute_staged(&self, staging: &Staging, tile: Tile) -> Result<Subtree, EngineError> {
        self.compute(tile, staging)
    }
}

/// A piece of an input, which is longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Tile {
    /// The caller's own: which input it is of, for example. Engines give it back.
    pub tag: u64,
    /// Where in the input it begins.
    pub offset: u64,
    /// How many bytes of the staging memory it has.
    pub len: usize,
}

impl Tile {
    /// `len` bytes, `offset` bytes into an input.
    pub const fn new(tag: u64, offset: u64, len: usize) -> Tile {
        Tile { tag, offset, len }
    }

    /// For engines: refuses what is no subtree, or more than `room` bytes.
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
    /// As it was submitted.
    pub tile: Tile,
    /// The chaining value of its bytes at its place.
    pub value: ChainingValue,
}

impl Subtree {
    /// This tile has this value.
    pub const fn new(tile: Tile, value: ChainingValue) -> Subtree {
        Subtree { tile, value }
    }
}

/// What an engine can do at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SubtreeLimits {
    /// How many tiles can be under way: staged, submitted, or computed and not yet taken.
    pub in_flight: usize,
    /// The longest tile, in bytes.
    pub tile: usize,
    /// How much memory that takes, in bytes.
    pub memory: u64,
    /// How many tiles it should have at the same time: with fewer, part of the engine has nothing to do.
    pub batch: usize,
    /// Whether [`SubtreeEngine::compute`] does without a copy: bytes that are in memory already need no staging.
    pub in_place: bool,
    /// How long it may go on after it was asked to stop, on a machine that is not overloaded: what was begun by then and
    /// cannot be broken off.
    pub stop_latency: Duration,
}

impl SubtreeLimits {
    /// So many tiles of so many bytes, for an engine that stages all of them and wants no fewer.
    pub const fn new(in_flight: usize, tile: usize, stop_latency: Duration) -> SubtreeLimits {
        let memory = in_flight as u64 * tile as u64;
        SubtreeLimits { in_flight, tile, memory, batch: in_flight, in_place: false, stop_latency }
    }
}

/// Where tiles of the self-test begin: at 0, where any length may, and where the number of the chunk has more than 32 bits.
const OFFSETS: [u64; 2] = [0, 1 << 50];

/// Asks an engine for subtrees of many lengths, staged and in place, and compares them with those of the portable kernel.
/// `mode` is what the engine was made with. Every device does so before a digest of its is shown to anybody. Nobody else
/// may use the engine meanwhile.
///
/// # Errors
/// [`EngineError::SelfTest`] where a value is wrong, missing, or there twice; and those of the engine.
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
    let portable = Plan::of(Kernel::portable());
    let right = |tile: Tile| {
        let mut hasher = Hasher::with_mode(mode).with_plan(portable);
        hasher.set_input_offset(tile.offset).update(&bytes[..tile.len]);
        Subtree::new(tile, hasher.finalize_non_root())
    };
    let wrong = || EngineError::SelfTest { engine: engine.name().to_owned() };
    let (never, mut asked) = (Stop::new(), Vec::new());
    engine.abandon()?;
    loop {
        // As many at once as it takes, then all of them back.
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
            asked.push(tile);
        }
        if asked.is_empty() {
            return if tiles.next().is_none() { Ok(()) } else { Err(wrong()) };
        }
        while let Some(subtree) = engine.take(&never)? {
            let at = asked.iter().position(|tile| *tile == subtree.tile).ok_or_else(wrong)?;
            if subtree != right(asked.swap_remove(at)) {
                return Err(wrong());
            }
        }
        if !asked.is_empty() {
            return Err(wrong());
        }
    }
}
