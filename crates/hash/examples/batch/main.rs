//! Speed-up of hashing side by side on this machine: `cargo run --release -p hashmill-hash --example batch`.
//!
//! Both variants in alternating order, on one and on two threads; above 1, two at a time are faster. The
//! bounds in `argon2/batch.rs` come from here.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a developer tool prints to the terminal")]

use std::time::Instant;

use hashmill_hash::argon2::{Arena, Input, Job, Params, Plan, hash_batch_into};

/// Memory in KiB and passes, one lane.
const COSTS: [(u32, u32); 9] = [
    (256, 1),
    (1024, 1),
    (4096, 1),
    (7168, 5),
    (12_288, 3),
    (19_456, 2),
    (32_768, 2),
    (47_104, 1),
    (65_536, 2),
];
const PAIRS: usize = 21;

fn main() {
    for (memory, passes) in COSTS {
        let params = Params::new(memory, passes, 1).expect("good costs");
        for threads in [1, 2] {
            let mut ratios: Vec<f64> = (0..PAIRS).map(|pair| ratio(params, threads, pair % 2 == 0)).collect();
            ratios.sort_by(f64::total_cmp);
            let [low, median, high] = [PAIRS / 4, PAIRS / 2, PAIRS * 3 / 4].map(|at| ratios[at]);
            println!(
                "{memory:>6} KiB, {passes} passes, {threads} threads: {median:.3} (quartiles {low:.3} {high:.3})"
            );
        }
    }
}

/// The ratio of the times one by one and two by two.
fn ratio(params: Params, threads: usize, one_first: bool) -> f64 {
    let order = if one_first { [1, 2] } else { [2, 1] };
    let times = order.map(|width| time(params, threads, width));
    if one_first { times[0] / times[1] } else { times[1] / times[0] }
}

/// Seconds for the same number of hashes on every thread, in memory that is already allocated.
fn time(params: Params, threads: usize, width: usize) -> f64 {
    let count = 2 * (1_u64 << 18).div_ceil(params.work()) as usize;
    let plan = Plan::host().with_width(width);
    let work = |arenas: &mut [Arena], count: usize| {
        let mut tags = vec![[0; 32]; count];
        let input = Input::new(b"password", b"sixteen bytes ok");
        let mut jobs: Vec<Job<'_>> = tags.iter_mut().map(|tag| Job { input, tag }).collect();
        hash_batch_into(plan, params, 1, arenas, &mut jobs).expect("enough memory");
    };
    let each = || {
        let mut arenas: Vec<Arena> = (0..width).map(|_| Arena::default()).collect();
        work(&mut arenas, width);
        let start = Instant::now();
        work(&mut arenas, count);
        start.elapsed().as_secs_f64()
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(each)).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).fold(0.0, f64::max)
    })
}
