//! Hasher of batches of rows.

use std::fmt;
use std::future;
use std::panic;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use futures_util::future::{Either, select};
use hashmill_files::{Files, Function, Mapping};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::error::Error;
use crate::location::{Location, Object, Store};
use crate::options::Options;
use crate::row::{ObjectRequest, Row};
use crate::row_result::{Failure, FailureKind, ObjectDigest, RowResult};
use crate::run_handle::RunHandle;
use crate::sources::allow_list::Origin;
use crate::sources::clients::{self, NamedBy, Stores};
use crate::sources::fetch::Fetch;
use crate::sources::local_files;
use crate::sources::remote::Remote;

/// Hashes the objects that rows name. Threads and connections are reused for the next batch; a forked child needs its own hasher.
pub struct Hasher {
    shared: Arc<Shared>,
    file_options: hashmill_files::Options,
    runtime: Arc<Runtime>,
}

/// State that all requests share.
struct Shared {
    options: Options,
    stores: Stores,
    permits: Semaphore,
}

impl Hasher {
    /// Starts the threads for requests to stores.
    ///
    /// # Errors
    /// [`Error::Refused`] for an unknown option, [`Error::Io`] if threads cannot be started.
    pub fn new(options: Options) -> Result<Hasher, Error> {
        let mut file_options = hashmill_files::Options::default();
        file_options.threads = options.threads;
        // Memory maps need a signal handler, which a library must not install.
        file_options.mapping = Mapping::Never;
        let mut runtime = Builder::new_multi_thread();
        if let Some(threads) = options.threads {
            runtime.worker_threads(threads.get());
        }
        let runtime = runtime.enable_all().thread_name("hashmill").build();
        let runtime = Arc::new(runtime.map_err(Error::io(Path::new("threads")))?);
        let permits = Semaphore::new(options.connections.get().min(Semaphore::MAX_PERMITS));
        let stores = Stores::new(&options)?;
        Ok(Hasher { shared: Arc::new(Shared { options, stores, permits }), file_options, runtime })
    }

    /// Whether a store has an option of this name. Callers use it to filter environment variables.
    pub fn is_known_option(option: &str) -> bool {
        clients::is_known_option(option)
    }

    /// Results of all `rows`, in their order.
    ///
    /// # Errors
    /// [`Error::Stopped`] only: an error of a row is its result.
    pub fn hash_rows(&self, rows: Vec<Row>, handle: &RunHandle) -> Result<Vec<RowResult>, Error> {
        self.hash_rows_from(rows.into_iter().map(|row| (row, Origin::Local)), handle)
    }

