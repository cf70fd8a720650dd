//! Engines for subtrees: the processor's gives the oracle's values and whole digests in any order, and what engines do wrong is
//! found out.

use crate::plans::{plans, twins};
use hashmill_hash::blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};
use hashmill_hash::blake3::{Plan, Subtrees, hash};
use hashmill_hash::engine::subtrees::self_test;
use hashmill_hash::engine::{EngineError, Staging, Stop, Subtree, SubtreeEngine, SubtreeLimits, Tile};
use hashmill_testkit::alloc::count;
use hashmill_testkit::paint;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const TILE: usize = 4096;

fn engine(in_flight: usize) -> Subtrees {
    Subtrees::new(Plan::host(), &Mode::Hash, TILE, in_flight).unwrap()
}

/// Submits these bytes as a tile.
fn submit(engine: &dyn SubtreeEngine, tile: Tile, bytes: &[u8], stop: &Stop) -> Result<(), EngineError> {
    let mut staging = engine.stage()?.expect("memory for a tile");
    staging[..bytes.len()].copy_from_slice(bytes);
    engine.submit(staging, tile, stop)
}

/// The two values under the root, from those of neighbouring tiles of one size.
fn top(mut row: Vec<[u8; 32]>) -> [[u8; 32]; 2] {
    while row.len() > 2 {
        let parent = |pair: &[[u8; 32]]| match pair {
            [left, right] => merge_subtrees_non_root(left, right, Mode::Hash),
            odd => odd[0],
        };
        row = row.chunks(2).map(parent).collect();
    }
    [row[0], row[1]]
}

#[test]
fn values_are_the_oracles_on_every_kernel_and_in_every_mode() {
    let (input, never) = (paint(TILE), Stop::new());
    for twin in twins() {
        for plan in plans() {
            let engine = Subtrees::new(plan, &twin.mode(), TILE, 2).unwrap();
            self_test(&engine, &twin.mode()).unwrap();
            for len in [1, 63, 64, 1023, 1024, 1025, 2048, 3000, TILE - 1, TILE] {
                for offset in [0, TILE as u64, (1 << 42) - TILE as u64, 1 << 42, 1 << 63] {
                    let tile = Tile::new(7, offset, len);
                    let expected = twin.oracle.subtree(&input[..len], offset / 1024);
                    submit(&engine, tile, &input[..len], &never).unwrap();
                    let what = format!("{} of {len} bytes at {offset}, {plan:?}", twin.name);
                    assert_eq!(engine.take(&never), Ok(Some(Subtree::new(tile, expected))), "{what}");
                    assert_eq!(engine.compute(tile, &input), Ok(Subtree::new(tile, expected)), "{what}");
                    let mut staging = engine.stage().unwrap().expect("memory for a tile");
                    staging[..len].copy_from_slice(&input[..len]);
                    let staged = engine.compute_staged(&staging, tile);
                    assert_eq!(staged, Ok(Subtree::new(tile, expected)), "{what}");
                    assert_eq!(engine.take(&never), Ok(None), "{what}");
                }
            }
        }
    }
}

/// Threads read, hash, and take whatever is ready, whoever submitted it.
#[test]
fn many_threads_and_any_order_give_the_whole_digest() {
    for len in [TILE + 1, 2 * TILE, 5 * TILE + 77, 33 * TILE - 1] {
        let (input, engine, never) = (paint(len), engine(3), Stop::new());
        let (next, values) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let take = || {
            if let Some(Subtree { tile, value, .. }) = engine.take(&never).unwrap() {
                assert!(values.lock().unwrap().insert(tile.offset, value).is_none(), "{tile:?} twice");
            }
        };
        let work = || {
            loop {
                let Some(mut staging) = engine.stage().unwrap() else {
                    take();
                    continue;
                };
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(bytes) = input.chunks(TILE).nth(index) else { break };
                staging[..bytes.len()].copy_from_slice(bytes);
                let tile = Tile::new(0, (index * TILE) as u64, bytes.len());
                engine.submit(staging, tile, &never).unwrap();
            }
            while values.lock().unwrap().len() < len.div_ceil(TILE) {
                take();
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(work);
            }
        });
        let [left, right] = top(values.into_inner().unwrap().into_values().collect());
        assert_eq!(merge_subtrees_root(&left, &right, Mode::Hash), hash(&input), "{len} bytes");
    }
}

#[test]
fn as_many_are_under_way_as_there_is_memory_for() {
    let (engine, bytes, never) = (engine(2), paint(TILE), Stop::new());
    let limits = engine.limits();
    assert_eq!((limits.in_flight, limits.tile, limits.memory), (2, TILE, 2 * TILE as u64));
    for tag in 0..2 {
        submit(&engine, Tile::new(tag, 0, TILE), &bytes, &never).unwrap();
    }
    assert!(engine.stage().unwrap().is_none(), "until a value is taken");
    let first = engine.take(&never).unwrap().expect("a value");
    drop(engine.stage().unwrap().expect("its memory"));
    submit(&engine, Tile::new(2, 0, TILE), &bytes, &never).unwrap();
    engine.abandon().unwrap();
    assert_eq!(engine.take(&never), Ok(None));
    let both = [(); 2].map(|()| engine.stage().unwrap().expect("all memory is free"));
    assert!(engine.stage().unwrap().is_none());
    drop((both, first));
}

