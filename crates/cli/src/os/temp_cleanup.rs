//! Removal of temporary files when a signal ends the program.

use std::path::Path;

#[cfg(unix)]
pub(crate) use unix::TempFileGuard;
#[cfg(not(unix))]
pub(crate) use without::TempFileGuard;

#[cfg(unix)]
mod unix {
    use super::super::signals::{
        SignalBlock, SignalEffect, deliver_signal, keep_on_signal, remove_on_signal,
    };
    use super::*;
    use std::path::PathBuf;
    use std::sync::mpsc::{self, RecvTimeoutError, Sender};
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    /// Polling interval for signals.
    const SIGNAL_POLL_INTERVAL: Duration = Duration::from_millis(50);

    /// While this lives, a signal that ends the program removes a file first. SIGKILL leaves it.
    pub(crate) struct TempFileGuard {
        path: PathBuf,
        done: Option<Sender<()>>,
        thread: Option<JoinHandle<()>>,
    }

    impl TempFileGuard {
        /// Creates a file, and guards it if it has a name. Signals are blocked in between.
        pub(crate) fn create<T, E>(
            make: impl FnOnce() -> Result<T, E>,
            name: impl FnOnce(&T) -> Option<&Path>,
        ) -> Result<(T, Option<TempFileGuard>), E> {
            let signals = SignalBlock::ending();
            let file = make()?;
            let guard =
                name(&file).zip(signals.ok()).and_then(|(path, signals)| TempFileGuard::watch(path, signals));
            Ok((file, guard))
        }

        fn watch(path: &Path, mut signals: SignalBlock) -> Option<TempFileGuard> {
            let path = path.to_owned();
            remove_on_signal(&path);
            let (done, ended) = mpsc::channel();
            let watch = move || {
                while ended.recv_timeout(SIGNAL_POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    if let Some((signal, SignalEffect::Ends)) = signals.next() {
                        drop(signals);
                        deliver_signal(signal);
                        return;
                    }
                }
            };
            let thread = thread::Builder::new().name("signals".into()).spawn(watch).ok()?;
            Some(TempFileGuard { path, done: Some(done), thread: Some(thread) })
        }
    }

    impl Drop for TempFileGuard {
        fn drop(&mut self) {
            self.done = None;
            if let Some(thread) = self.thread.take() {
                let _ = thread.join();
            }
            keep_on_signal(&self.path);
        }
    }
}

#[cfg(not(unix))]
mod without {
    use super::*;

    /// On other systems a program cannot act before it ends.
    pub(crate) struct TempFileGuard;

    impl TempFileGuard {
        pub(crate) fn create<T, E>(
            make: impl FnOnce() -> Result<T, E>,
            _: impl FnOnce(&T) -> Option<&Path>,
        ) -> Result<(T, Option<TempFileGuard>), E> {
            Ok((make()?, None))
        }
    }
}
