//! An engine in the processor's place: the same digests, by every strategy, and when it fails.

use crate::short;
use hashmill_files::{Error, Files, Function, Options, Otherwise, Strategy};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Hasher, Plan, Subtrees, hash};
use hashmill_hash::engine::{EngineError, Staging, Stop, Subtree, SubtreeEngine, SubtreeLimits, Tile};
use hashmill_testkit::paint;
use std::io::Write;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use zeroize::Zeroizing;

const MIB: usize = 1 << 20;

/// An engine on top of the processor's, which counts its tiles and is gone after so many of them.
struct Mortal {
    engine: Subtrees,
    /// Tiles of files: not those that it is tested with.
    tiles: AtomicUsize,
    last: usize,
}

impl Mortal {
    fn new(mode: &Mode<'_>, last: usize) -> Arc<Mortal> {
        let engine = Subtrees::new(Plan::host(), mode, 2 * MIB, 2).unwrap();
        Arc::new(Mortal { engine, tiles: AtomicUsize::new(0), last })
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
        self.engine.limits()
    }

    fn stage(&self) -> Result<Option<Staging>, EngineError> {
        self.engine.stage()
    }

    fn submit(&self, staging: Staging, tile: Tile, stop: &Stop) -> Result<(), EngineError> {
        self.engine.submit(staging, tile, stop)
    }

    fn take(&self, stop: &Stop) -> Result<Option<Subtree>, EngineError> {
        self.engine.take(stop)
    }

    fn abandon(&self) -> Result<(), EngineError> {
        self.engine.abandon()
    }

    fn compute(&self, tile: Tile, bytes: &[u8]) -> Result<Subtree, EngineError> {
        // The self-test asks for no more than 64 KiB, files are cut into no less.
        let counts = tile.len > 64 * 1024 || !tile.offset.is_multiple_of(1 << 50);
        if counts && self.tiles.fetch_add(1, Ordering::Relaxed) >= self.last {
            return Err(EngineError::System { reason: "gone".to_owned() });
        }
        self.engine.compute(tile, bytes)
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

fn made(options: Options, engine: Arc<Mortal>, otherwise: Otherwise) -> Files {
    Files::with_engine(Function::blake3(), options, engine, otherwise).unwrap()
}

#[test]
fn every_strategy_hands_tiles_to_the_engine() {
    let bytes = paint(17 * MIB + 77);
    let file = on_disk(&bytes);
    for strategy in Strategy::ALL {
        for threads in [1, 3] {
            let engine = Mortal::new(&Mode::Hash, usize::MAX);
            let files = made(options(strategy, threads), Arc::clone(&engine), Otherwise::Error);
            let digest = files.hash_file(file.path()).unwrap();
            let what = format!("{strategy}, {threads} threads, {} tiles", engine.tiles());
            assert_eq!(short(&digest), *hash(&bytes).as_bytes(), "{what}");
            // One thread that reads in order has a hasher of its own.
            let alone = threads == 1 && matches!(strategy, Strategy::Read);
            assert_eq!(engine.tiles() >= 9, !alone, "{what}");
            assert_eq!(files.engine_failure(), None);
        }
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
        Files::with_engine(function, options(Strategy::Auto, 2), engine.clone(), Otherwise::Error).unwrap();
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
            let files = made(options(strategy, 3), Arc::clone(&engine), Otherwise::Processor);
            for _ in 0..2 {
                let digest = files.hash_file(file.path()).unwrap();
                assert_eq!(short(&digest), *hash(&bytes).as_bytes(), "{strategy}, after {last}");
            }
            let gone = EngineError::System { reason: "gone".to_owned() };
            assert_eq!(files.engine_failure(), Some(&gone), "{strategy}, after {last}");
            // Threads that had asked when the first was refused, and nobody later.
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
            let files = made(options(strategy, 3), Mortal::new(&Mode::Hash, last), Otherwise::Error);
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
    let made = |function, engine: Subtrees| {
        let made = Files::with_engine(function, Options::default(), Arc::new(engine), Otherwise::Processor);
        made.map(|_| ()).unwrap_err()
    };
    let engine = |mode: &Mode<'_>, tile| Subtrees::new(Plan::host(), mode, tile, 1).unwrap();
    let error = made(Function::sha256(), engine(&Mode::Hash, MIB));
    assert!(matches!(error, EngineError::Function { .. }), "{error:?}");
    let error = made(Function::blake3(), engine(&Mode::Hash, MIB / 2));
    assert!(matches!(error, EngineError::Tile { .. }), "{error:?}");
    // Made for another function.
    let error = made(Function::blake3(), engine(&Mode::KeyedHash(&[1; 32]), MIB));
    assert!(matches!(error, EngineError::SelfTest { .. }), "{error:?}");
}
