//! A worker: one process that measures rows, our engine beside each rival. It reads a request and prints samples.

use std::hint::black_box;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hashmill_testkit::Rng;
use hashmill_workloads::doc::Case;
use serde::{Deserialize, Serialize};

use super::engines::{self, OURS};
use super::fixtures::Fixtures;
use super::row::{Commits, Row};
use crate::timer::{self, Side, SystemClock, Timer};

/// What the parent writes to a worker's standard input.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Request {
    /// Rows to measure, each beside one rival, in this order.
    pub rows: Vec<(String, String)>,
    /// Decides the first order.
    pub seed: u64,
    /// Pairs per row.
    pub pairs: usize,
    /// Shortest sample, in microseconds.
    pub sample_us: u64,
    /// Time for the pairs of one row, in milliseconds.
    pub budget_ms: u64,
    /// Where the workers of a run keep what takes long to make.
    pub folder: Option<PathBuf>,
}

/// What a worker prints for each row: one line of JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Reply {
    /// The row's name.
    pub row: String,
    /// The rival beside ours.
    pub rival: String,
    /// Calls per sample.
    pub calls: u64,
    /// `[rival, ours]` in nanoseconds per call, or in bytes.
    pub pairs: Vec<[f64; 2]>,
    /// Why there are none.
    pub skipped: Option<String>,
}

/// A rival that takes this long for one call is measured in one pair for each process.
const SLOW: Duration = Duration::from_millis(400);

/// The whole life of a worker.
pub fn run(input: impl BufRead, mut output: impl Write) -> anyhow::Result<()> {
    let request: Request = serde_json::from_reader(input).context("reading the request")?;
    let mut rng = Rng::new(request.seed);
    let mut fixtures = Fixtures::shared(request.folder.clone());
    for (row, rival) in &request.rows {
        let mut reply =
            Reply { row: row.clone(), rival: rival.clone(), calls: 0, pairs: Vec::new(), skipped: None };
        let row: Row = row.parse()?;
        match measure(&row, rival, &mut fixtures, &request, &mut rng)? {
            Ok((calls, pairs)) => (reply.calls, reply.pairs) = (calls, pairs),
            Err(why) => reply.skipped = Some(why),
        }
        serde_json::to_writer(&mut output, &reply).context("writing samples")?;
        writeln!(output).and_then(|()| output.flush()).context("writing samples")?;
    }
    Ok(())
}

type Samples = Result<(u64, Vec<[f64; 2]>), String>;

fn measure(
    row: &Row,
    rival: &str,
    fixtures: &mut Fixtures,
    request: &Request,
    rng: &mut Rng,
) -> anyhow::Result<Samples> {
    if let Row::Size { trace, commits } = row {
        return Ok(sizes(trace, *commits, rival, fixtures));
    }
    let mut theirs = match engines::case(rival, row, fixtures) {
        Ok(Some(case)) => case,
        Ok(None) => return Ok(Err(format!("{rival} has no such workload"))),
        Err(why) => return Ok(Err(why)),
    };
    // What a call works on was made before: a million keys take longer to put than to read.
    let start = Instant::now();
    let answer = theirs.once();
    let slow = start.elapsed() > SLOW && !matches!(row, Row::ApplyOne(_));
    let mut ours = match engines::case(OURS, row, fixtures) {
        Ok(Some(case)) => case,
        Ok(None) => return Ok(Err(format!("{OURS} has no such workload"))),
        Err(why) => return Ok(Err(why)),
    };
    anyhow::ensure!(
        answer == ours.once(),
        "{row}: {rival} and {OURS} disagree about the result; nothing was timed"
    );
    let one = slow || matches!(row, Row::FirstEdit { .. });
    let timer = Timer {
        pairs: if slow { 1 } else { request.pairs },
        sample: if one { Duration::ZERO } else { Duration::from_micros(request.sample_us) },
        budget: Duration::from_millis(request.budget_ms),
    };
    let samples = timer::measure(&mut SystemClock::default(), side(theirs), side(ours), timer, 1, rng);
    Ok(Ok((samples.calls, samples.pairs)))
}

