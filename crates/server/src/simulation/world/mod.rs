//! A simulated world: clients, network, storage and one server, with one clock.

mod checks;
mod connections;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::client::SimulatedClient;
use super::disk::{Disk, Write};
use super::exchange::Exchanges;
use super::knobs::Knobs;
use super::probes::Probes;
use super::promise::Promise;
use super::violation::Violation;
use crate::core::Core;
use crate::core::defect::Defect;
use crate::document::DocumentJob;
use crate::event::{Action, Event};
use crate::ids::{BatchId, RequestId, SocketId, WorkId};

use connections::Connection;

/// Number of lines that are kept to explain a violation.
const MAX_TRACE: usize = 80;

/// What happens at some time.
#[derive(Debug)]
enum Happening {
    /// The next operation of a client, or a fault.
    Operation,
    OpensAtServer(SocketId),
    FrameToServer(SocketId),
    ClosesAtServer(SocketId),
    FrameToClient(SocketId),
    ClosesAtClient(SocketId),
    Connects(usize),
    ReadsAgain(usize),
    /// The rest is of one start of the server, and void after a crash.
    Written(u64, WriteId),
    Loaded(u64, RequestId, DocumentId),
    Worked(u64, WorkId, Box<DocumentJob>),
    Timer(u64),
    OutageEnds,
    Restarts,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum WriteId {
    Batch(BatchId),
    Request(RequestId),
}

pub(super) struct World {
    knobs: Knobs,
    rng: Rng,
    defect: Option<Defect>,
    now: Duration,
    happenings: BTreeMap<(Duration, u64), Happening>,
    count: u64,
    /// Number of starts of the server.
    start: u64,
    core: Option<Core>,
    writes: BTreeMap<WriteId, Write>,
    disk: Disk,
    ids: Vec<DocumentId>,
    clients: Vec<SimulatedClient>,
    connections: BTreeMap<SocketId, Connection>,
    promise: Promise,
    exchanges: Exchanges,
    /// Frames of clients, for hostile ones.
    seen: Vec<Vec<u8>>,
    longest_frame: usize,
    reconnects: bool,
    operations_left: usize,
    /// Number of frames that were sent by the server, or arrived there.
    frames: usize,
    pub(super) probes: Probes,
    pub(super) events: u64,
    /// The latest frames and faults, to explain a violation.
    trace: VecDeque<String>,
}

impl World {
    pub(super) fn new(seed: u64, defect: Option<Defect>) -> World {
        let mut rng = Rng::new(seed);
        let knobs = Knobs::draw(&mut rng);
        let ids: Vec<DocumentId> =
            (1..=knobs.documents).map(|number| DocumentId::from_random_bytes([number as u8; 16])).collect();
        let clients = (0..knobs.clients).map(|number| SimulatedClient::new(number, &ids)).collect();
        let operations_left = knobs.operations;
        let core = Some(Core::new(knobs.config.clone()).with_defect(defect));
        World {
            knobs,
            rng,
            defect,
            now: Duration::ZERO,
            happenings: BTreeMap::new(),
            count: 0,
            start: 0,
            core,
            writes: BTreeMap::new(),
            disk: Disk::default(),
            ids,
            clients,
            connections: BTreeMap::new(),
            promise: Promise::default(),
            exchanges: Exchanges::default(),
            seen: Vec::new(),
            longest_frame: 0,
            reconnects: true,
            operations_left,
            frames: 0,
            probes: Probes::default(),
            events: 0,
            trace: VecDeque::new(),
        }
    }

    /// The latest frames and faults.
    pub(super) fn trace(&self) -> String {
        self.trace.iter().map(|line| format!("{line}\n")).collect()
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if self.trace.len() == MAX_TRACE {
            self.trace.pop_front();
        }
        self.trace.push_back(format!("{:?} {}", self.now, line()));
    }

    /// Runs the world to its end, through all operations, a time without faults, and a restart.
    pub(super) fn run(&mut self) -> Result<(), Violation> {
        (0..self.clients.len()).for_each(|client| self.schedule(0, Happening::Connects(client)));
        self.schedule(1, Happening::Operation);
        while self.operations_left > 0 {
            self.advance()?;
        }
        self.heal()?;
        self.check_converged("after the faults")?;
        // All that was told is there for a new server, and for a client that has nothing.
        self.crash()?;
        self.start_server();
        self.clients.push(SimulatedClient::new(self.clients.len(), &self.ids));
        self.heal()?;
        self.check_converged("after a restart")?;
        self.reconnects = false;
        for socket in self.connections.keys().copied().collect::<Vec<_>>() {
            self.close_at_client(socket);
        }
        self.run_for(Duration::from_secs(1) + self.knobs.config.idle_after)?;
        let usage = self.core.as_ref().expect("it runs").usage();
        let is_empty = usage.documents == 0 && usage.document_bytes == 0 && usage.sockets == 0;
        if is_empty { Ok(()) } else { Err(Violation::new("memory", format!("at the end: {usage:?}"))) }
    }

