//! Subtree engines: the processor's engine gives the oracle's values and whole digests in any order, and the
//! self-test detects faulty engines.

use crate::plans::{plans, test_modes};
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
fn every_kernel_and_mode_agrees_with_the_oracle() {
    let (input, never) = (paint(TILE), Stop::new());
    for test_mode in test_modes() {
        for plan in plans() {
            let engine = Subtrees::new(plan, &test_mode.mode(), TILE, 2).unwrap();
            self_test(&engine, &test_mode.mode()).unwrap();
            for len in [1, 63, 64, 1023, 1024, 1025, 2048, 3000, TILE - 1, TILE] {
                for offset in [0, TILE as u64, (1 << 42) - TILE as u64, 1 << 42, 1 << 63] {
                    let tile = Tile::new(7, offset, len);
                    let expected = test_mode.oracle.subtree(&input[..len], offset / 1024);
                    submit(&engine, tile, &input[..len], &never).unwrap();
                    let what = format!("{} of {len} bytes at {offset}, {plan:?}", test_mode.name);
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

/// Threads read, hash, and take any finished tile, also those of other threads.
#[test]
fn tiles_on_many_threads_merge_to_the_whole_digest() {
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
        let _limit = hashmill_testkit::wait::limit("the values of all tiles");
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
fn tiles_in_flight_are_bounded_by_memory() {
    let (engine, bytes, never) = (engine(2), paint(TILE), Stop::new());
    let limits = engine.limits();
    assert_eq!((limits.in_flight, limits.tile, limits.memory), (2, TILE, 2 * TILE as u64));
    for tag in 0..2 {
        submit(&engine, Tile::new(tag, 0, TILE), &bytes, &never).unwrap();
    }
    assert!(engine.stage().unwrap().is_none(), "no memory until a value is taken");
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
fn stopped_tiles_have_no_value() {
    let (engine, bytes, stop) = (engine(1), paint(TILE), Stop::new());
    let tile = Tile::new(0, 0, TILE);
    submit(&engine, tile, &bytes, &stop).unwrap();
    stop.set();
    assert_eq!(engine.take(&stop), Ok(None), "stopped before the value was taken");
    stop.clear();
    assert_eq!(engine.take(&stop).unwrap().map(|subtree| subtree.tile), Some(tile));
    stop.set();
    submit(&engine, tile, &bytes, &stop).unwrap();
    stop.clear();
    assert_eq!(engine.take(&stop), Ok(None));
    assert!(engine.stage().unwrap().is_some(), "its memory is free");
}

#[test]
fn invalid_tiles_are_refused_and_return_their_memory() {
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
    let subtrees = |tile, in_flight| Subtrees::new(Plan::host(), &Mode::Hash, tile, in_flight).map(|_| ());
    assert!(matches!(subtrees(TILE, 0), Err(EngineError::InFlight { given: 0, .. })));
    for tile in [0, 512, 3072] {
        assert!(matches!(subtrees(tile, 1), Err(EngineError::Tile { .. })));
    }
}

#[test]
fn tiles_do_not_allocate() {
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

/// An engine that falsifies the results of the engine inside.
struct FaultyEngine<F>(Subtrees, F, FaultyCall);

/// The call whose results are falsified.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FaultyCall {
    Taken,
    Staged,
}

impl<F: Fn(Subtree) -> Option<Subtree> + Send + Sync> SubtreeEngine for FaultyEngine<F> {
    fn name(&self) -> &str {
        "faulty"
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
        Ok(if self.2 == FaultyCall::Taken { subtree.and_then(&self.1) } else { subtree })
    }

    fn abandon(&self) -> Result<(), EngineError> {
        self.0.abandon()
    }

    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
        self.0.compute(tile, bytes)
    }

    fn compute_staged(&self, staging: &Staging, tile: Tile) -> Result<Subtree, EngineError> {
        let subtree = self.0.compute_staged(staging, tile)?;
        Ok(if self.2 == FaultyCall::Staged { (self.1)(subtree).unwrap_or(subtree) } else { subtree })
    }
}

#[test]
fn self_test_detects_wrong_results() {
    type Fault = fn(Subtree) -> Option<Subtree>;
    let tested = |fault: Fault, call| self_test(&FaultyEngine(engine(2), fault, call), &Mode::Hash);
    assert_eq!(tested(Some, FaultyCall::Taken), Ok(()));
    let faults: [Fault; 5] = [
        |_| None,
        |subtree| Some(Subtree::new(subtree.tile, [0; 32])),
        |subtree| (subtree.tile.len != 1024).then_some(subtree),
        |mut subtree| {
            subtree.tile.tag += 99;
            Some(subtree)
        },
        // Only where the chunk number exceeds 32 bits.
        |mut subtree| {
            subtree.value[31] ^= u8::from(subtree.tile.offset >> 42 != 0);
            Some(subtree)
        },
    ];
    let self_test_error = || Err(EngineError::SelfTest { engine: "faulty".to_owned() });
    for fault in faults {
        assert_eq!(tested(fault, FaultyCall::Taken), self_test_error());
    }
    for fault in [faults[1], faults[3], faults[4]] {
        assert_eq!(tested(fault, FaultyCall::Staged), self_test_error());
    }
    let keyed = self_test(&engine(2), &Mode::KeyedHash(&[1; 32]));
    assert!(matches!(keyed, Err(EngineError::SelfTest { .. })), "an engine for another function");
}
