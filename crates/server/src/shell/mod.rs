//! The server on a machine: sockets, storage in a directory, threads, clock.
//!
//! The core runs on a thread of its own, which never waits for anything but the next event. Appends run on a second thread, loads and
//! large work on further ones, sockets on tokio's.

mod admin;
pub mod auth;
mod blobs;
mod driver;
mod error;
mod http;
mod metrics;
mod socket;
mod store;
mod transfer;
mod transport;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::access::Access;
use crate::config::Config;
use crate::event::IoFailure;
use crate::fact::Fact;
use crate::storage::{StorageClock, seconds_behind};
use hashmill_repo::StorageId;

pub use admin::{
    AdminSettings, DeletedDocument, DocumentSizes, execute, list_deleted, list_documents, show_document,
};
pub use error::{OpenError, RunError};
pub use transfer::{
    BACKUP_MAGIC, RestoreOptions, StorageSummary, TransferCounts, TransferError, TransferFact, WrongCount,
    back_up, check, export, import, inspect, read_backup, restore,
};
pub use transport::{
    Authorities, Certificate, CertificateError, ClientError, ForwardedError, NetworkError, ServiceUrl,
    ServiceUrlError, TrustedProxies,
};

use admin::{Admin, Feed, Rates, Sources};
use auth::{Authentication, Gate, RightsService};
use blobs::Blobs;
use driver::{Driver, Storage};
#[cfg(feature = "cluster")]
use store::shared::SharedStorage;
#[cfg(feature = "cluster")]
pub use store::shared::{SharedSettings, SnapshotPlace};
use store::{RunningClock, Store};
use transport::{HttpClient, Tls, watch_expiry};

/// Time for storing what was received, after a request to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(20);

/// Time for the closing handshakes of sockets after that.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses to listen on: the first that is free to use. Several when a name has several.
    pub listen: Vec<SocketAddr>,
    /// The directory of the storage, which is created.
    pub folder: PathBuf,
    /// A storage that several servers share, in place of the directory.
    #[cfg(feature = "cluster")]
    pub shared: Option<SharedSettings>,
    /// The id of this server among peers.
    pub peer_id: String,
    /// Random bytes for the id of a new storage.
    pub new_storage_id: [u8; 16],
    /// Accepted clients and their rights.
    pub authentication: Authentication,
    /// Where an issuer of JSON Web Tokens publishes its keys.
    pub key_url: Option<ServiceUrl>,
    /// Another service that knows tokens and the rights of clients.
    pub rights_service: Option<RightsService>,
    /// Authorities whose certificates other servers show to this one.
    pub authorities: Authorities,
    /// The most that any client may do.
    pub max_access: Access,
    /// The time in seconds since 1970, for tokens and new storages.
    pub unix_time: fn() -> u64,
    /// Maximum size of a message of a client.
    pub max_frame_bytes: usize,
    /// Budget for documents in memory.
    pub memory_bytes: usize,
    /// Maximum number of open sockets.
    pub max_sockets: usize,
    /// Limits of single clients.
    pub limits: ClientLimits,
    /// Proxies that name the addresses of clients.
    pub trusted_proxies: TrustedProxies,
    /// Certificate of the server. `None`: it speaks no TLS.
    pub certificate: Option<Certificate>,
    /// Answer requests for metrics?
    pub has_metrics: bool,
    /// Requests of the operator.
    pub admin: AdminSettings,
    /// A deleted document can be brought back for this time, while a server runs. Then its contents are removed.
    pub undelete_time: Duration,
    /// Blobs beside documents. `None`: there are none.
    pub blobs: Option<BlobSettings>,
    /// Documents are deleted that no client has read or changed for this time. `None`: they stay.
    pub idle_time: Option<Duration>,
}

/// Settings of blobs.
#[derive(Clone, Copy, Debug)]
pub struct BlobSettings {
    /// Maximum size of a blob.
    pub max_bytes: u64,
    /// A blob that no document refers to is removed this time after it was put. So is an unfinished upload.
    pub claim_time: Duration,
    /// Maximum number of unfinished uploads of one identity.
    pub max_uploads_per_identity: usize,
}

