//! The clock: candidates in turns, the same work for each.

use hashmill_hash::blake3::hazmat::Mode;
use hashmill_hash::blake3::{Context, Hasher, Plan, Threads};
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

/// A sample takes at least this long: some thousand ticks of the clock, and longer than most interruptions.
const SAMPLE: Duration = Duration::from_micros(200);

/// Long enough for the threads of a pool to fall asleep.
const PAUSE: Duration = Duration::from_millis(2);

/// Medians of fewer say little, however long a sample takes.
const LEAST_ROUNDS: usize = 5;

/// Work to be timed: so many calls, and how long they took.
type Work<'a> = Box<dyn FnMut(u32) -> Duration + 'a>;

/// One of several ways to do the same.
pub(crate) struct Candidate<'a> {
    work: Work<'a>,
    /// How many calls fill a sample.
    calls: u32,
}

impl<'a> Candidate<'a> {
    fn new(work: impl FnMut(u32) -> Duration + 'a) -> Candidate<'a> {
        Candidate { work: Box::new(work), calls: 1 }
    }

    /// Hashes `input`.
    pub(crate) fn hash(plan: Plan, input: &'a [u8]) -> Candidate<'a> {
        Candidate::new(move |calls| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(plan.hash(black_box(input)));
            }
            start.elapsed()
        })
    }

    /// Makes the first `len` bytes of extended output.
    pub(crate) fn xof(plan: Plan, len: usize) -> Candidate<'a> {
        let mut reader = Hasher::new().with_plan(plan).finalize_xof();
        let mut out = vec![0; len];
        Candidate::new(move |calls| {
            let start = Instant::now();
            for _ in 0..calls {
                reader.set_position(0);
                reader.fill(black_box(&mut out));
            }
            start.elapsed()
        })
    }

    /// Hashes `input` with a context whose threads sleep when the call comes.
    pub(crate) fn cold(mut context: Context, threads: Threads, input: &'a [u8]) -> Candidate<'a> {
        Candidate::new(move |calls| {
            let mut took = Duration::ZERO;
            for _ in 0..calls {
                thread::sleep(PAUSE);
                let start = Instant::now();
                black_box(context.hash(black_box(input), threads));
                took += start.elapsed();
            }
            took
        })
    }

    /// Nanoseconds per call.
    fn sample(&mut self) -> f64 {
        loop {
            let took = (self.work)(self.calls);
            if took >= SAMPLE {
                return took.as_nanos() as f64 / f64::from(self.calls);
            }
            self.calls *= 2;
        }
    }
}

/// A context of two threads.
///
/// # Errors
/// When the second cannot be started.
pub(crate) fn two_threads(plan: Plan) -> Result<Context, String> {
    Context::with(plan, &Mode::Hash, 2).map_err(|error| error.to_string())
}

/// Samples of each candidate, taken in turns until `budget` is used up.
///
/// Each round goes forth and back (A, B, C, C, B, A), so that a drift of the machine meets all alike.
pub(crate) fn interleaved(budget: Duration, candidates: &mut [Candidate<'_>]) -> Vec<Vec<f64>> {
    // Code and data get warm, the number of calls settles.
    for candidate in candidates.iter_mut() {
        candidate.sample();
    }
    let mut samples = vec![Vec::new(); candidates.len()];
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < LEAST_ROUNDS || start.elapsed() < budget {
        let forth = 0..candidates.len();
        for index in forth.clone().chain(forth.rev()) {
            samples[index].push(candidates[index].sample());
        }
        rounds += 1;
    }
    samples
}
