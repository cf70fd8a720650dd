//! Clients of automerge-repo's protocol by the thousand, on one thread with one polling loop.

mod socket;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};
use hashmill_doc::Document;
use hashmill_repo::{Client, DocumentId, Event, PeerId, SyncStatus};
use mio::{Events, Poll, Token};
use socket::Socket;

/// Number of sockets that one poll may report.
const MAX_EVENTS: usize = 1024;
/// Interval at which a wait looks whether its goal is reached.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// After this number of new sockets the others are served.
const CONNECT_BATCH: usize = 50;

/// Clients, each with a socket of its own.
pub(super) struct Bots {
    address: SocketAddr,
    poll: Poll,
    events: Events,
    bots: Vec<Bot>,
    /// Start of the clock that clients get.
    start: Instant,
    ready: usize,
}

struct Bot {
    client: Client,
    socket: Socket,
}

/// Receives what happens to bots, by their numbers.
pub(super) trait Observer {
    /// A frame has arrived.
    fn frame_arrived(&mut self, _bot: usize, _frame: &[u8]) {}

    /// A client has processed a frame, by which its documents gained a number of changes.
    fn frame_processed(&mut self, _bot: usize, _client: &Client, _changes: u64) {}
}

/// An observer that ignores everything.
pub(super) struct NoObserver;

impl Observer for NoObserver {}

impl Bots {
    /// No bots, for a server.
    pub(super) fn new(address: SocketAddr) -> anyhow::Result<Bots> {
        let poll = Poll::new().context("polling sockets")?;
        let events = Events::with_capacity(MAX_EVENTS);
        Ok(Bots { address, poll, events, bots: Vec::new(), start: Instant::now(), ready: 0 })
    }

    pub(super) fn len(&self) -> usize {
        self.bots.len()
    }

    /// Number of bots that the server has greeted.
    pub(super) fn ready(&self) -> usize {
        self.ready
    }

    pub(super) fn client(&self, bot: usize) -> &Client {
        &self.bots[bot].client
    }

    pub(super) fn client_mut(&mut self, bot: usize) -> &mut Client {
        &mut self.bots[bot].client
    }

    /// Closes the sockets without a farewell, and returns the clients with their documents.
    pub(super) fn into_clients(self) -> Vec<Client> {
        self.bots.into_iter().map(|bot| bot.client).collect()
    }

    /// Connects a client. Its number is the number of bots before.
    pub(super) fn connect(&mut self, mut client: Client) -> anyhow::Result<usize> {
        let bot = self.bots.len();
        let opened = Socket::open(self.address, self.poll.registry(), Token(bot));
        let socket = opened.with_context(|| format!("after {bot} sockets"))?;
        client.connect();
        self.bots.push(Bot { client, socket });
        self.send(bot)?;
        if bot.is_multiple_of(CONNECT_BATCH) {
            self.poll(Duration::ZERO, &mut NoObserver)?;
        }
        Ok(bot)
    }

    /// Waits for the next frames, and processes and answers them.
    pub(super) fn poll(&mut self, timeout: Duration, observer: &mut impl Observer) -> anyhow::Result<()> {
        match self.poll.poll(&mut self.events, Some(timeout)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            result => result.context("polling sockets")?,
        }
        let bots: Vec<usize> = self.events.iter().map(|event| event.token().0).collect();
        bots.into_iter().try_for_each(|bot| self.receive(bot, observer))
    }

    /// Polls until a goal is reached, or fails after `limit`.
    pub(super) fn wait_until(
        &mut self,
        limit: Duration,
        goal: &str,
        observer: &mut impl Observer,
        mut is_reached: impl FnMut(&Bots) -> bool,
    ) -> anyhow::Result<()> {
        let start = Instant::now();
        loop {
            if is_reached(self) {
                return Ok(());
            }
            ensure!(start.elapsed() < limit, "{goal}: not reached in {} s", limit.as_secs());
            let check = Instant::now() + CHECK_INTERVAL;
            while let Some(rest) = check.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
            {
                self.poll(rest, observer)?;
            }
        }
    }

    /// Waits until every bot is in step with the server about a document.
    pub(super) fn wait_in_step(
        &mut self,
        limit: Duration,
        bots: std::ops::Range<usize>,
        document_of: impl Fn(usize) -> DocumentId,
    ) -> anyhow::Result<()> {
        let mut waiting: Vec<usize> = bots.collect();
        self.wait_until(limit, "documents in step with the server", &mut NoObserver, |bots| {
            waiting.retain(|bot| bots.client(*bot).status(&document_of(*bot)) != Some(SyncStatus::InSync));
            waiting.is_empty()
        })
    }

    /// Sends the messages of a bot that follow from edits of its documents.
    pub(super) fn send(&mut self, bot: usize) -> anyhow::Result<()> {
        let now = self.start.elapsed();
        let Bot { client, socket } = &mut self.bots[bot];
        while let Some(frame) = client.to_send(now) {
            socket.queue(frame)?;
        }
        socket.flush().with_context(|| format!("bot {bot}"))
    }

    fn receive(&mut self, bot: usize, observer: &mut impl Observer) -> anyhow::Result<()> {
        let now = self.start.elapsed();
        let Bot { client, socket } = &mut self.bots[bot];
        while let Some(frame) = socket.next().with_context(|| format!("bot {bot}"))? {
            observer.frame_arrived(bot, &frame);
            client.received(&frame, now).map_err(|error| anyhow!("bot {bot}: the server {error}"))?;
            let mut changes = 0;
            while let Some(event) = client.next_event() {
                match event {
                    Event::Ready { .. } => self.ready += 1,
                    Event::Changed { changes: gained, .. } => changes += gained,
                    Event::Refused { change, reason, .. } => {
                        bail!("bot {bot}: the server sends change {change}, which is invalid: {reason}");
                    }
                    // Ephemeral messages are not sent; an absent document may come later.
                    _ => {}
                }
            }
            observer.frame_processed(bot, client, changes);
            while let Some(frame) = client.to_send(now) {
                socket.queue(frame)?;
            }
        }
        socket.flush().with_context(|| format!("bot {bot}"))
    }
}

/// A client without documents.
pub(super) fn client(number: usize) -> Client {
    Client::new(PeerId::from(format!("bot-{number}").as_str()), "session")
}

/// A client that asks for a document.
pub(super) fn reader(number: usize, document: &DocumentId) -> Client {
    let mut client = client(number);
    client.add(document.clone(), Document::new());
    client
}

/// Waits until a server answers. Automerge's server does not hear clients that connect before it has read the id of its storage, so
/// each attempt is short and on a new socket.
pub(super) fn wait_for_greeting(address: SocketAddr, limit: Duration) -> anyhow::Result<()> {
    let start = Instant::now();
    loop {
        let greeted = || {
            let mut bots = Bots::new(address)?;
            bots.connect(client(0))?;
            bots.wait_until(Duration::from_millis(500), "a greeting", &mut NoObserver, |bots| {
                bots.ready() == 1
            })
        };
        match greeted() {
            Ok(()) => return Ok(()),
            Err(error) if start.elapsed() > limit => return Err(error),
            Err(_) => {}
        }
    }
}