/// Limits of single clients and documents.
#[derive(Clone, Copy, Debug)]
pub struct ClientLimits {
    /// Maximum number of sockets of one identity.
    pub max_sockets_per_identity: usize,
    /// Maximum number of connections of one address.
    pub max_connections_per_address: usize,
    /// Messages of a socket in a second. Faster ones are read later.
    pub messages_per_second: Option<u64>,
    /// Bytes of messages of a socket in a second. Faster ones are read later.
    pub bytes_per_second: Option<u64>,
    /// Maximum size of a document in the storage.
    pub max_document_bytes: usize,
    /// Maximum size of all documents of one identity in the storage.
    pub max_stored_bytes_per_identity: Option<u64>,
}

impl Default for ClientLimits {
    /// No limits.
    fn default() -> ClientLimits {
        ClientLimits {
            max_sockets_per_identity: usize::MAX,
            max_connections_per_address: usize::MAX,
            messages_per_second: None,
            bytes_per_second: None,
            max_document_bytes: usize::MAX,
            max_stored_bytes_per_identity: None,
        }
    }
}

/// A server that is ready to accept clients.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    /// The listener for requests of the operator alone, and its address.
    admin: Option<(TcpListener, SocketAddr)>,
    settings: Settings,
    store: OpenStorage,
    stop: watch::Sender<bool>,
    authentication: watch::Sender<Arc<Authentication>>,
    certificates: Option<watch::Sender<Certificate>>,
    tls: Option<Tls>,
    client: Option<HttpClient>,
}

/// An open storage.
struct OpenStorage {
    kind: StorageKind,
    clock: StorageClock,
    /// The clock of the machine is far behind by this.
    seconds_behind: Option<u64>,
}

enum StorageKind {
    Local(Arc<Store>),
    #[cfg(feature = "cluster")]
    Shared(Box<SharedStorage>),
}

impl OpenStorage {
    fn open(settings: &Settings, runtime: &Runtime) -> Result<OpenStorage, OpenError> {
        let new_storage_id = StorageId::from_random_bytes(settings.new_storage_id);
        #[cfg(feature = "cluster")]
        if let Some(shared) = &settings.shared {
            refuse_unshared(settings)?;
            // Deletions have the time of the machine. Nothing is judged by it: their contents stay.
            let clock = StorageClock::resume(None, None, (settings.unix_time)());
            let open = SharedStorage::open(shared, &settings.folder, new_storage_id.as_str());
            return Ok(OpenStorage {
                kind: StorageKind::Shared(Box::new(runtime.block_on(open)?)),
                clock,
                seconds_behind: None,
            });
        }
        #[cfg(not(feature = "cluster"))]
        let _ = runtime;
        let mut store = Store::open(&settings.folder, new_storage_id.as_str())?;
        let failed = |failure: IoFailure| OpenError::Storage {
            path: settings.folder.clone(),
            reason: failure.reason().to_owned(),
        };
        store.record_uses_from_now_on(settings.idle_time.is_some()).map_err(failed)?;
        let unix_time = (settings.unix_time)();
        let clock = store.clock(unix_time).map_err(failed)?;
        let seconds_behind = seconds_behind(store.recorded_unix_time().map_err(failed)?, unix_time);
        Ok(OpenStorage { kind: StorageKind::Local(Arc::new(store)), clock, seconds_behind })
    }

    fn storage_id(&self) -> &str {
        match &self.kind {
            StorageKind::Local(store) => store.storage_id(),
            #[cfg(feature = "cluster")]
            StorageKind::Shared(storage) => storage.storage_id(),
        }
    }
}

/// Refuses settings that a shared storage does not carry out.
#[cfg(feature = "cluster")]
fn refuse_unshared(settings: &Settings) -> Result<(), OpenError> {
    let refused = [
        (settings.blobs.is_some(), "blobs"),
        (settings.idle_time.is_some(), "deletion of unused documents"),
        (settings.limits.max_stored_bytes_per_identity.is_some(), "quotas"),
    ];
    match refused.into_iter().find(|(is_set, _)| *is_set) {
        Some((_, what)) => Err(OpenError::NotShared(what)),
        None => Ok(()),
    }
}

/// Asks a server to stop.
#[derive(Clone)]
pub struct StopHandle(watch::Sender<bool>);

/// Changes who may connect to a running server.
#[derive(Clone)]
pub struct RightsHandle(watch::Sender<Arc<Authentication>>);

/// Changes the certificate of a running server.
#[derive(Clone)]
pub struct CertificateHandle(watch::Sender<Certificate>);

