//! The journal: one JetStream stream for each shard.

use std::collections::HashMap;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State as ConnectionState;
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, PersistenceMode, RetentionPolicy, StorageType, Stream,
};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions};
use futures_util::StreamExt as _;
use hashmill_atomic_file::open_regular;
use tokio::sync::watch;
use zeroize::Zeroizing;

use super::{MAX_MESSAGE_BYTES, SharedSettings};
use crate::event::IoFailure;
use crate::shell::error::OpenError;
use crate::shell::store::storage_error;
use crate::storage::cluster::Bounds;

/// Time after which a request to the journal counts as lost.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a file of credentials.
const MAX_CREDENTIALS_BYTES: u64 = 64 << 10;
/// Delay before records, or messages between users, are asked for again.
pub(super) const RETRY: Duration = Duration::from_millis(300);
/// Maximum size of a shard. A fuller one takes no records: its trims fail.
const MAX_SHARD_BYTES: i64 = 256 << 20;
/// Facts that are stored with a stream.
const SHARDS_FACT: &str = "hashmill-shards";
const STORAGE_FACT: &str = "hashmill-storage";

/// A connection to the journal.
#[derive(Clone)]
pub(super) struct Journal {
    pub(super) client: Client,
    context: Context,
    name: String,
    streams: Arc<Vec<Stream>>,
    is_reached: Arc<AtomicBool>,
    /// Number of connections so far.
    connections: watch::Receiver<u64>,
}

impl Journal {
    pub(super) async fn open(settings: &SharedSettings, storage_id: &str) -> Result<Journal, OpenError> {
        let failed = |reason: String| OpenError::Journal { place: settings.journal.clone(), reason };
        let is_reached = Arc::new(AtomicBool::new(true));
        let noted = Arc::clone(&is_reached);
        let (connected, connections) = watch::channel(0);
        let mut options = ConnectOptions::new()
            .name("hashmill")
            .connection_timeout(TIMEOUT)
            .reconnect_delay_callback(|attempts| RETRY * u32::try_from(attempts.clamp(1, 5)).unwrap_or(5))
            .event_callback(move |event| {
                match event {
                    async_nats::Event::Connected => {
                        noted.store(true, Ordering::Release);
                        connected.send_modify(|count| *count += 1);
                    }
                    async_nats::Event::Disconnected | async_nats::Event::Closed => {
                        noted.store(false, Ordering::Release);
                    }
                    _ => {}
                }
                std::future::ready(())
            });
        if let Some(path) = &settings.credentials {
            let wrong =
                |error: std::io::Error| OpenError::Storage { path: path.clone(), reason: error.to_string() };
            let file = open_regular(path).map_err(|error| storage_error(path, &error))?;
            let mut text = Zeroizing::new(String::new());
            file.take(MAX_CREDENTIALS_BYTES).read_to_string(&mut text).map_err(wrong)?;
            options = options.credentials(&text).map_err(wrong)?;
        }
        let client = options.connect(settings.journal.as_str()).await;
        let client = client.map_err(|error| {
            failed(format!(
                "it cannot be reached: {error}: start nats-server with JetStream there, or correct `journal`"
            ))
        })?;
        let max_payload = client.server_info().max_payload;
        if max_payload < MAX_MESSAGE_BYTES {
            return Err(failed(format!(
                "it takes messages of {max_payload} bytes: set max_payload to {MAX_MESSAGE_BYTES} or more"
            )));
        }
        let mut context = jetstream::new(client.clone());
        context.set_timeout(TIMEOUT);
        let mut streams = Vec::new();
        for shard in 0..settings.shards {
            let wanted = stream_config(settings, storage_id, shard);
            let stream = context.get_or_create_stream(wanted).await.map_err(|error| {
                failed(format!(
                    "the stream {}-{shard} cannot be created: {error}: nats-server needs JetStream with a directory, and {} servers for \
                     `journal-replicas`",
                    settings.name, settings.replicas
                ))
            })?;
            check(&stream.cached_info().config, settings, storage_id).map_err(failed)?;
            streams.push(stream);
        }
        let (name, streams) = (settings.name.clone(), Arc::new(streams));
        Ok(Journal { client, context, name, streams, is_reached, connections })
    }

