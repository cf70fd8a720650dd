//! Row of typists: users who type into shared documents at a steady rate, and how late the others see it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hashmill_doc::{ChangeHash, Document, EditError, ObjId, ObjType, ROOT, ReadDoc as _, Transactable as _};
use hashmill_repo::{Client, DocumentId};
use hashmill_testkit::Rng;

use super::bots::{Bots, Observer, client, reader};
use super::process::{Usage, UsageStart, memory};
use super::report::{Sample, quantile};
use super::server::Server;

/// Key of the text in each document.
const TEXT: &str = "text";
/// Limit for opening all documents, and for the arrival of the last edits.
const SETTLE_LIMIT: Duration = Duration::from_secs(120);
/// The longest poll between edits.
const MAX_POLL: Duration = Duration::from_millis(100);

/// Users who type into shared documents.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct TypistArgs {
    /// Typists in each document.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(2..))]
    typists: u32,
    /// Number of documents.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    documents: u32,
    /// Edits of each typist in a second.
    #[arg(long, default_value_t = 6.0)]
    rate: f64,
    /// Seconds of typing before the measurement.
    #[arg(long, default_value_t = 3.0)]
    warm_up: f64,
    /// Measured seconds.
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Longest delay in seconds of an edit behind its time. Bots that are later do not hold the rate, and the round fails.
    #[arg(long, default_value_t = 1.0)]
    max_delay: f64,
}

/// An edit that has not arrived everywhere.
struct Edit {
    at: Instant,
    /// Number of typists who lack it.
    missing: u32,
    is_measured: bool,
}

/// The typists and their edits.
struct Typing {
    documents: Vec<DocumentId>,
    /// The document of each bot, as an index.
    document_of: Vec<usize>,
    text: Vec<ObjId>,
    cursors: Vec<usize>,
    /// The heads of each bot's document when it was last looked at.
    heads: Vec<Vec<ChangeHash>>,
    edits: HashMap<ChangeHash, Edit>,
    typists: u32,
    measured_from: Instant,
    /// Milliseconds from an edit to each other typist.
    latencies_ms: Vec<f64>,
    /// Milliseconds by which edits were later than planned.
    delays_ms: Vec<f64>,
    /// Number of measured edits.
    measured: u32,
    last_arrival: Instant,
}

impl Observer for Typing {
    fn frame_processed(&mut self, bot: usize, client: &Client, changes: u64) {
        if changes == 0 {
            return;
        }
        let now = Instant::now();
        let Some(doc) = client.document(&self.documents[self.document_of[bot]]) else { return };
        for change in doc.get_changes_meta(&self.heads[bot]) {
            let Some(edit) = self.edits.get_mut(&change.hash) else { continue };
            edit.missing -= 1;
            if edit.is_measured {
                self.latencies_ms.push(millis(now - edit.at));
                self.last_arrival = now;
            }
            if edit.missing == 0 {
                self.edits.remove(&change.hash);
            }
        }
        self.heads[bot] = doc.get_heads();
    }
}

impl Typing {
    fn document(&self, bot: usize) -> &DocumentId {
        &self.documents[self.document_of[bot]]
    }

    /// Makes an edit that was due at a time.
    fn edit(&mut self, bots: &mut Bots, bot: usize, due: Instant) -> anyhow::Result<()> {
        let (id, text) = (self.document(bot).clone(), &self.text[self.document_of[bot]]);
        let doc = bots.client_mut(bot).document_mut(&id).context("the document of a typist")?;
        let index = self.cursors[bot].min(doc.length(text));
        let at = Instant::now();
        let letter = [b'a' + (index % 26) as u8];
        let letter = std::str::from_utf8(&letter).context("a letter")?;
        doc.transact(|tx| tx.splice_text(text, index, 0, letter))?;
        let heads = doc.get_heads();
        let [hash] = heads[..] else { anyhow::bail!("an edit has {} heads", heads.len()) };
        self.cursors[bot] = index + 1;
        self.heads[bot] = heads;
        let is_measured = due >= self.measured_from;
        if is_measured {
            self.measured += 1;
            self.delays_ms.push(millis(at - due));
        }
        self.edits.insert(hash, Edit { at, missing: self.typists - 1, is_measured });
        bots.send(bot)
    }
}

/// Measures one round on a new server.
pub(super) fn measure(args: &TypistArgs, server: &Server, seed: u64) -> anyhow::Result<Sample> {
    ensure!(args.rate > 0.0 && args.seconds > 0.0 && args.warm_up >= 0.0, "rate and seconds are above 0");
    let mut rng = Rng::new(seed);
    let (mut bots, mut typing) = open_documents(args, server, &mut rng)?;
    let (while_typing, total) = type_all(args, &mut bots, &mut typing, server, &mut rng)?;
    check_convergence(&bots, &typing)?;
    let edits = f64::from(typing.measured);
    let deliveries = typing.latencies_ms.len();
    ensure!(
        deliveries as f64 == edits * f64::from(args.typists - 1),
        "{deliveries} of {edits} edits arrived"
    );
    typing.latencies_ms.sort_by(f64::total_cmp);
    typing.delays_ms.sort_by(f64::total_cmp);
    let latency = |share| quantile(&typing.latencies_ms, share).context("no edit arrived");
    let mut sample = Sample::default();
    sample.compare("server, cores while typing", while_typing.cores(while_typing.server));
    sample.compare("server, ms per edit", millis(total.server) / edits);
    sample.compare("latency to others p50, ms", latency(0.5)?);
    sample.compare("latency to others p99, ms", latency(0.99)?);
    sample.compare("server memory, MiB", memory(server.pid)?.resident_bytes as f64 / f64::from(1 << 20));
    sample.describe("measured edits", edits);
    sample.describe("seconds until the last edit arrived", total.elapsed.as_secs_f64());
    sample.describe("bots, cores", while_typing.cores(while_typing.bots));
    sample.describe("bots late p99, ms", quantile(&typing.delays_ms, 0.99).context("no edit")?);
    sample.describe("other processes, cores", while_typing.cores(while_typing.others));
    Ok(sample)
}

