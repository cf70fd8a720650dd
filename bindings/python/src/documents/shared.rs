//! One document that many Python objects hold, on any number of threads: who may read and write when.
//!
//! Three ways lead to it. Reading ([`Shared::read`]) may happen at any time, and sees what an open change has done so far.
//! Editing ([`Shared::edit`]) belongs to the change that this thread has open, or is a change of its own; while another thread
//! has one open, it waits. What concerns the whole document ([`Shared::whole`]: save, merge, sync) wants no change to be open.
//!
//! No Python code runs while the lock is held, and nobody waits for it attached to the interpreter: a callback, a destructor
//! or the garbage collector may use the same document, and nobody waits for somebody who waits for the interpreter. Inside the
//! closures that these calls take, only strings, numbers and bytes of Python may be made: to make a container may start
//! the collector.

use std::cell::Cell;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::Duration;

use hashmill_doc::{AutoCommit, Commit, CommitOptions, ObjId, Prop, ReadDoc};
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;

use super::errors::{self, Failed};
use super::forks::Home;
use super::values::{Found, place_of};

/// A document and the lock on it.
pub(super) struct Shared {
    inner: RwLock<Inner>,
    ended: Ended,
    home: Home,
}

/// How many changes have ended, for those who wait for one.
#[derive(Default)]
struct Ended {
    count: Mutex<u64>,
    more: Condvar,
}

/// What the lock protects.
pub(super) struct Inner {
    pub(super) doc: AutoCommit,
    open: Option<Open>,
    frozen: bool,
}

/// A change that lasts for more than one call.
struct Open {
    /// The thread whose edits belong to it. Nothing if they are made through an object of their own.
    owner: Option<u64>,
    /// The process that it was opened in.
    process: u32,
    life: Life,
}

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The number of this thread, which no other has or had. The standard library's costs two atomic operations each time.
fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

/// Whether a change was not taken back. Objects that it made are names of nothing afterwards, or of something else.
#[derive(Clone)]
pub(super) struct Life(Arc<AtomicBool>);

impl Life {
    fn new() -> Self {
        Self(Arc::new(AtomicBool::new(true)))
    }

