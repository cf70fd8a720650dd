//! A simulated world of several nodes with one journal and one object store.

mod connections;
mod requests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hashmill_doc::ChangeHash;
use hashmill_repo::DocumentId;
use hashmill_testkit::Rng;

use super::Probes;
use super::journal::Journal;
use super::knobs::Knobs;
use super::object_store::{ObjectRequest, ObjectStore};
use crate::core::Core;
use crate::document::DocumentJob;
use crate::event::{Action, Event, IoFailure};
use crate::fact::Fact;
use crate::identity::Identity;
use crate::ids::{CommandId, RequestId, SocketId, WorkId};
use crate::simulation::client::SimulatedClient;
use crate::simulation::promise::{Promise, hashes};
use crate::simulation::scenario::Streams;
use crate::simulation::trace::Trace;
use crate::simulation::violation::Violation;
use crate::storage::cluster::{
    Bounds, Defect, Input, NodeId, ObjectId, ObjectOutcome, Output, PublishId, Replica, ReplicaConfig,
    shard_of,
};
use crate::storage::{Command, CommandOutcome, StoredDocument};

/// Time after which a node gives a record up that was not answered.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(400);
/// Maximum delay before a client connects again.
const RECONNECT_MS: usize = 3000;
/// Maximum delay of a message that arrives twice.
const MAX_LATE_MS: usize = 5000;

/// A start of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::simulation::cluster) struct NodeStart {
    node: usize,
    start: u64,
}

/// What happens at some time.
#[derive(Debug)]
pub(in crate::simulation::cluster) enum Happening {
    Operation,
    Connects(usize),
    OpensAtNode(SocketId),
    FrameToNode(SocketId),
    ClosesAtNode(SocketId),
    FrameToClient(SocketId),
    ClosesAtClient(SocketId),
    RightsArrive(SocketId, Arc<Identity>),
    NodeStarts(usize),
    CoreTimer(NodeStart),
    ReplicaTimer(NodeStart),
    Worked(NodeStart, WorkId, Box<DocumentJob>),
    /// A record on its way to a start of the journal.
    Stored {
        from: NodeStart,
        id: PublishId,
        shard: u16,
        record: Vec<u8>,
        journal: u64,
    },
    Published(NodeStart, PublishId, Result<(), IoFailure>),
    Delivers(NodeStart, u16),
    Inspects(NodeStart, u16),
    Inspected(NodeStart, u16, Result<Bounds, IoFailure>),
    Trims(NodeStart, u16, u64),
    Trimmed(NodeStart, u16, Result<(), IoFailure>),
    ObjectArrives(NodeStart, ObjectId, ObjectRequest),
    ObjectDone(NodeStart, ObjectId, Result<ObjectOutcome, IoFailure>),
    Relayed(NodeStart, Vec<u8>),
    PartitionEnds(usize),
    JournalStarts,
    StoreReturns,
}

/// A node that runs.
pub(in crate::simulation::cluster) struct Running {
    pub(in crate::simulation::cluster) core: Core,
    pub(in crate::simulation::cluster) replica: Replica,
    /// Positions of the next records to read, by shard.
    positions: Vec<u64>,
    /// Loads under way, with the changes that they must find.
    loads: BTreeMap<RequestId, (DocumentId, BTreeSet<ChangeHash>)>,
    is_delivering: Vec<bool>,
}

#[derive(Default)]
pub(in crate::simulation::cluster) struct Node {
    start: u64,
    pub(in crate::simulation::cluster) running: Option<Running>,
    /// It reaches neither the journal nor the object store nor other nodes.
    is_cut: bool,
}

/// A connection between a client and a node.
pub(in crate::simulation::cluster) struct Connection {
    pub(in crate::simulation::cluster) client: usize,
    pub(in crate::simulation::cluster) node: usize,
    /// As the node knows it.
    pub(in crate::simulation::cluster) identity: Arc<Identity>,
    to_node: VecDeque<Vec<u8>>,
    to_client: VecDeque<Vec<u8>>,
    pub(in crate::simulation::cluster) is_open_at_node: bool,
    last_at_node: Duration,
    last_at_client: Duration,
    /// When the latest rights arrive at the node.
    rights_at: Duration,
}

