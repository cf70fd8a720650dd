//! The subtree engine: the same values as the processor's, in any order, and refused tiles.

use super::{context_key, modes, portable};
use crate::device;
use hashmill_gpu::{Device, Error};
use hashmill_hash::blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use hashmill_hash::engine::subtrees::self_test;
use hashmill_hash::engine::{EngineError, Stop, Subtree, SubtreeEngine, Tile};
use hashmill_testkit::paint;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

const TILE: usize = 512 * 1024;

fn engine(device: &Device, in_flight: usize) -> Arc<dyn SubtreeEngine> {
    device.subtrees(&Mode::Hash, TILE, in_flight).unwrap()
}

fn submit(engine: &dyn SubtreeEngine, tile: Tile, bytes: &[u8], stop: &Stop) -> Result<(), EngineError> {
    let mut staging = engine.stage()?.expect("memory for a tile");
    staging[..bytes.len()].copy_from_slice(bytes);
    engine.submit(staging, tile, stop)
}

#[test]
fn values_are_those_of_the_portable_kernel_in_every_mode() {
    let Some(device) = device("subtrees") else { return };
    let (input, never, context) = (paint(TILE), Stop::new(), context_key());
    for (name, mode) in modes(&context) {
        let engine = device.subtrees(&mode, TILE, 2).unwrap();
        self_test(&*engine, &mode).unwrap();
        for len in [1, 2, 3, 5, 1023, 1025, 128 * 1024, 128 * 1024 + 1, 300_001, TILE - 1, TILE] {
            for offset in [0, TILE as u64, (1 << 42) - TILE as u64, 1 << 42, 1 << 63] {
                let mut hasher = portable(&mode, b"");
                let value = hasher.set_input_offset(offset).update(&input[..len]).finalize_non_root();
                let tile = Tile::new(7, offset, len);
                let expected = Subtree::new(tile, value);
                submit(&*engine, tile, &input[..len], &never).unwrap();
                let what = format!("{name} of {len} bytes at {offset}");
                assert_eq!(engine.take(&never), Ok(Some(expected)), "{what}");
                assert_eq!(engine.compute(tile, &input), Ok(expected), "{what}");
                let mut staging = engine.stage().unwrap().expect("memory for a tile");
                staging[..len].copy_from_slice(&input[..len]);
                assert_eq!(engine.compute_staged(&staging, tile), Ok(expected), "{what}");
                assert_eq!(engine.take(&never), Ok(None), "{what}");
            }
        }
    }
}

/// Threads stage, submit, compute in place and take any finished tile, also those of other threads.
#[test]
fn many_threads_and_any_order_give_the_whole_digest() {
    let Some(device) = device("subtrees") else { return };
    let engine = engine(&device, 3);
    let (input, never) = (paint(21 * TILE + 77), Stop::new());
    let (next, values) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let note = |subtree: Subtree| {
        let before = values.lock().unwrap().insert(subtree.tile.offset, subtree.value);
        assert!(before.is_none(), "{:?} twice", subtree.tile);
    };
    let work = || {
        loop {
            let Some(mut staging) = engine.stage().unwrap() else {
                engine.take(&never).unwrap().map(note);
                continue;
            };
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(bytes) = input.chunks(TILE).nth(index) else { break };
            let tile = Tile::new(0, (index * TILE) as u64, bytes.len());
            staging[..bytes.len()].copy_from_slice(bytes);
            match index % 4 {
                0 => note(engine.compute(tile, bytes).unwrap()),
                1 => note(engine.compute_staged(&staging, tile).unwrap()),
                _ => engine.submit(staging, tile, &never).unwrap(),
            }
        }
        while values.lock().unwrap().len() < input.len().div_ceil(TILE) {
            engine.take(&never).unwrap().map(note);
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(work);
        }
    });
    let mut row: Vec<_> = values.into_inner().unwrap().into_values().collect();
    while row.len() > 2 {
        let parent = |pair: &[[u8; 32]]| match pair {
            [left, right] => merge_subtrees_non_root(left, right, Mode::Hash),
            odd => odd[0],
        };
        row = row.chunks(2).map(parent).collect();
    }
    assert_eq!(merge_subtrees_root(&row[0], &row[1], Mode::Hash), hashmill_hash::blake3::hash(&input));
}