    fn check(&self) -> Result<(), Failed> {
        if self.0.load(Ordering::Relaxed) { Ok(()) } else { Err(Failed::TakenBack) }
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// On whose behalf something is written.
#[derive(Clone, Copy)]
pub(super) enum By<'a> {
    /// Of this thread.
    Thread,
    /// Of a change that is written through an object of its own, whatever the thread.
    Change(&'a Life),
}

impl Shared {
    pub(super) fn new(doc: impl Into<AutoCommit>) -> Arc<Self> {
        Self::of(doc.into(), false)
    }

    /// A document that cannot be written.
    pub(super) fn frozen(doc: impl Into<AutoCommit>) -> Arc<Self> {
        Self::of(doc.into(), true)
    }

    fn of(doc: AutoCommit, frozen: bool) -> Arc<Self> {
        let inner = RwLock::new(Inner { doc, open: None, frozen });
        Arc::new(Self { inner, ended: Ended::default(), home: Home::new() })
    }

    /// Whether the locks can be waited for: see [`Home::check`].
    fn check(&self) -> Result<(), Failed> {
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
            Err(TryLockError::Poisoned(_)) => return Err(errors::broken()),
            Err(TryLockError::WouldBlock) => self.check_attached(py)?,
        }
        self.inner.read_py_attached(py).map_err(|_| errors::broken())
    }

    fn lock_to_write(&self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'_, Inner>> {
        match self.inner.try_write() {
            Ok(inner) => return Ok(inner),
            Err(TryLockError::Poisoned(_)) => return Err(errors::broken()),
            Err(TryLockError::WouldBlock) => self.check_attached(py)?,
        }
        self.inner.write_py_attached(py).map_err(|_| errors::broken())
    }

    /// Reads.
    pub(super) fn read<R>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner) -> Result<R, Failed>,
    ) -> PyResult<R> {
        let result = read(&*self.lock_to_read(py)?);
        result.map_err(|failed| failed.raise(py))
    }

    /// Reads for longer, while other threads of Python go on.
    pub(super) fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner) -> Result<R, Failed> + Send,
    ) -> PyResult<R> {
        let result = py.detach(|| {
            self.check()?;
            read(&*self.inner.read().map_err(|_| Failed::Broken)?)
        });
        result.map_err(|failed| failed.raise(py))
    }

    /// Writes: as part of the open change, or as a change of its own, which is taken back if `edit` fails.
    pub(super) fn edit<R>(
        &self,
        py: Python<'_>,
        by: By<'_>,
        edit: impl FnOnce(&mut Inner) -> Result<R, Failed>,
    ) -> PyResult<R> {
        let mut inner = self.lock_when_mine(py, by)?;
        let result = if inner.frozen { Err(Failed::Frozen) } else { edit(&mut inner) };
        if inner.open.is_none() {
            match &result {
                Ok(_) => drop(inner.doc.commit()),
                Err(_) => drop(inner.doc.rollback()),
            }
        }
        drop(inner);
        result.map_err(|failed| failed.raise(py))
    }

    /// Does something with the whole document, while other threads of Python go on. Wants no change to be open: waits for that
    /// of another thread.
    pub(super) fn whole<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut AutoCommit) -> Result<R, Failed> + Send,
    ) -> PyResult<R> {
        self.whole_of(py, |inner| work(&mut inner.doc))
    }

    /// The same for what changes the document.
    pub(super) fn change_whole<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut AutoCommit) -> Result<R, Failed> + Send,
    ) -> PyResult<R> {
        self.whole_of(py, |inner| if inner.frozen { Err(Failed::Frozen) } else { work(&mut inner.doc) })
    }

    fn whole_of<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Inner) -> Result<R, Failed> + Send,
    ) -> PyResult<R> {
        let mut work = Some(work);
        loop {
            drop(self.lock_when_closed(py)?);
            let result = py.detach(|| {
                if let Err(failed) = self.check() {
                    return Some(Err(failed));
                }
                let Ok(mut inner) = self.inner.write() else { return Some(Err(Failed::Broken)) };
                // Somebody may have opened a change since.
                let work = if inner.open.is_none() { work.take() } else { None };
                work.map(|work| work(&mut inner))
            });
            if let Some(result) = result {
                return result.map_err(|failed| failed.raise(py));
            }
        }
    }

    /// Opens a change that lasts until [`Self::end`], after those of others.
    pub(super) fn begin(&self, py: Python<'_>, owned: bool) -> PyResult<Life> {
        self.check_attached(py)?;
        let mut inner = self.lock_when_closed(py)?;
        if inner.frozen {
            drop(inner);
            return Err(Failed::Frozen.raise(py));
        }
        let life = Life::new();
        let owner = owned.then(this_thread);
        inner.open = Some(Open { owner, process: process::id(), life: life.clone() });
        Ok(life)
    }

    /// Ends a change: commits it with `options` and tells `committed`, or takes it back. Nothing happens if it has ended.
    pub(super) fn end(
        &self,
        py: Python<'_>,
        life: &Life,
        options: Option<&CommitOptions>,
        committed: impl FnOnce(Option<Commit>),
    ) -> PyResult<bool> {
        self.check_attached(py)?;
        let mut inner = self.lock_to_write(py)?;
        if !inner.open.as_ref().is_some_and(|open| open.life.is(life)) {
            return Ok(false);
        }
        inner.open = None;
        match options {
            Some(options) => committed(inner.doc.commit_with(options)),
            None => {
                inner.doc.rollback();
                life.0.store(false, Ordering::Relaxed);
            }
        }
        *self.ended.count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.ended.more.notify_all();
        Ok(true)
    }

    fn lock_when_mine(&self, py: Python<'_>, by: By<'_>) -> PyResult<RwLockWriteGuard<'_, Inner>> {
        self.lock_when(py, |inner| match (&inner.open, by) {
            (None, By::Thread) => Ok(true),
            (Some(open), By::Thread) => Ok(open.owner == Some(this_thread())),
            (_, By::Change(life)) => inner.check_open(life).map(|()| true),
        })
    }

    fn lock_when_closed(&self, py: Python<'_>) -> PyResult<RwLockWriteGuard<'_, Inner>> {
        self.lock_when(py, |inner| match &inner.open {
            None => Ok(true),
            Some(open) if open.owner.is_none_or(|owner| owner == this_thread()) => Err(Failed::Open),
            Some(_) => Ok(false),
        })
    }

    /// Waits until `ready`: until changes of others have ended. Ctrl-C ends the wait.
    fn lock_when(
        &self,
        py: Python<'_>,
        ready: impl Fn(&Inner) -> Result<bool, Failed>,
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
                // A signal is looked at so often.
                let most = Duration::from_millis(50);
                drop(self.ended.more.wait_timeout_while(count, most, |count| *count == ended));
            });
            py.check_signals()?;
        }
    }
}

