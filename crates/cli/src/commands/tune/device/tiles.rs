//! Measurement of file tiles on a device.

use super::super::decide::{self, Timing};
use super::super::text;
use super::sampling::{CPU_TIME, sample_in_turns, working_options};
use crate::tune_file;
use anyhow::{Context as _, Result, ensure};
use hashmill_engines::{OpenDevice, TunedTiles};
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

/// Minimum length of the measured file, which is in memory.
const MIN_FILE_BYTES: usize = 64 << 20;

/// The measured tiles. The field names are those of the JSON.
#[derive(Serialize)]
pub(super) struct MeasuredTiles {
    /// Length of the file.
    bytes: usize,
    options: Vec<TileTiming>,
    /// Index of the chosen tiles.
    chosen: usize,
    why: String,
    /// Bytes per second on all threads of the CPU.
    of_processor: f64,
    /// Median uncertainty of the comparisons, as a fraction.
    pub(super) noise: f64,
    #[serde(skip)]
    timing: Timing,
}

#[derive(Serialize)]
struct TileTiming {
    tiles: String,
    bytes_per_second: f64,
    /// Speed relative to the first option: the median and its interval.
    faster: [f64; 3],
}

/// File length at which every option is tiled as `sum` tiles a file, with twice as many tiles as are in flight.
fn file_len(all: &[Tiles]) -> usize {
    all.iter().map(|tiles| 2 * tiles.count * tiles.bytes).fold(MIN_FILE_BYTES, usize::max)
}

/// Measures all options in turns, then the CPU. Checks all digests.
pub(super) fn measure(device: &OpenDevice, budget: Duration, tick: &dyn Fn()) -> Result<MeasuredTiles> {
    let threads = machine::threads();
    let all = Tiles::all(device.info(), threads);
    let bytes: Vec<u8> = (0..file_len(&all)).map(|at| (at * 7 + at / 251) as u8).collect();
    let right = *blake3::hash(&bytes).as_bytes();
    // One engine at a time, as each allocates its own memory.
    let sample = |tiles: Tiles| -> Result<f64> {
        tick();
        let engine = device.subtrees(&Mode::Hash, tiles)?;
        let value = |tile: Tile, bytes: &[u8]| Ok(engine.compute(tile, bytes)?.value);
        let mut seconds = 0.0;
        // The first pass touches the memory; the second is the sample.
        for _ in 0..2 {
            let start = Instant::now();
            let digest = digest(&bytes, (tiles.bytes, tiles.count), &value)?;
            seconds = start.elapsed().as_secs_f64();
            ensure!(digest == right, Error::SelfTest { device: device.info().name.clone() });
        }
        Ok(seconds * 1e9)
    };
    let options = working_options(all, sample)?;
    let samples = sample_in_turns(&options, budget, sample)?;
    let timing = Timing::new(bytes.len() as u64, 0, samples);
    let lines: Vec<String> = options.iter().map(Tiles::to_string).collect();
    let choice = decide::choose(std::slice::from_ref(&timing)).context("nothing was measured")?;
    let why = text::reason_text(&choice, &lines, "the first guess");
    let timing_of = |(at, tiles): (usize, String)| {
        let ratio = timing.ratios[at];
        let bytes_per_second = bytes.len() as f64 * 1e9 / timing.times[at];
        TileTiming { tiles, bytes_per_second, faster: [ratio.middle, ratio.low, ratio.high] }
    };
    let options = lines.into_iter().enumerate().map(timing_of).collect();
    Ok(MeasuredTiles {
        bytes: bytes.len(),
        options,
        chosen: choice.option,
        why,
        of_processor: measure_cpu(&bytes, threads)?,
        noise: decide::noise([&timing].into_iter()),
        timing,
    })
}

