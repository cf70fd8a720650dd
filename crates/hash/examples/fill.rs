//! Cost of an Argon2 block on this machine: `cargo run --release -p hashmill-hash --example fill [WORDS]`.
//!
//! Every kernel and interleave of this machine, round robin, so that drift favours none. Each line gives
//! nanoseconds per block, fastest and median; words select the lines that contain all of them. `compress` is
//! the difference between many and few passes over memory that fits into the first or the second cache.

use hashmill_hash::argon2::{Hasher, Input, Kernel, Params, Plan, Threads, Version, Wipe};
use std::io::{self, Write};
use std::time::Instant;

/// Rounds over all lines.
const ROUNDS: usize = 15;

/// An output line and its samples.
struct Line {
    name: String,
    hasher: Hasher,
    /// The same with fewer passes, whose time is subtracted.
    fewer: Option<Params>,
    params: Params,
    samples: Vec<f64>,
}

impl Line {
    fn sample(&mut self) -> Option<()> {
        let mut total = time(&mut self.hasher, self.params)?;
        let mut work = self.params.work();
        if let Some(fewer) = self.fewer {
            total -= time(&mut self.hasher, fewer)?;
            work -= fewer.work();
        }
        self.samples.push(total / work as f64);
        Some(())
    }
}

/// Nanoseconds of one hash, or `None` if there is not enough memory.
fn time(hasher: &mut Hasher, params: Params) -> Option<f64> {
    hasher.set_params(params);
    let start = Instant::now();
    hasher.hash::<32>(&Input::new(b"password", b"somesalt")).ok()?;
    Some(start.elapsed().as_nanos() as f64)
}

fn params(memory_kib: u32, passes: u32, lanes: u32) -> Params {
    Params::new(memory_kib, passes, lanes).expect("the list below is within the limits")
}

/// Name, memory, passes, lanes.
const SETS: [(&str, u32, u32, u32); 8] = [
    ("32KiB/t3/p4", 32, 3, 4),
    ("1MiB/t1/p1", 1 << 10, 1, 1),
    ("19MiB/t2/p1", 19 << 10, 2, 1),
    ("64MiB/t3/p1", 64 << 10, 3, 1),
    ("64MiB/t4/p4", 64 << 10, 4, 4),
    ("256MiB/t6/p4", 256 << 10, 6, 4),
    ("2GiB/t1/p1", 2 << 20, 1, 1),
    ("2GiB/t1/p4", 2 << 20, 1, 4),
];

fn lines(words: &[String]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut add = |name: String, hasher: Hasher, fewer: Option<Params>| {
        if words.iter().all(|word| name.contains(word.as_str())) {
            lines.push(Line { params: hasher.params(), name, hasher, fewer, samples: Vec::new() });
        }
    };
    for kernel in Kernel::all() {
        for (cache, memory, passes) in [("L1", 28, 301), ("L2", 512, 21)] {
            for (version, adds) in [(Version::V10, "overwriting"), (Version::V13, "adding")] {
                let [few, many] = [1, passes].map(|passes| params(memory, passes, 1).with_version(version));
                let hasher = Hasher::with_plan(many, Plan::for_kernel(kernel)).wipe(Wipe::OnDrop);
                add(format!("compress/{cache}/{}/{adds}", kernel.name()), hasher, Some(few));
            }
        }
        for (name, memory, passes, lanes) in SETS {
            for width in 1..=lanes as usize {
                for (threads, word) in [(Threads::Serial, "1thread"), (Threads::Auto, "threads")] {
                    if word == "1thread" || lanes > 1 {
                        let plan = Plan::for_kernel(kernel).with_width(width);
                        let hasher = Hasher::with_plan(params(memory, passes, lanes), plan).threads(threads);
                        add(format!("{name}/{}/x{width}/{word}", kernel.name()), hasher, None);
                    }
                }
            }
        }
    }
    lines
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut lines = lines(&words);
    for _ in 0..ROUNDS {
        lines.retain_mut(|line| line.sample().is_some());
    }
    let mut out = io::stdout().lock();
    for line in &mut lines {
        line.samples.sort_by(f64::total_cmp);
        let [fastest, median] = [line.samples[0], line.samples[ROUNDS / 2]];
        writeln!(out, "{:<40} {fastest:8.1} {median:8.1}", line.name)?;
    }
    Ok(())
}
