//! A batch of rows in, their answers out.

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

use crate::allow_list::Origin;
use crate::answer::{Answer, Failure, Found, Kind};
use crate::error::Error;
use crate::fetch::Fetch;
use crate::inventory::{Ask, Row};
use crate::local;
use crate::options::Options;
use crate::place::{Object, Place, Store};
use crate::remote::Remote;
use crate::stores::{self, NamedBy, Stores};
use crate::work::Work;

/// Hashes what rows name. Threads and connections are kept for the next batch; a forked child has to make its own.
pub struct Hasher {
    shared: Arc<Shared>,
    of_files: hashmill_files::Options,
    runtime: Arc<Runtime>,
}

/// What every request needs.
struct Shared {
    options: Options,
    stores: Stores,
    permits: Semaphore,
}

impl Hasher {
    /// Starts the threads that speak with stores.
    ///
    /// # Errors
    /// [`Error::Refused`] for an option of no store, [`Error::Io`] if there are no threads.
    pub fn new(options: Options) -> Result<Hasher, Error> {
        let mut of_files = hashmill_files::Options::default();
        of_files.threads = options.threads;
        // A handler of a signal is not ours to bring into a program.
        of_files.mapping = Mapping::Never;
        let mut runtime = Builder::new_multi_thread();
        if let Some(threads) = options.threads {
            runtime.worker_threads(threads.get());
        }
        let runtime = runtime.enable_all().thread_name("hashmill").build();
        let runtime = Arc::new(runtime.map_err(Error::io(Path::new("threads")))?);
        let permits = Semaphore::new(options.connections.get().min(Semaphore::MAX_PERMITS));
        let stores = Stores::new(&options)?;
        Ok(Hasher { shared: Arc::new(Shared { options, stores, permits }), of_files, runtime })
    }

    /// Whether any store has an option of this name: for who passes on an environment.
    pub fn knows(option: &str) -> bool {
        stores::knows(option)
    }

    /// The answers to all `rows`, in their order.
    ///
    /// # Errors
    /// [`Error::Stopped`], and nothing else: what is wrong with a row is its answer.
    pub fn answer(&self, rows: Vec<Row>, work: &Work) -> Result<Vec<Answer>, Error> {
        self.answer_from(rows.into_iter().map(|row| (row, Origin::Local)), work)
    }