impl Inner {
    /// Whether a change that is written through an object of its own is open.
    pub(super) fn check_open(&self, life: &Life) -> Result<(), Failed> {
        let open = self.open.as_ref().is_some_and(|open| open.life.is(life));
        if open { Ok(()) } else { Err(Failed::Ended) }
    }

    /// Whether the open change, which is not this thread's, can end here: never ready, or never at all.
    fn check_process(&self) -> Result<bool, Failed> {
        let here = self.open.as_ref().is_none_or(|open| open.process == process::id());
        if here { Ok(false) } else { Err(Failed::Forked) }
    }

    /// The place of an object that was found or made.
    pub(super) fn place(&self, doc: &Arc<Shared>, obj: ObjId) -> Place {
        Place { doc: Arc::clone(doc), life: self.life_of(&obj), obj }
    }

    /// What an object needs to know: nothing, unless it was made by the change that is open.
    fn life_of(&self, id: &ObjId) -> Option<Life> {
        let open = self.open.as_ref()?;
        let ObjId::Id { counter, actor, .. } = id else { return None };
        let made = self.doc.pending_from().is_some_and(|first| *counter >= first);
        (made && actor == self.doc.get_actor()).then(|| open.life.clone())
    }
}

/// An object of a document, as long as it is one.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) doc: Arc<Shared>,
    pub(super) obj: ObjId,
    life: Option<Life>,
}

impl Place {
    pub(super) fn root(doc: Arc<Shared>) -> Self {
        Self { doc, obj: ObjId::Root, life: None }
    }

    fn check(&self) -> Result<(), Failed> {
        self.life.as_ref().map_or(Ok(()), Life::check)
    }

    /// Whether it is what is at a place of an object of its document.
    pub(super) fn is_at(&self, doc: &AutoCommit, obj: &ObjId, prop: &Prop<'_>) -> Result<bool, Failed> {
        let found = doc.get(obj, prop.clone())?;
        Ok(self.check().is_ok() && found.is_some_and(|(_, id)| id == self.obj))
    }

    /// Reads from the object.
    pub(super) fn read<R>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&Inner, &ObjId) -> Result<R, Failed>,
    ) -> PyResult<R> {
        self.doc.read(py, |inner| {
            self.check()?;
            read(inner, &self.obj)
        })
    }

    /// As [`Self::read`], for longer: see [`Shared::read_long`].
    pub(super) fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&AutoCommit, &ObjId) -> Result<R, Failed> + Send,
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
        edit: impl FnOnce(&mut AutoCommit, &ObjId) -> Result<R, Failed>,
    ) -> PyResult<R> {
        self.doc.edit(py, By::Thread, |inner| {
            self.check()?;
            edit(&mut inner.doc, &self.obj)
        })
    }

    /// Makes an object in this one.
    pub(super) fn make(
        &self,
        py: Python<'_>,
        make: impl FnOnce(&mut AutoCommit, &ObjId) -> Result<ObjId, Failed>,
    ) -> PyResult<Self> {
        self.doc.edit(py, By::Thread, |inner| {
            self.check()?;
            let made = make(&mut inner.doc, &self.obj)?;
            Ok(inner.place(&self.doc, made))
        })
    }

    /// What is at a place in the object.
    pub(super) fn get<'py>(&self, py: Python<'py>, prop: Prop<'_>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.read(py, |inner, obj| {
            let found = inner.doc.get(obj, prop)?;
            found.map(|found| Found::of(py, inner, &self.doc, found)).transpose()
        })?;
        found.map(|found| found.into_py(py)).transpose()
    }

    /// Whether `value` is the very object that is at a place: `place[key] += …` puts what it changed back.
    pub(super) fn is_there(
        &self,
        py: Python<'_>,
        prop: Prop<'_>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let Some(place) = place_of(value).filter(|place| Arc::ptr_eq(&place.doc, &self.doc)) else {
            return Ok(false);
        };
        self.read(py, |inner, obj| {
            place.check()?;
            Ok(inner.doc.get(obj, prop)?.is_some_and(|(_, id)| id == place.obj))
        })
    }
}
