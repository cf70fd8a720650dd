//! What the best device of this machine does, by each back end that finds one:
//! `cargo run --release -p hashmill-gpu --all-features --example card [WORDS]`.
//!
//! Digests and tags are compared with the processor's: a wrong one is a line that says so, without a number. A line for each measurement: median, [least, most], samples.
//! Words leave only the sections whose names begin with one of them, `cuda` and `wgpu` only one back end; `tiny` makes everything
//! small, for software devices.
//! What takes two minutes (`sustained-blake3`, `sustained-argon2`, `sustained-nonces`) is done only when its name is given.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a developer tool speaks on the terminal")]

mod by_cuda;
mod by_wgpu;

use hashmill_gpu::{Info, Kind};
use hashmill_hash::argon2::{Input, Params, Stop};
use hashmill_hash::blake3::Hash;
use hashmill_hash::blake3::hazmat::{Mode, merge_subtrees_non_root, merge_subtrees_root};
use hashmill_hash::engine::{Subtree, SubtreeEngine, Tile};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// After so long, what is left is not begun, unless it was asked for by name.
const WHOLE: Duration = Duration::from_secs(250);

/// After so long, hashes of Argon2 are stopped.
const LONGEST: Duration = Duration::from_secs(10);

const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

/// Bytes that go to the device together.
const PIECE: usize = 64 * MIB;

/// Inputs that are under way together.
const IN_FLIGHT: usize = 6;

/// Memory in KiB and passes, one lane.
const COSTS: [(u32, u32); 4] = [(2 << 20, 1), (64 << 10, 3), (16 << 10, 3), (19 << 10, 2)];

type Section = fn(&Bench) -> Result<()>;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut said = |word: &str| {
        let before = words.len();
        words.retain(|other| other != word);
        words.len() < before
    };
    let (tiny, cuda, wgpu) = (said("tiny"), said("cuda"), said("wgpu"));
    let mut bench = Bench { began: Instant::now(), tiny, named: !words.is_empty(), back_end: "" };
    let listed = |name: &str, all: &[Info]| {
        say(&format!("{name} devices"), &all.len());
        for (number, info) in all.iter().enumerate() {
            say(&format!("{name} device {number}"), &format_args!("{info:?}"));
        }
        match hashmill_gpu::best(all).map(|number| &all[number]) {
            None => false,
            Some(info) if info.kind == Kind::Software && !tiny => {
                say(&info.name, &"it is the processor: say `tiny`");
                false
            }
            Some(info) => {
                say(&format!("{name} uses"), &info.name);
                true
            }
        }
    };
    let all = hashmill_gpu::cuda::devices().unwrap_or_else(|error| {
        say("cuda", &error);
        Vec::new()
    });
    let there = [listed("cuda", &all), listed("wgpu", &hashmill_gpu::wgpu::devices())];
    let all = [("cuda", cuda, by_cuda::SECTIONS), ("wgpu", wgpu, by_wgpu::SECTIONS)];
    for ((back_end, asked, sections), there) in all.into_iter().zip(there) {
        if !there || (!asked && (cuda || wgpu)) {
            continue;
        }
        bench.back_end = back_end;
        for (name, section) in sections {
            let asked = words.iter().any(|word| name.starts_with(word.as_str()));
            if asked || (words.is_empty() && !name.starts_with("sustained")) {
                bench.row(name, || section(&bench).map(|()| "done".to_owned()));
            }
        }
    }
    say("seconds", &format_args!("{:.1}", bench.began.elapsed().as_secs_f64()));
    if there.contains(&true) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Bench {
    began: Instant,
    tiny: bool,
    /// Sections were asked for by name.
    named: bool,
    /// Which rows these are.
    back_end: &'static str,
}

impl Bench {
    /// A line, whatever becomes of it.
    fn row(&self, name: &str, work: impl FnOnce() -> Result<String>) {
        let name = &format!("{} {name}", self.back_end);
        if !self.named && self.began.elapsed() > WHOLE {
            say(name, &"left out: no time");
            return;
        }
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(line)) => say(name, &line),
            Ok(Err(error)) => say(name, &format_args!("FAILED: {error}")),
            Err(_) => say(name, &"FAILED: a panic, see above"),
        }
    }

    /// A line beside those of rows.
    fn say(&self, name: &str, value: &dyn std::fmt::Display) {
        say(&format!("{} {name}", self.back_end), value);
    }

    /// The time of each of several runs, after one that does not count.
    fn times<T>(&self, mut run: impl FnMut() -> Result<T>) -> Result<Vec<f64>> {
        run()?;
        let (began, mut times) = (Instant::now(), Vec::new());
        let enough = Duration::from_millis(if self.tiny { 50 } else { 1500 });
        while times.len() < 3 || (began.elapsed() < enough && times.len() < 500) {
            times.push(timed(&mut run)?.1);
        }
        Ok(times)
    }

    fn bytes(&self, bytes: usize) -> usize {
        if self.tiny { bytes >> 8 } else { bytes }
    }

    fn params(&self, memory_kib: u32, passes: u32) -> Result<Params> {
        Ok(Params::new(if self.tiny { memory_kib >> 8 } else { memory_kib }, passes, 1)?)
    }

    /// The most hashes of Argon2 side by side.
    fn most(&self) -> usize {
        if self.tiny { 4 } else { usize::MAX }
    }
}

