//! Sync with a server: the document, the file and the connection, one beside the other.

use super::Report;
use super::file::{self, Edited};
use super::id::DocumentId;
use super::session::{Session, Standing};
use super::socket::{Address, Broken, Socket};
use super::tls::Trust;
use crate::flags::{Misuse, SyncArgs};
use crate::os::{self, Hold};
use crate::out::{complain, hex, shown, told};
use anyhow::{Context as _, Result, bail};
use hashmill_doc::{ChangeHash, Document};
use std::thread;
use std::time::{Duration, Instant};

/// How often somebody looks whether the file changed.
const LOOK: Duration = Duration::from_secs(1);
/// How long after a lost connection another is tried.
const AGAIN: Duration = Duration::from_secs(5);
/// How long nobody notices that somebody ends the program.
const GLANCE: Duration = Duration::from_millis(50);
/// So many bytes show that a server still sends what was asked for.
const SIGN: u64 = 4096;

/// Syncs until both have the same, or with `--watch` until somebody ends it. False if not everything could be taken or given,
/// and that was said.
pub(super) fn sync(low: &SyncArgs, url: &str) -> Result<bool> {
    let address = Address::read(url).map_err(Misuse)?;
    if file::is_stream(&low.file) || low.file.is_dir() {
        bail!(Misuse(format!("{}: with a server a single file is synced", shown(&low.file))));
    }
    let trust = match &low.ca {
        ca if address.is_secure() => Some(Trust::of(ca.as_deref())?),
        Some(_) => bail!(Misuse(format!("{url}: --ca is for wss://"))),
        None => None,
    };
    let (edited, doc) = Edited::open_or_new(&low.file)?;
    let id = match low.id {
        Some(id) => id,
        None if doc.get_heads().is_empty() => {
            let why = if edited.is_new() { "it is not there" } else { "there is nothing in it" };
            bail!("{}: {why}: say with --id which document to fetch", shown(&low.file));
        }
        None if low.new => DocumentId::new()?,
        // A document that was made on a server stays there: none is made by mistake.
        None => bail!(Misuse(format!(
            "{}: say with --id ID which document of the server it is, or with --new that it is none of them yet",
            shown(&low.file)
        ))),
    };
    let mut random = [0; 8];
    getrandom::fill(&mut random)?;
    let session = Session::new(format!("hashmill-{}", hex(&random)), &id, &doc);
    let timeout = Duration::from_secs(low.timeout.into());
    let mut sync = Sync {
        low,
        id,
        address,
        trust,
        timeout,
        edited,
        doc,
        session,
        settled: None,
        whole: true,
        told: false,
    };
    let done = if low.watch { sync.watch() } else { sync.once() };
    match done {
        // The next attempt is to be about the same document.
        Err(error) if low.new && sync.told && sync.settled.is_none() => {
            let url = sync.id.url();
            bail!("{}; part of the new document may be there: go on with --id {url}", told(&error))
        }
        done => done,
    }
}

struct Sync<'a> {
    low: &'a SyncArgs,
    id: DocumentId,
    address: Address,
    trust: Option<Trust>,
    timeout: Duration,
    edited: Edited,
    doc: Document,
    session: Session,
    /// The heads when both last had the same, or as much of it as is possible.
    settled: Option<Vec<ChangeHash>>,
    /// Everything was taken and given.
    whole: bool,
    /// The server was told of the document.
    told: bool,
}

/// Why a conversation ended.
enum End {
    /// Both have the same, or as much of it as is possible.
    Done,
    /// By this signal.
    Signal(i32),
}