    /// As [`Hasher::hash_rows`], with the origin of each row.
    pub(crate) fn hash_rows_from(
        &self,
        rows: impl IntoIterator<Item = (Row, Origin)>,
        handle: &RunHandle,
    ) -> Result<Vec<RowResult>, Error> {
        let policy = self.shared.stores.policy();
        let (mut urls, mut requests, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for (row, origin) in rows {
            urls.push(row.url);
            let request = row.request.and_then(|request| match policy.check(&request.location, origin) {
                Ok(()) => Ok(request),
                Err(refused) => Err(refused.into()),
            });
            let (request, result) = match request {
                Ok(request) => (Some(Arc::new(request)), None),
                Err(failure) => (None, Some(Err(failure))),
            };
            requests.push(request);
            results.push(result);
        }
        self.results(&requests, handle, |index, result| results[index] = Some(result));
        let mut answers = Vec::with_capacity(results.len());
        for ((url, request), result) in urls.into_iter().zip(requests).zip(results) {
            let result = result.ok_or(Error::Stopped)?;
            let result = result.map_err(|failure| self.shared.stores.secrets().hide(failure));
            let listed = request.and_then(|request| request.blake3);
            let matches = result.as_ref().ok().and_then(|found| Some(found.blake3 == listed?));
            answers.push(RowResult { url, result, matches });
        }
        Ok(answers)
    }

    /// An object with the client of its store.
    pub(crate) fn remote(&self, object: Object) -> Result<Remote, Failure> {
        let stores = &self.shared.stores;
        let store = stores.client(&object.store, NamedBy::Caller)?.store;
        Ok(Remote::new(Arc::clone(&self.runtime), store, stores.secrets().clone(), object))
    }

    /// Hashes files and objects at the same time, with a waiting thread for each of the two.
    fn results(
        &self,
        requests: &[Option<Arc<ObjectRequest>>],
        handle: &RunHandle,
        mut sink: impl FnMut(usize, Result<ObjectDigest, Failure>),
    ) {
        let (mut files, mut objects) = (Vec::new(), Vec::new());
        for (index, request) in requests.iter().enumerate() {
            match request.as_ref().map(|request| (request, &request.location)) {
                Some((request, Location::File(path))) => files.push((index, path.as_path(), &**request)),
                Some((request, Location::Object(_))) => objects.push((index, Arc::clone(request))),
                None => {}
            }
        }
        if objects.is_empty() {
            return self.files(files, handle, sink);
        }
        if files.is_empty() {
            return self.runtime.block_on(self.objects(objects, handle, sink));
        }
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            let others = sender.clone();
            scope.spawn(move || {
                self.files(files, handle, |index, result| drop(sender.send((index, result))));
            });
            scope.spawn(move || {
                let send = |index, result| drop(others.send((index, result)));
                self.runtime.block_on(self.objects(objects, handle, send));
            });
            receiver.iter().for_each(|(index, result)| sink(index, result));
        });
    }

    fn files(
        &self,
        requests: Vec<(usize, &Path, &ObjectRequest)>,
        handle: &RunHandle,
        sink: impl FnMut(usize, Result<ObjectDigest, Failure>),
    ) {
        // A stopped `Files` cannot be reused, so each batch has its own.
        let files = Arc::new(Files::new(Function::blake3(), self.file_options));
        let (watched, watching) = (Arc::clone(&files), handle.clone());
        let watch = self.runtime.spawn(async move {
            watching.stopped().await;
            watched.stop();
        });
        handle.with_files(&files, || local_files::hash(&files, requests, sink));
        watch.abort();
    }

    async fn objects(
        &self,
        objects: Vec<(usize, Arc<ObjectRequest>)>,
        handle: &RunHandle,
        mut sink: impl FnMut(usize, Result<ObjectDigest, Failure>),
    ) {
        // Dropping the set aborts its tasks.
        let mut tasks = JoinSet::new();
        let mut objects = objects.into_iter();
        loop {
            while tasks.len() < self.shared.options.connections.get()
                && let Some((index, request)) = objects.next()
            {
                let (shared, handle) = (Arc::clone(&self.shared), handle.clone());
                tasks.spawn(async move { (index, shared.digest(&request, &handle).await) });
            }
            let stopped = std::pin::pin!(handle.stopped());
            let next = std::pin::pin!(tasks.join_next());
            match select(stopped, next).await {
                Either::Left(_) | Either::Right((None, _)) => return,
                Either::Right((Some(Ok((index, result))), _)) => sink(index, result),
                Either::Right((Some(Err(error)), _)) => match error.try_into_panic() {
                    Ok(panic) => panic::resume_unwind(panic),
                    // Tasks are aborted only when the set is dropped.
                    Err(_) => return,
                },
            }
        }
    }
}

impl Shared {
    async fn digest(&self, request: &ObjectRequest, handle: &RunHandle) -> Result<ObjectDigest, Failure> {
        let Location::Object(object) = &request.location else {
            return future::pending().await;
        };
        if request.version.is_some() && matches!(object.store, Store::Http(_)) {
            return Err(Failure::new(FailureKind::Row, "a web server has no versions, but one is listed"));
        }
        let clients = self.stores.client(&object.store, NamedBy::Row)?;
        let fetch = Fetch {
            store: &*clients.store,
            once: clients.once.as_deref(),
            object,
            request,
            permits: &self.permits,
            connections: self.options.connections.get(),
            handle,
        };
        fetch.digest(self.options.split).await
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Options contain keys of stores.
        f.debug_struct("Hasher")
            .field("connections", &self.shared.options.connections)
            .finish_non_exhaustive()
    }
}
