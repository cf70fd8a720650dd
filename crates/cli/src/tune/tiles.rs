//! `hashmill tune --engine cuda|wgpu`: how files are best cut for a device.

use super::decide::{self, Timing};
use super::device::{OF_PROCESSOR, possible, turns};
use super::words;
use crate::engine::device::Device;
use crate::kept::{self, TunedTiles};
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

/// The file that is measured lies in memory, and is at least this long.
const FILE: usize = 64 << 20;

/// All ways to cut.
#[derive(Serialize)]
pub(super) struct Measured {
    /// How long the file was.
    bytes: usize,
    options: Vec<Way>,
    /// Which of them.
    chosen: usize,
    why: String,
    /// Bytes in a second on all threads of the processor.
    of_processor: f64,
    /// The median of what comparisons may be off by chance, as a part of one.
    pub(super) noise: f64,
    #[serde(skip)]
    timing: Timing,
}

#[derive(Serialize)]
struct Way {
    tiles: String,
    bytes_per_second: f64,
    /// How many times faster than the first: the median, and between what it may be by chance.
    faster: [f64; 3],
}

/// How long a file must be so that all of these are cut as `sum` cuts it, and each has twice as many tiles as go side by side.
fn file_len(all: &[Tiles]) -> usize {
    all.iter().map(|tiles| 2 * tiles.count * tiles.bytes).fold(FILE, usize::max)
}

/// All ways in turns, forth and back; then the processor. All digests are looked at.
pub(super) fn measure(device: &Device, budget: Duration, tick: &dyn Fn()) -> Result<Measured> {
    let threads = machine::threads();
    let all = Tiles::all(device.info(), threads);
    let bytes: Vec<u8> = (0..file_len(&all)).map(|at| (at * 7 + at / 251) as u8).collect();
    let right = *blake3::hash(&bytes).as_bytes();
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
    let options = possible(all, sample)?;
    let samples = turns(&options, budget, sample)?;
    let timing = Timing::new(bytes.len() as u64, 0, samples);
    let lines: Vec<String> = options.iter().map(Tiles::to_string).collect();
    let choice = decide::choose(std::slice::from_ref(&timing)).context("nothing was measured")?;
    let why = words::why(&choice, &lines, "what is guessed first");
    let way = |(at, tiles): (usize, String)| {
        let ratio = timing.ratios[at];
        let bytes_per_second = bytes.len() as f64 * 1e9 / timing.times[at];
        Way { tiles, bytes_per_second, faster: [ratio.middle, ratio.low, ratio.high] }
    };
    let options = lines.into_iter().enumerate().map(way).collect();
    Ok(Measured {
        bytes: bytes.len(),
        options,
        chosen: choice.option,
        why,
        of_processor: by_processor(&bytes, threads)?,
        noise: decide::noise([&timing].into_iter()),
        timing,
    })
}

/// Bytes in a second on all threads of the processor.
fn by_processor(bytes: &[u8], threads: usize) -> Result<f64> {
    let plan = kept::blake3();
    let value = |tile: Tile, bytes: &[u8]| {
        let mut hasher = Hasher::new().with_plan(plan);
        Ok(hasher.set_input_offset(tile.offset).update(bytes).finalize_non_root())
    };
    let pass = || digest(bytes, (1 << 20, threads), &value).map(drop);
    pass()?;
    let (began, mut count) = (Instant::now(), 0);
    while count == 0 || began.elapsed() < OF_PROCESSOR {
        pass()?;
        count += bytes.len();
    }
    Ok(count as f64 / began.elapsed().as_secs_f64())
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
        let Measured { bytes, options, chosen, why, of_processor, timing, .. } = self;
        let mut text = format!("\nBLAKE3 of a file of {} MiB: MB a second\n", bytes >> 20);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// These ways, as lines.
    fn all(lines: &[&str]) -> Vec<Tiles> {
        lines.iter().map(|line| line.parse().expect("tiles")).collect()
    }

    #[test]
    fn twice_as_many_under_way_are_measured_as_that() {
        // What a large device is asked for where sixteen threads copy.
        let lines = [
            "bytes=8388608 count=8",
            "bytes=4194304 count=8",
            "bytes=2097152 count=8",
            "bytes=1048576 count=8",
            "bytes=8388608 count=4",
            "bytes=8388608 count=16",
        ];
        let all = all(&lines);
        let len = file_len(&all);
        assert_eq!(len, 256 << 20);
        // Simulated: each tile has a launch of 200 µs, and launches that are under way together hide behind each other.
        let nanoseconds = |Tiles { bytes, count, .. }: &Tiles| {
            let tiles = len / bytes;
            len as f64 / 25.0 + tiles as f64 / *count.min(&tiles) as f64 * 200_000.0
        };
        for drift in [0.0, 0.02] {
            // All drift together, and pairs see nothing of it.
            let of =
                |tiles| (0..8).map(|turn| nanoseconds(tiles) * (1.0 + drift * f64::from(turn % 3))).collect();
            let samples: Vec<Vec<f64>> = all.iter().map(of).collect();
            // From whatever is in use, the same way.
            for in_use in 0..all.len() {
                let timing = Timing::new(len as u64, in_use, samples.clone());
                assert_eq!(decide::choose(&[timing]).map(|choice| choice.option), Some(5), "from {in_use}");
            }
        }
    }

    #[test]
    fn a_file_is_never_short() {
        assert_eq!(file_len(&all(&["bytes=8388608 count=2", "bytes=8388608 count=1"])), FILE);
        assert_eq!(file_len(&all(&["bytes=1048576 count=1"])), FILE);
    }
}
