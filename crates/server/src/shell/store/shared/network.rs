//! Requests of a node to the journal and the object store, on tokio's threads.

use std::sync::mpsc::Sender;

use futures_util::StreamExt as _;
use tokio::runtime::Handle;

use super::SharedStorage;
use super::journal::{Journal, RETRY};
use super::objects::{ObjectRequest, Objects};
use crate::storage::cluster::{Input, NodeId, ObjectId, Output};

/// What comes from the network.
pub(in crate::shell) enum NetworkEvent {
    Replica(Input),
    /// A message between users from another node.
    Relayed(Vec<u8>),
}

/// The network of a node.
pub(in crate::shell) struct Network<T> {
    runtime: Handle,
    journal: Journal,
    objects: Objects,
    node: NodeId,
    events: Sender<T>,
}

impl<T: From<NetworkEvent> + Send + 'static> Network<T> {
    /// Starts to read the journal. Events go to `events`.
    pub(super) fn start(runtime: Handle, storage: SharedStorage, events: Sender<T>) -> Network<T> {
        let SharedStorage { journal, objects, config, .. } = storage;
        for shard in 0..journal.shards() {
            let (reader, sender, bounds_sender) = (journal.clone(), events.clone(), events.clone());
            let (bounds_runtime, bounds_journal) = (runtime.clone(), journal.clone());
            runtime.spawn(async move {
                let deliver = |sequence, record| {
                    send(&sender, NetworkEvent::Replica(Input::RecordDelivered { shard, sequence, record }));
                };
                let inspect = || {
                    let (sender, journal) = (bounds_sender.clone(), bounds_journal.clone());
                    bounds_runtime.spawn(async move {
                        let bounds = journal.bounds(shard).await;
                        send(&sender, NetworkEvent::Replica(Input::Inspected(shard, bounds)));
                    });
                };
                reader.read(shard, deliver, inspect).await;
            });
        }
        let network = Network { runtime, journal, objects, node: config.node, events };
        network.read_relayed();
        network
    }

    /// Is there a connection to the journal?
    pub(super) fn is_reached(&self) -> bool {
        self.journal.is_reached()
    }

    /// Carries out a request of the replica. Its outcome comes as an event.
    pub(super) fn carry_out(&self, output: Output) {
        let journal = self.journal.clone();
        match output {
            Output::Publish { id, shard, record } => {
                self.run(async move { Input::Published(id, journal.publish(shard, record).await) });
            }
            Output::Inspect(shard) => {
                self.run(async move { Input::Inspected(shard, journal.bounds(shard).await) });
            }
            Output::Trim { shard, through } => {
                self.run(async move { Input::Trimmed(shard, journal.trim(shard, through).await) });
            }
            Output::List(id, document) => self.request(id, ObjectRequest::List(document)),
            Output::Get(id, key) => self.request(id, ObjectRequest::Get(key)),
            Output::Put(id, key, bytes) => self.request(id, ObjectRequest::Put(key, bytes)),
            Output::Delete(id, key) => self.request(id, ObjectRequest::Delete(key)),
            // The node itself carries them out.
            Output::ToCore(_) | Output::WakeAt(_) | Output::Report(_) => {}
        }
    }

    fn request(&self, id: ObjectId, request: ObjectRequest) {
        let objects = self.objects.clone();
        self.run(async move { Input::ObjectDone(id, objects.carry_out(request).await) });
    }

    fn run(&self, work: impl Future<Output = Input> + Send + 'static) {
        let events = self.events.clone();
        self.runtime.spawn(async move { send(&events, NetworkEvent::Replica(work.await)) });
    }

    /// Passes a message between users to other nodes. It may be lost.
    pub(super) fn relay(&self, frame: &[u8]) {
        let (client, subject) = (self.journal.client.clone(), self.journal.relay_subject());
        let payload = [&self.node.0[..], frame].concat();
        self.runtime.spawn(async move {
            // Presence is sent again.
            let _ = client.publish(subject, payload.into()).await;
        });
    }

    fn read_relayed(&self) {
        let (client, subject) = (self.journal.client.clone(), self.journal.relay_subject());
        let (node, events) = (self.node, self.events.clone());
        self.runtime.spawn(async move {
            // The client subscribes again after each lost connection; this is for a subscription that fails or ends otherwise.
            loop {
                if let Ok(mut messages) = client.subscribe(subject.clone()).await {
                    while let Some(message) = messages.next().await {
                        if let Some((from, frame)) = message.payload.split_first_chunk::<16>()
                            && *from != node.0
                        {
                            send(&events, NetworkEvent::Relayed(frame.to_vec()));
                        }
                    }
                }
                tokio::time::sleep(RETRY).await;
            }
        });
    }
}

fn send<T: From<NetworkEvent>>(events: &Sender<T>, event: NetworkEvent) {
    // The core has ended.
    let _ = events.send(T::from(event));
}
