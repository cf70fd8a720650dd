//! Threads of the caller's choice.
#![expect(unsafe_code, reason = "names that a linker finds")]

use super::error::{HM_ARGUMENT, HM_SYSTEM, hm_error};
use super::pointers::{call, free, slot};
use core::mem::{self, MaybeUninit};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::process;
use std::sync::Arc;

/// Threads that do the work of whoever calls with them, and sleep between calls. Several threads may use one at a time. It may be freed
/// while something that was made with it lives. A child of `fork` has no such threads: its callers do the work.
#[derive(Clone, Debug)]
pub struct hm_pool {
    threads: Arc<ThreadPool>,
    process: u32,
}

/// More than any machine has processors.
const MOST: u32 = 4096;

impl hm_pool {
    /// The threads, if they are of this process.
    pub(super) fn here(&self) -> Option<&ThreadPool> {
        (self.process == process::id()).then_some(&*self.threads)
    }
}

impl Drop for hm_pool {
    /// In a child of `fork` nobody is there to be told to end, and whoever held a lock may have stayed with the parent.
    fn drop(&mut self) {
        if self.process != process::id() {
            mem::forget(Arc::clone(&self.threads));
        }
    }
}

/// Starts `threads` threads, at most 4096; 0 stands for as many as this process may have at a time.
#[must_use]
#[unsafe(no_mangle)]
pub extern "C" fn hm_pool_create(
    threads: u32,
    pool: Option<&mut MaybeUninit<Option<Box<hm_pool>>>>,
) -> Option<Box<hm_error>> {
    call(|| {
        let out = slot(pool, None, "pool")?;
        if threads > MOST {
            return Err(hm_error::new(HM_ARGUMENT, format!("{threads} threads: {MOST} are the most")));
        }
        // Said in any case: else the library of threads would ask the environment.
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, |all| all.get()),
            some => some as usize,
        };
        let builder = ThreadPoolBuilder::new().num_threads(threads);
        let started = builder.thread_name(|number| format!("hashmill {number}")).build();
        let threads = Arc::new(started.map_err(|error| hm_error::of(HM_SYSTEM, &error))?);
        *out = Some(Box::new(hm_pool { threads, process: process::id() }));
        Ok(())
    })
}

/// Frees a pool, whose threads end with the last that was made with it; or nothing.
#[unsafe(no_mangle)]
pub extern "C" fn hm_pool_free(pool: Option<Box<hm_pool>>) {
    free(pool);
}
