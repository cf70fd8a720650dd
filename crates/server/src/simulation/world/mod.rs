//! A simulated world: clients, network, storage and one server, with one clock.

mod checks;
mod connections;
mod operator;
mod rights;

use std::collections::BTreeMap;
use std::time::Duration;

use hashmill_repo::DocumentId;

use super::client::{Generation, SimulatedClient};
use super::disk::{Disk, Write};
use super::exchange::Exchanges;
use super::probes::Probes;
use super::promise::Promise;
use super::scenario::{Knobs, Scenario, Streams};
use super::trace::Trace;
use super::violation::Violation;
use crate::core::Core;
use crate::core::defect::Defect;
use crate::document::DocumentJob;
use crate::event::{Action, Event, RightsAnswer};
use crate::fact::Fact;
use crate::ids::{BatchId, RequestId, SocketId, WorkId};
use crate::storage::{Command, Owner, StorageClock};

use connections::Connection;
use operator::{Backup, Operator};
use rights::Question;

/// Maximum time for storing what was received before the server ends.
const DRAIN_MS: usize = 20_000;

/// The clock of the machine at the start of a world, and how far it jumps.
const FIRST_UNIX_TIME: u64 = 1_800_000_000;
const CLOCK_JUMP_SECONDS: u64 = 300_000_000;
/// The clock of the storage is recorded after this number of operations.
const CLOCK_OPERATIONS: usize = 8;

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
    OwnerLoaded(u64, Owner),
    RightsAnswered(u64, Question, Result<RightsAnswer, String>),
    Worked(u64, WorkId, Box<DocumentJob>),
    Timer(u64),
    DrainEnds(u64),
    OutageEnds,
    Restarts,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum WriteId {
    Batch(BatchId),
    Request(RequestId),
}

pub(super) struct World {
    scenario: Scenario,
    knobs: Knobs,
    streams: Streams,
    defect: Option<Defect>,
    now: Duration,
    happenings: BTreeMap<(Duration, u64), Happening>,
    count: u64,
    /// Number of starts of the server.
    start: u64,
    core: Option<Core>,
    writes: BTreeMap<WriteId, Write>,
    disk: Disk,
    /// The clock of the storage, from the start of the server on.
    clock: StorageClock,
    started_at: Duration,
    /// The clock of the machine is this, and the time of the world.
    unix_time_at_zero: u64,
    ids: Vec<DocumentId>,
    clients: Vec<SimulatedClient>,
    connections: BTreeMap<SocketId, Connection>,
    promise: Promise,
    operator: Operator,
    backup: Option<Backup>,
    exchanges: Exchanges,
    /// Frames of clients, which hostile clients change.
    recorded_frames: Vec<Vec<u8>>,
    longest_frame: usize,
    reconnects: bool,
    /// Number of operations whose time has come.
    pub(super) operations: usize,
    /// Number of frames that were sent by the server, or arrived there.
    frames: usize,
    pub(super) probes: Probes,
    pub(super) events: u64,
    pub(super) trace: Trace,
}

impl World {
    pub(super) fn new(scenario: &Scenario, defect: Option<Defect>) -> World {
        let knobs = scenario.knobs();
        let ids: Vec<DocumentId> =
            (1..=knobs.documents).map(|number| DocumentId::from_random_bytes([number as u8; 16])).collect();
        let generations = knobs.generations.iter().enumerate();
        let clients =
            generations.map(|(number, generation)| SimulatedClient::new(number, *generation, &ids)).collect();
        let core = Some(Core::new(knobs.config.clone()).with_defect(defect));
        let undelete_time = Duration::from_secs(knobs.undelete_seconds);
        World {
            scenario: scenario.clone(),
            knobs,
            streams: Streams::new(scenario.seed),
            defect,
            now: Duration::ZERO,
            happenings: BTreeMap::new(),
            count: 0,
            start: 0,
            core,
            writes: BTreeMap::new(),
            disk: Disk::new(undelete_time),
            clock: StorageClock::resume(None, None, FIRST_UNIX_TIME),
            started_at: Duration::ZERO,
            unix_time_at_zero: FIRST_UNIX_TIME,
            ids,
            clients,
            connections: BTreeMap::new(),
            promise: Promise::default(),
            operator: Operator::default(),
            backup: None,
            exchanges: Exchanges::default(),
            recorded_frames: Vec::new(),
            longest_frame: 0,
            reconnects: true,
            operations: 0,
            frames: 0,
            probes: Probes::default(),
            events: 0,
            trace: Trace::default(),
        }
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }

    /// Runs the world to its end, through all operations, a time without faults, and a restart.
    pub(super) fn run(&mut self) -> Result<(), Violation> {
        (0..self.clients.len()).for_each(|client| self.schedule(0, Happening::Connects(client)));
        self.schedule(1, Happening::Operation);
        while self.operations < self.knobs.operations {
            self.advance()?;
        }
        self.heal(|rng| rng.below(2) == 0)?;
        self.check_converged("after the faults")?;
        // A new server, and a client that has nothing, get all confirmed changes.
        self.crash()?;
        self.start_server();
        self.clients.push(SimulatedClient::new(self.clients.len(), Generation::Newest, &self.ids));
        self.heal(|_| false)?;
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
        self.disk.now = self.now;
        self.events += 1;
        match happening {
            Happening::Operation => self.operate()?,
            Happening::Connects(client) => self.connect(client),
            Happening::OpensAtServer(socket) => {
                let Some(connection) = self.connections.get_mut(&socket) else { return Ok(true) };
                if self.core.is_some() {
                    connection.is_open_at_server = true;
                    connection.opened_at = self.now;
                    let identity = connection.identity_at_server();
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
                    self.read_next_frame(socket);
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
                    let is_command = matches!(write, Write::Execute(..));
                    let result =
                        self.disk.finish(write, &self.knobs, &mut self.streams.disk, &mut self.promise)?;
                    self.probes.note_write(&result);
                    let counts = self.disk.owned_bytes();
                    self.step(Event::BytesCounted(counts))?;
                    match id {
                        WriteId::Batch(batch) => self.step(Event::Appended(batch, result.map(drop)))?,
                        WriteId::Request(request) if is_command => {
                            self.step(Event::Executed(request, result))?;
                        }
                        WriteId::Request(request) => {
                            self.step(Event::Completed(request, result.map(drop)))?;
                        }
                    }
                }
            }
            Happening::Loaded(start, request, document) => {
                if start == self.start {
                    let chunks = self.disk.load(&document, &self.knobs, &mut self.streams.disk);
                    self.step(Event::Loaded(request, chunks))?;
                }
            }
            Happening::OwnerLoaded(start, owner) => {
                if start == self.start {
                    self.step(Event::OwnerLoaded(owner))?;
                }
            }
            Happening::RightsAnswered(start, question, answer) => {
                if start == self.start {
                    self.answer_question(question, answer)?;
                }
            }
            Happening::Worked(start, work, job) => {
                if start == self.start {
                    self.step(Event::WorkDone(work, job.run()))?;
                }
            }
            Happening::Timer(start) => {
                if start == self.start {
                    self.step(Event::TimerFired)?;
                }
            }
            Happening::DrainEnds(start) => {
                if start == self.start {
                    self.crash_for(1000)?;
                }
            }
            Happening::OutageEnds => self.disk.is_out = false,
            Happening::Restarts => self.start_server(),
        }
        Ok(true)
    }

