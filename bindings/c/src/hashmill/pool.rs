//! Thread pools of the caller.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::error::{HM_ARGUMENT, HM_SYSTEM, hm_error};
use super::pointers::{call, free, slot};
use core::mem::{self, MaybeUninit};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::process;
use std::sync::Arc;

/// A pool of threads that work for its callers and sleep between calls. Several threads may use a pool at the same time. It may
/// be freed before the objects that were made with it. A child of `fork` has no such threads: its callers do the work.
#[derive(Clone, Debug)]
pub struct hm_pool {
    threads: Arc<ThreadPool>,
    process: u32,
}

/// Above the number of processors of any machine.
const MOST: u32 = 4096;

impl hm_pool {
    /// The threads, if they belong to this process.
    pub(super) fn here(&self) -> Option<&ThreadPool> {
        (self.process == process::id()).then_some(&*self.threads)
    }
}

impl Drop for hm_pool {
    /// In a child of `fork` the pool's threads do not exist, and a lock may be held by a thread that stayed with the parent.
    fn drop(&mut self) {
        if self.process != process::id() {
            mem::forget(Arc::clone(&self.threads));
        }
    }
}

/// Starts `threads` threads, at most 4096; 0 means the number of processors that this process may use.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_pool_create(
    threads: u32,
    pool: Option<&mut MaybeUninit<Option<Box<hm_pool>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(pool, None, "pool")?;
        if threads > MOST {
            return Err(hm_error::new(
                HM_ARGUMENT,
                format!("{threads} threads: at most {MOST} are possible"),
            ));
        }
        // Always set, because rayon would read the environment otherwise.
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, |all| all.get()),
            some => some as usize,
        };
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        let started = builder.thread_name(|number| format!("hashmill {number}")).build();
        let threads = Arc::new(started.map_err(|error| hm_error::from_display(HM_SYSTEM, &error))?);
        *out = Some(Box::new(hm_pool { threads, process: process::id() }));
        Ok(())
    })
}

/// Frees a pool, or NULL. Its threads end when the last object that was made with it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn hm_pool_free(pool: Option<Box<hm_pool>>) {
    free(pool);
}