    fn schedule(&mut self, delay_ms: usize, happening: Happening) {
        self.schedule_at(self.now + Duration::from_millis(delay_ms as u64), happening);
    }

    fn schedule_at(&mut self, at: Duration, happening: Happening) {
        self.count += 1;
        self.happenings.insert((at, self.count), happening);
    }

    /// Lets the next thing happen. False if there is none.
    fn advance(&mut self) -> Result<bool, Violation> {
        let Some(((at, _), happening)) = self.happenings.pop_first() else { return Ok(false) };
        self.now = self.now.max(at);
        self.events += 1;
        match happening {
            Happening::Operation => self.operate()?,
            Happening::Connects(client) => self.connect(client),
            Happening::OpensAtServer(socket) => {
                let Some(connection) = self.connections.get_mut(&socket) else { return Ok(true) };
                if self.core.is_some() {
                    connection.is_open_at_server = true;
                    connection.opened_at = self.now;
                    let identity = Arc::clone(&connection.identity);
                    self.step(Event::SocketOpened(socket, identity))?;
                } else {
                    self.close_from_server(socket);
                }
            }
            Happening::FrameToServer(socket) => {
                if let Some(frame) = self.take_frame(socket) {
                    self.check_rate(socket, frame.len())?;
                    self.note_client_frame(socket, &frame)?;
                    self.step(Event::FrameReceived(socket, frame))?;
                }
            }
            Happening::ClosesAtServer(socket) => {
                let connection = self.connections.remove(&socket);
                if connection.is_some_and(|connection| connection.is_open_at_server) {
                    self.step(Event::SocketClosed(socket))?;
                }
            }
            Happening::FrameToClient(socket) => self.deliver_to_client(socket)?,
            Happening::ClosesAtClient(socket) => self.close_at_client(socket),
            Happening::ReadsAgain(client) => self.read_again(client),
            Happening::Written(start, id) => {
                if start == self.start
                    && let Some(write) = self.writes.remove(&id)
                {
                    let result = self.disk.finish(write, &self.knobs, &mut self.rng, &mut self.promise)?;
                    self.probes.note_write(&result);
                    match id {
                        WriteId::Batch(batch) => self.step(Event::Appended(batch, result))?,
                        WriteId::Request(request) => self.step(Event::Completed(request, result))?,
                    }
                }
            }
            Happening::Loaded(start, request, document) => {
                if start == self.start {
                    let chunks = self.disk.load(&document, &self.knobs, &mut self.rng);
                    self.step(Event::Loaded(request, chunks))?;
                }
            }
            Happening::Worked(start, work, job) => {
                if start == self.start {
                    self.probes.jobs += 1;
                    self.step(Event::WorkDone(work, job.run()))?;
                }
            }
            Happening::Timer(start) => {
                if start == self.start {
                    self.step(Event::TimerFired)?;
                }
            }
            Happening::OutageEnds => self.disk.is_out = false,
            Happening::Restarts => self.start_server(),
        }
        Ok(true)
    }

    fn operate(&mut self) -> Result<(), Violation> {
        self.operations_left = self.operations_left.saturating_sub(1);
        let pause = self.rng.below(self.knobs.pause_ms + 1);
        self.schedule(pause, Happening::Operation);
        let knobs = &self.knobs;
        let rates = [
            knobs.crashes,
            knobs.outages,
            knobs.cuts,
            knobs.access_changes,
            knobs.reading_pauses,
            knobs.hostile_sockets,
            knobs.broadcasts,
        ];
        let drawn = self.rng.below(100.max(rates.iter().sum::<usize>() * 3 / 2));
        let mut sum = 0;
        let kind = rates.iter().position(|rate| {
            sum += rate;
            drawn < sum
        });
        let client = self.rng.below(self.clients.len());
        match kind {
            Some(0) if self.core.is_some() => {
                self.crash()?;
                let pause = self.rng.below(1000);
                self.schedule(pause, Happening::Restarts);
            }
            Some(1) if !self.disk.is_out => {
                self.disk.is_out = true;
                let pause = self.rng.below(5000);
                self.schedule(pause, Happening::OutageEnds);
            }
            Some(2) => self.cut(client),
            Some(3) => self.change_rights(client)?,
            Some(4) => {
                self.clients[client].reads = false;
                let pause = self.rng.below(3000);
                self.schedule(pause, Happening::ReadsAgain(client));
            }
            Some(5) => self.connect_hostile(),
            Some(6) => {
                let id = &self.ids[self.rng.below(self.ids.len())];
                let data = vec![0x40];
                self.clients[client].client.broadcast(id, data);
                self.send_from_client(client);
            }
            _ => {
                let id = self.ids[self.rng.below(self.ids.len())].clone();
                let len = self.rng.below(self.knobs.value_bytes);
                let value = self.rng.bytes(len);
                let change = self.clients[client].edit(&id, value);
                self.promise.note_made(&id, change.hash(), change.deps());
                self.send_from_client(client);
            }
        }
        Ok(())
    }

