//! Requests of the operator over HTTP, and the files of the dashboard.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hashmill_repo::DocumentId;
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

use super::answer::{
    Refusal, ResponseBody, events_response, file_response, json_response, pieces_response, redirect,
};
use super::backup_stream;
use super::catalogue::Catalogue;
use super::events::Feed;
use super::guard::{Ends, Guard};
use super::rates::Rates;
use super::routes::{self, Change, Operation};
use super::sweeper::Sweeper;
use crate::core::{Counts, SocketView, Usage};
use crate::event::{Intervention, IoFailure};
use crate::ids::SocketId;
use crate::shell::Settings;
use crate::shell::driver::Handle;
use crate::shell::store::{RunningClock, Store};
use crate::shell::transfer::BackupKey;
use crate::storage::{Command, CommandOutcome};

/// Maximum time for a command, after which the operator is told to ask again.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// Files of the dashboard, by path. They have no data, and need no token.
const FILES: [(&str, &str, &str); 5] = [
    ("/admin/", "text/html; charset=utf-8", include_str!("page/page.html")),
    ("/admin/page.css", "text/css; charset=utf-8", include_str!("page/page.css")),
    ("/admin/page.js", "text/javascript; charset=utf-8", include_str!("page/page.js")),
    ("/admin/charts.js", "text/javascript; charset=utf-8", include_str!("page/charts.js")),
    ("/admin/texts.js", "text/javascript; charset=utf-8", include_str!("page/texts.js")),
];
/// The description of the requests.
const OPENAPI: &str = include_str!("page/openapi.json");

/// Facts about a server that stay the same.
struct ServerFacts {
    storage_id: String,
    peer_id: String,
    address: SocketAddr,
    started_at: u64,
    limits: Value,
}

/// Requests of the operator.
pub(in crate::shell) struct Admin {
    guard: Guard,
    core: Handle,
    /// `None`: the storage is shared.
    store: Option<Arc<Store>>,
    clock: RunningClock,
    unix_time: fn() -> u64,
    sweeper: Arc<Notify>,
    stop: watch::Sender<bool>,
    feed: Feed,
    rates: Rates,
    catalogue: Arc<Catalogue>,
    facts: ServerFacts,
    backups: AtomicU64,
}

/// A request, without its body.
pub(in crate::shell) struct AdminRequest<'r> {
    pub(in crate::shell) head: &'r Parts,
    pub(in crate::shell) has_body: bool,
    pub(in crate::shell) ends: Ends,
    /// Ends the connection.
    pub(in crate::shell) abort: Arc<Notify>,
}

/// Parts of a server that requests of the operator use.
pub(in crate::shell) struct Sources<'s> {
    pub(in crate::shell) core: Handle,
    pub(in crate::shell) storage_id: String,
    /// `None`: the storage is shared.
    pub(in crate::shell) store: Option<Arc<Store>>,
    pub(in crate::shell) sweeper: &'s Sweeper,
    pub(in crate::shell) feed: Feed,
    pub(in crate::shell) rates: Rates,
    pub(in crate::shell) stop: watch::Sender<bool>,
    /// The address for clients.
    pub(in crate::shell) address: SocketAddr,
}

/// Is a path one of the operator's?
pub(in crate::shell) fn has_path(path: &str) -> bool {
    path == "/admin" || path.starts_with("/admin/")
}

impl Admin {
    pub(in crate::shell) fn new(settings: &Settings, sources: Sources<'_>) -> Admin {
        let Sources { core, storage_id, store, sweeper, feed, rates, stop, address } = sources;
        let facts = ServerFacts {
            storage_id,
            peer_id: settings.peer_id.clone(),
            address,
            started_at: (settings.unix_time)(),
            limits: limits_json(settings),
        };
        let guard = Guard {
            tokens: settings.admin.tokens.clone(),
            hosts: settings.admin.hosts.clone(),
            has_own_listener: !settings.admin.listen.is_empty(),
        };
        Admin {
            guard,
            catalogue: Arc::new(Catalogue::new(core.clone(), store.clone(), settings.undelete_time)),
            core,
            store,
            clock: sweeper.clock(),
            unix_time: settings.unix_time,
            sweeper: sweeper.waker(),
            stop,
            feed,
            rates,
            facts,
            backups: AtomicU64::new(0),
        }
    }

