//! One document shared by many Python objects on any number of threads, with its locking rules.
//!
//! There are three kinds of access. Reads ([`Shared::read`]) are always possible and see the edits of an open change. An edit
//! ([`Shared::edit`]) belongs to the open change of this thread, or is a change of its own; it waits while another thread has a
//! change open. Operations on the whole document ([`Shared::whole`]: save, merge, sync) need all changes to be closed.
//!
//! No Python code runs while the lock is held, and no thread waits for it while attached to the interpreter. So a callback, a
//! destructor or the garbage collector may use the same document, and threads cannot wait for each other in a circle. The
//! closures of these calls may only create Python strings, numbers and bytes: creating a container may start the collector.

use std::cell::Cell;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::Duration;

use hashmill_doc::{AutoCommit, Commit, CommitOptions, ObjId, Prop, ReadDoc};
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;

use super::errors::{self, DeferredError};
use super::forks::LockOwnerProcess;

/// A document and the lock on it.
pub(super) struct Shared {
    inner: RwLock<Inner>,
    ended: EndedChanges,
    home: LockOwnerProcess,
}

/// The number of changes that have ended, for threads that wait for one.
#[derive(Default)]
struct EndedChanges {
    count: Mutex<u64>,
    more: Condvar,
}

/// The data that the lock protects.
pub(super) struct Inner {
    pub(super) doc: AutoCommit,
    open: Option<OpenChange>,
    frozen: bool,
}

/// A change that spans more than one call.
struct OpenChange {
    /// The thread whose edits belong to it. `None` if edits are made through a separate object.
    owner: Option<u64>,
    /// The process in which it was opened.
    process: u32,
    liveness: ChangeLiveness,
}

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The unique id of this thread. The standard library's costs two atomic operations each time.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

/// Whether a change was not rolled back. After a rollback, the ids of its objects refer to nothing, or to other objects.
#[derive(Clone)]
pub(super) struct ChangeLiveness(Arc<AtomicBool>);

impl ChangeLiveness {
    fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    pub(super) fn check(&self) -> Result<(), DeferredError> {
        if self.0.load(Ordering::Relaxed) { Ok(()) } else { Err(DeferredError::RolledBack) }
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The owner of a write.
#[derive(Clone, Copy)]
pub(super) enum EditOrigin<'a> {
    /// This thread.
    Thread,
    /// A change with a separate object, on any thread.
    Change(&'a ChangeLiveness),
}

impl Shared {
    pub(super) fn new(doc: impl Into<AutoCommit>) -> Arc<Self> {
        Self::from_doc(doc.into(), false)
    }

    /// A read-only document.
    pub(super) fn frozen(doc: impl Into<AutoCommit>) -> Arc<Self> {
        Self::from_doc(doc.into(), true)
    }

    fn from_doc(doc: AutoCommit, frozen: bool) -> Arc<Self> {
        let inner = RwLock::new(Inner { doc, open: None, frozen });
        Arc::new(Self { inner, ended: EndedChanges::default(), home: LockOwnerProcess::new() })
    }

    /// Whether waiting for the locks is safe: see [`LockOwnerProcess::check`].
    pub(super) fn check(&self) -> Result<(), DeferredError> {
        self.home.check(|| match (self.inner.try_write(), self.ended.count.try_lock()) {
            (Err(TryLockError::WouldBlock), _) | (_, Err(TryLockError::WouldBlock)) => {
                Err(TryLockError::WouldBlock)
            }
            both => Ok(both),
        })
    }

    fn check_attached(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.check()).map_err(|failed| failed.raise(py))
    }

    fn lock_to_read(&self, py: Python<'_>) -> PyResult<RwLockReadGuard<'_, Inner>> {
        match self.inner.try_read() {
            Ok(inner) => return Ok(inner),
            Err(TryLockError::Poisoned(_)) => return Err(errors::poisoned()),
            Err(TryLockError::WouldBlock) => self.check_attached(py)?,
        }
        self.inner.read_py_attached(py).map_err(|_| errors::poisoned())
    }

    fn lock_to_write(&self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'_, Inner>> {
        match self.inner.try_write() {
            Ok(inner) => return Ok(inner),
            Err(TryLockError::Poisoned(_)) => return Err(errors::poisoned()),
            Err(TryLockError::WouldBlock) => self.check_attached(py)?,
        }
        self.inner.write_py_attached(py).map_err(|_| errors::poisoned())
    }

    /// Reads.
    pub(super) fn read<R>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner) -> Result<R, DeferredError>,
    ) -> PyResult<R> {
        let result = read(&*self.lock_to_read(py)?);
        result.map_err(|failed| failed.raise(py))
    }