/// Connects one typist for each document, who brings it, and then the others.
fn open_documents(args: &TypistArgs, server: &Server, rng: &mut Rng) -> anyhow::Result<(Bots, Typing)> {
    let (documents, typists) = (args.documents as usize, args.typists as usize);
    let mut bots = Bots::new(server.address)?;
    let ids: Vec<DocumentId> = (0..documents)
        .map(|_| {
            let mut bytes = [0; 16];
            rng.fill(&mut bytes);
            DocumentId::from_random_bytes(bytes)
        })
        .collect();
    let mut document_of = Vec::new();
    let mut texts = Vec::new();
    for (document, id) in ids.iter().enumerate() {
        let mut doc = Document::new();
        texts.push(doc.transact(|tx| {
            let text = tx.put_object(ROOT, TEXT, ObjType::Text)?;
            tx.splice_text(&text, 0, 0, "notes")?;
            Ok::<_, EditError>(text)
        })?);
        let mut client = client(document);
        client.add(id.clone(), doc);
        bots.connect(client)?;
        document_of.push(document);
    }
    bots.wait_in_step(SETTLE_LIMIT, 0..documents, |bot| ids[bot].clone())?;
    for bot in documents..documents * typists {
        let document = bot % documents;
        bots.connect(reader(bot, &ids[document]))?;
        document_of.push(document);
    }
    bots.wait_in_step(SETTLE_LIMIT, 0..documents * typists, |bot| ids[document_of[bot]].clone())?;
    let heads = (0..bots.len()).map(|bot| {
        let doc = bots.client(bot).document(&ids[document_of[bot]]).context("an open document")?;
        anyhow::Ok(doc.get_heads())
    });
    let heads = heads.collect::<anyhow::Result<_>>()?;
    let cursors = (0..bots.len()).map(|_| rng.below(6)).collect();
    let now = Instant::now();
    let typing = Typing {
        documents: ids,
        document_of,
        text: texts,
        cursors,
        heads,
        edits: HashMap::new(),
        typists: args.typists,
        measured_from: now,
        latencies_ms: Vec::new(),
        delays_ms: Vec::new(),
        measured: 0,
        last_arrival: now,
    };
    Ok((bots, typing))
}

/// Types at the rate, each typist in a phase of its own. Returns the usage of the measured seconds, and that until all measured edits
/// have arrived.
fn type_all(
    args: &TypistArgs,
    bots: &mut Bots,
    typing: &mut Typing,
    server: &Server,
    rng: &mut Rng,
) -> anyhow::Result<(Usage, Usage)> {
    let interval = Duration::from_secs_f64(1.0 / args.rate);
    let begin = Instant::now();
    typing.measured_from = begin + Duration::from_secs_f64(args.warm_up);
    let end = typing.measured_from + Duration::from_secs_f64(args.seconds);
    let phase = |rng: &mut Rng| interval.mul_f64(rng.below(1 << 20) as f64 / f64::from(1 << 20));
    let mut queue: BinaryHeap<Reverse<(Instant, usize)>> =
        (0..bots.len()).map(|bot| Reverse((begin + phase(rng), bot))).collect();
    let mut usage = None;
    while let Some(Reverse((due, bot))) = queue.peek().copied() {
        let now = Instant::now();
        if usage.is_none() && now >= typing.measured_from {
            usage = Some(UsageStart::now(server.pid)?);
        }
        if due > now {
            bots.poll((due - now).min(MAX_POLL), typing)?;
            continue;
        }
        let delay = (now - due).as_secs_f64();
        ensure!(delay <= args.max_delay, "the bots were {delay:.1} s late: they are slower than the rate");
        queue.pop();
        typing.edit(bots, bot, due)?;
        if due + interval < end {
            queue.push(Reverse((due + interval, bot)));
        }
    }
    while let Some(rest) = end.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero()) {
        bots.poll(rest.min(MAX_POLL), typing)?;
    }
    let usage = usage.context("there was no edit in the measured seconds")?;
    let while_typing = usage.usage()?;
    let limit = Instant::now() + SETTLE_LIMIT;
    while !typing.edits.is_empty() {
        let left = typing.edits.len();
        ensure!(
            Instant::now() < limit,
            "{left} edits did not reach all others in {} s",
            SETTLE_LIMIT.as_secs()
        );
        bots.poll(MAX_POLL, typing)?;
    }
    let documents = |bot: usize| typing.document(bot).clone();
    bots.wait_in_step(SETTLE_LIMIT, 0..bots.len(), documents)?;
    let mut total = usage.usage()?;
    total.elapsed = typing.last_arrival - usage.started();
    Ok((while_typing, total))
}

/// All typists of a document must have the same changes.
fn check_convergence(bots: &Bots, typing: &Typing) -> anyhow::Result<()> {
    let state = |bot: usize| {
        let doc = bots.client(bot).document(typing.document(bot))?;
        Some((doc.get_heads(), doc.stats().changes))
    };
    let is_equal = |bot: usize| state(bot).is_some() && state(bot) == state(typing.document_of[bot]);
    let other = (0..bots.len()).find(|bot| !is_equal(*bot));
    ensure!(
        other.is_none(),
        "the document of bot {} differs from those of the others",
        other.unwrap_or_default()
    );
    Ok(())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
