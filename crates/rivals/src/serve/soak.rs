//! Row of a soak: typists who begin new documents again and again, visitors who come and go, and the memory of the server meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use hashmill_doc::{Document, ROOT, Transactable as _};
use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::bots::{Bots, NoObserver, reader};
use super::process::{UsageStart, memory, open_files};
use super::report::Sample;
use super::server::Server;

/// Limit for greetings, and for documents that all have.
const LIMIT: Duration = Duration::from_secs(60);
/// Number of keys that edits replace.
const KEYS: u64 = 7;
/// Number of samples of the memory.
const SAMPLES: f64 = 600.0;
/// Visitors have numbers of their own.
const FIRST_VISITOR: usize = 1 << 32;

/// Load for a long time.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct SoakArgs {
    /// Seconds of load. An hour shows slow leaks.
    #[arg(long, default_value_t = 3600.0)]
    seconds: f64,
    /// Number of typists, of whom four share a document.
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..))]
    typists: u32,
    /// Edits of each typist in a second.
    #[arg(long, default_value_t = 5.0)]
    rate: f64,
    /// Seconds after which the typists connect anew and begin other documents: old ones leave the server's memory.
    #[arg(long, default_value_t = 20.0)]
    shift: f64,
    /// Visitors in a second. Each opens an old document and leaves.
    #[arg(long, default_value_t = 10.0)]
    visits: f64,
    /// The largest growth of the server's memory from the middle third of the time to the last one, in MiB.
    #[arg(long, default_value_t = 8.0)]
    max_growth: f64,
}

/// State of both kinds of clients.
#[derive(Default)]
struct Load {
    /// Documents of earlier shifts.
    documents: Mutex<Vec<DocumentId>>,
    has_failed: AtomicBool,
}

impl Load {
    fn documents(&self) -> std::sync::MutexGuard<'_, Vec<DocumentId>> {
        self.documents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn goes_on(&self, end: Instant) -> bool {
        Instant::now() < end && !self.has_failed.load(Ordering::SeqCst)
    }

    /// Notes a failure for the other threads.
    fn note<T>(&self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        if result.is_err() {
            self.has_failed.store(true, Ordering::SeqCst);
        }
        result
    }
}

/// Measures one round.
pub(super) fn measure(args: &SoakArgs, server: &Server, seed: u64) -> anyhow::Result<Sample> {
    ensure!(args.seconds > 0.0 && args.rate > 0.0 && args.shift > 0.0, "times and rates are above 0");
    ensure!(args.visits > 0.0, "visits in a second are above 0");
    let load = Load::default();
    let files = open_files(server.pid)?;
    let usage = UsageStart::now(server.pid)?;
    let end = usage.started() + Duration::from_secs_f64(args.seconds);
    let (edits, visits, samples) = thread::scope(|scope| {
        let typists = scope.spawn(|| load.note(type_until(args, server, &load, end, seed)));
        let visitors = scope.spawn(|| load.note(visit_until(args, server, &load, end, seed + 1)));
        let samples = sample_until(args, server, &load, end);
        let ended = |_| anyhow!("a thread of clients panicked");
        let edits = typists.join().map_err(ended)?.context("typists")?;
        let visits = visitors.join().map_err(ended)?.context("visitors")?;
        anyhow::Ok((edits, visits, samples?))
    })?;
    let usage = usage.usage()?;
    // Sockets are closed a moment after their clients have gone.
    let closing = Instant::now();
    while open_files(server.pid)? > files {
        ensure!(
            closing.elapsed() < LIMIT,
            "the server keeps {} files open, not {files}",
            open_files(server.pid)?
        );
        thread::sleep(Duration::from_millis(10));
    }
    let third = samples.len() / 3;
    let largest =
        |samples: &[u64]| samples.iter().max().map_or(0.0, |bytes| *bytes as f64 / (1 << 20) as f64);
    let (middle, last) = (largest(&samples[third..2 * third]), largest(&samples[2 * third..]));
    let growth = last - middle;
    let mut sample = Sample::default();
    sample.compare("server memory, MiB", last);
    sample.compare("server, cores", usage.cores(usage.server));
    sample.describe("growth of the memory, MiB", growth);
    sample.describe("edits", edits as f64);
    sample.describe("documents", load.documents().len() as f64);
    sample.describe("visits", visits as f64);
    ensure!(
        growth <= args.max_growth,
        "the memory grows from {middle:.1} MiB in the middle third to {last:.1} MiB in the last one: {sample}"
    );
    Ok(sample)
}