    /// A long read, while other Python threads run.
    pub(super) fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner) -> Result<R, DeferredError> + Send,
    ) -> PyResult<R> {
        let result = py.detach(|| {
            self.check()?;
            read(&*self.inner.read().map_err(|_| DeferredError::Broken)?)
        });
        result.map_err(|failed| failed.raise(py))
    }

    /// Writes as part of the open change, or as a change of its own, which is rolled back if `edit` fails.
    pub(super) fn edit<R>(
        &self,
        py: Python<'_>,
        by: EditOrigin<'_>,
        edit: impl FnOnce(&mut Inner) -> Result<R, DeferredError>,
    ) -> PyResult<R> {
        let mut inner = self.lock_when_owner(py, by)?;
        let result = if inner.frozen { Err(DeferredError::Frozen) } else { edit(&mut inner) };
        if inner.open.is_none() {
            match &result {
                Ok(_) => drop(inner.doc.commit()),
                Err(_) => drop(inner.doc.rollback()),
            }
        }
        drop(inner);
        result.map_err(|failed| failed.raise(py))
    }

    /// Runs an operation on the whole document, while other Python threads run. No change may be open: waits for a change of
    /// another thread.
    pub(super) fn whole<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut AutoCommit) -> Result<R, DeferredError> + Send,
    ) -> PyResult<R> {
        self.whole_of(py, |inner| work(&mut inner.doc))
    }

    /// The same for an operation that changes the document.
    pub(super) fn change_whole<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut AutoCommit) -> Result<R, DeferredError> + Send,
    ) -> PyResult<R> {
        self.whole_of(
            py,
            |inner| if inner.frozen { Err(DeferredError::Frozen) } else { work(&mut inner.doc) },
        )
    }

    fn whole_of<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Inner) -> Result<R, DeferredError> + Send,
    ) -> PyResult<R> {
        let mut work = Some(work);
        loop {
            drop(self.lock_when_closed(py)?);
            let result = py.detach(|| {
                if let Err(failed) = self.check() {
                    return Some(Err(failed));
                }
                let Ok(mut inner) = self.inner.write() else { return Some(Err(DeferredError::Broken)) };
                // Another thread may have opened a change since.
                let work = if inner.open.is_none() { work.take() } else { None };
                work.map(|work| work(&mut inner))
            });
            if let Some(result) = result {
                return result.map_err(|failed| failed.raise(py));
            }
        }
    }

    /// Opens a change that lasts until [`Self::end`], after waiting for changes of other threads.
    pub(super) fn begin(&self, py: Python<'_>, owned: bool) -> PyResult<ChangeLiveness> {
        self.check_attached(py)?;
        let mut inner = self.lock_when_closed(py)?;
        if inner.frozen {
            drop(inner);
            return Err(DeferredError::Frozen.raise(py));
        }
        let liveness = ChangeLiveness::new();
        let owner = owned.then(this_thread);
        inner.open = Some(OpenChange { owner, process: process::id(), liveness: liveness.clone() });
        Ok(liveness)
    }

    /// Ends a change: commits it with `options` and calls `committed`, or rolls it back. Does nothing if it has ended.
    pub(super) fn end(
        &self,
        py: Python<'_>,
        liveness: &ChangeLiveness,
        options: Option<&CommitOptions>,
        committed: impl FnOnce(Option<Commit>),
    ) -> PyResult<bool> {
        self.check_attached(py)?;
        let mut inner = self.lock_to_write(py)?;
        if !inner.open.as_ref().is_some_and(|open| open.liveness.is(liveness)) {
            return Ok(false);
        }
        inner.open = None;
        match options {
            Some(options) => committed(inner.doc.commit_with(options)),
            None => {
                inner.doc.rollback();
                liveness.0.store(false, Ordering::Relaxed);
            }
        }
        *self.ended.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.ended.more.notify_all();
        Ok(true)
    }

    fn lock_when_owner(&self, py: Python<'_>, by: EditOrigin<'_>) -> PyResult<RwLockWriteGuard<'_, Inner>> {
        self.lock_when(py, |inner| match (&inner.open, by) {
            (None, EditOrigin::Thread) => Ok(true),
            (Some(open), EditOrigin::Thread) => Ok(open.owner == Some(this_thread())),
            (_, EditOrigin::Change(liveness)) => inner.check_open(liveness).map(|()| true),
        })
    }

    fn lock_when_closed(&self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'_, Inner>> {
        self.lock_when(py, |inner| match &inner.open {
            None => Ok(true),
            Some(open) if open.owner.is_none_or(|owner| owner == this_thread()) => Err(DeferredError::Open),
            Some(_) => Ok(false),
        })
    }

    /// Waits for `ready`: until changes of other threads have ended. Ctrl-C ends the wait.
    fn lock_when(
        &self,
        py: Python<'_>,
        ready: impl Fn(&Inner) -> Result<bool, DeferredError>,
    ) -> PyResult<RwLockWriteGuard<'_, Inner>> {
        loop {
            let inner = self.lock_to_write(py)?;
            match ready(&inner).and_then(|ready| if ready { Ok(true) } else { inner.check_process() }) {
                Ok(true) => return Ok(inner),
                Err(failed) => {
                    drop(inner);
                    return Err(failed.raise(py));
                }
                Ok(false) => {}
            }
            let ended = *self.ended.count.lock().unwrap_or_else(PoisonError::into_inner);
            drop(inner);
            py.detach(|| {
                let count = self.ended.count.lock().unwrap_or_else(PoisonError::into_inner);
                // Polling interval for signals.
                let most = Duration::from_millis(50);
                drop(self.ended.more.wait_timeout_while(count, most, |count| *count == ended));
            });
            py.check_signals()?;
        }
    }
}