    /// Carries out a request.
    pub(in crate::shell) async fn respond(&self, request: AdminRequest<'_>) -> Response<ResponseBody> {
        self.try_respond(request).await.unwrap_or_else(Refusal::into_response)
    }

    async fn try_respond(&self, request: AdminRequest<'_>) -> Result<Response<ResponseBody>, Refusal> {
        let AdminRequest { head, has_body, ends, abort } = request;
        let path = head.uri.path();
        self.guard.check_host(&head.headers, ends)?;
        if has_body {
            let reason = "requests of the operator have no body";
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", reason));
        }
        // A link on another page may lead to the dashboard, which has no data itself.
        if head.method == Method::GET {
            if path == "/admin" {
                return Ok(redirect("/admin/"));
            }
            if let Some((_, kind, text)) = FILES.iter().find(|(name, ..)| *name == path) {
                return Ok(file_response(kind, text));
            }
        }
        self.guard.check_origin(&head.headers)?;
        self.guard.check_token(&head.headers)?;
        let operation = routes::parse(&head.method, path, head.uri.query())?;
        if let Operation::Events { document } = operation {
            let permit = self.feed.acquire()?;
            let events = self.feed.start(Arc::clone(&self.catalogue), document, permit, abort);
            return Ok(events_response(events));
        }
        if operation == Operation::Backup {
            let reason = "servers share the storage: copy the snapshots and the files of the journal, while all servers and nats-server \
                          are stopped";
            let store = self.single_store(reason)?;
            let pieces =
                backup_stream::start(store, self.backup_key(), (self.unix_time)(), self.core.clone()).await;
            return pieces.map(pieces_response).map_err(|failure| storage_fails(&failure));
        }
        if operation == Operation::OpenApi {
            return Ok(file_response("application/json", OPENAPI));
        }
        let (status, value) = self.carry_out(operation).await?;
        Ok(json_response(status, &value))
    }

    async fn carry_out(&self, operation: Operation) -> Result<(StatusCode, Value), Refusal> {
        let value = match operation {
            Operation::Server => self.describe_server().await?,
            Operation::Documents(query) => self.catalogue.list(query).await?,
            Operation::Document { document, changes } => self.catalogue.details(&document, changes).await?,
            Operation::Connections { after, limit } => self.list_connections(after, limit).await?,
            Operation::Rates => self.rates.to_json(),
            Operation::Change(document, change) => return self.change(document, change).await,
            Operation::CloseConnection(socket) => {
                let outcome = self.intervene(Intervention::CloseSocket(socket)).await?;
                let (status, mut value) = outcome_json(outcome, "there is no such connection");
                value["connection"] = json!(socket.0);
                return Ok((status, value));
            }
            Operation::Stop => {
                self.stop.send_replace(true);
                return Ok((StatusCode::ACCEPTED, json!({ "outcome": "done" })));
            }
            Operation::CorrectCounts => self.correct_counts().await?,
            // They have answers of other kinds.
            Operation::Events { .. } | Operation::Backup | Operation::OpenApi => return Err(ends()),
        };
        Ok((StatusCode::OK, value))
    }

    async fn change(&self, document: DocumentId, change: Change) -> Result<(StatusCode, Value), Refusal> {
        let delete = Command::Delete { at: self.clock.now() };
        let outcome = match change {
            Change::Delete => self.execute(document.clone(), delete).await?,
            Change::Undelete => self.execute(document.clone(), Command::Undelete).await?,
            Change::Compact => self.intervene(Intervention::Compact(document.clone())).await?,
            Change::Evict => self.intervene(Intervention::Evict(document.clone())).await?,
            Change::EndQuarantine => self.intervene(Intervention::EndQuarantine(document.clone())).await?,
        };
        let reason = match (change, outcome) {
            (Change::Evict, CommandOutcome::Absent) => "the document is not in memory",
            (Change::Evict, _) => "the document has clients, or is being worked on",
            (Change::EndQuarantine, _) => "the document is not in quarantine",
            (Change::Compact, CommandOutcome::Failed) => "the storage did not store the snapshot",
            (_, CommandOutcome::Purged) => "the contents of the document were removed",
            _ => "there is no such document",
        };
        let (status, mut value) = outcome_json(outcome, reason);
        value["document"] = json!(document.to_string());
        Ok((status, value))
    }

