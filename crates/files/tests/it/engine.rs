//! Engine in place of the processor: equal digests with every strategy, and its failures.

use crate::short;
use hashmill_files::{Error, Files, Function, OnEngineFailure, Options, Strategy};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hasher, Plan, Subtrees, hash};
use hashmill_hash::engine::{
    EngineError, Memory, Staging, StagingPool, Stop, Subtree, SubtreeEngine, SubtreeLimits, Tile,
};
use hashmill_testkit::paint;
use std::io::Write;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use zeroize::Zeroizing;

const MIB: usize = 1 << 20;
const PAGE: usize = 4096;

/// Engine on top of the processor's, which counts its tiles and fails after a number of them.
struct Mortal {
    engine: Subtrees,
    /// Tiles of files, without those of the self-test.
    tiles: AtomicUsize,
    /// Tiles in its own memory, including the self-test's.
    staged: AtomicUsize,
    own: Option<StagingPool>,
    last: usize,
}

impl Mortal {
    fn new(mode: &Mode<'_>, last: usize) -> Arc<Mortal> {
        Arc::new(Mortal::with(mode, last))
    }

    /// An engine that takes tiles in its own memory, which begins at this offset of a page.
    fn staging(last: usize, shift: usize) -> Arc<Mortal> {
        let own = [(); 2].map(|()| Box::new(Own::new(2 * MIB, shift)) as Box<dyn Memory>);
        Arc::new(Mortal { own: Some(StagingPool::new(own)), ..Mortal::with(&Mode::Hash, last) })
    }

    fn with(mode: &Mode<'_>, last: usize) -> Mortal {
        let engine = Subtrees::new(Plan::host(), mode, 2 * MIB, 2).unwrap();
        Mortal { engine, tiles: AtomicUsize::new(0), staged: AtomicUsize::new(0), own: None, last }
    }

    fn tiles(&self) -> usize {
        self.tiles.load(Ordering::Relaxed)
    }
}

impl SubtreeEngine for Mortal {
    fn name(&self) -> &str {
        "mortal"
    }

    fn limits(&self) -> SubtreeLimits {
        let mut limits = self.engine.limits();
        limits.in_place = self.own.is_none();
        limits
    }

    fn stage(&self) -> Result<Option<Staging>, EngineError> {
        // As many tiles as the engine has memory for: submitted tiles are copied there.
        match (self.engine.stage()?, &self.own) {
            (Some(_), Some(own)) => own.lend(),
            (staging, _) => Ok(staging),
        }
    }

    fn submit(&self, staging: Staging, tile: Tile, stop: &Stop) -> Result<(), EngineError> {
        if self.own.is_none() {
            return self.engine.submit(staging, tile, stop);
        }
        let mut there = self.engine.stage()?.expect("as much as is lent");
        there.copy_from_slice(&staging);
        self.engine.submit(there, tile, stop)
    }

    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError> {
        self.engine.take(stop)
    }

    fn abandon(&self) -> Result<(), EngineError> {
        self.engine.abandon()
    }

    fn compute_staged(&self, staging: &Staging, tile: Tile) -> Result<Subtree, EngineError> {
        self.staged.fetch_add(1, Ordering::Relaxed);
        self.compute(tile, staging)
    }

    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
        // The self-test uses at most 64 KiB, tiles of files are longer.
        let counts = tile.len > 64 * 1024 || !tile.offset.is_multiple_of(1 << 50);
        if counts && self.tiles.fetch_add(1, Ordering::Relaxed) >= self.last {
            return Err(EngineError::System { reason: "gone".to_owned() });
        }
        self.engine.compute(tile, bytes)
    }
}

/// Memory like a device's, or with an unusual alignment.
struct Own {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Own {
    fn new(len: usize, shift: usize) -> Own {
        let bytes = vec![0; len + 2 * PAGE];
        let start = bytes.as_ptr().align_offset(PAGE) + shift;
        Own { bytes, start, len }
    }
}

impl AsRef<[u8]> for Own {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.start..][..self.len]
    }
}

impl AsMut<[u8]> for Own {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..][..self.len]
    }
}

fn options(strategy: Strategy, threads: usize) -> Options {
    let mut options = Options::default();
    options.strategy = strategy;
    options.threads = NonZero::new(threads);
    options
}

fn on_disk(bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room on the disk");
    file
}

fn with_engine(options: Options, engine: Arc<Mortal>, otherwise: OnEngineFailure) -> Files {
    Files::with_engine(Function::blake3(), options, engine, otherwise).unwrap()
}

#[test]
fn every_strategy_hands_tiles_to_the_engine() {
    let bytes = paint(17 * MIB + 77);
    let file = on_disk(&bytes);
    for strategy in Strategy::ALL {
        for threads in [1, 3] {
            let engine = Mortal::new(&Mode::Hash, usize::MAX);
            let files = with_engine(options(strategy, threads), Arc::clone(&engine), OnEngineFailure::Error);
            let digest = files.hash_file(file.path()).unwrap();
            let what = format!("{strategy}, {threads} threads, {} tiles", engine.tiles());
            assert_eq!(short(&digest), *hash(&bytes).as_bytes(), "{what}");
            // A single thread that reads in order uses a hasher.
            let alone = threads == 1 && matches!(strategy, Strategy::Read);
            assert_eq!(engine.tiles() >= 9, !alone, "{what}");
            assert_eq!(files.engine_failure(), None);
        }
    }
}

