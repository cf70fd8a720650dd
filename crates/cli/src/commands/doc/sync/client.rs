//! Client of a sync server: exchanges changes between a file and the server, once or until a signal.

use super::Report;
use super::change_counts::ChangeCounts;
use super::file::{self, EditedFile};
use super::refused_changes::RefusedChanges;
use super::socket::{Address, Socket};
use super::socket_error::SocketError;
use super::tls::Trust;
use super::unaccepted_changes::UnacceptedChanges;
use crate::flags::{SyncArgs, UsageError};
use crate::os::{self, SignalBlock};
use crate::output::{display_path, error_chain, hex, print_error};
use anyhow::{Context as _, Result, bail};
use hashmill_doc::{ChangeHash, Document};
use hashmill_repo::{Client, DocumentId, Event, PeerId, Receipt, SyncStatus};
use std::thread;
use std::time::{Duration, Instant};

/// Polling interval for changes of the file.
const FILE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Retry interval after a lost connection.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(5);
/// Polling interval for signals.
const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Number of received bytes that count as progress of a transfer.
const MIN_PROGRESS_BYTES: u64 = 4096;

/// Syncs until both sides are equal, or with `--watch` until a signal. Returns false if they did not become equal because a
/// side did not take changes of the other, which was reported.
pub(super) fn sync(flags: &SyncArgs, url: &str) -> Result<bool> {
    let address = Address::parse(url).map_err(UsageError)?;
    if file::is_stream(&flags.file) || flags.file.is_dir() {
        bail!(UsageError(format!("{}: a sync with a server needs a single file", display_path(&flags.file))));
    }
    let trust = match &flags.ca {
        ca if address.is_secure() => Some(Trust::new(ca.as_deref())?),
        Some(_) => bail!(UsageError(format!("{url}: --ca is for wss://"))),
        None => None,
    };
    let (edited, doc) = EditedFile::open_or_new(&flags.file)?;
    let id = match &flags.id {
        Some(id) => id.clone(),
        None if doc.get_heads().is_empty() => {
            let reason = if edited.is_new() { "it does not exist" } else { "it is empty" };
            bail!("{}: {reason}: name the document to fetch with --id", display_path(&flags.file));
        }
        None if flags.new => DocumentId::from_random_bytes(random_bytes()?),
        // A document on a server cannot be deleted, so none is created by mistake.
        None => bail!(UsageError(format!(
            "{}: name its document on the server with --id ID, or create a new one with --new",
            display_path(&flags.file)
        ))),
    };
    let peer = PeerId::from_random_bytes("hashmill", random_bytes()?);
    let counts = ChangeCounts::new(doc.get_heads());
    let mut client = Client::new(peer, &hex(&random_bytes::<8>()?));
    client.add(id.clone(), doc);
    let timeout = Duration::from_secs(flags.timeout.into());
    let mut sync = SyncClient {
        flags,
        id,
        address,
        trust,
        timeout,
        edited,
        client,
        start: Instant::now(),
        counts,
        refused: RefusedChanges::default(),
        settled: None,
        is_complete: true,
        was_announced: false,
    };
    let done = if flags.watch { sync.watch() } else { sync.once() };
    match done {
        // The next attempt must use the same document.
        Err(error) if flags.new && sync.was_announced && sync.settled.is_none() => {
            let url = sync.id.url();
            bail!(
                "{}; part of the new document may be on the server: continue with --id {url}",
                error_chain(&error)
            )
        }
        done => done,
    }
}

fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

struct SyncClient<'a> {
    flags: &'a SyncArgs,
    id: DocumentId,
    address: Address,
    trust: Option<Trust>,
    timeout: Duration,
    edited: EditedFile,
    /// Has the document.
    client: Client,
    start: Instant,
    counts: ChangeCounts,
    /// Changes of the server that were refused since the last report.
    refused: RefusedChanges,
    /// The heads and the status when both sides were last equal, or as equal as possible.
    settled: Option<(Vec<ChangeHash>, SyncStatus)>,
    /// Both sides were equal in each report.
    is_complete: bool,
    /// The document was announced to the server.
    was_announced: bool,
}

/// Why an exchange ended.
enum ExchangeEnd {
    /// Both sides are equal, or as equal as possible.
    Done,
    /// A signal.
    Signal(i32),
}

