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
        /// Makes a file, and watches over it if it has a name. No signal comes between the two.
        pub(crate) fn of<T, E>(
            make: impl FnOnce() -> Result<T, E>,
            name: impl FnOnce(&T) -> Option<&Path>,
        ) -> Result<(T, Option<Leftover>), E> {
            let hold = Hold::ending();
            let file = make()?;
            let leftover = name(&file).zip(hold.ok()).and_then(|(path, hold)| Leftover::watch(path, hold));
            Ok((file, leftover))
        }

        fn watch(path: &Path, mut hold: Hold) -> Option<Leftover> {
            let path = path.to_owned();
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
            let thread = thread::Builder::new().name("signals".into()).spawn(watch).ok()?;
            Some(Leftover { path, done: Some(done), thread: Some(thread) })
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
        pub(crate) fn of<T, E>(
            make: impl FnOnce() -> Result<T, E>,
            _: impl FnOnce(&T) -> Option<&Path>,
        ) -> Result<(T, Option<Leftover>), E> {
            Ok((make()?, None))
        }
    }
}
