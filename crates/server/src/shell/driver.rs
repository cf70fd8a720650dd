//! Threads around the core: events to it, its actions to sockets and to the storage.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hashmill_repo::DocumentId;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};

use super::metrics::{ShellCounts, write_metrics};
#[cfg(feature = "cluster")]
use super::store::shared::{NetworkEvent, SharedNode, SharedStorage};
use super::store::{OwnerCounts, Store};
use crate::config::Config;
use crate::core::Core;
use crate::document::{DocumentDetails, DocumentJob};
use crate::event::{Action, CloseReason, Event, Intervention, IoFailure, RightsAnswer};
use crate::fact::Fact;
use crate::identity::Identity;
use crate::ids::{BatchId, CommandId, RequestId, SocketId, WorkId};
use crate::storage::{ChunkKey, Command, CommandOutcome, Owner, StoredChunk};

/// Maximum number of threads for loads and large work.
const MAX_WORKERS: usize = 4;

/// Interval for looking at the connection to a shared journal.
#[cfg(feature = "cluster")]
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Address and program of a socket's client.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) address: IpAddr,
    /// The program, as its request names it.
    pub(super) agent: Option<String>,
}

/// The core's state and the origins of its sockets, for requests of the operator.
pub(super) struct View<'v> {
    pub(super) core: &'v Core,
    sockets: &'v BTreeMap<SocketId, SocketQueue>,
}

impl View<'_> {
    pub(super) fn origin(&self, socket: SocketId) -> Option<&Origin> {
        self.sockets.get(&socket).map(|queue| &queue.origin)
    }
}