    /// Is there a connection?
    pub(super) fn is_reached(&self) -> bool {
        self.is_reached.load(Ordering::Acquire)
            && self.client.connection_state() == ConnectionState::Connected
    }

    pub(super) fn shards(&self) -> u16 {
        self.streams.len() as u16
    }

    /// Appends a record. A success says that it survives a crash of the journal.
    pub(super) async fn publish(&self, shard: u16, record: Vec<u8>) -> Result<(), IoFailure> {
        let subject = format!("{}.j.{shard}", self.name);
        let stored = async {
            let answer =
                self.context.publish(subject, record.into()).await.map_err(|error| error.to_string())?;
            answer.await.map_err(|error| error.to_string())
        };
        match tokio::time::timeout(TIMEOUT, stored).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(reason)) => Err(IoFailure::Unknown(format!("the journal: {reason}"))),
            Err(_) => Err(IoFailure::Unknown("the journal does not answer".to_owned())),
        }
    }

    pub(super) async fn bounds(&self, shard: u16) -> Result<Bounds, IoFailure> {
        let info = self.streams[usize::from(shard)].get_info().await;
        let state = info.map_err(|error| IoFailure::NotDone(error.to_string()))?.state;
        Ok(Bounds { first: state.first_sequence, last: state.last_sequence })
    }

    /// Removes records up to a position.
    pub(super) async fn trim(&self, shard: u16, through: u64) -> Result<(), IoFailure> {
        let purged = self.streams[usize::from(shard)].purge().sequence(through + 1).await;
        purged.map(drop).map_err(|error| IoFailure::Unknown(error.to_string()))
    }

    /// Reads records without end, each once and in order, but for those that are trimmed before. After each start of the reading,
    /// `inspect` is called.
    pub(super) async fn read(
        &self,
        shard: u16,
        mut deliver: impl FnMut(u64, Vec<u8>),
        mut inspect: impl FnMut(),
    ) {
        let mut last = 0;
        let mut connections = self.connections.clone();
        loop {
            connections.mark_unchanged();
            let config = pull::OrderedConfig {
                deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: last + 1 },
                ..pull::OrderedConfig::default()
            };
            let messages = async {
                let consumer = self.streams[usize::from(shard)].create_consumer(config).await.ok()?;
                consumer.messages().await.ok()
            };
            if let Some(mut messages) = messages.await {
                inspect();
                // An error ends it, and the next round goes on after the last record. So does a new connection: a journal that was
                // started again does not know the reader, which would notice that by missing heartbeats alone.
                loop {
                    let message = tokio::select! {
                        message = messages.next() => message,
                        Ok(()) = connections.changed() => None,
                    };
                    let Some(Ok(message)) = message else { break };
                    let Ok(info) = message.info() else { break };
                    last = info.stream_sequence;
                    deliver(last, message.payload.to_vec());
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// The subject for messages between users.
    pub(super) fn relay_subject(&self) -> String {
        format!("{}.e", self.name)
    }
}

fn stream_config(settings: &SharedSettings, storage_id: &str, shard: u16) -> Config {
    let facts = [(SHARDS_FACT, settings.shards.to_string()), (STORAGE_FACT, storage_id.to_owned())];
    Config {
        name: format!("{}-{shard}", settings.name),
        subjects: vec![format!("{}.j.{shard}", settings.name)],
        max_bytes: MAX_SHARD_BYTES,
        discard: DiscardPolicy::New,
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        num_replicas: settings.replicas,
        metadata: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<HashMap<_, _>>(),
        ..Config::default()
    }
}

/// Checks that a stream keeps what it acknowledges.
fn check(config: &Config, settings: &SharedSettings, storage_id: &str) -> Result<(), String> {
    let name = &config.name;
    let fact = |fact: &str| config.metadata.get(fact).cloned().unwrap_or_default();
    if fact(STORAGE_FACT) != storage_id {
        return Err(format!(
            "the stream {name} belongs to other snapshots ({}, not {storage_id}): use those, or another `journal-name`",
            fact(STORAGE_FACT)
        ));
    }
    if fact(SHARDS_FACT) != settings.shards.to_string() {
        return Err(format!(
            "the journal has {} streams: set `journal-shards` to that number, which cannot be changed",
            fact(SHARDS_FACT)
        ));
    }
    if config.storage != StorageType::File {
        return Err(format!(
            "the stream {name} is in memory, and loses acknowledged changes: recreate it with file storage"
        ));
    }
    if config.num_replicas < settings.replicas {
        return Err(format!(
            "the stream {name} has {} replicas: run `nats stream edit {name} --replicas {}`, or lower `journal-replicas`",
            config.num_replicas, settings.replicas
        ));
    }
    let is_async = config.persist_mode == Some(PersistenceMode::Async);
    if config.no_ack || is_async {
        return Err(format!(
            "the stream {name} acknowledges before it stores: recreate it without no_ack and asynchronous persistence"
        ));
    }
    let drops_old = config.discard == DiscardPolicy::Old && (config.max_bytes > 0 || config.max_messages > 0);
    if drops_old || !config.max_age.is_zero() || config.max_messages_per_subject > 0 {
        return Err(format!(
            "the stream {name} drops old records, which may be in no snapshot: recreate it without max_age, max_msgs_per_subject and \
             discard old"
        ));
    }
    if config.max_message_size > 0 && (config.max_message_size as usize) < MAX_MESSAGE_BYTES {
        return Err(format!(
            "the stream {name} takes messages of {} bytes: allow {MAX_MESSAGE_BYTES}",
            config.max_message_size
        ));
    }
    if config.num_replicas < 3 && !settings.is_synced {
        return Err(format!(
            "the stream {name} has {} of 3 replicas, so a change may be acknowledged before it is on a disk or on a quorum: set \
             `sync_interval: always` in nats-server's configuration and then `journal-synced = true`, or use `journal-replicas = 3`",
            config.num_replicas
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::store::shared::SnapshotPlace;

    fn settings(replicas: usize, is_synced: bool) -> SharedSettings {
        SharedSettings {
            journal: "nats://127.0.0.1:4222".to_owned(),
            credentials: None,
            name: "hm".to_owned(),
            shards: 4,
            replicas,
            is_synced,
            snapshots: SnapshotPlace::Folder("snapshots".into()),
            node: [0; 16],
        }
    }

    type Change = fn(&mut Config);

    #[test]
    fn streams_that_lose_records_are_refused() {
        let settings = settings(1, true);
        let sound = stream_config(&settings, "id", 0);
        assert_eq!(check(&sound, &settings, "id"), Ok(()));
        let changes: [(Change, &str); 10] = [
            (|config| config.storage = StorageType::Memory, "is in memory"),
            (|config| config.no_ack = true, "acknowledges before"),
            (|config| config.persist_mode = Some(PersistenceMode::Async), "acknowledges before"),
            (|config| config.max_age = Duration::from_secs(1), "drops old"),
            (|config| config.max_messages_per_subject = 1, "drops old"),
            (|config| config.discard = DiscardPolicy::Old, "drops old"),
            (|config| config.max_message_size = 1000, "takes messages of 1000 bytes"),
            (|config| config.num_replicas = 0, "has 0 replicas"),
            (|config| drop(config.metadata.insert(SHARDS_FACT.to_owned(), "8".to_owned())), "has 8 streams"),
            (|config| config.metadata.clear(), "belongs to other snapshots"),
        ];
        for (change, expected) in changes {
            let mut config = sound.clone();
            change(&mut config);
            let reason = check(&config, &settings, "id").expect_err(expected);
            assert!(reason.contains(expected) && reason.lines().count() == 1, "{reason}");
        }
    }

    #[test]
    fn a_disk_or_a_quorum_is_needed() {
        for (replicas, is_synced, is_taken) in
            [(1, false, false), (1, true, true), (2, false, false), (3, false, true), (3, true, true)]
        {
            let settings = settings(replicas, is_synced);
            let result = check(&stream_config(&settings, "id", 0), &settings, "id");
            assert_eq!(result.is_ok(), is_taken, "{replicas} {is_synced} {result:?}");
        }
    }
}