    /// Passes an event to the server, and carries out its actions.
    fn step(&mut self, event: Event) -> Result<(), Violation> {
        let Some(core) = &mut self.core else { return Ok(()) };
        let mut actions = Vec::new();
        core.step(self.now, event, &mut actions);
        self.probes.degraded_steps += usize::from(core.usage().is_degraded);
        for action in actions {
            self.carry_out(action)?;
        }
        self.check_memory()
    }

    fn carry_out(&mut self, action: Action) -> Result<(), Violation> {
        let disk_delay = self.rng.below(self.knobs.disk_ms + 1);
        match action {
            Action::Send(socket, frame) => {
                self.check_server_frame(socket, &frame)?;
                self.send_to_client(socket, frame);
            }
            Action::Close(socket, reason) => {
                self.probes.note_close(reason);
                self.note(|| format!("{socket:?} closed: {reason:?}"));
                self.check_close(socket, reason)?;
                self.close_from_server(socket);
            }
            Action::PauseReads(socket) => {
                self.probes.pauses += 1;
                self.connections.get_mut(&socket).into_iter().for_each(|there| there.is_paused = true);
            }
            Action::ResumeReads(socket) => self.read_socket(socket),
            Action::Append { batch, chunks } => {
                self.probes.appends += 1;
                if self.writes.keys().any(|id| matches!(id, WriteId::Batch(_))) {
                    return Err(Violation::new("form", "two appends at a time"));
                }
                self.write(WriteId::Batch(batch), Write::Put(chunks), disk_delay);
            }
            Action::PutSnapshot { request, chunk } => {
                self.probes.snapshots += 1;
                self.write(WriteId::Request(request), Write::Put(vec![chunk]), disk_delay);
            }
            Action::Delete(request, keys) => {
                self.probes.deletions += 1;
                self.write(WriteId::Request(request), Write::Delete(keys), disk_delay);
            }
            Action::Load(request, document) => {
                self.schedule(disk_delay, Happening::Loaded(self.start, request, document));
            }
            Action::RunWork(work, job) => {
                let delay = self.rng.below(self.knobs.work_ms + 1);
                self.schedule(delay, Happening::Worked(self.start, work, Box::new(job)));
            }
            Action::WakeAt(at) => {
                // Timers are late, and come twice.
                let late = Duration::from_millis(self.rng.below(20) as u64);
                let timer = |start| Happening::Timer(start);
                self.schedule_at(at + late, timer(self.start));
                if self.rng.below(4) == 0 {
                    self.schedule_at(at.saturating_sub(late), timer(self.start));
                    self.schedule_at(at + late, timer(self.start));
                }
            }
            Action::Report(fact) => {
                self.note(|| fact.to_string());
                self.probes.note_fact(&fact);
            }
        }
        Ok(())
    }

    fn write(&mut self, id: WriteId, write: Write, delay: usize) {
        self.writes.insert(id, write);
        self.schedule(delay, Happening::Written(self.start, id));
    }

    /// Ends the server at once, with all that is not stored.
    fn crash(&mut self) -> Result<(), Violation> {
        self.note(|| "crash".to_owned());
        self.core = None;
        self.start += 1;
        self.probes.crashes += 1;
        for write in std::mem::take(&mut self.writes).into_values() {
            self.probes.crashes_in_writes += 1;
            self.disk.crash(write, self.knobs.tears, &mut self.rng, &mut self.promise)?;
        }
        for socket in self.connections.keys().copied().collect::<Vec<_>>() {
            self.close_from_server(socket);
        }
        Ok(())
    }

    fn start_server(&mut self) {
        if self.core.is_none() {
            self.core = Some(Core::new(self.knobs.config.clone()).with_defect(self.defect));
        }
    }
}
