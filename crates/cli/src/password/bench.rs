//! `password bench`: how long named costs take on this machine.

use super::{YES, print, print_json};
use crate::flags::{BenchArgs, Misuse};
use crate::{kept, memory};
use anyhow::{Result, bail};
use hashmill_hash::password::{NewPassword, Passwords, Preset};
use hashmill_machine::clock::{Clock, Monotonic};
use serde::Serialize;

/// How long to measure each of the two numbers, if a single hash is not longer.
const PATIENCE_NS: u64 = 300_000_000;
/// Memory of the hashes that run at once, unless a single one needs more.
const BUDGET_KIB: u64 = 1 << 20;
const PASSWORD: &[u8] = b"correct horse battery staple";
const SALT: &[u8] = b"sixteen bytes ok";

/// One line of the table. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Row {
    preset: &'static str,
    about: &'static str,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    /// The median of one hash at a time.
    milliseconds: f64,
    /// Many at once, on all threads.
    hashes_per_second: f64,
}

pub(super) fn run(low: &BenchArgs) -> Result<u8> {
    let fits = |preset: &Preset| u64::from(preset.policy().params().memory_kib()) <= low.max_memory.0;
    let presets: Vec<Preset> = if low.presets.is_empty() {
        Preset::ALL.into_iter().filter(fits).collect()
    } else {
        low.presets.clone()
    };
    if presets.is_empty() {
        bail!(Misuse("--max-memory: no preset needs as little".to_owned()));
    }
    if !low.json {
        print(&format!(
            "{:<28} {:>9} {:>2} {:>2} {:>10} {:>10}\n",
            "preset", "KiB", "t", "p", "ms", "hashes/s"
        ))?;
    }
    for preset in presets {
        let needed = u64::from(preset.policy().params().memory_kib());
        memory::check(needed.max(BUDGET_KIB))?;
        let row = measure(preset)?;
        if low.json {
            print_json(&row)?;
        } else {
            print(&format!(
                "{:<28} {:>9} {:>2} {:>2} {:>10.3} {:>10.1}  {}\n",
                row.preset,
                row.memory_kib,
                row.passes,
                row.lanes,
                row.milliseconds,
                row.hashes_per_second,
                row.about
            ))?;
        }
    }
    Ok(YES)
}

fn measure(preset: Preset) -> Result<Row> {
    let policy = preset.policy();
    let params = policy.params();
    let passwords = Passwords::new(policy).plan(kept::argon2()).memory_budget(BUDGET_KIB);
    let clock = Monotonic::new();
    // The first hash makes the memory.
    passwords.hash(PASSWORD, SALT)?;
    let mut times = Vec::new();
    let end = clock.now_ns() + PATIENCE_NS;
    while times.len() < 3 || clock.now_ns() < end {
        let start = clock.now_ns();
        passwords.hash(PASSWORD, SALT)?;
        times.push(clock.now_ns() - start);
    }
    times.sort_unstable();
    let median = times[times.len() / 2].max(1);

    let threads = hashmill_machine::threads() as u64;
    let count = (threads * PATIENCE_NS / median).clamp(2 * threads, 4096);
    let new = vec![NewPassword { password: PASSWORD, salt: SALT }; count as usize];
    let start = clock.now_ns();
    for result in passwords.hash_many(&new) {
        result?;
    }
    let elapsed = (clock.now_ns() - start).max(1);
    Ok(Row {
        preset: preset.name(),
        about: preset.about(),
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        milliseconds: median as f64 / 1e6,
        hashes_per_second: count as f64 * 1e9 / elapsed as f64,
    })
}
