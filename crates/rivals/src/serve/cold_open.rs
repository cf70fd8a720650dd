//! Row of a cold open: the time until a server that has just started sends a large document, and the memory that it returns.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use hashmill_doc::{ChangeHash, Document, sync};
use hashmill_repo::{DocumentId, Message};

use super::bots::{Bots, NoObserver, Observer, client};
use super::nodefs;
use super::process::memory;
use super::report::Sample;
use super::server::{Server, Side};

/// Limit for the whole document.
const OPEN_LIMIT: Duration = Duration::from_secs(120);

/// A large document that a server has to load for its first client.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ColdOpenArgs {
    /// A saved document.
    document: PathBuf,
    /// Seconds between the last client and the last look at the server's memory.
    #[arg(long, default_value_t = 75.0)]
    idle: f64,
}

/// A storage with the document, and what a client must get.
pub(super) struct Prepared {
    id: DocumentId,
    heads: Vec<ChangeHash>,
    changes: u64,
    data: PathBuf,
}

/// Writes a storage with the document.
pub(super) fn prepare(args: &ColdOpenArgs, side: &Side, folder: &Path) -> anyhow::Result<Prepared> {
    let name = || args.document.display().to_string();
    let saved = fs::read(&args.document).with_context(name)?;
    let doc = Document::load(&saved).with_context(name)?;
    let id = DocumentId::from_random_bytes([7; 16]);
    let nodefs = folder.join("nodefs");
    nodefs::write_storage_id(&nodefs, [8; 16])?;
    nodefs::write_document(&nodefs, &id, &saved)?;
    let data = side.import(&nodefs, &folder.join("data"))?;
    Ok(Prepared { id, heads: doc.get_heads(), changes: doc.stats().changes, data })
}

impl Prepared {
    pub(super) fn data(&self) -> &Path {
        &self.data
    }
}

/// Observer of the first frame that contains changes.
#[derive(Default)]
struct FirstChanges(Option<Instant>);

impl Observer for FirstChanges {
    fn frame_arrived(&mut self, _: usize, frame: &[u8]) {
        let now = Instant::now();
        let has_changes = || {
            let Ok(Message::Sync(body)) = Message::decode(frame) else { return false };
            sync::Message::decode(&body.data).is_ok_and(|message| !message.changes.is_empty())
        };
        if self.0.is_none() && has_changes() {
            self.0 = Some(now);
        }
    }
}

/// Measures one round on a new server.
pub(super) fn measure(args: &ColdOpenArgs, prepared: &Prepared, server: &Server) -> anyhow::Result<Sample> {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let before = memory(server.pid)?;
    let first = open(prepared, server)?;
    let second = open(prepared, server)?;
    let with_document = memory(server.pid)?;
    // The server must not be asked anything meanwhile.
    thread::sleep(Duration::from_secs_f64(args.idle));
    let after = memory(server.pid)?;
    let mut sample = Sample::default();
    sample.compare("first client: ms to the first frame with changes", first);
    sample.compare("second client: ms", second);
    sample.compare("memory with the document, MiB", mib(with_document.resident_bytes));
    sample.compare("largest memory, MiB", mib(with_document.peak_bytes));
    sample.compare("memory when idle, MiB", mib(after.resident_bytes));
    sample.describe("memory before, MiB", mib(before.resident_bytes));
    sample.describe("seconds idle", args.idle);
    sample.describe("changes of the document", prepared.changes as f64);
    Ok(sample)
}

/// Opens the document in a new client. Returns milliseconds from its request to the first frame with changes.
fn open(prepared: &Prepared, server: &Server) -> anyhow::Result<f64> {
    let mut bots = Bots::new(server.address)?;
    let bot = bots.connect(client(0))?;
    bots.wait_until(OPEN_LIMIT, "a greeting", &mut NoObserver, |bots| bots.ready() == 1)?;
    bots.client_mut(bot).add(prepared.id.clone(), Document::new());
    let mut first = FirstChanges::default();
    let start = Instant::now();
    bots.send(bot)?;
    bots.wait_until(OPEN_LIMIT, "the document", &mut first, |bots| {
        bots.client(bot).document(&prepared.id).is_some_and(|doc| doc.get_heads() == prepared.heads)
    })?;
    let first = first.0.context("no frame contained changes")?;
    let doc = bots.client(bot).document(&prepared.id).context("an open document")?;
    ensure!(doc.stats().changes == prepared.changes, "{} changes arrived", doc.stats().changes);
    Ok((first - start).as_secs_f64() * 1e3)
}
