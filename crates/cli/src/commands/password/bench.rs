//! `password bench`: speed of the presets on this machine.

use super::report::{YES, print_json};
use crate::engines;
use crate::flags::{BenchArgs, UsageError};
use crate::output::print;
use crate::resources::memory;
use crate::tune_file;
use anyhow::{Result, bail, ensure};
use hashmill_engines::RequestedEngine;
use hashmill_hash::argon2::{Hasher, Input, Job, Stop};
use hashmill_hash::password::{NewPassword, Passwords, Preset};
use hashmill_machine::clock::{Clock, Monotonic};
use serde::Serialize;

/// Minimum time to measure each of the two numbers.
const MIN_TIME_NS: u64 = 300_000_000;
/// Memory for the hashes computed at once, unless a single hash needs more.
const BUDGET_KIB: u64 = 1 << 20;
/// Maximum batch length: that of files of hashes on an engine.
const MAX_BATCH_LEN: usize = 4096;
const PASSWORD: &[u8] = b"correct horse battery staple";
const SALT: &[u8] = b"sixteen bytes ok";

/// One line of the table. The field names are those of the JSON.
#[derive(Serialize)]
struct Row {
    preset: &'static str,
    about: &'static str,
    memory_kib: u32,
    passes: u32,
    lanes: u32,
    /// Median time of one hash at a time.
    milliseconds: f64,
    /// Rate of many hashes at once: on all threads, or in the best batch of an engine.
    hashes_per_second: f64,
    engine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
}

