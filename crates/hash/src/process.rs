//! Which process this is. A fork copies memory, but no thread other than the one that called it: threads of a pool, and
//! whoever held a lock, stay with the parent.
//!
//! What depends on threads or locks belongs to one process, and a child makes its own. A child of the same number as an
//! ancestor that is gone would be taken for it; systems give numbers in turn, so that this does not happen in practice.

use core::fmt;
use std::sync::OnceLock;

/// A process that runs, or ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process(u32);

impl Process {
    /// The one that asks. A system call.
    #[cfg(unix)]
    pub(crate) fn current() -> Process {
        Process(std::process::id())
    }

    /// Nothing forks here.
    #[cfg(not(unix))]
    pub(crate) fn current() -> Process {
        Process(1)
    }

    /// Its number, never 0.
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// A value that each process has for itself: a forked child makes a new one when it first asks.
///
/// For locks and pools of threads in values that programs keep. What a parent had is never touched by a child, not even
/// dropped: another thread may have been in the middle of it.
pub struct PerProcess<T> {
    process: Process,
    /// Taken out only to be forgotten.
    value: Option<T>,
    /// The value of the child that asked first, in that child's memory.
    child: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    /// The value of this process.
    pub fn new(value: T) -> PerProcess<T> {
        PerProcess { process: Process::current(), value: Some(value), child: OnceLock::new() }
    }

    /// This process's value, if it has one: a child that has not [asked](PerProcess::get_or) for its own has none.
    pub fn get(&self) -> Option<&T> {
        let process = Process::current();
        let mut place = self;
        while place.process != process {
            place = place.child.get()?;
        }
        place.value.as_ref()
    }

    /// This process's value, made now if it has none.
    pub fn get_or(&self, make: impl FnOnce() -> T) -> &T {
        let process = Process::current();
        let mut place = self;
        while place.process != process {
            match place.child.get() {
                Some(child) => place = child,
                None => {
                    place = place.child.get_or_init(|| Box::new(PerProcess::new(make())));
                    break;
                }
            }
        }
        place.value.as_ref().expect("taken only when dropped")
    }
}

impl<T> Drop for PerProcess<T> {
    fn drop(&mut self) {
        if self.process != Process::current() {
            core::mem::forget(self.value.take());
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PerProcess").field(&self.get()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashmill_testkit::fork::{Child, forks, in_child};
    use hashmill_testkit::skip;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_child_makes_its_own_and_leaves_the_parents_alone() {
        struct Counted<'a>(u32, &'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.1.fetch_add(1, Ordering::Relaxed);
            }
        }
        if !forks() {
            return skip("values of each process", "no program with threads forks here");
        }
        let drops = AtomicUsize::new(0);
        let shared = PerProcess::new(Counted(1, &drops));
        assert_eq!(shared.get_or(|| unreachable!("there is one")).0, 1);
        let child = in_child(|| {
            let none = shared.get().is_none();
            let own = shared.get_or(|| Counted(2, &drops)).0 == 2 && shared.get().is_some();
            let grandchild =
                in_child(|| shared.get().is_none() && shared.get_or(|| Counted(3, &drops)).0 == 3);
            drop(shared);
            none && own && grandchild == Child::Agreed && drops.load(Ordering::Relaxed) == 1
        });
        assert_eq!(child, Child::Agreed);
    }
}