pub(in crate::simulation::cluster) struct World {
    pub(in crate::simulation::cluster) knobs: Knobs,
    streams: Streams,
    rng: Rng,
    defect: Option<Defect>,
    pub(in crate::simulation::cluster) now: Duration,
    pub(in crate::simulation::cluster) happenings: BTreeMap<(Duration, u64), Happening>,
    count: u64,
    pub(in crate::simulation::cluster) nodes: Vec<Node>,
    /// Events for the core of the node that is at work.
    core_events: VecDeque<Event>,
    pub(in crate::simulation::cluster) journal: Journal,
    pub(in crate::simulation::cluster) store: ObjectStore,
    pub(in crate::simulation::cluster) ids: Vec<DocumentId>,
    pub(in crate::simulation::cluster) clients: Vec<SimulatedClient>,
    pub(in crate::simulation::cluster) connections: BTreeMap<SocketId, Connection>,
    pub(in crate::simulation::cluster) promise: Promise,
    /// Commands without an answer.
    pub(in crate::simulation::cluster) commands: BTreeMap<CommandId, (usize, DocumentId, Command)>,
    /// Outcomes of the latest commands about all documents.
    pub(in crate::simulation::cluster) outcomes: BTreeMap<DocumentId, (Command, CommandOutcome)>,
    pub(in crate::simulation::cluster) reconnects: bool,
    operations: usize,
    pub(in crate::simulation::cluster) frames: usize,
    pub(in crate::simulation::cluster) probes: Probes,
    pub(in crate::simulation::cluster) events: u64,
    pub(in crate::simulation::cluster) trace: Trace,
}

impl World {
    pub(in crate::simulation::cluster) fn new(seed: u64, defect: Option<Defect>) -> World {
        let streams = Streams::new(seed);
        let knobs = Knobs::draw(&mut streams.operation(usize::MAX - 1));
        let ids: Vec<DocumentId> =
            (1..=knobs.documents).map(|number| DocumentId::from_random_bytes([number as u8; 16])).collect();
        let generations = knobs.generations.iter().enumerate();
        let clients =
            generations.map(|(number, generation)| SimulatedClient::new(number, *generation, &ids)).collect();
        World {
            rng: streams.operation(usize::MAX - 2),
            streams,
            defect,
            now: Duration::ZERO,
            happenings: BTreeMap::new(),
            count: 0,
            nodes: (0..knobs.nodes).map(|_| Node::default()).collect(),
            core_events: VecDeque::new(),
            journal: Journal::new(knobs.replica.shards),
            store: ObjectStore::default(),
            ids,
            clients,
            connections: BTreeMap::new(),
            promise: Promise::default(),
            commands: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            reconnects: true,
            operations: 0,
            frames: 0,
            probes: Probes::default(),
            events: 0,
            trace: Trace::default(),
            knobs,
        }
    }

    /// Runs the world to its end, through all operations, a time without faults, and a restart of everything.
    pub(in crate::simulation::cluster) fn run(&mut self) -> Result<(), Violation> {
        (0..self.nodes.len()).for_each(|node| self.start_node(node));
        (0..self.clients.len()).for_each(|client| self.schedule(0, Happening::Connects(client)));
        self.schedule(1, Happening::Operation);
        while self.operations < self.knobs.operations {
            self.advance()?;
        }
        self.heal()?;
        self.check_converged("after the faults")?;
        (0..self.nodes.len()).for_each(|node| self.crash(node));
        self.clients.push(SimulatedClient::new(
            self.clients.len(),
            crate::simulation::client::Generation::Newest,
            &self.ids,
        ));
        self.heal()?;
        self.check_converged("after a restart")?;
        self.check_emptied()
    }

