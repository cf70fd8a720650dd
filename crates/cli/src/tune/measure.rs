//! The clock: options in turns, the same work for each.

use hashmill_hash::argon2::{self, Arena, HashError, Input, Job, Params, hash_batch_into};
use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Context, Hasher, Plan, Threads};
use std::cell::RefCell;
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// A sample takes at least this long: some thousand ticks of the clock, and longer than most interruptions.
const SAMPLE: Duration = Duration::from_micros(200);

/// Long enough for the threads of a pool to fall asleep.
const PAUSE: Duration = Duration::from_millis(2);

/// Each gives two samples, and of fewer than six a ratio has no interval.
const LEAST_ROUNDS: usize = 3;

/// Work to be timed: so many calls, and how long they took.
type Work<'a> = Box<dyn FnMut(u32) -> Result<Duration, HashError> + 'a>;

/// One of several ways to do the same.
pub(super) struct Candidate<'a> {
    work: Work<'a>,
    /// How many calls fill a sample.
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

    /// Hashes `input` with a context whose threads sleep when the call comes.
    pub(super) fn cold(mut context: Context, threads: Threads, input: &'a [u8]) -> Candidate<'a> {
        Candidate::new(move |calls| {
            let mut took = Duration::ZERO;
            for _ in 0..calls {
                thread::sleep(PAUSE);
                let start = Instant::now();
                black_box(context.hash(black_box(input), threads));
                took += start.elapsed();
            }
            Ok(took)
        })
    }

    /// Computes `count` Argon2 hashes side by side on one thread, each in memory of its own; the time is that of one of them.
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
            if took >= SAMPLE {
                return Ok(took.as_nanos() as f64 / f64::from(self.calls));
            }
            self.calls *= 2;
        }
    }
}

/// A context of two threads.
///
/// # Errors
/// When the second cannot be started.
pub(super) fn two_threads(plan: Plan) -> Result<Context, String> {
    Context::with(plan, &Mode::Hash, 2).map_err(|error| error.to_string())
}

/// Samples of each candidate, taken in turns until `budget` is used up.
///
/// Each round goes forth and back (A, B, C, C, B, A), so that a drift of the machine meets all alike.
pub(super) fn interleaved(
    budget: Duration,
    candidates: &mut [Candidate<'_>],
) -> Result<Vec<Vec<f64>>, HashError> {
    // Code and data get warm, the number of calls settles.
    for candidate in candidates.iter_mut() {
        candidate.sample()?;
    }
    let mut samples = vec![Vec::new(); candidates.len()];
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < LEAST_ROUNDS || start.elapsed() < budget {
        let forth = 0..candidates.len();
        for index in forth.clone().chain(forth.rev()) {
            samples[index].push(candidates[index].sample()?);
        }
        rounds += 1;
    }
    Ok(samples)
}
