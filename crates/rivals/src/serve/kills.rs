//! Row of kills: edits that a server confirmed and that are gone after it was killed and started again.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hashmill_doc::{ChangeHash, Document, ROOT, Transactable as _};
use hashmill_repo::{Client, DocumentId};
use hashmill_testkit::Rng;

use super::bots::{Bots, NoObserver, Observer, client, reader};
use super::report::Sample;
use super::server::Side;

/// Limit for what must happen between two kills.
const LIMIT: Duration = Duration::from_secs(60);
/// Number of keys that edits replace.
const KEYS: usize = 7;

/// Typists beside `kill -9` of the server.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct KillArgs {
    /// Number of kills.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    kills: u32,
    /// Number of typists, who share the documents.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    typists: u32,
    /// Number of documents.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    documents: u32,
    /// Edits of each typist in a second.
    #[arg(long, default_value_t = 10.0)]
    rate: f64,
    /// The longest time in seconds from the start of typing to the kill. The shortest is a tenth of it.
    #[arg(long, default_value_t = 1.5)]
    within: f64,
}

/// A change that the server confirmed, by the number of its document.
type Confirmed = BTreeSet<(usize, ChangeHash)>;

/// Collects the heads that the server names, and of them those that it has confirmed.
struct Confirmations {
    documents: Vec<DocumentId>,
    confirmed: Confirmed,
}

impl Observer for Confirmations {
    fn frame_processed(&mut self, bot: usize, client: &Client, _: u64) {
        let document = bot % self.documents.len();
        let conversation = client.conversation(&self.documents[document]);
        let heads = conversation.and_then(|conversation| conversation.their_heads()).unwrap_or_default();
        self.confirmed.extend(heads.iter().map(|head| (document, *head)));
    }
}

/// Measures one round: all kills of one server and its storage.
pub(super) fn measure(args: &KillArgs, side: &Side, data: &Path, seed: u64) -> anyhow::Result<Sample> {
    ensure!(args.rate > 0.0 && args.within > 0.0, "rate and time are above 0");
    let mut rng = Rng::new(seed);
    let documents: Vec<DocumentId> = (0..args.documents)
        .map(|_| {
            let mut bytes = [0; 16];
            rng.fill(&mut bytes);
            DocumentId::from_random_bytes(bytes)
        })
        .collect();
    let mut clients: Vec<Client> = (0..args.typists as usize)
        .map(|number| reader(number, &documents[number % documents.len()]))
        .collect();
    let mut confirmations = Confirmations { documents, confirmed: BTreeSet::new() };
    let mut server = side.start(data)?;
    let (mut edits, mut all_confirmed, mut lost, mut lossy_kills) = (0, 0, 0, 0);
    for _ in 0..args.kills {
        let time = args.within * (0.1 + 0.9 * rng.below(1 << 20) as f64 / f64::from(1 << 20));
        let mut bots = Bots::new(server.address)?;
        clients.into_iter().try_for_each(|client| bots.connect(client).map(drop))?;
        let before = confirmations.confirmed.clone();
        edits += type_for(args, &mut bots, &mut confirmations, Duration::from_secs_f64(time))?;
        server.kill()?;
        clients = bots.into_clients();
        all_confirmed += confirmations.confirmed.difference(&before).count();
        server = side.start(data)?;
        let missing = missing(server.address, &confirmations)?;
        lost += missing.len();
        lossy_kills += u32::from(!missing.is_empty());
        // Their typists send them again, and they may be confirmed again.
        confirmations.confirmed.retain(|change| !missing.contains(change));
    }
    server.kill()?;
    ensure!(all_confirmed > 0, "no edit was confirmed before a kill");
    let mut sample = Sample::default();
    sample.compare("confirmed edits lost", lost as f64);
    sample.compare("kills with a loss", f64::from(lossy_kills));
    sample.describe("kills", f64::from(args.kills));
    sample.describe("edits", edits as f64);
    sample.describe("confirmed edits", all_confirmed as f64);
    Ok(sample)
}

/// Types at the rate for a time, after the first edit was confirmed. Returns the number of edits.
fn type_for(
    args: &KillArgs,
    bots: &mut Bots,
    confirmations: &mut Confirmations,
    time: Duration,
) -> anyhow::Result<u64> {
    let start = Instant::now();
    bots.wait_until(LIMIT, "greetings", confirmations, |bots| bots.ready() == bots.len())?;
    let before = confirmations.confirmed.len();
    let interval = Duration::from_secs_f64(1.0 / args.rate / bots.len() as f64);
    let (mut due, mut end, mut edits) = (Instant::now(), None, 0);
    loop {
        let now = Instant::now();
        if end.is_none() && confirmations.confirmed.len() > before {
            end = Some(now + time);
        }
        if end.is_some_and(|end| now >= end) {
            return Ok(edits);
        }
        ensure!(start.elapsed() < LIMIT, "no edit was confirmed in {} s", LIMIT.as_secs());
        if due > now {
            bots.poll(due - now, confirmations)?;
            continue;
        }
        due += interval;
        let bot = edits as usize % bots.len();
        let document = &confirmations.documents[bot % confirmations.documents.len()];
        let doc = bots.client_mut(bot).document_mut(document).context("the document of a typist")?;
        doc.transact(|tx| tx.put(ROOT, format!("key {}", edits as usize % KEYS), edits as i64))?;
        bots.send(bot)?;
        edits += 1;
    }
}

/// The confirmed changes that a server does not have.
fn missing(
    address: SocketAddr,
    confirmations: &Confirmations,
) -> anyhow::Result<BTreeSet<(usize, ChangeHash)>> {
    let mut bots = Bots::new(address)?;
    let mut reading = client(usize::MAX);
    for id in &confirmations.documents {
        reading.add(id.clone(), Document::new());
    }
    let bot = bots.connect(reading)?;
    // A client that is in step has all that the server has.
    bots.wait_until(LIMIT, "the documents after a kill", &mut NoObserver, |bots| {
        confirmations.documents.iter().all(|id| {
            let Some(conversation) = bots.client(bot).conversation(id) else { return false };
            let heads = conversation.their_heads().unwrap_or_default();
            let own = bots.client(bot).document(id).map(Document::get_heads).unwrap_or_default();
            (!heads.is_empty() || conversation.is_unavailable()) && own == heads
        })
    })?;
    let is_missing = |(document, hash): &(usize, ChangeHash)| {
        let doc = bots.client(bot).document(&confirmations.documents[*document]);
        doc.is_none_or(|doc| doc.get_change_meta_by_hash(hash).is_none())
    };
    Ok(confirmations.confirmed.iter().copied().filter(is_missing).collect())
}