#[test]
fn nothing_comes_of_what_was_stopped() {
    let (engine, bytes, stop) = (engine(1), paint(TILE), Stop::new());
    let tile = Tile::new(0, 0, TILE);
    submit(&engine, tile, &bytes, &stop).unwrap();
    stop.set();
    assert_eq!(engine.take(&stop), Ok(None), "it would have been ready");
    stop.clear();
    assert_eq!(engine.take(&stop).unwrap().map(|subtree| subtree.tile), Some(tile));
    stop.set();
    submit(&engine, tile, &bytes, &stop).unwrap();
    stop.clear();
    assert_eq!(engine.take(&stop), Ok(None));
    assert!(engine.stage().unwrap().is_some(), "its memory is free");
}

#[test]
fn what_is_no_tile_is_refused_and_costs_no_memory() {
    let (engine, bytes, never) = (engine(1), paint(TILE), Stop::new());
    let refused = [(0, 0), (0, TILE + 1), (1, 1), (1023, 64), (1024, 1025), (2048, 2049), (3072, TILE)];
    for (offset, len) in refused {
        let tile = Tile::new(0, offset, len);
        let expected = Err(EngineError::Tile { offset, len, room: TILE });
        assert_eq!(submit(&engine, tile, &bytes, &never), expected);
        assert_eq!(engine.compute(tile, &bytes).map(|_| ()), expected);
    }
    let foreign = self::engine(1).stage().unwrap().expect("memory");
    let tile = Tile::new(0, 0, TILE);
    assert_eq!(
        engine.submit(foreign, tile, &never),
        Err(EngineError::Tile { offset: 0, len: TILE, room: 0 })
    );
    assert_eq!(submit(&engine, tile, &bytes, &never), Ok(()));
    let made = |tile, in_flight| Subtrees::new(Plan::host(), &Mode::Hash, tile, in_flight).map(|_| ());
    assert!(matches!(made(TILE, 0), Err(EngineError::InFlight { given: 0, .. })));
    for tile in [0, 512, 3072] {
        assert!(matches!(made(tile, 1), Err(EngineError::Tile { .. })));
    }
}

#[test]
fn a_tile_costs_no_allocation() {
    let (engine, bytes, never) = (engine(2), paint(TILE), Stop::new());
    let round = || {
        for _ in 0..2 {
            submit(&engine, Tile::new(0, 0, TILE), &bytes, &never).unwrap();
        }
        (0..2).filter(|_| engine.take(&never).unwrap().is_some()).count()
    };
    round();
    assert_eq!(count(round), (0, 2));
}

/// An engine on top of ours that changes what comes out.
struct Lying<F>(Subtrees, F, Where);

/// Which values are not those of the engine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    Taken,
    Staged,
}

impl<F: Fn(Subtree) -> Option<Subtree> + Send + Sync> SubtreeEngine for Lying<F> {
    fn name(&self) -> &str {
        "liar"
    }

    fn limits(&self) -> SubtreeLimits {
        self.0.limits()
    }

    fn stage(&self) -> Result<Option<Staging>, EngineError> {
        self.0.stage()
    }

    fn submit(&self, staging: Staging, tile: Tile, stop: &Stop) -> Result<(), EngineError> {
        self.0.submit(staging, tile, stop)
    }

    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError> {
        let subtree = self.0.take(stop)?;
        Ok(if self.2 == Where::Taken { subtree.and_then(&self.1) } else { subtree })
    }

    fn abandon(&self) -> Result<(), EngineError> {
        self.0.abandon()
    }

    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
        self.0.compute(tile, bytes)
    }

    fn compute_staged(&self, staging: &Staging, tile: Tile) -> Result<Subtree, EngineError> {
        let subtree = self.0.compute_staged(staging, tile)?;
        Ok(if self.2 == Where::Staged { (self.1)(subtree).unwrap_or(subtree) } else { subtree })
    }
}

#[test]
fn an_engine_that_lies_is_found_out() {
    type Lie = fn(Subtree) -> Option<Subtree>;
    let tested = |lie: Lie, place| self_test(&Lying(engine(2), lie, place), &Mode::Hash);
    assert_eq!(tested(Some, Where::Taken), Ok(()));
    let lies: [Lie; 5] = [
        |_| None,
        |subtree| Some(Subtree::new(subtree.tile, [0; 32])),
        |subtree| (subtree.tile.len != 1024).then_some(subtree),
        |mut subtree| {
            subtree.tile.tag += 99;
            Some(subtree)
        },
        // Only where the number of the chunk has more than 32 bits.
        |mut subtree| {
            subtree.value[31] ^= u8::from(subtree.tile.offset >> 42 != 0);
            Some(subtree)
        },
    ];
    let found_out = || Err(EngineError::SelfTest { engine: "liar".to_owned() });
    for lie in lies {
        assert_eq!(tested(lie, Where::Taken), found_out());
    }
    for lie in [lies[1], lies[3], lies[4]] {
        assert_eq!(tested(lie, Where::Staged), found_out());
    }
    let keyed = self_test(&engine(2), &Mode::KeyedHash(&[1; 32]));
    assert!(matches!(keyed, Err(EngineError::SelfTest { .. })), "made for another function");
}