    pub(in crate::simulation::cluster) fn note(&mut self, line: impl FnOnce() -> String) {
        self.trace.note(self.now, line);
    }

    fn schedule(&mut self, delay_ms: usize, happening: Happening) {
        self.schedule_at(self.now + Duration::from_millis(delay_ms as u64), happening);
    }

    fn schedule_at(&mut self, at: Duration, happening: Happening) {
        self.count += 1;
        self.happenings.insert((at, self.count), happening);
    }

    /// Draws whether something with this probability in percent happens.
    fn draws(&mut self, percent: usize) -> bool {
        self.rng.below(100) < percent
    }

    fn is_current(&self, at: NodeStart) -> bool {
        let node = &self.nodes[at.node];
        node.start == at.start && node.running.is_some()
    }

    fn reaches_journal(&self, node: usize) -> bool {
        !self.nodes[node].is_cut && !self.journal.is_out
    }

    /// Lets the next thing happen. False if there is none.
    pub(in crate::simulation::cluster) fn advance(&mut self) -> Result<bool, Violation> {
        let Some(((at, _), happening)) = self.happenings.pop_first() else { return Ok(false) };
        self.now = self.now.max(at);
        self.events += 1;
        match happening {
            Happening::Operation => self.operate()?,
            Happening::Connects(client) => self.connect(client),
            Happening::OpensAtNode(socket) => self.open_at_node(socket)?,
            Happening::FrameToNode(socket) => {
                let open = self.connections.get_mut(&socket).filter(|there| there.is_open_at_node);
                if let Some(connection) = open
                    && let Some(frame) = connection.to_node.pop_front()
                {
                    let node = connection.node;
                    self.frames += 1;
                    self.step_core(node, Event::FrameReceived(socket, frame))?;
                }
            }
            Happening::ClosesAtNode(socket) => {
                if let Some(connection) = self.connections.remove(&socket)
                    && connection.is_open_at_node
                {
                    self.step_core(connection.node, Event::SocketClosed(socket))?;
                }
            }
            Happening::FrameToClient(socket) => self.deliver_to_client(socket)?,
            Happening::ClosesAtClient(socket) => self.close_at_client(socket),
            Happening::RightsArrive(socket, identity) => {
                if let Some(connection) = self.connections.get_mut(&socket) {
                    connection.identity = Arc::clone(&identity);
                    let (node, is_open) = (connection.node, connection.is_open_at_node);
                    if is_open {
                        self.step_core(node, Event::RightsChanged(socket, identity))?;
                    }
                }
            }
            Happening::NodeStarts(node) => self.start_node(node),
            Happening::CoreTimer(at) => {
                if self.is_current(at) {
                    self.step_core(at.node, Event::TimerFired)?;
                }
            }
            Happening::ReplicaTimer(at) => self.step_replica(at, Input::TimerFired)?,
            Happening::Worked(at, work, job) => {
                if self.is_current(at) {
                    self.step_core(at.node, Event::WorkDone(work, job.run()))?;
                }
            }
            Happening::Stored { from, id, shard, record, journal } => {
                self.store_record(from, id, shard, record, journal);
            }
            Happening::Published(at, id, result) => {
                match &result {
                    Err(IoFailure::Unknown(_)) => self.probes.count("records without an answer"),
                    Err(IoFailure::NotDone(_)) => self.probes.count("refused records"),
                    Ok(()) => {}
                }
                self.step_replica(at, Input::Published(id, result))?;
            }
            Happening::Delivers(at, shard) => self.deliver_record(at, shard)?,
            Happening::Inspects(at, shard) => {
                let result = match self.reaches_journal(at.node) {
                    true => Ok(self.journal.bounds(shard)),
                    false => Err(IoFailure::Unknown("no answer".to_owned())),
                };
                let delay = self.rng.below(self.knobs.network_ms + 1);
                self.schedule(delay, Happening::Inspected(at, shard, result));
            }
            Happening::Inspected(at, shard, result) => {
                self.step_replica(at, Input::Inspected(shard, result))?;
            }
            Happening::Trims(at, shard, through) => {
                let is_lost = !self.reaches_journal(at.node);
                if !is_lost {
                    self.probes.count("trims");
                    self.note(|| format!("shard {shard} is trimmed through {through}"));
                    self.journal.trim(shard, through, &mut self.promise)?;
                    if self.draws(self.knobs.repeated_requests) {
                        let late = self.rng.below(MAX_LATE_MS);
                        self.schedule(late, Happening::Trims(at, shard, through));
                    }
                }
                let result = match is_lost || self.draws(self.knobs.lost_answers) {
                    true => Err(IoFailure::Unknown("no answer".to_owned())),
                    false => Ok(()),
                };
                let delay = self.rng.below(self.knobs.network_ms + 1);
                self.schedule(delay, Happening::Trimmed(at, shard, result));
            }
            Happening::Trimmed(at, shard, result) => self.step_replica(at, Input::Trimmed(shard, result))?,
            Happening::ObjectArrives(at, id, request) => self.request_object(at, id, request)?,
            Happening::ObjectDone(at, id, result) => self.step_replica(at, Input::ObjectDone(id, result))?,
            Happening::Relayed(at, frame) => {
                if self.is_current(at) && !self.nodes[at.node].is_cut {
                    self.probes.count("messages between nodes");
                    self.step_core(at.node, Event::Relayed(frame))?;
                }
            }
            Happening::PartitionEnds(node) => {
                self.nodes[node].is_cut = false;
                self.reconnect_journal(node);
            }
            Happening::JournalStarts => {
                self.journal.is_out = false;
                (0..self.nodes.len()).for_each(|node| self.reconnect_journal(node));
            }
            Happening::StoreReturns => self.store.is_out = false,
        }
        Ok(true)
    }