    async fn execute(&self, document: DocumentId, command: Command) -> Result<CommandOutcome, Refusal> {
        let outcome = timeout(COMMAND_TIMEOUT, self.core.execute(document, command)).await;
        if command != Command::Undelete {
            self.sweeper.notify_one();
        }
        match outcome {
            Ok(Some(outcome)) => Ok(outcome),
            Ok(None) => Err(ends()),
            Err(_) => {
                let reason = "the storage is busy or fails: the command is tried again; ask again later";
                Err(Refusal::unavailable("busy", reason))
            }
        }
    }

    async fn intervene(&self, intervention: Intervention) -> Result<CommandOutcome, Refusal> {
        match timeout(COMMAND_TIMEOUT, self.core.intervene(intervention)).await {
            Ok(outcome) => outcome.ok_or_else(ends),
            Err(_) => Err(Refusal::unavailable("busy", "the server is busy: ask again later")),
        }
    }

    /// The storage, unless it is shared.
    fn single_store(&self, reason: &str) -> Result<Arc<Store>, Refusal> {
        let shared = || Refusal::new(StatusCode::NOT_IMPLEMENTED, "storage-shared", reason);
        self.store.clone().ok_or_else(shared)
    }

    async fn correct_counts(&self) -> Result<Value, Refusal> {
        let store = self.single_store("servers share the storage, and count no bytes of owners")?;
        let differences = store.run_blocking(Store::count_differences).await;
        let differences = differences.map_err(|failure| storage_fails(&failure))?;
        let count = differences.len();
        let done = self.core.adjust_counts(differences).await.ok_or_else(ends)?;
        done.map_err(|failure| storage_fails(&failure))?;
        Ok(json!({ "outcome": "done", "corrected": count }))
    }

    /// Bytes that no writer of documents can know: they follow from the tokens of the operator.
    fn backup_key(&self) -> BackupKey {
        let number = self.backups.fetch_add(1, Ordering::Relaxed);
        let mut hash = Sha256::new_with_prefix("hashmill backup");
        self.guard.tokens.iter().for_each(|token| hash.update(token));
        hash.update((self.unix_time)().to_le_bytes());
        hash.update(number.to_le_bytes());
        let digest = hash.finalize();
        std::array::from_fn(|index| digest[index])
    }

    async fn describe_server(&self) -> Result<Value, Refusal> {
        let view = self.core.view(|view| (view.core.usage(), view.core.counts())).await;
        let (usage, counts) = view.ok_or_else(ends)?;
        let facts = &self.facts;
        let now = (self.unix_time)();
        let state = match (self.core.is_ready(), usage.is_degraded || self.core.is_apart()) {
            (true, _) => "ready",
            (false, true) => "storage-failing",
            (false, false) => "stopping",
        };
        Ok(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "state": state,
            "time": now,
            "started_at": facts.started_at,
            "uptime_s": now.saturating_sub(facts.started_at),
            "storage_id": facts.storage_id,
            "peer_id": facts.peer_id,
            "address": facts.address.to_string(),
            "usage": usage_json(&usage),
            "totals": totals_json(&counts),
            "limits": facts.limits,
        }))
    }

    async fn list_connections(&self, after: Option<SocketId>, limit: usize) -> Result<Value, Refusal> {
        let rows = self.core.view(move |view| {
            let row = |socket: SocketView| {
                let origin = view.origin(socket.socket);
                let address = origin.map(|origin| origin.address.to_string());
                let agent = origin.and_then(|origin| origin.agent.clone());
                (socket, address, agent)
            };
            view.core.socket_views(after, limit + 1).into_iter().map(row).collect::<Vec<_>>()
        });
        let mut rows = rows.await.ok_or_else(ends)?;
        let is_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().map(|(socket, ..)| socket.socket.0.to_string()).filter(|_| is_more);
        let rows: Vec<Value> = rows
            .iter()
            .map(|(socket, address, agent)| connection_json(socket, address.as_deref(), agent.as_deref()))
            .collect();
        Ok(json!({ "connections": rows, "next": next }))
    }
}

