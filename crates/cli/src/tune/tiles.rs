//! `hashmill tune --engine cuda|wgpu`: how files are best cut for a device.

use super::decide::{self, Timing};
use super::words;
use crate::engine::device::Device;
use crate::kept::TunedTiles;
use anyhow::{Context as _, Result, ensure};
use hashmill_gpu::{Error, Tiles};
use hashmill_hash::blake3::hazmat::{ChainingValue, HasherExt as _, Mode, merge_tiles_root_xof};
use hashmill_hash::blake3::{self, Hasher};
use hashmill_hash::engine::Tile;
use hashmill_machine as machine;
use serde::Serialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The file that is measured lies in memory, and is this long.
const FILE: usize = 64 << 20;

/// Each round gives two samples, and of fewer than six a ratio has no interval.
const LEAST_ROUNDS: usize = 3;

/// All ways to cut.
#[derive(Serialize)]
pub(super) struct Measured {
    options: Vec<Way>,
    /// Which of them.
    chosen: usize,
    why: String,
    /// Bytes in a second on all threads of the processor.
    of_processor: f64,
    #[serde(skip)]
    pub(super) timing: Timing,
}

#[derive(Serialize)]
struct Way {
    tiles: String,
    bytes_per_second: f64,
    /// How many times faster than the first: the median, and between what it may be by chance.
    faster: [f64; 3],
}

/// All ways in turns, forth and back; then the processor. All digests are looked at.
pub(super) fn measure(device: &Device, budget: Duration, tick: &dyn Fn()) -> Result<Measured> {
    let bytes: Vec<u8> = (0..FILE).map(|at| (at * 7 + at / 251) as u8).collect();
    let right = *blake3::hash(&bytes).as_bytes();
    let threads = machine::threads();
    let options = Tiles::all(device.info(), threads);
    // One at a time: each has memory of its own.
    let sample = |tiles: Tiles| -> Result<f64> {
        tick();
        let engine = device.subtrees(&Mode::Hash, tiles)?;
        let value = |tile: Tile, bytes: &[u8]| Ok(engine.compute(tile, bytes)?.value);
        let mut seconds = 0.0;
        // The first time memory is touched.
        for _ in 0..2 {
            let began = Instant::now();
            let digest = digest(&bytes, (tiles.bytes, tiles.count), &value)?;
            seconds = began.elapsed().as_secs_f64();
            ensure!(digest == right, Error::SelfTest { device: device.info().name.clone() });
        }
        Ok(seconds * 1e9)
    };
    let mut samples = vec![Vec::new(); options.len()];
    let (began, mut rounds) = (Instant::now(), 0);
    while rounds < LEAST_ROUNDS || began.elapsed() < budget {
        let forth = 0..options.len();
        for index in forth.clone().chain(forth.rev()) {
            samples[index].push(sample(options[index])?);
        }
        rounds += 1;
    }
    let timing = Timing::new(FILE as u64, 0, samples);
    let lines: Vec<String> = options.iter().map(Tiles::to_string).collect();
    let choice = decide::choose(std::slice::from_ref(&timing)).context("nothing was measured")?;
    let why = words::why(&choice, &lines, "what is guessed first");
    let way = |(at, tiles): (usize, String)| {
        let ratio = timing.ratios[at];
        let bytes_per_second = FILE as f64 * 1e9 / timing.times[at];
        Way { tiles, bytes_per_second, faster: [ratio.middle, ratio.low, ratio.high] }
    };
    let options = lines.into_iter().enumerate().map(way).collect();
    Ok(Measured { options, chosen: choice.option, why, of_processor: by_processor(&bytes, threads)?, timing })
}

/// Bytes in a second on all threads of the processor.
fn by_processor(bytes: &[u8], threads: usize) -> Result<f64> {
    let value = |tile: Tile, bytes: &[u8]| {
        let mut hasher = Hasher::new();
        Ok(hasher.set_input_offset(tile.offset).update(bytes).finalize_non_root())
    };
    let began = Instant::now();
    digest(bytes, (1 << 20, threads), &value)?;
    Ok(bytes.len() as f64 / began.elapsed().as_secs_f64())
}

type Value<'a> = &'a (dyn Fn(Tile, &[u8]) -> Result<ChainingValue> + Sync);

/// The digest of what is cut like this, by a thread for each tile that is under way.
fn digest(bytes: &[u8], (len, count): (usize, usize), value: Value<'_>) -> Result<[u8; 32]> {
    let parts: Vec<&[u8]> = bytes.chunks(len).collect();
    let values = Mutex::new(vec![[0; 32]; parts.len()]);
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else { return Ok(()) };
            let tile = Tile::new(number as u64, (number * len) as u64, part.len());
            let value = value(tile, part)?;
            values.lock().unwrap_or_else(PoisonError::into_inner)[number] = value;
        }
    };
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..count).map(|_| scope.spawn(work)).collect();
        let own = work();
        helpers
            .into_iter()
            .map(|helper| helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .fold(own, Result::and)
    })?;
    let mut digest = [0; 32];
    let mut values = values.into_inner().unwrap_or_else(PoisonError::into_inner);
    merge_tiles_root_xof(&mut values, Mode::Hash).fill(&mut digest);
    Ok(digest)
}

impl Measured {
    pub(super) fn tuned(&self, date: &str, engine: &str, model: &str) -> TunedTiles {
        let way = &self.options[self.chosen];
        TunedTiles {
            measured: date.to_owned(),
            engine: engine.to_owned(),
            device: model.to_owned(),
            tiles: way.tiles.clone(),
            bytes_per_second: way.bytes_per_second,
            of_processor: self.of_processor,
        }
    }

    pub(super) fn table(&self) -> String {
        let Measured { options, chosen, why, of_processor, timing } = self;
        let mut text = format!("\nBLAKE3 of a file of {} MiB: MB a second\n", FILE >> 20);
        for (at, Way { tiles, bytes_per_second, .. }) in options.iter().enumerate() {
            let cell = match at {
                0 => "first guess".to_owned(),
                _ => format!("{:.3} ±{:.1}%", timing.ratios[at].middle, 100.0 * timing.ratios[at].spread()),
            };
            text += &format!("  {:>12.1}  {cell:<14}  {tiles}\n", bytes_per_second / 1e6);
        }
        text += &format!("  {:>12.1}  {:<14}  all threads of the processor\n", of_processor / 1e6, "");
        text += &format!("  chosen: {}: {why}\n", options[*chosen].tiles);
        text
    }
}