    fn node_start(&self, node: usize) -> NodeStart {
        NodeStart { node, start: self.nodes[node].start }
    }

    fn start_node(&mut self, node: usize) {
        if self.nodes[node].running.is_some() {
            return;
        }
        self.note(|| format!("node {node} starts"));
        self.nodes[node].start += 1;
        let mut id = [0; 16];
        id[0] = node as u8;
        id[1..9].copy_from_slice(&self.nodes[node].start.to_le_bytes());
        let config = ReplicaConfig { node: NodeId(id), ..self.knobs.replica.clone() };
        let shards = usize::from(config.shards);
        self.nodes[node].running = Some(Running {
            core: Core::new(self.knobs.config.clone()),
            replica: Replica::new(config).with_defect(self.defect),
            positions: vec![0; shards],
            loads: BTreeMap::new(),
            is_delivering: vec![false; shards],
        });
        self.reconnect_journal(node);
    }

    /// Ends a node at once, with all that it has not sent.
    pub(in crate::simulation::cluster) fn crash(&mut self, node: usize) {
        if self.nodes[node].running.take().is_none() {
            return;
        }
        self.probes.count("ends of nodes");
        self.note(|| format!("node {node} ends"));
        self.commands.retain(|_, (of_node, _, _)| *of_node != node);
        let sockets = self.connections.iter().filter(|(_, there)| there.node == node);
        for socket in sockets.map(|(socket, _)| *socket).collect::<Vec<_>>() {
            self.close_from_node(socket);
        }
    }

    fn crash_for(&mut self, node: usize, pause_ms: usize) {
        self.crash(node);
        self.schedule(pause_ms, Happening::NodeStarts(node));
    }

    /// Passes an event to the core of a node, and carries out what follows.
    pub(in crate::simulation::cluster) fn step_core(
        &mut self,
        node: usize,
        event: Event,
    ) -> Result<(), Violation> {
        let at = self.node_start(node);
        self.core_events.push_back(event);
        self.process_core_events(at)
    }

