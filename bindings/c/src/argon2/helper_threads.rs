//! Helper threads of one hash, which end with it: as many as the caller allows, and no more than there are processors.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Enough for any kernel. Without a value the environment would be read, which another thread may be writing.
const STACK: usize = 512 << 10;

/// The helper threads of one hash. Dropping it waits for them.
#[derive(Default)]
pub(super) struct HelperThreads(Mutex<Vec<JoinHandle<()>>>);

impl HelperThreads {
    /// The number of threads that may work: `most`, if there are enough processors.
    pub(super) fn count(most: u32) -> usize {
        if most == 1 {
            return 1;
        }
        // If the number of processors is unknown, one is assumed.
        thread::available_parallelism().map_or(1, |all| all.get().min(most as usize))
    }

    /// Starts another helper, if the system allows: the existing threads do the work of missing ones.
    pub(super) fn start(&self, task: Box<dyn FnOnce() + Send>) {
        if let Ok(helper) = thread::Builder::new().name("argon2".to_owned()).stack_size(STACK).spawn(task) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(helper);
        }
    }
}

impl Drop for HelperThreads {
    fn drop(&mut self) {
        for helper in self.0.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A panic of the work is raised on the thread that requested it.
            let _ = helper.join();
        }
    }
}
