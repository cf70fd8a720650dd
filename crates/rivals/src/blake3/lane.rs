//! A lane: one process that measures rows in one build of both libraries. It reads a request and prints samples.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use hashmill_hash::blake3::{Kernel, Plan};
use hashmill_testkit::Rng;
use serde::{Deserialize, Serialize};

use super::row::Row;
use super::work;
use crate::gates::Level;
use crate::pace::{self, Pace, SystemClock};

/// What the parent writes to a lane's standard input: one line of JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Request {
    /// Instruction sets that our side is held to; the lane's build already holds the rival to them.
    pub level: Level,
    /// Rows to measure, in this order.
    pub rows: Vec<String>,
    /// Decides input bytes, offsets and the first order.
    pub seed: u64,
    /// Pairs per row.
    pub pairs: usize,
    /// Shortest sample, in microseconds.
    pub sample_us: u64,
    /// Time for the pairs of one row, in milliseconds.
    pub budget_ms: u64,
}

/// What a lane prints for each row: one line of JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Reply {
    /// The row's name.
    pub row: String,
    /// Which of our kernels did it, and why.
    pub kernel: String,
    /// Calls per sample.
    pub calls: u64,
    /// `[rival, ours]` in nanoseconds per call.
    pub pairs: Vec<[f64; 2]>,
    /// Core clock while the row ran, in GHz, where it can be told.
    pub clock_ghz: Option<f64>,
}

/// The whole life of a lane.
pub fn run(input: impl BufRead, mut output: impl Write) -> anyhow::Result<()> {
    let request: Request = serde_json::from_reader(input).context("reading the request")?;
    let forced = forced_plan(request.level)?;
    let rows: Vec<Row> = request.rows.iter().map(|name| name.parse()).collect::<Result<_, _>>()?;
    let mut rng = Rng::new(request.seed);
    let longest = rows.iter().map(|row| row.input_len()).max().unwrap_or(0);
    let memory = rng.bytes(longest + 2 * work::OFFSETS);
    let input = page_aligned(&memory, longest + work::OFFSETS);
    for row in rows {
        let reply = measure(row, forced, input, &request, &mut rng)?;
        serde_json::to_writer(&mut output, &reply).context("writing samples")?;
        writeln!(output).and_then(|()| output.flush()).context("writing samples")?;
    }
    Ok(())
}

fn measure(
    row: Row,
    forced: work::Forced,
    input: &[u8],
    request: &Request,
    rng: &mut Rng,
) -> anyhow::Result<Reply> {
    let duel = work::duel(row, forced, input);
    let [rival, ours] = &duel.outputs;
    ensure!(rival == ours, "{row}: the two sides disagree about the result; nothing was timed");
    let pace = Pace {
        pairs: request.pairs,
        sample: Duration::from_micros(request.sample_us),
        budget: Duration::from_millis(request.budget_ms),
    };
    let clock_ghz = core_clock_ghz();
    let samples = pace::measure(&mut SystemClock::default(), duel.rival, duel.ours, pace, work::OFFSETS, rng);
    let choice = forced.unwrap_or_else(Plan::host).explain(row.input_len());
    Ok(Reply {
        row: row.to_string(),
        kernel: format!("{:?} as {}, {}", choice.kernel, choice.class, choice.kind),
        calls: samples.calls,
        pairs: samples.pairs,
        clock_ghz,
    })
}

/// The plan that holds our side to a level, or `None` where the free functions decide.
pub fn forced_plan(level: Level) -> anyhow::Result<work::Forced> {
    let name = match level {
        Level::Native => return Ok(None),
        Level::Avx2 => "avx2",
        Level::Sse41 => "sse41",
    };
    let kernel = Kernel::by_name(name).with_context(|| format!("this CPU cannot run the {name} kernel"))?;
    Ok(Some(Plan::of(kernel)))
}

/// The part of `memory` that starts on a page, so that an offset means the same in every process.
fn page_aligned(memory: &[u8], len: usize) -> &[u8] {
    let skip = memory.as_ptr().align_offset(work::OFFSETS);
    &memory[skip..skip + len]
}

/// Reads the core clock off a chain of multiply and xor, each pair of which waits four cycles for the one before on
/// every x86-64 core of the last decade. Elsewhere the latency differs by core, so nothing is claimed.
fn core_clock_ghz() -> Option<f64> {
    if !cfg!(target_arch = "x86_64") {
        return None;
    }
    const LINKS: u32 = 10_000;
    let lap = || {
        // The xor keeps the compiler from folding several multiplications into one.
        let [factor, salt] = std::hint::black_box([0x9e37_79b9_7f4a_7c15_u64, 0x5555]);
        let start = std::time::Instant::now();
        std::hint::black_box((0..LINKS).fold(1, |link: u64, _| link.wrapping_mul(factor) ^ salt));
        start.elapsed().as_nanos() as f64
    };
    let quickest = (0..5).map(|_| lap()).fold(f64::INFINITY, f64::min);
    Some(f64::from(LINKS) * 4.0 / quickest)
}

/// The lane's `main`: standard input to standard output.
pub fn main() -> anyhow::Result<()> {
    run(io::stdin().lock(), io::stdout().lock())
}