/// Runs shifts of typists. Returns the number of edits.
fn type_until(args: &SoakArgs, server: &Server, load: &Load, end: Instant, seed: u64) -> anyhow::Result<u64> {
    let mut rng = Rng::new(seed);
    let mut edits = 0;
    while load.goes_on(end) {
        let documents: Vec<DocumentId> = (0..args.typists.div_ceil(4)).map(|_| random_id(&mut rng)).collect();
        let shift_end = end.min(Instant::now() + Duration::from_secs_f64(args.shift));
        edits += run_shift(args, server, &documents, shift_end, load)?;
        load.documents().extend(documents);
    }
    Ok(edits)
}

/// One shift: typists edit their documents at the rate, and all have all edits at the end.
fn run_shift(
    args: &SoakArgs,
    server: &Server,
    documents: &[DocumentId],
    end: Instant,
    load: &Load,
) -> anyhow::Result<u64> {
    let document_of = |bot: usize| documents[bot % documents.len()].clone();
    let mut bots = Bots::new(server.address)?;
    for number in 0..args.typists as usize {
        bots.connect(reader(number, &document_of(number)))?;
    }
    bots.wait_until(LIMIT, "greetings", &mut NoObserver, |bots| bots.ready() == bots.len())?;
    let interval = Duration::from_secs_f64(1.0 / args.rate / f64::from(args.typists));
    let (mut due, mut edits) = (Instant::now(), 0_u64);
    // At least one edit each, so that every document exists.
    while load.goes_on(end) || edits < u64::from(args.typists) {
        let now = Instant::now();
        if due > now {
            bots.poll(due - now, &mut NoObserver)?;
            continue;
        }
        due += interval;
        let bot = edits as usize % bots.len();
        let doc = bots.client_mut(bot).document_mut(&document_of(bot)).context("the document of a typist")?;
        doc.transact(|tx| tx.put(ROOT, format!("key {}", edits % KEYS), edits as i64))?;
        bots.send(bot)?;
        edits += 1;
    }
    let all = 0..bots.len();
    bots.wait_until(LIMIT, "equal documents", &mut NoObserver, |bots| {
        let heads = |bot: usize| bots.client(bot).document(&document_of(bot)).map(Document::get_heads);
        all.clone().all(|bot| heads(bot) == heads(bot % documents.len()))
    })?;
    bots.wait_in_step(LIMIT, all, document_of)?;
    Ok(edits)
}

/// Opens old documents, one after the other. Returns the number of visits.
fn visit_until(
    args: &SoakArgs,
    server: &Server,
    load: &Load,
    end: Instant,
    seed: u64,
) -> anyhow::Result<u64> {
    let mut rng = Rng::new(seed);
    let interval = Duration::from_secs_f64(1.0 / args.visits);
    let (mut due, mut visits) = (Instant::now(), 0);
    while load.goes_on(end) {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        // A visitor who was late is not followed by several at once.
        due = due.max(Instant::now()) + interval;
        let document = {
            let documents = load.documents();
            if documents.is_empty() {
                continue;
            }
            documents[rng.below(documents.len())].clone()
        };
        let mut bots = Bots::new(server.address)?;
        let bot = bots.connect(reader(FIRST_VISITOR + visits as usize, &document))?;
        bots.wait_in_step(LIMIT, bot..bot + 1, |_| document.clone())?;
        let doc = bots.client(bot).document(&document).context("the document of a visitor")?;
        ensure!(!doc.get_heads().is_empty(), "{document} has no changes");
        visits += 1;
    }
    Ok(visits)
}

/// Resident bytes of the server at equal distances.
fn sample_until(args: &SoakArgs, server: &Server, load: &Load, end: Instant) -> anyhow::Result<Vec<u64>> {
    let interval = Duration::from_secs_f64(args.seconds / SAMPLES);
    let mut samples = Vec::new();
    while load.goes_on(end) {
        samples.push(load.note(memory(server.pid))?.resident_bytes);
        thread::sleep(interval);
    }
    Ok(samples)
}

fn random_id(rng: &mut Rng) -> DocumentId {
    let mut bytes = [0; 16];
    rng.fill(&mut bytes);
    DocumentId::from_random_bytes(bytes)
}