/// Bytes per second on all threads of the CPU.
fn measure_cpu(bytes: &[u8], threads: usize) -> Result<f64> {
    let plan = tune_file::blake3();
    let value = |tile: Tile, bytes: &[u8]| {
        let mut hasher = Hasher::new().with_plan(plan);
        Ok(hasher.set_input_offset(tile.offset).update(bytes).finalize_non_root())
    };
    let pass = || digest(bytes, (1 << 20, threads), &value).map(drop);
    pass()?;
    let (start, mut count) = (Instant::now(), 0);
    while count == 0 || start.elapsed() < CPU_TIME {
        pass()?;
        count += bytes.len();
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

type ComputeTile<'a> = &'a (dyn Fn(Tile, &[u8]) -> Result<ChainingValue> + Sync);

/// Hashes `bytes` in tiles of `len` bytes, with one thread for each of `count` tiles in flight.
fn digest(bytes: &[u8], (len, count): (usize, usize), value: ComputeTile<'_>) -> Result<[u8; 32]> {
    let parts: Vec<&[u8]> = bytes.chunks(len).collect();
    let values = Mutex::new(vec![[0; 32]; parts.len()]);
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(number) else { return Ok(()) };
            let tile = Tile::new(number as u64, (number * len) as u64, part.len());
            let value = value(tile, part)?;
            values.lock().unwrap_or_else(PoisonError::into_inner)[number] = value;
        }
    };
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..count).map(|_| scope.spawn(worker)).collect();
        let own = worker();
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

impl MeasuredTiles {
    /// The entry for the tune file.
    pub(super) fn tuned(&self, date: &str, engine: &str, model: &str) -> TunedTiles {
        let option = &self.options[self.chosen];
        TunedTiles {
            measured: date.to_owned(),
            engine: engine.to_owned(),
            device: model.to_owned(),
            tiles: option.tiles.clone(),
            bytes_per_second: option.bytes_per_second,
            of_processor: self.of_processor,
        }
    }

    pub(super) fn table(&self) -> String {
        let MeasuredTiles { bytes, options, chosen, why, of_processor, timing, .. } = self;
        let mut text = format!("\nBLAKE3 of a file of {} MiB: MB per second\n", bytes >> 20);
        for (at, TileTiming { tiles, bytes_per_second, .. }) in options.iter().enumerate() {
            let cell = match at {
                0 => "first guess".to_owned(),
                _ => timing.ratios[at].to_string(),
            };
            text += &format!("  {:>12.1}  {cell:<14}  {tiles}\n", bytes_per_second / 1e6);
        }
        text += &format!("  {:>12.1}  {:<14}  all threads of the CPU\n", of_processor / 1e6, "");
        text += &format!("  chosen: {}: {why}\n", options[*chosen].tiles);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses tiles.
    fn all(lines: &[&str]) -> Vec<Tiles> {
        lines.iter().map(|line| line.parse().expect("tiles")).collect()
    }

    #[test]
    fn prefers_more_tiles_in_flight() {
        // The options for a large device with 16 copying threads.
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
        // Simulated: each tile has a launch of 200 µs, and concurrent launches overlap.
        let nanoseconds = |Tiles { bytes, count, .. }: &Tiles| {
            let tiles = len / bytes;
            len as f64 / 25.0 + tiles as f64 / *count.min(&tiles) as f64 * 200_000.0
        };
        for drift in [0.0, 0.02] {
            // A drift common to all options does not change the ratios of pairs.
            let of =
                |tiles| (0..8).map(|turn| nanoseconds(tiles) * (1.0 + drift * f64::from(turn % 3))).collect();
            let samples: Vec<Vec<f64>> = all.iter().map(of).collect();
            // The option in use does not matter.
            for in_use in 0..all.len() {
                let timing = Timing::new(len as u64, in_use, samples.clone());
                assert_eq!(decide::choose(&[timing]).map(|choice| choice.option), Some(5), "from {in_use}");
            }
        }
    }

    #[test]
    fn file_has_a_minimum_length() {
        assert_eq!(file_len(&all(&["bytes=8388608 count=2", "bytes=8388608 count=1"])), MIN_FILE_BYTES);
        assert_eq!(file_len(&all(&["bytes=1048576 count=1"])), MIN_FILE_BYTES);
    }
}