fn say(name: &str, value: &dyn std::fmt::Display) {
    println!("{name}: {value}");
    io::stdout().flush().expect("somebody reads");
}

fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let began = Instant::now();
    let made = run()?;
    Ok((made, began.elapsed().as_secs_f64()))
}

/// What becomes of times, in this unit: median, least, most.
fn spread(times: &[f64], unit: &str, value: impl Fn(f64) -> f64) -> String {
    let mut values: Vec<f64> = times.iter().map(|&time| value(time)).collect();
    values.sort_by(f64::total_cmp);
    let (least, median, most) = (values[0], values[values.len() / 2], values[values.len() - 1]);
    format!("{median:.3} {unit} [{least:.3}, {most:.3}], {} samples", values.len())
}

/// Bytes a second, and how long one time is.
fn speed(times: &[f64], bytes: usize) -> String {
    let speed = spread(times, "GB/s", |time| bytes as f64 / time / 1e9);
    format!("{speed}; {}", spread(times, "ms", |time| time * 1e3))
}

fn size(bytes: usize) -> String {
    match bytes {
        GIB.. if bytes.is_multiple_of(GIB) => format!("{} GiB", bytes / GIB),
        MIB.. if bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        1024.. if bytes.is_multiple_of(1024) => format!("{} KiB", bytes / 1024),
        _ => format!("{bytes} B"),
    }
}

fn threads() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Bytes without a pattern, always the same, and some more behind them.
fn painted(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = (0..len / 8 + 4).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.collect()
}

fn same<T: PartialEq + std::fmt::Debug>(given: &T, right: &T) -> Result<String> {
    if given == right {
        return Ok("as the processor's".to_owned());
    }
    Err(format!("WRONG: {given:?}, the processor says {right:?}").into())
}

/// As files are hashed.
fn by_tiles(engine: &dyn SubtreeEngine, bytes: &[u8], workers: usize) -> Result<Hash> {
    let (tile, never, next) = (engine.limits().tile, Stop::new(), AtomicUsize::new(0));
    let values = Mutex::new(BTreeMap::new());
    let note = |subtree: Subtree| {
        values.lock().unwrap_or_else(PoisonError::into_inner).insert(subtree.tile.offset, subtree.value);
    };
    let work = || -> Result<()> {
        loop {
            let Some(mut staging) = engine.stage()? else {
                engine.take(&never)?.map(note);
                continue;
            };
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = bytes.chunks(tile).nth(index) else { return Ok(()) };
            staging[..piece.len()].copy_from_slice(piece);
            engine.submit(staging, Tile::new(0, (index * tile) as u64, piece.len()), &never)?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })?;
    while let Some(subtree) = engine.take(&never)? {
        note(subtree);
    }
    let mut row: Vec<_> = values.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect();
    while row.len() > 2 {
        let parent = |pair: &[[u8; 32]]| match pair {
            [left, right] => merge_subtrees_non_root(left, right, Mode::Hash),
            odd => odd[0],
        };
        row = row.chunks(2).map(parent).collect();
    }
    Ok(merge_subtrees_root(&row[0], &row[1], Mode::Hash))
}

fn function(params: Params) -> String {
    let memory = size(params.memory_kib() as usize * 1024);
    format!("argon2 {memory} t{} p{}", params.passes(), params.lanes())
}

fn salted(password: &[u8]) -> Input<'_> {
    Input::new(password, b"sixteen bytes ok")
}

/// What is done in each quarter of two minutes: `run` says how much it has done.
fn quarters(bench: &Bench, name: &str, unit: &str, mut run: impl FnMut() -> Result<f64>) -> Result<()> {
    let quarter = Duration::from_millis(if bench.tiny { 250 } else { 30_000 });
    for number in 1..=4 {
        let (began, mut done) = (Instant::now(), 0.0);
        while began.elapsed() < quarter {
            done += run()?;
        }
        let rate = done / began.elapsed().as_secs_f64();
        bench.say(&format!("{name}, quarter {number}"), &format_args!("{rate:.3} {unit}"));
    }
    Ok(())
}
