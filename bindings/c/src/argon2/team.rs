//! Threads that help with one hash and are gone when it is: as many as the caller lets, and no more than can run.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

/// Enough for any kernel. Not saying it would ask the environment, which somebody may be writing.
const STACK: usize = 512 << 10;

/// The helpers of one hash. Ends when all of them have.
#[derive(Default)]
pub(super) struct Team(Mutex<Vec<JoinHandle<()>>>);

impl Team {
    /// How many threads may work: `most`, if there are processors for them.
    pub(super) fn size(most: u32) -> usize {
        if most == 1 {
            return 1;
        }
        // Who cannot say how many has one that is known.
        thread::available_parallelism().map_or(1, |all| all.get().min(most as usize))
    }

    /// Another helper, if the system gives one: whoever is there does the work of those who are not.
    pub(super) fn help(&self, task: Box<dyn FnOnce() + Send>) {
        if let Ok(helper) = thread::Builder::new().name("argon2".to_owned()).stack_size(STACK).spawn(task) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(helper);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        for helper in self.0.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A panic of the work came out on the thread that asked for it.
            let _ = helper.join();
        }
    }
}