impl Inner {
    /// Fails unless the change of a separate object is open.
    pub(super) fn check_open(&self, liveness: &ChangeLiveness) -> Result<(), DeferredError> {
        let open = self.open.as_ref().is_some_and(|open| open.liveness.is(liveness));
        if open { Ok(()) } else { Err(DeferredError::Ended) }
    }

    /// `false`: wait for the open change of another owner. An error if it was opened before a fork, and so cannot end.
    fn check_process(&self) -> Result<bool, DeferredError> {
        let here = self.open.as_ref().is_none_or(|open| open.process == process::id());
        if here { Ok(false) } else { Err(DeferredError::Forked) }
    }

    /// The reference to an object that was found or created.
    pub(super) fn object_ref(&self, doc: &Arc<Shared>, obj: ObjId) -> ObjectRef {
        ObjectRef { doc: Arc::clone(doc), liveness: self.liveness_of(&obj), obj }
    }

    /// The liveness of the open change, if that change made the object.
    fn liveness_of(&self, id: &ObjId) -> Option<ChangeLiveness> {
        let open = self.open.as_ref()?;
        let ObjId::Id { counter, actor, .. } = id else { return None };
        let obj = self.doc.pending_from().is_some_and(|first| *counter >= first);
        (obj && actor == self.doc.get_actor()).then(|| open.liveness.clone())
    }
}

/// An object of a document, as long as it exists.
#[derive(Clone)]
pub(super) struct ObjectRef {
    pub(super) doc: Arc<Shared>,
    pub(super) obj: ObjId,
    liveness: Option<ChangeLiveness>,
}

impl ObjectRef {
    pub(super) fn root(doc: Arc<Shared>) -> Self {
        Self { doc, obj: ObjId::Root, liveness: None }
    }

    pub(super) fn check(&self) -> Result<(), DeferredError> {
        self.liveness.as_ref().map_or(Ok(()), ChangeLiveness::check)
    }

    /// Whether it is the object at a key or index of another object of its document.
    pub(super) fn is_at(
        &self,
        doc: &AutoCommit,
        obj: &ObjId,
        prop: &Prop<'_>,
    ) -> Result<bool, DeferredError> {
        let found = doc.get(obj, prop.clone())?;
        Ok(self.check().is_ok() && found.is_some_and(|(_, id)| id == self.obj))
    }

    /// Reads from the object.
    pub(super) fn read<R>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner, &ObjId) -> Result<R, DeferredError>,
    ) -> PyResult<R> {
        self.doc.read(py, |inner| {
            self.check()?;
            read(inner, &self.obj)
        })
    }

    /// As [`Self::read`], for long reads: see [`Shared::read_long`].
    pub(super) fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&AutoCommit, &ObjId) -> Result<R, DeferredError> + Send,
    ) -> PyResult<R> {
        self.doc.read_long(py, |inner| {
            self.check()?;
            read(&inner.doc, &self.obj)
        })
    }

    /// Writes into the object.
    pub(super) fn edit<R>(
        &self,
        py: Python<'_>,
        edit: impl FnOnce(&mut AutoCommit, &ObjId) -> Result<R, DeferredError>,
    ) -> PyResult<R> {
        self.doc.edit(py, EditOrigin::Thread, |inner| {
            self.check()?;
            edit(&mut inner.doc, &self.obj)
        })
    }

    /// Creates an object in this one.
    pub(super) fn make(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&mut AutoCommit, &ObjId) -> Result<ObjId, DeferredError>,
    ) -> PyResult<Self> {
        self.doc.edit(py, EditOrigin::Thread, |inner| {
            self.check()?;
            let obj = make(&mut inner.doc, &self.obj)?;
            Ok(inner.object_ref(&self.doc, obj))
        })
    }
}