impl SyncClient<'_> {
    fn once(&mut self) -> Result<bool> {
        let mut socket = self.connect()?;
        self.exchange(&mut socket, None)?;
        socket.close();
        Ok(self.is_complete)
    }

    /// Runs until a signal, and reconnects after a lost connection.
    fn watch(&mut self) -> Result<bool> {
        let mut signals = SignalBlock::ending().context("signals")?;
        let mut socket = Some(self.connect()?);
        let signal = loop {
            let end = match &mut socket {
                Some(socket) => self.exchange(socket, Some(&mut signals)),
                None => self.reconnect(&mut signals, &mut socket),
            };
            match end {
                Ok(ExchangeEnd::Signal(signal)) => break signal,
                Ok(ExchangeEnd::Done) => {}
                Err(error) if matches!(error.downcast_ref(), Some(SocketError::ConnectionLost(_))) => {
                    print_error(&format!(
                        "{}; retrying every {} s",
                        error_chain(&error),
                        RECONNECT_INTERVAL.as_secs()
                    ));
                    socket = None;
                }
                Err(error) => return Err(error),
            }
        };
        if let Some(socket) = socket {
            socket.close();
        }
        // The last changes may not be in the file yet.
        self.write()?;
        drop(signals);
        os::deliver_signal(signal);
        Ok(self.is_complete)
    }

    fn connect(&self) -> Result<Socket> {
        Socket::open(&self.address, self.trust.as_ref(), self.timeout)
            .with_context(|| self.address.to_string())
    }

    /// Retries until a connection is open.
    fn reconnect(&self, signals: &mut SignalBlock, socket: &mut Option<Socket>) -> Result<ExchangeEnd> {
        loop {
            let next = Instant::now() + RECONNECT_INTERVAL;
            while Instant::now() < next {
                if let Some((signal, _)) = signals.next() {
                    return Ok(ExchangeEnd::Signal(signal));
                }
                thread::sleep(SIGNAL_POLL_INTERVAL);
            }
            match self.connect() {
                Ok(connected) => *socket = Some(connected),
                Err(error) if matches!(error.downcast_ref(), Some(SocketError::ConnectionLost(_))) => {
                    continue;
                }
                Err(error) => return Err(error),
            }
            return Ok(ExchangeEnd::Done);
        }
    }

    /// Exchanges messages on one connection. With `watch_signals` it continues when both sides are equal.
    fn exchange(
        &mut self,
        socket: &mut Socket,
        watch_signals: Option<&mut SignalBlock>,
    ) -> Result<ExchangeEnd> {
        let end = self.exchange_messages(socket, watch_signals);
        self.refused.print_unnamed(&self.address);
        end
    }

    fn exchange_messages(
        &mut self,
        socket: &mut Socket,
        mut watch_signals: Option<&mut SignalBlock>,
    ) -> Result<ExchangeEnd> {
        let name = self.address.to_string();
        self.client.connect();
        let mut idle = IdleTimeout::new(self.timeout);
        let mut last_poll = Instant::now();
        loop {
            while let Some(frame) = self.client.to_send(self.start.elapsed()) {
                // The first frame names no document.
                self.was_announced |= self.client.is_ready();
                socket.send(frame).with_context(|| name.clone())?;
            }
            let status = self.status();
            let is_done = !is_outstanding(status);
            if is_done {
                self.finish_round(status)?;
            }
            match &mut watch_signals {
                None if is_done => return Ok(ExchangeEnd::Done),
                None => {}
                Some(signals) => {
                    if let Some((signal, _)) = signals.next() {
                        return Ok(ExchangeEnd::Signal(signal));
                    }
                    if last_poll.elapsed() > FILE_POLL_INTERVAL {
                        self.merge_file_changes()?;
                        last_poll = Instant::now();
                    }
                }
            }
            match socket.next().with_context(|| name.clone())? {
                Some(frame) if self.receive(&frame).with_context(|| name.clone())? => {
                    idle.renew(socket);
                    continue;
                }
                // Frames about other documents are no progress.
                Some(frame) => socket.discount(frame.len()),
                None => {}
            }
            idle.wait(socket, status).map_err(|error| self.explain(error)).with_context(|| name.clone())?;
        }
    }

    /// Processes a frame of the server. Returns whether it was progress.
    fn receive(&mut self, frame: &[u8]) -> Result<bool> {
        let receipt = self.client.received(frame, self.start.elapsed());
        let conversation = self.client.conversation(&self.id);
        if let Some(heads) = conversation.and_then(|conversation| conversation.their_heads()) {
            self.counts.note_server_heads(heads);
        }
        // All events are processed before any error, so that no refusal is lost.
        let mut is_unavailable = false;
        while let Some(event) = self.client.next_event() {
            match event {
                Event::Changed { changes, .. } => self.counts.add_received(changes),
                Event::Refused { change, reason, .. } => self.refused.add(&self.address, change, reason),
                Event::FurtherRefusals { count, .. } => self.refused.add_unnamed(count),
                Event::Unavailable { was_known: false, .. } => is_unavailable = true,
                // A known document may come again. Users of the document and other storages are of no interest.
                _ => {}
            }
        }
        let receipt = receipt?;
        if is_unavailable {
            bail!(SocketError::unavailable());
        }
        Ok(receipt == Receipt::Progress)
    }

    fn document(&self) -> &Document {
        self.client.document(&self.id).expect("the document is never removed")
    }

    fn document_mut(&mut self) -> &mut Document {
        self.client.document_mut(&self.id).expect("the document is never removed")
    }

    fn status(&self) -> SyncStatus {
        self.client.status(&self.id).expect("the document is never removed")
    }

    /// Replaces a timeout by its reason, if that is known.
    fn explain(&self, error: SocketError) -> SocketError {
        let Some(conversation) = self.client.conversation(&self.id) else { return error };
        if conversation.is_unavailable() {
            return SocketError::withdrawn();
        }
        match self.status() {
            SyncStatus::Withheld => {
                let missing = conversation.missing_changes(self.document());
                // The server has sent those that were refused here.
                let withheld = missing.iter().find(|hash| !conversation.state().has_refused(hash));
                withheld.map_or(error, SocketError::withheld)
            }
            SyncStatus::InProgress => match UnacceptedChanges::find(self.document(), conversation) {
                Some(unaccepted) => SocketError::silent_without(self.timeout, &unaccepted),
                None => error,
            },
            _ => error,
        }
    }

    /// Merges changes that another program wrote to the file.
    fn merge_file_changes(&mut self) -> Result<()> {
        if let Some(other) = self.edited.reload_if_changed()? {
            let name = file::name(&self.flags.file);
            self.document_mut().merge(&other).context(name)?;
            self.counts.set_local_heads(other.get_heads());
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        if self.flags.watch {
            self.merge_file_changes()?;
        }
        let is_empty = self.edited.is_new() && self.document().get_heads().is_empty();
        if is_empty {
            return Ok(());
        }
        let doc = self.client.document_mut(&self.id).expect("the document is never removed");
        self.edited.replace(doc).map(drop)
    }

    /// Writes received changes to the file and reports them.
    fn finish_round(&mut self, status: SyncStatus) -> Result<()> {
        let settled = Some((self.document().get_heads(), status));
        if self.refused.is_empty() && self.settled == settled {
            return Ok(());
        }
        self.refused.print_unnamed(&self.address);
        let conversation = self.client.conversation(&self.id).expect("the document is never removed");
        let doc = self.client.document(&self.id).expect("the document is never removed");
        let lacks_own_changes = matches!(status, SyncStatus::ReadOnlyPeer | SyncStatus::Unaccepted);
        let server_heads = conversation.their_heads().filter(|_| lacks_own_changes).map(<[_]>::to_vec);
        let unaccepted = UnacceptedChanges::find(doc, conversation).filter(|_| lacks_own_changes);
        let (received, sent) = self.counts.take(doc, server_heads);
        if received > 0 {
            self.write()?;
        }
        if status == SyncStatus::ReadOnlyPeer {
            print_error(&format!("{}: accepts no changes", self.address));
        } else if let Some(unaccepted) = &unaccepted {
            print_error(&format!("{}: {unaccepted}", self.address));
        }
        self.is_complete &= status == SyncStatus::InSync;
        self.settled = settled;
        let server = self.address.to_string();
        let report = Report {
            document: Some(self.id.url()),
            received,
            sent,
            unaccepted: unaccepted.map_or(0, |unaccepted| unaccepted.count),
            refused: std::mem::take(&mut self.refused),
            ..Report::new(&self.flags.file, &server, self.document())
        };
        report.print(&self.flags.file, self.flags.json)
    }
}