    /// Carries out the next operation of a client, or the next fault. What it does depends on its number alone, so that the others
    /// stay the same without it.
    fn operate(&mut self) -> Result<(), Violation> {
        let number = self.operations;
        let mut rng = self.streams.operation(number);
        self.operations += 1;
        let pause = rng.below(self.knobs.pause_ms + 1);
        self.schedule(pause, Happening::Operation);
        if self.core.is_some() && number.is_multiple_of(CLOCK_OPERATIONS) {
            self.disk.record_clock(self.storage_time());
        }
        if !self.scenario.has_operation(number) {
            return Ok(());
        }
        let knobs = &self.knobs;
        let rates = [
            knobs.crashes,
            knobs.outages,
            knobs.cuts,
            knobs.access_changes,
            knobs.reading_pauses,
            knobs.hostile_sockets,
            knobs.broadcasts,
            knobs.drains,
            knobs.client_restarts,
            // Most restarts find something newer than the last one.
            knobs.client_restarts * 2,
            knobs.deletions,
            knobs.deletions,
            knobs.deletions.div_ceil(2),
            knobs.interventions,
            knobs.backups,
            knobs.backups,
            knobs.clock_jumps,
        ];
        let drawn = rng.below(100.max(rates.iter().sum::<usize>() * 3 / 2));
        let mut sum = 0;
        let kind = rates.iter().position(|rate| {
            sum += rate;
            drawn < sum
        });
        let client = rng.below(self.clients.len());
        match kind {
            Some(0) if self.core.is_some() => self.crash_for(rng.below(1000))?,
            Some(1) if !self.disk.is_out => {
                self.probes.count("outages");
                self.note(|| format!("operation {number}: the storage fails"));
                self.disk.is_out = true;
                self.schedule(rng.below(5000), Happening::OutageEnds);
            }
            Some(2) => {
                self.note(|| format!("operation {number}: the connection of client {client} is cut"));
                self.cut(client, &mut rng);
            }
            Some(3) => {
                self.note(|| format!("operation {number}: the rights of client {client} change"));
                self.change_rights(client, &mut rng)?;
            }
            Some(4) => {
                self.probes.count("reading pauses");
                self.note(|| format!("operation {number}: client {client} does not read"));
                self.clients[client].reads = false;
                self.schedule(rng.below(3000), Happening::ReadsAgain(client));
            }
            Some(5) => {
                self.probes.count("hostile sockets");
                self.note(|| format!("operation {number}: a hostile client"));
                self.connect_hostile(&mut rng);
            }
            Some(6) => {
                self.probes.count("broadcasts");
                self.note(|| format!("operation {number}: client {client} broadcasts"));
                let id = &self.ids[rng.below(self.ids.len())];
                self.clients[client].client.broadcast(id, vec![0x40]);
                self.send_from_client(client);
            }
            Some(7) if self.core.is_some() => {
                self.note(|| format!("operation {number}: the server is to end"));
                self.schedule(DRAIN_MS, Happening::DrainEnds(self.start));
                self.step(Event::DrainRequested)?;
            }
            Some(8) => {
                self.probes.count("client restarts");
                self.note(|| format!("operation {number}: client {client} restarts"));
                self.restart_client(client);
            }
            Some(9) => {
                self.note(|| format!("operation {number}: client {client} saves"));
                self.clients[client].save(&mut rng);
            }
            Some(13) if self.core.is_some() => self.intervene(&mut rng)?,
            Some(14) => self.back_up(),
            Some(15) => self.restore_backup(rng.below(1000))?,
            Some(16) => {
                self.probes.count("clock jumps");
                let jumps =
                    [0, 1, 2].map(|steps| FIRST_UNIX_TIME + steps * CLOCK_JUMP_SECONDS - CLOCK_JUMP_SECONDS);
                self.unix_time_at_zero = jumps[rng.below(3)];
                self.note(|| format!("operation {number}: the clock of the machine jumps"));
            }
            Some(kind @ 10..=12) if self.core.is_some() => {
                let id = self.ids[rng.below(self.ids.len())].clone();
                let at = self.storage_time();
                let delete = match rng.below(3) {
                    0 => Command::DeleteUnused { at, used_until: 1 },
                    _ => Command::Delete { at },
                };
                let deleted_until = at.saturating_sub(self.knobs.undelete_seconds);
                let commands = [delete, Command::Undelete, Command::Purge { deleted_until }];
                self.command(&id, commands[kind - 10])?;
                // At once, while changes from before the deletion are being stored.
                if kind == 10 && rng.below(2) == 0 {
                    self.command(&id, Command::Purge { deleted_until })?;
                }
            }
            _ => {
                self.probes.count("edits");
                let id = self.ids[rng.below(self.ids.len())].clone();
                let len = rng.below(self.knobs.value_bytes);
                let value = rng.bytes(len);
                let change = self.clients[client].edit(&id, value);
                let hash = change.hash();
                self.note(|| {
                    format!("operation {number}: client {client} edits {id:.4}: {:.4}", hash.to_string())
                });
                self.promise.note_created(&id, hash, change.deps());
                self.send_from_client(client);
            }
        }
        Ok(())
    }

    /// Passes an event to the server, and carries out its actions.
    fn step(&mut self, event: Event) -> Result<(), Violation> {
        let Some(core) = &mut self.core else { return Ok(()) };
        self.trace.add_event(self.now, &event);
        self.probes.note_event(&event);
        let mut actions = Vec::new();
        core.step(self.now, event, &mut actions);
        if core.usage().is_degraded {
            self.probes.count("degraded steps");
        }
        for action in actions {
            self.trace.add_action(&action);
            self.carry_out(action)?;
        }
        self.check_memory()
    }