impl Sync<'_> {
    fn once(&mut self) -> Result<bool> {
        let mut socket = self.connect()?;
        self.talk(&mut socket, None)?;
        socket.close();
        Ok(self.whole)
    }

    /// Goes on until somebody ends it, with another connection where one is lost.
    fn watch(&mut self) -> Result<bool> {
        let mut hold = Hold::ending().context("signals")?;
        let mut socket = Some(self.connect()?);
        let signal = loop {
            let end = match &mut socket {
                Some(socket) => self.talk(socket, Some(&mut hold)),
                None => self.again(&mut hold, &mut socket),
            };
            match end {
                Ok(End::Signal(signal)) => break signal,
                Ok(End::Done) => {}
                Err(error) if matches!(error.downcast_ref(), Some(Broken::Gone(_))) => {
                    complain(&format!("{}; trying again every {} s", told(&error), AGAIN.as_secs()));
                    socket = None;
                }
                Err(error) => return Err(error),
            }
        };
        if let Some(socket) = socket {
            socket.close();
        }
        // What came last may be on its way to the file.
        self.write()?;
        drop(hold);
        os::give_in(signal);
        Ok(self.whole)
    }

    fn connect(&self) -> Result<Socket> {
        Socket::open(&self.address, self.trust.as_ref(), self.timeout)
            .with_context(|| self.address.to_string())
    }

    /// Waits for another connection.
    fn again(&self, hold: &mut Hold, socket: &mut Option<Socket>) -> Result<End> {
        loop {
            let next = Instant::now() + AGAIN;
            while Instant::now() < next {
                if let Some((signal, _)) = hold.next() {
                    return Ok(End::Signal(signal));
                }
                thread::sleep(GLANCE);
            }
            match self.connect() {
                Ok(connected) => *socket = Some(connected),
                Err(error) if matches!(error.downcast_ref(), Some(Broken::Gone(_))) => continue,
                Err(error) => return Err(error),
            }
            return Ok(End::Done);
        }
    }

    /// One conversation. Somebody who watches goes on when both have the same.
    fn talk(&mut self, socket: &mut Socket, mut watches: Option<&mut Hold>) -> Result<End> {
        let name = self.address.to_string();
        socket.send(self.session.join()).with_context(|| name.clone())?;
        let mut patience = Patience::new(self.timeout);
        let mut looked = Instant::now();
        loop {
            while let Some(frame) = self.session.say(&self.doc) {
                self.told = true;
                socket.send(frame).with_context(|| name.clone())?;
            }
            let standing = self.session.standing(&self.doc);
            if standing != Standing::Talking {
                self.settle(standing)?;
            }
            match &mut watches {
                None if standing != Standing::Talking => return Ok(End::Done),
                None => {}
                Some(hold) => {
                    if let Some((signal, _)) = hold.next() {
                        return Ok(End::Signal(signal));
                    }
                    if looked.elapsed() > LOOK {
                        self.look()?;
                        looked = Instant::now();
                    }
                }
            }
            match socket.next().with_context(|| name.clone())? {
                Some(frame) if self.session.hear(&mut self.doc, &frame).with_context(|| name.clone())? => {
                    patience.renew(socket);
                    continue;
                }
                // Others may say as much as they like: what is waited for has not come.
                Some(frame) => socket.discount(frame.len()),
                None => {}
            }
            patience
                .wait(socket, standing)
                .map_err(|broken| self.why(broken))
                .with_context(|| name.clone())?;
        }
    }

    /// Why nothing comes, if the server said so.
    fn why(&self, broken: Broken) -> Broken {
        if self.session.is_withdrawn() { Broken::withdrawn() } else { broken }
    }

    /// Takes over what somebody else wrote into the file.
    fn look(&mut self) -> Result<()> {
        if let Some(theirs) = self.edited.changed()? {
            self.doc.merge(&theirs).with_context(|| file::name(&self.low.file))?;
            self.session.brought(theirs.get_heads());
        }
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        if self.low.watch {
            self.look()?;
        }
        let nothing = self.edited.is_new() && self.doc.get_heads().is_empty();
        if nothing { Ok(()) } else { self.edited.replace(&mut self.doc).map(drop) }
    }

    /// Keeps what came, and says so.
    fn settle(&mut self, standing: Standing) -> Result<()> {
        let heads = self.doc.get_heads();
        let refused = self.session.refused();
        if refused.is_empty() && self.settled.as_ref() == Some(&heads) {
            return Ok(());
        }
        for (hash, error) in refused {
            complain(&format!("{}: its change {hash} was not taken: {error}", self.address));
        }
        let (received, sent) = self.session.count(&self.doc);
        if received > 0 {
            self.write()?;
        }
        if standing == Standing::NotTaken {
            complain(&format!("{}: takes no changes from here", self.address));
        }
        self.whole &= standing == Standing::InStep;
        self.settled = Some(heads);
        let document = Some(self.id.url());
        let server = self.address.to_string();
        let report = Report::of(&self.low.file, &server, &self.doc);
        Report { document, received, sent, ..report }.print(&self.low.file, self.low.json)
    }
}

/// How long a server may still be silent.
struct Patience {
    timeout: Duration,
    since: Instant,
    /// Bytes that had come then, and those of them that were more than signs of life.
    received: u64,
    news: u64,
    /// Whether it was asked since if it is still there.
    asked: bool,
}

impl Patience {
    fn new(timeout: Duration) -> Patience {
        Patience { timeout, since: Instant::now(), received: 0, news: 0, asked: false }
    }

    fn renew(&mut self, socket: &Socket) {
        let (received, news) = (socket.received(), socket.news());
        *self = Patience { received, news, ..Patience::new(self.timeout) };
    }

    /// Nothing to read has come yet.
    fn wait(&mut self, socket: &mut Socket, standing: Standing) -> Result<(), Broken> {
        let idle = standing != Standing::Talking;
        // Who has all that there is waits for any sign of life; who waits for more is not content with those.
        let came = if idle { socket.received() > self.received } else { socket.news() >= self.news + SIGN };
        if came {
            self.renew(socket);
        }
        let silent = self.since.elapsed();
        if silent > self.timeout {
            return Err(Broken::silent(self.timeout));
        }
        if idle && !self.asked && silent > self.timeout / 2 {
            self.asked = true;
            socket.ping()?;
        }
        Ok(())
    }
}
