//! `password bench`: how long named costs take on this machine.

use super::{YES, print, print_json};
use crate::engine::{self, Asked};
use crate::flags::{BenchArgs, Misuse};
use crate::{kept, memory};
use anyhow::{Error, Result, bail, ensure};
use hashmill_hash::argon2::{Hasher, Input, Job};
use hashmill_hash::password::{NewPassword, Passwords, Preset};
use hashmill_machine::clock::{Clock, Monotonic};
use serde::Serialize;

/// How long to measure each of the two numbers, if a single hash is not longer.
const PATIENCE_NS: u64 = 300_000_000;
/// Memory of the hashes that run at once, unless a single one needs more.
const BUDGET_KIB: u64 = 1 << 20;
/// Hashes at once, at most: as many as a file hands to a device.
const MOST: usize = 4096;
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
    /// Many at once: on all threads, or as many as a device does best.
    hashes_per_second: f64,
    engine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<String>,
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
    let asked = engine::asked(&low.engine)?;
    if !low.json {
        print(&format!(
            "{:<28} {:>9} {:>2} {:>2} {:>10} {:>10}\n",
            "preset", "KiB", "t", "p", "ms", "hashes/s"
        ))?;
    }
    for preset in presets {
        let needed = u64::from(preset.policy().params().memory_kib());
        memory::check(needed.max(BUDGET_KIB))?;
        let row = measure(preset, asked.as_deref())?;
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

fn measure(preset: Preset, asked: Option<&dyn Asked>) -> Result<Row> {
    let params = preset.policy().params();
    let (median, rate) = match asked {
        None => by_processor(preset)?,
        Some(asked) => by_asked(preset, asked)?,
    };
    let (engine, device) = asked.map_or(("cpu".to_owned(), None), |asked| {
        let (engine, device) = asked.names();
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

/// The median of the times of one hash in nanoseconds, at least 1, and how many there are in a second of many at once.
type Times = (u64, f64);

fn by_processor(preset: Preset) -> Result<Times> {
    let passwords = Passwords::new(preset.policy()).plan(kept::argon2()).memory_budget(BUDGET_KIB);
    // The first hash makes the memory.
    passwords.hash(PASSWORD, SALT)?;
    let median = median_of(|| {
        passwords.hash(PASSWORD, SALT)?;
        Ok(())
    })?;
    let threads = hashmill_machine::threads() as u64;
    let count = (threads * PATIENCE_NS / median).clamp(2 * threads, 4096);
    let new = vec![NewPassword { password: PASSWORD, salt: SALT }; count as usize];
    let clock = Monotonic::new();
    for result in passwords.hash_many(&new) {
        result?;
    }
    Ok((median, per_second(count, clock.now_ns())))
}

fn by_asked(preset: Preset, asked: &dyn Asked) -> Result<Times> {
    let params = preset.policy().params();
    let input = Input::new(PASSWORD, SALT);
    let right = Hasher::with_plan(params, kept::argon2()).hash::<32>(&input)?;
    let all = |count: usize| {
        let mut computed = vec![[0; 32]; count];
        let mut jobs: Vec<_> = computed.iter_mut().map(|tag| Job { input, tag }).collect();
        asked.compute(params, &mut jobs).map_err(Error::msg)?;
        ensure!(computed.iter().all(|tag| *tag == right), asked.wrong());
        Ok(())
    };
    // The first hash makes the memory.
    all(1)?;
    let median = median_of(|| all(1))?;
    let (mut best, mut count) = (0.0, 1);
    loop {
        let width = asked.width(params, count).map_err(Error::msg)?;
        // Engines for so many are new: what each can do, and which share of several is its, they learn from the first list.
        all(width)?;
        let clock = Monotonic::new();
        all(width)?;
        let took = clock.now_ns();
        best = per_second(width as u64, took).max(best);
        if width < count || count >= MOST || took >= PATIENCE_NS {
            return Ok((median, best));
        }
        count *= 4;
    }
}

fn median_of(mut one: impl FnMut() -> Result<()>) -> Result<u64> {
    let clock = Monotonic::new();
    let mut times = Vec::new();
    while times.len() < 3 || clock.now_ns() < PATIENCE_NS {
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
    use crate::engine::Computer;
    use hashmill_hash::argon2::Params;
    use std::cell::{Cell, RefCell};

    /// At most sixteen side by side. It notes how many each list has.
    #[derive(Default)]
    struct Wide {
        tag: Cell<Option<[u8; 32]>>,
        lists: RefCell<Vec<usize>>,
    }

    impl Computer for Wide {
        fn takes(&self, _: Params, _: usize) -> bool {
            true
        }

        fn compute(&self, params: Params, jobs: &mut [Job<'_>]) -> Result<(), String> {
            self.lists.borrow_mut().push(jobs.len());
            let right = || Hasher::new(params).hash::<32>(&Input::new(PASSWORD, SALT)).expect("good inputs");
            let tag = self.tag.get().unwrap_or_else(right);
            self.tag.set(Some(tag));
            jobs.iter_mut().for_each(|job| job.tag.copy_from_slice(&tag));
            Ok(())
        }

        fn wrong(&self) -> String {
            unreachable!("all tags are right")
        }

        fn yields(&self, _: &str) -> bool {
            false
        }
    }

    impl Asked for Wide {
        fn width(&self, _: Params, most: usize) -> Result<usize, String> {
            Ok(most.min(16))
        }

        fn names(&self) -> (String, String) {
            unreachable!("nobody asks")
        }
    }

    #[test]
    fn what_engines_learn_is_learnt_before_they_are_measured() {
        let wide = Wide::default();
        let preset = Preset::by_name("argon2sharp-test").expect("a cheap one");
        by_asked(preset, &wide).expect("times");
        let many: Vec<usize> = wide.lists.take().into_iter().filter(|count| *count > 1).collect();
        assert_eq!(many, [4, 4, 16, 16, 16, 16], "of sixty-four, sixteen go side by side");
    }
}
