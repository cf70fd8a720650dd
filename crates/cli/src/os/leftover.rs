//! Files that are not to be left behind when a signal ends the program.

use std::path::Path;

#[cfg(unix)]
pub(crate) use unix::Leftover;
#[cfg(not(unix))]
pub(crate) use without::Leftover;

#[cfg(unix)]
mod unix {
    use super::super::signals::{Hold, Kind, give_in, spare, take_away};
    use super::*;
    use std::path::PathBuf;
    use std::sync::mpsc::{self, RecvTimeoutError, Sender};
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    /// How long a signal may wait.
    const TICK: Duration = Duration::from_millis(50);

    /// As long as this lives, a signal that ends the program takes a file away first. What cannot be caught leaves it.
    pub(crate) struct Leftover {
        path: PathBuf,
        done: Option<Sender<()>>,
        thread: Option<JoinHandle<()>>,
    }

    impl Leftover {
        /// For a file that has a name, if it has one.
        pub(crate) fn of(path: Option<&Path>) -> Option<Leftover> {
            let path = path?.to_owned();
            let mut hold = Hold::ending().ok()?;
            take_away(&path);
            let (done, ended) = mpsc::channel();
            let watch = move || {
                while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    if let Some((signal, Kind::Ends)) = hold.next() {
                        drop(hold);
                        give_in(signal);
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().name("signals".into()).spawn(watch).ok();
            Some(Leftover { path, done: Some(done), thread })
        }
    }

    impl Drop for Leftover {
        fn drop(&mut self) {
            self.done = None;
            if let Some(thread) = self.thread.take() {
                let _ = thread.join();
            }
            spare(&self.path);
        }
    }
}

#[cfg(not(unix))]
mod without {
    use super::*;

    /// Elsewhere nothing can be done before a program ends.
    pub(crate) struct Leftover;

    impl Leftover {
        pub(crate) fn of(_: Option<&Path>) -> Option<Leftover> {
            None
        }
    }
}