fn storage_fails(failure: &IoFailure) -> Refusal {
    Refusal::unavailable("failed", failure.reason())
}

fn ends() -> Refusal {
    Refusal::unavailable("stopping", "the server ends: a change is made or not")
}

/// The answer to a command. `reason` is for outcomes in which nothing was done.
fn outcome_json(outcome: CommandOutcome, reason: &str) -> (StatusCode, Value) {
    let (status, name) = match outcome {
        CommandOutcome::Done => return (StatusCode::OK, json!({ "outcome": "done" })),
        CommandOutcome::Absent => (StatusCode::NOT_FOUND, "absent"),
        CommandOutcome::Purged => (StatusCode::GONE, "purged"),
        CommandOutcome::NotDue => (StatusCode::CONFLICT, "not-due"),
        CommandOutcome::Failed => (StatusCode::SERVICE_UNAVAILABLE, "failed"),
    };
    (status, json!({ "outcome": name, "code": name, "error": reason }))
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "connections": usage.sockets,
        "documents_open": usage.documents,
        "documents_quarantined": usage.quarantined,
        "document_bytes": usage.document_bytes,
        "queue_bytes": usage.socket_bytes,
        "unstored_bytes": usage.staged_bytes,
    })
}

fn totals_json(counts: &Counts) -> Value {
    json!({
        "received_messages": counts.received_messages,
        "received_bytes": counts.received_bytes,
        "sent_messages": counts.sent_messages,
        "sent_bytes": counts.sent_bytes,
        "changes": counts.changes,
        "refused_changes": counts.refused_changes,
        "refused_messages": counts.refused_messages,
        "commits": counts.commits,
        "failed_commits": counts.failed_commits,
        "committed_bytes": counts.committed_bytes,
        "snapshots": counts.snapshots,
        "loads": counts.loads,
        "evictions": counts.evictions,
        "quarantines": counts.quarantines,
        "deletions": counts.deletions,
        "pauses": counts.pauses,
        "closed_connections": counts.closes,
    })
}

fn limits_json(settings: &Settings) -> Value {
    let limits = settings.limits;
    let bounded = |limit: usize| (limit < usize::MAX).then_some(limit);
    json!({
        "memory_bytes": settings.memory_bytes,
        "message_bytes": settings.max_frame_bytes,
        "connections": settings.max_sockets,
        "connections_per_identity": bounded(limits.max_sockets_per_identity),
        "connections_per_address": bounded(limits.max_connections_per_address),
        "messages_per_s": limits.messages_per_second,
        "bytes_per_s": limits.bytes_per_second,
        "document_bytes": bounded(limits.max_document_bytes),
        "stored_bytes_per_identity": limits.max_stored_bytes_per_identity,
        "undelete_s": settings.undelete_time.as_secs(),
        "delete_idle_s": settings.idle_time.map(|time| time.as_secs()),
    })
}

fn connection_json(socket: &SocketView, address: Option<&str>, agent: Option<&str>) -> Value {
    json!({
        "connection": socket.socket.0,
        "identity": socket.identity,
        "peer": socket.peer,
        "address": address,
        "agent": agent,
        "age_s": socket.age.as_secs(),
        "documents": socket.documents,
        "received_messages": socket.received_messages,
        "received_bytes": socket.received_bytes,
        "sent_bytes": socket.sent_bytes,
        "received_bytes_per_s": socket.received_bytes_per_second,
        "sent_bytes_per_s": socket.sent_bytes_per_second,
        "queue_bytes": socket.queue_bytes,
        "inbox_bytes": socket.inbox_bytes,
        "is_paused": socket.is_paused,
    })
}