    /// Lets the core of a node process what its replica has for it, after all actions from before.
    fn process_core_events(&mut self, at: NodeStart) -> Result<(), Violation> {
        while let Some(event) = self.core_events.pop_front() {
            self.trace.add_event(self.now, &event);
            let Some(running) = &mut self.nodes[at.node].running else { continue };
            let mut actions = Vec::new();
            running.core.step(self.now, event, &mut actions);
            for action in actions {
                self.trace.add_action(&action);
                self.carry_out_action(at, action)?;
            }
        }
        Ok(())
    }

    fn step_replica(&mut self, at: NodeStart, input: Input) -> Result<(), Violation> {
        if !self.is_current(at) {
            return Ok(());
        }
        let running = self.nodes[at.node].running.as_mut().expect("it is current");
        let mut outputs = Vec::new();
        running.replica.step(self.now, input, &mut outputs);
        self.carry_out_all(at, outputs)?;
        self.process_core_events(at)
    }

    fn carry_out_all(&mut self, at: NodeStart, outputs: Vec<Output>) -> Result<(), Violation> {
        outputs.into_iter().try_for_each(|output| self.carry_out(at, output))
    }

    fn carry_out_action(&mut self, at: NodeStart, action: Action) -> Result<(), Violation> {
        if let Action::Load(request, document) = &action {
            self.note_load(at.node, *request, document);
        }
        let Some(running) = &mut self.nodes[at.node].running else { return Ok(()) };
        let mut outputs = Vec::new();
        let rest = running.replica.carry_out(self.now, action, &mut outputs);
        match rest {
            None => {}
            Some(Action::Send(socket, frame)) => {
                self.check_server_frame(socket, &frame)?;
                self.send_to_client(socket, frame);
            }
            Some(Action::Close(socket, reason)) => {
                self.note(|| format!("{socket:?} closed: {reason:?}"));
                self.check_close(socket, reason)?;
                self.close_from_node(socket);
            }
            Some(Action::Answer(id, outcome)) => {
                if let Some((node, document, command)) = self.commands.remove(&id) {
                    self.probes.count("commands carried out");
                    self.note(|| format!("node {node}: {} {document:.4}: {outcome:?}", command.name()));
                    self.outcomes.insert(document, (command, outcome));
                }
            }
            Some(Action::RunWork(work, job)) => {
                let delay = self.rng.below(self.knobs.work_ms + 1);
                self.schedule(delay, Happening::Worked(at, work, Box::new(job)));
            }
            Some(Action::WakeAt(time)) => {
                let late = Duration::from_millis(self.rng.below(20) as u64);
                self.schedule_at(time + late, Happening::CoreTimer(at));
            }
            Some(Action::Report(fact)) => self.note_fact(at, &fact),
            Some(Action::Relay(..)) if self.nodes[at.node].is_cut => {}
            Some(Action::Relay(_, frame)) => {
                for node in (0..self.nodes.len()).filter(|node| *node != at.node) {
                    let delay = self.rng.below(self.knobs.network_ms + 1);
                    self.schedule(delay, Happening::Relayed(self.node_start(node), frame.clone()));
                }
            }
            Some(action) => return Err(Violation::new("form", format!("{action:?}"))),
        }
        self.carry_out_all(at, outputs)
    }

    /// Notes what a load must find: all that is stored, but for records that the node has not read.
    fn note_load(&mut self, node: usize, request: RequestId, document: &DocumentId) {
        if self.knobs.damaged_gets > 0 {
            // It may end after the last fault.
            return;
        }
        let shard = shard_of(document, self.knobs.replica.shards);
        let Some(running) = &mut self.nodes[node].running else { return };
        let read = running.replica.last_read(shard);
        let mut must = self.journal.changes_of(document, shard, read);
        // Lists may be older than later ones.
        let until = self.now.saturating_sub(self.knobs.replica.list_lag);
        must.extend(self.store.changes_of(document, until));
        running.loads.insert(request, (document.clone(), must));
    }