/// A look at the state.
type Look = Box<dyn FnOnce(&View<'_>) + Send>;

/// The ends of a socket's queues at the core.
pub(super) struct SocketQueue {
    origin: Origin,
    frames: UnboundedSender<Vec<u8>>,
    /// Beside the queue of frames, which a client may never read.
    close: watch::Sender<Option<CloseReason>>,
    /// Takes questions about the rights of the client.
    ask: Option<AskRights>,
}

/// Takes questions of the core to another service. The answers come by [`Handle::answer_rights`].
pub(super) type AskRights = Box<dyn Fn(SocketId, RequestId, DocumentId) + Send>;

/// The ends of these queues at the socket.
pub(super) struct Outgoing {
    pub(super) frames: UnboundedReceiver<Vec<u8>>,
    pub(super) close: watch::Receiver<Option<CloseReason>>,
    /// Kept while the socket is open.
    pub(super) open: watch::Receiver<()>,
}

/// An input of the core's thread.
enum Input {
    /// A new socket, with the queue of its frames.
    Opened(SocketId, Arc<Identity>, SocketQueue),
    /// A frame. The permit returns when the core has processed it, so that a socket cannot send faster than the core reads.
    Frame(SocketId, Vec<u8>, OwnedSemaphorePermit),
    Event(Event),
    Report(Fact),
    /// A request for metrics.
    Metrics(oneshot::Sender<String>),
    /// The operator's command, and where its outcome goes.
    Command(DocumentId, Command, oneshot::Sender<CommandOutcome>),
    Intervention(Intervention, oneshot::Sender<CommandOutcome>),
    /// A request for details of a document, with up to a number of changes.
    Inspection(DocumentId, usize, oneshot::Sender<Option<DocumentDetails>>),
    Look(Look),
    /// Differences to correct counts of stored bytes by, and where the outcome goes.
    Adjust(BTreeMap<String, i64>, oneshot::Sender<Result<(), IoFailure>>),
    #[cfg(feature = "cluster")]
    Network(NetworkEvent),
}

#[cfg(feature = "cluster")]
impl From<NetworkEvent> for Input {
    fn from(event: NetworkEvent) -> Input {
        Input::Network(event)
    }
}

enum StoreJob {
    Append(BatchId, Vec<StoredChunk>, BTreeMap<DocumentId, String>),
    Put(RequestId, StoredChunk),
    Delete(RequestId, Vec<ChunkKey>),
    Execute(RequestId, DocumentId, Command),
    Adjust(BTreeMap<String, i64>, oneshot::Sender<Result<(), IoFailure>>),
}

enum WorkerJob {
    Load(RequestId, DocumentId),
    LoadOwner(String),
    Work(WorkId, DocumentJob),
}

/// The state that requests for the health of the server read.
#[derive(Default)]
struct Health {
    is_degraded: AtomicBool,
    /// A shared journal is not reached, or was not read to where it ended at the start.
    is_apart: AtomicBool,
    is_draining: AtomicBool,
    has_drained: AtomicBool,
}

/// The threads of a server.
pub(super) struct Driver {
    handle: Handle,
    ended: watch::Receiver<bool>,
    ready: watch::Receiver<bool>,
    /// The threads that use the storage.
    threads: Vec<JoinHandle<()>>,
}

/// Access of sockets to the core.
#[derive(Clone)]
pub(super) struct Handle {
    inputs: Sender<Input>,
    health: Arc<Health>,
    counts: Arc<ShellCounts>,
    last_socket: Arc<AtomicU64>,
    /// Each open socket has a receiver.
    open_sockets: Arc<watch::Sender<()>>,
}

impl Driver {
    /// Starts the threads.
    pub(super) fn start(
        config: Config,
        storage: Storage,
        report: impl Fn(&Fact) + Send + 'static,
    ) -> io::Result<Driver> {
        let (inputs, received) = channel();
        let (ended_sender, ended) = watch::channel(false);
        let (ready_sender, ready) = watch::channel(false);
        let health = Arc::new(Health::default());
        let (writes, write_queue) = channel();
        let (works, work_queue) = channel();
        let counts = Arc::new(ShellCounts::default());
        let mut threads = Vec::new();
        #[cfg(feature = "cluster")]
        let mut shared = None;
        let store = match storage {
            Storage::Local(store) => {
                let writer = (Arc::clone(&store), inputs.clone(), Arc::clone(&counts));
                let run_writes = move || run_writes(&write_queue, &writer.0, &writer.1, &writer.2);
                threads.push(spawn("store", run_writes)?);
                Some(store)
            }
            #[cfg(feature = "cluster")]
            Storage::Shared(runtime, storage) => {
                health.is_apart.store(true, Ordering::Release);
                shared = Some(SharedNode::start(runtime, *storage, inputs.clone()));
                None
            }
        };
        let work_queue = Arc::new(Mutex::new(work_queue));
        let workers = thread::available_parallelism().map_or(1, |count| count.get().min(MAX_WORKERS));
        for _ in 0..workers {
            let (queue, store, inputs) = (Arc::clone(&work_queue), store.clone(), inputs.clone());
            threads.push(spawn("work", move || run_works(&queue, store.as_deref(), &inputs))?);
        }
        let mut core = CoreThread {
            core: Core::new(config),
            sockets: BTreeMap::new(),
            paused: BTreeMap::new(),
            last_command: 0,
            answers: BTreeMap::new(),
            details: BTreeMap::new(),
            writes,
            works,
            health: Arc::clone(&health),
            counts: Arc::clone(&counts),
            start: Instant::now(),
            wake_at: None,
            ready: ready_sender,
            #[cfg(feature = "cluster")]
            shared,
        };
        spawn("core", move || {
            // Dropped also by a panic.
            let _ended = SetOnDrop(ended_sender);
            core.run(&received, &report);
        })?;
        let open_sockets = Arc::new(watch::channel(()).0);
        let handle = Handle { inputs, health, counts, last_socket: Arc::default(), open_sockets };
        Ok(Driver { handle, ended, ready, threads })
    }

    /// Waits for the threads that use the storage, after the core has ended: it is then closed.
    pub(super) fn join(self) {
        for thread in self.threads {
            // Its panic was reported.
            let _ = thread.join();
        }
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Becomes true when the core's thread has ended.
    pub(super) fn ended(&self) -> watch::Receiver<bool> {
        self.ended.clone()
    }

    /// Waits until no socket is open.
    pub(super) async fn sockets_closed(&self) {
        self.handle.open_sockets.closed().await;
    }

    /// Becomes true when clients can be served.
    pub(super) fn ready(&self) -> watch::Receiver<bool> {
        self.ready.clone()
    }

    /// Is all that was received stored, after a request to stop?
    pub(super) fn has_drained(&self) -> bool {
        self.handle.health.has_drained.load(Ordering::Acquire)
    }
}

impl Handle {
    /// Registers a socket. Returns its id, and what the core has for it.
    pub(super) fn open(
        &self,
        identity: Arc<Identity>,
        origin: Origin,
        ask: Option<AskRights>,
    ) -> (SocketId, Outgoing) {
        let socket = SocketId(self.last_socket.fetch_add(1, Ordering::Relaxed) + 1);
        let (frames, received_frames) = unbounded_channel();
        let (close, received_close) = watch::channel(None);
        self.send(Input::Opened(socket, identity, SocketQueue { origin, frames, close, ask }));
        (
            socket,
            Outgoing { frames: received_frames, close: received_close, open: self.open_sockets.subscribe() },
        )
    }

    pub(super) fn receive(&self, socket: SocketId, frame: Vec<u8>, permit: OwnedSemaphorePermit) {
        self.send(Input::Frame(socket, frame, permit));
    }

    /// Tells the operator that a client was not let in.
    pub(super) fn note_refused_client(&self, address: IpAddr, reason: String) {
        self.counts.refused_clients.fetch_add(1, Ordering::Relaxed);
        self.send(Input::Report(Fact::ClientRefused { address, reason }));
    }

    /// Counts a handshake that failed. If the client refuses the certificate, the operator is told.
    pub(super) fn note_failed_handshake(&self, address: IpAddr, refusal: Option<String>) {
        self.counts.failed_handshakes.fetch_add(1, Ordering::Relaxed);
        if let Some(reason) = refusal {
            self.report(Fact::CertificateRefused { address, reason });
        }
    }

    /// Tells the operator.
    pub(super) fn report(&self, fact: Fact) {
        self.send(Input::Report(fact));
    }

    /// Counts of the threads around the core.
    pub(super) fn counts(&self) -> &ShellCounts {
        &self.counts
    }

    /// Passes changed counts of stored bytes on. Those of two writers may arrive in another order; the next write corrects that.
    pub(super) fn count_bytes(&self, owners: Vec<Owner>) {
        self.send(Input::Event(Event::BytesCounted(owners)));
    }

    /// The metrics, as text. `None` if the core has ended.
    pub(super) async fn metrics(&self) -> Option<String> {
        let (answer, received) = oneshot::channel();
        self.send(Input::Metrics(answer));
        received.await.ok()
    }

    /// Carries out a command about a document, and returns its outcome when it is durable. `None` if the core has ended.
    pub(super) async fn execute(&self, document: DocumentId, command: Command) -> Option<CommandOutcome> {
        let (answer, received) = oneshot::channel();
        self.send(Input::Command(document, command, answer));
        received.await.ok()
    }

    /// Carries out an intervention. `None` if the core has ended.
    pub(super) async fn intervene(&self, intervention: Intervention) -> Option<CommandOutcome> {
        let (answer, received) = oneshot::channel();
        self.send(Input::Intervention(intervention, answer));
        received.await.ok()
    }

    /// Details of a document, if it is in memory. `None` if the core has ended.
    pub(super) async fn inspect(
        &self,
        document: DocumentId,
        max_changes: usize,
    ) -> Option<Option<DocumentDetails>> {
        let (answer, received) = oneshot::channel();
        self.send(Input::Inspection(document, max_changes, answer));
        received.await.ok()
    }

    /// Looks at the state of the core on its thread, which waits meanwhile. `None` if the core has ended.
    pub(super) async fn view<R: Send + 'static>(
        &self,
        look: impl FnOnce(&View<'_>) -> R + Send + 'static,
    ) -> Option<R> {
        let (answer, received) = oneshot::channel();
        self.send(Input::Look(Box::new(move |view| {
            // The request may have ended.
            let _ = answer.send(look(view));
        })));
        received.await.ok()
    }

    /// Corrects counts of stored bytes by these differences, in order with other writes. `None` if the core has ended.
    pub(super) async fn adjust_counts(
        &self,
        differences: BTreeMap<String, i64>,
    ) -> Option<Result<(), IoFailure>> {
        let (answer, received) = oneshot::channel();
        self.send(Input::Adjust(differences, answer));
        received.await.ok()
    }

    pub(super) fn change_rights(&self, socket: SocketId, identity: Arc<Identity>) {
        self.send(Input::Event(Event::RightsChanged(socket, identity)));
    }

    pub(super) fn answer_rights(&self, request: RequestId, answer: Result<RightsAnswer, String>) {
        self.send(Input::Event(Event::RightsAnswered(request, answer)));
    }

    pub(super) fn end_rights(&self, socket: SocketId) {
        self.send(Input::Event(Event::RightsEnded(socket)));
    }

    pub(super) fn drained(&self, socket: SocketId, bytes: usize) {
        self.send(Input::Event(Event::SocketDrained(socket, bytes)));
    }

    pub(super) fn closed(&self, socket: SocketId) {
        self.send(Input::Event(Event::SocketClosed(socket)));
    }

    /// Asks the core to store what it has and to close all sockets.
    pub(super) fn drain(&self) {
        self.health.is_draining.store(true, Ordering::Release);
        self.send(Input::Event(Event::DrainRequested));
    }

    /// Are changes of clients stored?
    pub(super) fn is_ready(&self) -> bool {
        let Health { is_degraded, is_apart, is_draining, .. } = &*self.health;
        ![is_degraded, is_apart, is_draining].into_iter().any(|flag| flag.load(Ordering::Acquire))
    }

    /// Is a shared journal not reached, or not yet read?
    pub(super) fn is_apart(&self) -> bool {
        self.health.is_apart.load(Ordering::Acquire)
    }

    fn send(&self, input: Input) {
        // The core has ended: so will all sockets.
        let _ = self.inputs.send(input);
    }
}

struct CoreThread {
    core: Core,
    sockets: BTreeMap<SocketId, SocketQueue>,
    /// Sockets that are not read, with the permits of frames that were read since.
    paused: BTreeMap<SocketId, Vec<OwnedSemaphorePermit>>,
    last_command: u64,
    /// Where the outcomes of commands go.
    answers: BTreeMap<CommandId, oneshot::Sender<CommandOutcome>>,
    /// Where details of documents go.
    details: BTreeMap<CommandId, oneshot::Sender<Option<DocumentDetails>>>,
    writes: Sender<StoreJob>,
    works: Sender<WorkerJob>,
    health: Arc<Health>,
    counts: Arc<ShellCounts>,
    start: Instant,
    wake_at: Option<Duration>,
    ready: watch::Sender<bool>,
    #[cfg(feature = "cluster")]
    shared: Option<SharedNode<Input>>,
}

/// Where a server stores changes.
pub(super) enum Storage {
    Local(Arc<Store>),
    /// With the threads for the network.
    #[cfg(feature = "cluster")]
    Shared(tokio::runtime::Handle, Box<SharedStorage>),
}

impl CoreThread {
    fn run(&mut self, inputs: &Receiver<Input>, report: &impl Fn(&Fact)) {
        let mut actions = Vec::new();
        let mut events = VecDeque::new();
        loop {
            self.note_readiness();
            let now = self.start.elapsed();
            let input = match self.next_wake() {
                None => inputs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => inputs.recv_timeout(at.saturating_sub(now)),
            };
            let mut permit = None;
            let event = match input {
                Ok(Input::Opened(socket, identity, queue)) => {
                    self.sockets.insert(socket, queue);
                    Event::SocketOpened(socket, identity)
                }
                Ok(Input::Frame(socket, frame, of_frame)) => {
                    permit = Some((socket, of_frame));
                    Event::FrameReceived(socket, frame)
                }
                Ok(Input::Event(event)) => {
                    if let Event::SocketClosed(socket) = &event {
                        self.sockets.remove(socket);
                        self.paused.remove(socket);
                    }
                    event
                }
                #[cfg(feature = "cluster")]
                Ok(Input::Network(event)) => {
                    if let Some(shared) = &mut self.shared {
                        shared.receive(self.start.elapsed(), event, &mut events, report);
                    }
                    let Some(event) = events.pop_front() else { continue };
                    event
                }
                Ok(Input::Metrics(answer)) => {
                    let text = write_metrics(&self.core.usage(), &self.core.counts(), &self.counts);
                    // The request may have ended.
                    let _ = answer.send(text);
                    continue;
                }
                Ok(Input::Command(document, command, answer)) => {
                    let id = self.next_command();
                    self.answers.insert(id, answer);
                    Event::CommandReceived(id, document, command)
                }
                Ok(Input::Intervention(intervention, answer)) => {
                    let id = self.next_command();
                    self.answers.insert(id, answer);
                    Event::InterventionReceived(id, intervention)
                }
                Ok(Input::Inspection(document, max_changes, answer)) => {
                    let id = self.next_command();
                    self.details.insert(id, answer);
                    Event::InspectionReceived(id, document, max_changes)
                }
                Ok(Input::Look(look)) => {
                    look(&View { core: &self.core, sockets: &self.sockets });
                    continue;
                }
                Ok(Input::Adjust(differences, answer)) => {
                    drop(self.writes.send(StoreJob::Adjust(differences, answer)));
                    continue;
                }
                Ok(Input::Report(fact)) => {
                    report(&fact);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.wake_at = self.wake_at.filter(|at| *at > self.start.elapsed());
                    #[cfg(feature = "cluster")]
                    if let Some(shared) = &mut self.shared {
                        shared.fire_timer(self.start.elapsed(), &mut events, report);
                    }
                    Event::TimerFired
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            events.push_front(event);
            while let Some(event) = events.pop_front() {
                self.core.step(self.start.elapsed(), event, &mut actions);
                for action in actions.drain(..) {
                    self.carry_out(action, &mut events, report);
                }
            }
            // Kept while the socket is paused, and given back otherwise.
            if let Some((socket, permit)) = permit
                && let Some(permits) = self.paused.get_mut(&socket)
            {
                permits.push(permit);
            }
            self.health.is_degraded.store(self.core.is_degraded(), Ordering::Release);
            if self.health.has_drained.load(Ordering::Acquire) {
                return;
            }
        }
    }

    fn next_command(&mut self) -> CommandId {
        self.last_command += 1;
        CommandId(self.last_command)
    }

    #[cfg(not(feature = "cluster"))]
    fn next_wake(&self) -> Option<Duration> {
        self.wake_at
    }

    #[cfg(feature = "cluster")]
    fn next_wake(&self) -> Option<Duration> {
        let shared = self.shared.as_ref();
        // The connection to the journal is looked at regularly.
        let look_at = shared.map(|_| self.start.elapsed() + LOOK_INTERVAL);
        [self.wake_at, shared.and_then(SharedNode::wake_at), look_at].into_iter().flatten().min()
    }

    #[cfg(not(feature = "cluster"))]
    fn note_readiness(&self) {
        self.ready.send_if_modified(|ready| !std::mem::replace(ready, true));
    }

    #[cfg(feature = "cluster")]
    fn note_readiness(&self) {
        let is_caught_up = self.shared.as_ref().is_none_or(SharedNode::is_caught_up);
        let is_reached = self.shared.as_ref().is_none_or(SharedNode::is_reached);
        self.health.is_apart.store(!is_caught_up || !is_reached, Ordering::Release);
        self.ready.send_if_modified(|ready| is_caught_up && !std::mem::replace(ready, true));
    }

    fn carry_out(&mut self, action: Action, events: &mut VecDeque<Event>, report: &impl Fn(&Fact)) {
        #[cfg(feature = "cluster")]
        let action = match &mut self.shared {
            Some(shared) => match shared.carry_out(self.start.elapsed(), action, events, report) {
                Some(action) => action,
                None => return,
            },
            None => action,
        };
        #[cfg(not(feature = "cluster"))]
        let _ = events;
        // A thread that has ended gives no answer, which the core takes for a slow one. A socket that has ended reports it.
        match action {
            Action::Send(socket, frame) => {
                if let Some(queue) = self.sockets.get(&socket) {
                    drop(queue.frames.send(frame));
                }
            }
            Action::Close(socket, reason) => {
                self.paused.remove(&socket);
                if let Some(queue) = self.sockets.remove(&socket) {
                    queue.close.send_replace(Some(reason));
                }
            }
            Action::AskRights { request, socket, document } => {
                if let Some(ask) = self.sockets.get(&socket).and_then(|queue| queue.ask.as_ref()) {
                    ask(socket, request, document);
                }
            }
            Action::PauseReads(socket) => drop(self.paused.insert(socket, Vec::new())),
            Action::ResumeReads(socket) => drop(self.paused.remove(&socket)),
            Action::Append { batch, chunks, owners } => {
                drop(self.writes.send(StoreJob::Append(batch, chunks, owners)));
            }
            Action::PutSnapshot { request, chunk } => {
                drop(self.writes.send(StoreJob::Put(request, chunk)));
            }
            Action::Delete(request, keys) => drop(self.writes.send(StoreJob::Delete(request, keys))),
            Action::Execute(request, document, command) => {
                drop(self.writes.send(StoreJob::Execute(request, document, command)));
            }
            Action::Answer(id, outcome) => {
                if let Some(answer) = self.answers.remove(&id) {
                    // The request may have ended.
                    let _ = answer.send(outcome);
                }
            }
            Action::Inspected(id, details) => {
                if let Some(answer) = self.details.remove(&id) {
                    // The request may have ended.
                    let _ = answer.send(details);
                }
            }
            Action::LoadOwner(name) => drop(self.works.send(WorkerJob::LoadOwner(name))),
            Action::Load(request, document) => drop(self.works.send(WorkerJob::Load(request, document))),
            Action::RunWork(work, job) => drop(self.works.send(WorkerJob::Work(work, job))),
            // There are no other nodes.
            Action::Relay(..) => {}
            Action::WakeAt(at) => self.wake_at = Some(at),
            Action::Report(fact) => {
                report(&fact);
                if fact == Fact::Drained {
                    self.health.has_drained.store(true, Ordering::Release);
                }
            }
        }
    }
}

/// Writes in order, each durable before its outcome is reported. Counts of owners come first.
fn run_writes(jobs: &Receiver<StoreJob>, store: &Store, inputs: &Sender<Input>, counts: &ShellCounts) {
    while let Ok(job) = jobs.recv() {
        let (event, OwnerCounts { changed, negative }) = match job {
            StoreJob::Append(batch, chunks, owners) => {
                let start = Instant::now();
                let (result, owners) = split(store.put(&chunks, &owners).map(|owners| ((), owners)));
                counts.note_commit(start.elapsed());
                (Some(Event::Appended(batch, result)), owners)
            }
            StoreJob::Put(request, chunk) => {
                let result = store.put(&[chunk], &BTreeMap::new());
                let (result, owners) = split(result.map(|owners| ((), owners)));
                (Some(Event::Completed(request, result)), owners)
            }
            StoreJob::Delete(request, keys) => {
                let (result, owners) = split(store.delete(&keys).map(|owners| ((), owners)));
                (Some(Event::Completed(request, result)), owners)
            }
            StoreJob::Execute(request, document, command) => {
                let (result, owners) = split(store.execute(&document, command));
                (Some(Event::Executed(request, result)), owners)
            }
            StoreJob::Adjust(differences, answer) => {
                let (result, owners) = split(store.adjust_counts(&differences).map(|owners| ((), owners)));
                // The request may have ended.
                let _ = answer.send(result);
                (None, owners)
            }
        };
        let reports = negative.into_iter().map(|owner| Input::Report(Fact::CountWrong { owner }));
        let counted = (!changed.is_empty()).then_some(Event::BytesCounted(changed));
        for input in reports.chain(counted.into_iter().chain(event).map(Input::Event)) {
            if inputs.send(input).is_err() {
                return;
            }
        }
    }
}

/// The outcome of a write, and the counts of owners that it changed.
fn split<T>(result: Result<(T, OwnerCounts), IoFailure>) -> (Result<T, IoFailure>, OwnerCounts) {
    match result {
        Ok((outcome, owners)) => (Ok(outcome), owners),
        Err(failure) => (Err(failure), OwnerCounts::default()),
    }
}

/// `store` is `None` where the core's node loads documents itself.
fn run_works(jobs: &Mutex<Receiver<WorkerJob>>, store: Option<&Store>, inputs: &Sender<Input>) {
    loop {
        // The lock is held while waiting: the other threads wait for it instead of for a job.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // A panic costs this document alone: it stays with the job. The panic's message goes to the operator.
        let done = catch_unwind(AssertUnwindSafe(|| match job {
            WorkerJob::Load(request, document) => Some(Event::Loaded(request, store?.load(&document))),
            // The core asks again with the next message that needs the count.
            WorkerJob::LoadOwner(name) => store?.load_owner(name).ok().map(Event::OwnerLoaded),
            WorkerJob::Work(work, job) => Some(Event::WorkDone(work, job.run())),
        }));
        if let Ok(Some(event)) = done
            && inputs.send(Input::Event(event)).is_err()
        {
            return;
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(format!("hashmill-{name}")).spawn(run)
}

/// Sets a flag when it is dropped.
struct SetOnDrop(watch::Sender<bool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}
