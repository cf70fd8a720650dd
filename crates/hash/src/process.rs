//! Identity of the current process, for fork safety. A fork copies memory, but only the calling thread: pool
//! threads and lock holders stay with the parent.
//!
//! Values that depend on threads or locks belong to one process, and a child makes its own. A child with the
//! process id of an ended ancestor would be mistaken for it; systems assign ids in sequence, so this does not
//! happen in practice.

use core::fmt;
use std::sync::OnceLock;

/// A running or ended process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Process(u32);

impl Process {
    /// The current process. A system call.
    #[cfg(unix)]
    pub(crate) fn current() -> Process {
        Process(std::process::id())
    }

    /// There is no fork here.
    #[cfg(not(unix))]
    pub(crate) fn current() -> Process {
        Process(1)
    }

    /// The process id, never 0.
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// A value that each process has separately: a forked child makes a new one on first use.
///
/// For locks and thread pools inside long-lived values. A child never touches its parent's value, not even to
/// drop it: another thread of the parent may have been using it.
pub struct PerProcess<T> {
    process: Process,
    /// Taken out only to be leaked.
    value: Option<T>,
    /// The value of the first child that needed one, in that child's memory.
    child: OnceLock<Box<PerProcess<T>>>,
}

impl<T> PerProcess<T> {
    /// Makes the value of this process.
    pub fn new(value: T) -> PerProcess<T> {
        PerProcess { process: Process::current(), value: Some(value), child: OnceLock::new() }
    }

    /// This process's value; `None` in a child that has not [made](PerProcess::get_or) its own.
    pub fn get(&self) -> Option<&T> {
        let process = Process::current();
        let mut entry = self;
        while entry.process != process {
            entry = entry.child.get()?;
        }
        entry.value.as_ref()
    }

    /// This process's value, made now if there is none.
    pub fn get_or(&self, make: impl FnOnce() -> T) -> &T {
        let process = Process::current();
        let mut entry = self;
        while entry.process != process {
            match entry.child.get() {
                Some(child) => entry = child,
                None => {
                    entry = entry.child.get_or_init(|| Box::new(PerProcess::new(make())));
                    break;
                }
            }
        }
        entry.value.as_ref().expect("present until the drop")
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
    fn child_makes_its_own_value_and_leaves_the_parents() {
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