    /// As [`Hasher::answer`], for rows of which each says where its inventory was read from.
    pub(crate) fn answer_from(
        &self,
        rows: impl IntoIterator<Item = (Row, Origin)>,
        work: &Work,
    ) -> Result<Vec<Answer>, Error> {
        let policy = self.shared.stores.policy();
        let (mut urls, mut asks, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for (row, origin) in rows {
            urls.push(row.url);
            let ask = row.ask.and_then(|ask| match policy.check(&ask.place, origin) {
                Ok(()) => Ok(ask),
                Err(refused) => Err(refused.into()),
            });
            let (ask, result) = match ask {
                Ok(ask) => (Some(Arc::new(ask)), None),
                Err(failure) => (None, Some(Err(failure))),
            };
            asks.push(ask);
            results.push(result);
        }
        self.results(&asks, work, |index, result| results[index] = Some(result));
        let mut answers = Vec::with_capacity(results.len());
        for ((url, ask), result) in urls.into_iter().zip(asks).zip(results) {
            let result = result.ok_or(Error::Stopped)?;
            let result = result.map_err(|failure| self.shared.stores.secrets().hide(failure));
            let listed = ask.and_then(|ask| ask.blake3);
            let matches = result.as_ref().ok().and_then(|found| Some(found.blake3 == listed?));
            answers.push(Answer { url, result, matches });
        }
        Ok(answers)
    }

    /// What lies in a store, with whom to ask for it.
    pub(crate) fn remote(&self, object: Object) -> Result<Remote, Failure> {
        let stores = &self.shared.stores;
        let store = stores.client(&object.store, NamedBy::Caller)?.store;
        Ok(Remote::new(Arc::clone(&self.runtime), store, stores.secrets().clone(), object))
    }

    /// Files and objects at the same time, each with a thread that waits for them.
    fn results(
        &self,
        asks: &[Option<Arc<Ask>>],
        work: &Work,
        mut sink: impl FnMut(usize, Result<Found, Failure>),
    ) {
        let (mut files, mut objects) = (Vec::new(), Vec::new());
        for (index, ask) in asks.iter().enumerate() {
            match ask.as_ref().map(|ask| (ask, &ask.place)) {
                Some((ask, Place::File(path))) => files.push((index, path.as_path(), &**ask)),
                Some((ask, Place::Object(_))) => objects.push((index, Arc::clone(ask))),
                None => {}
            }
        }
        if objects.is_empty() {
            return self.files(files, work, sink);
        }
        if files.is_empty() {
            return self.runtime.block_on(self.objects(objects, work, sink));
        }
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            let others = sender.clone();
            scope.spawn(move || {
                self.files(files, work, |index, result| drop(sender.send((index, result))));
            });
            scope.spawn(move || {
                let send = |index, result| drop(others.send((index, result)));
                self.runtime.block_on(self.objects(objects, work, send));
            });
            receiver.iter().for_each(|(index, result)| sink(index, result));
        });
    }

    fn files(
        &self,
        asks: Vec<(usize, &Path, &Ask)>,
        work: &Work,
        sink: impl FnMut(usize, Result<Found, Failure>),
    ) {
        // One that is asked for an end does nothing any more.
        let files = Arc::new(Files::new(Function::blake3(), self.of_files));
        let (watched, watching) = (Arc::clone(&files), work.clone());
        let watch = self.runtime.spawn(async move {
            watching.stopped().await;
            watched.stop();
        });
        work.reading(&files, || local::hash(&files, asks, sink));
        watch.abort();
    }

    async fn objects(
        &self,
        objects: Vec<(usize, Arc<Ask>)>,
        work: &Work,
        mut sink: impl FnMut(usize, Result<Found, Failure>),
    ) {
        // Dropped, it ends what it has started.
        let mut tasks = JoinSet::new();
        let mut objects = objects.into_iter();
        loop {
            while tasks.len() < self.shared.options.connections.get()
                && let Some((index, ask)) = objects.next()
            {
                let (shared, work) = (Arc::clone(&self.shared), work.clone());
                tasks.spawn(async move { (index, shared.found(&ask, &work).await) });
            }
            let stopped = std::pin::pin!(work.stopped());
            let next = std::pin::pin!(tasks.join_next());
            match select(stopped, next).await {
                Either::Left(_) | Either::Right((None, _)) => return,
                Either::Right((Some(Ok((index, result))), _)) => sink(index, result),
                Either::Right((Some(Err(error)), _)) => match error.try_into_panic() {
                    Ok(panic) => panic::resume_unwind(panic),
                    // No task is aborted while the set lives.
                    Err(_) => return,
                },
            }
        }
    }
}

impl Shared {
    async fn found(&self, ask: &Ask, work: &Work) -> Result<Found, Failure> {
        let Place::Object(object) = &ask.place else {
            return future::pending().await;
        };
        if ask.version.is_some() && matches!(object.store, Store::Http(_)) {
            return Err(Failure::new(Kind::Row, "a web server has no versions, but one is listed"));
        }
        let clients = self.stores.client(&object.store, NamedBy::Row)?;
        let fetch = Fetch {
            store: &*clients.store,
            once: clients.once.as_deref(),
            object,
            ask,
            permits: &self.permits,
            connections: self.options.connections.get(),
            work,
        };
        fetch.found(self.options.split).await
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Options hold keys of stores.
        f.debug_struct("Hasher")
            .field("connections", &self.shared.options.connections)
            .finish_non_exhaustive()
    }
}
