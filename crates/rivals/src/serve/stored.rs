//! Row of many stored documents: the start of a server, its memory, and the time to open some of them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hashmill_doc::{ActorId, Document, ROOT, ReadDoc as _, Transactable as _};
use hashmill_repo::{DocumentId, SyncStatus};
use hashmill_testkit::Rng;

use super::bots::{Bots, NoObserver, client};
use super::nodefs;
use super::process::memory;
use super::report::{Sample, quantile};
use super::server::{Server, Side};

/// Limit for one document.
const OPEN_LIMIT: Duration = Duration::from_secs(30);
/// Key of a document's number in it.
const NUMBER: &str = "number";

/// A storage with many small documents.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct StoredArgs {
    /// Number of stored documents.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..))]
    documents: u32,
    /// Number of documents that a client opens, one after the other.
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    opens: u32,
}

/// Writes the documents in the format of automerge-repo.
pub(super) fn write(args: &StoredArgs, folder: &Path) -> anyhow::Result<()> {
    nodefs::write_storage_id(folder, [8; 16])?;
    for number in 0..args.documents {
        let actor = ActorId::from(&u128::from(number).to_be_bytes()[..]);
        let mut doc = Document::new().with_actor(actor);
        doc.transact(|tx| tx.put(ROOT, NUMBER, i64::from(number)))?;
        nodefs::write_document(folder, &id(number), &doc.save())?;
    }
    Ok(())
}

/// Makes a storage of a server from the documents.
pub(super) fn import(side: &Side, nodefs: &Path, data: &Path) -> anyhow::Result<PathBuf> {
    side.import(nodefs, data)
}

/// Ids that are spread as random ones are.
fn id(number: u32) -> DocumentId {
    let mut bytes = [0; 16];
    Rng::new(u64::from(number)).fill(&mut bytes);
    DocumentId::from_random_bytes(bytes)
}

/// Measures one round on a new server.
pub(super) fn measure(args: &StoredArgs, server: &Server, seed: u64) -> anyhow::Result<Sample> {
    let started = memory(server.pid)?.resident_bytes;
    let mut rng = Rng::new(seed);
    let mut bots = Bots::new(server.address)?;
    let bot = bots.connect(client(0))?;
    bots.wait_until(OPEN_LIMIT, "a greeting", &mut NoObserver, |bots| bots.ready() == 1)?;
    let mut times_ms = Vec::new();
    for _ in 0..args.opens {
        let number = rng.below(args.documents as usize) as u32;
        times_ms.push(open(&mut bots, bot, number)?);
    }
    let opened = memory(server.pid)?.resident_bytes;
    times_ms.sort_by(f64::total_cmp);
    let time = |share| quantile(&times_ms, share).context("no document was opened");
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let mut sample = Sample::default();
    sample.compare("start to the first answer, s", server.start_time.as_secs_f64());
    sample.compare("memory after the start, MiB", mib(started));
    sample.compare("memory after the opens, MiB", mib(opened));
    sample.compare("open p50, ms", time(0.5)?);
    sample.compare("open p99, ms", time(0.99)?);
    sample.describe("stored documents", f64::from(args.documents));
    sample.describe("opens", f64::from(args.opens));
    Ok(sample)
}

/// Opens a document, checks its content, and returns the milliseconds from the request until it is in step.
fn open(bots: &mut Bots, bot: usize, number: u32) -> anyhow::Result<f64> {
    let id = id(number);
    bots.client_mut(bot).add(id.clone(), Document::new());
    let start = Instant::now();
    bots.send(bot)?;
    while bots.client(bot).status(&id) != Some(SyncStatus::InSync) {
        ensure!(start.elapsed() < OPEN_LIMIT, "document {number} did not come");
        bots.poll(OPEN_LIMIT, &mut NoObserver)?;
    }
    let time = start.elapsed().as_secs_f64() * 1e3;
    let doc = bots.client_mut(bot).remove(&id).context("an open document")?;
    let content = doc.get_as::<i64>(ROOT, NUMBER)?;
    ensure!(content == Some(i64::from(number)), "document {number} contains {content:?}");
    Ok(time)
}