    fn carry_out(&mut self, action: Action) -> Result<(), Violation> {
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
                self.probes.count("pauses");
                self.connections.get_mut(&socket).into_iter().for_each(|there| there.is_paused = true);
            }
            Action::ResumeReads(socket) => self.read_socket(socket),
            Action::Append { batch, chunks, owners } => {
                if self.writes.keys().any(|id| matches!(id, WriteId::Batch(_))) {
                    return Err(Violation::new("form", "two appends at a time"));
                }
                self.write(WriteId::Batch(batch), Write::Put(chunks, owners));
            }
            Action::PutSnapshot { request, chunk } => {
                self.probes.count("snapshots");
                self.write(WriteId::Request(request), Write::Put(vec![chunk], BTreeMap::new()));
            }
            Action::Delete(request, keys) => {
                self.probes.count("deletions");
                self.write(WriteId::Request(request), Write::Delete(keys));
            }
            Action::Execute(request, document, command) => {
                self.write(WriteId::Request(request), Write::Execute(document, command));
            }
            Action::LoadOwner(name) => {
                let bytes = self.disk.owned_bytes().into_iter().find(|owner| owner.name == name);
                let owner = bytes.unwrap_or(Owner { name, stored_bytes: 0 });
                let delay = self.disk_delay();
                self.schedule(delay, Happening::OwnerLoaded(self.start, owner));
            }
            Action::Answer(id, outcome) => self.note_answer(id, outcome)?,
            Action::Inspected(id, _) => self.note_inspection(id)?,
            Action::Load(request, document) => {
                let delay = self.disk_delay();
                self.schedule(delay, Happening::Loaded(self.start, request, document));
            }
            Action::AskRights { request, socket, document } => {
                self.take_question(&Question { request, socket, document })?;
            }
            Action::RunWork(work, job) => {
                let delay = self.streams.work.below(self.knobs.work_ms + 1);
                self.schedule(delay, Happening::Worked(self.start, work, Box::new(job)));
            }
            Action::Relay(..) => return Err(Violation::new("form", "a message for other nodes")),
            Action::WakeAt(at) => {
                // Timers are late, and come twice.
                let late = Duration::from_millis(self.streams.timers.below(20) as u64);
                let timer = |start| Happening::Timer(start);
                self.schedule_at(at + late, timer(self.start));
                if self.streams.timers.below(4) == 0 {
                    self.schedule_at(at.saturating_sub(late), timer(self.start));
                    self.schedule_at(at + late, timer(self.start));
                }
            }
            Action::Report(fact) => {
                self.note(|| fact.to_string());
                self.probes.note_fact(&fact);
                if fact == Fact::Drained {
                    self.schedule(0, Happening::DrainEnds(self.start));
                }
            }
        }
        Ok(())
    }

    /// The clock of the machine.
    fn unix_time(&self) -> u64 {
        self.unix_time_at_zero + self.now.as_secs()
    }

    /// The clock of the storage, as a running server has it.
    fn storage_time(&self) -> u64 {
        match self.defect {
            Some(Defect::TrustsMachineClock) => self.unix_time(),
            _ => self.clock.after(self.now - self.started_at),
        }
    }

    fn disk_delay(&mut self) -> usize {
        self.streams.disk.below(self.knobs.disk_ms + 1)
    }

    fn write(&mut self, id: WriteId, write: Write) {
        self.writes.insert(id, write);
        let delay = self.disk_delay();
        self.schedule(delay, Happening::Written(self.start, id));
    }

    /// Ends the server at once, and starts it again after a time.
    fn crash_for(&mut self, pause_ms: usize) -> Result<(), Violation> {
        self.crash()?;
        self.schedule(pause_ms, Happening::Restarts);
        Ok(())
    }

    /// Ends the server at once, with all that is not stored.
    fn crash(&mut self) -> Result<(), Violation> {
        self.note(|| "the server ends".to_owned());
        self.core = None;
        self.start += 1;
        self.operator.lose_answers();
        self.probes.count("ends of the server");
        for write in std::mem::take(&mut self.writes).into_values() {
            self.probes.count("ends in writes");
            self.disk.crash(write, self.knobs.tears, &mut self.streams.disk, &mut self.promise)?;
        }
        for socket in self.connections.keys().copied().collect::<Vec<_>>() {
            self.close_from_server(socket);
        }
        Ok(())
    }

    fn start_server(&mut self) {
        if self.core.is_none() {
            self.note(|| "the server starts".to_owned());
            (self.clock, self.started_at) = (self.disk.clock(self.unix_time()), self.now);
            self.core = Some(Core::new(self.knobs.config.clone()).with_defect(self.defect));
        }
    }
}