/// Is a message of the server awaited? It may still send a change that it withholds.
fn is_outstanding(status: SyncStatus) -> bool {
    matches!(status, SyncStatus::InProgress | SyncStatus::Withheld)
}

/// Timeout for a silent server.
struct IdleTimeout {
    timeout: Duration,
    since: Instant,
    /// Received bytes at that time: all, and those that are not keep-alives.
    received: u64,
    useful: u64,
    /// A ping was sent since.
    has_pinged: bool,
}

impl IdleTimeout {
    fn new(timeout: Duration) -> IdleTimeout {
        IdleTimeout { timeout, since: Instant::now(), received: 0, useful: 0, has_pinged: false }
    }

    fn renew(&mut self, socket: &Socket) {
        let (received, useful) = (socket.received(), socket.useful_bytes());
        *self = IdleTimeout { received, useful, ..IdleTimeout::new(self.timeout) };
    }

    /// Nothing to read has come: pings the server, or fails after the timeout.
    fn wait(&mut self, socket: &mut Socket, status: SyncStatus) -> Result<(), SocketError> {
        let is_idle = !is_outstanding(status);
        // When idle, any byte renews the timeout; during a transfer only progress does.
        let is_alive = if is_idle {
            socket.received() > self.received
        } else {
            socket.useful_bytes() >= self.useful + MIN_PROGRESS_BYTES
        };
        if is_alive {
            self.renew(socket);
        }
        let silent = self.since.elapsed();
        if silent > self.timeout {
            return Err(SocketError::silent(self.timeout));
        }
        if is_idle && !self.has_pinged && silent > self.timeout / 2 {
            self.has_pinged = true;
            socket.ping()?;
        }
        Ok(())
    }
}