/// The loop over the calls is the case's own, so that a call of sixty nanoseconds is not measured together with an
/// indirect jump.
fn side(mut case: Case) -> Side<'static> {
    let side = Side::new(move |calls, _| drop(black_box((case.calls)(calls))));
    match case.prepare {
        Some(prepare) => side.prepared(prepare),
        None => side,
    }
}

fn sizes(trace: &str, commits: Commits, rival: &str, fixtures: &mut Fixtures) -> Samples {
    let theirs = engines::saved(rival, trace, commits, fixtures)?;
    let ours = engines::saved(OURS, trace, commits, fixtures)?;
    Ok((1, vec![[theirs.len() as f64, ours.len() as f64]]))
}

/// The worker's `main`: standard input to standard output.
pub fn main() -> anyhow::Result<()> {
    run(io::stdin().lock(), io::stdout().lock())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kind of row, small, beside the official crate: equal answers, and samples for each.
    #[test]
    fn a_worker_answers_every_kind_of_row() {
        let rows = [
            "replay/typed-50/one",
            "replay/typed-50/each",
            "replay/typed-50/each/unsettled",
            "load/typed-50/one",
            "load/typed-50/each/deferred",
            "first-edit/typed-50/each",
            "save/typed-50/one",
            "size/typed-50/each",
            "merge/typed-50/at-once",
            "merge/typed-50/one-by-one",
            "text_read/100",
            "fork/10",
            "get_at/3",
            "text_at/3",
            "map_put/10",
            "map_put_batch/10",
            "map_get/10",
            "map_keys/10",
            "list_insert_append/10",
            "list_insert_front/10",
            "list_get/10",
            "text_splice_append/10",
            "text_splice_bulk/2",
            "put_scale/10",
            "get_scale/10",
            "save_many_changes/3",
            "load_many_changes/3",
            "save/10",
            "load/10",
            "save_large/10",
            "load_large/10",
            "merge/3",
            "save_docs/3",
            "load_docs/3",
            "fork_merge_batch/10",
            "concurrent_reads/10",
            "merge_reduce/4",
            "document_constructor/1",
        ];
        let mut asked: Vec<_> = rows.map(|row| (row.to_owned(), "automerge".to_owned())).to_vec();
        asked.push(("snapshot-reads/100".to_owned(), "one-thread".to_owned()));
        asked.push(("json-write/3".to_owned(), "serde_json".to_owned()));
        let request =
            Request { rows: asked.clone(), seed: 1, pairs: 2, sample_us: 1, budget_ms: 1, folder: None };
        let mut output = Vec::new();
        run(&*serde_json::to_vec(&request).expect("plain data"), &mut output).expect("a worker");
        let replies: Vec<Reply> = serde_json::Deserializer::from_slice(&output)
            .into_iter()
            .collect::<Result<_, _>>()
            .expect("a reply on each line");
        assert_eq!(replies.len(), asked.len());
        for (reply, (row, _)) in replies.iter().zip(&asked) {
            assert_eq!(reply.row, *row);
            assert_eq!(reply.skipped, None, "{row}");
            assert!(reply.pairs.iter().flatten().all(|&amount| amount > 0.0), "{reply:?}");
        }
    }

    #[test]
    fn what_an_engine_does_not_have_is_said() {
        let rows = vec![("text_at/3".to_owned(), "nobody".to_owned())];
        let request = Request { rows, seed: 1, pairs: 1, sample_us: 1, budget_ms: 1, folder: None };
        let mut output = Vec::new();
        run(&*serde_json::to_vec(&request).expect("plain data"), &mut output).expect("a worker");
        let reply: Reply = serde_json::from_slice(&output).expect("a reply");
        assert!(reply.skipped.is_some_and(|why| why.contains("nobody")));
    }
}