#[test]
fn tiles_in_flight_are_limited_by_memory() {
    let Some(device) = device("subtrees") else { return };
    let engine = engine(&device, 2);
    let (bytes, never) = (paint(TILE), Stop::new());
    let limits = engine.limits();
    assert_eq!((limits.in_flight, limits.tile, limits.in_place), (2, TILE, false));
    for tag in 0..2 {
        submit(&*engine, Tile::new(tag, 0, TILE), &bytes, &never).unwrap();
    }
    assert!(engine.stage().unwrap().is_none(), "no memory until a value is taken");
    assert!(
        engine.compute(Tile::new(9, 0, TILE), &bytes).is_ok(),
        "tiles computed in place have memory of their own"
    );
    assert!(engine.take(&never).unwrap().is_some());
    drop(engine.stage().unwrap().expect("its memory"));
    engine.abandon().unwrap();
    assert_eq!(engine.take(&never), Ok(None));
    let both = [(); 2].map(|()| engine.stage().unwrap().expect("all memory is free"));
    assert!(engine.stage().unwrap().is_none());
    drop(both);
    submit(&*engine, Tile::new(3, 0, TILE), &bytes, &never).unwrap();
    assert_eq!(engine.take(&never).unwrap().map(|subtree| subtree.tile.tag), Some(3));
}

#[test]
fn a_stopped_tile_has_no_value() {
    let Some(device) = device("subtrees") else { return };
    let engine = engine(&device, 1);
    let (bytes, stop) = (paint(TILE), Stop::new());
    let tile = Tile::new(0, 0, TILE);
    submit(&*engine, tile, &bytes, &stop).unwrap();
    stop.set();
    assert_eq!(engine.take(&stop), Ok(None), "stopped before the value was taken");
    stop.clear();
    assert_eq!(engine.take(&stop).unwrap().map(|subtree| subtree.tile), Some(tile));
    stop.set();
    submit(&*engine, tile, &bytes, &stop).unwrap();
    stop.clear();
    assert_eq!(engine.take(&stop), Ok(None));
    assert!(engine.stage().unwrap().is_some(), "its memory is free");
}

#[test]
fn invalid_tiles_are_refused_without_losing_memory() {
    let Some(device) = device("subtrees") else { return };
    let engine = engine(&device, 1);
    let (bytes, never) = (paint(TILE), Stop::new());
    for (offset, len) in [(0, 0), (0, TILE + 1), (1, 1), (1024, 1025), (3072, TILE)] {
        let tile = Tile::new(0, offset, len);
        let expected = Err(EngineError::Tile { offset, len, room: TILE });
        assert_eq!(submit(&*engine, tile, &bytes, &never), expected);
        assert_eq!(engine.compute(tile, &bytes).map(|_| ()), expected);
        let staging = engine.stage().unwrap().expect("memory");
        assert_eq!(engine.compute_staged(&staging, tile).map(|_| ()), expected);
    }
    let other = self::engine(&device, 1);
    let foreign = other.stage().unwrap().expect("memory");
    let tile = Tile::new(0, 0, TILE);
    let refused = engine.compute_staged(&foreign, tile).map(|_| ());
    assert_eq!(refused, Err(EngineError::Tile { offset: 0, len: TILE, room: 0 }));
    let refused = engine.submit(foreign, tile, &never);
    assert_eq!(refused, Err(EngineError::Tile { offset: 0, len: TILE, room: 0 }));
    assert_eq!(submit(&*engine, tile, &bytes, &never), Ok(()));
}

#[test]
fn invalid_tile_lengths_and_counts_are_refused() {
    let Some(device) = device("engines that are refused") else { return };
    let open = |tile, in_flight| device.subtrees(&Mode::Hash, tile, in_flight).map(|_| ());
    assert!(matches!(open(TILE, 0), Err(Error::Engine(EngineError::InFlight { given: 0, .. }))));
    for tile in [0, 512, 3072, 1 << 40] {
        assert!(matches!(open(tile, 1), Err(Error::Engine(EngineError::Tile { .. }))), "{tile}");
    }
}
