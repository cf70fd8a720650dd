//! How fast this machine searches: `cargo run --release -p hashmill-hash --example pow [THREADS [IN_FLIGHT [SECONDS]]]`.
//!
//! A proof of work of 2 GiB for each hash in flight, with a header whose digests are known. Prints what memory it
//! got, the rate up to the last hash that was finished (so nothing is rounded to whole hashes), and how long the stop in the
//! middle of a hash takes. Threads
//! are bound to the fastest cores, if the system tells which these are.

use hashmill_hash::argon2::pow::{Core, Order, Pow, Recipe, SingleThread, ThreadPool, describe, places};
use hashmill_hash::argon2::{PagePolicy, Params, Plan};
use hashmill_hash::engine::{NonceEngine, NonceJob, Watch};
use std::error::Error;
use std::io::{self, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use std::{fs, thread};

const KNOWN: &str = "f0a24a78aad19aa74b6831d9ac1aa85237bdd2eddb6de1d1aa124d0846bbe1c0";

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let mut number = |default| numbers.next().unwrap_or(Ok(default));
    let plan = Plan::host();
    let recipe = Recipe::NonceIsPassword { header_len: None };
    let pow = Pow::new(Params::new(2 << 20, 1, 1)?, recipe, Order::BigEndian);
    let threads = number(1)?;
    let in_flight = number(SingleThread::best_in_flight(pow, plan))?;
    let seconds = number(10)? as u64;
    let cores = places(&cores(), threads);
    let bound = cores.clone();
    let bind = move |index: usize| {
        if let Some(&id) = bound.get(index) {
            core_affinity::set_for_current(core_affinity::CoreId { id });
        }
    };
    let start = Instant::now();
    let mut workers = ThreadPool::new(pow, plan, PagePolicy::Largest, threads, in_flight, bind)?;
    let coverage = workers.prefault();
    let mut out = io::stdout().lock();
    writeln!(out, "kernel {}, {in_flight} in flight, cores {cores:?}", workers.name())?;
    writeln!(
        out,
        "memory {} MiB, {} on large pages, ready after {:.2} s",
        workers.limits().memory >> 20,
        coverage.map_or("unknown share".to_owned(), |share| format!("{:.0} %", 100.0 * share)),
        start.elapsed().as_secs_f64()
    )?;
    search(&mut workers, Duration::from_secs(seconds), &mut out)
}

fn search(workers: &mut ThreadPool, budget: Duration, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let header: Vec<u8> = (0..92).map(|i| (31 * i + 7) as u8).collect();
    let job = NonceJob::new(&header, [0xff; 32]);
    let (watch, start) = (Watch::new(), Instant::now());
    let stopped = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(budget);
            watch.stop().set();
        });
        let hits = Mutex::new(Vec::new());
        let searched = workers.search(&job, 0..u64::MAX, &watch, &|hit| {
            let now = start.elapsed();
            hits.lock().unwrap_or_else(|poison| poison.into_inner()).push((now, hit));
        });
        let end = start.elapsed();
        searched
            .map(|searched| (searched, end, hits.into_inner().unwrap_or_else(|poison| poison.into_inner())))
    });
    let (searched, end, hits) = stopped?;
    let known = hits.iter().find(|(_, hit)| hit.nonce == 0).map(|(_, hit)| hit.digest);
    let hex: String = known.iter().flatten().map(|byte| format!("{byte:02x}")).collect();
    writeln!(out, "nonce 0: {}", if hex == KNOWN { "as known" } else { "WRONG" })?;
    let last = hits.iter().map(|(at, _)| *at).max().unwrap_or_default();
    let rate = hits.len() as f64 / last.as_secs_f64();
    writeln!(out, "{} hashes until {:.3} s: {rate:.3} per second", searched.hashes, last.as_secs_f64())?;
    writeln!(out, "stopped after {:.2} ms", (end.saturating_sub(budget)).as_secs_f64() * 1e3)?;
    Ok(())
}

/// The processors as Linux describes them; none elsewhere, and then nothing is bound.
fn cores() -> Vec<Core> {
    let ids = core_affinity::get_core_ids().unwrap_or_default();
    let ids: Vec<usize> = ids.into_iter().map(|found| found.id).collect();
    describe(&ids, |name| fs::read_to_string(format!("/sys/devices/{name}")).ok())
}