/// Tiles are read into the engine's memory; a third thread, for which it has none, uses its own.
#[test]
fn reads_into_memory_of_the_engine() {
    let bytes = paint(17 * MIB + 77);
    let file = on_disk(&bytes);
    for strategy in [Strategy::Pread, Strategy::Direct, Strategy::Mmap] {
        for (threads, shift) in [(1, 0), (3, 0), (1, 100)] {
            let engine = Mortal::staging(usize::MAX, shift);
            let files = with_engine(options(strategy, threads), Arc::clone(&engine), OnEngineFailure::Error);
            let tested = engine.staged.load(Ordering::Relaxed);
            for _ in 0..2 {
                let digest = files.hash_file(file.path()).unwrap();
                assert_eq!(short(&digest), *hash(&bytes).as_bytes(), "{strategy}, {threads} threads");
            }
            let staged = engine.staged.load(Ordering::Relaxed) - tested;
            let all = engine.tiles();
            let what = format!("{strategy}, {threads} threads, shift {shift}: {staged} of {all}");
            // Direct reads need memory that begins at a sector.
            let unfit = strategy == Strategy::Direct && shift > 0 && files.direct_failure().is_none();
            match (strategy, threads) {
                (Strategy::Mmap, _) => assert_eq!(staged, 0, "{what}"),
                _ if unfit => assert_eq!(staged, 0, "{what}"),
                (_, 1) => assert_eq!(staged, all, "{what}"),
                _ => assert!((1..=all).contains(&staged), "{what}"),
            }
            let both = [(); 2].map(|()| engine.stage().unwrap().expect("everything came back"));
            drop(both);
        }
    }
    for last in [0, 3] {
        let engine = Mortal::staging(last, 0);
        let files = with_engine(options(Strategy::Pread, 3), Arc::clone(&engine), OnEngineFailure::Processor);
        assert_eq!(short(&files.hash_file(file.path()).unwrap()), *hash(&bytes).as_bytes());
        assert!(files.engine_failure().is_some());
        let files =
            with_engine(options(Strategy::Pread, 3), Mortal::staging(last, 0), OnEngineFailure::Error);
        assert!(matches!(files.hash_file(file.path()), Err(Error::Engine(_))));
    }
}

#[test]
fn modes_and_outputs_are_those_of_the_function() {
    let bytes = paint(9 * MIB + 1);
    let file = on_disk(&bytes);
    let key = Zeroizing::new([3; 32]);
    let engine = Mortal::new(&Mode::KeyedHash(&key), usize::MAX);
    let function = Function::keyed(key.clone()).extended();
    let files =
        Files::with_engine(function, options(Strategy::Auto, 2), engine.clone(), OnEngineFailure::Error)
            .unwrap();
    let digest = files.hash_file(file.path()).unwrap();
    let mut expected = [0; 32];
    let mut reader = Hasher::new_keyed(&key).update(&bytes).finalize_xof();
    reader.set_position(1000);
    reader.fill(&mut expected);
    assert_eq!(digest.output.bytes_at(1000), Some(expected));
    assert!(engine.tiles() > 0);
}

#[test]
fn the_processor_goes_on_without_an_engine_that_is_gone() {
    let bytes = paint(17 * MIB + 77);
    let file = on_disk(&bytes);
    for strategy in Strategy::ALL {
        for last in [0, 3] {
            let engine = Mortal::new(&Mode::Hash, last);
            let files = with_engine(options(strategy, 3), Arc::clone(&engine), OnEngineFailure::Processor);
            for _ in 0..2 {
                let digest = files.hash_file(file.path()).unwrap();
                assert_eq!(short(&digest), *hash(&bytes).as_bytes(), "{strategy}, after {last}");
            }
            let gone = EngineError::System { reason: "gone".to_owned() };
            assert_eq!(files.engine_failure(), Some(&gone), "{strategy}, after {last}");
            // Calls that were running at the first failure, and none later.
            assert!(engine.tiles() <= last + 4, "{} tiles", engine.tiles());
        }
    }
}

#[test]
fn there_is_no_digest_where_the_engine_was_required() {
    let bytes = paint(17 * MIB + 77);
    let file = on_disk(&bytes);
    for strategy in Strategy::ALL {
        for last in [0, 3] {
            let files =
                with_engine(options(strategy, 3), Mortal::new(&Mode::Hash, last), OnEngineFailure::Error);
            let error = files.hash_file(file.path()).unwrap_err();
            assert!(matches!(error, Error::Engine(EngineError::System { .. })), "{strategy}: {error:?}");
            assert!(error.to_string().contains("gone"), "{error}");
            let error = files.hash_reader(&bytes[..]).unwrap_err();
            assert!(matches!(error, Error::Engine(_)), "{error:?}");
        }
    }
}

#[test]
fn an_engine_that_does_not_fit_is_refused() {
    let error_of = |function, engine: Subtrees| {
        let files =
            Files::with_engine(function, Options::default(), Arc::new(engine), OnEngineFailure::Processor);
        files.map(|_| ()).unwrap_err()
    };
    let engine = |mode: &Mode<'_>, tile| Subtrees::new(Plan::host(), mode, tile, 1).unwrap();
    let error = error_of(Function::sha256(), engine(&Mode::Hash, MIB));
    assert!(matches!(error, EngineError::Function { .. }), "{error:?}");
    let error = error_of(Function::blake3(), engine(&Mode::Hash, MIB / 2));
    assert!(matches!(error, EngineError::Tile { .. }), "{error:?}");
    // An engine for another function.
    let error = error_of(Function::blake3(), engine(&Mode::KeyedHash(&[1; 32]), MIB));
    assert!(matches!(error, EngineError::SelfTest { .. }), "{error:?}");
}