    fn check_load(
        &mut self,
        node: usize,
        request: RequestId,
        stored: &StoredDocument,
    ) -> Result<(), Violation> {
        let Some(running) = &mut self.nodes[node].running else { return Ok(()) };
        let Some((document, must)) = running.loads.remove(&request) else { return Ok(()) };
        if stored.is_deleted || self.promise.is_void(&document) {
            return Ok(());
        }
        let found: BTreeSet<ChangeHash> =
            stored.chunks.iter().flat_map(|chunk| hashes(&chunk.bytes).collect::<Vec<_>>()).collect();
        match must.difference(&found).next() {
            Some(hash) => Err(Violation::new("opening", format!("node {node}: {document} without {hash}"))),
            None => Ok(()),
        }
    }

    fn note_fact(&mut self, at: NodeStart, fact: &Fact) {
        self.note(|| format!("node {}: {fact}", at.node));
        match fact {
            Fact::Degraded => self.probes.count("degradations"),
            Fact::Recovered => self.probes.count("recoveries"),
            Fact::LoadFailed { .. } => self.probes.count("failed loads"),
            Fact::CompactionFailed { .. } => self.probes.count("failed compactions"),
            Fact::ChunkUnreadable { .. } => self.probes.count("unreadable chunks"),
            _ => {}
        }
    }

    fn carry_out(&mut self, at: NodeStart, output: Output) -> Result<(), Violation> {
        let delay = self.rng.below(self.knobs.network_ms + 1);
        let journal_delay = delay + self.rng.below(self.knobs.journal_ms + 1);
        let store_delay = self.rng.below(self.knobs.store_ms + 1);
        match output {
            Output::ToCore(event) => {
                match &event {
                    Event::AllOutdated => self.probes.count("gaps"),
                    Event::DocumentOutdated(_) => self.probes.count("outdated documents"),
                    Event::ChunksStored(_) => self.probes.count("records of other nodes"),
                    _ => {}
                }
                if let Event::Loaded(request, Ok(stored)) = &event {
                    self.check_load(at.node, *request, stored)?;
                }
                self.core_events.push_back(event);
            }
            Output::Publish { id, shard, record } => self.publish(at, id, shard, record, journal_delay),
            Output::Inspect(shard) => self.schedule(delay, Happening::Inspects(at, shard)),
            Output::Trim { shard, through } => self.schedule(delay, Happening::Trims(at, shard, through)),
            Output::List(id, document) => {
                self.schedule(store_delay, Happening::ObjectArrives(at, id, ObjectRequest::List(document)));
            }
            Output::Get(id, key) => {
                self.schedule(store_delay, Happening::ObjectArrives(at, id, ObjectRequest::Get(key)));
            }
            Output::Put(id, key, bytes) => {
                self.schedule(store_delay, Happening::ObjectArrives(at, id, ObjectRequest::Put(key, bytes)));
            }
            Output::Delete(id, key) => {
                self.schedule(store_delay, Happening::ObjectArrives(at, id, ObjectRequest::Delete(key)));
            }
            Output::WakeAt(time) => {
                let late = Duration::from_millis(self.rng.below(20) as u64);
                self.schedule_at(time + late, Happening::ReplicaTimer(at));
            }
            Output::Report(fact) => return Err(Violation::new("form", fact.to_string())),
        }
        Ok(())
    }

