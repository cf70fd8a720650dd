//! Staging memory that engines own and callers fill: allocated once, lent and returned without an allocation.

use super::EngineError;
use crate::process::PerProcess;
use core::fmt;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

/// Memory of an engine: on the heap, or where a device can fetch it.
pub trait Memory: AsRef<[u8]> + AsMut<[u8]> + Send {}

impl<T: AsRef<[u8]> + AsMut<[u8]> + Send> Memory for T {}

/// Free staging buffers of an engine.
///
/// They belong to the process that made them: a forked child gets an error.
#[derive(Clone)]
pub struct StagingPool(Arc<PerProcess<Mutex<Vec<Slot>>>>);

struct Slot {
    number: usize,
    memory: Box<dyn Memory>,
}

impl StagingPool {
    /// A pool of these buffers, numbered from 0.
    pub fn new(buffers: impl IntoIterator<Item = Box<dyn Memory>>) -> StagingPool {
        let slots = buffers.into_iter().enumerate().map(|(number, memory)| Slot { number, memory });
        StagingPool(Arc::new(PerProcess::new(Mutex::new(slots.collect()))))
    }

    /// Lends a buffer; `None` while all are lent.
    ///
    /// # Errors
    /// [`EngineError::Forked`].
    pub fn lend(&self) -> Result<Option<Staging>, EngineError> {
        let free = self.0.get().ok_or(EngineError::Forked)?;
        let slot = free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Ok(slot.map(|slot| Staging { slot: Some(slot), pool: self.clone() }))
    }

    /// Does the buffer belong to this pool?
    pub fn owns(&self, staging: &Staging) -> bool {
        Arc::ptr_eq(&self.0, &staging.pool.0)
    }

    /// Needs no allocation: the list has capacity for every slot. An inherited slot in a child is leaked,
    /// because its memory may belong to the parent's device.
    fn take_back(&self, slot: Slot) {
        match self.0.get() {
            Some(free) => free.lock().unwrap_or_else(PoisonError::into_inner).push(slot),
            None => core::mem::forget(slot),
        }
    }
}

impl fmt::Debug for StagingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StagingPool").finish_non_exhaustive()
    }
}

/// A staging buffer of an engine. Dropping it returns the buffer and cancels its intended use.
pub struct Staging {
    /// Taken only on drop.
    slot: Option<Slot>,
    pool: StagingPool,
}

impl Staging {
    /// The number of the buffer. For engines.
    pub fn number(&self) -> usize {
        self.slot().number
    }

    fn slot(&self) -> &Slot {
        self.slot.as_ref().expect("present until the drop")
    }
}

impl Deref for Staging {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        (*self.slot().memory).as_ref()
    }
}

impl DerefMut for Staging {
    fn deref_mut(&mut self) -> &mut [u8] {
        let slot = self.slot.as_mut().expect("present until the drop");
        (*slot.memory).as_mut()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.pool.take_back(slot);
        }
    }
}

impl fmt::Debug for Staging {
    /// Omits the contents.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Staging({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> StagingPool {
        StagingPool::new([vec![1_u8; 8], vec![2; 8]].map(|memory| Box::new(memory) as Box<dyn Memory>))
    }

    #[test]
    fn staging_returns_to_the_pool_unchanged() {
        let pool = pool();
        let mut staging: Vec<_> = (0..2).map(|_| pool.lend().unwrap().expect("two")).collect();
        assert!(pool.lend().unwrap().is_none());
        staging[0][3] = 9;
        let number = staging[0].number();
        drop(staging.swap_remove(0));
        let again = pool.lend().unwrap().expect("one");
        assert_eq!((again.number(), again[3]), (number, 9));
        assert!(pool.owns(&again) && !self::pool().owns(&again));
    }

    #[test]
    fn a_buffer_may_outlive_its_pool() {
        let staging = pool().lend().unwrap().expect("one");
        assert_eq!(staging.len(), 8);
    }
}