impl CertificateHandle {
    /// Replaces the certificate for new connections. Open ones go on.
    pub fn replace(&self, certificate: Certificate) {
        self.0.send_replace(certificate);
    }
}

impl RightsHandle {
    /// Replaces tokens, keys and rights. Open connections get their new rights, or are closed if they have none.
    pub fn replace(&self, authentication: Authentication) {
        self.0.send_replace(Arc::new(authentication));
    }
}

impl StopHandle {
    /// Asks the server to store what it has received, close all sockets, and return.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Opens the storage, then the address: a client that connects is answered.
    pub fn open(settings: Settings) -> Result<Server, OpenError> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(OpenError::Threads)?;
        let store = OpenStorage::open(&settings, &runtime)?;
        let (listener, address) = runtime.block_on(listen(&settings.listen))?;
        let certificates = settings.certificate.clone().map(|certificate| watch::channel(certificate).0);
        let tls = certificates.as_ref().map(|sender| Tls::new(sender.subscribe())).transpose()?;
        let admin = match &settings.admin.listen[..] {
            // The commands on this machine speak no TLS.
            [] if tls.is_some() => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                Some(runtime.block_on(listen(&[address]))?)
            }
            [] => None,
            addresses => Some(runtime.block_on(listen(addresses))?),
        };
        let needs_client = settings.key_url.is_some() || settings.rights_service.is_some();
        let client = needs_client.then(|| HttpClient::new(&settings.authorities)).transpose()?;
        let (stop, _) = watch::channel(false);
        let (authentication, _) = watch::channel(Arc::new(settings.authentication.clone()));
        Ok(Server {
            runtime,
            listener,
            address,
            admin,
            settings,
            store,
            stop,
            authentication,
            certificates,
            tls,
            client,
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of requests of the operator, without TLS. It may be of this machine alone.
    pub fn admin_address(&self) -> SocketAddr {
        self.admin.as_ref().map_or(self.address, |(_, address)| *address)
    }

    /// The id of the storage.
    pub fn storage_id(&self) -> &str {
        self.store.storage_id()
    }

    /// A handle to stop it.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.stop.clone())
    }

    /// A handle to change the rights of clients.
    pub fn rights_handle(&self) -> RightsHandle {
        RightsHandle(self.authentication.clone())
    }

    /// A handle to change the certificate. `None`: the server speaks no TLS.
    pub fn certificate_handle(&self) -> Option<CertificateHandle> {
        self.certificates.clone().map(CertificateHandle)
    }

    /// Serves until it is stopped. Each fact is passed to `report`.
    pub fn run(self, report: impl Fn(&Fact) + Send + 'static) -> Result<(), RunError> {
        let Server {
            runtime,
            listener,
            address,
            admin: admin_listener,
            settings,
            store,
            stop,
            authentication,
            certificates,
            tls,
            client,
        } = self;
        let storage_id = store.storage_id().to_owned();
        let mut config = Config::new(&settings.peer_id, &storage_id);
        config.memory_bytes = settings.memory_bytes;
        let limits = settings.limits;
        config.max_sockets_per_identity = limits.max_sockets_per_identity;
        config.messages_per_second = limits.messages_per_second;
        config.bytes_per_second = limits.bytes_per_second;
        config.max_document_bytes = limits.max_document_bytes;
        config.max_stored_bytes_per_identity = limits.max_stored_bytes_per_identity;
        config.max_inbox_bytes = config.max_inbox_bytes.min(settings.max_frame_bytes);
        let OpenStorage { kind, clock, seconds_behind } = store;
        // `None`: other servers use the storage, too.
        let local = match &kind {
            StorageKind::Local(store) => Some(Arc::clone(store)),
            #[cfg(feature = "cluster")]
            StorageKind::Shared(_) => None,
        };
        config.has_other_nodes = local.is_none();
        let storage = match kind {
            StorageKind::Local(store) => Storage::Local(store),
            #[cfg(feature = "cluster")]
            StorageKind::Shared(storage) => Storage::Shared(runtime.handle().clone(), storage),
        };
        let feed = Feed::new(settings.unix_time);
        let published = feed.clone();
        let report = move |fact: &Fact| {
            published.publish(fact);
            report(fact);
        };
        if let Some(seconds) = seconds_behind {
            report(&Fact::ClockBehind { seconds });
        }
        let clock = RunningClock::start(clock);
        let driver = Driver::start(config, storage, report).map_err(RunError::Threads)?;
        let result = runtime.block_on(async {
            let mut issuer = None;
            if let Some((url, client)) = settings.key_url.clone().zip(client.clone()) {
                let (keys, fetcher) = auth::issuer(url, client);
                issuer = Some(keys);
                tokio::spawn(fetcher.run(driver.handle()));
            }
            let mut callback = None;
            if let Some((service, client)) = settings.rights_service.clone().zip(client) {
                let (access, questions) = auth::Callback::new(service, client, settings.max_access);
                tokio::spawn(access.clone().run(questions, driver.handle()));
                callback = Some(access);
            }
            let (rights, max_access) = (authentication.subscribe(), settings.max_access);
            let gate = Gate::new(rights, issuer, callback, max_access, settings.unix_time);
            let sweeper = admin::Sweeper::new(driver.handle(), local.clone(), &settings, clock);
            let blobs = match &local {
                Some(store) => Blobs::open(driver.handle(), gate.clone(), store, &settings),
                None => Ok(None),
            };
            let blobs = blobs.map_err(RunError::Blobs)?;
            let mut http = http::Http::new(driver.handle(), gate, blobs.clone(), &settings);
            let mut admin_http = None;
            if !settings.admin.tokens.is_empty() {
                let rates = Rates::default();
                let sources = Sources {
                    core: driver.handle(),
                    storage_id,
                    store: local.clone(),
                    sweeper: &sweeper,
                    feed: feed.clone(),
                    rates: rates.clone(),
                    stop: stop.clone(),
                    address,
                };
                let admin = Arc::new(Admin::new(&settings, sources));
                let publish = move |sample| feed.publish_sample(sample);
                tokio::spawn(rates.run(driver.handle(), settings.unix_time, publish));
                admin_http =
                    admin_listener.map(|(listener, _)| (http.admin_only(Arc::clone(&admin)), listener));
                if settings.admin.listen.is_empty() {
                    http = http.with_admin(admin);
                }
            }
            // Clients and the operator wait until the server knows all that is stored.
            let (mut ready, mut admin_ready) = (driver.ready(), driver.ready());
            let accept_admin = async {
                match admin_http {
                    Some((http, listener)) => {
                        let _ = admin_ready.wait_for(|ready| *ready).await;
                        http.accept(listener, None).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::spawn(sweeper.run());
            blobs.iter().for_each(|blobs| drop(tokio::spawn(blobs.clone().sweep())));
            if let Some(certificates) = &certificates {
                tokio::spawn(watch_expiry(certificates.subscribe(), settings.unix_time, driver.handle()));
            }
            let mut stops = stop.subscribe();
            let mut ended = driver.ended();
            let http = async {
                let _ = ready.wait_for(|ready| *ready).await;
                http.accept(listener, tls).await;
            };
            tokio::select! {
                () = http => {}
                () = accept_admin => {}
                _ = stops.wait_for(|stops| *stops) => {}
                _ = ended.wait_for(|ended| *ended) => return Err(RunError::Internal),
            }
            blobs.iter().for_each(Blobs::end_uploads);
            driver.handle().drain();
            match tokio::time::timeout(DRAIN_TIMEOUT, ended.wait_for(|ended| *ended)).await {
                Ok(_) if driver.has_drained() => {
                    // Clients are told to come back. One that does not answer may not be reached.
                    let _ = tokio::time::timeout(CLOSE_TIMEOUT, driver.sockets_closed()).await;
                    Ok(())
                }
                Ok(_) => Err(RunError::Internal),
                Err(_) => Err(RunError::NotStored),
            }
        });
        runtime.shutdown_timeout(Duration::from_secs(1));
        if result.is_ok() {
            driver.join();
            let recorded = local.map_or(Ok(()), |store| {
                store.record_uses(clock.now())?;
                store.record_clock(clock.now(), (settings.unix_time)())
            });
            recorded.map_err(|failure| RunError::UsesNotRecorded(failure.reason().to_owned()))?;
        }
        result
    }
}

/// Listens on the first address that is free to use. Returns it, too.
async fn listen(addresses: &[SocketAddr]) -> Result<(TcpListener, SocketAddr), OpenError> {
    let error = |reason| OpenError::Listen { address: addresses.first().copied(), reason };
    let listener = TcpListener::bind(addresses).await.map_err(error)?;
    let address = listener.local_addr().map_err(error)?;
    Ok((listener, address))
}