    /// Carries out the next operation of a client, or the next fault.
    fn operate(&mut self) -> Result<(), Violation> {
        let number = self.operations;
        let mut rng = self.streams.operation(number);
        self.operations += 1;
        let pause = rng.below(self.knobs.pause_ms + 1);
        self.schedule(pause, Happening::Operation);
        let knobs = &self.knobs;
        let rates = [
            knobs.crashes,
            knobs.crashes_of_all,
            knobs.partitions,
            knobs.journal_restarts,
            knobs.store_outages,
            knobs.moves,
            knobs.client_restarts,
            knobs.client_restarts * 2,
            knobs.access_changes,
            knobs.broadcasts,
            knobs.deletions,
            knobs.deletions,
            knobs.deletions.div_ceil(4),
        ];
        let drawn = rng.below(100.max(rates.iter().sum::<usize>() * 3 / 2));
        let mut sum = 0;
        let kind = rates.iter().position(|rate| {
            sum += rate;
            drawn < sum
        });
        let client = rng.below(self.clients.len());
        let node = rng.below(self.nodes.len());
        let id = self.ids[rng.below(self.ids.len())].clone();
        match kind {
            Some(0) => self.crash_for(node, rng.below(1000)),
            Some(1) => (0..self.nodes.len()).for_each(|node| self.crash_for(node, rng.below(1000))),
            Some(2) if !self.nodes[node].is_cut => {
                self.probes.count("partitions");
                self.note(|| format!("operation {number}: node {node} is cut off"));
                self.nodes[node].is_cut = true;
                self.schedule(rng.below(6000), Happening::PartitionEnds(node));
            }
            Some(3) if !self.journal.is_out => {
                self.probes.count("restarts of the journal");
                self.note(|| format!("operation {number}: the journal ends"));
                self.journal.is_out = true;
                self.journal.start += 1;
                self.schedule(rng.below(4000), Happening::JournalStarts);
            }
            Some(4) if !self.store.is_out => {
                self.probes.count("outages of the store");
                self.note(|| format!("operation {number}: the object store fails"));
                self.store.is_out = true;
                self.schedule(rng.below(5000), Happening::StoreReturns);
            }
            Some(5) => {
                self.note(|| format!("operation {number}: client {client} is cut"));
                self.cut(client);
            }
            Some(6) => {
                self.note(|| format!("operation {number}: client {client} restarts"));
                self.cut(client);
                self.clients[client].start();
            }
            Some(7) => self.clients[client].save(&mut rng),
            Some(8) => {
                self.note(|| format!("operation {number}: the rights of client {client} change"));
                self.change_rights(client, &mut rng);
            }
            Some(9) => {
                self.clients[client].client.broadcast(&id, vec![0x40]);
                self.send_from_client(client);
            }
            Some(kind @ 10..) if self.nodes[node].running.is_some() => {
                let command =
                    [Command::Delete { at: 1 }, Command::Undelete, Command::Purge { deleted_until: 1 }];
                self.command(node, &id, command[kind - 10])?;
            }
            _ => {
                self.probes.count("edits");
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

    /// Gives a node a command.
    pub(in crate::simulation::cluster) fn command(
        &mut self,
        node: usize,
        document: &DocumentId,
        command: Command,
    ) -> Result<(), Violation> {
        self.note(|| format!("node {node}: {} {document:.4}", command.name()));
        self.probes.count("commands");
        if let Command::Purge { .. } = command {
            self.promise.note_purge_requested(document);
        }
        self.count += 1;
        let id = CommandId(self.count);
        self.commands.insert(id, (node, document.clone(), command));
        self.step_core(node, Event::CommandReceived(id, document.clone(), command))
    }

    pub(in crate::simulation::cluster) fn end_faults(&mut self) {
        self.knobs.heal();
        (self.journal.is_out, self.store.is_out) = (false, false);
        self.happenings.retain(|_, happening| !matches!(happening, Happening::Operation));
        for node in 0..self.nodes.len() {
            self.nodes[node].is_cut = false;
            self.start_node(node);
            self.reconnect_journal(node);
        }
    }

    /// A node for a command of the operator.
    pub(in crate::simulation::cluster) fn any_node(&mut self) -> usize {
        self.rng.below(self.nodes.len())
    }

    pub(in crate::simulation::cluster) fn flips(&mut self) -> bool {
        self.draws(50)
    }
}
