//! Timing of candidates in turns, with equal work for each.

use hashmill_hash::argon2::{self, Arena, HashError, Input, Job, Params, hash_batch_into};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Context, Hasher, Plan, Threads};
use std::cell::RefCell;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// Minimum time of a sample: some thousand clock ticks, and longer than most interruptions.
const MIN_SAMPLE_TIME: Duration = Duration::from_micros(200);

/// Long enough for pool threads to fall asleep.
const SLEEP_TIME: Duration = Duration::from_millis(2);

/// Each round gives two samples; a ratio of fewer than six has no interval.
const MIN_ROUNDS: usize = 3;

/// Runs a number of calls and returns their total time.
type TimedWork<'a> = Box<dyn FnMut(u32) -> Result<Duration, HashError> + 'a>;

/// One option, with the work to time.
pub(super) struct Candidate<'a> {
    work: TimedWork<'a>,
    /// Number of calls per sample.
    calls: u32,
}

impl<'a> Candidate<'a> {
    fn new(work: impl FnMut(u32) -> Result<Duration, HashError> + 'a) -> Candidate<'a> {
        Candidate { work: Box::new(work), calls: 1 }
    }

    /// Hashes `input`.
    pub(super) fn hash(plan: Plan, input: &'a [u8]) -> Candidate<'a> {
        Candidate::new(move |calls| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(plan.hash(black_box(input)));
            }
            Ok(start.elapsed())
        })
    }

    /// Makes the first `len` bytes of extended output.
    pub(super) fn xof(plan: Plan, len: usize) -> Candidate<'a> {
        let mut reader = Hasher::new().with_plan(plan).finalize_xof();
        let mut out = vec![0; len];
        Candidate::new(move |calls| {
            let start = Instant::now();
            for _ in 0..calls {
                reader.set_position(0);
                reader.fill(black_box(&mut out));
            }
            Ok(start.elapsed())
        })
    }

    /// Hashes `input` with a context whose threads are asleep at the call.
    pub(super) fn cold(mut context: Context, threads: Threads, input: &'a [u8]) -> Candidate<'a> {
        Candidate::new(move |calls| {
            let mut took = Duration::ZERO;
            for _ in 0..calls {
                thread::sleep(SLEEP_TIME);
                let start = Instant::now();
                black_box(context.hash(black_box(input), threads));
                took += start.elapsed();
            }
            Ok(took)
        })
    }

    /// Computes `count` Argon2 hashes side by side on one thread, each in its own memory. The time is per hash.
    pub(super) fn argon2(
        plan: argon2::Plan,
        params: Params,
        count: usize,
        arenas: &'a RefCell<Vec<Arena>>,
    ) -> Candidate<'a> {
        let mut tags = vec![[0; 32]; count];
        Candidate::new(move |calls| {
            let arenas = &mut arenas.borrow_mut()[..count];
            let start = Instant::now();
            for _ in 0..calls {
                let input = || Input::new(black_box(b"correct horse battery staple"), b"sixteen bytes ok");
                let mut jobs: Vec<Job<'_>> = tags.iter_mut().map(|tag| Job { input: input(), tag }).collect();
                hash_batch_into(plan, params, 1, arenas, &mut jobs)?;
            }
            Ok(start.elapsed().div_f64(count as f64))
        })
    }

    /// Nanoseconds per call.
    fn sample(&mut self) -> Result<f64, HashError> {
        loop {
            let took = (self.work)(self.calls)?;
            if took >= MIN_SAMPLE_TIME {
                return Ok(took.as_nanos() as f64 / f64::from(self.calls));
            }
            self.calls *= 2;
        }
    }
}

/// A context of two threads.
///
/// # Errors
/// The second thread cannot be started.
pub(super) fn two_threads(plan: Plan) -> Result<Context, String> {
    Context::with(plan, &Mode::Hash, 2).map_err(|error| error.to_string())
}

/// Samples of each candidate, taken in turns until `budget` is used up.
///
/// Each round goes back and forth (A, B, C, C, B, A), so that a drift of the machine affects all equally.
pub(super) fn interleaved(
    budget: Duration,
    candidates: &mut [Candidate<'_>],
) -> Result<Vec<Vec<f64>>, HashError> {
    // Warm up code and data, and find the number of calls.
    for candidate in candidates.iter_mut() {
        candidate.sample()?;
    }
    let mut samples = vec![Vec::new(); candidates.len()];
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < MIN_ROUNDS || start.elapsed() < budget {
        let forward = 0..candidates.len();
        for index in forward.clone().chain(forward.rev()) {
            samples[index].push(candidates[index].sample()?);
        }
        rounds += 1;
    }
    Ok(samples)
}