pub(super) fn run(flags: &BenchArgs) -> Result<u8> {
    let fits = |preset: &Preset| u64::from(preset.policy().params().memory_kib()) <= flags.max_memory.0;
    let presets: Vec<Preset> = if flags.presets.is_empty() {
        Preset::ALL.into_iter().filter(fits).collect()
    } else {
        flags.presets.clone()
    };
    if presets.is_empty() {
        bail!(UsageError("--max-memory: every preset needs more".to_owned()));
    }
    let engine = engines::requested_engine(&flags.engine)?;
    if !flags.json {
        print(&format!(
            "{:<28} {:>9} {:>2} {:>2} {:>10} {:>10}\n",
            "preset", "KiB", "t", "p", "ms", "hashes/s"
        ))?;
    }
    for preset in presets {
        let needed = u64::from(preset.policy().params().memory_kib());
        memory::check(needed.max(BUDGET_KIB))?;
        let row = measure(preset, engine.as_deref())?;
        if flags.json {
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

fn measure(preset: Preset, requested: Option<&dyn RequestedEngine>) -> Result<Row> {
    let params = preset.policy().params();
    let (median, rate) = match requested {
        None => measure_cpu(preset)?,
        Some(engine) => measure_engine(preset, engine)?,
    };
    let (engine, device) = requested.map_or(("cpu".to_owned(), None), |requested| {
        let (engine, device) = requested.names();
        (engine, Some(device))
    });
    Ok(Row {
        preset: preset.name(),
        about: preset.about(),
        memory_kib: params.memory_kib(),
        passes: params.passes(),
        lanes: params.lanes(),
        milliseconds: median as f64 / 1e6,
        hashes_per_second: rate,
        engine,
        device,
    })
}

/// The median time of one hash in nanoseconds, at least 1, and the hashes per second of many at once.
type Times = (u64, f64);

fn measure_cpu(preset: Preset) -> Result<Times> {
    let passwords = Passwords::new(preset.policy()).plan(tune_file::argon2()).memory_budget(BUDGET_KIB);
    // The first hash allocates the memory.
    passwords.hash(PASSWORD, SALT)?;
    let median = median_of(|| {
        passwords.hash(PASSWORD, SALT)?;
        Ok(())
    })?;
    let threads = hashmill_machine::threads() as u64;
    let count = (threads * MIN_TIME_NS / median).clamp(2 * threads, 4096);
    let new = vec![NewPassword { password: PASSWORD, salt: SALT }; count as usize];
    let clock = Monotonic::new();
    for result in passwords.hash_many(&new) {
        result?;
    }
    Ok((median, per_second(count, clock.now_ns())))
}

fn measure_engine(preset: Preset, engine: &dyn RequestedEngine) -> Result<Times> {
    let params = preset.policy().params();
    let input = Input::new(PASSWORD, SALT);
    let right = Hasher::with_plan(params, tune_file::argon2()).hash::<32>(&input)?;
    let all = |count: usize| {
        let mut computed = vec![[0; 32]; count];
        let mut jobs: Vec<_> = computed.iter_mut().map(|tag| Job { input, tag }).collect();
        engine.compute(params, &mut jobs, &Stop::new())?;
        ensure!(computed.iter().all(|tag| *tag == right), engine.report_wrong_result());
        Ok(())
    };
    // The first hash allocates the memory.
    all(1)?;
    let median = median_of(|| all(1))?;
    let (mut best, mut count) = (0.0, 1);
    loop {
        let width = engine.batch_width(params, count)?;
        // The first batch of a new length sets up the engines: their capacity, and the share of each in a group.
        all(width)?;
        let clock = Monotonic::new();
        all(width)?;
        let took = clock.now_ns();
        best = per_second(width as u64, took).max(best);
        if width < count || count >= MAX_BATCH_LEN || took >= MIN_TIME_NS {
            return Ok((median, best));
        }
        count *= 4;
    }
}

fn median_of(mut one: impl FnMut() -> Result<()>) -> Result<u64> {
    let clock = Monotonic::new();
    let mut times = Vec::new();
    while times.len() < 3 || clock.now_ns() < MIN_TIME_NS {
        let start = clock.now_ns();
        one()?;
        times.push(clock.now_ns() - start);
    }
    times.sort_unstable();
    Ok(times[times.len() / 2].max(1))
}

fn per_second(count: u64, ns: u64) -> f64 {
    count as f64 * 1e9 / ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_engines::{EngineFailure, TagEngine};
    use hashmill_hash::argon2::Params;
    use std::sync::{Mutex, OnceLock};

    /// Computes up to 16 hashes side by side and records the length of each batch.
    #[derive(Default)]
    struct RecordingEngine {
        tag: OnceLock<[u8; 32]>,
        batches: Mutex<Vec<usize>>,
    }

    impl TagEngine for RecordingEngine {
        fn accepts_batch(&self, _: Params, _: usize) -> bool {
            true
        }

        fn compute(&self, params: Params, jobs: &mut [Job<'_>], _: &Stop) -> Result<(), EngineFailure> {
            self.batches.lock().expect("no panic").push(jobs.len());
            let right = || Hasher::new(params).hash::<32>(&Input::new(PASSWORD, SALT)).expect("good inputs");
            let tag = self.tag.get_or_init(right);
            jobs.iter_mut().for_each(|job| job.tag.copy_from_slice(tag));
            Ok(())
        }

        fn report_wrong_result(&self) -> EngineFailure {
            unreachable!("all tags are right")
        }

        fn falls_back_to_cpu(&self, _: &EngineFailure) -> bool {
            false
        }
    }

    impl RequestedEngine for RecordingEngine {
        fn batch_width(&self, _: Params, max_hashes: usize) -> Result<usize, EngineFailure> {
            Ok(max_hashes.min(16))
        }

        fn names(&self) -> (String, String) {
            unreachable!("not measured")
        }
    }

    #[test]
    fn warms_up_each_batch_length() {
        let engine = RecordingEngine::default();
        let preset = Preset::by_name("argon2sharp-test").expect("a cheap preset");
        measure_engine(preset, &engine).expect("times");
        let many: Vec<usize> =
            engine.batches.into_inner().expect("no panic").into_iter().filter(|count| *count > 1).collect();
        assert_eq!(many, [4, 4, 16, 16, 16, 16], "of 64, 16 are computed side by side");
    }
}
